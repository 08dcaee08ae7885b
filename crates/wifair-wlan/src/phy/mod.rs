//! PHYs: the timing of a BSS ([`BssTiming`](timing::BssTiming)) and the modes of its links ([`Modes`]). Durations are as in
//! `docs/medium.md`, section 2.
//!
//! To add one, write its file here and a line in the registry below.

mod channel;
mod contract;
mod keys;
mod mcs;
mod mode;
mod numbers;
mod symbols;
pub(crate) mod timing;

use wifair_core::SpecError;

pub use channel::Band;
use channel::{Requested, Supported, list};
use contract::Phy;
pub use keys::{BandKeys, BssKeys, Coding, ErpProtection, LinkKeys, Preamble, ProtectionKeys};
pub(crate) use mcs::CodeRate;
pub use mode::{Format, MAX_PPDU_DURATION, Mode, Modes, OnAir, RateIndex};
pub(crate) use numbers::Block;
pub use numbers::channel_numbers;

wifair_core::registry! {
    /// A PHY by name, with its keys and those of the BSS.
    PhySpec, matched by each;
    #[serde(rename = "802.11b")]
    Dsss => dsss,
    #[serde(rename = "802.11g")]
    Erp => erp,
    #[serde(rename = "802.11a")]
    Ofdm => ofdm,
    #[serde(rename = "802.11n")]
    Ht => ht,
    #[serde(rename = "802.11ac")]
    Vht => vht,
    #[serde(rename = "802.11ax")]
    He => he,
    #[serde(rename = "802.11be")]
    Eht => eht,
}

impl Default for PhySpec {
    fn default() -> PhySpec {
        PhySpec::Dsss(Default::default())
    }
}

impl PhySpec {
    fn phy(&self) -> &dyn Phy {
        each!(PhySpec: self, spec => spec)
    }

    /// The keys of the BSS, mutable.
    pub fn bss_mut(&mut self) -> &mut BssKeys {
        each!(PhySpec: self, spec => &mut spec.bss)
    }

    /// The rates that a station may have in Mbps, the slowest first; none from 802.11n on, where it has an MCS.
    ///
    /// # Errors
    /// Fails if a key of the PHY is out of range.
    pub fn rates_mbps(&self) -> Result<Vec<f64>, SpecError> {
        let modes = self.modes(&StationPhy::default(), "phy")?;
        Ok(match modes.have_mcs() {
            true => vec![],
            false => modes.rates().map(|rate| rate.as_mbps()).collect(),
        })
    }

    /// The band of a BSS with this PHY.
    pub fn band(&self) -> Band {
        self.phy().characteristics().band
    }

    /// The width of a BSS with this PHY, in MHz; `path` is its key in the plan.
    ///
    /// # Errors
    /// A width or a band that the PHY does not have.
    pub fn width_mhz(&self, path: &str) -> Result<u16, SpecError> {
        Ok(self.supported(path)?.width_mhz)
    }

    /// The same with another width, for another BSS.
    ///
    /// # Errors
    /// A PHY before 802.11n, which has one width; `path` is the key of the BSS in the plan.
    pub(crate) fn with_width(&self, width_mhz: u16, path: &str) -> Result<PhySpec, SpecError> {
        let mut phy = self.clone();
        match each!(PhySpec: &mut phy, spec => spec.link_mut()) {
            Some(link) => link.width_mhz = Some(width_mhz),
            None => {
                let allowed = format!("no such key with {}, whose channels have 20 MHz", self.name());
                return Err(SpecError::new(format!("{path}.width_mhz"), width_mhz, allowed));
            }
        }
        Ok(phy)
    }

    /// The most streams of a link of a BSS with this PHY; `path` is its key in the plan.
    ///
    /// # Errors
    /// As [`PhySpec::width_mhz`].
    pub(crate) fn streams(&self, path: &str) -> Result<u8, SpecError> {
        Ok(self.supported(path)?.streams)
    }

    /// The format of its data frames.
    pub fn format(&self) -> Format {
        self.phy().format()
    }

    /// The preamble of DSSS frames in a BSS with this PHY.
    pub fn preamble(&self) -> Preamble {
        self.phy().preamble()
    }

    /// What a BSS with this PHY offers to its links. `path` is its key in the plan.
    fn supported(&self, path: &str) -> Result<Supported, SpecError> {
        match self.phy().chosen() {
            Some(chosen) => chosen.supported(self.preamble(), path),
            None => Ok(Supported { band: self.band(), preamble: self.preamble(), width_mhz: 20, streams: 1 }),
        }
    }

    fn works_at(&self, band: Band) -> bool {
        match self.phy().chosen() {
            Some(chosen) => chosen.works_at(band),
            None => self.band() == band,
        }
    }

    /// The modes of a link of the BSS with this PHY; `path` is its key in the plan.
    ///
    /// # Errors
    /// A key that is out of range, a combination that the PHY does not have, a PHY of the station that has no place in the BSS.
    pub fn modes(&self, station: &StationPhy, path: &str) -> Result<Modes, SpecError> {
        self.validate(path)?;
        let supported = self.supported(path)?;
        let (own, path) = match station.phy {
            Some(own) => (own, format!("{}.phy", station.path)),
            None => (self, path.to_owned()),
        };
        if station.phy.is_some() {
            self.admit(own, supported.band, &path)?;
            own.validate(&path)?;
        }
        if let (Some(streams), None) = (station.streams, own.phy().chosen()) {
            let allowed = format!("no such key with {}, which has one stream", own.name());
            return Err(SpecError::new(format!("{}.streams", station.path), streams, allowed));
        }
        let implied = station.mcs.and_then(|mcs| own.phy().streams_of(mcs));
        if let (None, Some(mcs), Some(streams)) = (station.streams, station.mcs, implied)
            && streams > supported.streams
        {
            let plural = if supported.streams == 1 { "" } else { "s" };
            let allowed =
                format!("one with at most {} stream{plural}, the BSS's (phy.streams)", supported.streams);
            return Err(SpecError::new(format!("{}.mcs", station.path), mcs, allowed));
        }
        let requested = Requested { supported, streams: station.streams.or(implied), path: station.path };
        Ok(Modes::of_groups(own.phy().modes(&requested, &path)?))
    }

    /// Checks that a station with PHY `own` can be in a BSS with this one.
    fn admit(&self, own: &PhySpec, band: Band, path: &str) -> Result<(), SpecError> {
        let is_older = |own: &PhySpec| own.works_at(band) && own.phy().format() <= self.phy().format();
        if !is_older(own) {
            let names = list(PhySpec::all().iter().filter(|own| is_older(own)).map(PhySpec::name));
            let allowed = format!("{names} in a BSS with {} at {} GHz", self.name(), band.ghz());
            return Err(SpecError::new(path, own.name(), allowed));
        }
        if !own.phy().is_of_link() {
            let allowed = "keys of a link alone: width_mhz, streams, guard_interval_ns, coding, he_ltf, packet_extension_us \
                           as far as the PHY has them; the others belong to the BSS (phy)";
            return Err(SpecError::new(path, "a table with other keys", allowed));
        }
        Ok(())
    }
}

/// A station's PHY settings.
#[derive(Clone, Copy, Default)]
pub struct StationPhy<'a> {
    /// The station's PHY, if it differs from the BSS's.
    pub phy: Option<&'a PhySpec>,
    /// Number of streams.
    pub streams: Option<u8>,
    /// MCS, which in HT determines the number of streams.
    pub mcs: Option<u8>,
    /// Its key in the plan.
    pub path: &'a str,
}

#[cfg(test)]
mod tests;
