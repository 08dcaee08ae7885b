//! Every scheme by name: one line each.

use crate::Scheme;

crate::registered::registry! {
    /// A scheme by name, with its parameters: `{"name": "droptail"}`.
    SchemeSpec of dyn Scheme, listed by schemes, and unlisted "external" as External(crate::ExternalScheme);
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

impl Default for SchemeSpec {
    fn default() -> SchemeSpec {
        SchemeSpec::Droptail(Default::default())
    }
}
