//! The result of a replication: one record, computed from the difference of two snapshots.

mod bsss;
mod measured;
mod rows;
mod warnings;

use wifair_core::{Ac, Counters, Time};
use wifair_queue::{Ledger, TxQueueSnapshot};
use wifair_wlan::{ChannelTimes, Usage};

use crate::datagram::{DatagramRow, datagram_rows};
use crate::datagram_session::FORWARD;
use crate::figures::{ns_to_ms, quantile_ms, ratio};
use crate::plan::{AP, NODE_OF_STATIONS, Plan, PlannedBss};
use crate::series::{Sampler, SeriesRow, StationSeriesRow};
use crate::snapshot::{Snapshot, total};
use crate::states::{StateRow, States};
use crate::table::{Column, TableRow};
use crate::transfer::{TransferGroupRow, TransferLog, TransferRow};

use measured::{MeasuredBss, wire_rows};
pub use rows::{BssRow, FlowRow, QueueRow, RunRow, StationRow, WireRow};

/// Recorders that are active while the network runs.
pub(crate) struct Probes {
    pub sampler: Sampler,
    pub transfers: TransferLog,
    pub states: States,
}

impl Probes {
    pub(crate) fn new(plan: &Plan) -> Probes {
        Probes { sampler: Sampler::new(plan), transfers: TransferLog::new(plan), states: States::new(plan) }
    }
}

/// The result of one replication.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The replication as a whole.
    pub run: RunRow,
    /// One row per flow, in the order of the plan.
    pub flows: Vec<FlowRow>,
    /// The datagrams of each flow without TCP, by direction.
    pub datagrams: Vec<DatagramRow>,
    /// The AP's buffer and those of the stations, by class.
    pub queues: Vec<QueueRow>,
    /// The queues before the wire, down and up.
    pub wire: Vec<WireRow>,
    /// Two rows per station, up and down, in the order of the plan.
    pub stations: Vec<StationRow>,
    /// One row per BSS, if there are several.
    pub bsss: Vec<BssRow>,
    /// The transfers of known size, unless the plan asks for sums only.
    pub transfers: Vec<TransferRow>,
    /// Sums over the transfers, by group and size.
    pub transfer_groups: Vec<TransferGroupRow>,
    /// States of the TCP senders, if the plan asks for them.
    pub states: Vec<StateRow>,
    /// Time series, if the plan asks for them.
    pub series: Vec<SeriesRow>,
    /// Counters of the stations by interval of the time series.
    pub station_series: Vec<StationSeriesRow>,
}

impl RunRecord {
    /// Computes the record of the interval between two snapshots of the network of `plan`.
    pub(crate) fn new(plan: &Plan, before: &Snapshot, after: &Snapshot, probes: Probes) -> RunRecord {
        let Probes { sampler, transfers, states } = probes;
        let pairs = after.bsss.iter().zip(&before.bsss);
        let measured: Vec<_> = pairs.map(|(after, before)| MeasuredBss::new(after, before)).collect();
        let MeasuredBss { air: bss, wire: first_wire, .. } = &measured[0];
        let duration_s = bss.elapsed.as_secs_f64();
        let of_stations = measured.iter().flat_map(|bss| bss.air.stations.iter().zip(&bss.by_station));
        let stations = plan.stations().zip(of_stations).flat_map(|(spec, (usage, buffer))| {
            let up = StationRow {
                buffer_offered_packets: buffer.offered.packets,
                buffer_lost_packets: buffer.lost_in_buffer().packets,
                ..station_row(&spec.label, "up", &usage.up, duration_s)
            };
            [up, station_row(&spec.label, "down", &usage.down, duration_s)]
        });
        let share = |of: fn(&wifair_wlan::StationUsage) -> &Usage| {
            bss.stations.iter().map(|station| of(station).airtime.as_secs_f64()).sum::<f64>() / duration_s
        };
        let channel_time_s =
            |of: fn(&ChannelTimes) -> Time| bss.channel_time.as_ref().map(|c| of(c).as_secs_f64());
        let queues = plan.bsss().zip(&measured).flat_map(|(PlannedBss { ap_label, .. }, bss)| {
            let stations = match ap_label {
                AP => NODE_OF_STATIONS.into(),
                _ => format!("{ap_label}/{NODE_OF_STATIONS}"),
            };
            [ap_rows(ap_label, &bss.ap), ledger_rows(&stations, &bss.stations)].concat()
        });
        let own_wires = plan.bsss().zip(&measured).filter(|(bss, _)| bss.own_wire.is_some());
        let own_wires: Vec<_> = own_wires.map(|(_, bss)| &bss.wire).collect();
        let run = RunRow {
            duration_s,
            exchanges: bss.exchanges,
            collisions: bss.collisions,
            beacons: bss.beacons.sent,
            beacons_collided: bss.beacons.collided,
            collision_ratio: ratio(bss.collisions, bss.exchanges),
            airtime_up_share: share(|station| &station.up),
            airtime_down_share: share(|station| &station.down),
            collision_share: bss.collision_airtime.as_secs_f64() / duration_s,
            beacon_share: bss.beacons.airtime.as_secs_f64() / duration_s,
            idle_share: bss.idle.as_secs_f64() / duration_s,
            channel_time_up_s: channel_time_s(|times| times.actual.up),
            channel_time_down_s: channel_time_s(|times| times.actual.down),
            channel_time_up_believed_s: channel_time_s(|times| times.believed.up),
            channel_time_down_believed_s: channel_time_s(|times| times.believed.down),
            wire_lost_packets: own_wires.iter().map(|wire| wire.losses).sum(),
            wire_dropped_packets: own_wires.iter().map(|wire| wire.dropped).sum(),
            warnings: warnings::of(plan, &measured),
        };
        let (queues, stations) = (queues.collect(), stations.collect());
        let (transfers, transfer_groups) = transfers.into_rows();
        let flows = flow_rows(plan, before, after, duration_s);
        let states = states.into_rows(plan);
        let (series, station_series) = sampler.into_rows();
        let datagrams = datagram_rows(plan, before, after, duration_s);
        let bsss = bsss::rows(plan, &measured, &flows);
        RunRecord {
            run,
            flows,
            datagrams,
            queues,
            wire: wire_rows(first_wire, bss.elapsed),
            stations,
            bsss,
            transfers,
            transfer_groups,
            states,
            series,
            station_series,
        }
    }
}

fn station_row(label: &str, direction: &str, usage: &Usage, duration_s: f64) -> StationRow {
    StationRow {
        station: label.into(),
        direction: direction.into(),
        airtime_s: usage.airtime.as_secs_f64(),
        airtime_share: usage.airtime.as_secs_f64() / duration_s,
        link_rate_mbps: usage.rate_integral as f64 * 1e-12 / duration_s,
        link_rate_end_mbps: usage.rate_kbps as f64 * 1e-3,
        frames_delivered: usage.delivered,
        bytes_delivered: usage.delivered_bytes,
        attempts: usage.attempts,
        retries: usage.retries,
        retry_lost: usage.lost_at_retry_limit,
        ppdus: usage.ppdus,
        mpdus: usage.mpdus,
        block_ack_requests: usage.block_ack_requests,
        buffer_offered_packets: 0,
        buffer_lost_packets: 0,
    }
}

fn flow_rows(plan: &Plan, before: &Snapshot, after: &Snapshot, duration_s: f64) -> Vec<FlowRow> {
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / duration_s;
    plan.flows
        .iter()
        .enumerate()
        .map(|(i, flow)| {
            let sender = after.senders[i].since(&before.senders[i]);
            let receiver = after.receivers[i].since(&before.receivers[i]);
            let tally = total(&after.tallies[i].since(&before.tallies[i]));
            let datagrams = match (&after.streams[i], &before.streams[i]) {
                (Some(now), Some(then)) => Some(now[FORWARD].stats.since(&then[FORWARD].stats)),
                _ => None,
            };
            let (rtt, ip_bytes, payload_bytes) = match &datagrams {
                Some(stats) => (&stats.rtt, stats.received_ip_bytes, stats.received_payload_bytes),
                None => (&sender.rtt, receiver.ip_bytes_received, receiver.payload_bytes_delivered),
            };
            FlowRow {
                flow: i as u64,
                label: flow.label.clone(),
                group: flow.group.clone(),
                station: flow.station.clone(),
                direction: flow.direction.name().into(),
                application: flow.application.name().into(),
                transport: flow.application.transport().name().into(),
                throughput_ip_mbps: mbps(ip_bytes),
                goodput_mbps: mbps(payload_bytes),
                segments_sent: sender.segments_sent,
                retransmissions: sender.segments_retransmitted,
                timeouts: sender.timeouts,
                fast_retransmits: sender.fast_retransmits,
                ecn_reductions: sender.ecn_reductions,
                ce_segments: receiver.ce_segments_received,
                rtt_mean_ms: rtt.mean().map(ns_to_ms),
                rtt_p50_ms: quantile_ms(rtt, 0.5),
                rtt_p95_ms: quantile_ms(rtt, 0.95),
                rtt_p99_ms: quantile_ms(rtt, 0.99),
                srtt_mean_ms: sender.srtt_mean_ns().map(ns_to_ms),
                srtt_max_ms: (sender.srtt_max > Time::ZERO).then(|| sender.srtt_max.as_secs_f64() * 1e3),
                ap_offered_packets: tally.offered.packets,
                ap_lost_packets: tally.lost_in_buffer().packets + tally.lost_at_retry_limit.packets,
                ap_tail_drop_packets: tally.tail_dropped.packets,
                ap_evicted_packets: tally.evicted.packets,
                ap_aqm_drop_packets: tally.aqm_refused.packets + tally.aqm_evicted.packets,
                ap_retry_lost_packets: tally.lost_at_retry_limit.packets,
                ap_filtered_packets: tally.filtered.packets,
                ap_marked_packets: tally.ce_marked.packets + tally.ece_marked.packets,
                ap_policed_packets: tally.policed.packets,
                ap_police_marked_packets: tally.police_marked.packets,
                ap_police_dropped_packets: tally.police_dropped.packets,
            }
        })
        .collect()
}

/// The rows of the AP's buffers; under EDCA one set for all together and one per category.
fn ap_rows(ap: &str, tx_queues: &[(Option<Ac>, TxQueueSnapshot)]) -> Vec<QueueRow> {
    if let [(category, tx_queue)] = tx_queues {
        let own = category.map(|category| tx_queue_rows(&format!("{ap}/{}", category.name()), tx_queue));
        return [tx_queue_rows(ap, tx_queue), own.unwrap_or_default()].concat();
    }
    let mut ledgers = <[Ledger; 3]>::default();
    let (mut length, mut sojourns, mut sojourn_ns) = (0.0, 0, 0.0);
    for (_, tx_queue) in tx_queues {
        ledgers.add(&tx_queue.classes);
        length += tx_queue.length.mean().unwrap_or(0.0);
        sojourns += tx_queue.sojourn.count();
        sojourn_ns += tx_queue.sojourn.sum() as f64;
    }
    let mut rows = ledger_rows(ap, &ledgers);
    let all = rows.last_mut().expect("the row of all classes");
    all.length_mean_packets = Some(length);
    all.sojourn_mean_ms = (sojourns > 0).then(|| ns_to_ms(sojourn_ns / sojourns as f64));
    let categories = tx_queues.iter().filter_map(|(category, tx_queue)| Some(((*category)?, tx_queue)));
    rows.extend(
        categories
            .flat_map(|(category, tx_queue)| tx_queue_rows(&format!("{ap}/{}", category.name()), tx_queue)),
    );
    rows
}

fn tx_queue_rows(node: &str, tx_queue: &TxQueueSnapshot) -> Vec<QueueRow> {
    let mut rows = ledger_rows(node, &tx_queue.classes);
    let all = rows.last_mut().expect("the row of all classes");
    all.length_mean_packets = tx_queue.length.mean();
    all.length_p50_packets = tx_queue.length.quantile(0.5);
    all.length_p95_packets = tx_queue.length.quantile(0.95);
    all.sojourn_mean_ms = tx_queue.sojourn.mean().map(ns_to_ms);
    all.sojourn_p50_ms = quantile_ms(&tx_queue.sojourn, 0.5);
    all.sojourn_p95_ms = quantile_ms(&tx_queue.sojourn, 0.95);
    all.sojourn_p99_ms = quantile_ms(&tx_queue.sojourn, 0.99);
    all.below_mean_ms = tx_queue.wait_below.mean().map(ns_to_ms);
    all.below_p95_ms = quantile_ms(&tx_queue.wait_below, 0.95);
    all.below_p99_ms = quantile_ms(&tx_queue.wait_below, 0.99);
    rows
}

/// One row per class and one for all.
fn ledger_rows(node: &str, ledgers: &[Ledger; 3]) -> Vec<QueueRow> {
    wifair_core::Class::ALL
        .iter()
        .map(|&class| (class.name(), ledgers[class as usize]))
        .chain([("all", total(ledgers))])
        .map(|(class, ledger)| ledger_row(node, class, &ledger))
        .collect()
}

fn ledger_row(node: &str, class: &str, ledger: &Ledger) -> QueueRow {
    let lost = ledger.lost_in_buffer().packets;
    QueueRow {
        node: node.into(),
        class: class.into(),
        offered_packets: ledger.offered.packets,
        accepted_packets: ledger.accepted.packets,
        tail_drop_packets: ledger.tail_dropped.packets,
        filtered_packets: ledger.filtered.packets,
        evicted_packets: ledger.evicted.packets,
        aqm_drop_packets: ledger.aqm_refused.packets + ledger.aqm_evicted.packets,
        ce_marked_packets: ledger.ce_marked.packets,
        ece_marked_packets: ledger.ece_marked.packets,
        policed_packets: ledger.policed.packets,
        police_marked_packets: ledger.police_marked.packets,
        police_dropped_packets: ledger.police_dropped.packets,
        retry_lost_packets: ledger.lost_at_retry_limit.packets,
        dequeued_packets: ledger.dequeued.packets,
        delivered_packets: ledger.delivered.packets,
        offered_bytes: ledger.offered.bytes,
        accepted_bytes: ledger.accepted.bytes,
        tail_drop_bytes: ledger.tail_dropped.bytes,
        filtered_bytes: ledger.filtered.bytes,
        evicted_bytes: ledger.evicted.bytes,
        aqm_drop_bytes: ledger.aqm_refused.bytes + ledger.aqm_evicted.bytes,
        retry_lost_bytes: ledger.lost_at_retry_limit.bytes,
        dequeued_bytes: ledger.dequeued.bytes,
        delivered_bytes: ledger.delivered.bytes,
        policed_bytes: ledger.policed.bytes,
        police_marked_bytes: ledger.police_marked.bytes,
        police_dropped_bytes: ledger.police_dropped.bytes,
        loss_ratio: ratio(lost, ledger.offered.packets),
        length_mean_packets: None,
        length_p50_packets: None,
        length_p95_packets: None,
        sojourn_mean_ms: None,
        sojourn_p50_ms: None,
        sojourn_p95_ms: None,
        sojourn_p99_ms: None,
        below_mean_ms: None,
        below_p95_ms: None,
        below_p99_ms: None,
    }
}

/// A table: its name and its columns, each with its name.
type NamedTable = (&'static str, Vec<(&'static str, Column)>);

/// Converts records, as (index of the job, seed, record), to result tables, as (name, columns). Each row starts with job and
/// seed. BSSs, datagrams, transfers and time series come last, and only if there are any.
pub fn tables(records: &[(usize, u64, RunRecord)]) -> Vec<NamedTable> {
    let mut tables = all_tables(records);
    let mut place = 0;
    tables.retain(|(_, columns)| {
        place += 1;
        place <= ALWAYS || columns.iter().any(|(_, column)| !column.is_empty())
    });
    tables
}

/// The number of tables that results always have.
const ALWAYS: usize = 5;

/// Like [`tables`], with the tables that have no rows.
pub fn all_tables(records: &[(usize, u64, RunRecord)]) -> Vec<NamedTable> {
    vec![
        table(records, |record| std::slice::from_ref(&record.run)),
        table(records, |record| &record.flows),
        table(records, |record| &record.queues),
        table(records, |record| &record.wire),
        table(records, |record| &record.stations),
        table(records, |record| &record.bsss),
        table(records, |record| &record.datagrams),
        table(records, |record| &record.transfers),
        table(records, |record| &record.transfer_groups),
        table(records, |record| &record.states),
        table(records, |record| &record.series),
        table(records, |record| &record.station_series),
    ]
}

fn table<'a, R: TableRow + 'a>(
    records: &'a [(usize, u64, RunRecord)],
    rows: impl Fn(&'a RunRecord) -> &'a [R] + Copy,
) -> NamedTable {
    let repeated = |of: fn(&(usize, u64, RunRecord)) -> u64| {
        let values = records.iter().flat_map(|entry| std::iter::repeat_n(of(entry), rows(&entry.2).len()));
        Column::Count(values.collect())
    };
    let mut columns = vec![("job", repeated(|entry| entry.0 as u64)), ("seed", repeated(|entry| entry.1))];
    columns.extend(R::columns(records.iter().flat_map(|(_, _, record)| rows(record))));
    (R::TABLE, columns)
}
