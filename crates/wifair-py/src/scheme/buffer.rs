//! The buffer, as used by a scheme written in Python. Only the buffer places and releases packets.

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use wifair_core::FlowId;
use wifair_queue::{QueueId, SlotId};

use super::call::{MethodCall, misuse, with_call};
use super::packet::Packet;
use super::words::{Eviction, Kind, Pick, Pool, Refusal};

/// The packet store of a transmit queue, lent to a scheme for a call.
#[pyclass(module = "wifair.scheme", frozen)]
pub struct Buffer {
    pub tx_queue: u64,
}

impl Buffer {
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut MethodCall) -> PyResult<R>) -> PyResult<R> {
        with_call(self.tx_queue, act)
    }

    #[inline]
    fn find(
        &self,
        find: impl FnOnce(&mut MethodCall) -> PyResult<Option<SlotId>>,
    ) -> PyResult<Option<Packet>> {
        self.with(|call| Ok(find(call)?.map(|slot| Packet::queued(call, slot))))
    }
}

/// Checks the key of an arrival: required if the buffer has an order of keys, and not allowed otherwise.
fn key_for(call: &MethodCall, key: Option<u64>) -> PyResult<Option<u64>> {
    match (call.state.is_keyed(), key) {
        (true, None) => {
            Err(misuse("this buffer has an order of keys (needs.keyed()): every packet is given a key"))
        }
        (false, Some(_)) => Err(asked("keyed()")),
        _ => Ok(key),
    }
}

/// Maximum number of queues of a buffer here: it keeps a row for each up to the greatest.
const MOST_QUEUES: u32 = 1 << 20;

/// Checks a queue's number in a buffer with queues.
fn number(call: &MethodCall, queue: u32) -> PyResult<QueueId> {
    if !call.state.has_queues() {
        return Err(asked("queues()"));
    }
    if queue >= MOST_QUEUES {
        return Err(misuse(&format!(
            "{queue} is no number of a queue; allowed here: 0 to {}",
            MOST_QUEUES - 1
        )));
    }
    Ok(QueueId(queue))
}

#[cold]
fn no_room() -> PyErr {
    misuse("the buffer is full: make room (push_out, evict) or refuse the arrival")
}

#[cold]
fn asked(index: &str) -> PyErr {
    misuse(&format!("this index is not kept: ask for it in the class attribute needs, as Indexes().{index}"))
}

#[pymethods]
impl Buffer {
    /// Packets queued.
    fn __len__(&self) -> PyResult<usize> {
        self.with(|call| Ok(call.buffer.len()))
    }

    /// Whether anything is queued.
    fn __bool__(&self) -> PyResult<bool> {
        self.with(|call| Ok(!call.buffer.is_empty()))
    }

    /// The queued packets from head to tail, as they are now; takes time proportional to their number.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let queued = self.with(|call| {
            let slots = std::iter::successors(call.buffer.head(), |&slot| call.buffer.after(slot));
            Ok(slots.map(|slot| Packet::queued(call, slot)).collect::<Vec<_>>())
        })?;
        PyList::new(py, queued)?.try_iter()
    }

    /// Maximum number of packets.
    #[getter]
    fn limit(&self) -> PyResult<u32> {
        self.with(|call| Ok(call.buffer.limit()))
    }

    /// Whether an arrival finds no room.
    #[getter]
    fn is_full(&self) -> PyResult<bool> {
        self.with(|call| Ok(call.buffer.is_full()))
    }

    /// Number of queued packets above a limit that has been lowered.
    #[getter]
    fn excess(&self) -> PyResult<u32> {
        self.with(|call| Ok(call.buffer.excess()))
    }

    /// The packet at the head, or None.
    #[getter]
    fn head(&self) -> PyResult<Option<Packet>> {
        self.find(|call| Ok(call.buffer.head()))
    }

    /// The packet at the tail, or None.
    #[getter]
    fn tail(&self) -> PyResult<Option<Packet>> {
        self.find(|call| Ok(call.buffer.tail()))
    }

    /// The packet after another, towards the tail, or None.
    fn after(&self, packet: &Packet) -> PyResult<Option<Packet>> {
        self.find(|call| Ok(call.buffer.after(packet.slot(call)?)))
    }

    /// Picks a packet of the pool, or None if it is empty. A random pick takes one draw unless the pool is empty. Needs
    /// `Indexes().picking(pool, pick)`.
    fn pick(&self, pool: Pool, pick: Pick) -> PyResult<Option<Packet>> {
        self.find(|call| {
            let (pool, pick) = (pool.into(), pick.into());
            if !call.state.picks(pool, pick) {
                return Err(asked("picking(pool, pick)"));
            }
            if pick != wifair_queue::Pick::Random {
                let mut unused = wifair_core::Rng::stream(0, "", "");
                return Ok(call.buffer.pick(pool, pick, &mut unused));
            }
            let rng = &mut call.context.as_mut().ok_or_else(no_rng)?.rng;
            Ok(call.buffer.pick(pool, pick, rng))
        })
    }

    /// Picks a redundant ACK, including the one that the arrival makes redundant, or None. Needs `Indexes().redundant(filter,
    /// pick)`.
    fn pick_redundant(&self, arrival: &Packet, pick: Pick) -> PyResult<Option<Packet>> {
        self.find(|call| {
            arrival.expect_arrival(call)?;
            let pick = pick.into();
            if !call.state.picks(wifair_queue::Pool::Redundant, pick) {
                return Err(asked("redundant(filter, pick)"));
            }
            let Some(arrival) = &call.arrival else {
                return Err(misuse("this arrival has been placed or refused already"));
            };
            let rng = &mut call.context.as_mut().ok_or_else(no_rng)?.rng;
            Ok(call.buffer.pick_redundant(arrival, pick, rng))
        })
    }

    /// The newest queued ACK of the arrival's flow, if the arrival is an ACK that makes it redundant, else None.
    /// Needs `Indexes().acks(filter)`.
    fn superseded_by(&self, arrival: &Packet) -> PyResult<Option<Packet>> {
        self.find(|call| {
            arrival.expect_arrival(call)?;
            if !call.state.has_acks() {
                return Err(asked("acks(filter)"));
            }
            let Some(arrival) = &call.arrival else {
                return Err(misuse("this arrival has been placed or refused already"));
            };
            Ok(call.buffer.superseded_by(arrival))
        })
    }

    /// Queued packets of a flow and kind. Needs `Indexes().stored_flows()`.
    fn stored_packets(&self, flow: u32, kind: Kind) -> PyResult<u32> {
        self.with(|call| {
            if !call.state.has_stored_flows() {
                return Err(asked("stored_flows()"));
            }
            Ok(call.buffer.stored_flows().packets(FlowId(flow), kind.into()))
        })
    }

    /// Number of flows with packets of a kind queued. Needs `Indexes().stored_flows()`.
    fn stored_flows(&self, kind: Kind) -> PyResult<u32> {
        self.with(|call| {
            if !call.state.has_stored_flows() {
                return Err(asked("stored_flows()"));
            }
            Ok(call.buffer.stored_flows().flows(kind.into()))
        })
    }

    /// The packet with the smallest key (on a tie, the one that arrived first), or None. Needs `Indexes().keyed()`.
    #[getter]
    fn first_by_key(&self) -> PyResult<Option<Packet>> {
        self.find(
            |call| if call.state.is_keyed() { Ok(call.buffer.keys().first()) } else { Err(asked("keyed()")) },
        )
    }

    /// The packet with the greatest key (on a tie, the one that arrived last), or None. Needs `Indexes().keyed()`.
    #[getter]
    fn last_by_key(&self) -> PyResult<Option<Packet>> {
        self.find(
            |call| if call.state.is_keyed() { Ok(call.buffer.keys().last()) } else { Err(asked("keyed()")) },
        )
    }

    /// The key of a queued packet. Needs `Indexes().keyed()`.
    fn key(&self, packet: &Packet) -> PyResult<u64> {
        self.with(|call| {
            if !call.state.is_keyed() {
                return Err(asked("keyed()"));
            }
            Ok(call.buffer.keys().key(packet.slot(call)?))
        })
    }

    /// Admits the arrival at the tail; there must be room. `key` is required if the buffer has an order of keys, and not
    /// allowed otherwise.
    #[pyo3(signature = (arrival, key=None))]
    fn append(&self, arrival: &Packet, key: Option<u64>) -> PyResult<()> {
        self.with(|call| {
            arrival.expect_arrival(call)?;
            let key = key_for(call, key)?;
            if call.buffer.is_full() {
                return Err(no_room());
            }
            let arrival = call.take_arrival()?;
            call.placed = Some(call.buffer.append(arrival.with_key(key.unwrap_or_default())));
            Ok(())
        })
    }

    /// Admits the arrival at the tail and appends it to a queue; there must be room. Needs `Indexes().queues()`.
    fn append_to(&self, arrival: &Packet, queue: u32) -> PyResult<()> {
        self.with(|call| {
            arrival.expect_arrival(call)?;
            let queue = number(call, queue)?;
            if call.buffer.is_full() {
                return Err(no_room());
            }
            let arrival = call.take_arrival()?;
            call.placed = Some(call.buffer.append(arrival.to_queue(queue)));
            Ok(())
        })
    }

    /// The first packet of a queue, or None. Needs `Indexes().queues()`.
    fn first_of(&self, queue: u32) -> PyResult<Option<Packet>> {
        self.find(|call| Ok(call.buffer.queues().first(number(call, queue)?)))
    }

    /// The last packet of a queue, or None. Needs `Indexes().queues()`.
    fn last_of(&self, queue: u32) -> PyResult<Option<Packet>> {
        self.find(|call| Ok(call.buffer.queues().last(number(call, queue)?)))
    }

    /// Number of packets in a queue. Needs `Indexes().queues()`.
    fn packets_of(&self, queue: u32) -> PyResult<u32> {
        self.with(|call| Ok(call.buffer.queues().packets(number(call, queue)?)))
    }

    /// Bytes in a queue, IP headers included. Needs `Indexes().queues()`.
    fn bytes_of(&self, queue: u32) -> PyResult<u32> {
        self.with(|call| Ok(call.buffer.queues().bytes(number(call, queue)?)))
    }

    /// The numbers of the queues that hold packets, ascending. Needs `Indexes().queues()`.
    fn occupied_queues(&self) -> PyResult<Vec<u32>> {
        self.with(|call| {
            number(call, 0)?;
            Ok(call.buffer.queues().occupied().map(|queue| queue.0).collect())
        })
    }

    /// Evicts a queued packet and admits the arrival at the tail. The length is unchanged, so this is allowed at a full buffer.
    #[pyo3(signature = (packet, reason, arrival, key=None))]
    fn push_out(
        &self,
        packet: &Packet,
        reason: Eviction,
        arrival: &Packet,
        key: Option<u64>,
    ) -> PyResult<()> {
        self.with(|call| {
            arrival.expect_arrival(call)?;
            let (slot, key) = (packet.slot(call)?, key_for(call, key)?);
            let arrival = call.take_arrival()?;
            call.state.vacate(slot);
            let arrival = arrival.with_key(key.unwrap_or_default());
            call.placed = Some(call.buffer.push_out(slot, reason.into(), arrival));
            Ok(())
        })
    }

    /// Like `push_out`, but the arrival takes the position of the evicted packet.
    fn replace(&self, packet: &Packet, reason: Eviction, arrival: &Packet) -> PyResult<()> {
        self.with(|call| {
            arrival.expect_arrival(call)?;
            let slot = packet.slot(call)?;
            if call.state.is_keyed() {
                return Err(misuse(
                    "in a buffer with an order of keys an arrival takes nobody's place: push_out",
                ));
            }
            let arrival = call.take_arrival()?;
            call.state.vacate(slot);
            call.placed = Some(call.buffer.replace(slot, reason.into(), arrival));
            Ok(())
        })
    }

    /// Refuses the arrival; without a reason, as a tail drop (`Refusal.TAIL_DROP`).
    #[pyo3(signature = (arrival, reason=Refusal::TailDrop))]
    fn refuse(&self, arrival: &Packet, reason: Refusal) -> PyResult<()> {
        self.with(|call| {
            arrival.expect_arrival(call)?;
            let arrival = call.take_arrival()?;
            call.placed = Some(call.buffer.refuse(arrival, reason.into()));
            Ok(())
        })
    }

    /// Evicts a queued packet; without a reason, as a victim (`Eviction.VICTIM`).
    #[pyo3(signature = (packet, reason=Eviction::Victim))]
    fn evict(&self, packet: &Packet, reason: Eviction) -> PyResult<()> {
        self.with(|call| {
            let slot = packet.slot(call)?;
            call.state.vacate(slot);
            call.buffer.evict(slot, reason.into());
            Ok(())
        })
    }

    /// Whether the grant allows a queued packet to leave. Only in `dequeue`; False elsewhere.
    fn may_go(&self, packet: &Packet) -> PyResult<bool> {
        self.with(|call| {
            let slot = packet.slot(call)?;
            Ok(call.grant.is_some_and(|grant| call.buffer.may_go(slot, grant)))
        })
    }

    /// Hands a queued packet to the MAC. Only in `dequeue`, once, and only if the grant allows it.
    fn release(&self, packet: &Packet) -> PyResult<()> {
        self.with(|call| {
            let slot = packet.slot(call)?;
            release(call, slot)
        })
    }

    /// Hands the packet at the head to the MAC if the grant allows it; returns whether it did.
    fn release_head(&self) -> PyResult<bool> {
        self.with(|call| {
            let head = call.buffer.head();
            match (head, call.grant) {
                (Some(slot), Some(grant)) if !call.buffer.may_go(slot, grant) => Ok(false),
                (Some(slot), _) => release(call, slot).map(|()| true),
                (None, _) => Ok(false),
            }
        })
    }

    /// Sets CE on a queued packet whose transport is ECN-capable. Otherwise returns False and changes nothing.
    fn mark(&self, packet: &Packet) -> PyResult<bool> {
        self.with(|call| {
            let slot = packet.slot(call)?;
            Ok(call.buffer.mark(slot))
        })
    }

    /// Sets ECE on a queued pure ACK. For other packets returns False and changes nothing.
    fn set_ece(&self, packet: &Packet) -> PyResult<bool> {
        self.with(|call| {
            let slot = packet.slot(call)?;
            Ok(call.buffer.set_ece(slot))
        })
    }
}

fn release(call: &mut MethodCall, slot: SlotId) -> PyResult<()> {
    let Some(grant) = call.grant else {
        return Err(misuse("a packet is released in dequeue and nowhere else"));
    };
    if call.departure.is_some() {
        return Err(misuse("one packet has been released already: a grant is for one"));
    }
    if !call.buffer.may_go(slot, grant) {
        return Err(misuse("the grant does not allow this packet: see may_go"));
    }
    call.state.vacate(slot);
    call.departure = Some(call.buffer.release(slot));
    Ok(())
}

#[cold]
fn no_rng() -> PyErr {
    misuse("there are no random numbers in this method")
}
