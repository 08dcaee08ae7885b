//! The air of a field, and what each node makes of it.

use super::FieldScenario;
use super::flaw::Flaw;
use super::powers::{Keys, PREAMBLE_DB, Units, is_at_least, threshold_db, units};
use crate::oracle::cell::{self, Air, Cell, Run};
use crate::oracle::frame::{Frame, Heard, Kind, NodeId, Packet};
use crate::oracle::node::Node;
use crate::oracle::record::{Outcome, Record};
use crate::oracle::scenario::Outside;

struct OnAir {
    frame: Frame,
    ends_at: u64,
    /// Its number among all frames.
    number: usize,
    /// Its exchange.
    exchange: usize,
}

/// What a node is locked to.
struct Lock {
    number: usize,
    is_intact: bool,
}

/// The receiver of a node.
#[derive(Default)]
struct Receiver {
    lock: Option<Lock>,
    sends: bool,
    is_busy: bool,
    /// In the busy period: it has sent; its energy was high; whether the last locked frame was decoded.
    has_sent: bool,
    was_loud: bool,
    had_locked: Option<bool>,
    /// A locked frame has ended at this instant; whether it was decoded.
    heard: Option<bool>,
    /// The last instant at which the NAV is set.
    nav: Option<u64>,
}

/// An exchange, from the access that was won on.
struct Exchange {
    sender: NodeId,
    receiver: NodeId,
    /// Its place among the attempts.
    attempt: usize,
    /// When it began; it is on the air from then on.
    began: u64,
    /// It follows another in its TXOP.
    follows: bool,
    is_on_air: bool,
    /// Another has been on the air at the same time.
    overlaps: bool,
    has_sent_data: bool,
    /// End of the ACK, if its addressee has decoded the data frame.
    ack_ends: Option<u64>,
    /// End of the last frame that its sender has sent or been locked to.
    last: u64,
}

pub struct Field {
    cell: Cell,
    keys: Keys,
    flaw: Option<Flaw>,
    noise: Units,
    /// By transmitter, by receiver.
    powers: Vec<Vec<Units>>,
    receivers: Vec<Receiver>,
    on_air: Vec<OnAir>,
    frames: usize,
    exchanges: Vec<Exchange>,
    /// Those on the air.
    live: Vec<usize>,
    /// By sender: that whose outcome it does not know.
    current: Vec<Option<usize>>,
}

/// Runs `scenario`, see [`cell::run`].
pub fn run(scenario: &FieldScenario) -> Run {
    let mut run = cell::run(&scenario.base, Field::new(scenario));
    [&mut run.half_way, &mut run.whole].into_iter().for_each(settle);
    run
}

/// The engine lists an attempt when its sender knows the outcome, and no frames.
fn settle(record: &mut Record) {
    record.attempts.retain(|attempt| attempt.outcome.is_some());
}

impl Air for Field {
    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn is_over(&self) -> bool {
        self.cell.is_over() && self.on_air.is_empty()
    }

    fn step(&mut self) {
        while self.cell.traffic.next_time() == Some(self.cell.now) {
            match self.cell.traffic.next().expect("something is due") {
                Outside::Offer(offer) => self.cell.hand_down(offer),
                Outside::Change(change) => self.cell.change(&change),
            }
        }
        self.cell.nodes.iter_mut().for_each(Node::count_down);
        let delivered = self.end_frames();
        delivered.iter().for_each(|packet| self.cell.deliver(packet));
        self.cell.note_rates();
        self.time_out();
        self.start_frames();
        self.count_begun();
        self.account();
        self.cell.nodes.iter_mut().for_each(Node::count_idle_time);
        self.cell.now += 1;
    }
}

impl Field {
    pub fn new(FieldScenario { base, keys, flaw }: &FieldScenario) -> Field {
        let cell = Cell::new(base);
        let nodes = cell.nodes.len();
        let power = |from, to| if from == to { 0 } else { keys.power(from, to, *flaw) };
        Field {
            cell,
            keys: keys.clone(),
            flaw: *flaw,
            noise: keys.noise(*flaw),
            powers: (0..nodes).map(|from| (0..nodes).map(|to| power(from, to)).collect()).collect(),
            receivers: (0..nodes).map(|_| Receiver::default()).collect(),
            on_air: Vec::new(),
            frames: 0,
            exchanges: Vec::new(),
            live: Vec::new(),
            current: vec![None; nodes],
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn energy(&self, node: NodeId) -> Units {
        self.on_air.iter().map(|on_air| self.powers[on_air.frame.from][node]).sum()
    }

    fn is_loud(&self, node: NodeId) -> bool {
        self.energy(node) >= units(self.keys.energy_detection_dbm)
    }

    /// What disturbs a frame at a node: noise, and the other frames on the air.
    fn disturbance(&self, node: NodeId, number: usize) -> Units {
        let others = self.on_air.iter().filter(|on_air| on_air.number != number);
        let powers = others.map(|on_air| self.powers[on_air.frame.from][node]);
        self.noise + if self.has(Flaw::OneInterferer) { powers.max().unwrap_or(0) } else { powers.sum() }
    }

    /// The packets that frames which end now bring upper layers.
    fn end_frames(&mut self) -> Vec<Packet> {
        let now = self.cell.now;
        let mut ended: Vec<OnAir> = self.on_air.extract_if(.., |on_air| on_air.ends_at == now).collect();
        if ended.is_empty() {
            return vec![];
        }
        ended.sort_by_key(|on_air| on_air.frame.from);
        for OnAir { frame, .. } in &ended {
            self.receivers[frame.from].sends = false;
            self.cell.nodes[frame.from].has_sent_in_field(frame);
        }
        let delivered: Vec<Packet> = ended.iter().flat_map(|ended| self.end_frame(ended)).collect();
        for node in 0..self.receivers.len() {
            self.judge(node);
        }
        for node in 0..self.receivers.len() {
            if let Some(frame) = self.cell.nodes[node].take_continuation() {
                self.begin(&frame);
            }
        }
        delivered
    }

    /// All who are locked to a frame learn that it has ended; the packets that it brought an upper layer.
    fn end_frame(&mut self, OnAir { frame, number, exchange, .. }: &OnAir) -> Vec<Packet> {
        let (mut delivered, mut is_answered) = (Vec::new(), false);
        for node in 0..self.receivers.len() {
            let receiver = &mut self.receivers[node];
            let Some(lock) = receiver.lock.take_if(|lock| lock.number == *number) else { continue };
            receiver.heard = Some(lock.is_intact);
            receiver.had_locked = Some(lock.is_intact);
            if frame.kind.is_answer() && node == frame.to {
                self.exchanges[*exchange].last = self.cell.now;
            }
            if lock.is_intact {
                let (answers, packets) = self.decode(node, frame, *exchange);
                is_answered |= answers;
                delivered.extend(packets);
            } else if frame.kind.is_answer() && node == frame.to && !self.has(Flaw::WaitsOn) {
                self.fail(node);
            }
        }
        self.exchanges[*exchange].is_on_air &= is_answered;
        delivered
    }

    /// A node has decoded a frame: whether it answers it, and what it hands to its upper layer.
    fn decode(&mut self, id: NodeId, frame: &Frame, exchange: usize) -> (bool, Vec<Packet>) {
        let now = self.cell.now;
        if id != frame.to {
            if !self.has(Flaw::NoNav) {
                let end = Some(now + u64::from(frame.duration_field));
                let shrinks = self.has(Flaw::NavShrinks);
                let nav = &mut self.receivers[id].nav;
                *nav = if shrinks { end } else { (*nav).max(end) };
                let left = nav.map_or(0, |end| end.saturating_sub(now));
                self.cell.nodes[id].set_nav(left as u32);
            }
            return (false, vec![]);
        }
        let first = if self.has(Flaw::NavEndsBefore) { now + 1 } else { now };
        let nav_is_set = self.receivers[id].nav.is_some_and(|end| end >= first);
        if frame.kind == Kind::Rts && nav_is_set && !self.has(Flaw::CtsDespiteNav) {
            return (false, vec![]);
        }
        let heard = self.cell.nodes[id].hear(frame, 0.0);
        match frame.kind {
            Kind::Cts => self.exchanges[exchange].has_sent_data = true,
            Kind::Data => {
                self.exchanges[exchange].ack_ends = Some(now + u64::from(frame.duration_field));
            }
            Kind::Ack => self.note_outcome(id, Outcome::Acknowledged, now),
            _ => {}
        }
        self.cell.note_queue_size();
        let packets = if let Heard::Receives { passed_on, .. } = heard { passed_on } else { vec![] };
        (frame.kind != Kind::Ack, packets)
    }

    /// The sender of an exchange knows its outcome.
    fn note_outcome(&mut self, sender: NodeId, outcome: Outcome, ended: u64) {
        let Some(exchange) = self.current[sender].take() else { return };
        let attempt = &mut self.cell.record.attempts[self.exchanges[exchange].attempt];
        attempt.outcome = Some(outcome);
        attempt.ended = Some(ended);
    }

    /// A node knows that its exchange has failed.
    fn fail(&mut self, node: NodeId) {
        if let Some(exchange) = self.current[node] {
            let Exchange { ack_ends, last, has_sent_data, overlaps, .. } = self.exchanges[exchange];
            let (outcome, ended) = match ack_ends {
                Some(end) => (Outcome::AckLost, end),
                None if has_sent_data && !overlaps => (Outcome::DataLost, last),
                None => (Outcome::Collided, last),
            };
            self.note_outcome(node, outcome, ended);
            self.exchanges[exchange].is_on_air &= !self.has(Flaw::OverAtTimeout);
            match self.has(Flaw::TimeoutOfOne) {
                true => self.cell.nodes[node].stop_waiting_alone(),
                false => self.cell.nodes[node].stop_waiting(),
            }
        }
    }

    fn time_out(&mut self) {
        for node in 0..self.receivers.len() {
            if !self.cell.nodes[node].has_waited() {
                continue;
            }
            let number = self.receivers[node].lock.as_ref().map(|lock| lock.number);
            let is_answer = |on_air: &&OnAir| {
                Some(on_air.number) == number && on_air.frame.to == node && on_air.frame.kind.is_answer()
            };
            if self.on_air.iter().any(|on_air| is_answer(&on_air)) && !self.has(Flaw::TimeoutInResponse) {
                self.cell.nodes[node].waits_on();
            } else {
                self.fail(node);
            }
        }
    }

    fn start_frames(&mut self) {
        let nodes = 0..self.cell.nodes.len();
        if self.has(Flaw::TxopWaits) {
            nodes.clone().for_each(|id| self.put_off_txop(id));
        }
        let starting: Vec<NodeId> = nodes.filter(|&id| self.cell.nodes[id].decide()).collect();
        if starting.is_empty() {
            return;
        }
        let first = self.frames;
        for &id in &starting {
            let frame = self.cell.nodes[id].start();
            if frame.opens_exchange {
                self.begin(&frame);
            }
            let sender = if frame.kind.is_answer() { frame.to } else { frame.from };
            let exchange = self.current[sender].expect("a frame belongs to an exchange");
            let ends_at = self.cell.now + u64::from(frame.length);
            if sender == id {
                self.exchanges[exchange].last = ends_at;
                self.exchanges[exchange].is_on_air = true;
            }
            self.on_air.push(OnAir { frame, ends_at, number: self.frames, exchange });
            self.frames += 1;
        }
        for &id in &starting {
            self.become_busy(id, true);
            let keeps = self.has(Flaw::KeepsLock);
            let receiver = &mut self.receivers[id];
            receiver.sends = true;
            receiver.has_sent = true;
            receiver.lock = receiver.lock.take().filter(|_| keeps);
        }
        for node in 0..self.receivers.len() {
            self.lock(node, first);
            self.sense(node, first);
        }
    }

    /// The next frame of a TXOP, if it is due, waits while the medium is physically busy.
    fn put_off_txop(&mut self, id: NodeId) {
        let follows = self.current[id].is_some_and(|exchange| self.exchanges[exchange].follows);
        if follows && self.cell.nodes[id].owes_now() && self.receivers[id].is_busy {
            self.cell.nodes[id].puts_off();
        }
    }

    /// Counts the exchanges that have begun at this instant.
    fn count_begun(&mut self) {
        let one_txop = self.has(Flaw::TxopIsOneExchange);
        let live = || self.live.iter().map(|&exchange| &self.exchanges[exchange]);
        let is_new =
            |exchange: &&Exchange| exchange.began == self.cell.now && !(exchange.follows && one_txop);
        let begun = live().filter(is_new).count() as u64;
        if begun > 0 {
            let all = live().filter(|exchange| exchange.is_on_air).count();
            self.cell.record.exchanges += if self.has(Flaw::CountsEach) { begun } else { 1 };
            self.cell.record.collisions += u64::from(all > 1);
        }
    }

    /// The exchange of a node that has won access, or continues its TXOP.
    fn begin(&mut self, frame: &Frame) {
        self.current[frame.from] = Some(self.exchanges.len());
        self.live.push(self.exchanges.len());
        self.exchanges.push(Exchange {
            sender: frame.from,
            receiver: frame.to,
            attempt: self.cell.record.attempts.len(),
            began: self.cell.now,
            follows: !frame.opens_exchange,
            is_on_air: frame.opens_exchange || !self.has(Flaw::TxopFollowsLate),
            overlaps: false,
            has_sent_data: frame.kind == Kind::Data,
            ack_ends: None,
            last: self.cell.now,
        });
        self.cell.note_attempt(frame);
    }

    /// Locks to one of the frames from `first` on, which have just started, if it can be detected.
    fn lock(&mut self, node: NodeId, first: usize) {
        if self.receivers[node].sends {
            return;
        }
        let takes_over = self.has(Flaw::TakesTheStronger);
        let held = self.receivers[node].lock.as_ref().map(|lock| lock.number);
        if held.is_some() && !takes_over {
            return;
        }
        let power = |on_air: &OnAir| self.powers[on_air.frame.from][node];
        let weakest = match self.on_air.iter().find(|on_air| Some(on_air.number) == held) {
            Some(on_air) => power(on_air) + 1,
            None if self.has(Flaw::DetectsAll) => 1,
            None => units(self.keys.preamble_detection_dbm).max(1),
        };
        let of_earlier = |number: usize| match self.has(Flaw::PreamblesDoNotCollide) {
            false => self.disturbance(node, number),
            true => {
                let earlier = self.on_air.iter().filter(|on_air| on_air.number < first);
                self.noise + earlier.map(power).sum::<Units>()
            }
        };
        let is_detected = |on_air: &&OnAir| {
            let db = if self.has(Flaw::DetectsNoise) { -40.0 } else { PREAMBLE_DB };
            power(on_air) >= weakest && is_at_least(db, power(on_air), of_earlier(on_air.number))
        };
        let new = self.on_air.iter().filter(|on_air| on_air.number >= first);
        let strongest = new.filter(is_detected).max_by_key(|on_air| power(on_air));
        if let Some(number) = strongest.map(|on_air| on_air.number) {
            self.receivers[node].lock = Some(Lock { number, is_intact: true });
        }
    }

    /// What is on the air now at a node: whether it disturbs the locked frame, and whether the medium is busy.
    fn sense(&mut self, node: NodeId, first: usize) {
        if let Some(Lock { number, .. }) = self.receivers[node].lock {
            let locked = self.on_air.iter().find(|on_air| on_air.number == number);
            let (Frame { from, .. }, rate) =
                locked.map(|on_air| (&on_air.frame, on_air.frame.rate())).expect("it is on the air");
            let rate = if self.has(Flaw::OneThreshold) { 60 } else { rate };
            let is_new = number >= first;
            let survives =
                is_at_least(threshold_db(rate), self.powers[*from][node], self.disturbance(node, number));
            if let Some(lock) = &mut self.receivers[node].lock {
                lock.is_intact &= survives || (self.flaw == Some(Flaw::JudgedAtStart) && !is_new);
            }
        }
        let is_loud = self.is_loud(node);
        let by_energy = is_loud && !self.has(Flaw::NoEnergyDetection);
        let by_lock = self.receivers[node].lock.is_some() && !self.has(Flaw::NoPreambleDetection);
        if by_energy || by_lock {
            self.become_busy(node, false);
        }
        self.receivers[node].was_loud |= is_loud && self.receivers[node].is_busy;
    }

    fn become_busy(&mut self, node: NodeId, transmits: bool) {
        let receiver = &mut self.receivers[node];
        if !receiver.is_busy {
            receiver.is_busy = true;
            (receiver.has_sent, receiver.was_loud, receiver.had_locked) = (false, false, None);
            let uncounted = self.flaw == Some(Flaw::BoundaryUncounted);
            self.cell.nodes[node].becomes_busy(transmits, uncounted);
        }
    }

    /// After frames have ended: whether the medium becomes physically idle at a node.
    fn judge(&mut self, node: NodeId) {
        let is_loud = self.is_loud(node) && !self.has(Flaw::NoEnergyDetection);
        let energy_counts = self.keys.eifs_after_energy != self.has(Flaw::SwappedEifs);
        let of_earlier = self.has(Flaw::EifsOfEarlier);
        let senders_too = self.has(Flaw::EifsOfSenders);
        let by_lock = !self.has(Flaw::NoPreambleDetection);
        let receiver = &mut self.receivers[node];
        let heard = receiver.heard.take().or(receiver.had_locked.filter(|_| of_earlier));
        if !receiver.is_busy || receiver.sends || (receiver.lock.is_some() && by_lock) || is_loud {
            return;
        }
        receiver.is_busy = false;
        let waits = match heard {
            Some(is_decoded) => !is_decoded,
            None => energy_counts && receiver.was_loud,
        };
        let eifs = waits && (!receiver.has_sent || senders_too);
        self.cell.nodes[node].becomes_idle(eifs);
        if self.has(Flaw::DifsForAll) {
            self.cell.nodes[node].wait_difs();
        }
    }

    fn account(&mut self) {
        let alone_again = self.has(Flaw::AloneAgain);
        let airtime = &mut self.cell.record.airtime;
        self.live.retain(|&exchange| self.exchanges[exchange].is_on_air);
        match self.live[..] {
            [] => airtime.idle += 1,
            [one] if !self.exchanges[one].overlaps || alone_again => {
                let Exchange { sender, receiver, .. } = self.exchanges[one];
                let of_station = if receiver == 0 { &mut airtime.up } else { &mut airtime.down };
                of_station[sender.max(receiver) - 1] += 1;
            }
            _ => {
                airtime.collisions += 1;
                let overlap = self.live.len() > 1;
                self.live.iter().for_each(|&exchange| self.exchanges[exchange].overlaps |= overlap);
            }
        }
    }
}
