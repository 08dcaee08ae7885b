//! `codel`, `fq-codel`, `mac80211` and `air-share` over plain lists, written from RFC 8289, RFC 8290, the kernel's description
//! and the scheme's own: loops where the schemes take steps, a scan for every question.

pub mod against;

use std::collections::VecDeque;

use wifair_core::{Class, Ecn, Packet, TcpFlags};
use wifair_queue::PoliceAction;

/// Nanoseconds.
pub type Ns = u64;

const MS: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub packet: Packet,
    pub connection: usize,
    pub station: usize,
    pub at: Ns,
    duplicate: bool,
}

/// RFC 8289, 5: the variables of its pseudocode.
#[derive(Clone, Default)]
struct Codel {
    first_above_time: Ns,
    drop_next: Ns,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

#[derive(Clone, Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Of other stations than that for which an aggregate is being filled.
    set_aside: Vec<Item>,
    deficit: i64,
    codel: Codel,
    user: Option<usize>,
}

impl Queue {
    fn bytes(&self) -> u64 {
        let all = self.items.iter().chain(&self.set_aside);
        all.map(|item| u64::from(item.packet.ip_bytes())).sum()
    }
}

#[derive(Clone, Default)]
struct Station {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// In ns.
    deficit: i64,
    active_at: Option<Ns>,
    /// When each of its TCP data packets came since its debt was last acceptable, and whether it was a signal; with
    /// `air-share`.
    in_debt: Vec<(Ns, bool)>,
}

/// What was lost, filtered and marked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub refused: u64,
    pub evicted: u64,
    pub aqm_evicted: u64,
    pub filtered: u64,
    pub ce: u64,
    pub ece: u64,
    pub policed: u64,
    pub police_marked: u64,
    pub police_dropped: u64,
}

/// Airtime that a station has used, whether it waited for a turn then, and how many others did.
#[derive(Clone, Copy)]
struct Use {
    station: usize,
    airtime: Ns,
    at: Ns,
    waits: bool,
    others: u64,
}

pub struct Plain {
    spec: serde_json::Value,
    pub limit: usize,
    /// The bucket of each connection.
    buckets: Vec<usize>,
    pub in_service: usize,
    queues: Vec<Queue>,
    stations: Vec<Station>,
    /// mac80211's stations in their turn.
    active: VecDeque<usize>,
    last_ack: [Option<u32>; 16],
    uses: Vec<Use>,
    pub tally: Tally,
}

impl Plain {
    /// `buckets` are those of the connections.
    pub fn new(spec: &serde_json::Value, limit: usize, buckets: Vec<usize>) -> Plain {
        let quantum = spec["airtime_quantum_us"].as_f64().unwrap_or(0.0) * 1e3;
        Plain {
            limit,
            in_service: 0,
            queues: vec![Queue::default(); buckets.iter().max().unwrap() + 5],
            buckets,
            stations: vec![Station { deficit: quantum as i64, ..Station::default() }; 4],
            active: VecDeque::new(),
            last_ack: [None; 16],
            uses: vec![],
            tally: Tally::default(),
            spec: spec.clone(),
        }
    }

    fn is(&self, name: &str) -> bool {
        self.spec["name"] == name
    }

    fn number(&self, key: &str) -> f64 {
        self.spec[key].as_f64().unwrap_or_else(|| panic!("{key}"))
    }

    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.items.len()).sum()
    }

    /// Every packet, by its serial number.
    pub fn packets(&self) -> Vec<Packet> {
        let items = self.queues.iter().flat_map(|queue| &queue.items);
        let mut packets: Vec<Packet> = items.map(|item| item.packet).collect();
        packets.sort_by_key(|packet| packet.window_bytes);
        packets
    }

    /// Which stations share the queues: each by itself, or all as one.
    fn member(&self, station: usize) -> usize {
        if self.is("mac80211") { station } else { 0 }
    }

    fn queue_of(&self, connection: usize, member: usize) -> usize {
        if self.is("codel") {
            return 0;
        }
        let bucket = self.buckets[connection];
        let user = self.queues[bucket].user;
        if user.is_none_or(|user| user == member) { bucket } else { self.queues.len() - 4 + member }
    }

    /// What goes for an arrival of `bytes` to a queue: of which queue, how many of its first, and whether the arrival itself.
    fn victims(&self, arriving: usize, bytes: u64) -> (usize, usize, bool) {
        let length = |id: &usize| self.queues[*id].bytes() + if *id == arriving { bytes } else { 0 };
        let longest = (0..self.queues.len()).rev().max_by_key(length).unwrap();
        let mut sizes: Vec<u64> =
            self.queues[longest].items.iter().map(|item| u64::from(item.packet.ip_bytes())).collect();
        let queued = sizes.len();
        if longest == arriving {
            sizes.push(bytes);
        }
        let most = self.number("drop_batch_packets") as usize;
        let count = if self.is("mac80211") {
            most.min(sizes.len() / 2).max(1)
        } else {
            let enough = |n: &usize| sizes[..*n].iter().sum::<u64>() >= length(&longest) / 2;
            (1..=sizes.len()).find(enough).unwrap().min(most)
        };
        (longest, count.min(queued), count > queued)
    }

    /// An arrival. `rates` in Mbps, by station.
    pub fn arrive(&mut self, packet: Packet, connection: usize, station: usize, now: Ns, rates: &[f64]) {
        if self.len() == 0 && self.in_service == 0 {
            self.rest();
        }
        let is_ack = packet.class() == Class::Ack;
        let duplicate = is_ack && self.last_ack[connection] == Some(packet.ack);
        let item = Item { packet, connection, station, at: now, duplicate };
        let member = self.member(station);
        let id = self.queue_of(connection, member);
        if self.is("codel") {
            if self.len() >= self.limit {
                self.tally.refused += 1;
                return;
            }
        } else {
            if self.spec["ack_filter_below_mbps"].as_f64().is_none_or(|below| rates[station] < below) {
                self.thin(&item, id);
            }
            let limit_bytes = self.number("limit_bytes") as u64;
            let bytes = u64::from(packet.ip_bytes());
            while self.len() >= self.limit
                || self.queues.iter().map(Queue::bytes).sum::<u64>() + bytes > limit_bytes
            {
                let (from, count, itself) = self.victims(id, bytes);
                self.queues[from].items.drain(..count);
                self.tally.evicted += count as u64;
                if self.is("fq-codel") {
                    self.queues[from].codel.count += count as u32 + u32::from(itself);
                }
                if itself {
                    self.tally.refused += 1;
                    self.wake(station, now);
                    return;
                }
            }
        }
        if is_ack {
            self.last_ack[connection] = Some(packet.ack);
        }
        self.queues[id].items.push_back(item);
        if !self.stations[member].new.contains(&id) && !self.stations[member].old.contains(&id) {
            self.queues[id].deficit = self.spec["quantum_bytes"].as_i64().unwrap_or(0);
            self.queues[id].user = Some(member);
            self.stations[member].new.push_back(id);
        }
        self.wake(station, now);
    }

    fn wake(&mut self, station: usize, now: Ns) {
        if self.is("mac80211") && !self.active.contains(&station) {
            self.active.push_front(station);
            self.stations[station].active_at = Some(now);
        }
    }

    /// A connection's queued ACKs as they came.
    fn acks_of(&self, connection: usize) -> Vec<Item> {
        let mut acks: Vec<Item> = self.queues.iter().flat_map(|queue| &queue.items).copied().collect();
        acks.retain(|item| item.connection == connection && item.packet.class() == Class::Ack);
        acks.sort_by_key(|item| item.packet.window_bytes);
        acks
    }

    /// Of a connection's queued ACKs the first that tells nothing which the next does not.
    pub fn oldest_redundant(&self, connection: usize) -> Option<Packet> {
        redundant(&self.acks_of(connection)).first().map(|item| item.packet)
    }

    /// The ACK filter.
    fn thin(&mut self, arriving: &Item, id: usize) {
        let filter = self.spec["ack_filter"].as_str().unwrap_or("off").to_owned();
        if filter == "off" || arriving.packet.class() != Class::Ack {
            return;
        }
        let mut acks = self.acks_of(arriving.connection);
        acks.push(*arriving);
        let redundant = redundant(&acks);
        let newest = acks.len().checked_sub(2).map(|at| acks[at]);
        let Some(newest) = newest.filter(|newest| redundant.contains(newest)) else { return };
        let goes = match redundant.as_slice() {
            [first, _, ..] => Some(*first),
            [_] if filter == "aggressive" && self.queues[id].items.back() == Some(&newest) => Some(newest),
            _ => None,
        };
        if let Some(goes) = goes {
            self.queues.iter_mut().for_each(|queue| queue.items.retain(|item| *item != goes));
            self.tally.filtered += 1;
        }
    }

    /// Who asks in vain: debts are paid in rounds that nobody else takes part in, and queues that are asked leave their turns.
    /// A station that is not listed is not asked.
    fn rest(&mut self) {
        let quantum = (self.spec["airtime_quantum_us"].as_f64().unwrap_or(0.0) * 1e3) as i64;
        let asked: Vec<usize> = if self.is("mac80211") { self.active.drain(..).collect() } else { vec![0] };
        for member in asked {
            let station = &mut self.stations[member];
            while station.deficit < 0 {
                station.deficit += quantum;
            }
            for id in station.new.drain(..).chain(station.old.drain(..)) {
                self.queues[id].user = None;
                self.queues[id].codel.first_above_time = 0;
                self.queues[id].codel.dropping = false;
            }
        }
    }

    /// What may leave: RFC 8289's `dequeue` at a queue.
    fn codel(&mut self, id: usize, slow: bool, now: Ns) -> Option<Item> {
        let ms = if slow { [50.0, 300.0] } else { [self.number("target_ms"), self.number("interval_ms")] };
        let [target, interval] = ms.map(|ms| (ms * MS) as Ns);
        let law = |codel: &Codel| (interval as f64 / f64::from(codel.count).sqrt()) as Ns;
        let mtu = self.spec["spared_bytes"].as_u64().unwrap_or(0);
        let signal = if slow { "drop" } else { self.spec["signal"].as_str().unwrap() }.to_owned();
        let queue = &mut self.queues[id];
        let tally = &mut self.tally;
        fn dodequeue(queue: &mut Queue, now: Ns, target: Ns, interval: Ns, mtu: u64) -> (Option<Item>, bool) {
            let Some(item) = queue.items.pop_front() else {
                if !queue.set_aside.is_empty() {
                    return (None, true); // nothing is known of the wait
                }
                queue.codel.first_above_time = 0;
                return (None, false);
            };
            if now - item.at < target || queue.bytes() <= mtu {
                queue.codel.first_above_time = 0;
            } else if queue.codel.first_above_time == 0 {
                queue.codel.first_above_time = now + interval;
            } else if now >= queue.codel.first_above_time {
                return (Some(item), true);
            }
            (Some(item), false)
        }
        let mut mark = |item: &mut Item| {
            if signal != "drop" && item.packet.ecn() != Ecn::NotEct {
                tally.ce += u64::from(item.packet.ecn() != Ecn::Ce);
                item.packet = item.packet.with_ecn(Ecn::Ce);
                return true;
            }
            if signal == "mark-and-echo" && item.packet.class() == Class::Ack {
                tally.ece += u64::from(!item.packet.flags.contains(TcpFlags::ECE));
                item.packet.flags |= TcpFlags::ECE;
                return true;
            }
            tally.aqm_evicted += 1;
            false
        };
        let (mut item, mut ok) = dodequeue(queue, now, target, interval, mtu);
        if queue.codel.dropping {
            if !ok {
                queue.codel.dropping = false;
            }
            while queue.codel.dropping && now >= queue.codel.drop_next {
                queue.codel.count += 1;
                let marked = mark(item.as_mut().unwrap());
                if !marked {
                    (item, ok) = dodequeue(queue, now, target, interval, mtu);
                }
                if !ok {
                    queue.codel.dropping = false;
                } else {
                    queue.codel.drop_next += law(&queue.codel);
                }
                if marked || item.is_none() {
                    break;
                }
            }
        } else if ok {
            if !mark(item.as_mut().unwrap()) {
                (item, _) = dodequeue(queue, now, target, interval, mtu);
            }
            let codel = &mut queue.codel;
            codel.dropping = true;
            let delta = codel.count - codel.lastcount;
            codel.count = if delta > 1 && now < codel.drop_next + 16 * interval { delta } else { 1 };
            codel.drop_next = now + law(codel);
            codel.lastcount = codel.count;
        }
        item
    }

    /// RFC 8290, 4.2, for one member.
    fn fair(&mut self, member: usize, slow: bool, now: Ns) -> Option<Item> {
        let quantum = self.spec["quantum_bytes"].as_i64().unwrap();
        loop {
            let from_new = !self.stations[member].new.is_empty();
            let station = &mut self.stations[member];
            let id = if from_new { station.new.front() } else { station.old.front() };
            let id = *id?;
            let step = |station: &mut Station| {
                if from_new {
                    station.new.pop_front()
                } else {
                    station.old.pop_front()
                };
            };
            if self.queues[id].deficit <= 0 {
                self.queues[id].deficit += quantum;
                step(station);
                station.old.push_back(id);
                continue;
            }
            if let Some(item) = self.codel(id, slow, now) {
                self.queues[id].deficit -= i64::from(item.packet.ip_bytes());
                return Some(item);
            }
            let station = &mut self.stations[member];
            step(station);
            if from_new && !station.old.is_empty() {
                station.old.push_back(id);
            } else {
                self.queues[id].user = None;
            }
        }
    }

    /// The next packet for a station, as for an aggregate: of the queues with one at their heads the one whose turn would come
    /// first if there were no others, and of a single queue the first for it.
    pub fn gather(&mut self, station: usize, max_bytes: u32, now: Ns, rates: &[f64]) -> Option<Item> {
        if self.len() == 0 {
            return None;
        }
        let fits = |item: &Item| item.packet.ip_bytes() <= max_bytes;
        let item = if self.is("codel") {
            let queued = std::mem::take(&mut self.queues[0].items);
            let (of_station, others): (Vec<_>, Vec<_>) =
                queued.into_iter().partition(|item| item.station == station);
            let may_go = of_station.first().is_some_and(fits);
            self.queues[0].items = of_station.into();
            self.queues[0].set_aside = others;
            let mut item = if may_go { self.codel(0, false, now) } else { None };
            let queue = &mut self.queues[0];
            queue.items.extend(item.take_if(|item| !fits(item)));
            queue.items.extend(queue.set_aside.drain(..));
            queue.items.make_contiguous().sort_by_key(|item| item.packet.window_bytes);
            item
        } else {
            let slow = self.spec["slow_station_rule"] == true && rates[station] < 6.0 * rates.len() as f64;
            self.gather_fairly(self.member(station), station, fits, slow, now)
        };
        self.in_service += usize::from(item.is_some());
        item
    }

    fn gather_fairly(
        &mut self,
        member: usize,
        station: usize,
        fits: impl Fn(&Item) -> bool,
        slow: bool,
        now: Ns,
    ) -> Option<Item> {
        let quantum = self.spec["quantum_bytes"].as_i64().unwrap();
        let is_for = |plain: &Plain, id: usize| {
            plain.queues[id].items.front().is_some_and(|item| item.station == station)
        };
        // Whose turn it is, as ever.
        loop {
            let Station { new, old, .. } = &mut self.stations[member];
            let (list, from_new) = if new.is_empty() { (&mut *old, false) } else { (&mut *new, true) };
            let id = *list.front()?;
            if self.queues[id].deficit <= 0 {
                self.queues[id].deficit += quantum;
                list.pop_front();
                old.push_back(id);
                continue;
            }
            let is_empty = self.queues[id].items.is_empty();
            if !is_empty && !is_for(self, id) {
                break;
            }
            if self.queues[id].items.front().is_some_and(|item| !fits(item)) {
                return None;
            }
            if let Some(item) = self.codel(id, slow, now) {
                if item.station == station && fits(&item) {
                    self.queues[id].deficit -= i64::from(item.packet.ip_bytes());
                    return Some(item);
                }
                self.queues[id].items.push_front(item);
                if item.station == station {
                    return None;
                }
                break;
            }
            let Station { new, old, .. } = &mut self.stations[member];
            if from_new {
                new.pop_front()
            } else {
                old.pop_front()
            };
            if from_new && !old.is_empty() {
                old.push_back(id);
            } else {
                self.queues[id].user = None;
            }
        }
        // Those with a packet for the station, by themselves.
        loop {
            let Station { new, old, .. } = &self.stations[member];
            let wanted = |ids: &VecDeque<usize>| -> VecDeque<usize> {
                ids.iter().copied().filter(|id| is_for(self, *id)).collect()
            };
            let (mut new, mut old) = (wanted(new), wanted(old));
            let mut deficits: Vec<i64> = self.queues.iter().map(|queue| queue.deficit).collect();
            let id = loop {
                let list = if new.is_empty() { &mut old } else { &mut new };
                let id = list.pop_front()?;
                if deficits[id] > 0 {
                    break id;
                }
                deficits[id] += quantum;
                old.push_back(id);
            };
            if self.queues[id].items.front().is_some_and(|item| !fits(item)) {
                return None;
            }
            let Some(item) = self.codel(id, slow, now) else { continue };
            if item.station == station && fits(&item) {
                self.queues[id].deficit -= i64::from(item.packet.ip_bytes());
                return Some(item);
            }
            self.queues[id].items.push_front(item);
            if item.station == station {
                return None;
            }
        }
    }

    /// `rates` in Mbps, by station.
    pub fn take(&mut self, now: Ns, rates: &[f64]) -> Option<Item> {
        if self.len() == 0 {
            return None;
        }
        let item = match self.spec["name"].as_str().unwrap() {
            "codel" => self.codel(0, false, now),
            "fq-codel" => self.fair(0, false, now),
            _ => self.airtime(now, rates),
        };
        self.in_service += usize::from(item.is_some());
        item
    }

    fn airtime(&mut self, now: Ns, rates: &[f64]) -> Option<Item> {
        loop {
            let station = *self.active.front()?;
            if self.stations[station].deficit < 0 {
                self.stations[station].deficit += (self.number("airtime_quantum_us") * 1e3) as i64;
                self.active.rotate_left(1);
                continue;
            }
            let slow = self.spec["slow_station_rule"] == true && rates[station] < 6.0 * rates.len() as f64;
            let item = self.fair(station, slow, now);
            let mut queued = self.queues.iter().flat_map(|queue| &queue.items);
            if queued.any(|item| item.station == station) {
                self.stations[station].active_at = Some(now);
            } else {
                self.active.pop_front();
            }
            if item.is_some() {
                return item;
            }
        }
    }

    pub fn charge(&mut self, station: usize, time: Ns, sent: bool, now: Ns) {
        if !self.is("mac80211") {
            return;
        }
        self.note_use(station, time, now);
        let listed = self.active.contains(&station);
        let row = &mut self.stations[station];
        let active_for = (self.spec["active_for_ms"].as_f64().unwrap() * MS) as Ns;
        if row.active_at.is_none_or(|at| now > at + active_for) {
            return;
        }
        row.deficit -= time as i64;
        if sent && row.deficit < 0 && !listed {
            self.active.push_back(station);
        }
    }

    fn note_use(&mut self, station: usize, airtime: Ns, at: Ns) {
        let waits = self.active.contains(&station);
        let others = self.active.iter().filter(|other| **other != station).count() as u64;
        self.uses.push(Use { station, airtime, at, waits, others });
    }

    /// What a station owes under `air-share`, from all that was ever used.
    fn debt(&mut self, station: usize, now: Ns) -> Ns {
        self.note_use(station, 0, now);
        let memory = self.number("memory_ms") * MS;
        let (mut owed, mut paid, mut last) = (0, 0, 0);
        for one in &self.uses {
            if one.station == station {
                let faded = ((one.at - last) as f64 / memory).min(1.0);
                owed = ((owed - paid.min(owed)) as f64 * (1.0 - faded)) as Ns;
                owed = if one.others > 0 { owed + one.airtime } else { 0 };
                (paid, last) = (0, one.at);
            }
            if one.waits {
                paid += one.airtime / (one.others + 1);
            }
        }
        owed
    }

    /// What becomes of a packet from a station under `air-share`: the n-th signal comes an interval divided by the root of n -
    /// 1 after the one before, and the first an interval after the first packet that found the debt too high. Debts are as they
    /// were before the packet's `airtime`.
    pub fn police(&mut self, station: usize, packet: &Packet, airtime: Ns, now: Ns) -> PoliceAction {
        self.tally.policed += 1;
        if packet.class() != Class::Data {
            return PoliceAction::Forward;
        }
        let [debt, interval] = ["debt_ms", "interval_ms"].map(|key| self.number(key) * MS);
        let before = self.debt(station, now).saturating_sub(airtime);
        let in_debt = &mut self.stations[station].in_debt;
        if before < debt as Ns {
            in_debt.clear();
            return PoliceAction::Forward;
        }
        let signals: Vec<Ns> = in_debt.iter().filter(|(_, signal)| *signal).map(|(at, _)| *at).collect();
        let due = match (in_debt.first(), signals.last()) {
            (None, _) => now + interval as Ns,
            (Some((first, _)), None) => first + interval as Ns,
            (_, Some(last)) => last + (interval / (signals.len() as f64).sqrt()) as Ns,
        };
        in_debt.push((now, now >= due));
        if now < due {
            return PoliceAction::Forward;
        }
        if packet.ecn() == Ecn::NotEct {
            self.tally.police_dropped += 1;
            return PoliceAction::Drop;
        }
        self.tally.police_marked += u64::from(packet.ecn() != Ecn::Ce);
        if packet.ecn() == Ecn::Ce { PoliceAction::Forward } else { PoliceAction::Mark }
    }
}

/// Those of a connection's ACKs that the next one makes redundant: no selective acknowledgements here.
fn redundant(acks: &[Item]) -> Vec<Item> {
    let echo = |item: &Item| item.packet.flags.contains(TcpFlags::ECE);
    let is_redundant = |pair: &&[Item]| {
        pair[1].packet.ack > pair[0].packet.ack && !pair[0].duplicate && echo(&pair[0]) == echo(&pair[1])
    };
    acks.windows(2).filter(is_redundant).map(|pair| pair[0]).collect()
}
