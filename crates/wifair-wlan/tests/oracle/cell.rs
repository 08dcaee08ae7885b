//! What every air has in common: the nodes, their traffic, and the record of what happens.

use super::agreement::Events;
use super::flaw::Flaw;
use super::frame::{Content, Counts, Frame, NodeId, Packet, Tally};
use super::mode::{Generation, Mode};
use super::node::{Node, Peer};
use super::rate::Ladder;
use super::record::{Airtime, Attempt, Delivery, GivenUp, NewRate, QueueSize, Record, Sent, Transmission};
use super::scenario::{Change, Offer, Scenario, Station, Traffic, Verdict, code_point, verdict};
use super::timing::{Rules, Tenths};
use std::collections::BTreeSet;

/// What carries frames from node to node.
pub trait Air {
    /// One, or in a field several that are on the air together.
    fn cells(&self) -> &[Cell];

    /// One step of the clock.
    fn step(&mut self);

    /// One step, or several at once, none after `until`, in which every listener only counts.
    fn advance(&mut self, _until: u64) {
        self.step();
    }

    /// Nothing is on the air, and nothing will be.
    fn is_over(&self) -> bool {
        self.cells().iter().all(Cell::is_over)
    }
}

/// An air of which every step is taken.
pub struct EveryStep<A>(pub A);

impl<A: Air> Air for EveryStep<A> {
    fn cells(&self) -> &[Cell] {
        self.0.cells()
    }

    fn step(&mut self) {
        self.0.step();
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}

pub struct Cell {
    pub rules: Rules,
    pub stations: Vec<Station>,
    pub nodes: Vec<Node>,
    pub traffic: Traffic,
    /// By the AP's transmit queues: the packets about which it has decided.
    policed: [u32; 4],
    /// The packets that it has dropped then.
    dropped: BTreeSet<u32>,
    pub now: u64,
    pub record: Record,
    /// When the controller of CWmin takes its next sample.
    next_sample: Option<u64>,
    samples: Samples,
    /// CWmin as the controller has decided.
    cw_min: Option<u32>,
    /// The same, until the stations have it.
    announced: Option<u32>,
    /// (from, to), the rate that was last written down, since when, and its integral until then.
    links: Vec<((NodeId, NodeId), Tenths, u64, u64)>,
}

/// What the controller of CWmin knows, since its last decision.
#[derive(Default)]
struct Samples {
    count: u32,
    held: u32,
    /// The airtime of frames from stations, and to stations, at that decision.
    before: (u64, u64),
}

/// Best effort among the categories.
const BEST_EFFORT: usize = 2;

/// A run to its end, with what explains it.
#[derive(Debug, PartialEq)]
pub struct Run {
    /// The state when half of the traffic had been offered.
    pub half_way: Record,
    pub whole: Record,
    /// Every transmit queue had drained at the end.
    pub at_rest: bool,
}

/// How long transmit queues may take to drain after the traffic has ended, in steps: small windows may collide for ever.
const LONGEST_DRAIN: u64 = 200_000;

/// Runs `scenario` on its air, see [`run_all`].
pub fn run(scenario: &Scenario, air: impl Air) -> Run {
    run_all(scenario.offered_until, air).remove(0)
}

/// Runs all cells of an air until their traffic has ended and every transmit queue has drained, or has not for too long.
pub fn run_all(offered_until: u64, mut air: impl Air) -> Vec<Run> {
    let half_time = offered_until / 2;
    let last = offered_until + LONGEST_DRAIN;
    while air.cells()[0].now < half_time {
        air.advance(half_time);
    }
    let half_way: Vec<Record> = air.cells().iter().map(Cell::record).collect();
    while !air.is_over() && air.cells()[0].now < last {
        air.advance(last);
    }
    let whole = air.cells().iter().map(Cell::record);
    let at_rest = air.is_over();
    half_way.into_iter().zip(whole).map(|(half_way, whole)| Run { half_way, whole, at_rest }).collect()
}

impl Cell {
    pub fn new(scenario: &Scenario) -> Cell {
        Cell::named(scenario, Scenario::label)
    }

    /// With these names of its nodes.
    pub fn named(scenario: &Scenario, label: impl Fn(NodeId) -> String) -> Cell {
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
            let tx_queue = (scenario.tx_queue_limit, scenario.limit_counts_in_service);
            Node::new(id, &label(id), *seed, *rules, peers, tx_queue)
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
        Cell {
            rules: *rules,
            stations: stations.clone(),
            nodes,
            traffic: Traffic::new(scenario),
            policed: [0; 4],
            dropped: BTreeSet::new(),
            now: 0,
            next_sample: rules.controller().map(|(_, interval)| interval),
            samples: Samples::default(),
            cw_min: None,
            announced: None,
            record: Record { airtime, ..Record::default() },
            links,
        }
    }

    /// Whether a node has PPDUs with a BSS colour.
    pub fn reads_colours(&self, node: NodeId) -> bool {
        let of_bss = self.rules.modern.map(|modern| modern.generation);
        let own = match node.checked_sub(1) {
            None => of_bss,
            Some(station) => self.stations[station].modes.map(|modes| modes.up.generation),
        };
        own.is_some_and(|own| own >= Generation::He)
    }

    pub fn is_over(&self) -> bool {
        self.traffic.next_time().is_none() && self.nodes.iter().all(Node::is_at_rest)
    }

    /// All that happened so far.
    pub fn record(&self) -> Record {
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
                delivered_bytes: at_receiver.received_bytes,
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

    pub fn hand_down(&mut self, offer: Offer) {
        self.nodes[offer.node].offer(offer.packet);
    }

    /// A change from outside, but for where a station is.
    pub fn change(&mut self, change: &Change) {
        let (station, rate, rate_down, errors) = match change {
            Change::ApLimit(packets) => {
                self.nodes[0].queue_limit = *packets;
                return;
            }
            Change::Mcs { station, up, down } => {
                return self.change_mcs(station % self.stations.len(), *up, *down);
            }
            Change::Station { station, rate, rate_down, errors, .. } => {
                (station % self.stations.len(), *rate, *rate_down, errors)
            }
        };
        if let Some(rate) = rate {
            self.nodes[station + 1].peers[0].ladder.restart(rate);
        }
        if let Some(rate) = rate_down.or(rate) {
            self.nodes[0].peers[station + 1].ladder.restart(rate);
        }
        if let Some(errors) = errors {
            self.stations[station].errors = errors.clone();
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

    /// When the controller of CWmin takes its next sample.
    pub fn next_sample(&self) -> Option<u64> {
        self.next_sample
    }

    /// Section 10: the controller of CWmin takes a sample, if it is time.
    pub fn sample(&mut self) {
        let Some((controller, interval)) = self.rules.controller() else { return };
        if self.next_sample != Some(self.now) {
            return;
        }
        self.next_sample = Some(self.now + interval);
        let ap = &self.nodes[0].contenders[BEST_EFFORT];
        let taken = if self.rules.has(Flaw::TakenIsHeld) { ap.taken() } else { 0 };
        self.samples.count += 1;
        if ap.queue.len() + taken > 0 {
            self.samples.held += 1;
        }
        if self.samples.count == controller.samples {
            self.decide(controller.max_cw_min);
        }
    }

    fn decide(&mut self, most: u32) {
        let Airtime { up, down, .. } = &self.record.airtime;
        let total: (u64, u64) = (up.iter().sum(), down.iter().sum());
        let Samples { count, held, before } = std::mem::take(&mut self.samples);
        if !self.rules.has(Flaw::AirtimeOfAll) {
            self.samples.before = total;
        }
        let (up, down) = (total.0 - before.0, total.1 - before.1);
        let at_start = self.rules.categories(1)[BEST_EFFORT].cw_min;
        let least = if self.rules.has(Flaw::HalvesBelowTheStart) { 0 } else { at_start };
        let now = self.cw_min.unwrap_or(at_start);
        let much_less = if self.rules.has(Flaw::HalvesEarly) { up < down } else { 2 * up < down };
        let new = if 10 * held >= 9 * count && up > down {
            most.min(2 * now + 1)
        } else if 10 * held < 9 * count || much_less {
            least.max(now.saturating_sub(1) / 2)
        } else {
            now
        };
        self.record.announcements.0 += u64::from(new > now);
        self.record.announcements.1 += u64::from(new < now);
        self.cw_min = Some(new);
        self.announced = if new == now { self.announced } else { Some(new) };
    }

    /// The stations have the CWmin that was announced, if there is a new one; those that wait for a response after their
    /// next draw, or `at_once`.
    pub fn adopt(&mut self, at_once: bool) {
        let Some(cw_min) = self.announced.take() else { return };
        for station in &mut self.nodes[1..] {
            for c in 0..station.contenders.len() {
                if c == BEST_EFFORT || self.rules.has(Flaw::AllCategories) {
                    station.set_cw_min(c, cw_min, at_once);
                }
            }
        }
    }

    /// What has been held out of order for too long is passed on.
    pub fn time_out(&mut self) {
        for node in 0..self.nodes.len() {
            while let Some(packets) = self.nodes[node].time_out() {
                packets.iter().for_each(|packet| self.deliver(packet));
            }
        }
    }

    pub fn note_given_up(&mut self) {
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

    /// Writes down the queue size that the AP has just read.
    pub fn note_queue_size(&mut self) {
        if let Some((from, category, bytes)) = self.nodes[0].queue_size.take()
            && self.rules.polices
        {
            self.record.queue_sizes.push(QueueSize { at: self.now, from, category, bytes });
        }
    }

    /// Writes down which rates are new.
    pub fn note_rates(&mut self) {
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

    pub fn deliver(&mut self, packet: &Packet) {
        let mut marked = false;
        if packet.to == 0 && self.rules.polices {
            let one = self.rules.shares_tx_queue(0) || self.rules.has(Flaw::PolicedByVoice);
            let tx_queue = if one { 0 } else { packet.category };
            let before = self.policed[tx_queue];
            self.policed[tx_queue] += 1;
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

    /// An exchange of a link begins.
    pub fn note_attempt(&mut self, frame: &Frame) {
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
            Content::Nothing | Content::Decoded(_) => unreachable!("opens no exchange of a link"),
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
}

/// A sequence number as it is sent.
pub fn on_air(seq: u64) -> u16 {
    (seq % 4096) as u16
}
