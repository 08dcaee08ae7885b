//! Subchannels of a field (`docs/medium.md`, section 16): channels of 20 MHz, of which those of BSSs consist. What a node
//! senses in each.

use std::cmp::Reverse;

use wifair_core::Time;

use super::frame::FieldFrame;
use super::power::Power;
use crate::mac::WidthUse;

/// Widths by number: 20 MHz and its doubles.
const WIDTHS: usize = 5;

/// By number of its width: what a punctured PPDU may leave out, a bit per subchannel, the lowest first (Table 36-30 of
/// 802.11be).
const HOLES: [&[u64]; WIDTHS] = [
    &[],
    &[],
    &[0x1, 0x2, 0x4, 0x8],
    &[0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x3, 0xc, 0x30, 0xc0],
    &[
        0x3, 0xc, 0x30, 0xc0, 0x300, 0xc00, 0x3000, 0xc000, 0xf, 0xf0, 0xf00, 0xf000, 0x3f, 0xcf, 0x30f,
        0xc0f, 0x300f, 0xc00f, 0xf003, 0xf00c, 0xf030, 0xf0c0, 0xf300, 0xfc00,
    ],
];

/// How wide the exchanges of a link are if nothing narrows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkWidth {
    pub mhz: u16,
    /// Whether its PPDUs may leave out subchannels.
    pub has_punctured: bool,
}

impl LinkWidth {
    /// The number of the width.
    fn number(self) -> u8 {
        (self.mhz / 20).ilog2() as u8
    }
}

/// The width, in MHz, of what occupies these subchannels.
pub(super) fn width_mhz_of(subchannels: u64) -> u16 {
    20 * subchannels.count_ones() as u16
}

/// The channel of a BSS, or of a node of it: a bit per subchannel of the band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperatingChannel {
    /// By number of the width: the primary channel of this width; all of the channel from its own width on.
    wholes: [u64; WIDTHS],
    /// Subchannels that are never used.
    punctured: u64,
}

impl OperatingChannel {
    /// Of subchannels with these places, the lowest first, of which `primary` is one.
    pub(crate) fn new(places: impl Iterator<Item = u32>, primary: u32) -> OperatingChannel {
        let places: Vec<u32> = places.collect();
        let at = places.iter().position(|&place| place == primary).unwrap_or_default();
        let part = |width: usize| {
            let of_part = |index: &usize| index >> width == at >> width;
            (0..places.len()).filter(of_part).map(|index| 1 << places[index]).sum()
        };
        OperatingChannel { wholes: std::array::from_fn(part), punctured: 0 }
    }

    /// The same of a BSS that never uses these subchannels.
    pub(crate) fn without(self, punctured: u64) -> OperatingChannel {
        OperatingChannel { punctured, ..self }
    }

    /// All of it that is used.
    pub(crate) fn all(&self) -> u64 {
        self.part(WIDTHS - 1)
    }

    /// Its primary channel.
    fn primary(&self) -> u64 {
        self.wholes[0]
    }

    /// Its primary channel of a width, by the number of that, as far as it is used.
    pub(super) fn of_width(&self, width: u8) -> u64 {
        self.part(usize::from(width))
    }

    fn part(&self, width: usize) -> u64 {
        self.wholes[width] & !self.punctured
    }

    /// Whether these subchannels are its primary channel of some width.
    pub(super) fn is_part(&self, subchannels: u64) -> bool {
        (0..WIDTHS).any(|width| self.part(width) == subchannels)
    }

    /// What may be left out of all of it: sets of subchannels, as in Table 36-30.
    pub(crate) fn holes(&self) -> impl Iterator<Item = u64> {
        let all = self.all();
        self.patterns((all.count_ones()).ilog2() as u8).map(move |pattern| all & !pattern)
    }

    /// The Punctured Channel Information of what occupies these subchannels: its place in Table 36-30, 0 if nothing is left
    /// out.
    pub(super) fn puncturing(&self, subchannels: u64) -> u8 {
        let width = self.wholes.iter().position(|whole| subchannels & !whole == 0).unwrap_or_default();
        let left_out = self.wholes[width] & !subchannels;
        let hole = left_out >> self.wholes[width].trailing_zeros();
        HOLES[width].iter().position(|&known| known == hole).map_or(0, |place| place as u8 + 1)
    }

    /// The channel of a node of a width.
    fn up_to(&self, width: u8) -> OperatingChannel {
        let whole = |of: usize| self.wholes[of.min(usize::from(width))];
        OperatingChannel { wholes: std::array::from_fn(whole), ..*self }
    }

    /// What punctured PPDUs of a width may occupy, by the number of that.
    fn patterns(&self, width: u8) -> impl Iterator<Item = u64> {
        let (whole, primary, punctured) = (self.wholes[usize::from(width)], self.primary(), self.punctured);
        let holes = if whole.count_ones() == 1 << width { HOLES[usize::from(width)] } else { &[] };
        let left = holes.iter().map(move |holes| whole & !(holes << whole.trailing_zeros()));
        left.filter(move |pattern| pattern & primary != 0 && pattern & punctured == 0)
    }

    /// The most that a punctured PPDU of at most a width may occupy of these subchannels; of equals the first.
    fn most_punctured(&self, widest: u8, among: u64) -> Option<u64> {
        let all = (0..=widest).flat_map(|width| self.patterns(width));
        all.filter(|pattern| pattern & !among == 0).min_by_key(|pattern| Reverse(pattern.count_ones()))
    }

    /// Whether a node with this channel decodes data frames that occupy these subchannels.
    fn fits(&self, subchannels: u64) -> bool {
        let is_pattern = |width| self.patterns(width).any(|pattern| pattern == subchannels);
        self.is_part(subchannels) || (0..WIDTHS as u8).any(is_pattern)
    }

    /// By number of a width, as far as there are any: the secondary channel of this width, as far as it is used.
    fn secondaries(self) -> impl Iterator<Item = u64> {
        let widths = (1..WIDTHS).take_while(move |&width| self.wholes[width] != self.wholes[width - 1]);
        widths.map(move |width| self.part(width) & !self.part(width - 1))
    }
}

/// Thresholds of secondary channels, and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecondaryRules {
    /// By number of its width: energy from which a secondary channel is busy.
    energies: [Power; WIDTHS - 1],
    /// By the number of its subchannels that a frame occupies, as a power of two: power from which it is busy.
    powers: [Power; WIDTHS - 1],
    /// Power, in one of several subchannels that a frame occupies, from which that is busy.
    of_several: Power,
    /// For so long it must have been idle.
    pifs: Time,
    width_use: WidthUse,
}

/// What wider channels add to a threshold, in dB.
const PER_DOUBLING_DB: f64 = 3.0;

impl SecondaryRules {
    /// With these thresholds, in dBm: of the energy in 20 MHz, and of a frame of 20 or 40 MHz.
    pub(crate) fn new([energy_dbm, frame_dbm]: [f64; 2], width_use: WidthUse, pifs: Time) -> SecondaryRules {
        let energy = |width: usize| energy_dbm + PER_DOUBLING_DB * width as f64;
        // 20 and 40 MHz have one threshold, and each doubling 3 dB more.
        let power = |doublings: usize| frame_dbm + PER_DOUBLING_DB * doublings.saturating_sub(1) as f64;
        SecondaryRules {
            energies: std::array::from_fn(|width| Power::from_dbm(energy(width))),
            powers: std::array::from_fn(|doublings| Power::from_dbm(power(doublings))),
            of_several: Power::from_dbm(frame_dbm - PER_DOUBLING_DB),
            pifs,
            width_use,
        }
    }

    /// The subchannels of a frame that is to occupy those `wanted` and finds these idle, if it may occupy them alone.
    fn allow(&self, idle: u64, wanted: u64) -> Option<u64> {
        (idle == wanted || self.width_use != WidthUse::Static).then_some(idle)
    }

    /// Whether PPDUs of a link may leave out subchannels.
    fn may_puncture(&self, link: LinkWidth) -> bool {
        self.width_use == WidthUse::Punctured && link.has_punctured
    }
}

/// A secondary channel of a node, or one of its subchannels by itself.
#[derive(Debug)]
struct Secondary {
    mask: u64,
    /// Frames on the air that make it busy by their power.
    detected: u32,
    is_busy: bool,
    /// When it last became idle, if it has been busy.
    idle_since: Option<Time>,
}

impl Secondary {
    fn new(mask: u64) -> Secondary {
        Secondary { mask, detected: 0, is_busy: false, idle_since: None }
    }

    /// It is busy from `now` on if it has too much energy, or if a frame makes it so by its power.
    fn sense(&mut self, is_loud: bool, now: Time) {
        let was_busy = std::mem::replace(&mut self.is_busy, is_loud || self.detected > 0);
        if was_busy && !self.is_busy {
            self.idle_since = Some(now);
        }
    }

    fn has_been_idle(&self, rules: &SecondaryRules, now: Time) -> bool {
        !self.is_busy && self.idle_since.is_none_or(|since| since + rules.pifs <= now)
    }
}

/// What a node senses in its subchannels.
#[derive(Debug)]
pub(super) struct SubchannelReceiver {
    channel: OperatingChannel,
    /// By subchannel, the lowest first: sum of the powers of the frames of others.
    energies: Vec<Power>,
    /// From 20 MHz on.
    secondaries: Vec<Secondary>,
    /// Each subchannel but the primary channel, if PPDUs may leave out some.
    singles: Vec<Secondary>,
    /// When the node locked to the frame that it is locked to: the primary channel of the greatest width whose secondary
    /// channels had been idle for a PIFS, and the subchannels that had been.
    idle_at_lock: [u64; 2],
}

/// The places of the bits of a mask.
fn places(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < u64::BITS).then_some(place)
    })
}

impl SubchannelReceiver {
    /// Of a node of a BSS with that channel, whose own width has this number.
    pub(super) fn new(channel: &OperatingChannel, width: u8, rules: &SecondaryRules) -> SubchannelReceiver {
        let channel = channel.up_to(width);
        let span = u64::BITS - channel.all().leading_zeros() - channel.all().trailing_zeros();
        let may_puncture =
            rules.width_use == WidthUse::Punctured && channel.most_punctured(width, u64::MAX).is_some();
        let by_itself = if may_puncture { channel.all() & !channel.primary() } else { 0 };
        SubchannelReceiver {
            channel,
            energies: vec![Power::ZERO; span as usize],
            secondaries: channel.secondaries().map(Secondary::new).collect(),
            singles: places(by_itself).map(|place| Secondary::new(1 << place)).collect(),
            idle_at_lock: [0; 2],
        }
    }

    /// Its channel.
    pub(super) fn channel(&self) -> &OperatingChannel {
        &self.channel
    }

    /// Whether a frame reaches it in its primary channel.
    pub(super) fn has_primary(&self, frame: &FieldFrame) -> bool {
        frame.mask & self.channel.primary() != 0
    }

    /// A frame that has `power` in each subchannel starts; whether it reaches the node.
    pub(super) fn start(&mut self, frame: &FieldFrame, power: Power, rules: &SecondaryRules) -> bool {
        self.each_energy(frame.mask, |energy| *energy += power);
        self.each_detecting(frame, power, rules, |detected| *detected += 1);
        frame.mask & self.channel.all() != 0
    }

    /// It ends.
    pub(super) fn end(&mut self, frame: &FieldFrame, power: Power, rules: &SecondaryRules) -> bool {
        self.each_energy(frame.mask, |energy| *energy -= power);
        self.each_detecting(frame, power, rules, |detected| *detected -= 1);
        frame.mask & self.channel.all() != 0
    }

    fn each_energy(&mut self, mask: u64, mut change: impl FnMut(&mut Power)) {
        let lowest = self.channel.all().trailing_zeros();
        for place in places(mask & self.channel.all()) {
            change(&mut self.energies[(place - lowest) as usize]);
        }
    }

    /// The secondary channels that a frame makes busy by its power.
    fn each_detecting(
        &mut self,
        frame: &FieldFrame,
        power: Power,
        rules: &SecondaryRules,
        mut change: impl FnMut(&mut u32),
    ) {
        if self.has_primary(frame) {
            return;
        }
        for secondary in &mut self.secondaries {
            let occupied = (frame.mask & secondary.mask).count_ones();
            if occupied > 0 && power.times(occupied) >= rules.powers[occupied.ilog2() as usize] {
                change(&mut secondary.detected);
            }
        }
        let threshold = if frame.mask.count_ones() == 1 { rules.powers[0] } else { rules.of_several };
        if power >= threshold {
            let occupied = self.singles.iter_mut().filter(|single| frame.mask & single.mask != 0);
            occupied.for_each(|single| change(&mut single.detected));
        }
    }

    fn energy(&self, place: u32) -> Power {
        self.energies[(place - self.channel.all().trailing_zeros()) as usize]
    }

    /// Works out which secondary channels are busy from `now` on.
    pub(super) fn sense(&mut self, rules: &SecondaryRules, now: Time) {
        for width in 0..self.secondaries.len() {
            let energies = places(self.secondaries[width].mask).map(|place| self.energy(place));
            let is_loud = energies.fold(Power::ZERO, |sum, energy| sum + energy) >= rules.energies[width];
            self.secondaries[width].sense(is_loud, now);
        }
        for index in 0..self.singles.len() {
            let is_loud = self.energy(self.singles[index].mask.trailing_zeros()) >= rules.energies[0];
            self.singles[index].sense(is_loud, now);
        }
    }

    /// By how much the greatest energy of the subchannels of a frame that it receives as a whole exceeds that of its primary
    /// channel.
    pub(super) fn excess(&self, frame: &FieldFrame) -> Power {
        let primary = self.energy(self.channel.primary().trailing_zeros());
        let judged = if frame.is_duplicate { 0 } else { frame.mask & self.channel.all() };
        places(judged).map(|place| self.energy(place).without(primary)).max().unwrap_or(Power::ZERO)
    }

    /// It locks to a frame that starts `now`: whether it can decode a frame that occupies the same subchannels.
    pub(super) fn lock(&mut self, frame: &FieldFrame, rules: &SecondaryRules, now: Time) -> bool {
        self.idle_at_lock = [self.idle_as_a_whole(u64::MAX, rules, now), self.idle_each(rules, now)];
        frame.is_duplicate || self.channel.fits(frame.mask)
    }

    /// The greatest of its primary channels that are among these subchannels and whose secondary channels have been idle.
    fn idle_as_a_whole(&self, among: u64, rules: &SecondaryRules, now: Time) -> u64 {
        self.widest(among, |secondary| secondary.has_been_idle(rules, now))
    }

    /// The greatest of its primary channels that are among these subchannels and whose secondary channels are such.
    fn widest(&self, among: u64, is_such: impl Fn(&Secondary) -> bool) -> u64 {
        let parts = self.secondaries.iter().take_while(|part| part.mask & !among == 0 && is_such(part));
        parts.fold(self.channel.primary(), |whole, part| whole | part.mask)
    }

    /// Its primary channel, and the subchannels that have been idle each by itself.
    fn idle_each(&self, rules: &SecondaryRules, now: Time) -> u64 {
        let idle = self.singles.iter().filter(|single| single.has_been_idle(rules, now));
        idle.fold(self.channel.primary(), |idle, single| idle | single.mask)
    }

    /// The subchannels that an exchange of a link occupies which may begin now; `None` if none may.
    pub(super) fn subchannels(&self, link: LinkWidth, rules: &SecondaryRules, now: Time) -> Option<u64> {
        let wanted = self.channel.of_width(link.number());
        let whole = rules.allow(self.idle_as_a_whole(wanted, rules, now), wanted)?;
        let has_all = whole == wanted || !rules.may_puncture(link);
        Some(if has_all { whole } else { self.most(whole, link, self.idle_each(rules, now)) })
    }

    /// The subchannels that an exchange of a link occupies which follows one that has occupied these.
    pub(super) fn following(&self, link: LinkWidth, before: u64, rules: &SecondaryRules) -> u64 {
        let wanted = self.channel.of_width(link.number());
        let whole = self.widest(wanted & before, |_| true);
        if rules.may_puncture(link) { self.most(whole, link, before) } else { whole }
    }

    /// The most that a punctured PPDU of a link may occupy of these subchannels, if that is more than without puncturing.
    fn most(&self, whole: u64, link: LinkWidth, among: u64) -> u64 {
        let punctured = self.channel.most_punctured(link.number(), among);
        punctured.filter(|pattern| pattern.count_ones() > whole.count_ones()).unwrap_or(whole)
    }

    /// The subchannels of the CTS by which it may answer an RTS that it has decoded and that occupies these; `None` if it may
    /// not. What had been idle counts when it locked to the RTS.
    pub(super) fn answer(&self, rts: u64, rules: &SecondaryRules) -> Option<u64> {
        let [whole, each] = self.idle_at_lock;
        let is_punctured = !self.channel.is_part(rts);
        match is_punctured && rts & !each == 0 {
            true => Some(rts),
            false => rules.allow(self.widest(rts, |part| part.mask & !whole == 0), rts),
        }
    }

    /// Whether a frame that has `power` in each subchannel, alone on the air, makes a secondary channel busy.
    pub(super) fn senses_in_secondaries(
        &self,
        frame: &FieldFrame,
        power: Power,
        rules: &SecondaryRules,
    ) -> bool {
        self.secondaries.iter().zip(rules.energies).any(|(secondary, energy)| {
            let occupied = (frame.mask & secondary.mask).count_ones();
            let sum = power.times(occupied);
            let is_detected =
                !self.has_primary(frame) && occupied > 0 && sum >= rules.powers[occupied.ilog2() as usize];
            sum >= energy || is_detected
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of so many subchannels, of which one is the primary channel.
    fn patterns(subchannels: u32, primary: u32) -> Vec<u64> {
        let channel = OperatingChannel::new(40..40 + subchannels, 40 + primary);
        channel.patterns(subchannels.ilog2() as u8).map(|pattern| pattern >> 40).collect()
    }

    #[test]
    fn a_ppdu_leaves_out_what_the_standard_allows() {
        assert_eq!(patterns(4, 1), [0b1110, 0b1011, 0b0111]);
        assert_eq!(patterns(8, 0).len(), 7 + 3);
        assert_eq!(patterns(16, 0).len(), 7 + 3 + 5);
        assert_eq!(patterns(16, 4).len(), 7 + 3 + 5 + 5);
        let all =
            [(4, 3), (8, 2), (16, 9)].map(|(subchannels, primary)| patterns(subchannels, primary)).concat();
        let mut widths_mhz: Vec<u16> = all.into_iter().map(width_mhz_of).collect();
        widths_mhz.sort_unstable();
        widths_mhz.dedup();
        assert_eq!(widths_mhz, [60, 120, 140, 200, 240, 280]);
    }

    /// Values of Table 36-30.
    #[test]
    fn the_phy_header_says_what_is_left_out() {
        let channel = OperatingChannel::new(8..24, 9);
        let puncturing = |occupied: u64| channel.puncturing(occupied << 8);
        assert_eq!(
            [0xffff, 0xfff3, 0xf0ff, 0xfcf0, 0x03ff].map(puncturing),
            [0, 2, 11, 15, 24],
            "of 320 MHz"
        );
        assert_eq!([0xff, 0xbf, 0xcf].map(puncturing), [0, 7, 11], "of 160 MHz");
        assert_eq!([0xf, 0xb, 0x3, 0x2].map(puncturing), [0, 3, 0, 0], "of 80 MHz and less");
    }

    #[test]
    fn it_occupies_the_most_that_is_idle() {
        let channel = OperatingChannel::new(0..16, 4);
        let most = |busy: u64| channel.most_punctured(4, 0xffff & !busy);
        assert_eq!(most(0x4000), Some(0x3fff), "40 MHz of 320");
        assert_eq!(most(0xc003), Some(0x3ff0), "of two the lowest 80 MHz");
        assert_eq!(most(0x0c03), Some(0xf3f0), "the lowest 80 MHz, and 40 MHz");
        assert_eq!(most(0x0c0c), Some(0xf3f0));
        assert_eq!(most(0x0cc0), Some(0x003f), "no 120 MHz in the middle, but 40 MHz of the lower 160");
        assert_eq!(most(0xffe0), None, "no PPDU leaves out 60 MHz of 80");
    }
}
