//! Keys of `[phy]` that belong to the BSS: every PHY has them beside its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a scenario may set otherwise about timing and overhead of a BSS, whatever its PHY. An absent key takes the PHY's
/// value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BssKeys {
    /// Slot time in µs: 20 (802.11b), 9 (later PHYs).
    pub slot_us: Option<f64>,
    /// Short interframe space in µs: 10 (2.4 GHz), 16 (5 GHz).
    pub sifs_us: Option<f64>,
    /// MAC header of a data frame in bytes (9.2.3): 24; Table I of `adaptive-pushout` has 30.
    pub mac_header_bytes: Option<u32>,
    /// LLC and SNAP header of a data frame in bytes: 8.
    pub llc_bytes: Option<u32>,
    /// Frame check sequence in bytes: 4.
    pub fcs_bytes: Option<u32>,
    /// Rate of MAC ACK, RTS and CTS in Mbps; by default the PHY's lowest mandatory rate (1 or 6).
    pub control_rate_mbps: Option<f64>,
    /// CWmin in slots, a power of two minus one: 31 (802.11b), 15 (later PHYs).
    pub cw_min: Option<u16>,
    /// CWmax in slots, a power of two minus one: 1023.
    pub cw_max: Option<u16>,
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
