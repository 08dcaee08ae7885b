//! A network that is observed and changed while it runs.
//!
//! It is the same network as that of a run: an observer only reads, and a change is an event of the plan at its nanosecond. A
//! run of the plan with these events has the same trajectory.
//!
//! `watch` records what is shown, as `frames`; `field` knows which frames of a field can be shown.

mod field;
mod frames;
mod watch;

use serde_json::{Value, json};
use wifair_core::{Ac, Class, Ecn, SpecError, StationId, Time};
use wifair_queue::{Direction, Eviction, JournalEntry, Ledger, Outcome, Refusal, TxQueue, TxQueueEvent};
use wifair_tcp::SenderPhase;
use wifair_wlan::{BssSnapshot, FieldUsage, Modes, StationUsage};

use self::field::FieldFrames;
use self::frames::Frame;
use self::watch::{MAX_WAITING, Watch};
use crate::address;
use crate::connection::Connection;
use crate::flow::Flow;
use crate::network::Network;
use crate::plan::Plan;

/// Maximum number of packets of PPDUs in a snapshot, of the newest ones.
const MAX_MPDUS: usize = 8192;
/// Maximum number of packets of a transmit queue in a snapshot, from the head.
const MAX_LISTED: usize = 4096;
/// Time after which the journal of the transmit queues is processed.
const AT_ONCE: Time = Time::from_ms(100);
/// How far [`LiveNetwork::step`] searches for an exchange.
const STEP_WITHIN: Time = Time::from_s(1);

/// An event at a transmit queue of the AP.
#[derive(Clone, Copy, Debug)]
struct Happened {
    at: Time,
    what: u8,
    flow: u32,
    class: Class,
    enqueued_at: Time,
    queued: u32,
}

/// A replication that runs in pieces and can be inspected and changed.
pub struct LiveNetwork {
    network: Network<Watch>,
    plan: Plan,
    /// Number of the BSS whose access point's transmit queues are shown.
    shown: usize,
    /// Events at the AP's transmit queues since the last snapshot, limited to the newest.
    happened: Vec<Happened>,
}

impl LiveNetwork {
    /// Creates the network of `plan` with the random streams of `seed`, at time zero.
    ///
    /// # Errors
    /// Fails if the plan cannot be run.
    pub fn new(plan: Plan, seed: u64) -> Result<LiveNetwork, SpecError> {
        let stations = plan.bsss().map(|bss| bss.stations.len());
        let watch = Watch::new(stations, plan.bss.field.is_some());
        let mut network = Network::tapped(&plan, seed, watch)?;
        network.expect_changes(&plan);
        let slots = network.flows().iter().map(Flow::slots);
        let flow_of = (0..).zip(slots).flat_map(|(flow, slots)| slots.map(move |_| flow)).collect();
        network.tap_mut().flow_of = flow_of;
        Ok(LiveNetwork { network, plan, shown: 0, happened: vec![] })
    }

    /// The current simulated time: everything before it has happened, nothing at this instant.
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// Runs until `until`, if that is later. Records frames and events at the AP's transmit queues from `record_from` on.
    pub fn advance(&mut self, until: Time, record_from: Time) {
        if record_from > self.now() {
            self.set_recording(false);
            self.network.run_until(record_from.min(until.max(self.now())));
        }
        while until > self.now() {
            self.set_recording(true);
            self.network.run_until(until.min(self.now() + AT_ONCE));
            self.take_events();
        }
    }

    /// Runs until the next exchange to begin has ended or, in a field, until the next sender knows the outcome of its exchange.
    /// False if there is none within a simulated second, which has then passed.
    pub fn step(&mut self) -> bool {
        self.set_recording(true);
        let limit = self.now() + STEP_WITHIN;
        let begun = self.network.tap().begun;
        while self.network.tap().begun == begun {
            let next = self.network.next_event();
            if next >= limit {
                self.network.run_until(limit);
                return false;
            }
            self.network.run_until(next + Time::from_ns(1));
        }
        let ends = self.network.tap().ends;
        self.network.run_until(self.now().max(ends + Time::from_ns(1)));
        true
    }

    /// Shows the transmit queues of the access point of the BSS of this number from now on; whether there is such a BSS.
    pub fn show(&mut self, bss: usize) -> bool {
        if bss >= self.network.air().count() {
            return false;
        }
        if bss != self.shown {
            let watch = self.network.tap();
            let (recording, journal) = (watch.recording, watch.journal.clone());
            let frames = watch.field.as_ref().map(FieldFrames::journal).cloned().filter(|_| recording);
            self.network.turn(self.shown, |bss| bss.keep_live_journals(None, frames.as_ref()));
            self.take_events();
            self.happened.clear();
            self.shown = bss;
            let journal = Some(&journal).filter(|_| recording);
            self.network.turn(bss, |bss| bss.keep_live_journals(journal, frames.as_ref()));
        }
        true
    }

    fn set_recording(&mut self, recording: bool) {
        if self.network.tap().recording == recording {
            return;
        }
        let now = self.now();
        let watch = self.network.tap_mut();
        watch.recording = recording;
        let journal = watch.journal.clone();
        let frames = watch.field.as_mut().map(FieldFrames::begin).cloned();
        if recording {
            // The end of the present exchange was not recorded.
            watch.ends = now;
        }
        self.network.turn(self.shown, |bss| match recording {
            true => bss.keep_live_journals(Some(&journal), frames.as_ref()),
            false => bss.keep_live_journals(None, None),
        });
    }

    /// Adds the events of `plan` beyond those of this network's plan; they must not be in the past. In all else the plans are
    /// equal.
    pub fn change(&mut self, plan: Plan) {
        for event in &plan.events[self.plan.events.len()..] {
            self.network.change(&plan, event);
        }
        self.plan = plan;
    }

    /// A hash over every packet that has crossed the air, with its time.
    pub fn fingerprint(&self) -> u64 {
        self.network.tap().fingerprint.value()
    }

    /// What can be set of each station's links: the key, and its values with the station's PHY and streams.
    pub fn modes(&self) -> Value {
        let of = |modes: &Modes| {
            let mcs = || modes.iter().map(|on_air| on_air.mode.mcs).collect::<Vec<_>>();
            let mbps = || modes.rates().map(|rate| rate.as_mbps()).collect::<Vec<_>>();
            match modes.have_mcs() {
                true => json!({ "key": "mcs", "choices": mcs() }),
                false => json!({ "key": "rate_mbps", "choices": mbps() }),
            }
        };
        self.station_ids().map(|station| self.network.air().modes(station)).map(of).collect()
    }

    /// The stations of all BSSs.
    fn station_ids(&self) -> impl Iterator<Item = StationId> {
        (0..self.plan.stations().count()).map(|id| StationId(id as u16))
    }

    /// The current state as JSON; see `wifair.live` for its form. Frames and events at transmit queues are returned once.
    pub fn snapshot(&mut self) -> Value {
        let now = self.now();
        self.take_events();
        let happened = std::mem::take(&mut self.happened);
        let (frames, omitted) = self.take_frames();
        let watch = self.network.tap_mut();
        let under_way =
            watch.field.as_mut().map_or_else(Vec::new, |field| field.under_way(&watch.nodes, now));
        let snapshots: Vec<BssSnapshot> = self.network.snapshots().collect();
        let tx_queues = self.network.air().bss(self.shown).ap_tx_queues();
        let tx_queues = tx_queues.map(|(category, tx_queue)| self.tx_queue(category, tx_queue, now));
        json!({
            "time_ns": now.as_ns(),
            "bss": self.shown,
            "tx_queues": tx_queues.collect::<Vec<_>>(),
            "flows": self.flows(),
            "stations": self.stations(&snapshots),
            "air": self.air(&snapshots[self.shown]),
            "field": self.field(now),
            "frames": frames.iter().map(|frame| frame.row(now)).collect::<Vec<_>>(),
            "frames_omitted": omitted,
            "frames_under_way": under_way,
            "events": happened.iter().map(|event| event.row(now)).collect::<Vec<_>>(),
        })
    }

    /// The frames since the last call, and how many of them have been dropped.
    fn take_frames(&mut self) -> (Vec<Frame>, u64) {
        let watch = self.network.tap_mut();
        watch.note_field();
        let surplus = watch.frames.len().saturating_sub(MAX_WAITING);
        let omitted = std::mem::take(&mut watch.omitted_frames) + surplus as u64;
        let mut frames: Vec<Frame> = watch.frames.drain(..).skip(surplus).collect();
        let mut listed = 0;
        for frame in frames.iter_mut().rev() {
            listed += frame.mpdus.len();
            if listed > MAX_MPDUS {
                frame.mpdus.clear();
            }
        }
        (frames, omitted)
    }

    /// By station of all BSSs.
    fn stations(&self, snapshots: &[BssSnapshot]) -> Value {
        let of = |value: fn(&StationUsage) -> u64| -> Vec<u64> {
            snapshots.iter().flat_map(|snapshot| &snapshot.stations).map(value).collect()
        };
        let air = self.network.air();
        let rates = |direction| -> Vec<f64> {
            self.station_ids().map(|id| air.link_rate(id, direction).as_mbps()).collect()
        };
        let mcs = |direction| -> Vec<Option<u8>> {
            let of = |id| air.modes(id).have_mcs().then(|| air.link_mode(id, direction).mcs);
            self.station_ids().map(of).collect()
        };
        json!({
            "airtime_up_ns": of(|station| station.up.airtime.as_ns()),
            "airtime_down_ns": of(|station| station.down.airtime.as_ns()),
            "attempts_up": of(|station| station.up.attempts),
            "attempts_down": of(|station| station.down.attempts),
            "rate_up_mbps": rates(Direction::Up),
            "rate_down_mbps": rates(Direction::Down),
            "mcs_up": mcs(Direction::Up),
            "mcs_down": mcs(Direction::Down),
        })
    }

    /// The air and the wire of the BSS that is shown.
    fn air(&self, air: &BssSnapshot) -> Value {
        let wire = self.network.wire_of(self.shown);
        json!({
            "exchanges": air.exchanges,
            "collisions": air.collisions,
            "collision_ns": air.collision_airtime.as_ns(),
            "beacon_ns": air.beacons.airtime.as_ns(),
            "idle_ns": air.idle.as_ns(),
            "wire_losses": self.network.wire().counters(wire, self.network.now()).losses,
            "wire_packets": self.network.wire().in_flight(),
        })
    }

    /// How the frames of each BSS of a field fare; none if all nodes hear each other.
    fn field(&self, now: Time) -> Value {
        let air = self.network.air();
        let usages = (0..air.count())
            .filter_map(|bss| air.field_usage(bss, now).or_else(|| FieldUsage::of_only(air.bss(bss), now)));
        let usages: Vec<FieldUsage> = usages.collect();
        let each = |of: fn(&FieldUsage) -> u64| usages.iter().map(of).collect::<Vec<_>>();
        json!({
            "busy_own_ns": each(|usage| usage.busy_own.as_ns()),
            "busy_others_ns": each(|usage| usage.busy_others.as_ns()),
            "lost_same_start": each(|usage| usage.lost_same_start),
            "lost_hidden": each(|usage| usage.lost_hidden),
            "lost_to_others": each(|usage| usage.lost_to_others),
            "unanswered_rts": each(|usage| usage.unanswered),
            "mpdus": each(|usage| usage.mpdus),
            "mpdus_lost": each(|usage| usage.mpdus_lost),
        })
    }

    /// Takes the newest events from the journal.
    fn take_events(&mut self) {
        let (watch, happened) = (self.network.tap(), &mut self.happened);
        watch.journal.take(|entry| happened.extend(Happened::of(entry, &watch.flow_of)));
        let surplus = happened.len().saturating_sub(MAX_WAITING);
        happened.drain(..surplus);
    }

    fn tx_queue(&self, category: Option<Ac>, tx_queue: &TxQueue, now: Time) -> Value {
        let flow_of = &self.network.tap().flow_of;
        let buffer = tx_queue.buffer();
        let slots = std::iter::successors(buffer.head(), |&slot| buffer.after(slot)).take(MAX_LISTED);
        let mut packets: Vec<u64> = vec![];
        for slot in slots {
            let packet = &buffer[slot].packet;
            packets.extend([
                u64::from(flow_of[address::slot_of(&packet.tuple)]),
                buffer[slot].class as u64,
                u64::from(packet.ip_bytes()),
                (now - buffer[slot].enqueued_at).as_ns(),
                u64::from(packet.ecn() == Ecn::Ce),
            ]);
        }
        let mut gauges = serde_json::Map::new();
        tx_queue.gauges(&mut |name, value| {
            gauges.insert(name.into(), json!(value));
        });
        json!({
            "category": category.map_or("", Ac::name),
            "limit_packets": buffer.limit(),
            "queued_packets": tx_queue.len(),
            "packets": packets,
            "gauges": gauges,
            "counters": tx_queue.snapshot(now).classes.iter().map(counters).collect::<Vec<_>>(),
            "sojourn_count": tx_queue.sojourn().count(),
            "sojourn_sum_ns": tx_queue.sojourn().sum(),
        })
    }

    /// By flow.
    fn flows(&self) -> Value {
        let flows = self.network.flows();
        let each = |of: &dyn Fn(&Flow) -> Value| flows.iter().map(of).collect::<Vec<_>>();
        let connections = |flow: &Flow| self.network.connections_of(flow);
        let sum = |of: fn(&Connection) -> u64| {
            each(&move |flow| json!(connections(flow).iter().map(of).sum::<u64>()))
        };
        let delivered = |flow: &Flow| match flow.session() {
            Some(session) => session.stats()[0].received_payload_bytes,
            None => connections(flow).iter().map(|c| c.receiver.stats().payload_bytes_delivered).sum(),
        };
        json!({
            "open": each(&|flow| json!(u8::from(flow.is_open))),
            "delivered_bytes": each(&|flow| json!(delivered(flow))),
            "cwnd_bytes": sum(|c| c.sender.cwnd_bytes().into()),
            "srtt_ns": each(&|flow| json!(match connections(flow) {
                [one] => one.sender.srtt().map_or(0, Time::as_ns),
                _ => 0,
            })),
            "rtt_count": each(&|flow| json!(match flow.session() {
                Some(session) => session.stats()[0].rtt.count(),
                None => connections(flow).iter().map(|c| c.sender.stats().rtt.count()).sum(),
            })),
            "rtt_sum_ns": each(&|flow| json!(match flow.session() {
                Some(session) => session.stats()[0].rtt.sum(),
                None => connections(flow).iter().map(|c| c.sender.stats().rtt.sum()).sum(),
            })),
            "retransmitted": sum(|c| c.sender.stats().segments_retransmitted),
            "timeouts": sum(|c| c.sender.stats().timeouts),
            "phase": each(&|flow| json!(match (flow.session(), connections(flow)) {
                (None, [one]) => match one.sender.phase() {
                    SenderPhase::Idle => 0,
                    SenderPhase::SlowStart => 1,
                    SenderPhase::Avoidance => 2,
                    SenderPhase::Recovery => 3,
                    SenderPhase::TimedOut => 4,
                },
                _ => 5,
            })),
        })
    }
}

impl Happened {
    /// Converts an entry of a journal, if it concerns the queue.
    fn of(entry: &JournalEntry, flow_of: &[u32]) -> Option<Happened> {
        let (what, enqueued_at) = match entry.event {
            TxQueueEvent::Enqueued => (0, entry.at),
            TxQueueEvent::Dequeued { enqueued_at } => (1, enqueued_at),
            TxQueueEvent::Refused(Refusal::TailDrop) => (2, entry.at),
            TxQueueEvent::Refused(Refusal::Aqm) => (3, entry.at),
            TxQueueEvent::Evicted { reason: Eviction::Victim, enqueued_at } => (4, enqueued_at),
            TxQueueEvent::Evicted { reason: Eviction::Redundant, enqueued_at } => (5, enqueued_at),
            TxQueueEvent::Evicted { reason: Eviction::Aqm, enqueued_at } => (6, enqueued_at),
            TxQueueEvent::CeMarked | TxQueueEvent::EceMarked => (7, entry.at),
            TxQueueEvent::Finished { outcome: Outcome::LostAtRetryLimit, .. } => (8, entry.at),
            TxQueueEvent::Finished { .. } | TxQueueEvent::Policed(_) => return None,
        };
        let flow = flow_of[address::slot_of(&entry.packet.tuple)];
        let class = entry.packet.class();
        Some(Happened { at: entry.at, what, flow, class, enqueued_at, queued: entry.queued_packets })
    }

    fn row(&self, now: Time) -> Value {
        json!([
            (now - self.at).as_ns(),
            self.what,
            self.flow,
            self.class as u8,
            (now - self.enqueued_at).as_ns(),
            self.queued,
        ])
    }
}

/// Packets by fate, in the order that `wifair.live` names.
fn counters(ledger: &Ledger) -> [u64; 14] {
    [
        ledger.offered.packets,
        ledger.tail_dropped.packets,
        ledger.aqm_refused.packets,
        ledger.evicted.packets,
        ledger.aqm_evicted.packets,
        ledger.filtered.packets,
        ledger.dequeued.packets,
        ledger.delivered.packets,
        ledger.lost_at_retry_limit.packets,
        ledger.ce_marked.packets,
        ledger.ece_marked.packets,
        ledger.policed.packets,
        ledger.police_marked.packets,
        ledger.police_dropped.packets,
    ]
}
