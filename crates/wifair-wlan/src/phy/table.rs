//! The table of PHYs: timing, rates, and how long a frame lasts at each.

use wifair_core::{Rate, Time};

use super::{PhyName, Preamble};

/// SERVICE and tail bits of an OFDM frame (17.3.2).
const OFDM_EXTRA_BITS: u32 = 16 + 6;

/// A row of the table.
pub(super) struct Row {
    pub(super) slot_us: f64,
    pub(super) sifs_us: f64,
    pub(super) plcp_us: f64,
    pub(super) signal_extension_us: f64,
    /// aRxPHYStartDelay; it belongs to the preamble.
    pub(super) rx_start_delay_us: f64,
    pub(super) cw_min: u16,
    pub(super) rates: &'static [RateRow],
}

/// A rate in kbit/s and the bits that one unit of airtime carries: half a bit is the unit of `half_bits`.
pub(super) struct RateRow {
    pub(super) kbps: u32,
    pub(super) half_bits: u32,
    pub(super) unit_us: u64,
    pub(super) extra_bits: u32,
}

impl RateRow {
    pub(super) fn on_air(&self, fixed: Time) -> OnAir {
        OnAir {
            rate: Rate::from_kbps(self.kbps),
            head: u64::from(2 * self.extra_bits + self.half_bits - 1),
            reciprocal: (1u64 << 32).div_ceil(u64::from(self.half_bits)),
            unit_ns: self.unit_us * 1_000,
            fixed_ns: fixed.as_ns(),
        }
    }
}

const fn dsss(kbps: u32) -> RateRow {
    RateRow { kbps, half_bits: kbps / 500, unit_us: 1, extra_bits: 0 }
}

const fn ofdm(kbps: u32) -> RateRow {
    RateRow { kbps, half_bits: kbps / 500 * 4, unit_us: 4, extra_bits: OFDM_EXTRA_BITS }
}

const DSSS_RATES: &[RateRow] = &[dsss(1_000), dsss(2_000), dsss(5_500), dsss(11_000)];
const OFDM_RATES: &[RateRow] = &[
    ofdm(6_000),
    ofdm(9_000),
    ofdm(12_000),
    ofdm(18_000),
    ofdm(24_000),
    ofdm(36_000),
    ofdm(48_000),
    ofdm(54_000),
];

pub(super) fn row(name: PhyName, preamble: Preamble, short_slot: bool) -> Row {
    let long = preamble == Preamble::Long;
    match name {
        PhyName::B => Row {
            slot_us: 20.0,
            sifs_us: 10.0,
            plcp_us: if long { 192.0 } else { 96.0 },
            signal_extension_us: 0.0,
            rx_start_delay_us: if long { 192.0 } else { 96.0 },
            cw_min: 31,
            rates: DSSS_RATES,
        },
        PhyName::G => Row {
            slot_us: if short_slot { 9.0 } else { 20.0 },
            sifs_us: 10.0,
            plcp_us: 20.0,
            signal_extension_us: 6.0,
            rx_start_delay_us: 20.0,
            cw_min: 15,
            rates: OFDM_RATES,
        },
        PhyName::A => Row {
            slot_us: 9.0,
            sifs_us: 16.0,
            plcp_us: 20.0,
            signal_extension_us: 0.0,
            rx_start_delay_us: 20.0,
            cw_min: 15,
            rates: OFDM_RATES,
        },
    }
}

/// How long frames last at one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnAir {
    pub rate: Rate,
    /// Half bits that every frame has beyond its PSDU, plus what makes the division round up.
    head: u64,
    /// ⌈2³² / half bits of a unit⌉: a multiplication instead of a division for each frame. Exact while
    /// (half bits of the frame) · (half bits of a unit) < 2³² (Granlund and Montgomery 1994), thus for 600 kB.
    reciprocal: u64,
    unit_ns: u64,
    /// PLCP and signal extension, and what protects the frame.
    pub(super) fixed_ns: u64,
}

impl OnAir {
    /// How long a frame occupies the medium, with the CTS-to-self and the SIFS that may go before it.
    #[inline]
    pub(crate) fn duration(&self, psdu_bytes: u32) -> Time {
        let units = ((self.head + 16 * u64::from(psdu_bytes)) * self.reciprocal) >> 32;
        Time::from_ns(self.fixed_ns + units * self.unit_ns)
    }
}
