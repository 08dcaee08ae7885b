//! The medium: carries frames from node to node, one step of the clock after the other, and keeps the counters.

use super::agreement::Events;
use super::flaw::Flaw;
use super::frame::{Content, Counts, Frame, Heard, Kind, NodeId, Packet, Tally};
use super::mode::Mode;
use super::node::{Node, Peer};
use super::radio::{Case, Radio};
use super::rate::Ladder;
use super::record::{
    Aired, Airtime, Attempt, Decoded, Delivery, GivenUp, NewRate, Outcome, QueueSize, Received, Record, Sent,
    Transmission,
};
use super::scenario::{Change, Offer, Outside, Scenario, Station, Traffic, Verdict, code_point, verdict};
use super::timing::{Rules, Tenths};
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
    rules: Rules,
    stations: Vec<Station>,
    radio: Radio,
    nodes: Vec<Node>,
    on_air: Vec<OnAir>,
    exchange: Exchange,
    /// Who opened it, and the places of its first attempt and its first transmission in the record.
    openers: Vec<NodeId>,
    first_attempt: usize,
    first_transmission: usize,
    traffic: Traffic,
    /// By the AP's ports: the packets about which it has decided.
    policed: [u32; 4],
    /// The packets that it has dropped then.
    dropped: BTreeSet<u32>,
    /// When the next beacon is due.
    target: Option<u64>,
    now: u64,
    record: Record,
    /// (from, to), the rate that was last written down, since when, and its integral until then.
    links: Vec<((NodeId, NodeId), Tenths, u64, u64)>,
    /// Of this instant; kept to be used again.
    starting: Vec<NodeId>,
}

/// A run to its end, with what explains it.
pub struct Run {
    /// The state when half of the traffic had been offered.
    pub half_way: Record,
    pub whole: Record,
    /// Every port had drained at the end.
    pub at_rest: bool,
}

/// How long ports may take to drain after the traffic has ended, in steps: small windows may collide for ever.
const LONGEST_DRAIN: u64 = 200_000;

/// Runs `scenario`, one step after the other, until its traffic has ended and every port has drained, or has not for too long.
pub fn run(scenario: &Scenario) -> Run {
    let half_time = scenario.offered_until / 2;
    let last = scenario.offered_until + LONGEST_DRAIN;
    let mut medium = Medium::new(scenario);
    while medium.now < half_time {
        medium.step();
    }
    let half_way = medium.record();
    while !medium.is_over() && medium.now < last {
        medium.step();
    }
    Run { half_way, whole: medium.record(), at_rest: medium.is_over() }
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in steps; those in which everybody only counts
/// are passed at once.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut medium = Medium::new(scenario);
    medium.run_until(from);
    let warm_up = medium.record();
    medium.run_until(until);
    medium.record().since(&warm_up)
}

impl Medium {
    pub fn new(scenario: &Scenario) -> Medium {
        let Scenario { seed, rules, stations, .. } = scenario;
        let phy = |station: &Station| station.phy.unwrap_or(rules.phy);
        let ladder = |station: &Station, up, mode: Option<Mode>| match mode {
            Some(mode) => Ladder::new(rules.adaptation, mode.ladder(), mode.mcs),
            None => {
                let rate = if up { station.rate_up } else { station.rate_down };
                Ladder::new(rules.adaptation, phy(station).rates().to_vec(), rate)
            }
        };
        let peer = |station: &Station, up| {
            let mode = station.modes.map(|modes| if up { modes.up } else { modes.down });
            Peer { like: mode, phy: phy(station), ladder: ladder(station, up, mode) }
        };
        let node = |id, peers| {
            let port = (scenario.port_limit, scenario.limit_counts_in_service);
            Node::new(id, &Scenario::label(id), *seed, *rules, peers, port)
        };
        // The AP's own entries are never used.
        let itself = Station::clean(rules.rates()[0]);
        let down = [&itself].into_iter().chain(stations).map(|station| peer(station, false));
        let mut nodes = vec![node(0, down.collect())];
        nodes.extend(stations.iter().enumerate().map(|(i, station)| node(i + 1, vec![peer(station, true)])));
        let links = (1..nodes.len())
            .flat_map(|i| [((i, 0), nodes[i].rate_to(0), 0, 0), ((0, i), nodes[0].rate_to(i), 0, 0)]);
        let links = links.collect();
        let none = vec![0; stations.len()];
        let airtime = Airtime { up: none.clone(), down: none, ..Airtime::default() };
        Medium {
            rules: *rules,
            stations: stations.clone(),
            radio: Radio::new(rules, stations),
            nodes,
            on_air: Vec::new(),
            exchange: Exchange::Collision,
            openers: Vec::new(),
            first_attempt: 0,
            first_transmission: 0,
            traffic: Traffic::new(scenario),
            policed: [0; 4],
            dropped: BTreeSet::new(),
            target: rules.beacon_interval(),
            now: 0,
            record: Record { airtime, ..Record::default() },
            links,
            starting: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.traffic.next_time().is_none() && self.nodes.iter().all(Node::is_at_rest)
    }

    /// All that happened so far.
    fn record(&self) -> Record {
        let forwarded = self.record.deliveries.iter().map(|delivery| delivery.id);
        let delivered: BTreeSet<u32> = forwarded.chain(self.dropped.iter().copied()).collect();
        let tally = |from: &Counts, at_receiver: &Counts, link: usize| {
            let (_, rate, since, integral) = self.links[link];
            Tally {
                attempts: from.attempts,
                failures: from.failures,
                lost: from.lost.len() as u64,
                lost_after_delivery: from.lost.iter().filter(|id| delivered.contains(id)).count() as u64,
                internal: from.internal,
                delivered: at_receiver.received,
                duplicates: at_receiver.received_again,
                rate_integral: integral + u64::from(rate) * (self.now - since),
            }
        };
        let (ap, stations) = (&self.nodes[0].counts, &self.nodes[1..]);
        let both = || stations.iter().enumerate().map(|(i, station)| (i, &station.counts[0], &ap[i + 1]));
        let up = both().map(|(i, station, ap)| tally(station, ap, 2 * i)).collect();
        let down = both().map(|(i, station, ap)| tally(ap, station, 2 * i + 1)).collect();
        let mut rates = self.record.rates.clone();
        rates.sort();
        let mut events = Events::default();
        self.nodes.iter().for_each(|node| node.add_events_to(&mut events));
        Record { up, down, rates, events, end: self.now, ..self.record.clone() }
    }

    /// One step: what happens at its first instant, in the order of section 6, then its passing.
    pub fn step(&mut self) {
        while self.traffic.next_time() == Some(self.now) {
            match self.traffic.next().expect("something is due") {
                Outside::Offer(offer) => self.hand_down(offer),
                Outside::Change(change) => self.change(change),
            }
        }
        if self.target == Some(self.now) {
            self.nodes[0].reach_target();
            self.target = self.rules.beacon_interval().map(|interval| self.now + interval);
        }
        self.time_out();
        self.nodes.iter_mut().for_each(Node::count_timers);
        self.end_mpdus();
        self.end_frames();
        self.note_given_up();
        self.start_frames();
        self.account(1);
        self.nodes.iter_mut().for_each(Node::count_idle_time);
        self.now += 1;
    }

    fn run_until(&mut self, until: u64) {
        while self.now < until {
            match self.quiet_steps(until) {
                0 => self.step(),
                steps => self.pass(steps),
            }
        }
    }

    /// Steps from here on, none after `until`, in which no frame ends, nothing comes from outside and every listener only
    /// counts.
    fn quiet_steps(&self, until: u64) -> u32 {
        let ends = self
            .on_air
            .iter()
            .flat_map(|frame| frame.mpdu_ends.front().copied().into_iter().chain([frame.ends_at]));
        let next = ends.chain(self.traffic.next_time()).chain(self.target).fold(until, u64::min);
        let mut steps = u32::try_from(next.saturating_sub(self.now)).unwrap_or(u32::MAX);
        for node in &self.nodes {
            if steps == 0 {
                break;
            }
            steps = steps.min(node.quiet_steps());
        }
        steps
    }

    fn pass(&mut self, steps: u32) {
        self.nodes.iter_mut().for_each(|node| node.pass(steps));
        self.account(steps.into());
        self.now += u64::from(steps);
    }

    fn hand_down(&mut self, offer: Offer) {
        self.nodes[offer.node].offer(offer.packet);
    }

    fn change(&mut self, change: Change) {
        let (station, rate, rate_down, errors, track) = match change {
            Change::ApLimit(packets) => {
                self.nodes[0].queue_limit = packets;
                return;
            }
            Change::Mcs { station, up, down } => {
                self.change_mcs(station % self.stations.len(), up, down);
                return;
            }
            Change::Station { station, rate, rate_down, errors, track } => {
                (station % self.stations.len(), rate, rate_down, errors, track)
            }
        };
        if let Some(rate) = rate {
            self.nodes[station + 1].peers[0].ladder.restart(rate);
        }
        if let Some(rate) = rate_down.or(rate) {
            self.nodes[0].peers[station + 1].ladder.restart(rate);
        }
        if let Some(errors) = errors {
            self.stations[station].errors = errors;
        }
        if let Some(track) = track {
            self.radio.set_track(station, track, self.now);
        }
        self.note_rates();
    }

    fn change_mcs(&mut self, station: usize, up: u32, down: u32) {
        if let Some(modes) = self.stations[station].modes {
            let modes = modes.with_mcs(up, down);
            self.nodes[station + 1].peers[0].ladder.restart(modes.up.mcs);
            self.nodes[0].peers[station + 1].ladder.restart(modes.down.mcs);
            self.note_rates();
        }
    }

    /// What has been held out of order for too long is passed on.
    fn time_out(&mut self) {
        for node in 0..self.nodes.len() {
            while let Some(packets) = self.nodes[node].time_out() {
                packets.iter().for_each(|packet| self.deliver(packet));
            }
        }
    }

    fn note_given_up(&mut self) {
        for (from, node) in self.nodes.iter_mut().enumerate() {
            if !node.has_given_up() {
                continue; // nearly always, in a step of which there are very many
            }
            self.record.given_up.extend(node.take_given_up().into_iter().map(|(to, mpdu)| GivenUp {
                at: self.now,
                from,
                to,
                category: mpdu.packets[0].category,
                seq: on_air(mpdu.seq),
                packet: mpdu.packets[0].id,
            }));
        }
    }

    /// Writes down which rates are new.
    fn note_rates(&mut self) {
        for ((from, to), rate, since, integral) in &mut self.links {
            let new = self.nodes[*from].rate_to(*to);
            if new != *rate {
                *integral += u64::from(*rate) * (self.now - *since);
                *since = self.now;
                *rate = new;
                self.record.rates.push(NewRate { at: self.now, from: *from, to: *to, rate: new });
            }
        }
    }

    /// MPDUs end within the PPDU that they are sent in.
    fn end_mpdus(&mut self) {
        let Exchange::Of { data_error, .. } = self.exchange else { return };
        for index in 0..self.on_air.len() {
            while self.on_air[index].mpdu_ends.front() == Some(&self.now) {
                let OnAir { frame, mpdu_ends, .. } = &mut self.on_air[index];
                mpdu_ends.pop_front();
                let passed_on = self.nodes[frame.to].hear_mpdu(frame, data_error);
                let decoded = self.nodes[frame.to].decoded_of_ppdu();
                let mpdu = &mut self.record.transmissions[self.first_transmission].mpdus[decoded.len() - 1];
                mpdu.decoded = decoded.last().copied();
                let received = Received { at: self.now, packet: mpdu.packets[0] };
                self.record.received.extend((mpdu.decoded == Some(true)).then_some(received));
                passed_on.iter().for_each(|packet| self.deliver(packet));
            }
        }
    }

    fn end_frames(&mut self) {
        let now = self.now;
        if self.on_air.iter().all(|f| f.ends_at != now) {
            return;
        }
        let ended: Vec<OnAir> = self.on_air.extract_if(.., |f| f.ends_at == now).collect();
        let energy = !self.on_air.is_empty();
        self.nodes.iter_mut().for_each(|node| node.energy(energy));
        for OnAir { frame, reach, .. } in &ended {
            self.nodes[frame.from].sent(frame, *reach == Reach::Drowned);
        }
        let delivered: Vec<Packet> = ended.iter().flat_map(|frame| self.end_frame(frame)).collect();
        for packet in delivered {
            self.deliver(&packet);
        }
        // A TXOP that continues begins its next exchange at once: the SIFS belongs to it.
        if let Some(frame) = self.nodes.iter_mut().find_map(Node::take_continuation) {
            self.begin_exchange(&frame);
        }
        if !self.is_occupied() {
            self.nodes.iter_mut().for_each(Node::exchange_is_over);
        }
        self.note_rates();
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
        for listener in (0..self.nodes.len()).filter(|id| !ended.deaf.contains(id)) {
            let node = &mut self.nodes[listener];
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
        if let Some((from, category, bytes)) = self.nodes[0].queue_size.take()
            && self.rules.polices
        {
            self.record.queue_sizes.push(QueueSize { at: self.now, from, category, bytes });
        }
        self.record.frames[ended.index].decoded = Some(decoded);
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
                self.nodes[other].sense_captured();
            }
            if self.rules.colliders_wait_eifs {
                self.nodes[other].hear_noise();
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
        let attempts = self.record.attempts[self.first_attempt..].iter_mut();
        for attempt in attempts.filter(|attempt| attempt.from == sender) {
            attempt.outcome = Some(outcome);
            attempt.ended = Some(self.now);
        }
        let transmissions = self.record.transmissions[self.first_transmission..].iter_mut();
        for transmission in transmissions.filter(|transmission| transmission.from == sender) {
            transmission.outcome = Some(outcome);
            transmission.ended = Some(self.now);
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
        let Some(transmission) = self.record.transmissions.get_mut(self.first_transmission) else { return };
        let everybody = decoded == Decoded::Everybody;
        let all: BTreeSet<u16> = match &frame.content {
            Content::Decoded(all) => all.iter().map(|&seq| on_air(seq)).collect(),
            _ => BTreeSet::new(),
        };
        for (index, mpdu) in transmission.mpdus.iter_mut().enumerate() {
            match frame.kind {
                Kind::Data if everybody && mpdu.decoded.is_none() => {
                    mpdu.decoded = Some(decoded_mpdus[index]);
                    let received = Received { at: self.now, packet: mpdu.packets[0] };
                    self.record.received.extend(decoded_mpdus[index].then_some(received));
                }
                Kind::Ack if everybody => mpdu.acknowledged = Some(true),
                Kind::BlockAck if everybody => {
                    mpdu.acknowledged = Some(all.contains(&mpdu.seq));
                }
                _ => {}
            }
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let mut marked = false;
        if packet.to == 0 && self.rules.polices {
            let one = self.rules.shares_port(0) || self.rules.has(Flaw::PolicedByVoice);
            let port = if one { 0 } else { packet.category };
            let before = self.policed[port];
            self.policed[port] += 1;
            match verdict(before, packet.id) {
                Verdict::Drop => {
                    self.dropped.insert(packet.id);
                    return;
                }
                // An ECT code point: 01 or 10.
                Verdict::Mark => {
                    marked = match self.rules.has(Flaw::MarksAll) {
                        true => code_point(packet.id) != 3,
                        false => matches!(code_point(packet.id), 1 | 2),
                    };
                }
                Verdict::Forward => {}
            }
        }
        self.record.deliveries.push(Delivery { at: self.now, id: packet.id, to: packet.to, marked });
        for answer in self.traffic.delivered(packet, self.now) {
            self.hand_down(answer);
        }
    }

    fn start_frames(&mut self) {
        self.starting.clear();
        for (id, node) in self.nodes.iter_mut().enumerate() {
            if node.decide() {
                self.starting.push(id);
            }
        }
        if self.starting.is_empty() {
            return;
        }
        let frames: Vec<Frame> = self.starting.iter().map(|&id| self.nodes[id].start()).collect();
        let first = &frames[0];
        let is_answer = first.kind.is_answer();
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
                self.nodes[other].wait();
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
        for (id, node) in self.nodes.iter_mut().enumerate() {
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
    }

    fn put_on_air(&mut self, frame: &Frame, reach: Reach, deaf: &[NodeId]) {
        let ends_at = self.now + u64::from(frame.length);
        let index = self.record.frames.len();
        let ends = frame.mpdu_ends.iter().filter(|_| frame.kind == Kind::Data && reach == Reach::All);
        let mut mpdu_ends: VecDeque<u64> = ends.map(|&end| self.now + u64::from(end)).collect();
        mpdu_ends.pop_back();
        self.on_air.push(OnAir {
            frame: frame.clone(),
            ends_at,
            index,
            mpdu_ends,
            deaf: deaf.to_vec(),
            reach,
        });
        self.record.frames.push(Aired {
            at: self.now,
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
        self.record.exchanges += 1;
        self.record.collisions += 1;
        self.exchange = Exchange::Collision;
        self.open();
        for frame in frames {
            self.note_attempt(frame);
            if frame.kind != Kind::Beacon {
                self.radio.look(frame.station(), self.now);
            }
        }
        let captured = self.radio.captured(frames, &mut self.record.captures)?;
        let frame = &frames[captured];
        let exchange = self.exchange_of(frame);
        if let (Kind::Data, Exchange::Of { data_error, .. }) = (frame.kind, exchange)
            && self.nodes[frame.to].is_spoilt(data_error)
        {
            self.record.captures.note(Case::Undecodable);
            return None;
        }
        self.nodes[frame.from].end_txop();
        let others = frames.iter().filter(|other| other.from != frame.from).map(|other| other.length);
        let others = others.max().expect("a collision has several frames");
        self.record.captures.note_captured(frame, others, self.rules.sifs);
        if others <= frame.length + self.rules.sifs {
            self.exchange = exchange;
        }
        Some(captured)
    }

    fn begin_exchange(&mut self, frame: &Frame) {
        self.record.exchanges += 1;
        self.exchange = self.exchange_of(frame);
        self.open();
        self.note_attempt(frame);
        if frame.kind != Kind::Beacon {
            self.radio.look(frame.station(), self.now);
        }
    }

    fn exchange_of(&self, frame: &Frame) -> Exchange {
        if frame.kind == Kind::Beacon {
            return Exchange::Beacon;
        }
        let (station, up) = (frame.station(), frame.to == 0);
        let (data_error, ack_error) = self.stations[station].errors.of(up, frame.data_rate);
        Exchange::Of { station, up, data_error, ack_error }
    }

    fn open(&mut self) {
        self.openers.clear();
        self.first_attempt = self.record.attempts.len();
        self.first_transmission = self.record.transmissions.len();
    }

    fn note_attempt(&mut self, frame: &Frame) {
        self.openers.push(frame.from);
        let (mpdus, request) = match &frame.content {
            &Content::Single { packet, number } => {
                self.record.attempts.push(Attempt {
                    at: self.now,
                    from: frame.from,
                    to: frame.to,
                    packet: packet.id,
                    category: packet.category,
                    number,
                    rate: frame.data_rate,
                    outcome: None,
                    ended: None,
                });
                return;
            }
            Content::Mpdus(mpdus) => (&mpdus[..], None),
            Content::Request { start } => (&[][..], Some(on_air(*start))),
            Content::Nothing => {
                self.record.beacons.0 += 1;
                self.record.beacons.1 += u64::from(matches!(self.exchange, Exchange::Collision));
                return;
            }
            Content::Decoded(_) => unreachable!("opens no exchange"),
        };
        let sent = mpdus.iter().map(|mpdu| Sent {
            seq: on_air(mpdu.seq),
            packets: mpdu.packets.iter().map(|packet| packet.id).collect(),
            number: mpdu.number,
            decoded: None,
            acknowledged: None,
        });
        self.record.transmissions.push(Transmission {
            at: self.now,
            from: frame.from,
            to: frame.to,
            category: frame.category,
            rate: frame.data_rate,
            mpdus: sent.collect(),
            request,
            outcome: None,
            ended: None,
        });
    }

    /// Somebody transmits, or will after a SIFS.
    fn is_occupied(&self) -> bool {
        !self.on_air.is_empty() || self.nodes.iter().any(Node::has_response_pending)
    }

    fn account(&mut self, steps: u64) {
        let occupied = self.is_occupied();
        let airtime = &mut self.record.airtime;
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

/// A sequence number as it is sent.
fn on_air(seq: u64) -> u16 {
    (seq % 4096) as u16
}
