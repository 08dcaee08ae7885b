//! OBSS PD of a field: which PPDUs of other BSSs a node ignores, and with which power it then sends (`docs/medium.md`, section
//! 16; 26.10 of 802.11ax-2021).

use wifair_core::{SpecError, Time};

use super::power::{Power, PowerRatio};
use crate::check;
use crate::phy::{Format, Mode};

/// The least OBSS PD level in dBm, OBSS_PDmin, and the greatest.
const LEVELS_DBM: std::ops::RangeInclusive<f64> = -82.0..=-62.0;

/// BSS colours.
const COLOURS: std::ops::RangeInclusive<u8> = 1..=63;

/// From the start of a PPDU to the end of what tells its colour: the preamble of non-HT, RL-SIG, HE-SIG-A or U-SIG.
const COLOUR_ENDS: Time = Time::from_us(32);

/// The OBSS PD level of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObssPd {
    /// By width of a PPDU, 20 MHz and its doubles: the power from which the node does not ignore it.
    levels: [Power; 5],
    /// The allowed power in an opportunity, of the node's transmit power.
    ratio: PowerRatio,
}

impl ObssPd {
    /// Of a node with this level for PPDUs of `width_mhz`, which may send with `reference_dbm` at the least level.
    pub(crate) fn new(level_dbm: f64, width_mhz: u16, reference_dbm: f64, tx_power_dbm: f64) -> ObssPd {
        let of_width = |width: f64| level_dbm - 10.0 * libm::log10(f64::from(width_mhz) / width);
        let above_least_db = of_width(20.0) - LEVELS_DBM.start();
        let allowed_dbm = if above_least_db > 0.0 { reference_dbm - above_least_db } else { f64::INFINITY };
        ObssPd {
            levels: [20.0, 40.0, 80.0, 160.0, 320.0].map(|width| Power::from_dbm(of_width(width))),
            ratio: PowerRatio::from_db((allowed_dbm - tx_power_dbm).min(0.0)),
        }
    }
}

/// TXPWRref of a node, in dBm: an access point's, of so many streams, or a station's.
pub(crate) fn reference_dbm(is_ap: bool, streams: u8) -> f64 {
    if is_ap && streams > 2 { 25.0 } else { 21.0 }
}

/// Whether PPDUs of a format tell the colour of a BSS.
pub(crate) fn has_colour(format: Format) -> bool {
    format >= Format::He
}

/// Checks the keys of an access point at `path`, whose BSS has PPDUs of this format.
///
/// # Errors
/// Returns the key that is not allowed.
pub(crate) fn check(
    bss_color: Option<u8>,
    obss_pd_dbm: Option<f64>,
    format: Format,
    path: &str,
) -> Result<(), SpecError> {
    let given = [("bss_color", bss_color.is_some()), ("obss_pd_dbm", obss_pd_dbm.is_some())];
    if let (false, Some((key, _))) = (has_colour(format), given.into_iter().find(|(_, is_given)| *is_given)) {
        let allowed = "no such key before 802.11ax, whose PPDUs are the first with a BSS colour";
        return Err(SpecError::new(format!("{path}.{key}"), "this key", allowed));
    }
    if let Some(colour) = bss_color.filter(|colour| !COLOURS.contains(colour)) {
        let allowed = format!("{} to {}", COLOURS.start(), COLOURS.end());
        return Err(SpecError::new(format!("{path}.bss_color"), colour, allowed));
    }
    if let Some(level_dbm) = obss_pd_dbm {
        check::number(path, "obss_pd_dbm", level_dbm, LEVELS_DBM, "dBm")?;
    }
    Ok(())
}

/// Which nodes of a field have an OBSS PD level, and the colours of its BSSs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpatialReuse {
    /// By node; empty if no node has one.
    levels: Vec<Option<ObssPd>>,
    /// By BSS. Without one, the BSS has a colour that no other has.
    colours: Vec<Option<u8>>,
}

impl SpatialReuse {
    /// The levels of the nodes, and the colours of the BSSs.
    pub(crate) fn new(mut levels: Vec<Option<ObssPd>>, colours: Vec<Option<u8>>) -> SpatialReuse {
        if levels.iter().all(Option::is_none) {
            levels.clear();
        }
        SpatialReuse { levels, colours }
    }

    /// Whether a node has an OBSS PD level.
    fn is_used(&self) -> bool {
        !self.levels.is_empty()
    }

    /// When the colour is read of a PPDU in `mode` that begins then; zero if none is.
    #[inline]
    pub(super) fn colour_read_at(&self, mode: &Mode, begins: Time) -> Time {
        if self.is_used() && has_colour(mode.format) { begins + COLOUR_ENDS } else { Time::ZERO }
    }

    /// The power from which a node of one BSS does not ignore a PPDU of another, whose width has this number; zero if it
    /// ignores none.
    pub(super) fn level(&self, node: usize, width: u8, (own, other): (usize, usize)) -> Power {
        let colour = |bss: usize| (self.colours[bss], bss);
        let is_same = match (colour(own), colour(other)) {
            ((None, own), (_, other)) | ((_, own), (None, other)) => own == other,
            ((own, _), (other, _)) => own == other,
        };
        match self.levels[node] {
            Some(of) if !is_same => of.levels[usize::from(width)],
            _ => Power::ZERO,
        }
    }

    /// The power that a node may send with in an opportunity, of its transmit power.
    pub(super) fn ratio(&self, node: usize) -> PowerRatio {
        self.levels.get(node).copied().flatten().map_or(PowerRatio::WHOLE, |of| of.ratio)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The rule of 26.10.2.4, in its own form: the level is at most -82 dBm and what the power is below the reference, 3 dB
        /// more per doubling of the width.
        #[test]
        fn no_power_exceeds_what_the_level_allows(
            level_dbm in -82.0..=-62.0,
            doublings in 0_i32..5,
            reference_dbm in prop::sample::select(vec![21.0, 25.0]),
            tx_power_dbm in 0.0..30.0,
        ) {
            let width_mhz = 20 << doublings;
            let of = ObssPd::new(level_dbm, width_mhz, reference_dbm, tx_power_dbm);
            let sent_dbm = of.ratio.of(Power::from_dbm(tx_power_dbm - 45.0)).as_dbm() + 45.0;
            let least = -82.0 + 10.0 * f64::from(1 << doublings).log10();
            prop_assert!(sent_dbm <= tx_power_dbm + 1e-6);
            if level_dbm > least {
                prop_assert!(level_dbm <= least + reference_dbm - sent_dbm + 1e-6, "{sent_dbm} dBm");
                let lost = sent_dbm < tx_power_dbm.min(reference_dbm - (level_dbm - least)) - 0.05;
                prop_assert!(!lost, "less than is allowed: {sent_dbm} dBm");
            } else {
                prop_assert_eq!(of.ratio, PowerRatio::WHOLE);
            }
        }
    }

    #[test]
    fn the_power_rule_has_these_figures() {
        let sent_dbm = |level_dbm, width_mhz, reference_dbm, tx_power_dbm| {
            let ratio = ObssPd::new(level_dbm, width_mhz, reference_dbm, tx_power_dbm).ratio;
            (ratio.of(Power::from_dbm(tx_power_dbm - 50.0)).as_dbm() + 50.0).round()
        };
        assert_eq!(sent_dbm(-72.0, 20, 21.0, 20.0), 11.0); // 21 - 10
        assert_eq!(sent_dbm(-72.0, 80, 21.0, 20.0), 17.0); // 21 - 4, as 80 MHz have 6 dB more
        assert_eq!(sent_dbm(-72.0, 20, 25.0, 20.0), 15.0); // an access point with three streams
        assert_eq!(sent_dbm(-62.0, 20, 21.0, 15.0), 1.0);
        assert_eq!(sent_dbm(-72.0, 20, 21.0, 9.0), 9.0); // less than is allowed
        assert_eq!(sent_dbm(-82.0, 20, 21.0, 23.0), 23.0); // the least level limits nothing
    }

    #[test]
    fn bsss_without_a_number_have_different_colours() {
        let of = Some(ObssPd::new(-70.0, 20, 21.0, 15.0));
        let reuse = SpatialReuse { levels: vec![of; 4], colours: vec![None, Some(1), Some(1), Some(2)] };
        let ignores = |own, other| reuse.level(own, 0, (own, other)) > Power::ZERO;
        assert!(!ignores(0, 0) && !ignores(1, 1) && !ignores(1, 2) && !ignores(2, 1));
        assert!(ignores(0, 1) && ignores(1, 0) && ignores(1, 3) && ignores(3, 2));
    }
}
