//! The medium: carries frames from node to node, one step of the clock after the other, and keeps the counters.

use super::cell::{Air, Cell, EveryStep, Run, on_air};
use super::flaw::Flaw;
use super::frame::{Content, Frame, Heard, Kind, NodeId, Packet};
use super::node::Node;
use super::radio::{Case, Radio};
use super::record::{Aired, Decoded, Outcome, Received, Record};
use super::scenario::{Change, Outside, Scenario};
use std::collections::{BTreeSet, VecDeque};

struct OnAir {
    frame: Frame,
    ends_at: u64,
    /// Its place in the record.
    index: usize,
    /// When its MPDUs end, but for the last, if each of them is received on its own.
    mpdu_ends: VecDeque<u64>,
    /// Everybody who started at that instant or was on the air then, and so heard nothing of it.
    deaf: Vec<NodeId>,
    reach: Reach,
}

/// Who could decode a frame, if the channel lets him.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    All,
    /// It is captured.
    Addressee,
    /// It collides.
    Nobody,
    /// It answers a captured frame while others of that collision are still on the air.
    Drowned,
}

/// What the medium is occupied with.
#[derive(Clone, Copy)]
enum Exchange {
    Of {
        station: usize,
        up: bool,
        /// Probabilities that its data frame and its MAC ACK are lost, at its start.
        data_error: f64,
        ack_error: f64,
    },
    Collision,
    Beacon,
}

pub struct Medium {
    cell: Cell,
    radio: Radio,
    on_air: Vec<OnAir>,
    exchange: Exchange,
    /// Who opened it, and the places of its first attempt and its first transmission in the record.
    openers: Vec<NodeId>,
    first_attempt: usize,
    first_transmission: usize,
    /// When the next beacon is due.
    target: Option<u64>,
    /// Of this instant; kept to be used again.
    starting: Vec<NodeId>,
}

/// Runs `scenario`, see [`cell::run`](super::cell::run).
pub fn run(scenario: &Scenario) -> Run {
    super::cell::run(scenario, Medium::new(scenario))
}

/// The same, step by step.
pub fn run_every_step(scenario: &Scenario) -> Run {
    super::cell::run(scenario, EveryStep(Medium::new(scenario)))
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in steps.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut medium = Medium::new(scenario);
    medium.run_until(from);
    let warm_up = medium.cell.record();
    medium.run_until(until);
    medium.cell.record().since(&warm_up)
}

impl Air for Medium {
    fn cells(&self) -> &[Cell] {
        std::slice::from_ref(&self.cell)
    }

    /// One step: what happens at its first instant, in the order of section 6, then its passing.
    fn step(&mut self) {
        while self.cell.traffic.next_time() == Some(self.cell.now) {
            match self.cell.traffic.next().expect("something is due") {
                Outside::Offer(offer) => self.cell.hand_down(offer),
                Outside::Change(change) => self.change(&change),
            }
        }
        if self.target == Some(self.cell.now) {
            self.cell.nodes[0].reach_target();
            self.target = self.cell.rules.beacon_interval().map(|interval| self.cell.now + interval);
        }
        self.cell.sample();
        if self.cell.rules.has(Flaw::AdoptedAtOnce) {
            self.cell.adopt(false);
        }
        self.cell.time_out();
        self.cell.nodes.iter_mut().for_each(Node::count_timers);
        self.end_mpdus();
        self.end_frames();
        self.cell.note_given_up();
        self.start_frames();
        self.account(1);
        self.cell.nodes.iter_mut().for_each(Node::count_idle_time);
        self.cell.now += 1;
    }

    fn advance(&mut self, until: u64) {
        match self.quiet_steps(until) {
            0 => self.step(),
            steps => self.pass(steps),
        }
    }
}

impl Medium {
    pub fn new(scenario: &Scenario) -> Medium {
        let Scenario { rules, stations, .. } = scenario;
        Medium {
            cell: Cell::new(scenario),
            radio: Radio::new(rules, stations),
            on_air: Vec::new(),
            exchange: Exchange::Collision,
            openers: Vec::new(),
            first_attempt: 0,
            first_transmission: 0,
            target: rules.beacon_interval(),
            starting: Vec::new(),
        }
    }

    fn change(&mut self, change: &Change) {
        if let Change::Station { station, track: Some(track), .. } = change {
            self.radio.set_track(station % self.cell.stations.len(), *track, self.cell.now);
        }
        self.cell.change(change);
    }

    fn run_until(&mut self, until: u64) {
        while self.cell.now < until {
            self.advance(until);
        }
    }

    /// Steps from here on, none after `until`, in which no frame ends, nothing comes from outside and every listener only
    /// counts.
    fn quiet_steps(&self, until: u64) -> u32 {
        let ends = self
            .on_air
            .iter()
            .flat_map(|frame| frame.mpdu_ends.front().copied().into_iter().chain([frame.ends_at]));
        let next = ends
            .chain(self.cell.traffic.next_time())
            .chain(self.target)
            .chain(self.cell.next_sample())
            .fold(until, u64::min);
        let mut steps = u32::try_from(next.saturating_sub(self.cell.now)).unwrap_or(u32::MAX);
        for node in &self.cell.nodes {
            if steps == 0 {
                break;
            }
            steps = steps.min(node.quiet_steps());
        }
        steps
    }

    fn pass(&mut self, steps: u32) {
        self.cell.nodes.iter_mut().for_each(|node| node.pass(steps));
        self.account(steps.into());
        self.cell.now += u64::from(steps);
    }

    /// MPDUs end within the PPDU that they are sent in.
    fn end_mpdus(&mut self) {
        let Exchange::Of { data_error, .. } = self.exchange else { return };
        for index in 0..self.on_air.len() {
            while self.on_air[index].mpdu_ends.front() == Some(&self.cell.now) {
                let OnAir { frame, mpdu_ends, .. } = &mut self.on_air[index];
                mpdu_ends.pop_front();
                let passed_on = self.cell.nodes[frame.to].hear_mpdu(frame, data_error);
                let decoded = self.cell.nodes[frame.to].decoded_of_ppdu();
                let mpdu =
                    &mut self.cell.record.transmissions[self.first_transmission].mpdus[decoded.len() - 1];
                mpdu.decoded = decoded.last().copied();
                let received = Received { at: self.cell.now, packet: mpdu.packets[0] };
                self.cell.record.received.extend((mpdu.decoded == Some(true)).then_some(received));
                passed_on.iter().for_each(|packet| self.cell.deliver(packet));
            }
        }
    }

    fn end_frames(&mut self) {
        let now = self.cell.now;
        if self.on_air.iter().all(|f| f.ends_at != now) {
            return;
        }
        let ended: Vec<OnAir> = self.on_air.extract_if(.., |f| f.ends_at == now).collect();
        let energy = !self.on_air.is_empty();
        self.cell.nodes.iter_mut().for_each(|node| node.energy(energy));
        for OnAir { frame, reach, .. } in &ended {
            self.cell.nodes[frame.from].sent(frame, *reach == Reach::Drowned);
        }
        let delivered: Vec<Packet> = ended.iter().flat_map(|frame| self.end_frame(frame)).collect();
        for packet in delivered {
            self.cell.deliver(&packet);
        }
        // A TXOP that continues begins its next exchange at once: the SIFS belongs to it.
        if let Some(frame) = self.cell.nodes.iter_mut().find_map(Node::take_continuation) {
            self.begin_exchange(&frame);
        }
        if !self.is_occupied() {
            self.cell.nodes.iter_mut().for_each(Node::exchange_is_over);
        }
        self.cell.note_rates();
    }

    /// Tells all who listened to a frame that it has ended; the packets that it brought an upper layer.
    fn end_frame(&mut self, ended: &OnAir) -> Vec<Packet> {
        let OnAir { frame, reach, .. } = ended;
        let error = match (self.exchange, frame.kind) {
            (_, _) if *reach != Reach::All => 0.0, // settled at its start
            (Exchange::Of { data_error, .. }, Kind::Data) => data_error,
            (Exchange::Of { ack_error, .. }, Kind::Ack | Kind::BlockAck) => ack_error,
            _ => 0.0,
        };
        let (mut delivered, mut decoded_mpdus) = (Vec::new(), Vec::new());
        let mut decoded = match reach {
            Reach::All => Decoded::Everybody,
            Reach::Addressee => Decoded::Addressee,
            Reach::Nobody | Reach::Drowned => Decoded::Nobody,
        };
        for listener in (0..self.cell.nodes.len()).filter(|id| !ended.deaf.contains(id)) {
            let node = &mut self.cell.nodes[listener];
            match reach {
                Reach::Nobody | Reach::Drowned => node.hear_noise(),
                Reach::Addressee if listener != frame.to => node.sense_captured(),
                Reach::All | Reach::Addressee => match node.hear(frame, error) {
                    Heard::Decoded => {}
                    Heard::Receives { decoded, passed_on } => {
                        (decoded_mpdus, delivered) = (decoded, passed_on);
                    }
                    Heard::Garbled => decoded = Decoded::Bystanders,
                },
            }
        }
        if matches!(reach, Reach::Nobody | Reach::Addressee) {
            self.end_for_colliders(ended);
        }
        self.cell.note_queue_size();
        self.cell.record.frames[ended.index].decoded = Some(decoded);
        self.note_outcome(frame, decoded);
        self.note_mpdus(frame, decoded, &decoded_mpdus);
        delivered
    }

    /// What the other senders of a collision notice of the end of one of its frames, if theirs is over.
    fn end_for_colliders(&mut self, ended: &OnAir) {
        for &other in ended.deaf.iter().filter(|&&other| other != ended.frame.from) {
            if self.on_air.iter().any(|on_air| on_air.frame.from == other) {
                continue;
            }
            if ended.reach == Reach::Addressee {
                self.cell.nodes[other].sense_captured();
            }
            if self.cell.rules.colliders_wait_eifs {
                self.cell.nodes[other].hear_noise();
            }
        }
    }

    /// What has become of a transmission whose frame has ended.
    fn note_outcome(&mut self, frame: &Frame, decoded: Decoded) {
        let outcome = match (frame.kind, decoded) {
            (Kind::Announcement | Kind::Beacon, _) => return,
            (Kind::Ack | Kind::BlockAck, Decoded::Nobody | Decoded::Bystanders) => Outcome::AckLost,
            (_, Decoded::Nobody) => Outcome::Collided,
            (Kind::Data, Decoded::Bystanders) => Outcome::DataLost,
            (Kind::Ack | Kind::BlockAck, _) => Outcome::Acknowledged,
            (Kind::Rts | Kind::Cts | Kind::Data | Kind::Request, _) => return,
        };
        let sender = if frame.kind.is_answer() { frame.to } else { frame.from };
        let attempts = self.cell.record.attempts[self.first_attempt..].iter_mut();
        for attempt in attempts.filter(|attempt| attempt.from == sender) {
            attempt.outcome = Some(outcome);
            attempt.ended = Some(self.cell.now);
        }
        let transmissions = self.cell.record.transmissions[self.first_transmission..].iter_mut();
        for transmission in transmissions.filter(|transmission| transmission.from == sender) {
            transmission.outcome = Some(outcome);
            transmission.ended = Some(self.cell.now);
            if outcome != Outcome::Acknowledged {
                for mpdu in &mut transmission.mpdus {
                    mpdu.decoded = mpdu.decoded.or(Some(false));
                    mpdu.acknowledged = Some(false);
                }
            }
        }
    }

    /// What has become of the MPDUs of a PPDU that has ended, or been answered.
    fn note_mpdus(&mut self, frame: &Frame, decoded: Decoded, decoded_mpdus: &[bool]) {
        let Some(transmission) = self.cell.record.transmissions.get_mut(self.first_transmission) else {
            return;
        };
        let everybody = decoded == Decoded::Everybody;
        let all: BTreeSet<u16> = match &frame.content {
            Content::Decoded(all) => all.iter().map(|&seq| on_air(seq)).collect(),
            _ => BTreeSet::new(),
        };
        for (index, mpdu) in transmission.mpdus.iter_mut().enumerate() {
            match frame.kind {
                Kind::Data if everybody && mpdu.decoded.is_none() => {
                    mpdu.decoded = Some(decoded_mpdus[index]);
                    let received = Received { at: self.cell.now, packet: mpdu.packets[0] };
                    self.cell.record.received.extend(decoded_mpdus[index].then_some(received));
                }
                Kind::Ack if everybody => mpdu.acknowledged = Some(true),
                Kind::BlockAck if everybody => {
                    mpdu.acknowledged = Some(all.contains(&mpdu.seq));
                }
                _ => {}
            }
        }
    }

    fn start_frames(&mut self) {
        self.starting.clear();
        for (id, node) in self.cell.nodes.iter_mut().enumerate() {
            if node.decide() {
                self.starting.push(id);
            }
        }
        if self.starting.is_empty() {
            return;
        }
        let frames: Vec<Frame> = self.starting.iter().map(|&id| self.cell.nodes[id].start()).collect();
        let first = &frames[0];
        let (opens, is_answer) = (first.opens_exchange, first.kind.is_answer());
        let follows = |f: &Frame| matches!(f.kind, Kind::Data | Kind::Request) && !f.opens_exchange;
        // What comes after a CTS-to-self that has collided, with another or with a frame that has none.
        let collides_on = matches!(self.exchange, Exchange::Collision) && frames.iter().all(follows);
        let drowned = !self.on_air.is_empty() && !collides_on;
        assert!(
            !drowned || is_answer,
            "everybody hears everybody: nobody starts into a frame, but to answer"
        );
        let mut captured = None;
        if collides_on {
            // For who is no longer on the air the SIFS before these counts for nothing.
            for &other in self.openers.iter().filter(|&&id| frames.iter().all(|frame| frame.from != id)) {
                self.cell.nodes[other].wait();
            }
        } else if frames.len() > 1 {
            assert!(frames.iter().all(|f| f.opens_exchange), "a response comes too early to be disturbed");
            captured = self.begin_collision(&frames);
        } else if first.opens_exchange {
            self.begin_exchange(first);
        }
        // Who sent one of the frames of a collision hears nothing of what drowns in it.
        let collided = self.openers.iter().copied().filter(|_| drowned || collides_on);
        let deaf: Vec<NodeId> = frames.iter().map(|f| f.from).chain(collided).collect();
        let answered = (is_answer && !drowned).then_some(first.to);
        for (id, node) in self.cell.nodes.iter_mut().enumerate() {
            node.energy(true);
            if !deaf.contains(&id) {
                node.hear_start(first.opens_exchange, answered == Some(id));
            }
        }
        for (index, frame) in frames.iter().enumerate() {
            let reach = match captured {
                _ if drowned => Reach::Drowned,
                _ if collides_on => Reach::Nobody,
                _ if frames.len() == 1 => Reach::All,
                Some(captured) if captured == index => Reach::Addressee,
                _ => Reach::Nobody,
            };
            self.put_on_air(frame, reach, &deaf);
        }
        if opens {
            self.cell.adopt(false);
        }
    }

    fn put_on_air(&mut self, frame: &Frame, reach: Reach, deaf: &[NodeId]) {
        let ends_at = self.cell.now + u64::from(frame.length);
        let index = self.cell.record.frames.len();
        let ends = frame.mpdu_ends.iter().filter(|_| frame.kind == Kind::Data && reach == Reach::All);
        let mut mpdu_ends: VecDeque<u64> = ends.map(|&end| self.cell.now + u64::from(end)).collect();
        mpdu_ends.pop_back();
        self.on_air.push(OnAir {
            frame: frame.clone(),
            ends_at,
            index,
            mpdu_ends,
            deaf: deaf.to_vec(),
            reach,
        });
        self.cell.record.frames.push(Aired {
            at: self.cell.now,
            ends: ends_at,
            kind: if frame.kind == Kind::Announcement { Kind::Cts } else { frame.kind },
            from: frame.from,
            to: if frame.kind == Kind::Announcement { frame.from } else { frame.to },
            packet: frame.content.packet(),
            rate: frame.rate(),
            duration_field: frame.duration_field.into(),
            decoded: None,
        });
    }

    /// Frames of several senders start. Which one its addressee captures, and will decode.
    fn begin_collision(&mut self, frames: &[Frame]) -> Option<usize> {
        self.cell.record.exchanges += 1;
        self.cell.record.collisions += 1;
        self.exchange = Exchange::Collision;
        self.open();
        for frame in frames {
            self.note_attempt(frame);
            if frame.kind != Kind::Beacon {
                self.radio.look(frame.station(), self.cell.now);
            }
        }
        let captured = self.radio.captured(frames, &mut self.cell.record.captures)?;
        let frame = &frames[captured];
        let exchange = self.exchange_of(frame);
        if let (Kind::Data, Exchange::Of { data_error, .. }) = (frame.kind, exchange)
            && self.cell.nodes[frame.to].is_spoilt(data_error)
        {
            self.cell.record.captures.note(Case::Undecodable);
            return None;
        }
        self.cell.nodes[frame.from].end_txop();
        let others = frames.iter().filter(|other| other.from != frame.from).map(|other| other.length);
        let others = others.max().expect("a collision has several frames");
        self.cell.record.captures.note_captured(frame, others, self.cell.rules.sifs);
        if others <= frame.length + self.cell.rules.sifs {
            self.exchange = exchange;
        }
        Some(captured)
    }

    fn begin_exchange(&mut self, frame: &Frame) {
        self.cell.record.exchanges += 1;
        self.exchange = self.exchange_of(frame);
        self.open();
        self.note_attempt(frame);
        if frame.kind != Kind::Beacon {
            self.radio.look(frame.station(), self.cell.now);
        }
    }

    fn exchange_of(&self, frame: &Frame) -> Exchange {
        if frame.kind == Kind::Beacon {
            return Exchange::Beacon;
        }
        let (station, up) = (frame.station(), frame.to == 0);
        let (data_error, ack_error) = self.cell.stations[station].errors.of(up, frame.data_rate);
        Exchange::Of { station, up, data_error, ack_error }
    }

    fn open(&mut self) {
        self.openers.clear();
        self.first_attempt = self.cell.record.attempts.len();
        self.first_transmission = self.cell.record.transmissions.len();
    }

    fn note_attempt(&mut self, frame: &Frame) {
        self.openers.push(frame.from);
        if frame.kind == Kind::Beacon {
            self.cell.record.beacons.0 += 1;
            self.cell.record.beacons.1 += u64::from(matches!(self.exchange, Exchange::Collision));
        } else {
            self.cell.note_attempt(frame);
        }
    }

    /// Somebody transmits, or will after a SIFS.
    fn is_occupied(&self) -> bool {
        !self.on_air.is_empty() || self.cell.nodes.iter().any(Node::has_response_pending)
    }

    fn account(&mut self, steps: u64) {
        let occupied = self.is_occupied();
        let airtime = &mut self.cell.record.airtime;
        let account = match self.exchange {
            _ if !occupied => &mut airtime.idle,
            Exchange::Of { station, up: true, .. } => &mut airtime.up[station],
            Exchange::Of { station, up: false, .. } => &mut airtime.down[station],
            Exchange::Collision => &mut airtime.collisions,
            Exchange::Beacon => &mut airtime.beacons,
        };
        *account += steps;
    }
}
