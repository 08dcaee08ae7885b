//! EDCA: access categories and the classifier (802.11-2020, 10.23.2; `docs/medium.md`, section 10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Class, Packet, SpecError, StationId, Time};

use crate::check;
use crate::contention::Access;
use crate::edca_controller::{EdcaController, EdcaControllerSpec};
use crate::node::{EdcafId, Node, Numbering, RANKS, rank};
use crate::phy::timing::{BssTiming, contention_window};

/// Something for each access category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Categories<T: Default> {
    /// AC_VO, the highest.
    pub voice: T,
    /// AC_VI.
    pub video: T,
    /// AC_BE.
    pub best_effort: T,
    /// AC_BK, the lowest.
    pub background: T,
}

impl<T: Default> Categories<T> {
    /// The value for a category.
    pub fn of(&self, ac: Ac) -> &T {
        match ac {
            Ac::Voice => &self.voice,
            Ac::Video => &self.video,
            Ac::BestEffort => &self.best_effort,
            Ac::Background => &self.background,
        }
    }

    /// All values, the highest category first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        [&mut self.voice, &mut self.video, &mut self.best_effort, &mut self.background].into_iter()
    }
}

/// A category's key in scenario tables.
pub(crate) fn key(ac: Ac) -> &'static str {
    match ac {
        Ac::Voice => "voice",
        Ac::Video => "video",
        Ac::BestEffort => "best_effort",
        Ac::Background => "background",
    }
}

/// EDCA parameters of an access category (802.11-2020, 9.4.2.28). Without a key, that of `parameter_set`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CategorySpec {
    /// AIFSN: AIFS = SIFS + this many slots. 2 to 15, at the AP from 1.
    pub aifsn: Option<u8>,
    /// CWmin in slots, a power of two minus one from 0 to 1023.
    pub cw_min: Option<u16>,
    /// CWmax in slots, a power of two minus one from CWmin to 1023.
    pub cw_max: Option<u16>,
    /// TXOP limit in µs; 0 allows one frame per TXOP.
    pub txop_limit_us: Option<f64>,
}

/// Rule of the backoff countdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Countdown {
    /// By 10.23.2.4: access at slot boundaries only; the counter also decrements at the end of the AIFS.
    #[default]
    Edca,
    /// As under DCF, with the AIFS in place of the DIFS.
    Dcf,
}

/// Source of the default EDCA parameters, one set for the AP and one for stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterSet {
    /// The standard's: 802.11e-2005, 7.3.2.29 for stations, the MIB's dot11QAPEDCATable for the AP.
    #[default]
    #[serde(rename = "802.11")]
    Ieee80211,
    /// hostapd's (`hostapd_config_defaults`): CWmin 15 and the TXOP limits of OFDM with every PHY.
    Hostapd,
    /// OpenWrt's: hostapd's, with TXOPs of 2 ms for best effort at the AP (`tx_queue_data2_burst`).
    Openwrt,
}

/// How a packet's access category is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Classify {
    /// Every packet is best effort.
    #[default]
    BestEffort,
    /// By the DSCP: its upper three bits are the user priority, mapped by Table 10-1.
    Dscp,
    /// By the DSCP as in RFC 8325, section 4, and in Linux since 6.8: as `dscp`, except for code points whose
    /// upper bits give another category. Telephony (EF) is voice, not video.
    #[serde(rename = "rfc-8325")]
    Rfc8325,
}

impl Classify {
    /// The category of a DSCP.
    fn category(self, dscp: u8) -> Ac {
        match (self, dscp) {
            (Classify::BestEffort, _) => Ac::BestEffort,
            // High-throughput data (AF1x), operation and management (CS2), low-latency data (AF2x).
            (Classify::Rfc8325, 10 | 12 | 14 | 16 | 18 | 20 | 22) => Ac::BestEffort,
            // Broadcast video (CS3), multimedia streaming (AF3x).
            (Classify::Rfc8325, 24 | 26 | 28 | 30) => Ac::Video,
            // Telephony with and without admission control.
            (Classify::Rfc8325, 44 | 46) => Ac::Voice,
            (Classify::Rfc8325 | Classify::Dscp, _) => match dscp >> 3 {
                1 | 2 => Ac::Background,
                4 | 5 => Ac::Video,
                6 | 7 => Ac::Voice,
                _ => Ac::BestEffort,
            },
        }
    }
}

/// Nodes whose access categories share one transmit queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShareTxQueue {
    /// None: each category has a separate transmit queue.
    #[default]
    None,
    /// The AP's.
    Ap,
    /// The AP's and each station's.
    All,
}

impl ShareTxQueue {
    /// Whether the categories of the AP, or of a station, share one.
    pub(crate) fn at(self, ap: bool) -> bool {
        self == ShareTxQueue::All || ap && self == ShareTxQueue::Ap
    }
}

/// EDCA. The tables of the four categories apply to the AP and the stations; `ap` and `stations` override
/// them there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EdcaSpec {
    /// AC_VO, the highest.
    pub voice: CategorySpec,
    /// AC_VI.
    pub video: CategorySpec,
    /// AC_BE.
    pub best_effort: CategorySpec,
    /// AC_BK, the lowest.
    pub background: CategorySpec,
    /// Set of EDCA parameters that the categories' keys override: 802.11 (the standard's), hostapd or
    /// openwrt.
    pub parameter_set: ParameterSet,
    /// Overrides at the AP.
    pub ap: Categories<CategorySpec>,
    /// Overrides at the stations.
    pub stations: Categories<CategorySpec>,
    /// How a packet's access category is found: best-effort (always AC_BE), dscp or rfc-8325.
    pub classify: Classify,
    /// Access category of pure TCP ACKs. Without the key, `classify` decides.
    pub tcp_acks: Option<Ac>,
    /// Nodes whose categories share one transmit queue, with one limit and one scheme, in the order of arrival within
    /// each category: none, ap or all.
    pub share_tx_queue: ShareTxQueue,
    /// Rule of the backoff countdown: edca (10.23.2.4) or dcf.
    pub countdown: Countdown,
    /// Whether an internal collision counts as a retry of the lower category's frame (802.11-2016,
    /// 10.22.2.11.1).
    pub internal_collision_retry: bool,
    /// The AP's controller of CWmin for best effort at the stations. Without the table, CWmin stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<EdcaControllerSpec>,
}

impl Default for EdcaSpec {
    fn default() -> EdcaSpec {
        EdcaSpec {
            voice: CategorySpec::default(),
            video: CategorySpec::default(),
            best_effort: CategorySpec::default(),
            background: CategorySpec::default(),
            parameter_set: ParameterSet::default(),
            ap: Categories::default(),
            stations: Categories::default(),
            classify: Classify::default(),
            tcp_acks: None,
            share_tx_queue: ShareTxQueue::default(),
            countdown: Countdown::default(),
            internal_collision_retry: true,
            controller: None,
        }
    }
}

impl EdcaSpec {
    fn common(&self, ac: Ac) -> &CategorySpec {
        match ac {
            Ac::Voice => &self.voice,
            Ac::Video => &self.video,
            Ac::BestEffort => &self.best_effort,
            Ac::Background => &self.background,
        }
    }

    /// Whether packets can be assigned to a category.
    pub(crate) fn is_used(&self, ac: Ac) -> bool {
        Class::ALL.iter().any(|&class| self.sees(ac, class))
    }

    /// Whether packets of a class can be assigned to a category.
    pub(crate) fn sees(&self, ac: Ac, class: Class) -> bool {
        match self.tcp_acks {
            Some(category) if class == Class::Ack => category == ac,
            _ => self.classify != Classify::BestEffort || ac == Ac::BestEffort,
        }
    }

    /// Rules of contention and TXOP limit of a category, at the AP or at stations.
    fn category(
        &self,
        ac: Ac,
        at_ap: bool,
        phy: &BssTiming,
        path: &str,
    ) -> Result<(Access, Time), SpecError> {
        let name = key(ac);
        let side = if at_ap { &self.ap } else { &self.stations };
        let (own, common) = (side.of(ac), self.common(ac));
        let side = if at_ap { "ap" } else { "stations" };
        let path_of =
            |is_own: bool| if is_own { format!("{path}.{side}.{name}") } else { format!("{path}.{name}") };
        let standard = Standard::of(self.parameter_set, ac, at_ap, phy);

        let aifsn = own.aifsn.or(common.aifsn).unwrap_or(standard.aifsn);
        let least = if at_ap { 1 } else { 2 };
        let aifsn =
            check::integer(&path_of(own.aifsn.is_some()), "aifsn", aifsn.into(), least..=15, "slots")?;
        let cw_min = own.cw_min.or(common.cw_min).unwrap_or(standard.cw_min);
        let cw_min = contention_window(&path_of(own.cw_min.is_some()), "cw_min", cw_min, 0)?;
        let cw_max = own.cw_max.or(common.cw_max).unwrap_or(standard.cw_max.max(cw_min));
        let cw_max = contention_window(&path_of(own.cw_max.is_some()), "cw_max", cw_max, cw_min)?;
        let limit_us = own.txop_limit_us.or(common.txop_limit_us).unwrap_or(standard.txop_limit_us);
        let limit = check::micros(&path_of(own.txop_limit_us.is_some()), "txop_limit_us", limit_us)?;
        let aifs = phy.sifs + phy.slot * u64::from(aifsn);
        Ok((Access { cw_min, cw_max, aifs }, limit))
    }
}

/// The default parameters of a category.
struct Standard {
    aifsn: u8,
    cw_min: u16,
    cw_max: u16,
    txop_limit_us: f64,
}

impl Standard {
    fn of(set: ParameterSet, ac: Ac, at_ap: bool, phy: &BssTiming) -> Standard {
        let whole = match set {
            ParameterSet::Ieee80211 => phy.cw_min + 1,
            ParameterSet::Hostapd | ParameterSet::Openwrt => 16,
        };
        let (half, quarter) = ((whole / 2).max(1), (whole / 4).max(1));
        let first = if at_ap { 1 } else { 2 };
        let (voice_us, video_us) = match set {
            ParameterSet::Ieee80211 if phy.is_dsss() => (3_264.0, 6_016.0),
            // The AP's are given in 0.1 ms.
            ParameterSet::Hostapd | ParameterSet::Openwrt if at_ap => (1_500.0, 3_000.0),
            _ => (1_504.0, 3_008.0),
        };
        let ap_best_effort_us = if set == ParameterSet::Openwrt { 2_000.0 } else { 0.0 };
        let (aifsn, cw_min, cw_max, txop_limit_us) = match ac {
            Ac::Voice => (first, quarter - 1, half - 1, voice_us),
            Ac::Video => (first, half - 1, whole - 1, video_us),
            Ac::BestEffort if at_ap => (3, whole - 1, (4 * whole - 1).min(phy.cw_max), ap_best_effort_us),
            Ac::BestEffort => (3, whole - 1, phy.cw_max, 0.0),
            Ac::Background => (7, whole - 1, phy.cw_max, 0.0),
        };
        Standard { aifsn, cw_min, cw_max, txop_limit_us }
    }
}

/// EDCA parameters of a BSS, in the form that the engine uses.
#[derive(Debug)]
pub(crate) struct Edca {
    classify: Classify,
    /// Category of pure TCP ACKs.
    acks: Option<Ac>,
    pub internal_collision_retry: bool,
    /// By rank, at the AP and at stations.
    access: [[Access; 4]; 2],
    txop_limits: [[Time; 4]; 2],
    share_tx_queue: ShareTxQueue,
    /// By rank: whether packets can be assigned to it.
    pub used: [bool; 4],
}

impl Edca {
    pub(crate) fn new(spec: &EdcaSpec, phy: &BssTiming, path: &str) -> Result<Edca, SpecError> {
        let mut edca = Edca {
            classify: spec.classify,
            acks: spec.tcp_acks,
            internal_collision_retry: spec.internal_collision_retry,
            access: [[Access { cw_min: 0, cw_max: 0, aifs: Time::ZERO }; 4]; 2],
            txop_limits: [[Time::ZERO; 4]; 2],
            share_tx_queue: spec.share_tx_queue,
            used: RANKS.map(|ac| spec.is_used(ac)),
        };
        for (side, at_ap) in [true, false].into_iter().enumerate() {
            for (rank, ac) in RANKS.into_iter().enumerate() {
                (edca.access[side][rank], edca.txop_limits[side][rank]) =
                    spec.category(ac, at_ap, phy, path)?;
            }
        }
        Ok(edca)
    }

    /// The AP's controller of CWmin at the stations, if `spec`, from which this was made, has one.
    ///
    /// # Errors
    /// Returns the first invalid value of the controller.
    pub(crate) fn controller(
        &self,
        spec: &EdcaSpec,
        path: &str,
    ) -> Result<Option<EdcaController>, SpecError> {
        let access = self.access(Node::Station(StationId(0)), Ac::BestEffort);
        let built = |keys| EdcaController::new(keys, access, &format!("{path}.controller"));
        spec.controller.as_ref().map(built).transpose()
    }

    /// The rules for a category of a node.
    pub(crate) fn access(&self, node: Node, ac: Ac) -> Access {
        self.access[usize::from(!node.is_ap())][rank(ac)]
    }

    /// Longest TXOP of a category of a node.
    pub(crate) fn txop_limit(&self, node: Node, ac: Ac) -> Time {
        self.txop_limits[usize::from(!node.is_ap())][rank(ac)]
    }

    /// Number of the transmit queue of a category of a node: its own, or the first of the node's.
    pub(crate) fn tx_queue_of(&self, node: Node, ac: Ac) -> EdcafId {
        Numbering::EDCA.edcaf(node, if self.shares_tx_queue(node) { RANKS[0] } else { ac })
    }

    /// Whether the categories of a node share a transmit queue.
    pub(crate) fn shares_tx_queue(&self, node: Node) -> bool {
        self.share_tx_queue.at(node.is_ap())
    }

    /// The category of a packet.
    #[inline(always)] // into the two callers through which all packets arrive
    pub(crate) fn category(&self, packet: &Packet) -> Ac {
        match self.acks {
            Some(ac) if packet.class() == Class::Ack => ac,
            _ => self.classify.category(packet.dscp()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_and_categories() {
        for (dscp, by_precedence, by_rfc_8325) in [
            (0, Ac::BestEffort, Ac::BestEffort),
            (wifair_core::DSCP_HIGH_PRIORITY, Ac::BestEffort, Ac::BestEffort),
            (8, Ac::Background, Ac::Background), // CS1, low-priority data
            (10, Ac::Background, Ac::BestEffort),
            (18, Ac::Background, Ac::BestEffort),
            (26, Ac::BestEffort, Ac::Video),
            (34, Ac::Video, Ac::Video), // AF41
            (46, Ac::Video, Ac::Voice),
            (56, Ac::Voice, Ac::Voice),
        ] {
            assert_eq!(Classify::Dscp.category(dscp), by_precedence, "{dscp}");
            assert_eq!(Classify::Rfc8325.category(dscp), by_rfc_8325, "{dscp}");
            assert_eq!(Classify::BestEffort.category(dscp), Ac::BestEffort);
        }
    }
    /// The tables as numbers: AIFSN, CWmin, CWmax, TXOP limit in µs, at stations and at the AP.
    #[test]
    fn the_standards_defaults() {
        use crate::phy::PhySpec;
        let row_of = |set, phy: &BssTiming, at_ap| {
            RANKS.map(|ac| {
                let Standard { aifsn, cw_min, cw_max, txop_limit_us } = Standard::of(set, ac, at_ap, phy);
                (aifsn, cw_min, cw_max, txop_limit_us)
            })
        };
        let row = |phy: &BssTiming, at_ap| row_of(ParameterSet::Ieee80211, phy, at_ap);
        let timing = |spec| BssTiming::new(&spec, "phy").unwrap();
        let (b, g) = (timing(PhySpec::default()), timing(PhySpec::Erp(Default::default())));
        let rest = [(3, 31, 1_023, 0.0), (7, 31, 1_023, 0.0)];
        assert_eq!(row(&b, false), [(2, 7, 15, 3_264.0), (2, 15, 31, 6_016.0), rest[0], rest[1]]);
        assert_eq!(row(&b, true), [(1, 7, 15, 3_264.0), (1, 15, 31, 6_016.0), (3, 31, 127, 0.0), rest[1]]);
        let rest = [(3, 15, 1_023, 0.0), (7, 15, 1_023, 0.0)];
        assert_eq!(row(&g, false), [(2, 3, 7, 1_504.0), (2, 7, 15, 3_008.0), rest[0], rest[1]]);
        assert_eq!(row(&g, true), [(1, 3, 7, 1_504.0), (1, 7, 15, 3_008.0), (3, 15, 63, 0.0), rest[1]]);
        for phy in [&b, &g] {
            for (set, best_effort_us) in [(ParameterSet::Hostapd, 0.0), (ParameterSet::Openwrt, 2_000.0)] {
                assert_eq!(row_of(set, phy, false), row(&g, false));
                let ap = [(1, 3, 7, 1_500.0), (1, 7, 15, 3_000.0), (3, 15, 63, best_effort_us), rest[1]];
                assert_eq!(row_of(set, phy, true), ap);
            }
        }
    }
}
