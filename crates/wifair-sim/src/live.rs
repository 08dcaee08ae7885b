//! A network that is observed and changed while it runs.
//!
//! It is the same network as that of a run: an observer only reads, and a change is an event of the plan at its nanosecond. A
//! run of the plan with these events has the same trajectory.

use serde_json::{Value, json};
use wifair_core::{Ac, Class, Ecn, Packet, SpecError, StationId, Time};
use wifair_queue::{
    Direction, Eviction, Journal, JournalEntry, Ledger, Outcome, Refusal, TransmittedMpdu, TxQueue,
    TxQueueEvent,
};
use wifair_tcp::SenderPhase;
use wifair_wlan::{Bss, Decoded, FrameKind, Modes, Node, SentPpdu, TransmissionOutcome, Usage};

use crate::address;
use crate::connection::Connection;
use crate::fingerprint::Fingerprint;
use crate::flow::Flow;
use crate::network::Network;
use crate::plan::Plan;
use crate::tap::Tap;
use crate::wire::WireId;

/// Maximum number of frames, and of events at transmit queues, waiting for a snapshot; beyond that the oldest are discarded and
/// counted.
const MAX_WAITING: usize = 4096;
/// Maximum number of packets of PPDUs in a snapshot, of the newest ones.
const MAX_MPDUS: usize = 8192;
/// Maximum number of packets of a transmit queue in a snapshot, from the head.
const MAX_LISTED: usize = 4096;
/// Time after which the journal of the transmit queues is processed.
const AT_ONCE: Time = Time::from_ms(100);
/// How far [`LiveNetwork::step`] searches for an exchange.
const STEP_WITHIN: Time = Time::from_s(1);

/// A frame on the air, or the wait for access before it.
#[derive(Clone, Debug)]
struct Frame {
    begins: Time,
    ends: Time,
    /// 0 for the AP, else the station's id plus 1.
    node: u32,
    kind: u8,
    outcome: u8,
    flow: u32,
    class: Class,
    attempt: u32,
    rate_mbps: f64,
    /// When its sender began to wait for access; for the first frame of a transmission only.
    waits_from: Option<Time>,
    /// Packets of a PPDU with a Block Ack agreement.
    mpdus: Vec<LiveMpdu>,
}

/// A packet on the air in an MPDU.
#[derive(Clone, Copy, Debug)]
struct LiveMpdu {
    flow: u32,
    class: Class,
    bytes: u32,
    decoded: bool,
}

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

/// Records events at the AP's transmit queues and frames while asked to, and hashes the trajectory all the time.
struct Watch {
    fingerprint: Fingerprint,
    recording: bool,
    journal: Journal,
    /// By slot: its flow.
    flow_of: Vec<u32>,
    frames: Vec<Frame>,
    omitted_frames: u64,
    begun: u64,
    /// End of the exchange that began last.
    ends: Time,
}

impl Watch {
    fn note(&mut self, frame: Frame) {
        if self.frames.len() >= 2 * MAX_WAITING {
            self.frames.drain(..MAX_WAITING);
            self.omitted_frames += MAX_WAITING as u64;
        }
        self.frames.push(frame);
    }

    /// Records the PPDU of a link with a Block Ack agreement and its response, or only the RTS if that collides.
    fn note_transmission(&mut self, what: &SentPpdu, idle_since: Time) {
        let mpdus: Vec<LiveMpdu> = what
            .transmission
            .mpdus
            .iter()
            .zip(&what.decoded)
            .map(|(mpdu, decoded)| self.mpdu(mpdu, *decoded))
            .collect();
        // A Block Ack Request carries no packet: it is shown as a control frame.
        let first = mpdus.first().copied();
        let outcome = match what.outcome {
            TransmissionOutcome::Acknowledged => 0,
            TransmissionOutcome::Collided => 1,
            TransmissionOutcome::DataLost => 2,
            TransmissionOutcome::AckLost => 3,
        };
        let lost_answer = outcome == 3;
        let frame = Frame {
            begins: what.begins,
            ends: what.begins + what.transmission.airtime,
            node: number(what.from),
            kind: 2,
            outcome: if lost_answer { 0 } else { outcome },
            flow: first.map_or(0, |mpdu| mpdu.flow),
            class: first.map_or(Class::Other, |mpdu| mpdu.class),
            attempt: what.transmission.mpdus.first().map_or(1, |mpdu| mpdu.attempts),
            rate_mbps: what.transmission.rate.as_mbps(),
            waits_from: Some(idle_since).filter(|from| *from < what.begins),
            mpdus: vec![],
        };
        let Some((begins, ends)) = what.ppdu else { return self.note(frame) };
        if begins > what.begins {
            self.note(Frame { ends: begins, outcome: 0, ..frame.clone() });
        }
        let waits_from = frame.waits_from.filter(|_| begins == what.begins);
        let kind = if first.is_some() { 0 } else { 2 };
        self.note(Frame { begins, ends, kind, waits_from, mpdus, ..frame.clone() });
        if let Some((begins, ends)) = what.response {
            let outcome = if lost_answer { 3 } else { 0 };
            let node = number(what.to);
            self.note(Frame { begins, ends, node, kind: 1, outcome, waits_from: None, ..frame });
        }
    }

    fn mpdu(&self, sent: &TransmittedMpdu, decoded: bool) -> LiveMpdu {
        LiveMpdu {
            flow: self.flow_of[address::slot_of(&sent.packet.tuple)],
            class: sent.packet.class(),
            bytes: sent.packet.ip_bytes(),
            decoded,
        }
    }
}

fn number(node: Node) -> u32 {
    match node {
        Node::Ap => 0,
        Node::Station(id) => u32::from(id.0) + 1,
    }
}

impl Tap for Watch {
    fn is_watching(&self) -> bool {
        self.recording
    }

    fn crossed_air(&mut self, now: Time, packet: &Packet, to: Node) {
        self.fingerprint.crossed_air(now, packet, to);
    }

    fn exchange(&mut self, _number: usize, bss: &Bss) {
        let idle_since = self.ends;
        self.begun += 1;
        if let Some(beacon) = bss.beacon() {
            self.ends = self.ends.max(beacon.ends);
            self.note(Frame {
                begins: beacon.begins,
                ends: beacon.ends,
                node: number(Node::Ap),
                kind: 4,
                outcome: u8::from(beacon.collides),
                flow: 0,
                class: Class::Other,
                attempt: 1,
                rate_mbps: beacon.mode.rate.as_mbps(),
                waits_from: None,
                mpdus: vec![],
            });
        }
        for ppdu in bss.transmissions() {
            self.ends = self.ends.max(ppdu.begins + ppdu.transmission.airtime);
        }
        let mut frames = vec![];
        bss.frames(|frame| {
            let Some(what) = frame.part_of.filter(|ppdu| !ppdu.has_agreement) else { return }; // below, as a PPDU
            let mpdu = &what.transmission.mpdus[0];
            let outcome = match (frame.decoded, what.outcome) {
                (Decoded::ByNobody, _) => 1,
                (_, TransmissionOutcome::DataLost) if frame.kind == FrameKind::Data => 2,
                (_, TransmissionOutcome::AckLost) if frame.kind == FrameKind::Ack => 3,
                _ => 0,
            };
            let first = !frames.iter().any(|(_, sender)| *sender == what.sender);
            let waits_from = first.then(|| bss.in_service_since(what.sender).max(idle_since));
            let noted = Frame {
                begins: frame.begins,
                ends: frame.ends,
                node: number(frame.from),
                kind: match frame.kind {
                    FrameKind::Data | FrameKind::Beacon => 0,
                    FrameKind::Ack | FrameKind::BlockAck => 1,
                    FrameKind::Rts | FrameKind::BlockAckRequest => 2,
                    FrameKind::Cts => 3,
                },
                outcome,
                flow: self.flow_of[address::slot_of(&mpdu.packet.tuple)],
                class: mpdu.packet.class(),
                attempt: mpdu.attempts,
                rate_mbps: frame.mode.rate.as_mbps(),
                waits_from: waits_from.filter(|from| *from < frame.begins),
                mpdus: vec![],
            };
            frames.push((noted, what.sender));
        });
        frames.into_iter().for_each(|(frame, _)| self.note(frame));
        for ppdu in bss.transmissions().filter(|ppdu| ppdu.has_agreement) {
            self.note_transmission(&ppdu, idle_since);
        }
    }
}

/// A replication that runs in pieces and can be inspected and changed.
pub struct LiveNetwork {
    network: Network<Watch>,
    plan: Plan,
    /// Events at the AP's transmit queues since the last snapshot, limited to the newest.
    happened: Vec<Happened>,
}

impl LiveNetwork {
    /// Creates the network of `plan` with the random streams of `seed`, at time zero.
    ///
    /// # Errors
    /// Fails if the plan cannot be run.
    pub fn new(plan: Plan, seed: u64) -> Result<LiveNetwork, SpecError> {
        if plan.bss.field.is_some() {
            let allowed = "no such table in a live session, whose strip shows frames that all nodes hear";
            return Err(SpecError::new("bss.field", "this table", allowed));
        }
        let watch = Watch {
            fingerprint: Fingerprint::new(),
            recording: false,
            journal: Journal::new(),
            flow_of: vec![],
            frames: vec![],
            omitted_frames: 0,
            begun: 0,
            ends: Time::ZERO,
        };
        let mut network = Network::tapped(&plan, seed, watch)?;
        network.expect_changes(&plan);
        let slots = network.flows().iter().map(Flow::slots);
        let flow_of = (0..).zip(slots).flat_map(|(flow, slots)| slots.map(move |_| flow)).collect();
        network.tap_mut().flow_of = flow_of;
        Ok(LiveNetwork { network, plan, happened: vec![] })
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

    /// Runs until the next exchange to begin has ended. False if none begins within a simulated second, which has then passed.
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

    fn set_recording(&mut self, recording: bool) {
        if self.network.tap().recording == recording {
            return;
        }
        self.network.tap_mut().recording = recording;
        let journal = self.network.tap().journal.clone();
        let now = self.now();
        match recording {
            true => {
                // The end of the present exchange was not recorded.
                self.network.tap_mut().ends = now;
                self.bss_mut().keep_ap_journal(&journal);
            }
            false => self.bss_mut().stop_ap_journal(),
        }
    }

    fn bss_mut(&mut self) -> &mut Bss {
        self.network.only_bss_mut().expect("a plan with a field is refused")
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
        let bss = self.network.bss();
        let stations = (0..self.plan.bss.stations.len()).map(|id| bss.modes(StationId(id as u16)));
        let of = |modes: &Modes| {
            let mcs = || modes.iter().map(|on_air| on_air.mode.mcs).collect::<Vec<_>>();
            let mbps = || modes.rates().map(|rate| rate.as_mbps()).collect::<Vec<_>>();
            match modes.have_mcs() {
                true => json!({ "key": "mcs", "choices": mcs() }),
                false => json!({ "key": "rate_mbps", "choices": mbps() }),
            }
        };
        stations.map(of).collect()
    }

    /// The current state as JSON; see `wifair.live` for its form. Frames and events at transmit queues are returned once.
    pub fn snapshot(&mut self) -> Value {
        let now = self.now();
        self.take_events();
        let happened = std::mem::take(&mut self.happened);
        let watch = self.network.tap_mut();
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
        let air = self.network.bss().snapshot(now);
        let bss = self.network.bss();
        let stations = |of: fn(&Usage) -> u64, up: bool| -> Vec<u64> {
            air.stations.iter().map(|station| of(if up { &station.up } else { &station.down })).collect()
        };
        let ids = || (0..air.stations.len()).map(|id| StationId(id as u16));
        let rates =
            |direction| -> Vec<f64> { ids().map(|id| bss.link_rate(id, direction).as_mbps()).collect() };
        let mcs = |direction| -> Vec<Option<u8>> {
            let of = |id| bss.modes(id).have_mcs().then(|| bss.link_mode(id, direction).mcs);
            ids().map(of).collect()
        };
        json!({
            "time_ns": now.as_ns(),
            "tx_queues": bss.ap_tx_queues().map(|(category, tx_queue)| self.tx_queue(category, tx_queue, now)).collect::<Vec<_>>(),
            "flows": self.flows(),
            "stations": {
                "airtime_up_ns": stations(|usage| usage.airtime.as_ns(), true),
                "airtime_down_ns": stations(|usage| usage.airtime.as_ns(), false),
                "attempts_up": stations(|usage| usage.attempts, true),
                "attempts_down": stations(|usage| usage.attempts, false),
                "rate_up_mbps": rates(Direction::Up),
                "rate_down_mbps": rates(Direction::Down),
                "mcs_up": mcs(Direction::Up),
                "mcs_down": mcs(Direction::Down),
            },
            "air": {
                "exchanges": air.exchanges,
                "collisions": air.collisions,
                "collision_ns": air.collision_airtime.as_ns(),
                "beacon_ns": air.beacons.airtime.as_ns(),
                "idle_ns": air.idle.as_ns(),
                "wire_losses": self.network.wire().counters(WireId::FIRST, self.network.now()).losses,
                "wire_packets": self.network.wire().in_flight(),
            },
            "frames": frames.iter().map(|frame| frame.row(now)).collect::<Vec<_>>(),
            "frames_omitted": omitted,
            "events": happened.iter().map(|event| event.row(now)).collect::<Vec<_>>(),
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

impl Frame {
    /// Times are before `now`, in nanoseconds.
    fn row(&self, now: Time) -> Value {
        let before = |at: Time| now.as_ns() as i64 - at.as_ns() as i64;
        let of = |mpdu: &LiveMpdu| [mpdu.flow, mpdu.class as u32, mpdu.bytes, u32::from(mpdu.decoded)];
        let mpdus: Vec<u32> = self.mpdus.iter().flat_map(of).collect();
        json!([
            before(self.begins),
            before(self.ends),
            self.node,
            self.kind,
            self.outcome,
            self.flow,
            self.class as u8,
            self.attempt,
            self.rate_mbps,
            before(self.waits_from.unwrap_or(self.begins)),
            mpdus,
        ])
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
