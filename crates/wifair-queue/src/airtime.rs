//! Airtime fairness of mac80211: deficit round robin over stations, counted in time on the air.

use wifair_core::{StationId, Time};

use crate::words::Rounds;

const NONE: u32 = u32::MAX;
/// The finest tick.
pub(crate) const NANOSECOND: Time = Time::from_ns(1);
/// Marks the `next` link of a station that is not in the list.
const UNLISTED: u32 = u32::MAX - 1;

/// The stations of one traffic class in the order in which they may send, with their airtime deficits.
#[derive(Clone, Debug)]
pub(crate) struct AirtimeRoundRobin {
    quantum_ns: i64,
    active_for: Time,
    /// Resolution of `active_for` and of when a station was active.
    tick: Time,
    first: u32,
    last: u32,
    /// Number of stations in the list.
    listed: u32,
    /// The current round of turns; 0 after one that was refused.
    round: u16,
    /// By station.
    rows: Vec<AirtimeState>,
}

#[derive(Clone, Copy, Debug)]
struct AirtimeState {
    next: u32,
    deficit_ns: i64,
    /// When the station was last in the list with packets queued.
    active_at: Option<Time>,
    /// The round in which it last had a turn.
    round: u16,
}

impl AirtimeRoundRobin {
    /// Creates an empty round robin with `quantum` per turn. A station counts as active for `active_for` after it was last
    /// listed with packets queued, on a clock with that `tick`.
    pub fn new(quantum: Time, active_for: Time, tick: Time) -> AirtimeRoundRobin {
        AirtimeRoundRobin {
            quantum_ns: quantum.as_ns() as i64,
            active_for,
            tick,
            first: NONE,
            last: NONE,
            listed: 0,
            round: 0,
            rows: Vec::new(),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, stations: usize) {
        let row = AirtimeState { next: UNLISTED, deficit_ns: self.quantum_ns, active_at: None, round: 0 };
        self.rows.resize(stations, row);
    }

    /// Notes that packets are queued for a station. An unlisted station goes to the head, whatever its deficit.
    pub fn wake(&mut self, station: StationId, now: Time) {
        if station.index() >= self.rows.len() {
            self.grow(station.index() + 1);
        }
        let row = &mut self.rows[station.index()];
        if row.next != UNLISTED {
            return;
        }
        row.active_at = Some(now);
        row.next = self.first;
        if self.first == NONE {
            self.last = u32::from(station.0);
        }
        self.first = u32::from(station.0);
        self.listed += 1;
    }

    /// Returns the station at the head, after moving to the end those with a negative deficit, each with another quantum, and
    /// those that `may_send` excludes. `None` if it excludes all. A station's deficit counts less the airtime that `pending`
    /// returns.
    pub fn next(
        &mut self,
        may_send: impl Fn(StationId) -> bool,
        pending: impl Fn(StationId) -> Time,
    ) -> Option<StationId> {
        let (mut round_from, mut any) = (NONE, false);
        loop {
            let first = self.first;
            let row = self.rows.get_mut(first as usize)?;
            if first == round_from && !std::mem::take(&mut any) {
                return None;
            }
            if round_from == NONE {
                round_from = first;
            }
            let may_send = may_send(StationId(first as u16));
            any |= may_send;
            let deficit_ns = row.deficit_ns - pending(StationId(first as u16)).as_ns() as i64;
            if deficit_ns >= 0 && may_send {
                return Some(StationId(first as u16));
            }
            if deficit_ns < 0 {
                row.deficit_ns += self.quantum_ns;
            }
            let next = row.next;
            if next != NONE {
                row.next = NONE;
                self.first = next;
                self.rows[self.last as usize].next = first;
                self.last = first;
            }
        }
    }

    /// Starts a round of turns, if `rounds` allow it; returns whether they do. As in Linux, a refusal restarts the numbers of
    /// rounds: a station that had its last turn in a round of the same number then ends the round.
    pub fn start_round(&mut self, rounds: &Rounds) -> bool {
        let may_start = rounds.may_start(self.listed as usize);
        self.round = if may_start { self.round.checked_add(1).unwrap_or(1) } else { 0 };
        may_start
    }

    /// Takes the station whose turn it is, see [`AirtimeRoundRobin::next`], out of the list. `None` ends the round: it has had
    /// its turn in this round.
    pub fn take_turn(
        &mut self,
        may_send: impl Fn(StationId) -> bool,
        pending: impl Fn(StationId) -> Time,
    ) -> Option<StationId> {
        let station = self.next(may_send, pending)?;
        let row = &mut self.rows[station.index()];
        if row.round == self.round {
            return None;
        }
        row.round = self.round;
        self.leave();
        Some(station)
    }

    /// Ends a turn. With packets queued the station goes to the head. With none, a station that is in debt, counting its
    /// `pending` airtime, and was active lately goes to the end.
    pub fn end_turn(&mut self, station: StationId, has_packets: bool, pending: Time, now: Time) {
        if has_packets {
            return self.wake(station, now);
        }
        let row = &self.rows[station.index()];
        if row.deficit_ns < pending.as_ns() as i64 && self.is_active(station, now) {
            self.append(station);
        }
    }

    fn is_active(&self, station: StationId, now: Time) -> bool {
        let active_at = self.rows.get(station.index()).and_then(|row| row.active_at);
        active_at.is_some_and(|at| self.clock(now) <= self.clock(at) + self.active_for)
    }

    fn clock(&self, time: Time) -> Time {
        if self.tick == NANOSECOND { time } else { Time::from_ns(time / self.tick * self.tick.as_ns()) }
    }

    fn append(&mut self, station: StationId) {
        self.rows[station.index()].next = NONE;
        match self.rows.get_mut(self.last as usize) {
            Some(last) => last.next = u32::from(station.0),
            None => self.first = u32::from(station.0),
        }
        self.last = u32::from(station.0);
        self.listed += 1;
    }

    /// Keeps the station at the head, which has packets left.
    pub fn stay(&mut self, now: Time) {
        self.rows[self.first as usize].active_at = Some(now);
    }

    /// Removes the station at the head, which has nothing queued, from the list.
    pub fn leave(&mut self) {
        let row = &mut self.rows[self.first as usize];
        self.first = std::mem::replace(&mut row.next, UNLISTED);
        if self.first == NONE {
            self.last = NONE;
        }
        self.listed -= 1;
    }

    /// Charges a station for airtime to or from it that ended by `now`. A station that has not been active lately is not
    /// charged. If it `is_listed_for_debt`, a station in debt with nothing queued is put at the end of the list, so that the
    /// debt is paid off in the others' rounds and not when its next packet arrives.
    pub fn charge(&mut self, station: StationId, airtime: Time, now: Time, is_listed_for_debt: bool) {
        if !self.is_active(station, now) {
            return;
        }
        let row = &mut self.rows[station.index()];
        row.deficit_ns -= airtime.as_ns() as i64;
        if is_listed_for_debt && row.deficit_ns < 0 && row.next == UNLISTED {
            self.append(station);
        }
    }

    /// Whether a station is in the list, and how many others are.
    pub fn listed(&self, station: StationId) -> (bool, u32) {
        let is_listed = self.rows.get(station.index()).is_some_and(|row| row.next != UNLISTED);
        (is_listed, self.listed - u32::from(is_listed))
    }

    /// A station's deficit in ns: the airtime that it may still use, a debt if negative.
    #[cfg(test)]
    fn deficit_ns(&self, station: u16) -> i64 {
        self.rows[usize::from(station)].deficit_ns
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const QUANTUM: Time = Time::from_us(256);

    /// mac80211's list `active_txqs` and its deficits.
    #[derive(Default)]
    struct Plain {
        list: VecDeque<u16>,
        deficits: [i64; 6],
        active_at: [Option<Time>; 6],
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0u16..6, 0u64..3_000, 0u8..8), 1..400)) {
            let mut robin = AirtimeRoundRobin::new(QUANTUM, Time::from_ms(100), NANOSECOND);
            let mut plain = Plain { deficits: [256_000; 6], ..Plain::default() };
            let mut now = Time::ZERO;
            for (station, us, what) in steps {
                now += Time::from_us(us * 10);
                let index = usize::from(station);
                match what {
                    0..=2 => {
                        robin.wake(StationId(station), now);
                        if !plain.list.contains(&station) {
                            plain.list.push_front(station);
                            plain.active_at[index] = Some(now);
                        }
                    }
                    3..=4 => {
                        let (time, sent) = (Time::from_us(us), what == 3);
                        robin.charge(StationId(station), time, now, sent);
                        if plain.active_at[index].is_some_and(|at| now <= at + Time::from_ms(100)) {
                            plain.deficits[index] -= time.as_ns() as i64;
                            if sent && plain.deficits[index] < 0 && !plain.list.contains(&station) {
                                plain.list.push_back(station);
                            }
                        }
                    }
                    _ => {
                        while let Some(&head) = plain.list.front() && plain.deficits[usize::from(head)] < 0 {
                            plain.deficits[usize::from(head)] += 256_000;
                            plain.list.rotate_left(1);
                        }
                        let next = robin.next(|_| true, |_| Time::ZERO);
                        prop_assert_eq!(next, plain.list.front().map(|station| StationId(*station)));
                        let Some(head) = next else { continue };
                        if what == 7 {
                            robin.leave();
                            plain.list.pop_front();
                        } else {
                            robin.stay(now);
                            plain.active_at[head.index()] = Some(now);
                        }
                    }
                }
                if index < robin.rows.len() {
                    prop_assert_eq!(robin.deficit_ns(station), plain.deficits[index]);
                }
            }
        }
    }

    /// Stations whose frames take 1.5 and 12 ms share the time, even if one of them sends as much uplink.
    #[test]
    fn busy_stations_share_the_time() {
        let mut robin = AirtimeRoundRobin::new(QUANTUM, Time::from_ms(100), NANOSECOND);
        let mut used = [Time::ZERO; 3];
        for station in 0..3 {
            robin.wake(StationId(station), Time::ZERO);
        }
        let mut now = Time::ZERO;
        for _ in 0..5_000 {
            let station = robin.next(|_| true, |_| Time::ZERO).expect("all are busy");
            let airtime = Time::from_us([1_500, 12_000, 1_500][station.index()]);
            now += airtime;
            robin.stay(now);
            robin.charge(station, airtime, now, true);
            used[station.index()] += airtime;
            if station.index() == 2 {
                robin.charge(station, airtime, now, false);
                used[2] += airtime;
            }
        }
        let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
        assert!(*most - *least <= Time::from_ms(25), "{used:?}");
    }
}
