//! FQ-CoDel: fair queues, with CoDel at each.
//!
//! Source: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue CoDel Packet Scheduler and
//! Active Queue Management Algorithm", RFC 8290, January 2018; where it is silent, its reference implementation in Linux
//! (`net/sched/sch_fq_codel.c`, as of 5.4).
//!
//! Idea: packets are hashed by their 5-tuple into queues, which take turns of a quantum of bytes (deficit round robin). A
//! queue that was empty is new and has its first turn before the old ones, so sparse flows do not wait. CoDel acts on each
//! queue. At overflow the longest queue loses half of its packets or bytes, from its head.
//!
//! Interpretations:
//! - `queues`, `quantum_bytes`, `target_ms`, `interval_ms`, `spared_bytes`, `drop_batch_packets`: defaults as in Linux (RFC
//!   8290, 5.2). So are the limits: `limit_bytes`, and 10,240 packets for `limit_packets` of the transmit queue unless it is
//!   set.
//! - `signal`: `mark` as in Linux, where ECN is on.
//! - `ack_filter`: not part of FQ-CoDel. CAKE's filter on its queues; see its values. What is redundant is what `safe` calls so
//!   in `ack-filtering`.
//!
//! Deviations. CoDel looks at the bytes behind the head in its own queue, as RFC 8289 has it; Linux at those of all queues, so
//! that a single packet of a queue may be dropped there. `limit_bytes` counts IP bytes, Linux the memory of the packets, which
//! is about half as much again. Overflow drops happen before the arrival is enqueued, with its bytes counted in its queue. The
//! same packets are dropped as in Linux; an arrival that would be dropped is refused. Only pure ACKs trigger the ACK filter;
//! CAKE's is also triggered by data with an ACK.
//!
//! Aggregates: the queue whose turn it is names the station of a PPDU, which is filled from the queues with a packet for that
//! station at their heads, in the order in which their turns would come. What a queue sends before its turn is charged to its
//! deficit, so it waits for as many rounds afterwards: flows share the bytes as without aggregation. CoDel works at each packet
//! that leaves. With `mac.aggregation.fill = "head-run"` or `"driver-queue"` queues strictly take turns, as a qdisc has it.
//!
//! Random draws: six at the first arrival, the keys of the hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::codel;
use crate::ack_filter::AckFilter;
use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::check;
use crate::codel::CodelSettings;
use crate::congestion::Signal;
use crate::fair_queue::{DropBatch, FairQueue, FairQueueSettings, Tin};
use crate::scheme::{Cx, Scheme};
use crate::words::Grant;

pub const INFO: Info = Info {
    name: "fq-codel",
    source: "RFC 8290; Linux sch_fq_codel",
    idea: "Queues by hash of the flow, CoDel at each; they take turns, new ones first; a full buffer takes half of the longest queue.",
};

/// Parameters of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Number of queues into which flows are hashed, 1 to 65536 (RFC 8290, section 5.2).
    pub queues: u32,
    /// Quantum: IP bytes that a queue may send per turn (RFC 8290, section 5.2).
    pub quantum_bytes: u32,
    /// TARGET: acceptable minimum sojourn time, in ms (RFC 8289).
    pub target_ms: f64,
    /// INTERVAL: how long sojourn times must exceed `target_ms` before the first signal, in ms (RFC 8289).
    pub interval_ms: f64,
    /// An MTU, in IP bytes: with no more bytes behind the head of a queue nothing is signalled there (RFC 8289, section 5.3).
    pub spared_bytes: u32,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
    /// Limit of the buffer in IP bytes, in addition to the limit in packets.
    pub limit_bytes: u32,
    /// Greatest number of packets dropped at once from the longest queue at overflow.
    pub drop_batch_packets: u32,
    /// ACK filter of CAKE: whether redundant ACKs are removed from their queue.
    pub ack_filter: AckFilter,
}

impl Default for Spec {
    fn default() -> Spec {
        let codel::Spec { target_ms, interval_ms, spared_bytes, signal } = codel::Spec::default();
        Spec {
            queues: 1024,
            quantum_bytes: 1514,
            target_ms,
            interval_ms,
            spared_bytes,
            signal,
            limit_bytes: 32 << 20,
            drop_batch_packets: 64,
            ack_filter: AckFilter::default(),
        }
    }
}

impl Spec {
    fn codel(&self) -> codel::Spec {
        let Spec { target_ms, interval_ms, spared_bytes, signal, .. } = *self;
        codel::Spec { target_ms, interval_ms, spared_bytes, signal }
    }

    pub fn build(&self) -> FqCodel {
        FqCodel {
            codel: self.codel().settings(),
            ack_filter: self.ack_filter,
            queues: FairQueue::new(FairQueueSettings {
                buckets: self.queues,
                quantum_bytes: self.quantum_bytes,
                limit_bytes: self.limit_bytes.into(),
                batch: DropBatch::HalfTheBytes,
                batch_packets: self.drop_batch_packets,
                overflow_counts: true,
                as_linux: false,
            }),
        }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "queues", self.queues.into(), 1.0..=65_536.0, "queues")?;
        check::within(path, "quantum_bytes", self.quantum_bytes.into(), 1.0..=1e6, "bytes")?;
        check::within(path, "limit_bytes", self.limit_bytes.into(), 65_535.0..=1e9, "bytes")?;
        check::within(path, "drop_batch_packets", self.drop_batch_packets.into(), 1.0..=1e5, "packets")?;
        self.codel().validate(path)
    }
}

pub struct FqCodel {
    codel: CodelSettings,
    ack_filter: AckFilter,
    queues: FairQueue,
}

/// The only tin: all queues take turns in one round.
const ALL: Tin = 0;

impl Scheme for FqCodel {
    fn needs(&self) -> Indexes {
        FairQueue::needs(self.ack_filter)
    }

    fn usual_limit_packets(&self) -> u32 {
        10_240
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if buffer.is_idle() {
            self.queues.deactivate(ALL);
        }
        self.queues.enqueue(arrival, ALL, self.ack_filter, buffer, cx)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        self.queues.dequeue(ALL, &self.codel, grant, buffer, cx)
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        self.queues.evict_excess(buffer);
    }
}
