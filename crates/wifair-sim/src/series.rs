use std::sync::Arc;

use wifair_core::Time;
use wifair_queue::TxQueue;
use wifair_wlan::{BssSnapshot, StationUsage, Usage};

use crate::connection::Connection;
use crate::datagram_session::{BACK, DatagramSession, FORWARD};
use crate::parts::Parts;
use crate::plan::Plan;
use crate::table::row;
use crate::tap::Tap;

row! {
    /// One value of a time series: long form, so that new metrics need no new columns.
    SeriesRow in "series" {
        /// End of the interval, in seconds from the start of the run, warm-up included.
        time_s: f64,
        /// The metric. Of a flow: `goodput_mbps` (payload delivered in the interval), `rtt_ms` (mean of the interval's samples,
        /// if there are any); over TCP `cwnd_segments` (of all its connections together) and, with one connection, `srtt_ms`
        /// (the smoothed RTT at the interval's end, after the first sample); of datagrams `delay_ms` and `delay_back_ms` (mean
        /// one-way delay of those that arrived in the interval, in the flow's direction and against it). Of a station, means
        /// over the interval: `link_rate_up_mbps`, `link_rate_down_mbps`, and `airtime_share` of both directions together. Of
        /// the AP: `queue_packets`, `limit_packets`, `buffer_idle_share` (share of the interval in which no packet was queued),
        /// `sojourn_ms` (mean sojourn time of the packets dequeued in the interval), a gauge of its scheme or limit
        /// controller, or, if it controls that, `stations_cw_min` (CWmin of best effort at the stations, in slots).
        metric: &'static str,
        /// The label of a flow or a station, or `ap`; under EDCA `ap/voice` and so on, for the categories in use.
        entity: Arc<str>,
        /// The value.
        value: f64,
    }
}

row! {
    /// What a station's frames of one direction counted in an interval of the time series, as in the table `stations`.
    StationSeriesRow in "station_series" {
        /// End of the interval, in seconds from the start of the run, warm-up included.
        time_s: f64,
        /// Label of the plan.
        station: Arc<str>,
        /// `up` (from the station) or `down` (to it).
        direction: &'static str,
        /// Time in which exchanges of this station and direction occupied the medium, in seconds.
        airtime_s: f64,
        /// Link rate in Mbit/s at the end of the interval.
        link_rate_end_mbps: f64,
        /// Data frames delivered.
        frames_delivered: u64,
        /// IP bytes of these.
        bytes_delivered: u64,
        /// Attempts after the first.
        retries: u64,
        /// Frames given up at the retry limit.
        retry_lost: u64,
        /// Of the attempts, PPDUs under a Block Ack agreement.
        ppdus: u64,
        /// MPDUs in these PPDUs, retransmissions included.
        mpdus: u64,
    }
}

/// Samples time series at a fixed interval. It only reads: the trajectory is the same without it.
pub(crate) struct Sampler {
    interval: Time,
    next: Time,
    labels: Vec<Arc<str>>,
    mss_bytes: Vec<f64>,
    delivered_before: Vec<u64>,
    /// Number of RTT samples so far and their sum in nanoseconds, by flow.
    rtt_before: Vec<(u64, u64)>,
    /// The same for one-way delays, in both directions.
    delay_before: Vec<[(u64, u64); 2]>,
    /// The same for the sojourn times at the AP's transmit queues.
    sojourn_before: Vec<(u64, u64)>,
    /// Total time for which each of the AP's buffers had been empty.
    empty_before: Vec<Time>,
    stations: Vec<Arc<str>>,
    /// By BSS.
    aps: Vec<String>,
    bsss_before: Vec<BssSnapshot>,
    rows: Vec<SeriesRow>,
    station_rows: Vec<StationSeriesRow>,
}

impl Sampler {
    /// Creates a sampler for the series that `plan` asks for, possibly none.
    pub(crate) fn new(plan: &Plan) -> Sampler {
        let interval = plan.run.sample_interval_s.map_or(Time::MAX, Time::from_secs_f64);
        Sampler {
            interval,
            next: interval,
            labels: plan.flows.iter().map(|flow| flow.label.as_str().into()).collect(),
            mss_bytes: plan.flows.iter().map(|flow| f64::from(flow.tcp.mss_bytes)).collect(),
            delivered_before: vec![0; plan.flows.len()],
            rtt_before: vec![(0, 0); plan.flows.len()],
            delay_before: vec![[(0, 0); 2]; plan.flows.len()],
            sojourn_before: vec![],
            empty_before: vec![],
            stations: plan.stations().map(|station| station.label.as_str().into()).collect(),
            aps: plan.bsss().map(|bss| bss.ap_label.into()).collect(),
            bsss_before: vec![],
            rows: vec![],
            station_rows: vec![],
        }
    }

    /// When the next sample is due; [`Time::MAX`] if none is.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes one sample of everything.
    pub(crate) fn sample<T: Tap>(&mut self, network: &Parts<T>) {
        let time_s = self.next.as_secs_f64();
        let interval_s = self.interval.as_secs_f64();
        for (index, (flow, connections)) in network.flows().enumerate() {
            let of_connections = connections.iter().map(|c| c.receiver.stats().payload_bytes_delivered);
            let of_datagrams =
                flow.session().map_or(0, |session| session.stats()[FORWARD].received_payload_bytes);
            let delivered = of_connections.sum::<u64>() + of_datagrams;
            let bytes = delivered - self.delivered_before[index];
            self.delivered_before[index] = delivered;
            self.push(time_s, "goodput_mbps", self.labels[index].clone(), bytes as f64 * 8e-6 / interval_s);
            if flow.session().is_none() {
                let cwnd_bytes: f64 = connections.iter().map(|c| f64::from(c.sender.cwnd_bytes())).sum();
                let label = self.labels[index].clone();
                self.push(time_s, "cwnd_segments", label, cwnd_bytes / self.mss_bytes[index]);
            }
        }
        for (index, (flow, connections)) in network.flows().enumerate() {
            match flow.session() {
                None => self.sample_rtt(index, connections),
                Some(session) => self.sample_datagrams(index, session),
            }
        }
        self.sample_stations(network, time_s);
        let mut index = 0;
        for (number, bss) in network.bsss().enumerate() {
            for (category, tx_queue) in bss.ap_tx_queues() {
                let ap = &self.aps[number];
                let entity = match category {
                    None => ap.as_str().into(),
                    Some(category) => format!("{ap}/{}", category.name()).into(),
                };
                self.sample_tx_queue(index, &entity, tx_queue, network.now());
                index += 1;
            }
        }
        self.next += self.interval;
    }

    fn sample_rtt(&mut self, index: usize, connections: &[Connection]) {
        let time_s = self.next.as_secs_f64();
        let of = |c: &Connection| (c.sender.stats().rtt.count(), c.sender.stats().rtt.sum());
        let rtt = connections.iter().map(of).reduce(|a, b| (a.0 + b.0, a.1.wrapping_add(b.1)));
        if let Some(mean_ns) = rtt.and_then(|rtt| mean_since(&mut self.rtt_before[index], rtt)) {
            self.push(time_s, "rtt_ms", self.labels[index].clone(), mean_ns * 1e-6);
        }
        if let [Connection { sender, .. }] = connections
            && let Some(srtt) = sender.srtt()
        {
            self.push(time_s, "srtt_ms", self.labels[index].clone(), srtt.as_secs_f64() * 1e3);
        }
    }

    fn sample_datagrams(&mut self, index: usize, session: &DatagramSession) {
        let time_s = self.next.as_secs_f64();
        let [forward, back] = session.stats().map(|stats| (stats.delay.count(), stats.delay.sum()));
        let rtt = &session.stats()[FORWARD].rtt;
        let rtt = (rtt.count(), rtt.sum());
        let before = &mut self.delay_before[index];
        let found = [
            ("rtt_ms", mean_since(&mut self.rtt_before[index], rtt)),
            ("delay_ms", mean_since(&mut before[FORWARD], forward)),
            ("delay_back_ms", mean_since(&mut before[BACK], back)),
        ];
        for (metric, mean_ns) in found {
            if let Some(mean_ns) = mean_ns {
                self.push(time_s, metric, self.labels[index].clone(), mean_ns * 1e-6);
            }
        }
    }

    fn sample_tx_queue(&mut self, index: usize, entity: &Arc<str>, tx_queue: &TxQueue, now: Time) {
        let time_s = self.next.as_secs_f64();
        if self.sojourn_before.len() == index {
            self.sojourn_before.push((0, 0));
            self.empty_before.push(Time::ZERO);
        }
        let empty = tx_queue.empty_time(now);
        let idle = empty - std::mem::replace(&mut self.empty_before[index], empty);
        for (metric, value) in [
            ("queue_packets", tx_queue.len() as f64),
            ("limit_packets", f64::from(tx_queue.buffer().limit())),
            ("buffer_idle_share", idle.as_secs_f64() / self.interval.as_secs_f64()),
        ] {
            self.push(time_s, metric, entity.clone(), value);
        }
        let sojourn = (tx_queue.sojourn().count(), tx_queue.sojourn().sum());
        if let Some(mean_ns) = mean_since(&mut self.sojourn_before[index], sojourn) {
            self.push(time_s, "sojourn_ms", entity.clone(), mean_ns * 1e-6);
        }
        let mut gauges = vec![];
        tx_queue.gauges(&mut |name, value| gauges.push((name, value)));
        for (name, value) in gauges {
            self.push(time_s, name, entity.clone(), value);
        }
    }

    fn sample_stations<T: Tap>(&mut self, network: &Parts<T>, time_s: f64) {
        let after: Vec<BssSnapshot> = network.snapshots().collect();
        let before = std::mem::take(&mut self.bsss_before);
        let since =
            |(bss, now): (usize, &BssSnapshot)| before.get(bss).map_or(now.clone(), |then| now.since(then));
        let intervals: Vec<BssSnapshot> = after.iter().enumerate().map(since).collect();
        let seconds = intervals[0].elapsed.as_secs_f64();
        for (number, bss) in intervals.iter().enumerate() {
            if let Some(cw_min) = bss.controlled_cw_min {
                self.push(time_s, "stations_cw_min", self.aps[number].as_str().into(), cw_min.into());
            }
        }
        let usages = intervals.iter().flat_map(|bss| &bss.stations).enumerate();
        for (index, StationUsage { up, down }) in usages {
            for (metric, value) in [
                ("link_rate_up_mbps", up.rate_integral as f64 * 1e-12 / seconds),
                ("link_rate_down_mbps", down.rate_integral as f64 * 1e-12 / seconds),
                ("airtime_share", (up.airtime + down.airtime).as_secs_f64() / seconds),
            ] {
                self.push(time_s, metric, self.stations[index].clone(), value);
            }
            let station = &self.stations[index];
            self.station_rows.extend(
                [("up", up), ("down", down)]
                    .map(|(direction, usage)| station_row(time_s, station.clone(), direction, usage)),
            );
        }
        self.bsss_before = after;
    }

    fn push(&mut self, time_s: f64, metric: &'static str, entity: Arc<str>, value: f64) {
        self.rows.push(SeriesRow { time_s, metric, entity, value });
    }

    /// All rows so far: values, and counters of stations.
    pub(crate) fn into_rows(self) -> (Vec<SeriesRow>, Vec<StationSeriesRow>) {
        (self.rows, self.station_rows)
    }
}

fn station_row(time_s: f64, station: Arc<str>, direction: &'static str, usage: &Usage) -> StationSeriesRow {
    StationSeriesRow {
        time_s,
        station,
        direction,
        airtime_s: usage.airtime.as_secs_f64(),
        link_rate_end_mbps: usage.rate_kbps as f64 * 1e-3,
        frames_delivered: usage.delivered,
        bytes_delivered: usage.delivered_bytes,
        retries: usage.retries,
        retry_lost: usage.lost_at_retry_limit,
        ppdus: usage.ppdus,
        mpdus: usage.mpdus,
    }
}

/// The mean since `before`, given number and sum; `None` if nothing was added.
fn mean_since(before: &mut (u64, u64), now: (u64, u64)) -> Option<f64> {
    let (count, sum) = std::mem::replace(before, now);
    (now.0 > count).then(|| now.1.wrapping_sub(sum) as f64 / (now.0 - count) as f64)
}
