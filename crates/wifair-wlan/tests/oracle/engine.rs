//! Drives the engine through its public interface with the traffic of a scenario.

pub mod field;
mod spec;

use super::frame::{Kind, NodeId, Packet, Tally};
use super::record::{
    Aired, Airtime, Attempt, Decoded, Delivery, NewRate, Outcome, QueueSize, Record, Sent, Transmission,
};
use super::scenario::{Change, Modes, Offer, Outside, Scenario, Traffic, code_point};
use super::timing::Tenths;
use spec::{QueueSizes, spec, station_change};
use wifair_core::{Ac, Ecn, FiveTuple, Rate, SackBlocks, StationId, TcpFlags, Time};
use wifair_queue::{Direction, MpduOutcome, TransmittedMpdu};
use wifair_wlan::{
    Bss, FrameKind, LinkRateChange, Node, Output, SentPpdu, StationChange, TransmissionOutcome, Usage,
};

/// A DSCP of each category: user priorities 6, 4, 0 and 1.
const CODE_POINTS: [u8; 4] = [48, 32, 0, 8];

/// The categories, the highest first.
const RANKS: [Ac; 4] = [Ac::Voice, Ac::Video, Ac::BestEffort, Ac::Background];

/// IP protocol number of UDP.
const UDP: u32 = 17;

pub struct Engine {
    bss: Bss,
    side: Side,
}

/// What is outside of a BSS, and what it has said.
pub struct Side {
    traffic: Traffic,
    log: Log,
    /// Modes by station, as they were at the start.
    modes: Vec<Option<Modes>>,
    aggregates: bool,
    queue_sizes: QueueSizes,
}

/// What the engine said, in steps of the clock.
struct Log {
    /// Length of a step.
    step: Time,
    deliveries: Vec<Delivery>,
    attempts: Vec<Attempt>,
    transmissions: Vec<Transmission>,
    frames: Vec<Aired>,
    rates: Vec<NewRate>,
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in steps.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut engine = Engine::new(scenario);
    engine.run_until(from);
    let warm_up = engine.record(from);
    engine.run_until(until);
    engine.record(until).since(&warm_up)
}

impl Engine {
    pub fn new(scenario: &Scenario) -> Engine {
        let queue_sizes = QueueSizes::default();
        let spec = spec(scenario, &queue_sizes);
        let bss = Bss::new(&spec, scenario.seed).expect("the scenario is valid");
        for (_, change) in &scenario.changes {
            if let Change::Station { station, .. } = change {
                let station = StationId((station % scenario.stations.len()) as u16);
                bss.check_change(station, &station_change(change), "").expect("the change is valid");
            }
        }
        Engine { bss, side: Side::new(scenario, queue_sizes) }
    }

    /// Nothing will happen any more.
    pub fn is_at_rest(&self) -> bool {
        self.side.is_over() && self.bss.next_event() == Time::MAX
    }

    /// Handles all that happens before `until`.
    pub fn run_until(&mut self, until: u64) {
        let Engine { bss, side } = self;
        let until = side.log.step * until;
        loop {
            let event = bss.next_event();
            let outside = side.next_outside();
            if event.min(outside) >= until {
                return;
            }
            if outside <= event {
                side.act(bss, outside);
                continue;
            }
            let told = bss.advance_watched(outside.min(until), |bss| side.log.exchange(bss));
            if let Some((now, output)) = told
                && let Some((packet, to)) = side.log.output(output, now)
            {
                side.deliver(bss, &packet, to, now);
            }
        }
    }

    /// All that happened before `now`.
    pub fn record(&self, now: u64) -> Record {
        self.side.record(&self.bss, now)
    }
}

impl Side {
    pub fn new(scenario: &Scenario, queue_sizes: QueueSizes) -> Side {
        let log = Log {
            step: Time::from_ns(1_000 / u64::from(scenario.rules.steps)),
            deliveries: Vec::new(),
            attempts: Vec::new(),
            transmissions: Vec::new(),
            frames: Vec::new(),
            rates: Vec::new(),
        };
        let modes = scenario.stations.iter().map(|station| station.modes).collect();
        let (traffic, aggregates) = (Traffic::new(scenario), scenario.aggregates());
        Side { traffic, log, modes, aggregates, queue_sizes }
    }

    /// Nothing comes from outside any more.
    fn is_over(&self) -> bool {
        self.traffic.next_time().is_none()
    }

    /// When something comes from outside next.
    fn next_outside(&self) -> Time {
        self.traffic.next_time().map_or(Time::MAX, |at| self.log.step * at)
    }

    /// Lets what comes from outside next, at `now`, come.
    fn act(&mut self, bss: &mut Bss, now: Time) {
        match self.traffic.next().expect("something is due") {
            Outside::Offer(offer) => hand_down(bss, offer, now),
            Outside::Change(change) => self.change(bss, &change, now),
        }
    }

    fn change(&self, bss: &mut Bss, change: &Change, now: Time) {
        match change {
            Change::Mcs { station, up, down } => {
                let station = station % self.modes.len();
                if let Some(modes) = self.modes[station] {
                    let modes = modes.with_mcs(*up, *down);
                    let change = StationChange {
                        mcs: Some(modes.up.named_mcs() as u8),
                        mcs_down: Some(modes.down.named_mcs() as u8),
                        ..StationChange::new("")
                    };
                    bss.change_station(StationId(station as u16), &change, now);
                }
            }
            Change::ApLimit(packets) => bss.set_ap_limit(*packets as u32, now),
            Change::Station { station, .. } => {
                let stations = bss.snapshot(now).stations.len();
                let station = StationId((station % stations) as u16);
                bss.change_station(station, &station_change(change), now);
            }
        }
    }

    fn deliver(&mut self, bss: &mut Bss, wire: &wifair_core::Packet, to: Node, now: Time) {
        let to = node_id(to);
        let stream = usize::from(wire.tuple.source_port);
        let packet =
            Packet { id: wire.seq, stream, to, ip_bytes: wire.ip_bytes(), category: category_of(wire) };
        let at = self.log.steps(now);
        let marked = wire.ecn() as u8 != code_point(packet.id);
        assert!(!marked || wire.ecn() == Ecn::Ce, "a mark is CE");
        self.log.deliveries.push(Delivery { at, id: packet.id, to, marked });
        for answer in self.traffic.delivered(&packet, at) {
            hand_down(bss, answer, now);
        }
    }

    /// All that happened before `now`.
    fn record(&self, bss: &Bss, now: u64) -> Record {
        let Log { step, deliveries, attempts, transmissions, frames, rates } = &self.log;
        let snapshot = bss.snapshot(*step * now);
        let steps = |time| self.log.steps(time);
        let airtime = Airtime {
            up: snapshot.stations.iter().map(|s| steps(s.up.airtime)).collect(),
            down: snapshot.stations.iter().map(|s| steps(s.down.airtime)).collect(),
            collisions: steps(snapshot.collision_airtime),
            beacons: steps(snapshot.beacons.airtime),
            idle: steps(snapshot.idle),
        };
        let aggregates = self.aggregates;
        // Modes have no whole rates.
        let has_modes = self.modes.iter().any(Option::is_some);
        let tally = |usage: &Usage| {
            let rate_integral = if has_modes { 0 } else { usage.rate_integral };
            let tally = tally(&Usage { rate_integral, ..*usage }, *step);
            if aggregates { Tally { attempts: 0, failures: 0, ..tally } } else { tally }
        };
        // The engine knows all of an exchange at its start.
        let mut frames: Vec<_> = frames.iter().filter(|frame| frame.at < now).copied().collect();
        frames.sort_by_key(|frame| (frame.at, frame.from));
        let mut attempts = attempts.clone();
        attempts.sort_by_key(|attempt| (attempt.at, attempt.from));
        let mut rates = if aggregates { vec![] } else { rates.clone() };
        rates.sort();
        let mut queue_sizes: Vec<QueueSize> = vec![];
        for &(at, station, ac, bytes) in self.queue_sizes.lock().unwrap().iter() {
            let category = RANKS.iter().position(|&of| of == ac).expect("one of four");
            queue_sizes.push(QueueSize { at: steps(at), from: usize::from(station.0) + 1, category, bytes });
        }
        queue_sizes.dedup(); // each of the AP's transmit queues is notified
        Record {
            queue_sizes,
            deliveries: deliveries.clone(),
            attempts,
            transmissions: transmissions.clone(),
            frames,
            rates,
            up: snapshot.stations.iter().map(|s| tally(&s.up)).collect(),
            down: snapshot.stations.iter().map(|s| tally(&s.down)).collect(),
            airtime,
            exchanges: snapshot.exchanges,
            collisions: snapshot.collisions,
            beacons: (snapshot.beacons.sent, snapshot.beacons.collided),
            end: now,
            ..Record::default()
        }
    }
}

fn hand_down(bss: &mut Bss, offer: Offer, now: Time) {
    let packet = to_wire(&offer);
    match offer.node {
        0 => bss.send_down(StationId((offer.packet.to - 1) as u16), &packet, now),
        node => bss.send_up(StationId((node - 1) as u16), &packet, now),
    }
}

impl Log {
    /// The packet that an output of the BSS brings, and to whom.
    fn output(&mut self, output: Output, now: Time) -> Option<(wifair_core::Packet, Node)> {
        match output {
            Output::Delivery(wifair_wlan::Delivery { packet, to }) => return Some((*packet, to)),
            Output::LinkRate(change) => self.link_rate(change, now),
            Output::TxCompletion(_) => unreachable!("no station reports"),
        }
        None
    }

    /// Whole steps: everything in the slow model is, so a fraction is already a difference.
    fn steps(&self, time: Time) -> u64 {
        let (time, step) = (time.as_ns(), self.step.as_ns());
        assert_eq!(time % step, 0, "{time} ns is not a whole number of steps of {step} ns");
        time / step
    }

    /// The exchange that has just begun.
    fn exchange(&mut self, bss: &Bss) {
        for ppdu in bss.transmissions() {
            if !ppdu.has_agreement {
                self.attempt(&ppdu);
                continue;
            }
            let at = self.steps(ppdu.begins);
            let category = RANKS.iter().position(|&ac| Some(ac) == ppdu.category).expect("one of four");
            self.transmissions.push(Transmission {
                at,
                from: node_id(ppdu.from),
                to: node_id(ppdu.to),
                category,
                rate: tenths(ppdu.transmission.rate),
                mpdus: ppdu.by_mpdu().map(sent).collect(),
                request: ppdu.transmission.mpdus.is_empty().then_some(ppdu.window_start),
                outcome: Some(outcome(ppdu.outcome)),
                ended: Some(at + self.steps(ppdu.transmission.airtime)),
            });
        }
        bss.frames(|frame| {
            self.frames.push(Aired {
                at: self.steps(frame.begins),
                ends: self.steps(frame.ends),
                kind: match frame.kind {
                    FrameKind::Rts => Kind::Rts,
                    FrameKind::Cts => Kind::Cts,
                    FrameKind::Data => Kind::Data,
                    FrameKind::Ack => Kind::Ack,
                    FrameKind::BlockAckRequest => Kind::Request,
                    FrameKind::BlockAck => Kind::BlockAck,
                    FrameKind::Beacon => Kind::Beacon,
                },
                from: node_id(frame.from),
                to: node_id(frame.to),
                packet: match frame.part_of {
                    None => None,
                    Some(_) if frame.kind == FrameKind::BlockAck => None,
                    Some(ppdu) => ppdu.transmission.mpdus.first().map(|mpdu| mpdu.packet.seq),
                },
                rate: tenths(frame.mode.rate),
                duration_field: self.steps(frame.duration),
                decoded: Some(match frame.decoded {
                    wifair_wlan::Decoded::ByAll => Decoded::Everybody,
                    wifair_wlan::Decoded::ByBystanders => Decoded::Bystanders,
                    wifair_wlan::Decoded::ByNobody => Decoded::Nobody,
                    wifair_wlan::Decoded::ByAddressee => Decoded::Addressee,
                }),
            });
        });
    }

    /// The transmission of a single frame.
    fn attempt(&mut self, ppdu: &SentPpdu) {
        let (at, mpdu) = (self.steps(ppdu.begins), &ppdu.transmission.mpdus[0]);
        self.attempts.push(Attempt {
            at,
            from: node_id(ppdu.from),
            to: node_id(ppdu.to),
            packet: mpdu.packet.seq,
            category: ppdu.category.map_or(0, |_| category_of(mpdu.packet)),
            number: mpdu.attempts,
            rate: tenths(ppdu.transmission.rate),
            outcome: Some(outcome(ppdu.outcome)),
            ended: Some(at + self.steps(ppdu.transmission.airtime)),
        });
    }

    fn link_rate(&mut self, change: LinkRateChange, now: Time) {
        let station = usize::from(change.station.0) + 1;
        let (from, to) = if change.direction == Direction::Up { (station, 0) } else { (0, station) };
        self.rates.push(NewRate { at: self.steps(now), from, to, rate: tenths(change.rate) });
    }
}

/// What is said of an MPDU, alike by all its packets.
fn sent((mpdu, is_decoded): (&[TransmittedMpdu], bool)) -> Sent {
    let TransmittedMpdu { sequence, attempts, outcome, .. } = mpdu[0];
    for packet in mpdu {
        let of_it = (packet.sequence, packet.attempts, packet.outcome);
        assert_eq!(of_it, (sequence, attempts, outcome), "{mpdu:?}");
    }
    Sent {
        seq: sequence.expect("the link has an agreement"),
        packets: mpdu.iter().map(|sent| sent.packet.seq).collect(),
        number: attempts,
        decoded: Some(is_decoded),
        acknowledged: Some(outcome == MpduOutcome::Delivered),
    }
}

fn outcome(outcome: TransmissionOutcome) -> Outcome {
    match outcome {
        TransmissionOutcome::Acknowledged => Outcome::Acknowledged,
        TransmissionOutcome::Collided => Outcome::Collided,
        TransmissionOutcome::DataLost => Outcome::DataLost,
        TransmissionOutcome::AckLost => Outcome::AckLost,
    }
}

fn node_id(node: Node) -> NodeId {
    match node {
        Node::Ap => 0,
        Node::Station(station) => usize::from(station.0) + 1,
    }
}

fn category_of(wire: &wifair_core::Packet) -> usize {
    CODE_POINTS.iter().position(|&dscp| dscp == wire.dscp()).expect("one of ours")
}

fn tenths(rate: Rate) -> Tenths {
    rate.as_kbps() / 100
}

fn tally(usage: &Usage, step: Time) -> Tally {
    // The engine's are kbit/s · ns.
    let unit = u128::from(100 * step.as_ns());
    assert_eq!(usage.rate_integral % unit, 0, "the integral of the rate is off the steps");
    Tally {
        attempts: usage.attempts,
        failures: usage.retries + usage.lost_at_retry_limit - usage.lost_internally,
        lost: usage.lost_at_retry_limit,
        lost_after_delivery: usage.lost_after_delivery,
        delivered: usage.delivered,
        delivered_bytes: usage.delivered_bytes,
        duplicates: usage.duplicates,
        internal: usage.internal_collisions,
        rate_integral: (usage.rate_integral / unit) as u64,
    }
}

fn to_wire(offer: &Offer) -> wifair_core::Packet {
    let Packet { id, stream, ip_bytes, category, .. } = offer.packet;
    wifair_core::Packet {
        connection: Default::default(),
        tuple: FiveTuple {
            source: offer.node as u32,
            destination: offer.packet.to as u32,
            source_port: stream as u16,
            destination_port: 9,
            protocol: UDP,
        },
        seq: id,
        ack: 0,
        window_bytes: 0,
        payload_bytes: ip_bytes - 28,
        header_bytes: 28,
        flags: TcpFlags::NONE,
        ds_field: CODE_POINTS[category] << 2 | code_point(id),
        sack: SackBlocks::NONE,
    }
}
