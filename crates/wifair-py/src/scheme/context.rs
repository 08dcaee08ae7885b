//! Inputs of a decision in addition to the buffer.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use wifair_core::{Ac, FlowId, Time};

use super::call::{LentContext, misuse, with_call};
use super::words::Direction;

/// Time, random numbers, the flow monitor, link rates, and the clock.
#[pyclass(module = "wifair.scheme", frozen)]
pub struct Context {
    tx_queue: u64,
    rng: Py<Rng>,
    flows: Py<Flows>,
}

/// The transmit queue's random stream.
#[pyclass(module = "wifair.scheme", frozen)]
pub struct Rng {
    tx_queue: u64,
}

/// The flow monitor.
#[pyclass(module = "wifair.scheme", frozen)]
pub struct Flows {
    tx_queue: u64,
}

#[inline]
fn with<R>(tx_queue: u64, act: impl FnOnce(&mut LentContext) -> PyResult<R>) -> PyResult<R> {
    with_call(tx_queue, |call| act(call.context()?))
}

impl Context {
    pub fn new(py: Python<'_>, tx_queue: u64) -> PyResult<Context> {
        Ok(Context { tx_queue, rng: Py::new(py, Rng { tx_queue })?, flows: Py::new(py, Flows { tx_queue })? })
    }
}

#[pymethods]
impl Context {
    /// The current time, in nanoseconds since the start of the run.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        with(self.tx_queue, |at| Ok(at.now.as_ns()))
    }

    /// The transmit queue's random stream. Every scheme at this transmit queue gets the same stream, so count your draws.
    #[getter]
    fn rng(&self, py: Python<'_>) -> Py<Rng> {
        self.rng.clone_ref(py)
    }

    /// The flow monitor; at a station an idle one.
    #[getter]
    fn flows(&self, py: Python<'_>) -> Py<Flows> {
        self.flows.clone_ref(py)
    }

    /// Number of stations.
    #[getter]
    fn stations(&self) -> PyResult<usize> {
        with(self.tx_queue, |at| Ok(at.links.len()))
    }

    /// Current data rate towards a station, in Mbit/s.
    fn rate_mbps(&self, station: usize) -> PyResult<f64> {
        with(self.tx_queue, |at| match at.links.get(station) {
            Some(link) => Ok(link.rate.as_mbps()),
            None => Err(PyIndexError::new_err(format!("there is no station {station}"))),
        })
    }

    /// How much a station has to send in an access category, in bytes, by the last data frame that said so: rounded up as its
    /// QoS Control field is. None before the first, and under DCF. The scheme must have `on_queue_size`.
    #[pyo3(signature = (station, category = "best-effort"))]
    fn queue_bytes(&self, station: usize, category: &str) -> PyResult<Option<u32>> {
        let Some(ac) = Ac::ALL.into_iter().find(|ac| ac.name() == category) else {
            let names = Ac::ALL.map(|ac| format!("{:?}", ac.name())).join(", ");
            return Err(PyValueError::new_err(format!("category is {category:?}; allowed are {names}")));
        };
        with(self.tx_queue, |at| match at.links.get(station) {
            Some(link) => Ok(link.queue_bytes(ac)),
            None => Err(PyIndexError::new_err(format!("there is no station {station}"))),
        })
    }

    /// Schedules `on_tick` for that time, in nanoseconds since the start of the run. Replaces any earlier request.
    fn tick_at(&self, at_ns: u64) -> PyResult<()> {
        with_call(self.tx_queue, |call| {
            let now = call.context()?.now;
            if at_ns <= now.as_ns() {
                return Err(misuse(&format!(
                    "a tick at {at_ns} ns does not lie in the future: it is {} ns",
                    now.as_ns()
                )));
            }
            call.state.next_tick = Some(Time::from_ns(at_ns));
            Ok(())
        })
    }
}

#[pymethods]
impl Rng {
    /// A uniform integer from 0 to n - 1; one draw.
    fn below(&self, n: u32) -> PyResult<u32> {
        if n == 0 {
            return Err(PyValueError::new_err("there is no number below 0"));
        }
        with(self.tx_queue, |at| Ok(at.rng.below(n)))
    }

    /// Uniform in [0, 1) with a resolution of 53 bits; one draw.
    fn unit(&self) -> PyResult<f64> {
        with(self.tx_queue, |at| Ok(at.rng.unit()))
    }

    /// True with probability p, from 0 to 1; one draw, whatever p is.
    fn chance(&self, p: f64) -> PyResult<bool> {
        if !(0.0..=1.0).contains(&p) {
            return Err(misuse(&format!("a probability is from 0 to 1, and {p} is none")));
        }
        with(self.tx_queue, |at| Ok(at.rng.chance(p)))
    }
}

#[pymethods]
impl Flows {
    /// Number of active uplink flows.
    #[getter]
    fn up(&self) -> PyResult<u32> {
        with(self.tx_queue, |at| Ok(at.flows.up()))
    }

    /// Number of active downlink flows.
    #[getter]
    fn down(&self) -> PyResult<u32> {
        with(self.tx_queue, |at| Ok(at.flows.down()))
    }

    /// Whether a flow has carried payload in that direction.
    fn carries(&self, flow: u32, direction: Direction) -> PyResult<bool> {
        with(self.tx_queue, |at| {
            let flow = FlowId(flow);
            Ok(flow.index() < at.flows.id_bound() && at.flows.carries(flow, direction.into()))
        })
    }
}
