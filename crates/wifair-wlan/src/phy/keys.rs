//! Keys of `[phy]` that several PHYs have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a scenario may set otherwise about timing and overhead of a BSS, whatever its PHY. An absent key takes the PHY's
/// value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BssKeys {
    /// Slot time in µs: 20 (802.11b, or an 802.11b station in the BSS), 9 (later PHYs).
    pub slot_us: Option<f64>,
    /// Short interframe space in µs: 10 (2.4 GHz), 16 (5 and 6 GHz).
    pub sifs_us: Option<f64>,
    /// MAC header of a data frame in bytes (9.2.3): 24, or 26 with QoS control (802.11n and later); Table I of
    /// `adaptive-pushout` has 30.
    pub mac_header_bytes: Option<u32>,
    /// LLC and SNAP header of a data frame in bytes: 8.
    pub llc_bytes: Option<u32>,
    /// Frame check sequence in bytes: 4.
    pub fcs_bytes: Option<u32>,
    /// Whether data frames are encrypted by CCMP (12.5.3), which adds a header of 8 bytes and a MIC of 8 bytes to each: false.
    /// Traces have them decrypted.
    pub ccmp: bool,
    /// Rate of MAC ACK, RTS and CTS in Mbps, whatever they answer. By default the lowest mandatory rate (1 or 6), for 802.11n
    /// and later what `basic_rates_mbps` says.
    pub control_rate_mbps: Option<f64>,
    /// CWmin in slots, a power of two minus one: 31 (802.11b), 15 (later PHYs).
    pub cw_min: Option<u16>,
    /// CWmax in slots, a power of two minus one: 1023.
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
    /// Protection of data frames from 802.11b receivers, cts-to-self or rts-cts. By default cts-to-self if the BSS has an
    /// 802.11b station, else none.
    pub erp_protection: Option<ErpProtection>,
    /// Rate of the frames that protect, one of 802.11b's: 1.
    pub protection_rate_mbps: Option<f64>,
    /// Preamble of the frames that protect, 802.11b's long or short (16.2.2): long.
    pub preamble: Option<Preamble>,
}

/// How OFDM frames are kept from 802.11b receivers, which do not hear them (10.27.2): each data frame is announced by frames
/// that these understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErpProtection {
    /// The sender puts a CTS addressed to itself and a SIFS before each data frame.
    CtsToSelf,
    /// RTS and CTS before each data frame, but those that follow in a TXOP.
    RtsCts,
}

/// What 802.11n and later PHYs say of a BSS, beside [`BssKeys`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BandKeys {
    /// Band in GHz: 2.4, 5 or 6, as far as the PHY works there; 5.
    pub band_ghz: Option<f64>,
    /// Basic rates in Mbps, of OFDM: 6, 12 and 24. A MAC ACK, RTS or CTS is sent at the highest that does not exceed the
    /// reference rate of the data frame's mode (10.6.11).
    pub basic_rates_mbps: Option<Vec<f64>>,
}

/// What 802.11n and later PHYs say of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkKeys {
    /// Channel width in MHz. By default 20 for 802.11n and at 2.4 GHz, else 80; of a station, the BSS's as far as its PHY
    /// goes.
    pub width_mhz: Option<u16>,
    /// Greatest number of spatial streams: 1; of a station, the BSS's as far as its PHY goes.
    pub streams: Option<u8>,
    /// Guard interval in ns: 800. 400 is the short one of 802.11n and 802.11ac; 802.11ax and 802.11be have 1600 and 3200.
    pub guard_interval_ns: Option<u16>,
    /// Forward error correction, bcc or ldpc. By default BCC wherever the PHY has it: LDPC above 20 MHz, from MCS 10 on and
    /// with more than 4 streams in 802.11ax and 802.11be.
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
