//! Real hosts on the simulated air: `wifair.emulate`.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plan;

/// Runs the cell and the wire of a plan in real time, with network namespaces as hosts; gives a report as JSON. What the caller must
/// be is said at `wifair_emulate::run`. Other threads of the interpreter could run meanwhile; none should.
#[pyfunction]
pub fn emulate(py: Python<'_>, plan_json: &str, options_json: &str) -> PyResult<String> {
    let plan = plan(plan_json, &PyDict::new(py))?;
    let options: wifair_emulate::Options = serde_json::from_str(options_json)
        .map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    let report = py.detach(|| wifair_emulate::run(&plan, &options)).map_err(PyRuntimeError::new_err)?;
    serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
