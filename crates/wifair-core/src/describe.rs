use serde::Serialize;

/// What a component (scheme, congestion control, rate adaptation, …) says about itself, next to its parameters'
/// schema: shown by `wifair schemes` and in the docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// The name used in scenarios.
    pub name: &'static str,
    /// Where it was published: paper and section, RFC, revision of a code base.
    pub source: &'static str,
    /// What it does, in at most three lines.
    pub idea: &'static str,
}
