//! Subchannels of a field (`docs/medium.md`, section 16): channels of 20 MHz, of which those of BSSs consist. What a node
//! senses in each.

use wifair_core::Time;

use super::frame::FieldFrame;
use super::power::Power;

/// Widths by number: 20 MHz and its doubles.
const WIDTHS: usize = 5;

/// The channel of a BSS, or of a node of it: a bit per subchannel of the band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperatingChannel {
    /// By number of the width: the primary channel of this width; all of the channel from its own width on.
    parts: [u64; WIDTHS],
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
        OperatingChannel { parts: std::array::from_fn(part) }
    }

    /// All of it.
    pub(crate) fn all(&self) -> u64 {
        self.parts[WIDTHS - 1]
    }

    /// Its primary channel.
    fn primary(&self) -> u64 {
        self.parts[0]
    }

    /// Its primary channel of a width, by the number of that.
    pub(super) fn of_width(&self, width: u8) -> u64 {
        self.parts[usize::from(width)]
    }

    /// The channel of a node of a width.
    fn up_to(&self, width: u8) -> OperatingChannel {
        OperatingChannel { parts: std::array::from_fn(|of| self.parts[of.min(usize::from(width))]) }
    }

    /// By number of a width, as far as there are any: the secondary channel of this width.
    fn secondaries(&self) -> impl Iterator<Item = u64> {
        let parts = self.parts;
        (1..WIDTHS).map(move |width| parts[width] & !parts[width - 1]).take_while(|part| *part != 0)
    }
}

/// How wide an exchange is whose sender finds a secondary channel busy.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum WidthUse {
    /// As wide as the link's mode: the sender draws a new backoff (10.23.2.5). From 802.11ac on the addressee of an RTS sends
    /// no CTS if a secondary channel is busy there (10.3.2.9).
    #[default]
    Static,
    /// As wide as the secondary channels that are idle allow; after an RTS from 802.11ac on, those of its addressee too.
    Dynamic,
}

impl WidthUse {
    /// Whether it is the default, which canonical plans leave out.
    pub(crate) fn is_static(&self) -> bool {
        *self == WidthUse::Static
    }
}

/// Thresholds of secondary channels, and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecondaryRules {
    /// By number of its width: energy from which a secondary channel is busy.
    energies: [Power; WIDTHS - 1],
    /// By the number of its subchannels that a frame occupies, as a power of two: power from which it is busy.
    powers: [Power; WIDTHS - 1],
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
            pifs,
            width_use,
        }
    }

    /// The number of the width of a frame that is to have the width `wanted`, if it may have at most the width `widest`.
    fn allow(&self, widest: u8, wanted: u8) -> Option<u8> {
        (widest == wanted || self.width_use == WidthUse::Dynamic).then_some(widest)
    }
}

/// A secondary channel of a node.
#[derive(Debug)]
struct Secondary {
    mask: u64,
    /// Frames on the air that make it busy by their power.
    detected: u32,
    is_busy: bool,
    /// When it last became idle, if it has been busy.
    idle_since: Option<Time>,
}

/// What a node senses in its subchannels.
#[derive(Debug)]
pub(super) struct SubchannelReceiver {
    channel: OperatingChannel,
    /// By subchannel, the lowest first: sum of the powers of the frames of others.
    energies: Vec<Power>,
    /// From 20 MHz on.
    secondaries: Vec<Secondary>,
    /// A bit per secondary channel: whether it had been idle for a PIFS when the node locked to the frame that it is locked to.
    idle_at_lock: u8,
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
    pub(super) fn new(channel: &OperatingChannel, width: u8) -> SubchannelReceiver {
        let channel = channel.up_to(width);
        let span = u64::BITS - channel.all().leading_zeros() - channel.all().trailing_zeros();
        let secondary = |mask| Secondary { mask, detected: 0, is_busy: false, idle_since: None };
        SubchannelReceiver {
            channel,
            energies: vec![Power::ZERO; span as usize],
            secondaries: channel.secondaries().map(secondary).collect(),
            idle_at_lock: 0,
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
    }

    fn energy(&self, place: u32) -> Power {
        self.energies[(place - self.channel.all().trailing_zeros()) as usize]
    }

    /// Works out which secondary channels are busy from `now` on.
    pub(super) fn sense(&mut self, rules: &SecondaryRules, now: Time) {
        for width in 0..self.secondaries.len() {
            let energies = places(self.secondaries[width].mask).map(|place| self.energy(place));
            let is_loud = energies.fold(Power::ZERO, |sum, energy| sum + energy) >= rules.energies[width];
            let secondary = &mut self.secondaries[width];
            let was_busy = std::mem::replace(&mut secondary.is_busy, is_loud || secondary.detected > 0);
            if was_busy && !secondary.is_busy {
                secondary.idle_since = Some(now);
            }
        }
    }

    /// By how much the greatest energy of the subchannels of a frame that it receives as a whole exceeds that of its primary
    /// channel.
    pub(super) fn excess(&self, frame: &FieldFrame) -> Power {
        let primary = self.energy(self.channel.primary().trailing_zeros());
        let judged = if frame.is_duplicate { 0 } else { frame.mask & self.channel.all() };
        places(judged).map(|place| self.energy(place).without(primary)).max().unwrap_or(Power::ZERO)
    }

    /// It locks to a frame that starts `now`: whether it can decode a frame of that width.
    pub(super) fn lock(&mut self, frame: &FieldFrame, rules: &SecondaryRules, now: Time) -> bool {
        self.idle_at_lock = 0;
        for width in 0..self.secondaries.len() {
            self.idle_at_lock |= u8::from(self.has_been_idle(width, rules, now)) << width;
        }
        frame.is_duplicate || self.channel.parts.contains(&frame.mask)
    }

    fn has_been_idle(&self, width: usize, rules: &SecondaryRules, now: Time) -> bool {
        let secondary = &self.secondaries[width];
        !secondary.is_busy && secondary.idle_since.is_none_or(|since| since + rules.pifs <= now)
    }

    /// The number of the width, up to `wanted`, of an exchange that may begin now; `None` if none may.
    pub(super) fn width(&self, wanted: u8, rules: &SecondaryRules, now: Time) -> Option<u8> {
        let idle = (0..wanted).take_while(|&width| self.has_been_idle(usize::from(width), rules, now));
        rules.allow(idle.count() as u8, wanted)
    }

    /// The number of the width, up to `wanted`, of the CTS by which it may answer an RTS of that width that it has decoded;
    /// `None` if it may not. Secondary channels count that had been idle when it locked to the RTS.
    pub(super) fn width_of_answer(&self, wanted: u8, rules: &SecondaryRules) -> Option<u8> {
        let widest = wanted.min(self.idle_at_lock.trailing_ones() as u8);
        rules.allow(widest, wanted)
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
