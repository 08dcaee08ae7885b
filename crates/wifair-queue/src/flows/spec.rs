use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

/// Parameters of the flow monitor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowsSpec {
    /// Silence after which a flow is forgotten, in seconds, 0.001 to 86400; up to 1/16 more may pass.
    ///
    /// Interpretation: `adaptive-pushout` III-A does not define when a flow stops being active. 60 s is the least maximum that
    /// RFC 6298 (2.5) allows for the RTO, so a flow with a backed-off timer remains known.
    pub idle_timeout_s: f64,
    /// When a flow stops counting as active.
    pub active: Active,
}

/// When a flow stops counting in the number of active flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Active {
    /// With a FIN each way, with an RST, or when it is forgotten as idle: what an access point can tell at the
    /// earliest. With short connections the number is that of connections now open.
    #[default]
    UntilTeardown,
    /// Only when it is forgotten as idle, whatever its TCP flags say: a monitor that reads 5-tuples alone, which is
    /// all that `adaptive-pushout` III-A asks for.
    UntilIdle,
}

impl Default for FlowsSpec {
    fn default() -> FlowsSpec {
        FlowsSpec { idle_timeout_s: 60.0, active: Active::default() }
    }
}

impl FlowsSpec {
    /// Checks the values. `path` is the component's key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if (0.001..=86_400.0).contains(&self.idle_timeout_s) {
            Ok(())
        } else {
            Err(SpecError::new(
                format!("{path}.idle_timeout_s"),
                self.idle_timeout_s,
                "0.001 to 86400 seconds",
            ))
        }
    }
}
