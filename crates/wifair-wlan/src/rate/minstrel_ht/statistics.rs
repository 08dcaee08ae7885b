//! How often MPDUs arrive in each mode, and which modes follow from it. Shares are in units of 1/4096, rounded as in the
//! kernel.

use super::groups::{Group, ModePlace, Reference, groups};
use crate::phy::{Format, Modes, RateIndex};

/// Modes of the highest throughput that are kept.
pub(super) const BEST: usize = 4;

const SHIFT: u32 = 12;
/// Shares of MPDUs acknowledged: below the first a mode has no throughput, above the second no more.
const HOPELESS: u32 = percent(10);
const CERTAIN: u32 = percent(90);
/// Below it a mode has two attempts in the chain.
const DOUBTFUL: u32 = percent(20);
/// Above it throughput decides which mode is the most probable.
const PROBABLE: u32 = percent(75);
/// The low-pass filter: weights of the new share and of the filter's last two values.
const FILTER: [i32; 3] = [1_173, 5_273, -2_350];
/// More MPDUs than this must have been sent in a mode for the descent to a lower group.
const EVIDENCE: u32 = 30;
/// What goes with a PPDU: an empty frame and an ACK at 6 Mbps, with a SIFS each; and RTS and CTS.
const OVERHEAD_US: u32 = 48 + 60;
/// An ACK with a SIFS in a link before 802.11n: at 6 Mbps, and at 1 Mbps.
const OFDM_ACK_US: u32 = 60;
const DSSS_ACK_US: u32 = 218;
/// Contention as estimated for a chain.
const SLOT_US: u32 = 9;
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1_023;

pub(super) const fn percent(of_hundred: u32) -> u32 {
    (of_hundred << SHIFT) / 100
}

/// What is known of a mode.
#[derive(Debug)]
struct ModeStatistics {
    reference: Reference,
    /// MPDUs since the last update.
    sent: u32,
    acknowledged: u32,
    /// It was tried before the last update.
    is_tried: bool,
    /// The filtered share of MPDUs acknowledged, and that of the update before; 0: none yet.
    share: u32,
    share_before: u32,
}

impl ModeStatistics {
    fn new(reference: Reference) -> ModeStatistics {
        ModeStatistics { reference, sent: 0, acknowledged: 0, is_tried: false, share: 0, share_before: 0 }
    }

    /// Takes what was counted since the last update; `faster` is the best share of the faster modes of the group that were
    /// tried.
    fn update(&mut self, faster: &mut u32) {
        if let Some(measured) = (self.acknowledged << SHIFT).checked_div(self.sent) {
            self.filter(measured);
            self.is_tried = true;
        }
        (self.sent, self.acknowledged) = (0, 0);
        if self.is_tried {
            *faster = (*faster).max(self.share);
        } else {
            self.share = self.share.max(*faster);
        }
    }

    fn filter(&mut self, measured: u32) {
        let measured = measured.max(1);
        if self.share == 0 {
            (self.share, self.share_before) = (measured, measured);
            return;
        }
        let [new, last, before] = FILTER;
        let sum = new * measured as i32 + last * self.share as i32 + before * self.share_before as i32;
        let filtered = match sum >> SHIFT {
            ..0 => 1,
            value => (value as u32).min(1 << SHIFT),
        };
        (self.share, self.share_before) = (filtered, self.share);
    }
}

/// A group, and what is known of its modes.
#[derive(Debug)]
struct GroupStatistics {
    streams: u8,
    modes: Vec<Option<ModeStatistics>>,
    best: [ModePlace; BEST],
    most_probable: ModePlace,
}

/// What is known of a link's modes.
#[derive(Debug)]
pub(super) struct Statistics {
    groups: Vec<GroupStatistics>,
    /// By index in the link's list.
    places: Vec<ModePlace>,
    /// Whether the modes are 802.11n's or later.
    aggregates: bool,
    /// Duration of what goes with a PPDU, without and with RTS and CTS.
    overhead_us: [u32; 2],
    /// MPDUs per A-MPDU, in units of 1/4096.
    mean_mpdus: i32,
    /// Since the last update.
    ppdus: u32,
    mpdus: u32,
    best: [ModePlace; BEST],
    most_probable: ModePlace,
}

impl Statistics {
    /// Nothing is known; the chain begins with `first`.
    pub(super) fn new(modes: &Modes, first: RateIndex) -> Statistics {
        let groups = groups(modes);
        let placed = |(group, of): (usize, &Group)| -> Vec<(RateIndex, ModePlace)> {
            let place = |slot| ModePlace { group: group as u8, slot };
            let slots = of.modes.iter().zip(0..);
            slots.filter_map(|(mode, slot)| Some((mode.as_ref()?.index, place(slot)))).collect()
        };
        let mut places: Vec<(RateIndex, ModePlace)> = groups.iter().enumerate().flat_map(placed).collect();
        places.sort_by_key(|&(index, _)| index);
        let format = modes.on_air(first).mode.format;
        let (overhead_us, ack_us) = match format {
            Format::Dsss => (DSSS_ACK_US, DSSS_ACK_US),
            Format::Ofdm => (OFDM_ACK_US, OFDM_ACK_US),
            _ => (OVERHEAD_US, OFDM_ACK_US),
        };
        let of_group = |(number, group): (usize, Group)| GroupStatistics {
            streams: group.streams,
            modes: group.modes.into_iter().map(|mode| mode.map(ModeStatistics::new)).collect(),
            best: [ModePlace::slowest(number); BEST],
            most_probable: ModePlace::slowest(number),
        };
        let places: Vec<ModePlace> = places.into_iter().map(|(_, place)| place).collect();
        let first = places[usize::from(first.0)];
        Statistics {
            groups: groups.into_iter().enumerate().map(of_group).collect(),
            places,
            aggregates: format >= Format::Ht,
            overhead_us: [overhead_us, overhead_us + 2 * ack_us],
            mean_mpdus: 1 << SHIFT,
            ppdus: 0,
            mpdus: 0,
            best: [first; BEST],
            most_probable: first,
        }
    }

    /// The modes of the highest throughput, the best first.
    pub(super) fn best(&self) -> &[ModePlace; BEST] {
        &self.best
    }

    /// The most probable mode.
    pub(super) fn most_probable(&self) -> ModePlace {
        self.most_probable
    }

    /// Number of groups.
    pub(super) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The modes of a group, the slowest first.
    pub(super) fn modes_of(&self, group: usize) -> impl DoubleEndedIterator<Item = ModePlace> {
        let place = move |slot: usize| ModePlace { group: group as u8, slot: slot as u8 };
        let slots = self.groups[group].modes.iter().enumerate();
        slots.filter_map(move |(slot, mode)| mode.as_ref().map(|_| place(slot)))
    }

    /// A mode's index in the link's list.
    pub(super) fn index_of(&self, place: ModePlace) -> RateIndex {
        self.of(place).reference.index
    }

    /// Duration of an MPDU of the reference length.
    pub(super) fn duration_ns(&self, place: ModePlace) -> u32 {
        self.of(place).reference.duration_ns
    }

    /// The filtered share of MPDUs acknowledged.
    pub(super) fn share(&self, place: ModePlace) -> u32 {
        self.of(place).share
    }

    fn of(&self, place: ModePlace) -> &ModeStatistics {
        self.groups[usize::from(place.group)].modes[usize::from(place.slot)]
            .as_ref()
            .expect("the group has the mode")
    }

    fn of_mut(&mut self, place: ModePlace) -> &mut ModeStatistics {
        self.groups[usize::from(place.group)].modes[usize::from(place.slot)]
            .as_mut()
            .expect("the group has the mode")
    }

    /// Counts MPDUs sent in a mode.
    pub(super) fn count_sent(&mut self, index: RateIndex, mpdus: u32) {
        self.of_mut(self.places[usize::from(index.0)]).sent += mpdus;
    }

    /// Counts MPDUs acknowledged in a mode, and the A-MPDU to which they belong.
    pub(super) fn count_answered(&mut self, index: RateIndex, mpdus: u32, acknowledged: u32) {
        self.of_mut(self.places[usize::from(index.0)]).acknowledged += acknowledged;
        self.ppdus += 1;
        self.mpdus += mpdus;
    }

    /// Takes what was counted since the last update, and finds the best modes and the most probable.
    pub(super) fn update(&mut self) {
        if self.ppdus > 0 {
            let mean = (u64::from(self.mpdus) << SHIFT) / u64::from(self.ppdus);
            self.mean_mpdus += (mean as i32 - self.mean_mpdus) / 4;
            (self.ppdus, self.mpdus) = (0, 0);
        }
        let mut best = [ModePlace::slowest(0); BEST];
        for group in 0..self.groups.len() {
            let mut best_of_group = [ModePlace::slowest(group); BEST];
            let mut faster = 0;
            for place in self.modes_of(group).rev().collect::<Vec<_>>() {
                self.of_mut(place).update(&mut faster);
                if self.throughput(place) > 0 {
                    self.sort_in(place, &mut best);
                    self.sort_in(place, &mut best_of_group);
                }
            }
            self.groups[group].best = best_of_group;
        }
        self.best = best;
        self.find_most_probable();
    }

    /// MPDUs of the reference length per time.
    fn throughput(&self, place: ModePlace) -> u32 {
        let mode = self.of(place);
        if mode.share < HOPELESS {
            return 0;
        }
        let mode_ns = 1_000 * self.overhead_us[0] / self.whole_mpdus() + mode.reference.duration_ns;
        (100 * (mode.share.min(CERTAIN) * 1_000_000 / mode_ns)) >> SHIFT
    }

    /// Whole MPDUs per A-MPDU.
    fn whole_mpdus(&self) -> u32 {
        if self.aggregates { self.mean_mpdus as u32 >> SHIFT } else { 1 }
    }

    /// Puts a mode into a list by throughput, of equals by share.
    fn sort_in(&self, place: ModePlace, list: &mut [ModePlace; BEST]) {
        let key = |place: ModePlace| (self.throughput(place), self.share(place));
        let behind = list.iter().rposition(|&other| key(place) <= key(other)).map_or(0, |last| last + 1);
        if behind < BEST {
            list[behind..].rotate_right(1);
            list[behind] = place;
        }
    }

    fn find_most_probable(&mut self) {
        let best = self.best[0];
        let mut found = ModePlace::slowest(0);
        for group in 0..self.groups.len() {
            let mut of_group = ModePlace::slowest(group);
            for place in self.modes_of(group) {
                if self.duration_ns(place) < self.duration_ns(best) && self.share(place) < self.share(best) {
                    continue;
                }
                let is_better_than = |other: ModePlace| match self.share(place) > PROBABLE {
                    true => self.throughput(place) > self.throughput(other),
                    false => self.share(place) > self.share(other),
                };
                if is_better_than(found) {
                    found = place;
                }
                if is_better_than(of_group) {
                    of_group = place;
                }
            }
            self.groups[group].most_probable = of_group;
        }
        self.most_probable = self.with_fewer_streams(best).unwrap_or(found);
    }

    /// The mode of the highest throughput among the most probable of groups with fewer streams than `best`.
    fn with_fewer_streams(&self, best: ModePlace) -> Option<ModePlace> {
        let streams = self.groups[usize::from(best.group)].streams;
        let fewer = self.groups.iter().filter(|group| group.streams < streams);
        let mut found = (0, None);
        for place in fewer.map(|group| group.most_probable) {
            let throughput = self.throughput(place);
            if throughput > found.0 {
                found = (throughput, Some(place));
            }
        }
        found.1
    }

    /// Replaces each of the two best modes that has lost more than three quarters of its MPDUs since the last update by the
    /// best of a lower group. Returns whether there was one.
    pub(super) fn descend(&mut self) -> bool {
        let mut fails = false;
        for rank in 0..2 {
            let place = self.best[rank];
            let mode = self.of(place);
            if mode.sent > EVIDENCE && mode.acknowledged < mode.sent / 4 {
                fails = true;
                let streams = self.groups[usize::from(place.group)].streams;
                let below = self.groups[..usize::from(place.group)].iter().rev();
                if let Some(group) = below.into_iter().find(|group| group.streams <= streams) {
                    self.best[rank] = group.best[rank];
                }
            }
        }
        fails
    }

    /// Attempts in a mode of the chain, each after an RTS or none: as many as fit in `segment_us`, at most `max_attempts`.
    pub(super) fn attempts_in(
        &self,
        place: ModePlace,
        has_rts: bool,
        segment_us: u32,
        max_attempts: u32,
    ) -> u32 {
        if self.share(place) < DOUBTFUL {
            return 2;
        }
        let data_us = self.duration_ns(place) * self.whole_mpdus() / 1_000;
        let mut window = CW_MIN;
        // The time until the end of the next attempt, without RTS and with one.
        let mut elapsed_us = [0; 2];
        let mut attempt = || {
            for (elapsed_us, overhead_us) in elapsed_us.iter_mut().zip(self.overhead_us) {
                *elapsed_us += SLOT_US * window / 2 + overhead_us + data_us;
            }
            window = (2 * window + 1).min(CW_MAX);
            elapsed_us
        };
        attempt();
        attempt();
        let mut attempts = [2; 2];
        loop {
            let [without, with] = attempt();
            attempts[1] += u32::from(with < segment_us);
            if without >= segment_us {
                break;
            }
            attempts[0] += 1;
            if attempts[0] >= max_attempts {
                break;
            }
        }
        attempts[usize::from(has_rts)]
    }
}
