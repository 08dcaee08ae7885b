//! The field (docs/medium.md, section 16), written from that page alone: in each step of the clock each node adds up what
//! reaches it. Read first: `powers` (who reaches whom), then `air` (what each node makes of it). The MAC behind the antenna is
//! [`Node`](super::node::Node), as everywhere.

pub mod air;
pub mod flaw;
pub mod powers;

use super::frame::NodeId;
use super::scenario::Scenario;
use flaw::Flaw;
use powers::Keys;

/// A scenario, those of its neighbours, and the table `[field]`.
#[derive(Clone, Debug)]
pub struct FieldScenario {
    pub base: Scenario,
    /// Other BSSs, with the same rules, seed and end of traffic.
    pub neighbours: Vec<Scenario>,
    /// The nodes of all BSSs are counted through, each AP before its stations.
    pub keys: Keys,
    /// What this model does wrong on purpose.
    pub flaw: Option<Flaw>,
}

impl FieldScenario {
    /// All BSSs.
    pub fn bsss(&self) -> impl Iterator<Item = &Scenario> {
        std::iter::once(&self.base).chain(&self.neighbours)
    }

    /// Of each node: its BSS, and its number there.
    pub fn homes(&self) -> Vec<(usize, NodeId)> {
        let nodes =
            |(bss, scenario): (usize, &Scenario)| (0..=scenario.stations.len()).map(move |node| (bss, node));
        self.bsss().enumerate().flat_map(nodes).collect()
    }
}

/// The name of a node of a BSS.
pub fn label(bss: usize, node: NodeId) -> String {
    let label = Scenario::label(node);
    if bss == 0 { label } else { format!("{label}-of-{bss}") }
}
