//! Several BSSs, as their owner describes them.

use std::collections::BTreeSet;

use wifair_core::SpecError;

use crate::field::OperatingChannel;
use crate::phy::{Band, Block, Format, PhySpec, channel_numbers};
use crate::spec::{AP_LABEL, ApSpec, BssSpec, StationSpec};

/// A BSS, which has a table `field`, and its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct ObssSpec {
    /// The first BSS, with the field, the PHY and the MAC of all.
    pub bss: BssSpec,
    /// Number of the channel of the first BSS; without it all BSSs are on one channel, which has no number.
    pub channel: Option<u16>,
    /// Number of its primary channel; without it the lowest of 20 MHz in the channel.
    pub primary: Option<u16>,
    /// Numbers of channels of 20 MHz in its channel that it never uses.
    pub punctured: Vec<u16>,
    /// The others.
    pub neighbours: Vec<NeighbourSpec>,
}

/// Another BSS.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourSpec {
    /// Unique name of the BSS and of its access point, whose random streams it names.
    pub label: String,
    /// Number of its channel, if the first BSS has one.
    pub channel: Option<u16>,
    /// Width of its channel, if it differs from that of the first BSS.
    pub width_mhz: Option<u16>,
    /// Number of its primary channel; without it the lowest of 20 MHz in the channel.
    pub primary: Option<u16>,
    /// Numbers of channels of 20 MHz in its channel that it never uses.
    pub punctured: Vec<u16>,
    /// The access point.
    pub ap: ApSpec,
    /// The stations.
    pub stations: Vec<StationSpec>,
}

/// Prefix of the keys of a neighbour.
pub(crate) fn neighbour_path(index: usize) -> String {
    format!("neighbours[{index}].")
}

impl ObssSpec {
    /// Each BSS by itself, with the label of its access point.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, BssSpec)> {
        let labels = std::iter::once(AP_LABEL).chain(self.neighbours.iter().map(|of| &*of.label));
        labels.enumerate().map(|(bss, label)| (label, self.spec(bss)))
    }

    /// A BSS by its number: the first is 0, then come its neighbours. [`ObssSpec::check_channels`] says whether the PHY has its
    /// width.
    pub fn spec(&self, bss: usize) -> BssSpec {
        match bss.checked_sub(1).map(|neighbour| &self.neighbours[neighbour]) {
            Some(NeighbourSpec { ap, stations, .. }) => {
                let phy = self.phy_of(bss).unwrap_or_else(|_| self.bss.phy.clone());
                BssSpec { phy, ap: ap.clone(), stations: stations.clone(), ..self.bss.clone() }
            }
            None => self.bss.clone(),
        }
    }

    /// The PHY of a BSS.
    ///
    /// # Errors
    /// The PHY of the first BSS does not have the width.
    fn phy_of(&self, bss: usize) -> Result<PhySpec, SpecError> {
        let Some(index) = bss.checked_sub(1) else { return Ok(self.bss.phy.clone()) };
        let Some(width_mhz) = self.neighbours[index].width_mhz else { return Ok(self.bss.phy.clone()) };
        let path = neighbour_path(index);
        let path = path.trim_end_matches('.');
        let phy = self.bss.phy.with_width(width_mhz, path)?;
        phy.width_mhz(path)?;
        Ok(phy)
    }

    /// The width of the channel of a BSS, in MHz.
    ///
    /// # Errors
    /// As [`ObssSpec::check_channels`].
    pub(crate) fn width_mhz_of(&self, bss: usize) -> Result<u16, SpecError> {
        self.phy_of(bss)?.width_mhz("phy")
    }

    /// The number of the channel of a BSS, and of its primary channel.
    fn numbers_of(&self, bss: usize) -> (Option<u16>, Option<u16>) {
        let of = bss.checked_sub(1).map(|neighbour| &self.neighbours[neighbour]);
        of.map_or((self.channel, self.primary), |of| (of.channel, of.primary))
    }

    /// The numbers of the channels of 20 MHz that a BSS never uses.
    fn punctured_of(&self, bss: usize) -> &[u16] {
        let of = bss.checked_sub(1).map(|neighbour| &self.neighbours[neighbour]);
        of.map_or(&self.punctured, |of| &of.punctured)
    }

    /// The key of a BSS that says its channel, or with another name what else is said of that.
    fn key(bss: usize, name: &str) -> String {
        match bss.checked_sub(1) {
            Some(neighbour) => neighbour_path(neighbour) + name,
            None => format!("bss_{name}"),
        }
    }

    /// The channels of the BSSs, and whether the field has subchannels: checks that all BSSs have a channel of the band and
    /// their width, or none has, and that no two channels overlap by less than 20 MHz.
    ///
    /// # Errors
    /// Names the first BSS with another.
    pub(crate) fn channels(&self) -> Result<(Vec<OperatingChannel>, bool), SpecError> {
        let count = 1 + self.neighbours.len();
        let has_subchannels = self.bss.field.as_ref().is_some_and(|field| field.subchannels);
        if (0..count).all(|bss| self.numbers_of(bss).0.is_none()) {
            for bss in 0..count {
                self.refuse_without_channel(bss)?;
            }
            let width_mhz = self.width_mhz_of(0)?;
            let channel = OperatingChannel::new((0..width_mhz / 20).map(u32::from), 0);
            return Ok((vec![channel; count], has_subchannels));
        }
        let mut blocks: Vec<(Block, u16)> = Vec::new();
        for bss in 0..count {
            let block = self.block(bss)?;
            if let Some((other, _)) = blocks.iter().find(|(other, _)| !block.overlaps_in_whole(other)) {
                let allowed = format!(
                    "{}, which another BSS has and {} overlaps by less than 20 MHz, or one apart from that: {}",
                    other.number,
                    block.number,
                    list(
                        channel_numbers(block.band, block.width_mhz)
                            .iter()
                            .filter(|&&number| { !Block { number, ..block }.overlaps(other) })
                    )
                );
                return Err(SpecError::new(ObssSpec::key(bss, "channel"), block.number, allowed));
            }
            blocks.push((block, self.primary_of(bss, &block)?));
        }
        let differ =
            |(a, of_a): &(Block, u16), (b, of_b): &(Block, u16)| a.overlaps(b) && (a, of_a) != (b, of_b);
        let any_differ = blocks.iter().any(|a| blocks.iter().any(|b| differ(a, b)));
        let any_punctured = (0..count).any(|bss| !self.punctured_of(bss).is_empty());
        let channel = |(bss, (block, primary)): (usize, &(Block, u16))| {
            let places = block.subchannels().map(|subchannel| block.place(subchannel));
            self.used(bss, block, OperatingChannel::new(places, block.place(*primary)))
        };
        let channels = blocks.iter().enumerate().map(channel).collect::<Result<_, _>>()?;
        Ok((channels, has_subchannels || any_differ || any_punctured))
    }

    /// What a BSS uses of its channel.
    ///
    /// # Errors
    /// Its key `punctured` has another channel of 20 MHz, or they are not what PPDUs of all its links may leave out.
    fn used(
        &self,
        bss: usize,
        block: &Block,
        channel: OperatingChannel,
    ) -> Result<OperatingChannel, SpecError> {
        let (key, numbers) = (ObssSpec::key(bss, "punctured"), self.punctured_of(bss));
        if numbers.is_empty() {
            return Ok(channel);
        }
        let spec = self.spec(bss);
        let is_eht = |phy: &PhySpec| phy.format() == Format::Eht;
        let older = spec.stations.iter().find(|station| !station.phy.as_ref().is_none_or(is_eht));
        let allowed = match older {
            _ if !is_eht(&spec.phy) => Some(format!(
                "no such key with {}: only PPDUs of 802.11be leave out channels",
                spec.phy.name()
            )),
            Some(station) => Some(format!(
                "no such key with {:?}, which is not of 802.11be: its PPDUs leave out no channel",
                station.label
            )),
            None if block.width_mhz < 80 => Some(format!(
                "no such key with {} MHz: PPDUs of 80 MHz and more leave out channels",
                block.width_mhz
            )),
            None => None,
        };
        if let Some(allowed) = allowed {
            return Err(SpecError::new(key, list(numbers.iter()), allowed));
        }
        let all: Vec<u16> = block.subchannels().collect();
        let mask = |numbers: &mut dyn Iterator<Item = &u16>| {
            numbers.fold(0, |mask, &number| mask | 1_u64 << block.place(number))
        };
        let is_known = numbers.iter().all(|number| all.contains(number));
        let punctured = if is_known { mask(&mut numbers.iter()) } else { 0 };
        if !channel.holes().any(|hole| hole == punctured) {
            let named = |hole: u64| list(all.iter().filter(|&&number| hole >> block.place(number) & 1 == 1));
            let holes: Vec<String> = channel.holes().map(named).collect();
            let allowed = format!(
                "what PPDUs of {} MHz leave out of channel {} without the primary channel: {}",
                block.width_mhz,
                block.number,
                holes.join("; ")
            );
            return Err(SpecError::new(key, list(numbers.iter()), allowed));
        }
        Ok(channel.without(punctured))
    }

    /// Checks that the field does not ask for subchannels where each channel has one.
    ///
    /// # Errors
    /// Names the key.
    pub fn refuse_idle_subchannels(&self) -> Result<(), SpecError> {
        let asks = self.bss.field.as_ref().is_some_and(|field| field.subchannels);
        let mut widths_mhz = (0..=self.neighbours.len()).filter_map(|bss| self.width_mhz_of(bss).ok());
        if asks && widths_mhz.all(|width_mhz| width_mhz == 20) {
            let allowed = "false: all channels have 20 MHz, so each has one subchannel";
            return Err(SpecError::new("field.subchannels", true, allowed));
        }
        Ok(())
    }

    /// Whether its field has subchannels.
    ///
    /// # Errors
    /// Names the first BSS with a channel that is not allowed.
    pub fn has_subchannels(&self) -> Result<bool, SpecError> {
        Ok(self.channels()?.1)
    }

    /// Checks that a BSS without a channel has no keys of one.
    fn refuse_without_channel(&self, bss: usize) -> Result<(), SpecError> {
        let width_mhz = bss.checked_sub(1).and_then(|index| self.neighbours[index].width_mhz);
        let punctured = self.punctured_of(bss).first().copied();
        let given = [("width_mhz", width_mhz), ("primary", self.numbers_of(bss).1), ("punctured", punctured)];
        match given.into_iter().find_map(|(key, value)| Some((key, value?))) {
            Some((key, value)) => {
                let allowed =
                    "no such key without a channel of each BSS, which says what they have in common";
                Err(SpecError::new(ObssSpec::key(bss, key), value, allowed))
            }
            None => Ok(()),
        }
    }

    /// What the channel of a BSS occupies.
    fn block(&self, bss: usize) -> Result<Block, SpecError> {
        let key = ObssSpec::key(bss, "channel");
        let (band, width_mhz) = (self.bss.phy.band(), self.width_mhz_of(bss)?);
        let Some(number) = self.numbers_of(bss).0 else {
            return Err(SpecError::new(key, "no channel", "a channel of each BSS, or of none"));
        };
        match channel_numbers(band, width_mhz).contains(&number) {
            true => Ok(Block { band, number, width_mhz }),
            false => Err(SpecError::new(key, number, allowed_channels(band, width_mhz, number))),
        }
    }

    /// The number of the primary channel of a BSS.
    fn primary_of(&self, bss: usize, block: &Block) -> Result<u16, SpecError> {
        let mut subchannels = block.subchannels();
        let lowest = subchannels.next().expect("a channel has 20 MHz");
        match self.numbers_of(bss).1 {
            None => Ok(lowest),
            Some(primary) if block.subchannels().any(|subchannel| subchannel == primary) => Ok(primary),
            Some(primary) => {
                let all: Vec<u16> = block.subchannels().collect();
                let allowed =
                    format!("a channel of 20 MHz in channel {}: {}", block.number, list(all.iter()));
                Err(SpecError::new(ObssSpec::key(bss, "primary"), primary, allowed))
            }
        }
    }

    /// The centre of the primary channel of a BSS, in MHz; `None` if BSSs have no channels.
    ///
    /// # Errors
    /// As [`ObssSpec::has_subchannels`].
    pub fn primary_mhz(&self, bss: usize) -> Result<Option<u16>, SpecError> {
        if self.numbers_of(bss).0.is_none() {
            return Ok(None);
        }
        let block = self.block(bss)?;
        Ok(Some(block.centre_mhz(self.primary_of(bss, &block)?)))
    }

    /// Checks that no two nodes have one name.
    ///
    /// # Errors
    /// Names the first that another node has.
    pub(crate) fn check_labels(&self) -> Result<(), SpecError> {
        let of_first = self.bss.stations.iter().map(|station| &*station.label);
        let mut labels: BTreeSet<&str> = of_first.chain([AP_LABEL]).collect();
        for (index, neighbour) in self.neighbours.iter().enumerate() {
            let prefix = neighbour_path(index);
            let own = std::iter::once((format!("{prefix}label"), &*neighbour.label));
            let stations = neighbour.stations.iter().enumerate();
            let stations =
                stations.map(|(i, station)| (format!("{prefix}stations[{i}].label"), &*station.label));
            for (key, label) in own.chain(stations) {
                if label.is_empty() || !labels.insert(label) {
                    let allowed = "a name that no other node of any BSS has, neither empty nor \"ap\"";
                    return Err(SpecError::new(key, format!("{label:?}"), allowed));
                }
            }
        }
        Ok(())
    }
}

fn list<'a>(numbers: impl Iterator<Item = &'a u16>) -> String {
    numbers.map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// The channels of a band and width; if `given` is the number of a narrower one, which contains it.
fn allowed_channels(band: Band, width_mhz: u16, given: u16) -> String {
    let numbers = channel_numbers(band, width_mhz);
    let all = format!("{} for {width_mhz} MHz at {} GHz", list(numbers.iter()), band.ghz());
    let block = |number, width_mhz| Block { band, number, width_mhz };
    let narrower = [20, 40, 80, 160].into_iter().find(|&narrow| {
        narrow < width_mhz && band != Band::Ghz2_4 && channel_numbers(band, narrow).contains(&given)
    });
    let contains = |number: u16, narrow| block(number, width_mhz).overlaps(&block(given, narrow));
    let containing = narrower.and_then(|narrow| numbers.iter().find(|&&number| contains(number, narrow)));
    match containing {
        Some(number) => format!("{all}; {number} contains channel {given}"),
        None => all,
    }
}
