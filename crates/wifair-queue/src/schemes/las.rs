//! LAS: least attained service first.
//!
//! Source: `spm-af-las` 6.2, after Rai, Urvoy-Keller and Biersack 2003.
//!
//! Idea: the packet of the flow that has attained the least service leaves first. At a full buffer the packet that would
//! leave last is lost: the last in that order, or the arrival if it would be behind it.
//!
//! Interpretations. A packet is given its key when it arrives and keeps it; among equal keys it is first in, first out.
//! - `key`: the paper says both that "the router uses a counter to keep track of the amount of service attained by a flow" and
//!   that a packet is inserted "according to its sequence number". The default is the `sequence` number, counted from the
//!   flow's first: the sentence on the implementation says so, and an ns-2 packet carries it. A retransmitted packet then has
//!   its former position and overtakes others. `served` counts a flow's packets as they leave for the MAC, `arrived` as they
//!   are enqueued (evicted packets are subtracted again).
//! - `acks`: an uplink flow has only ACKs here. With `acknowledged` the data that they acknowledge counts as the service of the
//!   flow, so uplink and downlink flows can be compared (in ns-2 the ACK's sequence number is what it acknowledges). With `own`
//!   their size counts: they attain little service and are nearly always served first.
//! - `unit`: the paper counts in packets (its threshold is "50 packets"). In `bytes` of the IP packet an ACK counts little.
//! - `forget_after_s`: when a flow's service is forgotten. The paper does not say; by default only when the flow monitor
//!   forgets the flow (`ap.flows.idle_timeout_s`), since every connection has a separate 5-tuple and starts from zero anyway.
//!
//! Aggregates: the first packet in the order of keys names the station of a PPDU, which is filled with that station's packets
//! in the same order. With `mac.aggregation.fill = "head-run"` it ends at the first packet that would leave for another
//! station.
//!
//! Deviations: none known. SYN and FIN are packets like any other. No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, FlowId, Info, Packet, SpecError, TcpFlags, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed, SlotId};
use crate::scheme::{Cx, Hooks, Scheme};
use crate::words::{Eviction, Grant, Refusal};

pub const INFO: Info = Info {
    name: "las",
    source: "spm-af-las 6.2; Rai, Urvoy-Keller and Biersack 2003",
    idea: "The flow that has attained the least service goes first; at a full buffer the last packet in that order is lost.",
};

/// Parameters of LAS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// What a packet's position in the order of service depends on.
    pub key: LasKey,
    /// Unit of attained service.
    pub unit: Unit,
    /// How much attained service an ACK adds to its flow.
    pub acks: AckService,
    /// TCP payload per packet, in bytes, by which sequence and acknowledgement numbers are converted into packets.
    pub packet_bytes: u32,
    /// Silence after which a flow starts again from zero attained service, in seconds; never if absent.
    pub forget_after_s: Option<f64>,
}

/// What a packet's key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LasKey {
    /// Its sequence number, counted from the first of the flow.
    #[default]
    Sequence,
    /// Packets (or bytes) of its flow dequeued before it arrived.
    Served,
    /// Packets (or bytes) of its flow enqueued before it and not evicted.
    Arrived,
}

/// Unit of attained service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes: of the IP packet, or of the sequence number.
    Bytes,
}

/// How much attained service an ACK adds to its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckService {
    /// The data that it acknowledges.
    #[default]
    Acknowledged,
    /// Its size, as for any packet.
    Own,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            key: LasKey::default(),
            unit: Unit::default(),
            acks: AckService::default(),
            packet_bytes: 1460,
            forget_after_s: None,
        }
    }
}

impl Spec {
    pub fn build(&self) -> Las {
        Las::with_threshold(self, u64::MAX)
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if !(1..=65_495).contains(&self.packet_bytes) {
            let key = format!("{path}.packet_bytes");
            return Err(SpecError::new(key, self.packet_bytes, "1 to 65,495 bytes"));
        }
        match self.forget_after_s {
            Some(s) if !(0.001..=86_400.0).contains(&s) => {
                Err(SpecError::new(format!("{path}.forget_after_s"), s, "0.001 to 86400 seconds"))
            }
            _ => Ok(()),
        }
    }
}

/// Progress of a 32-bit number, which wraps, from its first value.
#[derive(Clone, Copy, Debug, Default)]
struct UnwrappedNumber {
    /// The greatest number so far, and its distance from the first.
    greatest: Option<(u32, u64)>,
}

impl UnwrappedNumber {
    /// Distance of `number` from the first; 0 for numbers before the first.
    fn of(&mut self, number: u32) -> u64 {
        let Some((greatest, far)) = self.greatest else {
            self.greatest = Some((number, 0));
            return 0;
        };
        let further = i64::from(number.wrapping_sub(greatest).cast_signed());
        let position = far.saturating_add_signed(further);
        if further > 0 {
            self.greatest = Some((number, position));
        }
        position
    }
}

/// Service state of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowService {
    sequence: UnwrappedNumber,
    acknowledgement: UnwrappedNumber,
    /// In bytes; a packet counts as `packet_bytes` where the unit is packets.
    attained: u64,
    /// Its first packet since it was last forgotten.
    since: Time,
    last_seen: Time,
}

pub struct Las {
    spec: Spec,
    forget_after: Time,
    /// All keys from this value on are equal.
    threshold: u64,
    flows: Vec<FlowService>,
}

impl Las {
    /// LAS up to a threshold of attained service, in the unit of `spec`; first in, first out beyond it.
    pub(super) fn with_threshold(spec: &Spec, threshold: u64) -> Las {
        Las {
            spec: spec.clone(),
            forget_after: spec.forget_after_s.map_or(Time::MAX, Time::from_secs_f64),
            threshold,
            flows: Vec::new(),
        }
    }

    /// A packet's key.
    fn key(&mut self, arrival: &Arrival, now: Time) -> u64 {
        let index = arrival.flow().index();
        if index >= self.flows.len() {
            self.flows.resize(index + 1, FlowService::default());
        }
        let flow = &mut self.flows[index];
        if now - flow.last_seen >= self.forget_after {
            *flow = FlowService { since: now, ..FlowService::default() };
        }
        flow.last_seen = now;
        let attained = match self.spec.key {
            LasKey::Sequence => self.position(arrival.packet(), index),
            LasKey::Served | LasKey::Arrived => self.flows[index].attained,
        };
        let in_unit = match self.spec.unit {
            Unit::Packets => attained / u64::from(self.spec.packet_bytes),
            Unit::Bytes => attained,
        };
        in_unit.min(self.threshold)
    }

    /// Progress of the connection when the packet was sent, in the direction with more progress: data of a downlink flow
    /// advances its sequence number, ACKs of an uplink flow their acknowledgement number.
    fn position(&mut self, packet: &Packet, flow: usize) -> u64 {
        let flow = &mut self.flows[flow];
        let sent = flow.sequence.of(packet.seq);
        if self.spec.acks == AckService::Acknowledged && packet.flags.contains(TcpFlags::ACK) {
            sent.max(flow.acknowledgement.of(packet.ack))
        } else {
            sent
        }
    }

    /// The service that a packet adds to its flow.
    fn service(&mut self, packet: &Packet, class: Class, flow: FlowId) -> u64 {
        if class == Class::Ack && self.spec.acks == AckService::Acknowledged {
            let acknowledgement = &mut self.flows[flow.index()].acknowledgement;
            let before = acknowledgement.greatest.map_or(0, |(_, far)| far);
            return acknowledgement.of(packet.ack).saturating_sub(before);
        }
        self.size(packet)
    }

    /// The size of a packet in the unit of `spec`.
    fn size(&self, packet: &Packet) -> u64 {
        match self.spec.unit {
            Unit::Packets => u64::from(self.spec.packet_bytes),
            Unit::Bytes => u64::from(packet.ip_bytes()),
        }
    }

    fn count_arrival(&mut self, arrival: &Arrival) {
        if self.spec.key == LasKey::Arrived {
            let service = self.service(arrival.packet(), arrival.class(), arrival.flow());
            self.flows[arrival.flow().index()].attained += service;
        }
    }

    /// Subtracts what was counted on arrival. Data acknowledged by an ACK stays counted: the next ACK acknowledges it again,
    /// and only newly acknowledged data counts.
    fn count_eviction(&mut self, buffer: &Buffer, slot: SlotId) {
        let says_again = buffer[slot].class == Class::Ack && self.spec.acks == AckService::Acknowledged;
        if self.spec.key != LasKey::Arrived || says_again {
            return;
        }
        let size = self.size(&buffer[slot].packet);
        let flow = &mut self.flows[buffer[slot].flow.index()];
        if buffer[slot].enqueued_at >= flow.since {
            flow.attained -= size;
        }
    }
}

impl Scheme for Las {
    fn needs(&self) -> Indexes {
        Indexes::NONE.keyed()
    }

    fn hooks(&self) -> Hooks {
        Hooks { forgotten: true, ..Hooks::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        let key = self.key(&arrival, cx.now);
        if !buffer.is_full() {
            self.count_arrival(&arrival);
            return buffer.append(arrival.with_key(key));
        }
        match buffer.keys().last() {
            Some(last) if buffer.keys().key(last) > key => {
                self.count_eviction(buffer, last);
                self.count_arrival(&arrival);
                buffer.push_out(last, Eviction::Victim, arrival.with_key(key))
            }
            _ => buffer.refuse(arrival, Refusal::TailDrop),
        }
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<DequeuedPacket> {
        let mut first = buffer.keys().first()?;
        if grant.gathers && !buffer.admits(first, grant) {
            first = buffer.first_admitted_by_key(grant)?;
        }
        let departure = buffer.may_go(first, grant).then(|| buffer.release(first))?;
        if self.spec.key == LasKey::Served {
            let service = self.service(&departure.packet, departure.class, departure.flow);
            self.flows[departure.flow.index()].attained += service;
        }
        Some(departure)
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        for _ in 0..buffer.excess() {
            let last = buffer.keys().last().expect("the excess is queued");
            self.count_eviction(buffer, last);
            buffer.evict(last, Eviction::Victim);
        }
    }

    fn on_forgotten(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            *flow = FlowService::default();
        }
    }
}
