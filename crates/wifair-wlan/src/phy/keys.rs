//! Keys of `[phy]` that several PHYs have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timing and overhead of a BSS, for every PHY. Without a key, the PHY's value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BssKeys {
    /// Slot time in µs. The PHY's is 20 (802.11b, or with an 802.11b station in the BSS) or 9 (later PHYs).
    pub slot_us: Option<f64>,
    /// SIFS in µs. The PHY's is 10 (2.4 GHz) or 16 (5 and 6 GHz).
    pub sifs_us: Option<f64>,
    /// MAC header of a data frame in bytes (9.2.3). The PHY's is 24, or 26 with QoS control (802.11n and
    /// later). Table I of `adaptive-pushout` has 30.
    pub mac_header_bytes: Option<u32>,
    /// LLC and SNAP header of a data frame in bytes. Without the key, 8.
    pub llc_bytes: Option<u32>,
    /// Frame check sequence in bytes. Without the key, 4.
    pub fcs_bytes: Option<u32>,
    /// Encrypt data frames by CCMP (12.5.3), which adds a header of 8 bytes and a MIC of 8 bytes to each.
    /// Traces show them decrypted.
    pub ccmp: bool,
    /// Rate of MAC ACK, RTS and CTS in Mbps, whatever the rate of the data frame. Without the key, the lowest
    /// mandatory rate (1 or 6); for 802.11n and later, `basic_rates_mbps` decides.
    pub control_rate_mbps: Option<f64>,
    /// CWmin in slots, a power of two minus one. The PHY's is 31 (802.11b) or 15 (later PHYs).
    pub cw_min: Option<u16>,
    /// CWmax in slots, a power of two minus one. The PHY's is 1023.
    pub cw_max: Option<u16>,
}

/// PLCP preamble (16.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preamble {
    /// 144 µs of preamble and 48 µs of header.
    #[default]
    Long,
    /// 72 µs of preamble and 24 µs of header.
    Short,
}

impl Preamble {
    /// Preamble and header, in µs.
    pub(super) fn us(self) -> f64 {
        match self {
            Preamble::Long => 192.0,
            Preamble::Short => 96.0,
        }
    }
}

/// Protection of OFDM data frames from 802.11b receivers, at 2.4 GHz.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProtectionKeys {
    /// Protection of data frames from 802.11b receivers (10.27.2): cts-to-self or rts-cts. Without the key,
    /// cts-to-self if the BSS has an 802.11b station, else none.
    pub erp_protection: Option<ErpProtection>,
    /// Rate of protection frames in Mbps, one of 802.11b's. Without the key, 1.
    pub protection_rate_mbps: Option<f64>,
    /// Preamble of protection frames (16.2.2): long or short. Without the key, long.
    pub preamble: Option<Preamble>,
}

/// Protection of OFDM frames from 802.11b receivers, which cannot decode them (10.27.2): 802.11b frames
/// announce each data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErpProtection {
    /// The sender transmits a CTS-to-self and waits a SIFS before each data frame.
    CtsToSelf,
    /// RTS and CTS before each data frame except the later ones of a TXOP.
    RtsCts,
}

/// Keys of a BSS with an 802.11n or later PHY, in addition to [`BssKeys`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BandKeys {
    /// Band in GHz: 2.4, 5 or 6, if the PHY has it. Without the key, 5.
    pub band_ghz: Option<f64>,
    /// Basic rates in Mbps, of OFDM. A MAC ACK, RTS or CTS is sent at the highest one that does not exceed
    /// the reference rate of the data frame (10.6.11). Without the key, 6, 12 and 24.
    pub basic_rates_mbps: Option<Vec<f64>>,
}

/// Keys of a link with an 802.11n or later PHY.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkKeys {
    /// Channel width in MHz, 20 to 320 as PHY and band have it. Without the key, 20 for 802.11n and at 2.4 GHz,
    /// else 80; at a station, the BSS's or the most that its PHY has.
    pub width_mhz: Option<u16>,
    /// Greatest number of spatial streams. Without the key, 1; at a station, the BSS's or the most that its
    /// PHY has.
    pub streams: Option<u8>,
    /// Guard interval in ns: 800, also 400 (short) with 802.11n and 802.11ac, 1600 and 3200 with 802.11ax and
    /// 802.11be. Without the key, 800.
    pub guard_interval_ns: Option<u16>,
    /// Forward error correction: bcc or ldpc. Without the key, BCC where the PHY has it: 802.11ax and
    /// 802.11be use LDPC above 20 MHz, from MCS 10 on and with more than 4 streams.
    pub coding: Option<Coding>,
}

/// Forward error correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// Binary convolutional code, constraint length 7.
    Bcc,
    /// Low-density parity check code.
    Ldpc,
}
