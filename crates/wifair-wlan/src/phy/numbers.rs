//! Channel numbers: a channel has the number of its centre frequency, in steps of 5 MHz from the start of its band
//! (802.11-2020, 27.3.23; Annex E has the numbers of each operating class).

use super::Band;

/// Step of channel numbers, in MHz.
const STEP_MHZ: u16 = 5;

/// Numbers of the channels of 20 MHz that one after the other touch, the first and the last of each run.
const RUNS_5_GHZ: [(u16, u16); 3] = [(36, 64), (100, 144), (149, 177)];
const RUNS_6_GHZ: [(u16, u16); 1] = [(1, 233)];
/// At 2.4 GHz channels overlap: those of 20 MHz, and those of 40 MHz.
const RUN_2_4_GHZ: (u16, u16) = (1, 13);
const RUN_2_4_GHZ_40_MHZ: (u16, u16) = (3, 11);

/// The numbers of the channels of a width, in order.
pub fn channel_numbers(band: Band, width_mhz: u16) -> Vec<u16> {
    let runs: &[(u16, u16)] = match band {
        Band::Ghz2_4 => {
            let (first, last) = if width_mhz > 20 { RUN_2_4_GHZ_40_MHZ } else { RUN_2_4_GHZ };
            return (first..=last).collect();
        }
        Band::Ghz5 => &RUNS_5_GHZ,
        Band::Ghz6 => &RUNS_6_GHZ,
    };
    // Channels of 320 MHz begin at every second place of one of 160 MHz (36.3.24.2): 31 and 63 overlap.
    let step_mhz = width_mhz.min(160);
    let of_run = |&(first, last): &(u16, u16)| {
        let most = (last - first + 4) * STEP_MHZ;
        let places = (0..).map(move |place| place * step_mhz).take_while(move |at| at + width_mhz <= most);
        places.map(move |at| first + (at + width_mhz / 2) / STEP_MHZ - 2) // the lower edge is 10 MHz below `first`
    };
    runs.iter().flat_map(of_run).collect()
}

/// What a channel occupies of its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub band: Band,
    pub number: u16,
    pub width_mhz: u16,
}

impl Block {
    /// Whether two channels of one band have a frequency in common.
    pub(crate) fn overlaps(&self, other: &Block) -> bool {
        2 * self.number.abs_diff(other.number) * STEP_MHZ < self.width_mhz + other.width_mhz
    }

    /// Whether they have whole channels of 20 MHz in common, if anything.
    pub(crate) fn overlaps_in_whole(&self, other: &Block) -> bool {
        let (first, of_other) = (self.subchannels().next(), other.subchannels().next());
        let apart = first.zip(of_other).map_or(0, |(a, b)| a.abs_diff(b));
        !self.overlaps(other) || (apart * STEP_MHZ).is_multiple_of(20)
    }

    /// The numbers of its channels of 20 MHz, the lowest first.
    pub(crate) fn subchannels(self) -> impl Iterator<Item = u16> {
        let lowest = self.number + 2 - self.width_mhz / (2 * STEP_MHZ);
        (0..self.width_mhz / 20).map(move |place| lowest + 4 * place)
    }

    /// The centre of one of them, in MHz.
    pub(crate) fn centre_mhz(&self, subchannel: u16) -> u16 {
        let start_mhz = match self.band {
            Band::Ghz2_4 => 2_407,
            Band::Ghz5 => 5_000,
            Band::Ghz6 => 5_950,
        };
        start_mhz + STEP_MHZ * subchannel
    }

    /// The place of one of them in masks of the band: channels of 20 MHz that do not overlap have different places.
    pub(crate) fn place(&self, subchannel: u16) -> u32 {
        match self.band {
            Band::Ghz2_4 => u32::from(subchannel),
            Band::Ghz5 => u32::from(subchannel - RUNS_5_GHZ[0].0) / 4,
            Band::Ghz6 => u32::from(subchannel - RUNS_6_GHZ[0].0) / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(first: u16, last: u16, step: usize) -> Vec<u16> {
        (first..=last).step_by(step).collect()
    }

    /// Annex E of 802.11-2020 (operating classes 81, 83, 115 to 130) and of 802.11ax and be (131 to 137).
    #[test]
    fn numbers_are_those_of_the_operating_classes() {
        let five = |width_mhz| channel_numbers(Band::Ghz5, width_mhz);
        assert_eq!(five(20), [every(36, 64, 4), every(100, 144, 4), every(149, 177, 4)].concat());
        assert_eq!(five(40), [every(38, 62, 8), every(102, 142, 8), every(151, 175, 8)].concat());
        assert_eq!(five(80), [42, 58, 106, 122, 138, 155, 171]);
        assert_eq!(five(160), [50, 114, 163]);
        let six = |width_mhz| channel_numbers(Band::Ghz6, width_mhz);
        assert_eq!(six(20), every(1, 233, 4));
        assert_eq!(six(40), every(3, 227, 8));
        assert_eq!(six(80), every(7, 215, 16));
        assert_eq!(six(160), every(15, 207, 32));
        assert_eq!(six(320), every(31, 191, 32));
        assert_eq!(channel_numbers(Band::Ghz2_4, 20), every(1, 13, 1));
        assert_eq!(channel_numbers(Band::Ghz2_4, 40), every(3, 11, 1));
    }

    #[test]
    fn channels_of_one_width_overlap_only_where_their_grids_do() {
        let overlap = |band, width_mhz, a, b| {
            let [a, b] = [a, b].map(|number| Block { band, number, width_mhz });
            a.overlaps(&b)
        };
        for (band, widths_mhz) in [(Band::Ghz5, vec![20, 40, 80, 160]), (Band::Ghz6, vec![20, 40, 80, 160])] {
            for width_mhz in widths_mhz {
                let numbers = channel_numbers(band, width_mhz);
                let overlaps = |a: u16| numbers.iter().filter(|&&b| overlap(band, width_mhz, a, b)).count();
                assert!(numbers.iter().all(|&a| overlaps(a) == 1), "{width_mhz} MHz at {} GHz", band.ghz());
            }
        }
        assert!(overlap(Band::Ghz2_4, 20, 1, 4) && !overlap(Band::Ghz2_4, 20, 1, 5));
        assert!(overlap(Band::Ghz6, 320, 31, 63) && !overlap(Band::Ghz6, 320, 31, 95));
    }

    #[test]
    fn channels_have_subchannels() {
        let of = |band, number, width_mhz| Block { band, number, width_mhz };
        let subchannels =
            |band, number, width_mhz| of(band, number, width_mhz).subchannels().collect::<Vec<_>>();
        assert_eq!(subchannels(Band::Ghz5, 36, 20), [36]);
        assert_eq!(subchannels(Band::Ghz5, 42, 80), [36, 40, 44, 48]);
        assert_eq!(subchannels(Band::Ghz5, 163, 160), every(149, 177, 4));
        assert_eq!(subchannels(Band::Ghz6, 31, 320), every(1, 61, 4));
        assert_eq!(subchannels(Band::Ghz2_4, 3, 40), [1, 5]);
        let in_whole = |a: Block, b: Block| a.overlaps(&b).then(|| a.overlaps_in_whole(&b));
        assert_eq!(in_whole(of(Band::Ghz5, 42, 80), of(Band::Ghz5, 48, 20)), Some(true));
        assert_eq!(in_whole(of(Band::Ghz5, 42, 80), of(Band::Ghz5, 52, 20)), None);
        assert_eq!(in_whole(of(Band::Ghz2_4, 3, 40), of(Band::Ghz2_4, 5, 20)), Some(true));
        assert_eq!(in_whole(of(Band::Ghz2_4, 3, 40), of(Band::Ghz2_4, 6, 20)), Some(false));
        assert_eq!(in_whole(of(Band::Ghz6, 31, 320), of(Band::Ghz6, 63, 320)), Some(true));
    }
}
