//! Every scheme by name: one line each.

use crate::Scheme;

wifair_core::registry! {
    /// A scheme by name, with its parameters: `{"name": "droptail"}`.
    SchemeSpec, matched by each, and unlisted "external" as External(crate::ExternalScheme);
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
}

impl Default for SchemeSpec {
    fn default() -> SchemeSpec {
        SchemeSpec::Droptail(Default::default())
    }
}
