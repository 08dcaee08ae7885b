use serde_json::{Value, json};

use crate::event::MAX_EVENTS;
use crate::plan::{MAX_FLOWS, Plan, SCHEMA_VERSION};

/// What the front end needs to know: the plan's JSON schema, every registered component with its source and idea, and
/// the limits.
pub fn schema() -> Value {
    json!({
        "schema_version": SCHEMA_VERSION,
        "plan": schemars::schema_for!(Plan),
        "schemes": wifair_queue::schemes(),
        "limit_controllers": wifair_queue::limit_controllers(),
        "congestion_controls": wifair_tcp::congestion::REGISTRY,
        "rate_adaptations": wifair_wlan::RATE_ADAPTATIONS,
        "applications": crate::application::applications(),
        "limits": {"stations": wifair_wlan::MAX_STATIONS, "flows": MAX_FLOWS, "events": MAX_EVENTS},
    })
}
