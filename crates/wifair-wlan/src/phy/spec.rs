//! What a scenario says of a PHY.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The PHYs that the table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PhyName {
    /// DSSS and HR-DSSS at 2.4 GHz: 1, 2, 5.5, 11 Mbps (clauses 15 and 16).
    #[default]
    #[serde(rename = "802.11b")]
    B,
    /// ERP-OFDM at 2.4 GHz in a BSS without 802.11b stations: 6 to 54 Mbps (clause 18).
    #[serde(rename = "802.11g")]
    G,
    /// OFDM at 5 GHz, 20 MHz channels: 6 to 54 Mbps (clause 17).
    #[serde(rename = "802.11a")]
    A,
}

/// PLCP preamble of 802.11b (16.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preamble {
    /// 144 µs of preamble and 48 µs of header.
    #[default]
    Long,
    /// 72 µs of preamble and 24 µs of header.
    Short,
}

/// How an 802.11g BSS keeps 802.11b receivers, which do not hear OFDM, from transmitting into its frames (10.27.2): each
/// data frame is announced by frames that these understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErpProtection {
    /// The sender puts a CTS addressed to itself and a SIFS before each data frame.
    CtsToSelf,
    /// RTS and CTS before each data frame, but those that follow in a TXOP.
    RtsCts,
}

/// A PHY of the table, with every value that a paper's own table may set otherwise. An absent key takes the
/// PHY's value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhySpec {
    /// The PHY: 802.11b, 802.11g or 802.11a.
    pub name: PhyName,
    /// Preamble of 802.11b, long or short (16.2.2); long by default. With `erp_protection` that of the frames that protect;
    /// refused for other PHYs.
    pub preamble: Option<Preamble>,
    /// Whether 802.11g uses its 9 µs slot (18.3.5); true by default, false gives 20 µs; refused for other PHYs.
    pub short_slot: Option<bool>,
    /// Slot time in µs: 20 (b), 9 (a, g).
    pub slot_us: Option<f64>,
    /// Short interframe space in µs: 10 (b, g), 16 (a).
    pub sifs_us: Option<f64>,
    /// Preamble and header of the PHY in µs: 192 (b, long), 96 (b, short), 20 (a, g).
    pub plcp_us: Option<f64>,
    /// Silence in µs that ends each OFDM frame at 2.4 GHz (18.3.2.4): 6 (g), 0 (a, b).
    pub signal_extension_us: Option<f64>,
    /// MAC header of a data frame in bytes (9.2.3): 24; Table I of `adaptive-pushout` has 30.
    pub mac_header_bytes: Option<u32>,
    /// LLC and SNAP header of a data frame in bytes: 8.
    pub llc_bytes: Option<u32>,
    /// Frame check sequence in bytes: 4.
    pub fcs_bytes: Option<u32>,
    /// Rate of MAC ACK, RTS and CTS in Mbps; by default the PHY's lowest mandatory rate (1 or 6).
    pub control_rate_mbps: Option<f64>,
    /// Protection of 802.11g's data frames from 802.11b receivers, cts-to-self or rts-cts; none by default, refused for
    /// other PHYs. Who is there that needs it has no short slot either: see `short_slot`.
    pub erp_protection: Option<ErpProtection>,
    /// Rate of the frames that protect, one of 802.11b's: 1.
    pub protection_rate_mbps: Option<f64>,
    /// CWmin in slots, a power of two minus one: 31 (b), 15 (a, g).
    pub cw_min: Option<u16>,
    /// CWmax in slots, a power of two minus one: 1023.
    pub cw_max: Option<u16>,
}

impl PhyName {
    /// All of them.
    pub const ALL: [PhyName; 3] = [PhyName::B, PhyName::G, PhyName::A];
}

pub(super) const fn label(name: PhyName) -> &'static str {
    match name {
        PhyName::B => "802.11b",
        PhyName::G => "802.11g",
        PhyName::A => "802.11a",
    }
}
