//! Adaptive pushout.
//!
//! Source: `adaptive-pushout` III-A and Fig. 1.
//!
//! Idea: an arrival that finds the buffer full removes one redundant ACK and enters. Without a redundant ACK it
//! pushes out a random data packet if nb_up / n_up <= nb_down / n_down, else a random ACK: n counts the active flows
//! of a direction, nb those of them that have packets stored.
//!
//! Interpretations:
//! - `redundant`: which redundant ACK is evicted; see `ack-pushout`.
//! - `count_arrival`: whether the arrival's flow counts among those stored. The text says "flows whose packets are
//!   stored in the buffer", and the arrival is not yet: false.
//! - `tie`: with equal shares the printed rule takes `data`.
//! - `no_active_flows`: the share of a direction whose n is 0. Without packets stored it is 0. With some (the ACKs
//!   of a connection that has just ended, say), `whole` takes it as 1: each flow that has packets stored is active,
//!   whatever the flow monitor says. `none` takes 0, so its packets are not evicted; `unbounded` takes the quotient's limit,
//!   so they are evicted first.
//! - What counts as active: `active` and `idle_timeout_s` of the flow monitor.
//! - `filter`: as in `ack-pushout`. It governs only what is removed as redundant; a victim may be any ACK.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: the rule may name a kind of which nothing is stored (data when only ACKs without a redundant one are
//! queued and both shares are 0, or under the alternatives above); then a packet of the other kind is evicted, and if there
//! is none either, the arrival is dropped. SYN, FIN, RST and non-TCP packets are admitted like others and never evicted.
//!
//! Random draws: one for each victim; one more for a tie under `random`; one for each redundant ACK under `random`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info};

use crate::buffer::{Arrival, Buffer, Filter, Indexes, Pick, Placed, Pool, SlotId};
use crate::scheme::{Cx, Scheme, Shortcuts};
use crate::words::{Eviction, Refusal};

pub const INFO: Info = Info {
    name: "adaptive-pushout",
    source: "adaptive-pushout III-A",
    idea: "ACK pushout, else pushout of the dominant direction; without a redundant ACK a random packet of the direction goes whose active flows hold the buffer in the greater share.",
};

/// Parameters of adaptive pushout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Which redundant ACK is evicted at overflow.
    pub redundant: Pick,
    /// What makes a queued ACK redundant.
    pub filter: Filter,
    /// Whether the arrival's flow counts among those with packets stored.
    pub count_arrival: bool,
    /// What is evicted if both directions have the same share.
    pub tie: Tie,
    /// The share of a direction that has packets stored but no active flow.
    pub no_active_flows: NoActiveFlows,
}

/// What is evicted when both directions have the same share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// A data packet: the printed rule.
    #[default]
    Data,
    /// An ACK.
    Ack,
    /// Either, by a fair coin.
    Random,
}

/// The share of a direction that has packets stored but no active flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoActiveFlows {
    /// 1: what is stored is active.
    #[default]
    Whole,
    /// 0.
    None,
    /// Greater than any quotient.
    Unbounded,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            redundant: Pick::Oldest,
            filter: Filter::default(),
            count_arrival: false,
            tie: Tie::default(),
            no_active_flows: NoActiveFlows::default(),
        }
    }
}

impl Spec {
    pub fn build(&self) -> AdaptivePushout {
        AdaptivePushout { spec: self.clone() }
    }
}

/// Share of a direction's flows, as a fraction whose denominator may be 0 (unbounded), but not together with the numerator.
#[derive(Clone, Copy)]
struct Share {
    stored: u64,
    active: u64,
}

pub struct AdaptivePushout {
    spec: Spec,
}

impl AdaptivePushout {
    fn share(&self, stored: u32, active: u32) -> Share {
        let (stored, active) = match (stored, active, self.spec.no_active_flows) {
            (0, _, _) | (_, 0, NoActiveFlows::None) => (0, 1),
            (stored, 0, NoActiveFlows::Whole) => (stored, stored),
            (_, 0, NoActiveFlows::Unbounded) => (1, 0),
            (stored, active, _) => (stored, active),
        };
        Share { stored: u64::from(stored), active: u64::from(active) }
    }

    /// The kind of packet that the rule pushes out.
    fn kind(&self, arrival: &Arrival, buffer: &Buffer, cx: &mut Cx) -> Pool {
        let stored = |class| {
            let comes = self.spec.count_arrival
                && arrival.class() == class
                && buffer.stored_flows().packets(arrival.flow(), class) == 0;
            buffer.stored_flows().flows(class) + u32::from(comes)
        };
        let up = self.share(stored(Class::Ack), cx.flows.up());
        let down = self.share(stored(Class::Data), cx.flows.down());
        // Cross-multiplied, to avoid a division.
        match (up.stored * down.active).cmp(&(down.stored * up.active)) {
            std::cmp::Ordering::Less => Pool::Data,
            std::cmp::Ordering::Greater => Pool::Ack,
            std::cmp::Ordering::Equal => match self.spec.tie {
                Tie::Data => Pool::Data,
                Tie::Ack => Pool::Ack,
                Tie::Random if cx.rng.below(2) == 0 => Pool::Data,
                Tie::Random => Pool::Ack,
            },
        }
    }

    fn victim(&self, arrival: &Arrival, buffer: &Buffer, cx: &mut Cx) -> Option<SlotId> {
        let kind = self.kind(arrival, buffer, cx);
        let other = if kind == Pool::Data { Pool::Ack } else { Pool::Data };
        // An empty pool takes no draw, so a victim takes one in either case.
        buffer.pick(kind, Pick::Random, cx.rng).or_else(|| buffer.pick(other, Pick::Random, cx.rng))
    }
}

impl Scheme for AdaptivePushout {
    fn needs(&self) -> Indexes {
        Indexes::NONE
            .redundant(self.spec.filter, self.spec.redundant)
            .picking(Pool::Data, Pick::Random)
            .picking(Pool::Ack, Pick::Random)
            .stored_flows()
    }

    fn decides_on(&self) -> &'static [Class] {
        &[Class::Ack, Class::Data]
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { append: true, release_head: true, ..Shortcuts::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if !buffer.is_full() {
            return buffer.append(arrival);
        }
        if let Some(ack) = buffer.pick_redundant(&arrival, self.spec.redundant, cx.rng) {
            return buffer.push_out(ack, Eviction::Redundant, arrival);
        }
        match self.victim(&arrival, buffer, cx) {
            Some(victim) => buffer.push_out(victim, Eviction::Victim, arrival),
            None => buffer.refuse(arrival, Refusal::TailDrop),
        }
    }
}
