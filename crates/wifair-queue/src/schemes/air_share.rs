//! Air-share: `mac80211` that also signals congestion to uploads that use more than their share of the air.
//!
//! Source: none; a scheme of this project. It joins `mac80211`, CoDel (RFC 8289), the ACK filter of CAKE (Linux, `sch_cake.c`)
//! and RFC 3168, by which every router may mark the packets that it forwards.
//!
//! Idea: queues and turns are those of `mac80211`, with a shorter target. Its turns charge a station for its uplink airtime,
//! but can hold back only its downlink packets: uploads themselves get no signal, and where airtime queue limits exclude the
//! others, an upload's debt there is paid off at once (docs/air-share.md). So each station has a debt in addition: the airtime,
//! up and down, that it has used above the mean of the stations that wait for a turn. It is controlled as CoDel controls a
//! sojourn time: while it stays at `debt_ms` or more for an interval, TCP data received from the station gets CE, or is dropped
//! if its transport is not ECN-capable, one packet at a time.
//!
//! Interpretations:
//! - `target_ms`: the 20 ms of `mac80211` are a standing queue where few flows share a slow link. 12 ms is the airtime that
//!   Linux lets a station have below the scheme (the upper limit of AQL). With 10 ms, ten downloads over a long path lose
//!   more goodput than matters (docs/air-share.md).
//! - `debt_ms`, `memory_ms`: a debt fades, so a steady overuse by `debt_ms` / `memory_ms`, 4 % of the air, is acceptable. Under
//!   DCF a stricter bound costs goodput (docs/air-share.md). Debts are compared as they were before the received frame, so the
//!   longest frame alone (12 ms at 1 Mbps) is no overuse.
//! - `interval_ms`: RFC 8289's, a round-trip time of most connections, for queues and debts: a sender gets the time to react.
//!   The next signal is due an interval over the square root of their number after the last one that was given, so packets that
//!   come after a pause are not dropped in a row.
//! - `ack_filter_below_mbps`: where frames are long, an ACK costs a station nearly the airtime of a data packet. Single
//!   frames have at most 54 Mbps. On faster links A-MPDUs carry ACKs together, and fewer ACKs let uploads take more from
//!   downloads where many stations share the air (docs/air-share.md).
//!
//! Only TCP data is policed: senders of datagrams need not react, and dropping an ACK does not slow down the sender of data. A
//! station that uses less air than those that wait has no debt. While no other waits, a debt is forgiven: airtime that nobody
//! else wants is free.
//!
//! Bounded wait: turns are those of `mac80211`, which charges a station for at most 100 ms after its last turn
//! (`active_for_ms`). So between two turns of a station with packets queued each other station is sent at most 100 ms, two
//! frames and two quanta of airtime.
//!
//! Deviations: as `mac80211`, whose other parameters have their defaults. A station that waits is one in the list of
//! `mac80211`: with packets queued, or paying off its deficit there. A debt fades linearly between two changes.
//!
//! Aggregates: as `mac80211`.
//!
//! Random draws: as `mac80211`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Class, Ecn, Info, Rate, SpecError, StationId, Time};

use super::mac80211::{self, Mac80211};
use crate::ack_filter::AckFilter;
use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::check;
use crate::codel::control_law;
use crate::scheme::{Cx, Hooks, Scheme};
use crate::words::{Exchange, Grant, PoliceAction, Reception};

pub const INFO: Info = Info {
    name: "air-share",
    source: "this project; from mac80211, RFC 8289, Linux sch_cake and RFC 3168",
    idea: "mac80211 with a shorter target; TCP data from a station that uses more than its share of the air is marked or dropped by CoDel's law; on slow links redundant ACKs are removed.",
};

/// Parameters of air-share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// TARGET: acceptable minimum sojourn time, in ms (RFC 8289).
    pub target_ms: f64,
    /// Acceptable debt of a station, in ms: airtime used above the mean of those that wait for a turn.
    pub debt_ms: f64,
    /// Time constant with which a debt fades, in ms.
    pub memory_ms: f64,
    /// INTERVAL: how long sojourn times must exceed `target_ms`, or a debt `debt_ms`, before the first signal, in ms
    /// (RFC 8289).
    pub interval_ms: f64,
    /// Data rate towards a station below which redundant ACKs are removed from its queues, in Mbps.
    pub ack_filter_below_mbps: f64,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ms: 12.0,
            debt_ms: 20.0,
            memory_ms: 500.0,
            interval_ms: 100.0,
            ack_filter_below_mbps: 60.0,
        }
    }
}

impl Spec {
    fn mac80211(&self) -> mac80211::Spec {
        let Spec { target_ms, interval_ms, .. } = *self;
        mac80211::Spec { target_ms, interval_ms, ack_filter: AckFilter::Conservative, ..Default::default() }
    }

    pub fn build(&self) -> AirShare {
        let [acceptable, memory, interval] =
            [self.debt_ms, self.memory_ms, self.interval_ms].map(|ms| Time::from_secs_f64(ms * 1e-3));
        AirShare {
            turns: self.mac80211().build(),
            ack_filter_below: Rate::from_mbps(self.ack_filter_below_mbps),
            acceptable,
            memory_ns: memory.as_ns() as f64,
            interval,
            mean_use: [Time::ZERO; 4],
            debts: Vec::new(),
        }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "debt_ms", self.debt_ms, 0.001..=10_000.0, "ms")?;
        check::within(path, "memory_ms", self.memory_ms, 0.001..=1e6, "ms")?;
        check::within(path, "ack_filter_below_mbps", self.ack_filter_below_mbps, 0.0..=1e6, "Mbps")?;
        self.mac80211().validate(path)
    }
}

pub struct AirShare {
    turns: Mac80211,
    ack_filter_below: Rate,
    acceptable: Time,
    memory_ns: f64,
    interval: Time,
    /// By category: the airtime that a station has used on average while it waited.
    mean_use: [Time; 4],
    /// By station and category.
    debts: Vec<[Debt; 4]>,
}

/// A station's debt, and the congestion signals to its uploads. It is up to date when a packet is policed, since the reception
/// is reported first.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    /// The airtime used above the mean, as of `at`, when the mean was `mean_use`.
    owed: Time,
    mean_use: Time,
    at: Time,
    /// When the next signal is due; `None` while the debt is acceptable.
    due: Option<Time>,
    /// Signals since the debt was last acceptable.
    signals: u32,
}

impl Debt {
    /// Takes off what others have used on average since `at`, and what has faded.
    fn update(&mut self, mean_use: Time, memory_ns: f64, now: Time) {
        let left = self.owed.saturating_sub(mean_use - self.mean_use);
        // Through i64, which processors convert at once.
        let kept = (1.0 - (now - self.at).as_ns() as i64 as f64 / memory_ns).max(0.0);
        self.owed = Time::from_ns((left.as_ns() as i64 as f64 * kept) as i64 as u64);
        (self.mean_use, self.at) = (mean_use, now);
    }

    /// Whether a signal is due, by CoDel's control law, at a debt of `owed`.
    fn is_signal_due(&mut self, owed: Time, acceptable: Time, interval: Time, now: Time) -> bool {
        if owed < acceptable {
            (self.due, self.signals) = (None, 0);
            return false;
        }
        if now < *self.due.get_or_insert(now + interval) {
            return false;
        }
        self.signals = self.signals.saturating_add(1);
        self.due = Some(now + control_law(interval, self.signals));
        true
    }
}

impl AirShare {
    /// Adds airtime that a station has used to its debt, and to the mean if it waits.
    fn charge(&mut self, station: StationId, ac: Ac, airtime: Time, now: Time) {
        if station.index() >= self.debts.len() {
            self.debts.resize(station.index() + 1, Default::default());
        }
        let (waits, others) = self.turns.waiting(station, ac);
        let mean_use = &mut self.mean_use[ac as usize];
        let debt = &mut self.debts[station.index()][ac as usize];
        debt.update(*mean_use, self.memory_ns, now);
        debt.owed = if others > 0 { debt.owed + airtime } else { Time::ZERO };
        if waits {
            *mean_use += Time::from_ns(airtime.as_ns() / u64::from(others + 1));
        }
    }
}

impl Scheme for AirShare {
    fn needs(&self) -> Indexes {
        self.turns.needs()
    }

    fn usual_limit_packets(&self) -> u32 {
        self.turns.usual_limit_packets()
    }

    fn serves_categories(&self) -> bool {
        self.turns.serves_categories()
    }

    fn hooks(&self) -> Hooks {
        Hooks { police: true, ..self.turns.hooks() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        let link = cx.links.get(arrival.station().index());
        let is_slow = link.is_some_and(|link| link.rate < self.ack_filter_below);
        let filter = if is_slow { AckFilter::Conservative } else { AckFilter::Off };
        self.turns.enqueue_filtered(arrival, filter, buffer, cx)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        self.turns.dequeue(grant, buffer, cx)
    }

    fn choose_station(
        &mut self,
        grant: &Grant,
        is_pending: &dyn Fn(StationId) -> bool,
        buffer: &mut Buffer,
        cx: &mut Cx,
    ) -> Option<StationId> {
        self.turns.choose_station(grant, is_pending, buffer, cx)
    }

    fn on_pending(&mut self, station: StationId, ac: Ac, cx: &mut Cx) {
        self.turns.on_pending(station, ac, cx);
    }

    fn on_exchange(&mut self, exchange: &Exchange, buffer: &mut Buffer, cx: &mut Cx) {
        self.charge(exchange.station, exchange.ac, exchange.airtime, cx.now);
        self.turns.on_exchange(exchange, buffer, cx);
    }

    fn on_reception(&mut self, reception: &Reception, buffer: &mut Buffer, cx: &mut Cx) {
        self.charge(reception.station, reception.ac, reception.airtime, cx.now);
        self.turns.on_reception(reception, buffer, cx);
    }

    fn police(&mut self, reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) -> PoliceAction {
        let &Reception { packet, station, ac, airtime, .. } = reception;
        let Some(debts) = self.debts.get_mut(station.index()) else { return PoliceAction::Forward };
        if packet.class() != Class::Data {
            return PoliceAction::Forward;
        }
        let debt = &mut debts[ac as usize];
        let owed_before = debt.owed.saturating_sub(self.mean_use[ac as usize] - debt.mean_use + airtime);
        match debt.is_signal_due(owed_before, self.acceptable, self.interval, cx.now) {
            true if packet.ecn() == Ecn::NotEct => PoliceAction::Drop,
            true => PoliceAction::Mark,
            false => PoliceAction::Forward,
        }
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        self.turns.evict_excess(buffer);
    }
}
