//! Which modes are sampled, and in which order.

use wifair_core::Rng;

use super::groups::ModePlace;
use super::statistics::{Statistics, percent};

/// Random orders of the slots of a group.
const ORDERS: usize = 10;
/// Slots of a group in these orders, unless a group has more modes.
const SLOTS: usize = 10;
/// Most modes of a kind that wait to be sampled.
const WAITING: usize = 5;
/// Above it a slow mode is not sampled.
const KNOWN: u32 = percent(95);

/// Why a mode is sampled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SampleKind {
    /// The next faster one of a group.
    Next,
    /// A faster one at random.
    Jump,
    /// A slower one at random, but not slower than the slowest in use.
    Slow,
}

const TURNS: [SampleKind; 6] = [
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Slow,
];

/// Modes that wait to be sampled, in places that may be empty.
type Waiting = [Option<ModePlace>; WAITING];

/// The modes to sample.
#[derive(Debug)]
pub(super) struct Samples {
    /// By [`SampleKind`].
    waiting: [Waiting; 3],
    /// The group from which the last next or jump mode was taken.
    last_group: [usize; 2],
    /// Random orders of slots, one after the other, and how far each group has used them.
    orders: Vec<u8>,
    used: Vec<usize>,
    turn: usize,
}

impl Samples {
    /// Draws the random orders. The search begins behind group `last_group`.
    pub(super) fn new(statistics: &Statistics, last_group: usize, rng: &mut Rng) -> Samples {
        let count = statistics.group_count();
        let last_slot =
            (0..count).filter_map(|group| statistics.modes_of(group).last()).map(|place| place.slot);
        let slots = last_slot.max().map_or(SLOTS, |last| SLOTS.max(usize::from(last) + 1));
        Samples {
            waiting: Default::default(),
            last_group: [last_group; 2],
            orders: (0..ORDERS).flat_map(|_| random_order(slots, rng)).collect(),
            used: vec![0; count],
            turn: 0,
        }
    }

    /// The mode whose turn it is to be sampled, if there is any; only next modes if `only_next`.
    pub(super) fn take(&mut self, only_next: bool) -> Option<ModePlace> {
        let mut kind = SampleKind::Next;
        if !only_next {
            kind = TURNS[self.turn];
            self.turn = (self.turn + 1) % TURNS.len();
        }
        self.waiting[kind as usize].iter_mut().find_map(Option::take)
    }

    /// Finds modes to sample, after an update of the statistics.
    pub(super) fn refill(&mut self, statistics: &Statistics) {
        let in_use = [statistics.best()[0], statistics.best()[1], statistics.most_probable()];
        let durations = in_use.map(|place| statistics.duration_ns(place));
        let fast_ns = durations.into_iter().min().expect("there are three");
        let slow_ns = durations.into_iter().max().expect("there are three");
        let count = self.retain(SampleKind::Next, statistics, 0..fast_ns);
        for place in count..WAITING {
            let next = self.next_faster(statistics, durations[0]);
            self.waiting[SampleKind::Next as usize][place] = next;
            if next.is_none() {
                break;
            }
        }
        let count = self.retain(SampleKind::Jump, statistics, 0..fast_ns);
        let mut slow_count = self.retain(SampleKind::Slow, statistics, fast_ns + 1..slow_ns);
        for place in count..WAITING {
            let jump = self.next_jump(statistics, fast_ns, slow_ns, &mut slow_count);
            self.waiting[SampleKind::Jump as usize][place] = jump;
            if jump.is_none() {
                break;
            }
        }
    }

    /// Keeps the waiting modes of a kind with such durations and moves them forward. Returns the place behind them, as the
    /// kernel counts it: the first is not counted if it stays where it is, and the next takes its place.
    fn retain(
        &mut self,
        kind: SampleKind,
        statistics: &Statistics,
        durations: std::ops::Range<u32>,
    ) -> usize {
        let waiting = &mut self.waiting[kind as usize];
        let mut to = 0;
        for from in 0..WAITING {
            let Some(place) = waiting[from] else { continue };
            if !durations.contains(&statistics.duration_ns(place)) {
                waiting[from] = None;
            } else if from != to {
                waiting[to] = waiting[from].take();
                to += 1;
            }
        }
        to
    }

    /// Whether a mode waits before the first empty place.
    fn waits(&self, kind: SampleKind, place: ModePlace) -> bool {
        self.waiting[kind as usize].iter().map_while(|waiting| *waiting).any(|waiting| waiting == place)
    }

    /// Of the next group that has one, the slowest mode faster than `fast_ns` that does not wait.
    fn next_faster(&mut self, statistics: &Statistics, fast_ns: u32) -> Option<ModePlace> {
        let count = statistics.group_count();
        let first = self.last_group[SampleKind::Next as usize] + 1;
        let groups = (first..first + count).map(|group| group % count);
        let slowest = |group| {
            slowest_faster(statistics, group, fast_ns).filter(|&place| !self.waits(SampleKind::Next, place))
        };
        let found = groups.into_iter().find_map(slowest)?;
        self.last_group[SampleKind::Next as usize] = usize::from(found.group);
        Some(found)
    }

    /// The next mode in random order of a group that is faster than `fast_ns`. Those met on the way that are faster than
    /// `slow_ns` wait as slow modes, while there is room.
    fn next_jump(
        &mut self,
        statistics: &Statistics,
        fast_ns: u32,
        slow_ns: u32,
        slow_count: &mut usize,
    ) -> Option<ModePlace> {
        let count = statistics.group_count();
        let first = self.last_group[SampleKind::Jump as usize] + 1;
        for group in (first..first + count).map(|group| group % count) {
            let limit_ns = if *slow_count < WAITING { slow_ns } else { fast_ns };
            let Some(least) = slowest_faster(statistics, group, limit_ns) else { continue };
            let Some(place) = self.next_in_order(statistics, least) else { continue };
            let duration_ns = statistics.duration_ns(place);
            let kind = if duration_ns < fast_ns { SampleKind::Jump } else { SampleKind::Slow };
            if self.waits(kind, place) {
                continue;
            }
            if kind == SampleKind::Jump {
                self.last_group[SampleKind::Jump as usize] = group;
                return Some(place);
            }
            if *slow_count < WAITING && duration_ns < slow_ns && statistics.share(place) <= KNOWN {
                self.waiting[SampleKind::Slow as usize][*slow_count] = Some(place);
                *slow_count += 1;
            }
        }
        None
    }

    /// The next mode in random order of the group of `least`, from that mode on.
    fn next_in_order(&mut self, statistics: &Statistics, least: ModePlace) -> Option<ModePlace> {
        let group = usize::from(least.group);
        let slots = self.orders.len() / ORDERS;
        for _ in 0..slots {
            let slot = self.orders[self.used[group]];
            self.used[group] = (self.used[group] + 1) % self.orders.len();
            let place = ModePlace { slot, ..least };
            if slot >= least.slot && statistics.modes_of(group).any(|mode| mode == place) {
                return Some(place);
            }
        }
        None
    }
}

/// The slowest mode of a group, by MCS, that lasts less than `limit_ns`.
fn slowest_faster(statistics: &Statistics, group: usize, limit_ns: u32) -> Option<ModePlace> {
    statistics.modes_of(group).find(|&place| statistics.duration_ns(place) < limit_ns)
}

/// A random order of slots: each is put so many places behind its own, or at the next free place. One draw each.
fn random_order(slots: usize, rng: &mut Rng) -> Vec<u8> {
    let mut order = vec![None; slots];
    for slot in 0..slots {
        let mut to = (slot + rng.below(slots as u32) as usize) % slots;
        while order[to].is_some() {
            to = (to + 1) % slots;
        }
        order[to] = Some(slot as u8);
    }
    order.into_iter().flatten().collect()
}
