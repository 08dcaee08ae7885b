//! mac80211: the queues of a Linux access point.
//!
//! Source: Linux, `net/mac80211/tx.c`, `net/mac80211/sta_info.c` and `include/net/fq_impl.h`, as of 2026; T. Høiland-Jørgensen,
//! M. Kazior, D. Täht, P. Hurtig, A. Brunstrom, "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in WiFi",
//! USENIX ATC 2017.
//!
//! Idea: every station has FQ-CoDel queues, taken from one set of hashed queues. Stations take turns by the airtime that they
//! use, uplink and downlink; a station that was inactive goes first. At overflow the longest queue of all loses half of its
//! packets, at most 32, from its head.
//!
//! Interpretations:
//! - `queues`, `quantum_bytes`, `target_ms`, `interval_ms`, `limit_bytes`, `drop_batch_packets`: the kernel's. So is the limit
//!   of 8,192 packets, for `limit_packets` of the transmit queue unless it is set. Drivers for old hardware (before VHT) have 4
//!   MiB. CoDel spares only a packet with nothing behind it, since the kernel leaves its MTU at 0 here.
//! - `airtime_quantum_us`: the default weight of a station; `active_for_ms`: for how long after it had packets queued a station
//!   is charged, and if in debt keeps its place without any (since 6.0).
//! - `charge`: `airtime` is what frames, MAC ACKs and failed attempts occupy, as drivers report it; `channel-time` adds
//!   interframe spaces and backoff, which nobody else can use either.
//! - `slow_station_rule`: from 2016 until it was reverted in 2025, a station whose expected throughput was under 6 Mbps times
//!   the number of associated stations had a target of 50 ms, an interval of 300 ms, and no ECN. The kernel asks its rate
//!   control for that throughput; here it is the link's data rate, so fewer stations count as slow than there.
//! - `ack_filter`: not in the kernel; see `fq-codel`.
//!
//! Deviations. Under EDCA each category of the AP has a transmit queue with a separate limit and separate hashed queues. The
//! kernel shares limits and queues among all categories, as `mac.edca.share_tx_queue` does. Turns and airtime are always per
//! category. A station's uplink frames are charged as the AP receives them, without transmissions that it did not receive.
//! `limit_bytes` counts IP bytes, the kernel memory. As in `fq-codel`, overflow drops happen before the arrival is enqueued,
//! and only pure ACKs trigger the ACK filter. Block Ack Requests are not charged. Airtime queue limits are part of what lies
//! below the scheme (`ap.hardware = "firmware"`), so `aql` is refused here. Under them stations take turns in rounds, as the
//! driver asks for them, and pending airtime counts against the deficit.
//!
//! `arithmetic = "linux"` decides as the kernel to the bit; `exact` differs in the resolution of CoDel's clock and square root,
//! of `active_for_ms`, and in two details of the lists (docs/validation.md).
//!
//! Aggregates: it names the station of each PPDU, one with packets queued or with MPDUs to send again, as the driver asks it
//! to, unless the firmware serves stations in turns by itself. A station is charged its share of each PPDU when the MPDU is
//! acknowledged or given up.
//!
//! Random draws: six at the first arrival, the keys of the hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Info, SpecError, StationId, Time};

use super::codel;
use crate::ack_filter::AckFilter;
use crate::airtime::{AirtimeRoundRobin, NANOSECOND};
use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::check;
use crate::codel::{Arithmetic, CodelSettings};
use crate::congestion::Signal;
use crate::fair_queue::{DropBatch, FairQueue, FairQueueSettings, Tin};
use crate::scheme::{Cx, Hooks, Scheme};
use crate::words::{Exchange, Extent, Grant, Reception, Rounds};

pub const INFO: Info = Info {
    name: "mac80211",
    source: "Linux mac80211; Høiland-Jørgensen et al., USENIX ATC 2017",
    idea: "FQ-CoDel for each station, turns by airtime used; airtime counts both ways; all queues share one set, and a full buffer takes half of the longest.",
};

/// Parameters of mac80211.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Number of queues into which the flows of all stations are hashed, 1 to 65536.
    pub queues: u32,
    /// Quantum: IP bytes that a queue may send per turn among those of its station.
    pub quantum_bytes: u32,
    /// TARGET: acceptable minimum sojourn time, in ms (RFC 8289).
    pub target_ms: f64,
    /// INTERVAL: how long sojourn times must exceed `target_ms` before the first signal, in ms (RFC 8289).
    pub interval_ms: f64,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
    /// Whether slow stations get a longer target and interval and no ECN, as in Linux from 2016 to 2025.
    pub slow_station_rule: bool,
    /// Airtime that a station may use per turn, in µs.
    pub airtime_quantum_us: f64,
    /// The time that a station is charged for a frame to it or from it.
    pub charge: Charge,
    /// How long after it last had packets queued a station is still charged, in ms.
    pub active_for_ms: f64,
    /// Limit of the buffer in IP bytes, in addition to the limit in packets.
    pub limit_bytes: u32,
    /// Greatest number of packets dropped at once from the longest queue at overflow.
    pub drop_batch_packets: u32,
    /// ACK filter of CAKE: whether redundant ACKs are removed from their queue.
    pub ack_filter: AckFilter,
    /// How CoDel and the stations' lists count: exact, or linux, as the kernel does to the bit.
    pub arithmetic: Arithmetic,
    /// Airtime queue limits: false, since they are part of what lies below the scheme (`ap.hardware = "firmware"`).
    pub aql: bool,
}

/// What a station is charged for a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Charge {
    /// The time for which its transmissions and their MAC ACKs occupy the medium.
    #[default]
    Airtime,
    /// In addition, the interframe spaces and backoffs before them.
    ChannelTime,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            queues: 4096,
            quantum_bytes: 300,
            target_ms: 20.0,
            interval_ms: 100.0,
            signal: Signal::default(),
            slow_station_rule: false,
            airtime_quantum_us: 256.0,
            charge: Charge::default(),
            active_for_ms: 100.0,
            limit_bytes: 16 << 20,
            drop_batch_packets: 32,
            ack_filter: AckFilter::default(),
            arithmetic: Arithmetic::default(),
            aql: false,
        }
    }
}

impl Spec {
    fn codel(&self) -> codel::Spec {
        let Spec { target_ms, interval_ms, signal, .. } = *self;
        codel::Spec { target_ms, interval_ms, spared_bytes: 0, signal }
    }

    fn codel_settings(&self) -> CodelSettings {
        let (settings, arithmetic) = (self.codel().settings(), self.arithmetic);
        let [target, interval] = [settings.target, settings.interval].map(|time| arithmetic.clock(time));
        CodelSettings { target, interval, arithmetic, ..settings }
    }

    pub fn build(&self) -> Mac80211 {
        let quantum = Time::from_secs_f64(self.airtime_quantum_us * 1e-6);
        let active_for = Time::from_secs_f64(self.active_for_ms * 1e-3);
        let tick = if self.arithmetic == Arithmetic::Linux { JIFFY } else { NANOSECOND };
        Mac80211 {
            codel: self.codel_settings(),
            slow_station_rule: self.slow_station_rule,
            charge: self.charge,
            ack_filter: self.ack_filter,
            queues: FairQueue::new(FairQueueSettings {
                buckets: self.queues,
                quantum_bytes: self.quantum_bytes,
                limit_bytes: self.limit_bytes.into(),
                batch: DropBatch::HalfThePackets,
                batch_packets: self.drop_batch_packets,
                overflow_counts: false,
                as_linux: self.arithmetic == Arithmetic::Linux,
            }),
            stations: std::array::from_fn(|_| AirtimeRoundRobin::new(quantum, active_for, tick)),
            rounds: [RoundState::default(); 4],
            by_rounds: false,
        }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "queues", self.queues.into(), 1.0..=65_536.0, "queues")?;
        check::within(path, "quantum_bytes", self.quantum_bytes.into(), 1.0..=1e6, "bytes")?;
        check::within(path, "airtime_quantum_us", self.airtime_quantum_us, 1.0..=1e6, "us")?;
        check::within(path, "active_for_ms", self.active_for_ms, 0.0..=1e6, "ms")?;
        check::within(path, "limit_bytes", self.limit_bytes.into(), 65_535.0..=1e9, "bytes")?;
        check::within(path, "drop_batch_packets", self.drop_batch_packets.into(), 1.0..=1e5, "packets")?;
        if self.aql {
            let allowed = "false: airtime queue limits bound what waits below the scheme, so they belong to \
                           ap.hardware = \"firmware\", which always has them";
            return Err(SpecError::new(format!("{path}.aql"), true, allowed));
        }
        self.codel().validate(path)
    }
}

pub struct Mac80211 {
    codel: CodelSettings,
    slow_station_rule: bool,
    charge: Charge,
    ack_filter: AckFilter,
    /// A station's packets of a category belong to one tin.
    queues: FairQueue,
    /// By category.
    stations: [AirtimeRoundRobin; 4],
    /// By category: what the driver's rounds are about to do.
    rounds: [RoundState; 4],
    /// Whether the driver serves stations in rounds.
    by_rounds: bool,
}

/// A driver's rounds of turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RoundState {
    /// No round is under way.
    #[default]
    Between,
    /// Between the turns of a round that has sent something, or not.
    InRound { has_sent: bool },
    /// A station's turn.
    InTurn { station: StationId, has_sent: bool },
    /// One round or turn was asked for, and it is over.
    Over,
}

fn tin(station: StationId, ac: Ac) -> Tin {
    4 * station.index() + ac as usize
}

/// The tick of `last_active`: HZ is 250 in Debian's kernels.
const JIFFY: Time = Time::from_ms(4);

/// Threshold of a slow station per associated station, in kbit/s (`STA_SLOW_THRESHOLD`).
const SLOW_KBPS: u64 = 6_000;

impl Mac80211 {
    /// Enqueues an arrival, subject to this ACK filter.
    #[inline(always)]
    pub(super) fn enqueue_filtered(
        &mut self,
        arrival: Arrival,
        filter: AckFilter,
        buffer: &mut Buffer,
        cx: &mut Cx,
    ) -> Placed {
        if buffer.is_idle() && !self.by_rounds {
            self.deactivate(); // drivers that serve stations in rounds do so at each outcome
        }
        let (station, ac) = (arrival.station(), arrival.ac());
        let placed = self.queues.enqueue(arrival, tin(station, ac), filter, buffer, cx);
        self.stations[ac as usize].wake(station, cx.now);
        placed
    }

    /// Whether a station waits for a turn in a category, and how many others do.
    pub(super) fn waiting(&self, station: StationId, ac: Ac) -> (bool, u32) {
        self.stations[ac as usize].listed(station)
    }

    /// CoDel settings of a station's queues.
    fn codel(&self, station: StationId, cx: &Cx) -> CodelSettings {
        let is_slow = self.slow_station_rule
            && u64::from(cx.links[station.index()].rate.as_kbps()) < SLOW_KBPS * cx.links.len() as u64;
        if is_slow {
            let [target, interval] = [50, 300].map(|ms| self.codel.arithmetic.clock(Time::from_ms(ms)));
            return CodelSettings { target, interval, signal: Signal::Drop, ..self.codel };
        }
        self.codel
    }

    fn dequeue_for(
        &mut self,
        station: StationId,
        grant: &Grant,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<DequeuedPacket> {
        let codel = self.codel(station, cx);
        self.queues.dequeue(tin(station, grant.ac), &codel, grant, buffer, cx)
    }

    /// Dequeues as a driver does that serves stations in rounds, each for as long as its limit allows.
    fn dequeue_in_rounds(
        &mut self,
        grant: &Grant,
        rounds: &Rounds,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<DequeuedPacket> {
        self.by_rounds = true;
        let ac = grant.ac as usize;
        loop {
            match self.rounds[ac] {
                RoundState::Between => {
                    if !self.stations[ac].start_round(rounds) {
                        return None;
                    }
                    self.rounds[ac] = RoundState::InRound { has_sent: false };
                }
                RoundState::InRound { has_sent } => {
                    let may_send = |station| grant.admits(station);
                    let turn = self.stations[ac].take_turn(may_send, |station| grant.pending(station));
                    self.rounds[ac] = match turn {
                        Some(station) => RoundState::InTurn { station, has_sent },
                        None if has_sent && rounds.extent == Extent::Rounds => RoundState::Between,
                        None => RoundState::Over,
                    };
                }
                RoundState::InTurn { station, has_sent } => {
                    if grant.admits(station)
                        && let Some(departure) = self.dequeue_for(station, grant, buffer, cx)
                    {
                        self.rounds[ac] = RoundState::InTurn { station, has_sent: true };
                        return Some(departure);
                    }
                    let has_packets = self.queues.backlog(tin(station, grant.ac)) > 0;
                    self.stations[ac].end_turn(station, has_packets, grant.pending(station), cx.now);
                    self.rounds[ac] = match rounds.extent {
                        Extent::Turn => RoundState::Over,
                        Extent::Round | Extent::Rounds => RoundState::InRound { has_sent },
                    };
                }
                RoundState::Over => {
                    self.rounds[ac] = RoundState::Between;
                    return None;
                }
            }
        }
    }

    /// Handles a dequeue attempt that found nothing: pays off debts and empties the lists.
    fn deactivate(&mut self) {
        for (stations, ac) in self.stations.iter_mut().zip(Ac::ALL) {
            while let Some(station) = stations.next(|_| true, |_| Time::ZERO) {
                self.queues.deactivate(tin(station, ac));
                stations.leave();
            }
        }
    }
}

impl Scheme for Mac80211 {
    fn needs(&self) -> Indexes {
        FairQueue::needs(self.ack_filter)
    }

    fn usual_limit_packets(&self) -> u32 {
        8_192
    }

    fn serves_categories(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { choose_station: true, exchange: true, reception: true, ..Hooks::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        self.enqueue_filtered(arrival, self.ack_filter, buffer, cx)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        if let Some(station) = grant.station {
            return self.dequeue_for(station, grant, buffer, cx);
        }
        if let Some(rounds) = grant.rounds {
            return self.dequeue_in_rounds(grant, &rounds, buffer, cx);
        }
        loop {
            let may_send = |station| grant.admits(station);
            let station = self.stations[grant.ac as usize].next(may_send, |_| Time::ZERO)?;
            let departure = self.dequeue_for(station, grant, buffer, cx);
            let stations = &mut self.stations[grant.ac as usize];
            if self.queues.backlog(tin(station, grant.ac)) > 0 {
                stations.stay(cx.now);
                return departure;
            }
            stations.leave();
            if departure.is_some() {
                return departure;
            }
        }
    }

    fn choose_station(
        &mut self,
        grant: &Grant,
        is_pending: &dyn Fn(StationId) -> bool,
        _buffer: &mut Buffer,
        cx: &mut Cx,
    ) -> Option<StationId> {
        let stations = &mut self.stations[grant.ac as usize];
        loop {
            let may_send = |station| grant.admits(station) || is_pending(station);
            let station = stations.next(may_send, |_| Time::ZERO)?;
            if self.queues.backlog(tin(station, grant.ac)) > 0 || is_pending(station) {
                stations.stay(cx.now);
                return Some(station);
            }
            stations.leave();
        }
    }

    fn on_pending(&mut self, station: StationId, ac: Ac, cx: &mut Cx) {
        self.stations[ac as usize].wake(station, cx.now);
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, cx: &mut Cx) {
        let time = match self.charge {
            Charge::Airtime => exchange.airtime,
            Charge::ChannelTime => exchange.channel_time(),
        };
        self.stations[exchange.ac as usize].charge(exchange.station, time, cx.now, !self.by_rounds);
    }

    fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) {
        let time = match self.charge {
            Charge::Airtime => reception.airtime,
            Charge::ChannelTime => reception.channel_time(),
        };
        self.stations[reception.ac as usize].charge(reception.station, time, cx.now, false);
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        self.queues.evict_excess(buffer);
    }
}
