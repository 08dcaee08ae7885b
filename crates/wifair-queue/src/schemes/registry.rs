//! Every scheme by name: one line each.

use crate::external::{ExternalScheme, Maker};
use crate::scheme::Scheme;

wifair_core::registry! {
    /// A scheme by name, with its parameters: `{"name": "droptail"}`.
    SchemeSpec, matched by each, and unlisted "external" as External(ExternalScheme);
    Droptail => droptail,
    AckFiltering => ack_filtering,
    SpmAf => spm_af,
    AckPushout => ack_pushout,
    AdaptivePushout => adaptive_pushout,
    Las => las,
    TLas => t_las,
    Red => red,
    Pi => pi,
    Dqm => dqm,
    Codel => codel,
    FqCodel => fq_codel,
    Pie => pie,
    Mac80211 => mac80211,
}

impl SchemeSpec {
    /// Creates the scheme in its initial state.
    pub fn build(&self) -> Box<dyn Scheme> {
        each!(SchemeSpec: self, spec => Box::new(spec.build()), SchemeSpec::External(spec) => spec.build())
    }

    /// Lets `find` supply this scheme if it is external. A scheme that `find` does not know is refused when the plan is
    /// checked.
    pub fn supply(&mut self, find: &mut dyn FnMut(&ExternalScheme) -> Option<Maker>) {
        if let SchemeSpec::External(external) = self {
            external.maker = find(external);
        }
    }
}

impl Default for SchemeSpec {
    fn default() -> SchemeSpec {
        SchemeSpec::Droptail(Default::default())
    }
}
