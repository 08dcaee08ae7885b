//! A scheme of the engine whose decisions are made in Python.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use wifair_core::{Ac, Class, FlowId, StationId, Time};
use wifair_queue::{
    Arrival, Cx, DequeuedPacket, Eviction, Exchange, Grant, Hooks, Indexes, Placed, PoliceAction, Reception,
    Refusal, Scheme, Shortcuts, Transmission,
};

use super::buffer::Buffer;
use super::call::{MethodCall, SchemeState, lend, misuse};
use super::context::Context;
use super::exception::fail;
use super::packet::Packet;
use super::{events, words};

/// A new scheme as returned by `wifair.scheme`: the attributes of its class, and its bound methods. Missing methods are absent.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Made {
    needs: Py<words::Indexes>,
    decides_on: Vec<words::Kind>,
    enqueue_when: String,
    first_tick_ns: Option<u64>,
    enqueue: Py<PyAny>,
    dequeue: Option<Py<PyAny>>,
    on_exchange: Option<Py<PyAny>>,
    on_transmission: Option<Py<PyAny>>,
    on_reception: Option<Py<PyAny>>,
    police: Option<Py<PyAny>>,
    on_queue_size: Option<Py<PyAny>>,
    on_link_rate: Option<Py<PyAny>>,
    on_tick: Option<Py<PyAny>>,
    on_forgotten: Option<Py<PyAny>>,
    evict_excess: Option<Py<PyAny>>,
    gauges: Option<Py<PyAny>>,
}

/// How long `dequeue` may release nothing while packets wait and no tick is due.
const PATIENCE: Time = Time::from_ms(500);

pub struct PythonScheme {
    made: Made,
    shortcuts: Shortcuts,
    decides_on: &'static [Class],
    state: SchemeState,
    /// Since when `dequeue` has released nothing although a packet might go and no tick is due.
    idle_since: Option<Time>,
    buffer: Py<Buffer>,
    context: Py<Context>,
}

impl PythonScheme {
    /// Creates a scheme by calling `make(parameters)` in Python.
    pub fn new(py: Python<'_>, make: &Py<PyAny>, parameters: &str) -> PyResult<PythonScheme> {
        let made: Made = make.call1(py, (parameters,))?.extract(py)?;
        let release_head = made.dequeue.is_none();
        let shortcuts = match made.enqueue_when.as_str() {
            "always" => Shortcuts { release_head, ..Shortcuts::default() },
            "full" => Shortcuts { append: true, release_head, ..Shortcuts::default() },
            "room" => Shortcuts { tail_drop: true, release_head, ..Shortcuts::default() },
            other => {
                let text = format!("enqueue_when is {other:?}; allowed here: \"always\", \"full\", \"room\"");
                return Err(PyValueError::new_err(text));
            }
        };
        let state =
            SchemeState::new(made.needs.get().wanted, !release_head, made.first_tick_ns.map(Time::from_ns));
        if shortcuts.append && state.is_keyed() {
            let text =
                "enqueue_when = \"full\" lets packets in without a key, which needs.keyed() wants of each";
            return Err(PyValueError::new_err(text));
        }
        Ok(PythonScheme {
            shortcuts,
            decides_on: classes(&made.decides_on),
            buffer: Py::new(py, Buffer { tx_queue: state.tx_queue })?,
            context: Py::new(py, Context::new(py, state.tx_queue)?)?,
            state,
            idle_since: None,
            made,
        })
    }

    /// Calls a method of the scheme whose result is ignored.
    fn tell(
        &mut self,
        name: &'static str,
        method: impl Fn(&Made) -> &Option<Py<PyAny>>,
        buffer: &mut wifair_queue::Buffer,
        cx: &mut Cx,
        told: impl FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>>,
    ) {
        let Some(method) = method(&self.made) else { return };
        let now = cx.now;
        Python::attach(|py| {
            let (lent, context) = (self.buffer.bind(py), self.context.bind(py));
            let result = told(py).and_then(|told| {
                let arguments = match told {
                    Some(told) => PyTuple::new(py, [told.bind(py), lent.as_any(), context.as_any()])?,
                    None => PyTuple::new(py, [lent.as_any(), context.as_any()])?,
                };
                let mut call = MethodCall::new(&mut self.state, buffer, Some(cx));
                lend(&mut call, || method.call1(py, arguments))
            });
            if let Err(error) = result {
                fail(error, name, Some(now));
            }
        });
    }
}

fn object<'py, T>(py: Python<'py>, value: T) -> PyResult<Option<Py<PyAny>>>
where
    T: pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>,
{
    Ok(Some(Py::new(py, value)?.into_any()))
}

impl Scheme for PythonScheme {
    fn needs(&self) -> Indexes {
        self.state.indexes
    }

    fn decides_on(&self) -> &'static [Class] {
        self.decides_on
    }

    fn shortcuts(&self) -> Shortcuts {
        self.shortcuts
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            exchange: self.made.on_exchange.is_some(),
            transmission: self.made.on_transmission.is_some(),
            reception: self.made.on_reception.is_some(),
            police: self.made.police.is_some(),
            queue_size: self.made.on_queue_size.is_some(),
            link_rate: self.made.on_link_rate.is_some(),
            tick: self.made.on_tick.is_some(),
            moves_tick: self.made.on_tick.is_some(),
            forgotten: self.made.on_forgotten.is_some(),
            ..Hooks::default()
        }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) -> Placed {
        // A transmit queue may also ask for decisions that are always the same.
        match buffer.is_full() {
            false if self.shortcuts.append => return buffer.append(arrival),
            true if self.shortcuts.tail_drop => return buffer.refuse(arrival, Refusal::TailDrop),
            _ => {}
        }
        let (method, now) = (&self.made.enqueue, cx.now);
        Python::attach(|py| {
            let mut call = MethodCall::new(&mut self.state, buffer, Some(cx));
            call.arrival = Some(arrival);
            let result = Py::new(py, Packet::arriving(&call)).and_then(|packet| {
                lend(&mut call, || method.call1(py, (packet, &self.buffer, &self.context)))
            });
            let error = match (result, call.placed) {
                (Ok(_), Some(placed)) => return placed,
                (Ok(_), None) => misuse(
                    "enqueue has returned without placing or refusing the arrival: append, push_out, replace or refuse it",
                ),
                (Err(error), _) => error,
            };
            fail(error, "enqueue", Some(now))
        })
    }

    fn dequeue(
        &mut self,
        grant: &Grant,
        buffer: &mut wifair_queue::Buffer,
        cx: &mut Cx,
    ) -> Option<DequeuedPacket> {
        let Some(method) = &self.made.dequeue else { return buffer.release_head(grant) };
        let now = cx.now;
        Python::attach(|py| {
            let mut call = MethodCall::new(&mut self.state, buffer, Some(cx));
            call.grant = Some(grant);
            let result = Py::new(py, events::Grant::new(grant)).and_then(|granted| {
                lend(&mut call, || method.call1(py, (granted, &self.buffer, &self.context)))
            });
            let departure = call.departure;
            if departure.is_some() || self.state.next_tick.is_some() {
                self.idle_since = None;
            }
            let checked = result.and_then(|result| match departure {
                Some(_) => Ok(()),
                None if self.state.next_tick.is_some() => Ok(()),
                None => check_idle(result.bind(py), &mut self.idle_since, grant, buffer, now),
            });
            match checked {
                Ok(()) => departure,
                Err(error) => fail(error, "dequeue", Some(now)),
            }
        })
    }

    fn on_exchange(&mut self, exchange: &Exchange, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) {
        self.tell(
            "on_exchange",
            |made| &made.on_exchange,
            buffer,
            cx,
            |py| object(py, events::Exchange::new(exchange)),
        );
    }

    fn on_transmission(
        &mut self,
        transmission: &Transmission,
        buffer: &mut wifair_queue::Buffer,
        cx: &mut Cx,
    ) {
        self.tell(
            "on_transmission",
            |made| &made.on_transmission,
            buffer,
            cx,
            |py| object(py, events::Transmission::new(transmission)),
        );
    }

    fn on_reception(&mut self, reception: &Reception, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) {
        self.tell(
            "on_reception",
            |made| &made.on_reception,
            buffer,
            cx,
            |py| object(py, events::Reception::new(reception)),
        );
    }

    fn police(
        &mut self,
        reception: &Reception,
        buffer: &mut wifair_queue::Buffer,
        cx: &mut Cx,
    ) -> PoliceAction {
        let Some(method) = &self.made.police else { return PoliceAction::Forward };
        let now = cx.now;
        Python::attach(|py| {
            let mut call = MethodCall::new(&mut self.state, buffer, Some(cx));
            let action = Py::new(py, events::Reception::new(reception)).and_then(|reception| {
                let action = lend(&mut call, || method.call1(py, (reception, &self.buffer, &self.context)))?;
                action.extract::<words::PoliceAction>(py).map_err(|_| {
                    let shown = action.bind(py).repr().map_or_else(|_| "an object".into(), |shown| shown.to_string());
                    misuse(&format!(
                        "police has returned {shown}; allowed are PoliceAction.FORWARD, PoliceAction.MARK and PoliceAction.DROP"
                    ))
                })
            });
            action.unwrap_or_else(|error| fail(error, "police", Some(now))).into()
        })
    }

    fn on_queue_size(&mut self, station: StationId, _ac: Ac, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) {
        self.tell(
            "on_queue_size",
            |made| &made.on_queue_size,
            buffer,
            cx,
            |py| Ok(Some(station.0.into_pyobject(py)?.into_any().unbind())),
        );
    }

    fn on_link_rate(&mut self, station: StationId, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) {
        self.tell(
            "on_link_rate",
            |made| &made.on_link_rate,
            buffer,
            cx,
            |py| Ok(Some(station.0.into_pyobject(py)?.into_any().unbind())),
        );
    }

    fn next_tick(&self) -> Option<Time> {
        self.state.next_tick
    }

    fn on_tick(&mut self, buffer: &mut wifair_queue::Buffer, cx: &mut Cx) {
        self.state.next_tick = None;
        self.tell("on_tick", |made| &made.on_tick, buffer, cx, |_| Ok(None));
    }

    fn evict_excess(&mut self, buffer: &mut wifair_queue::Buffer) {
        let Some(method) = &self.made.evict_excess else {
            for _ in 0..buffer.excess() {
                let newest = buffer.tail().expect("the excess is queued");
                self.state.vacate(newest);
                buffer.evict(newest, Eviction::Victim);
            }
            return;
        };
        Python::attach(|py| {
            let mut call = MethodCall::new(&mut self.state, buffer, None);
            let result = lend(&mut call, || method.call1(py, (&self.buffer,)));
            let error = match (result, buffer.excess()) {
                (Ok(_), 0) => return,
                (Ok(_), left) => {
                    misuse(&format!("evict_excess has left {left} packets above the limit: evict them"))
                }
                (Err(error), _) => error,
            };
            fail(error, "evict_excess", None)
        });
    }

    fn on_forgotten(&mut self, flow: FlowId) {
        let Some(method) = &self.made.on_forgotten else { return };
        if let Err(error) = Python::attach(|py| method.call1(py, (flow.0,))) {
            fail(error, "on_forgotten", None);
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let Some(method) = &self.made.gauges else { return };
        let found = Python::attach(|py| method.call0(py)?.extract::<Vec<(String, f64)>>(py));
        match found {
            Ok(gauges) => gauges.into_iter().for_each(|(name, value)| out(lasting(name), value)),
            Err(error) => fail(error, "gauges", None),
        }
    }
}

/// Checks a call of `dequeue` that has returned `result` and released nothing, while no tick is due.
fn check_idle(
    result: &Bound<'_, PyAny>,
    idle_since: &mut Option<Time>,
    grant: &Grant,
    buffer: &wifair_queue::Buffer,
    now: Time,
) -> PyResult<()> {
    if !result.is_none() {
        let shown = result.repr()?;
        return Err(misuse(&format!(
            "dequeue has returned {shown} and released no packet: buffer.release(packet) sends it"
        )));
    }
    if grant.station.is_some() || buffer.first_admitted(grant).is_none() {
        return Ok(()); // it has been asked for a station whose turn it need not be
    }
    if now > *idle_since.get_or_insert(now) + PATIENCE {
        return Err(misuse(&format!(
            "dequeue has released nothing for {} s although {} packets wait and no tick is due: release one, or set the \
             time at which one may go with cx.tick_at",
            PATIENCE.as_secs_f64(),
            buffer.len()
        )));
    }
    Ok(())
}

/// The static slice of these classes.
fn classes(kinds: &[words::Kind]) -> &'static [Class] {
    let [data, ack, other] =
        [words::Kind::Data, words::Kind::Ack, words::Kind::Other].map(|kind| kinds.contains(&kind));
    match (data, ack, other) {
        (false, false, false) => &[],
        (true, false, false) => &[Class::Data],
        (false, true, false) => &[Class::Ack],
        (false, false, true) => &[Class::Other],
        (true, true, false) => &[Class::Data, Class::Ack],
        (true, false, true) => &[Class::Data, Class::Other],
        (false, true, true) => &[Class::Ack, Class::Other],
        (true, true, true) => &Class::ALL,
    }
}

/// Leaks a name: the engine's gauges need static names, of which a program has a handful.
fn lasting(name: String) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let lasting: &'static str = name.leak();
    names.insert(lasting);
    lasting
}
