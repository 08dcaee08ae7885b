//! Schemes written in Python: the objects that they use, and the [`Scheme`] that calls them.
//!
//! The engine runs such a plan on the calling thread, which keeps the interpreter's lock. An exception leaves the engine by
//! unwinding, which no `Scheme` can see or stop, and is raised again unchanged.

mod buffer;
mod call;
mod context;
mod events;
mod packet;
mod python;
mod words;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wifair_core::Time;
use wifair_sim::{ExternalScheme, Maker, Plan, SpecError};

use python::PythonScheme;

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
fn fail(error: PyErr, method: &'static str, now: Option<Time>) -> ! {
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

/// Reads a plan. `schemes` maps the id of each scheme written in Python to a function that creates it from its parameters (as
/// JSON), see `wifair.scheme`.
pub fn read_plan(plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<Result<Plan, SpecError>> {
    let py = schemes.py();
    let mut found = |external: &ExternalScheme| -> Option<Maker> {
        let make = schemes.get_item(&external.id).ok().flatten()?.unbind();
        let parameters = serde_json::Value::Object(external.parameters.clone()).to_string();
        Some(Maker::new(move || {
            let scheme = Python::attach(|py| PythonScheme::new(py, &make, &parameters));
            Box::new(scheme.unwrap_or_else(|error| fail(error, "__init__", None)))
        }))
    };
    guarded(py, || Plan::from_json_with(plan_json, &mut found))
}

/// Adds the names of `wifair.scheme` that are defined here.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SchemeFailed", py.get_type::<SchemeFailed>())?;
    module.add("MisuseError", py.get_type::<call::MisuseError>())?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<packet::Packet>()?;
    module.add_class::<context::Context>()?;
    module.add_class::<context::Rng>()?;
    module.add_class::<context::Flows>()?;
    module.add_class::<events::Grant>()?;
    module.add_class::<events::Exchange>()?;
    module.add_class::<events::Transmission>()?;
    module.add_class::<events::Mpdu>()?;
    module.add_class::<events::Reception>()?;
    module.add_class::<words::Indexes>()?;
    module.add_class::<words::Kind>()?;
    module.add_class::<words::Pool>()?;
    module.add_class::<words::Pick>()?;
    module.add_class::<words::Filter>()?;
    module.add_class::<words::Eviction>()?;
    module.add_class::<words::Refusal>()?;
    module.add_class::<words::Direction>()?;
    Ok(())
}
