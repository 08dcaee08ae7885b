//! `wifair._native`: the simulator as a Python module. Thin on purpose: plans go in as JSON, results are returned as
//! Arrow tables, everything else is Python.

mod arrow;
#[cfg(target_os = "linux")]
mod emulate;
mod live;
mod plan;
mod scheme;

use std::time::Duration;

use arrow_schema::ArrowError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wifair_sim::table::TableRow;
use wifair_sim::{EventRow, TraceSpec};

use plan::{PlanError, plan, plan_error};

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Identity of the engine: a hash of its sources without comments, and of the versions of its dependencies. Engines with the
/// same identity give the same results.
#[pyfunction]
fn engine() -> &'static str {
    env!("WIFAIR_ENGINE")
}

/// Returns the plan's schema and every registered component, as JSON.
#[pyfunction]
fn schema() -> String {
    wifair_sim::schema().to_string()
}

/// Returns the canonical form of a plan: all defaults filled in, keys sorted.
#[pyfunction]
fn canonical(plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<String> {
    Ok(plan(plan_json, schemes)?.to_canonical_json())
}

/// Returns by station and direction, as JSON, how packets with `ip_bytes` and `dscp` contend and the times in microseconds that
/// they take on the air.
#[pyfunction]
fn airtimes(plan_json: &str, ip_bytes: u32, dscp: u8, schemes: &Bound<'_, PyDict>) -> PyResult<String> {
    let plan = plan(plan_json, schemes)?;
    let found = scheme::guarded(schemes.py(), || wifair_sim::airtimes(&plan, ip_bytes, dscp))?;
    Ok(found.map_err(|error| plan_error(schemes.py(), &error))?.to_string())
}

/// Returns, as JSON, the pairs of stations of which at least one does not sense the other.
#[pyfunction]
fn hidden_pairs(plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<String> {
    let plan = plan(plan_json, schemes)?;
    let found = scheme::guarded(schemes.py(), || wifair_sim::hidden_pairs(&plan))?;
    Ok(found.map_err(|error| plan_error(schemes.py(), &error))?.to_string())
}

/// Returns, as JSON, the nodes of a field, and for each the nodes that receive it with the power in dBm.
#[pyfunction]
fn received_powers(plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<String> {
    let plan = plan(plan_json, schemes)?;
    let found = scheme::guarded(schemes.py(), || wifair_sim::received_powers(&plan))?;
    Ok(found.map_err(|error| plan_error(schemes.py(), &error))?.to_string())
}

/// Returns a hash of the trajectory of one replication: equal hashes mean equal runs. Without schemes written in Python, other
/// threads of the interpreter run meanwhile.
#[pyfunction]
fn fingerprint(plan_json: &str, seed: u64, schemes: &Bound<'_, PyDict>) -> PyResult<u64> {
    let (py, plan) = (schemes.py(), plan(plan_json, schemes)?);
    let run = || wifair_sim::fingerprint(&plan, seed);
    let hash = if schemes.is_empty() { py.detach(run) } else { scheme::guarded(py, run)? };
    hash.map_err(|error| plan_error(py, &error))
}

/// Runs one replication on this thread, which keeps the interpreter's lock: for plans with schemes written in Python. Calls
/// `watch` every simulated second with the simulated milliseconds that have passed; stops on Ctrl-C and on exceptions of
/// `watch`. Returns the tables of results, in which the replication has number `job`.
#[pyfunction]
fn replicate<'py>(
    plan_json: &str,
    seed: u64,
    job: usize,
    schemes: &Bound<'py, PyDict>,
    watch: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = schemes.py();
    let plan = plan(plan_json, schemes)?;
    let mut stopped = None;
    let mut go_on = |ms: u64| {
        stopped = py.check_signals().and_then(|()| watch.call1((ms,))).err();
        stopped.is_none()
    };
    let outcome = scheme::guarded(py, || wifair_sim::run_watched(&plan, seed, &mut go_on))?;
    let record = outcome.map_err(|error| plan_error(py, &error))?;
    match (record, stopped) {
        (Some(record), _) => dict(py, &[(job, seed, record)]),
        (None, Some(error)) => Err(error),
        (None, None) => Err(PyRuntimeError::new_err("the replication was stopped")),
    }
}

/// Returns every table that results can have, without rows: a dict from table name to Arrow stream.
#[pyfunction]
fn tables(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    streams(py, arrow::tables(&wifair_sim::all_tables(&[])))
}

/// Converts finished replications to tables by name.
fn dict<'py>(py: Python<'py>, finished: &[wifair_sim::FinishedJob]) -> PyResult<Bound<'py, PyDict>> {
    streams(py, py.detach(|| arrow::tables(&wifair_sim::tables(finished))))
}

fn streams<'py>(
    py: Python<'py>,
    tables: Result<Vec<(&'static str, arrow::Table)>, ArrowError>,
) -> PyResult<Bound<'py, PyDict>> {
    let tables = tables.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let dict = PyDict::new(py);
    for (name, table) in tables {
        dict.set_item(name, Py::new(py, table)?)?;
    }
    Ok(dict)
}

/// Replications on native threads, started at once.
#[pyclass(module = "wifair._native", frozen)]
struct Batch(wifair_sim::Batch);

#[pymethods]
impl Batch {
    /// `traces` is empty, or has per job what to trace, as JSON.
    #[new]
    #[pyo3(signature = (jobs, threads, traces=Vec::new()))]
    fn new(py: Python<'_>, jobs: Vec<(String, u64)>, threads: usize, traces: Vec<String>) -> PyResult<Batch> {
        let traces: Result<Vec<TraceSpec>, _> =
            traces.iter().map(|json| serde_json::from_str(json)).collect();
        let traces = traces.map_err(|error| PyValueError::new_err(format!("traces: {error}")))?;
        match wifair_sim::Batch::start_traced(&jobs, &traces, threads) {
            Ok(batch) => Ok(Batch(batch)),
            Err(error) => Err(plan_error(py, &error)),
        }
    }

    /// Waits for another job to finish, at most `timeout_ms`; returns the number of finished jobs.
    fn wait(&self, py: Python<'_>, timeout_ms: u64) -> usize {
        py.detach(|| self.0.wait(Duration::from_millis(timeout_ms)))
    }

    /// Number of jobs.
    #[getter]
    fn total(&self) -> usize {
        self.0.total()
    }

    /// Simulated seconds so far.
    fn simulated_s(&self) -> f64 {
        self.0.simulated_s()
    }

    /// Simulated seconds of all jobs in total.
    #[getter]
    fn total_s(&self) -> f64 {
        self.0.total_s()
    }

    /// Tells the threads to stop. Finished jobs remain.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns the results of jobs that have finished and were not returned before, as a dict from table name to Arrow stream.
    /// Long results come by several calls; after the last the tables have no rows.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &self.0.take())
    }

    /// Returns the next rows of an event log with the index of their job, or `None` if there are none.
    fn take_events(&self, py: Python<'_>) -> PyResult<Option<(usize, arrow::Table)>> {
        py.detach(|| {
            let Some((job, rows)) = self.0.take_events() else { return Ok(None) };
            Ok(Some((job, arrow::table(&EventRow::columns(rows.iter()))?)))
        })
        .map_err(|error: ArrowError| PyRuntimeError::new_err(error.to_string()))
    }

    /// Why a job failed, if one did.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PlanError", module.py().get_type::<PlanError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(engine, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(canonical, module)?)?;
    module.add_function(wrap_pyfunction!(airtimes, module)?)?;
    module.add_function(wrap_pyfunction!(hidden_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(received_powers, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(replicate, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(emulate::emulate, module)?)?;
    scheme::add_to(module)?;
    module.add_class::<Batch>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<arrow::Table>()?;
    Ok(())
}
