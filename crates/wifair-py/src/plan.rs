//! Plans from Python, and the exception for those that cannot be run.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wifair_sim::{Plan, SpecError};

use crate::scheme;

create_exception!(
    _native,
    PlanError,
    PyValueError,
    "A plan that cannot be run; has the attributes key, value, allowed."
);

/// The exception for a plan that cannot be run.
pub(crate) fn plan_error(py: Python<'_>, error: &SpecError) -> PyErr {
    let exception = PlanError::new_err(error.to_string());
    let value = exception.value(py);
    for (name, text) in [("key", &error.key), ("value", &error.value), ("allowed", &error.allowed)] {
        if let Err(failure) = value.setattr(name, text) {
            return failure;
        }
    }
    exception
}

/// Parses a plan, together with the schemes written in Python that it names.
pub(crate) fn plan(plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<Plan> {
    scheme::read_plan(plan_json, schemes)?.map_err(|error| plan_error(schemes.py(), &error))
}
