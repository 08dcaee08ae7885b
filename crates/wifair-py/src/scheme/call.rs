//! What a scheme written in Python may access during a call of one of its methods, and only then.
//!
//! The engine lends it by reference for the duration of a call. Python objects may outlive the call, so they hold no reference:
//! they are tokens, and each of their methods looks up here what is lent now, on this thread, to this scheme. Between calls
//! nothing is lent.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;
use wifair_core::{Class, FlowId, Packet, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, DequeuedPacket, Filter, Flows, Grant, Indexes, Link, Pick, Placed, Pool, SlotId,
};

create_exception!(
    wifair.scheme,
    MisuseError,
    PyRuntimeError,
    "A scheme has asked for what the buffer does not do: placed a packet twice, used one that has left, …"
);

/// Engine-side state of a scheme between calls.
pub struct SchemeState {
    /// Identifies the scheme; its tokens carry this number.
    pub tx_queue: u64,
    pub indexes: Indexes,
    /// How often each slot of the buffer has been vacated by this scheme. Detects handles to packets that have left, even if
    /// the slot holds another packet.
    pub generations: Vec<u32>,
    /// Whether the scheme does all removals itself, so that handles remain valid between calls.
    pub sees_all_removals: bool,
    pub next_tick: Option<Time>,
}

impl SchemeState {
    pub fn new(indexes: Indexes, sees_all_removals: bool, next_tick: Option<Time>) -> SchemeState {
        static TX_QUEUES: AtomicU64 = AtomicU64::new(0);
        let tx_queue = TX_QUEUES.fetch_add(1, Ordering::Relaxed);
        SchemeState { tx_queue, indexes, generations: vec![], sees_all_removals, next_tick }
    }

    pub fn generation(&self, slot: SlotId) -> u32 {
        self.generations.get(slot.index()).copied().unwrap_or(0)
    }

    /// Records that the packet in `slot` leaves.
    pub fn vacate(&mut self, slot: SlotId) {
        if slot.index() >= self.generations.len() {
            self.generations.resize(slot.index() + 1, 0);
        }
        self.generations[slot.index()] += 1;
    }

    fn keeps(&self, wish: impl Fn(Indexes) -> Indexes) -> bool {
        wish(self.indexes) == self.indexes
    }

    pub fn picks(&self, pool: Pool, pick: Pick) -> bool {
        self.keeps(|indexes| indexes.picking(pool, pick))
    }

    pub fn has_acks(&self) -> bool {
        [Filter::Paper, Filter::Safe].into_iter().any(|filter| self.keeps(|indexes| indexes.acks(filter)))
    }

    pub fn has_stored_flows(&self) -> bool {
        self.keeps(Indexes::stored_flows)
    }

    pub fn has_queues(&self) -> bool {
        self.keeps(Indexes::queues)
    }

    pub fn is_keyed(&self) -> bool {
        self.keeps(Indexes::keyed)
    }
}

/// An arriving packet, as it was before it was placed.
#[derive(Clone, Copy)]
pub struct Seen {
    pub packet: Packet,
    pub flow: FlowId,
    pub station: StationId,
    pub class: Class,
}

/// One call of a method.
pub struct MethodCall<'a> {
    /// Identifies the call.
    pub number: u64,
    pub state: &'a mut SchemeState,
    pub buffer: &'a mut Buffer,
    /// The arrival, until it is placed.
    pub arrival: Option<Arrival<'a>>,
    /// The arrival, once it is placed.
    pub seen: Option<Seen>,
    pub placed: Option<Placed>,
    pub grant: Option<&'a Grant<'a>>,
    pub departure: Option<DequeuedPacket>,
    /// `None` if the engine provides none.
    pub context: Option<LentContext<'a>>,
}

pub struct LentContext<'a> {
    pub now: Time,
    pub rng: &'a mut wifair_core::Rng,
    pub flows: &'a Flows,
    pub links: &'a [Link],
}

impl<'a> MethodCall<'a> {
    pub fn new(state: &'a mut SchemeState, buffer: &'a mut Buffer, cx: Option<&'a mut Cx>) -> MethodCall<'a> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        MethodCall {
            number: CALLS.fetch_add(1, Ordering::Relaxed),
            state,
            buffer,
            arrival: None,
            seen: None,
            placed: None,
            grant: None,
            departure: None,
            context: cx.map(|cx| LentContext { now: cx.now, rng: cx.rng, flows: cx.flows, links: cx.links }),
        }
    }

    /// Takes the arrival in order to place it.
    pub fn take_arrival(&mut self) -> PyResult<Arrival<'a>> {
        let Some(arrival) = self.arrival.take() else {
            return Err(misuse("this arrival has been placed or refused already"));
        };
        self.seen = Some(Seen {
            packet: *arrival.packet(),
            flow: arrival.flow(),
            station: arrival.station(),
            class: arrival.class(),
        });
        Ok(arrival)
    }

    pub fn context(&mut self) -> PyResult<&mut LentContext<'a>> {
        self.context
            .as_mut()
            .ok_or_else(|| misuse("there is no context in this method, and so no random numbers"))
    }
}

/// A lent call, with its lifetimes erased.
pub trait Lent {
    fn act(&mut self, act: &mut dyn FnMut(&mut MethodCall));
}

impl Lent for MethodCall<'_> {
    #[inline]
    fn act(&mut self, act: &mut dyn FnMut(&mut MethodCall)) {
        act(self);
    }
}

scoped_thread_local!(static mut LENT: for<'a> &'a mut (dyn Lent + 'a));

/// Lends `call` while `body` runs.
#[inline]
pub fn lend<R>(call: &mut MethodCall, body: impl FnOnce() -> R) -> R {
    LENT.set(call, body)
}

/// Runs `act` on the call lent to the scheme of `tx_queue`; fails if none is lent.
#[inline]
pub fn with_call<R>(tx_queue: u64, act: impl FnOnce(&mut MethodCall) -> PyResult<R>) -> PyResult<R> {
    if !LENT.is_set() {
        return Err(over());
    }
    let mut act = Some(act);
    let mut result = None;
    LENT.with(|lent| {
        lent.act(&mut |call| {
            result = Some(match act.take() {
                Some(act) if call.state.tx_queue == tx_queue => act(call),
                _ => Err(over()),
            });
        });
    });
    result.unwrap_or_else(|| Err(over()))
}

#[cold]
pub fn misuse(text: &str) -> PyErr {
    MisuseError::new_err(text.to_string())
}

#[cold]
fn over() -> PyErr {
    misuse(
        "buffer, packets and context are lent to a scheme for one call of one of its methods, and that call is over \
         (or it was another scheme's, or another thread's)",
    )
}
