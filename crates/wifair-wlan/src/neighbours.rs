//! Several BSSs on one channel, as their owner describes them.

use std::collections::BTreeSet;

use wifair_core::SpecError;

use crate::spec::{AP_LABEL, ApSpec, BssSpec, StationSpec};

/// A BSS, which has a table `field`, and its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct ObssSpec {
    /// The first BSS, with the field, the channel, the PHY and the MAC of all.
    pub bss: BssSpec,
    /// The others.
    pub neighbours: Vec<NeighbourSpec>,
}

/// Another BSS on the channel.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourSpec {
    /// Unique name of the BSS and of its access point, whose random streams it names.
    pub label: String,
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
