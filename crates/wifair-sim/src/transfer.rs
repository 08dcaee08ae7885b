//! Finished transfers: their records, and sums over them whose size does not grow with their number.

use std::collections::BTreeMap;

use wifair_core::{LogHistogram, Time};

use crate::plan::Plan;
use crate::table::{Column, ColumnValue, row};

/// Result of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferEnd {
    /// Every byte was delivered, and the connection closed.
    Complete,
    /// No progress for the flow's user timeout (RFC 9293, 3.9.1.1): the connection was given up.
    TimedOut,
    /// It was under way when the run ended.
    Horizon,
}

impl TransferEnd {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            TransferEnd::Complete => "complete",
            TransferEnd::TimedOut => "timed-out",
            TransferEnd::Horizon => "horizon",
        }
    }
}

impl ColumnValue for TransferEnd {
    fn column(values: impl Iterator<Item = TransferEnd>) -> Column {
        Column::Word(values.map(TransferEnd::name).collect())
    }
}

row! {
    /// One transfer of known size that began in the measurement. Labels and groups are in the table of flows.
    TransferRow in "transfers" {
        /// Index of the flow in the plan.
        flow: u32,
        /// Number of the transfer within its flow, from 0.
        index: u32,
        /// When its connection was opened, in seconds from the start of the run.
        start_s: f64,
        /// From then until the last byte was delivered in order, in seconds; none if that did not happen.
        transfer_s: Option<f64>,
        /// From its start until the connection was closed, in seconds; none if it was not. Without a FIN (`handshake` "ns-2"
        /// or "none") the sender closes it at the last ACK.
        closed_s: Option<f64>,
        /// Payload to transfer, in bytes.
        bytes: u64,
        /// Payload delivered in order, in bytes.
        delivered_bytes: u64,
        /// Data segments retransmitted.
        retransmissions: u32,
        /// Retransmission timeouts, those of SYN and FIN included.
        timeouts: u32,
        /// `complete`, `timed-out` (no progress for the flow's user timeout) or `horizon` (the run ended).
        end: TransferEnd,
    }
}

row! {
    /// The transfers of a group that began in the measurement, of one size or of all.
    TransferGroupRow in "transfer_groups" {
        /// Group of the plan.
        group: String,
        /// Payload of each transfer, in bytes; none in the row of all sizes.
        bytes: Option<f64>,
        /// Transfers that delivered every byte.
        completed: u64,
        /// Transfers that were given up.
        timed_out: u64,
        /// Transfers under way at the end of the run.
        unfinished: u64,
        /// Mean time of the completed ones, in seconds.
        mean_s: Option<f64>,
        /// Mean time of all, in seconds; for one that did not end, the time until the run's end counts. The mean of the
        /// completed ones does not cover starved ones.
        mean_with_unfinished_s: f64,
        /// Coefficient of variation of the times: sample standard deviation over mean.
        cov: Option<f64>,
        /// Median of their times, in seconds (within 1/32, as all quantiles here).
        p50_s: Option<f64>,
        /// 95 % quantile, in seconds.
        p95_s: Option<f64>,
        /// 99 % quantile, in seconds.
        p99_s: Option<f64>,
        /// Longest time, in seconds.
        max_s: Option<f64>,
        /// Mean time until the connection was closed, in seconds, of the transfers whose connection was.
        closed_mean_s: Option<f64>,
        /// Coefficient of variation of these times.
        closed_cov: Option<f64>,
        /// 99 % quantile of these times, in seconds.
        closed_p99_s: Option<f64>,
        /// Data segments retransmitted, over all transfers.
        retransmissions: u64,
        /// Retransmission timeouts, over all transfers.
        timeouts: u64,
        /// When the last completed transfer was complete, in seconds from the start of the run.
        last_end_s: Option<f64>,
    }
}

/// The record of a transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// Index of the flow in the plan.
    pub flow: u32,
    /// Number of the transfer within its flow, from 0.
    pub index: u32,
    /// When its connection was opened.
    pub start: Time,
    /// When the last byte was delivered in order.
    pub completed: Option<Time>,
    /// When the connection was closed.
    pub closed: Option<Time>,
    /// Payload to transfer, in bytes.
    pub bytes: u64,
    /// Payload delivered in order, in bytes.
    pub delivered_bytes: u64,
    /// Data segments retransmitted.
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// The result.
    pub end: TransferEnd,
}

/// Collects the records of a run: sums by group and size, and single records if the plan asks for them.
pub(crate) struct TransferLog {
    warmup: Time,
    horizon: Time,
    keep: bool,
    /// By flow: its group's index.
    group_of: Vec<u32>,
    groups: Vec<String>,
    /// By group and size; `u64::MAX` means all sizes and so sorts last.
    sums: BTreeMap<(u32, u64), Sum>,
    rows: Vec<TransferRow>,
}

const ALL_SIZES: u64 = u64::MAX;

/// Sums of times. Integers, so the order of addition does not matter.
#[derive(Clone, Default)]
struct Times {
    histogram: LogHistogram,
    /// Sum of the times, in ns.
    total: u128,
    /// Sum of their squares, in ns².
    squares: u128,
}

impl Times {
    fn add(&mut self, time: Time) {
        self.histogram.record_time(time);
        self.total += u128::from(time.as_ns());
        self.squares += u128::from(time.as_ns()).pow(2);
    }

    fn mean_s(&self) -> Option<f64> {
        self.histogram.mean().map(seconds)
    }

    /// Sample standard deviation over mean.
    fn cov(&self) -> Option<f64> {
        let count = self.histogram.count();
        self.histogram.mean().filter(|_| count > 1).map(|mean_ns| {
            let n = u128::from(count);
            let scatter = (n * self.squares - self.total * self.total) as f64; // n² times the mean squared deviation
            (scatter / (count as f64 * (count - 1) as f64)).sqrt() / mean_ns
        })
    }

    fn quantile_s(&self, q: f64) -> Option<f64> {
        self.histogram.quantile(q).map(seconds)
    }
}

fn seconds(ns: f64) -> f64 {
    ns * 1e-9
}

#[derive(Clone, Default)]
struct Sum {
    /// Until the last byte was delivered.
    times: Times,
    /// Until the connection was closed.
    closed: Times,
    /// Sum of the times until the run's end of those that did not end, in ns.
    open: u128,
    longest: Time,
    last_end: Time,
    timed_out: u64,
    unfinished: u64,
    retransmissions: u64,
    timeouts: u64,
}

impl TransferLog {
    /// A log for the transfers of `plan`.
    pub fn new(plan: &Plan) -> TransferLog {
        let (indexes, group_of) = plan.groups();
        let mut groups = vec![String::new(); indexes.len()];
        for (name, index) in indexes {
            groups[index as usize] = name.to_string();
        }
        let warmup = Time::from_secs_f64(plan.run.warmup_s);
        TransferLog {
            warmup,
            horizon: warmup + Time::from_secs_f64(plan.run.duration_s),
            keep: plan.run.record_transfers,
            group_of,
            groups,
            sums: BTreeMap::new(),
            rows: vec![],
        }
    }

    /// Adds records; those of transfers that began in the warm-up are discarded.
    pub fn take(&mut self, records: impl Iterator<Item = TransferRecord>) {
        for record in records.filter(|record| record.start >= self.warmup) {
            let group = self.group_of[record.flow as usize];
            for size in [record.bytes, ALL_SIZES] {
                self.sums.entry((group, size)).or_default().add(&record, self.horizon);
            }
            if self.keep {
                self.rows.push(TransferRow {
                    flow: record.flow,
                    index: record.index,
                    start_s: record.start.as_secs_f64(),
                    transfer_s: record.completed.map(|at| (at - record.start).as_secs_f64()),
                    closed_s: record.closed.map(|at| (at - record.start).as_secs_f64()),
                    bytes: record.bytes,
                    delivered_bytes: record.delivered_bytes,
                    retransmissions: record.retransmissions,
                    timeouts: record.timeouts,
                    end: record.end,
                });
            }
        }
    }

    /// The rows of both tables.
    pub fn into_rows(self) -> (Vec<TransferRow>, Vec<TransferGroupRow>) {
        let groups = self.sums.iter().map(|(&(group, bytes), sum)| {
            let bytes = (bytes != ALL_SIZES).then_some(bytes as f64);
            sum.row(self.groups[group as usize].clone(), bytes)
        });
        (self.rows, groups.collect())
    }
}

impl Sum {
    fn add(&mut self, record: &TransferRecord, horizon: Time) {
        if record.completed.is_none() {
            self.open += u128::from((horizon - record.start).as_ns());
        }
        match (record.end, record.completed) {
            (_, Some(at)) => {
                let time = at - record.start;
                self.times.add(time);
                self.longest = self.longest.max(time);
                self.last_end = self.last_end.max(at);
            }
            (TransferEnd::TimedOut, None) => self.timed_out += 1,
            (_, None) => self.unfinished += 1,
        }
        if let Some(at) = record.closed {
            self.closed.add(at - record.start);
        }
        self.retransmissions += u64::from(record.retransmissions);
        self.timeouts += u64::from(record.timeouts);
    }

    fn row(&self, group: String, bytes: Option<f64>) -> TransferGroupRow {
        let completed = self.times.histogram.count();
        let any = completed > 0;
        let all = completed + self.timed_out + self.unfinished;
        TransferGroupRow {
            group,
            bytes,
            completed,
            timed_out: self.timed_out,
            unfinished: self.unfinished,
            mean_s: self.times.mean_s(),
            mean_with_unfinished_s: seconds((self.times.total + self.open) as f64 / all as f64),
            cov: self.times.cov(),
            p50_s: self.times.quantile_s(0.5),
            p95_s: self.times.quantile_s(0.95),
            p99_s: self.times.quantile_s(0.99),
            max_s: any.then(|| self.longest.as_secs_f64()),
            closed_mean_s: self.closed.mean_s(),
            closed_cov: self.closed.cov(),
            closed_p99_s: self.closed.quantile_s(0.99),
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            last_end_s: any.then(|| self.last_end.as_secs_f64()),
        }
    }
}
