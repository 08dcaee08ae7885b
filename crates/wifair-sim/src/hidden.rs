//! Which nodes receive each other, and which stations do not sense each other.

use serde_json::{Value, json};
use wifair_core::{SpecError, StationId};
use wifair_wlan::Obss;

use crate::plan::Plan;

/// What is the same in runs with all seeds.
fn without_shadowing(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(field) = &mut plan.bss.field {
        field.shadowing_db = 0.0;
    }
    plan
}

/// The pairs of stations, of all BSSs, of which at least one does not sense the other, in the order of the plan: their labels,
/// and whether the first senses the second, and the second the first; without shadowing.
pub fn hidden_pairs(plan: &Plan) -> Result<Value, SpecError> {
    let air = without_shadowing(plan).air(0)?;
    let labels: Vec<&String> = plan.stations().map(|station| &station.label).collect();
    let id = |index: usize| StationId(index as u16);
    let pairs = (0..labels.len()).flat_map(|a| (a + 1..labels.len()).map(move |b| (a, b)));
    let pairs = pairs.filter(|&(a, b)| air.share_a_channel(id(a), id(b)));
    let sensed = pairs.map(|(a, b)| (a, b, [air.senses(id(b), id(a)), air.senses(id(a), id(b))]));
    let hidden = sensed.filter(|(.., senses)| senses.contains(&false));
    Ok(hidden.map(|(a, b, senses)| json!({"stations": [labels[a], labels[b]], "senses": senses})).collect())
}

/// The nodes of a plan with a field by label, those of the first BSS first and each access point before its stations; and for
/// each the nodes that receive it, with the power in dBm, without shadowing.
pub fn received_powers(plan: &Plan) -> Result<Value, SpecError> {
    let received = Obss::new(&without_shadowing(plan).obss_spec(), 0)?.received_dbm();
    let nodes = plan.bsss().flat_map(|bss| {
        let stations = bss.stations.iter().map(|station| station.label.as_str());
        std::iter::once(bss.ap_label).chain(stations)
    });
    Ok(json!({"nodes": nodes.collect::<Vec<_>>(), "received_dbm": received}))
}
