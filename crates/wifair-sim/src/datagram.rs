//! Datagrams in the results: delay, jitter, loss, and voice quality.

use wifair_core::Counters;

use crate::datagram_session::{BACK, FORWARD};
use crate::e_model;
use crate::figures::{ns_to_ms, quantile_ms, ratio};
use crate::plan::{FlowDirection, Plan};
use crate::snapshot::{Snapshot, StreamSnapshot};
use crate::table::row;

row! {
    /// The datagrams of a flow in one direction. Echo replies are the row against the flow's direction.
    DatagramRow in "datagrams" {
        /// Index of the flow in the plan.
        flow: u64,
        /// Label of the plan.
        label: String,
        /// Group of the plan.
        group: String,
        /// What the flow carries: the application's name.
        application: String,
        /// Label of the station.
        station: String,
        /// `up` or `down`: the direction of these datagrams. Calls and games have both.
        direction: String,
        /// Datagrams sent.
        sent_packets: u64,
        /// Datagrams that arrived.
        received_packets: u64,
        /// Datagrams lost anywhere, without those under way at the end.
        lost_packets: u64,
        /// Lost datagrams as a share of those that arrived or were lost.
        loss_ratio: Option<f64>,
        /// Payload that arrived, in Mbit/s.
        goodput_mbps: f64,
        /// Mean one-way delay from sender to receiver, in milliseconds; none for replies, which carry the request's time.
        delay_mean_ms: Option<f64>,
        /// Median of the one-way delay, in milliseconds.
        delay_p50_ms: Option<f64>,
        /// 95 % quantile of the one-way delay, in milliseconds.
        delay_p95_ms: Option<f64>,
        /// 99 % quantile of the one-way delay, in milliseconds.
        delay_p99_ms: Option<f64>,
        /// Interarrival jitter (RFC 3550, 6.4.1), in milliseconds: the mean of its values after each arrival.
        jitter_ms: Option<f64>,
        /// Mean round-trip time of the requests that were answered, in milliseconds; for echoes only.
        rtt_mean_ms: Option<f64>,
        /// Median of the round-trip time, in milliseconds.
        rtt_p50_ms: Option<f64>,
        /// 95 % quantile of the round-trip time, in milliseconds.
        rtt_p95_ms: Option<f64>,
        /// 99 % quantile of the round-trip time, in milliseconds.
        rtt_p99_ms: Option<f64>,
        /// Mouth-to-ear delay in milliseconds: packetisation, network, playout buffer. For voice only, as are the next three.
        mouth_to_ear_ms: Option<f64>,
        /// Share of the packets that were not played: lost, or too late for the playout buffer.
        unplayed_ratio: Option<f64>,
        /// Transmission rating R of the E-model (ITU-T G.107), at most about 93.
        rating: Option<f64>,
        /// Mean opinion score by the E-model, 1 to 4.5.
        mos: Option<f64>,
    }
}

/// The rows of the interval between two snapshots of the network of `plan`.
pub(crate) fn datagram_rows(
    plan: &Plan,
    before: &Snapshot,
    after: &Snapshot,
    duration_s: f64,
) -> Vec<DatagramRow> {
    let mut rows = vec![];
    for (index, spec) in plan.flows.iter().enumerate() {
        let (Some(now), Some(then)) = (&after.streams[index], &before.streams[index]) else { continue };
        let ways = [(FORWARD, spec.direction), (BACK, opposite(spec.direction))];
        for (way, direction) in ways.into_iter().filter(|(way, _)| now[*way].exists) {
            rows.push(DatagramRow {
                flow: index as u64,
                label: spec.label.clone(),
                group: spec.group.clone(),
                application: spec.application.name().into(),
                station: spec.station.clone(),
                direction: direction.name().into(),
                ..row(&then[way], &now[way], duration_s)
            });
        }
    }
    rows
}

fn opposite(direction: FlowDirection) -> FlowDirection {
    match direction {
        FlowDirection::Up => FlowDirection::Down,
        FlowDirection::Down => FlowDirection::Up,
    }
}

fn row(before: &StreamSnapshot, after: &StreamSnapshot, duration_s: f64) -> DatagramRow {
    let stats = after.stats.since(&before.stats);
    let lost = before.under_way + stats.sent - stats.received - after.under_way;
    let voice = after.codec.as_ref().and_then(|codec| e_model::voice(codec, &stats.delay, lost));
    DatagramRow {
        flow: 0,
        label: String::new(),
        group: String::new(),
        application: String::new(),
        station: String::new(),
        direction: String::new(),
        sent_packets: stats.sent,
        received_packets: stats.received,
        lost_packets: lost,
        loss_ratio: ratio(lost, stats.received + lost),
        goodput_mbps: stats.received_payload_bytes as f64 * 8e-6 / duration_s,
        delay_mean_ms: stats.delay.mean().map(ns_to_ms),
        delay_p50_ms: quantile_ms(&stats.delay, 0.5),
        delay_p95_ms: quantile_ms(&stats.delay, 0.95),
        delay_p99_ms: quantile_ms(&stats.delay, 0.99),
        jitter_ms: stats.jitter_mean_ns().map(ns_to_ms),
        rtt_mean_ms: stats.rtt.mean().map(ns_to_ms),
        rtt_p50_ms: quantile_ms(&stats.rtt, 0.5),
        rtt_p95_ms: quantile_ms(&stats.rtt, 0.95),
        rtt_p99_ms: quantile_ms(&stats.rtt, 0.99),
        mouth_to_ear_ms: voice.map(|voice| voice.mouth_to_ear_ms),
        unplayed_ratio: voice.map(|voice| voice.loss_ratio),
        rating: voice.map(|voice| voice.rating),
        mos: voice.map(|voice| voice.mos),
    }
}
