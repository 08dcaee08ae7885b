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

/// Whether two channels of one width and band have a frequency in common.
pub fn channels_overlap(a: u16, b: u16, width_mhz: u16) -> bool {
    a.abs_diff(b) * STEP_MHZ < width_mhz
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Annex E of 802.11-2020 (operating classes 81, 83, 115 to 130) and of 802.11ax and be (131 to 137).
    #[test]
    fn numbers_are_those_of_the_operating_classes() {
        let every = |first, last, step| (first..=last).step_by(step).collect::<Vec<u16>>();
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
        for (band, widths_mhz) in [(Band::Ghz5, vec![20, 40, 80, 160]), (Band::Ghz6, vec![20, 40, 80, 160])] {
            for width_mhz in widths_mhz {
                let numbers = channel_numbers(band, width_mhz);
                let overlaps =
                    |a: &&u16| numbers.iter().filter(|b| channels_overlap(**a, **b, width_mhz)).count();
                assert!(numbers.iter().all(|a| overlaps(&a) == 1), "{width_mhz} MHz at {} GHz", band.ghz());
            }
        }
        assert!(channels_overlap(1, 4, 20) && !channels_overlap(1, 5, 20));
        assert!(channels_overlap(31, 63, 320) && !channels_overlap(31, 95, 320));
    }
}
