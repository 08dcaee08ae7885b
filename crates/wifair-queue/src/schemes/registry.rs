//! Every scheme by name: one line each.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use crate::Scheme;

macro_rules! registry {
    ($($variant:ident => $module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// A scheme by name, with its parameters: `{"name": "droptail"}`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum SchemeSpec {
            $(
                #[allow(missing_docs)] // each scheme's file says what it is
                $variant($module::Spec),
            )+
        }

        impl SchemeSpec {
            /// The scheme, ready for its first packet.
            pub fn build(&self) -> Box<dyn Scheme> {
                match self {
                    $(SchemeSpec::$variant(spec) => Box::new(spec.build()),)+
                }
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(SchemeSpec::$variant(_) => $module::INFO.name,)+
                }
            }

            /// Checks the values; `path` is where the component stands in the plan.
            pub fn validate(&self, path: &str) -> Result<(), SpecError> {
                match self {
                    $(SchemeSpec::$variant(spec) => spec.validate(path),)+
                }
            }
        }

        /// Every scheme, in the order of the registry.
        pub fn schemes() -> Vec<SchemeInfo> {
            vec![$(SchemeInfo { info: $module::INFO, parameters: schema_for!($module::Spec) }),+]
        }
    };
}

registry! {
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
}

impl Default for SchemeSpec {
    fn default() -> SchemeSpec {
        SchemeSpec::Droptail(Default::default())
    }
}

/// What a scheme says about itself.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeInfo {
    /// Name, source, idea.
    #[serde(flatten)]
    pub info: Info,
    /// JSON schema of its parameters, with their descriptions and defaults.
    pub parameters: Schema,
}
