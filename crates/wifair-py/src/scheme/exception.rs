//! Exceptions of schemes written in Python, which leave the engine by unwinding.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use wifair_core::Time;

create_exception!(
    _native,
    SchemeFailed,
    PyRuntimeError,
    "A scheme written in Python raised an exception, which is the cause of this one; its arguments are the method and the \
     simulated time in seconds, if there was one."
);

/// An exception that is being passed through the engine.
struct SchemeException {
    error: PyErr,
    method: &'static str,
    now: Option<Time>,
}

/// Leaves the engine with an exception raised by a scheme.
pub(super) fn fail(error: PyErr, method: &'static str, now: Option<Time>) -> ! {
    resume_unwind(Box::new(SchemeException { error, method, now }))
}

/// Runs code that may call schemes written in Python; their exceptions are returned as [`SchemeFailed`].
pub fn guarded<R>(py: Python<'_>, run: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| from_payload(py, payload))
}

fn from_payload(py: Python<'_>, payload: Box<dyn Any + Send>) -> PyErr {
    let SchemeException { error, method, now } = match payload.downcast::<SchemeException>() {
        Ok(failure) => *failure,
        Err(other) => resume_unwind(other),
    };
    if !error.is_instance_of::<PyException>(py) {
        return error; // Ctrl-C or SystemExit
    }
    let failed = SchemeFailed::new_err((method, now.map(Time::as_secs_f64)));
    failed.set_cause(py, Some(error));
    failed
}
