use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A station of the BSS, numbered from 0 in the order of the plan. The AP is not a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

/// A TCP connection (or other 5-tuple) in a flow monitor. Ids are dense, so that they can index a `Vec`. An id is reused only
/// after the monitor has forgotten its flow and no buffer holds a packet of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

/// Short name of a connection, the same in both directions. A packet is given it once, where it enters or is created, so that
/// nothing later has to look up its 5-tuple.
///
/// It consists of a slot and a generation: the number of connections that the slot has had, modulo
/// [`ConnectionId::GENERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(u32);

impl ConnectionId {
    /// A packet whose connection has no name.
    pub const NONE: ConnectionId = ConnectionId(u32::MAX);
    /// Number of successive connections of a slot that have distinct names.
    pub const GENERATIONS: u32 = 1 << Self::GENERATION_BITS;
    const GENERATION_BITS: u32 = 14;

    /// The name of connection number `generation` of a slot. The slot is below 262,143.
    pub const fn new(slot: usize, generation: u32) -> ConnectionId {
        assert!(slot < ConnectionId::NONE.slot());
        ConnectionId(((slot as u32) << Self::GENERATION_BITS) | (generation % Self::GENERATIONS))
    }

    /// Index into a `Vec` by slot; for `NONE`, an index outside of it.
    pub const fn slot(self) -> usize {
        (self.0 >> Self::GENERATION_BITS) as usize
    }
}

impl Default for ConnectionId {
    fn default() -> ConnectionId {
        ConnectionId::NONE
    }
}

/// Access category (802.11-2020, 10.2.3.2). DCF has only [`Ac::BestEffort`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ac {
    /// AC_BK.
    Background,
    /// AC_BE; the only one under DCF.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Ac {
    /// Every category, in the order of its discriminants.
    pub const ALL: [Ac; 4] = [Ac::Background, Ac::BestEffort, Ac::Video, Ac::Voice];

    /// The word used in scenarios and output.
    pub const fn name(self) -> &'static str {
        match self {
            Ac::Background => "background",
            Ac::BestEffort => "best-effort",
            Ac::Video => "video",
            Ac::Voice => "voice",
        }
    }
}

impl StationId {
    /// Index into a `Vec` of stations.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlowId {
    /// Index into a `Vec` of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
