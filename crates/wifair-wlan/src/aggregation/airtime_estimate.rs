//! The airtime that mac80211 expects of a packet, which airtime queue limits count while the packet is pending.
//!
//! Source: Linux 6.12, `net/mac80211/airtime.c` (`ieee80211_calc_expected_tx_airtime`) and `include/net/mac80211.h`
//! (`ieee80211_info_set_tx_time_est`); 6.1 has no durations of 802.11be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Time;

use crate::phy::{Format, Mode};

/// A version of Linux, for what an access point does as that version does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kernel {
    /// Linux 6.1. It has no durations of 802.11be, so airtime queue limits do not bound packets to an 802.11be station.
    #[serde(rename = "6.1")]
    V6_1,
    /// Linux 6.12.
    #[default]
    #[serde(rename = "6.12")]
    V6_12,
}

/// Bytes of the packet whose duration the kernel's tables have.
const TABLE_BYTES: u32 = 1_024;
/// What the kernel adds to a packet's length.
const ADDED_BYTES: u32 = 38;
/// The estimate has ten bits, in units of 4 µs.
const MAX_US: u32 = 4_095;

/// Data bits per symbol of 20, 40, 80 and 160 MHz by MCS, for HE as the kernel's table has them.
const HE_BITS: [[u32; 12]; 4] = [
    [115, 230, 345, 475, 705, 936, 1_051, 1_166, 1_411, 1_555, 1_756, 1_944],
    [230, 475, 705, 936, 1_411, 1_872, 2_102, 2_347, 2_808, 3_124, 3_513, 3_902],
    [489, 979, 1_468, 1_958, 2_937, 3_916, 4_406, 4_896, 5_875, 6_523, 7_344, 8_164],
    [979, 1_958, 2_937, 3_916, 5_875, 7_833, 8_827, 9_806, 11_764, 13_060, 14_702, 16_329],
];

/// Data bits per symbol and stream.
fn bits_per_symbol(mode: &Mode, mcs: usize) -> u32 {
    let width = (mode.width_mhz / 20).ilog2() as usize;
    let subcarriers = match mode.format {
        Format::He => return HE_BITS[width][mcs],
        // The kernel knows the width of a punctured PPDU, and not what that leaves out.
        Format::Eht if mode.is_punctured() => {
            let width_mhz = 20 * (mode.width_mhz / 20).next_power_of_two();
            return bits_per_symbol(&Mode { width_mhz, ..*mode }, mcs);
        }
        // 1.5 bits of each of 1,960 subcarriers are 2,940; the kernel's table has HE's figure.
        Format::Eht if (width, mcs) == (3, 2) => return 2_937,
        Format::Eht => [234, 468, 980, 1_960, 3_920][width],
        _ => [52, 108, 234, 468][width],
    };
    let mcs = Mode { mcs: mcs as u8, ..*mode }.modulation();
    mcs.code.data_of(subcarriers * mcs.bits)
}

/// Duration of [`TABLE_BYTES`] without a preamble in units of 1/1024 µs, to the 16 bits that the kernel's table keeps.
fn duration_of_table_bytes(mode: &Mode) -> u32 {
    let of_bits = |bits: u32| {
        let symbols = (TABLE_BYTES * 8 * 1_024).div_ceil(u32::from(mode.streams) * bits);
        match (mode.format, mode.guard_interval_ns) {
            (Format::He | Format::Eht, 800) => symbols * 16 * 17 / 20,
            (Format::He | Format::Eht, 1_600) => symbols * 16 * 18 / 20,
            (Format::He | Format::Eht, _) => symbols * 16,
            (_, 400) => symbols * 4 * 18 / 20,
            _ => symbols * 4,
        }
    };
    let mcs = if mode.format == Format::Ht { mode.mcs % 8 } else { mode.mcs };
    let longest = of_bits(bits_per_symbol(mode, 0));
    let shift = 16u32.saturating_sub(longest.leading_zeros());
    of_bits(bits_per_symbol(mode, mcs.into())) >> shift << shift
}

/// The kernel's estimate for a packet of `bytes` when it leaves mac80211's queues, with the MAC header or Ethernet's that it
/// has there, in a mode from HT on. Voice frames are taken to be sent alone. Zero: the kernel knows no duration.
pub fn expected_airtime(kernel: Kernel, mode: &Mode, bytes: u32, is_voice: bool) -> Time {
    if kernel == Kernel::V6_1 && mode.format == Format::Eht {
        return Time::ZERO;
    }
    let duration = duration_of_table_bytes(mode);
    let overhead_us = 36 + 4 * u32::from(mode.streams);
    let data_us = duration.wrapping_mul(bytes + ADDED_BYTES) / TABLE_BYTES / 1_024;
    let estimate_us = if is_voice {
        data_us + overhead_us
    } else {
        // The share of the preamble: more packets are taken to be aggregated at higher rates.
        let shift = match duration.div_ceil(1_024) {
            401.. => 1,
            251.. => 2,
            151.. => 3,
            71.. => 4,
            21.. => 5,
            _ if mode.format != Format::He => 5,
            _ => 6,
        };
        (data_us + (overhead_us >> shift)).max(4)
    };
    let kept_us = u32::from(estimate_us as u16).min(MAX_US) / 4 * 4;
    Time::from_us(kept_us.into())
}

#[cfg(test)]
mod tests {
    use wifair_core::Rate;

    use super::*;

    fn mode(format: Format, mcs: u8, streams: u8, width_mhz: u16, guard_interval_ns: u16) -> Mode {
        Mode { rate: Rate::from_kbps(0), format, ldpc: false, mcs, streams, width_mhz, guard_interval_ns }
    }

    /// By hand, from the rules: 1,024 bytes of HE80 at MCS 11 with two streams are 514 · 1/1024 symbols of 13.6 µs, so 6.82 µs;
    /// 1,552 of them 10.3 µs, with 44 / 64 µs of preamble 10 µs, in units of 4 µs 8.
    #[test]
    fn estimates_by_hand() {
        let us = |mode: &Mode, bytes, is_voice| {
            expected_airtime(Kernel::V6_12, mode, bytes, is_voice).as_ns() / 1_000
        };
        let fast = mode(Format::He, 11, 2, 80, 800);
        assert_eq!(duration_of_table_bytes(&fast), 514 * 16 * 17 / 20);
        assert_eq!(us(&fast, 1_514, false), 8);
        assert_eq!(us(&fast, 1_514, true), 52, "10 + 44");
        assert_eq!(us(&fast, 0, false), 4);
        // HT20, MCS 7: 260 bits per symbol of 4 µs, 126.0 µs per 1,024 bytes, 191 µs with 40 / 16 µs of preamble.
        let ht = mode(Format::Ht, 7, 1, 20, 800);
        assert_eq!(us(&ht, 1_514, false), 192);
        // HE20, MCS 0: 968.8 µs per 1,024 bytes, 1,468 µs with half of 40 µs of preamble.
        let slow = mode(Format::He, 0, 1, 20, 800);
        assert_eq!(us(&slow, 1_514, false), 1_488);
        assert_eq!(us(&slow, 4_200, false), 4_028);
        assert_eq!(us(&slow, 9_000, false), 376, "the product of duration and length has 32 bits");
    }

    #[test]
    fn linux_6_1_knows_no_duration_of_802_11be() {
        let eht = mode(Format::Eht, 13, 2, 320, 800);
        assert_eq!(expected_airtime(Kernel::V6_1, &eht, 1_514, false), Time::ZERO);
        assert_eq!(expected_airtime(Kernel::V6_12, &eht, 1_514, false), Time::from_us(4));
    }

    #[test]
    fn what_a_punctured_ppdu_leaves_out_does_not_count() {
        let us = |width_mhz| {
            expected_airtime(Kernel::V6_12, &mode(Format::Eht, 0, 1, width_mhz, 800), 1_514, false).as_ns()
        };
        assert_eq!([60, 120, 140, 200, 240, 280].map(us), [80, 160, 160, 320, 320, 320].map(us));
        assert!(us(80) > us(160));
    }
}
