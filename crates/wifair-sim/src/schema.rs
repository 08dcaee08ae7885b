use serde_json::{Value, json};
use wifair_core::{Class, ComponentInfo};
use wifair_queue::{LimitSpec, SchemeSpec};
use wifair_tcp::CongestionControlSpec;
use wifair_wlan::{PhySpec, RateSpec};

use crate::application::ApplicationSpec;
use crate::event::MAX_EVENTS;
use crate::plan::{MAX_FLOWS, Plan, SCHEMA_VERSION};

/// Everything that the front end needs: the plan's JSON schema, every registered component with its source, idea and
/// parameters, and the limits.
pub fn schema() -> Value {
    let class = |class: &Class| json!(class.name());
    let decisions =
        SchemeSpec::all().into_iter().map(|spec| spec.build().decides_on().iter().map(class).collect());
    let transports = ApplicationSpec::all().into_iter().map(|spec| spec.transport().name().into());
    let rates =
        PhySpec::all().into_iter().map(|phy| json!(phy.rates_mbps().expect("the defaults are allowed")));
    let needs = CongestionControlSpec::all().into_iter().map(|spec| json!(spec.needs_rack()));
    json!({
        "schema_version": SCHEMA_VERSION,
        "plan": schemars::schema_for!(Plan),
        "schemes": with(SchemeSpec::components(), "decides_on", decisions),
        "limit_controllers": LimitSpec::components(),
        "congestion_controls": with(CongestionControlSpec::components(), "needs_rack", needs),
        "rate_adaptations": RateSpec::components(),
        "applications": with(ApplicationSpec::components(), "transport", transports),
        "phys": with(PhySpec::components(), "rates_mbps", rates),
        "limits": {"stations": wifair_wlan::MAX_STATIONS, "flows": MAX_FLOWS, "events": MAX_EVENTS},
    })
}

/// The components, each with one of `values` at `key`.
fn with(components: Vec<ComponentInfo>, key: &str, values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut listed: Vec<Value> = components.iter().map(|component| json!(component)).collect();
    listed.iter_mut().zip(values).for_each(|(component, value)| component[key] = value);
    listed
}
