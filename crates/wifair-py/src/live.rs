//! A network that runs in pieces: `wifair.live`.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wifair_core::Time;
use wifair_sim::LiveNetwork;

use crate::plan::{plan, plan_error};
use crate::scheme;

/// See `wifair.live.Session`. Times are nanoseconds since the start. Without schemes written in Python, other threads of the
/// interpreter run meanwhile.
#[pyclass(module = "wifair._native", frozen)]
pub struct Live {
    network: Mutex<LiveNetwork>,
}

impl Live {
    fn network(&self) -> PyResult<MutexGuard<'_, LiveNetwork>> {
        let broken = || PyRuntimeError::new_err("the session has failed before and cannot go on");
        self.network.lock().map_err(|_| broken())
    }

    /// Runs the engine, which calls schemes written in Python on this thread if there are any.
    fn run<R: Send>(
        &self,
        py: Python<'_>,
        calls_python: bool,
        run: impl FnOnce(&mut LiveNetwork) -> R + Send,
    ) -> PyResult<R> {
        if !calls_python {
            return py.detach(|| Ok(run(&mut *self.network()?)));
        }
        let mut network = self.network()?;
        scheme::guarded(py, || run(&mut network))
    }
}

#[pymethods]
impl Live {
    #[new]
    fn new(plan_json: &str, seed: u64, schemes: &Bound<'_, PyDict>) -> PyResult<Live> {
        let plan = plan(plan_json, schemes)?;
        let network = scheme::guarded(schemes.py(), || LiveNetwork::new(plan, seed))?;
        let network = network.map_err(|error| plan_error(schemes.py(), &error))?;
        Ok(Live { network: Mutex::new(network) })
    }

    /// The current simulated time.
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.network()?.now().as_ns())
    }

    /// Runs until `until_ns`; records the air and the AP's transmit queues from `record_from_ns` on.
    fn advance(
        &self,
        py: Python<'_>,
        until_ns: u64,
        record_from_ns: u64,
        calls_python: bool,
    ) -> PyResult<()> {
        self.run(py, calls_python, |network| {
            network.advance(Time::from_ns(until_ns), Time::from_ns(record_from_ns));
        })
    }

    /// Shows the transmit queues of the access point of the BSS of this number from now on; false if there is none.
    fn show(&self, bss: usize) -> PyResult<bool> {
        Ok(self.network()?.show(bss))
    }

    /// Runs until the next exchange has ended; false if none began within a simulated second.
    fn step(&self, py: Python<'_>, calls_python: bool) -> PyResult<bool> {
        self.run(py, calls_python, LiveNetwork::step)
    }

    /// Adds the events of a plan beyond those of this network's plan.
    fn change(&self, plan_json: &str, schemes: &Bound<'_, PyDict>) -> PyResult<()> {
        let plan = plan(plan_json, schemes)?;
        self.network()?.change(plan);
        Ok(())
    }

    /// Returns what can be set of the stations' links as JSON.
    fn modes(&self) -> PyResult<String> {
        Ok(self.network()?.modes().to_string())
    }

    /// Returns the current state as JSON.
    fn snapshot(&self, py: Python<'_>, calls_python: bool) -> PyResult<String> {
        self.run(py, calls_python, |network| network.snapshot().to_string())
    }

    /// Hash of the trajectory so far.
    fn fingerprint(&self) -> PyResult<u64> {
        Ok(self.network()?.fingerprint())
    }
}
