//! Binding of `wifair.emulate`: real hosts on a simulated medium.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plan::plan;

/// Runs the cell and the wire of a plan in real time, with network namespaces as hosts; returns a report as JSON. See
/// `wifair_emulate::run` for the required privileges. The interpreter's lock is released, but no other thread should run.
#[pyfunction]
pub fn emulate(py: Python<'_>, plan_json: &str, options_json: &str) -> PyResult<String> {
    let plan = plan(plan_json, &PyDict::new(py))?;
    let options: wifair_emulate::Options = serde_json::from_str(options_json)
        .map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    let report = py.detach(|| wifair_emulate::run(&plan, &options)).map_err(PyRuntimeError::new_err)?;
    serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
