//! Which stations do not sense each other.

use serde_json::{Value, json};
use wifair_core::{SpecError, StationId};
use wifair_wlan::{Bss, Node};

use crate::plan::Plan;

/// The pairs of stations of which at least one does not sense the other, in the order of the plan: their labels, and whether
/// the first senses the second, and the second the first. See [`Bss::senses`].
pub fn hidden_pairs(plan: &Plan) -> Result<Value, SpecError> {
    let bss = Bss::new(&plan.bss, 0)?;
    let labels: Vec<&String> = plan.bss.stations.iter().map(|station| &station.label).collect();
    let node = |index: usize| Node::Station(StationId(index as u16));
    let pairs = (0..labels.len()).flat_map(|a| (a + 1..labels.len()).map(move |b| (a, b)));
    let sensed = pairs.map(|(a, b)| (a, b, [bss.senses(node(b), node(a)), bss.senses(node(a), node(b))]));
    let hidden = sensed.filter(|(.., senses)| senses.contains(&false));
    Ok(hidden.map(|(a, b, senses)| json!({"stations": [labels[a], labels[b]], "senses": senses})).collect())
}
