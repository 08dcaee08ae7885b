//! The field (docs/medium.md, section 16), written from that page alone: in each step of the clock each node adds up what
//! reaches it. Read first: `powers` (who reaches whom), then `air` (what each node makes of it). The MAC behind the antenna is
//! [`Node`](super::node::Node), as everywhere.

pub mod air;
pub mod flaw;
pub mod powers;

use super::scenario::Scenario;
use flaw::Flaw;
use powers::Keys;

/// A scenario, and the table `[field]`.
#[derive(Clone, Debug)]
pub struct FieldScenario {
    pub base: Scenario,
    pub keys: Keys,
    /// What this model does wrong on purpose.
    pub flaw: Option<Flaw>,
}
