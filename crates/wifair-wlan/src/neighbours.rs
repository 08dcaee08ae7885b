//! Several BSSs, as their owner describes them.

use std::collections::BTreeSet;

use wifair_core::SpecError;

use crate::phy::{Band, channel_numbers, channels_overlap};
use crate::spec::{AP_LABEL, ApSpec, BssSpec, StationSpec};

/// A BSS, which has a table `field`, and its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct ObssSpec {
    /// The first BSS, with the field, the PHY and the MAC of all.
    pub bss: BssSpec,
    /// Number of the channel of the first BSS; without it all BSSs are on one channel, which has no number.
    pub channel: Option<u16>,
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

    /// A BSS by its number: the first is 0, then come its neighbours.
    pub fn spec(&self, bss: usize) -> BssSpec {
        match bss.checked_sub(1).map(|neighbour| &self.neighbours[neighbour]) {
            Some(NeighbourSpec { ap, stations, .. }) => {
                BssSpec { ap: ap.clone(), stations: stations.clone(), ..self.bss.clone() }
            }
            None => self.bss.clone(),
        }
    }

    /// The number of the channel of a BSS.
    pub(crate) fn channel_of(&self, bss: usize) -> Option<u16> {
        bss.checked_sub(1).map_or(self.channel, |neighbour| self.neighbours[neighbour].channel)
    }

    /// Checks that all BSSs have a channel of the band and width of the PHY, or none has, and that no two channels overlap in
    /// part.
    ///
    /// # Errors
    /// Names the first BSS with another.
    pub(crate) fn check_channels(&self) -> Result<(), SpecError> {
        let key = |bss: usize| match bss.checked_sub(1) {
            Some(neighbour) => neighbour_path(neighbour) + "channel",
            None => "bss_channel".to_owned(),
        };
        let channels: Vec<Option<u16>> =
            (0..=self.neighbours.len()).map(|bss| self.channel_of(bss)).collect();
        if channels.iter().all(Option::is_none) {
            return Ok(());
        }
        let (band, width_mhz) = (self.bss.phy.band(), self.bss.phy.width_mhz("phy")?);
        let numbers = channel_numbers(band, width_mhz);
        for (bss, channel) in channels.iter().enumerate() {
            let Some(channel) = *channel else {
                let allowed = "a channel of each BSS, or of none";
                return Err(SpecError::new(key(bss), "no channel", allowed));
            };
            if !numbers.contains(&channel) {
                return Err(SpecError::new(key(bss), channel, allowed_channels(band, width_mhz, channel)));
            }
            let earlier = channels[..bss].iter().flatten().copied();
            if let Some(other) = earlier
                .into_iter()
                .find(|&other| other != channel && channels_overlap(other, channel, width_mhz))
            {
                let apart = numbers.iter().filter(|&&number| !channels_overlap(other, number, width_mhz));
                let allowed = format!(
                    "{other}, which another BSS has and {channel} overlaps in part, or one apart from that: {}",
                    list(apart)
                );
                return Err(SpecError::new(key(bss), channel, allowed));
            }
        }
        Ok(())
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
    let is_narrower = [20, 40, 80, 160].iter().any(|&narrow| {
        narrow < width_mhz && band != Band::Ghz2_4 && channel_numbers(band, narrow).contains(&given)
    });
    let containing =
        numbers.iter().filter(|_| is_narrower).find(|&&number| channels_overlap(number, given, width_mhz));
    match containing {
        Some(number) => format!("{all}; {number} contains channel {given}"),
        None => all,
    }
}
