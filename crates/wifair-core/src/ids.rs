use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A station of the BSS, counted from 0 in the order of the plan. The AP is no station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StationId(pub u16);

/// A TCP connection (or other 5-tuple) as a flow monitor knows it. Dense, so that it can index a `Vec`;
/// an id is used again only after the monitor has forgotten its flow and no buffer holds a packet of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

/// The name of a connection, the same in both directions: where a packet comes in or is made, its connection is named once, and
/// nobody on its way has to look at its 5-tuple to find what he knows of it.
///
/// It is a slot and a generation, which counts the connections that the slot has had, modulo [`ConnectionId::GENERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(u32);

impl ConnectionId {
    /// Of a packet whose connection nobody has named.
    pub const NONE: ConnectionId = ConnectionId(u32::MAX);
    /// How many successive connections of a slot are told apart.
    pub const GENERATIONS: u32 = 1 << Self::GENERATION_BITS;
    const GENERATION_BITS: u32 = 14;

    /// The connection number `generation` of a slot below 262,143.
    pub const fn new(slot: usize, generation: u32) -> ConnectionId {
        assert!(slot < ConnectionId::NONE.slot());
        ConnectionId(((slot as u32) << Self::GENERATION_BITS) | (generation % Self::GENERATIONS))
    }

    /// As an index into a `Vec` by slot; of no connection, one that is not in it.
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
    /// As an index into a `Vec` of stations.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlowId {
    /// As an index into a `Vec` of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
