//! An arriving or a queued packet.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use wifair_core::{FlowId, StationId};
use wifair_queue::SlotId;

use super::call::{MethodCall, misuse, with_call};
use super::words::Kind;

/// A packet: the arrival, or a queued one. It cannot be read once it has left the buffer.
#[pyclass(module = "wifair.scheme", frozen, eq, hash)]
#[derive(Clone, Copy)]
pub struct Packet {
    tx_queue: u64,
    call: u64,
    /// Its slot, and the slot's generation when the handle was created; `None` for an arrival.
    queued: Option<(SlotId, u32)>,
}

/// Two handles are equal if they refer to the same packet of the same transmit queue, whichever call created them.
impl PartialEq for Packet {
    fn eq(&self, other: &Packet) -> bool {
        self.tx_queue == other.tx_queue
            && self.queued == other.queued
            && (self.queued.is_some() || self.call == other.call)
    }
}

impl Hash for Packet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tx_queue.hash(state);
        self.queued.map(|(slot, generation)| (slot.index(), generation)).hash(state);
    }
}

impl Packet {
    /// The arrival of a call.
    pub fn arriving(call: &MethodCall) -> Packet {
        Packet { tx_queue: call.state.tx_queue, call: call.number, queued: None }
    }

    /// A queued packet.
    #[inline]
    pub fn queued(call: &MethodCall, slot: SlotId) -> Packet {
        let queued = Some((slot, call.state.generation(slot)));
        Packet { tx_queue: call.state.tx_queue, call: call.number, queued }
    }

    /// Its slot in the buffer, if it is queued.
    #[inline]
    pub fn slot(&self, call: &MethodCall) -> PyResult<SlotId> {
        match self.queued {
            None => Err(misuse("this is the arrival, and here goes a packet that is queued")),
            Some(_) if self.tx_queue != call.state.tx_queue => {
                Err(misuse("this packet is another transmit queue's"))
            }
            Some((slot, generation)) if generation != call.state.generation(slot) => {
                Err(misuse("this packet has left the buffer"))
            }
            Some(_) if self.call != call.number && !call.state.sees_all_removals => Err(misuse(
                "this packet is from an earlier call; only a scheme with a dequeue of its own may keep packets, since \
                 otherwise they leave without its knowledge",
            )),
            Some((slot, _)) => Ok(slot),
        }
    }

    /// Checks that it is the arrival of the call.
    #[inline]
    pub fn expect_arrival(&self, call: &MethodCall) -> PyResult<()> {
        match self.queued {
            None if self.call == call.number => Ok(()),
            None => Err(misuse("this arrival is from an earlier call")),
            Some(_) => Err(misuse("this packet is queued, and here goes the arrival")),
        }
    }

    #[inline]
    fn read<R>(
        &self,
        read: impl FnOnce(&wifair_core::Packet, FlowId, StationId, wifair_core::Class) -> R,
    ) -> PyResult<R> {
        with_call(self.tx_queue, |call| {
            if self.queued.is_some() {
                let slot = self.slot(call)?;
                let buffer = &*call.buffer;
                return Ok(read(
                    &buffer[slot].packet,
                    buffer[slot].flow,
                    buffer[slot].station,
                    buffer[slot].class,
                ));
            }
            self.expect_arrival(call)?;
            match (&call.arrival, &call.seen) {
                (Some(a), _) => Ok(read(a.packet(), a.flow(), a.station(), a.class())),
                (_, Some(seen)) => Ok(read(&seen.packet, seen.flow, seen.station, seen.class)),
                (None, None) => Err(misuse("there is no arrival in this method")),
            }
        })
    }
}

#[pymethods]
impl Packet {
    /// Its flow: a small integer, reused for another flow only after `on_forgotten`. 0 at stations, which have no flow monitor.
    #[getter]
    fn flow(&self) -> PyResult<u32> {
        self.read(|_, flow, _, _| flow.0)
    }

    /// The station at the other end of the link, counted from 0 in the order of the scenario.
    #[getter]
    fn station(&self) -> PyResult<u16> {
        self.read(|_, _, station, _| station.0)
    }

    /// DATA, ACK or OTHER.
    #[getter]
    fn kind(&self) -> PyResult<Kind> {
        self.read(|_, _, _, class| class.into())
    }

    /// Length of the IP packet in bytes.
    #[getter]
    fn ip_bytes(&self) -> PyResult<u32> {
        self.read(|packet, _, _, _| packet.ip_bytes())
    }

    /// TCP payload in bytes.
    #[getter]
    fn payload_bytes(&self) -> PyResult<u32> {
        self.read(|packet, _, _, _| packet.payload_bytes)
    }

    /// Sequence number of the first payload byte; wraps at 2³².
    #[getter]
    fn seq(&self) -> PyResult<u32> {
        self.read(|packet, _, _, _| packet.seq)
    }

    /// Acknowledgement number; wraps at 2³².
    #[getter]
    fn ack(&self) -> PyResult<u32> {
        self.read(|packet, _, _, _| packet.ack)
    }

    /// The TCP header's flags: FIN 0x01, SYN 0x02, RST 0x04, PSH 0x08, ACK 0x10, ECE 0x40, CWR 0x80.
    #[getter]
    fn flags(&self) -> PyResult<u8> {
        self.read(|packet, _, _, _| packet.flags.bits())
    }

    /// The differentiated services code point, 0 to 63.
    #[getter]
    fn dscp(&self) -> PyResult<u8> {
        self.read(|packet, _, _, _| packet.dscp())
    }

    /// The ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
    #[getter]
    fn ecn(&self) -> PyResult<u8> {
        self.read(|packet, _, _, _| packet.ecn() as u8)
    }

    /// Whether its sender has marked it as high priority (see SPM).
    #[getter]
    fn is_high_priority(&self) -> PyResult<bool> {
        self.read(|packet, _, _, _| packet.is_high_priority())
    }

    /// Source and destination address, source and destination port, IP protocol.
    #[getter]
    fn five_tuple(&self) -> PyResult<(u32, u32, u16, u16, u32)> {
        self.read(|packet, _, _, _| {
            let tuple = packet.tuple;
            (tuple.source, tuple.destination, tuple.source_port, tuple.destination_port, tuple.protocol)
        })
    }

    /// When it was admitted, in nanoseconds since the start of the run. For queued packets only.
    #[getter]
    fn enqueued_at_ns(&self) -> PyResult<u64> {
        with_call(self.tx_queue, |call| Ok(call.buffer[self.slot(call)?].enqueued_at.as_ns()))
    }
}
