//! Schemes written in Python: the objects that they use, and the [`Scheme`] that calls them.
//!
//! The engine runs such a plan on the calling thread, which keeps the interpreter's lock. An exception leaves the engine by
//! unwinding, which no `Scheme` can see or stop, and is raised again unchanged.

mod buffer;
mod call;
mod context;
mod events;
mod exception;
mod packet;
mod python;
mod words;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wifair_sim::{ExternalScheme, Maker, Plan, SpecError};

pub use exception::guarded;
use exception::{SchemeFailed, fail};
use python::PythonScheme;

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
    module.add_class::<words::PoliceAction>()?;
    module.add_class::<words::Direction>()?;
    Ok(())
}
