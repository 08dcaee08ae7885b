//! How a plan falls into parts.

use wifair_core::{SpecError, StationId};
use wifair_queue::SchemeSpec;
use wifair_wlan::Obss;

use crate::network::Numbers;
use crate::plan::{AP, Plan};

/// A part of a plan, and which of the plan's numbers its BSSs, flows and stations have.
pub(super) struct PartPlan {
    pub plan: Plan,
    /// Its BSSs: the number in the plan, and in the part.
    pub bsss: Vec<(usize, usize)>,
    /// By flow: its number in the plan.
    pub flows: Vec<u32>,
    pub numbers: Numbers,
}

/// The parts of `plan` in a run with this seed, or none if it is one. Each has the first BSS of the plan as its first, but
/// only one has its flows.
///
/// Events may change flows of all BSSs, and a scheme of another program may share what it likes: such a plan is one part.
///
/// # Errors
/// Returns the first invalid value of the plan's field.
pub(super) fn split(plan: &Plan, seed: u64) -> Result<Vec<PartPlan>, SpecError> {
    if plan.neighbours.is_empty() || !plan.events.is_empty() || has_external_schemes(plan) {
        return Ok(vec![]);
    }
    let part_of = parts_of_bsss(plan, seed)?;
    let firsts = (0..part_of.len()).filter(|&bss| part_of[bss] == bss);
    let has_subchannels = plan.obss_spec().has_subchannels()?;
    let mut parts: Vec<PartPlan> = firsts.map(|part| part_plan(plan, &part_of, part)).collect();
    let fields = parts.iter_mut().filter_map(|part| part.plan.bss.field.as_mut());
    fields.for_each(|field| field.subchannels = has_subchannels);
    Ok(if parts.len() > 1 { parts } else { vec![] })
}

fn has_external_schemes(plan: &Plan) -> bool {
    plan.clone().schemes_mut().any(|scheme| matches!(scheme, SchemeSpec::External(_)))
}

/// By BSS: the lowest number of a BSS of its part.
fn parts_of_bsss(plan: &Plan, seed: u64) -> Result<Vec<usize>, SpecError> {
    let mut part_of = Obss::components(&plan.obss_spec(), seed)?;
    let mut join = |a: usize, b: usize| {
        let (kept, gone) = (part_of[a].min(part_of[b]), part_of[a].max(part_of[b]));
        part_of.iter_mut().filter(|part| **part == gone).for_each(|part| *part = kept);
    };
    for (bss, planned) in plan.bsss().enumerate() {
        if planned.own_wire.is_none() {
            join(0, bss);
        }
    }
    let bss_of = bss_of_flows(plan);
    for (flow, spec) in plan.flows.iter().enumerate() {
        if let Some(awaited) = &spec.stop_after_group {
            let members = (0..plan.flows.len()).filter(|&other| plan.flows[other].group == *awaited);
            members.for_each(|other| join(bss_of[flow], bss_of[other]));
        }
    }
    Ok(part_of)
}

/// By flow: its BSS.
fn bss_of_flows(plan: &Plan) -> Vec<usize> {
    let of_bss = |(bss, stations): (usize, usize)| std::iter::repeat_n(bss, stations);
    let bss_of: Vec<usize> = plan.bsss().map(|bss| bss.stations.len()).enumerate().flat_map(of_bss).collect();
    let stations = plan.station_ids();
    plan.flows.iter().map(|flow| bss_of[stations[flow.station.as_str()].index()]).collect()
}

/// The part of the BSSs of `part_of` that have that number.
fn part_plan(plan: &Plan, part_of: &[usize], part: usize) -> PartPlan {
    let members: Vec<usize> = (0..part_of.len()).filter(|&bss| part_of[bss] == part).collect();
    let is_there = |bss: usize| bss == 0 || part_of[bss] == part;
    let bss_of = bss_of_flows(plan);
    let neighbours = plan.neighbours.iter().enumerate().filter(|(index, _)| is_there(index + 1));
    let mut own = Plan {
        schema_version: plan.schema_version,
        run: plan.run.clone(),
        bss: plan.bss.clone(),
        bss_label: plan.bss_label.clone(),
        bss_channel: plan.bss_channel,
        bss_primary: plan.bss_primary,
        bss_punctured: plan.bss_punctured.clone(),
        neighbours: neighbours.map(|(_, neighbour)| neighbour.clone()).collect(),
        wire: plan.wire.clone(),
        flows: vec![],
        events: vec![],
    };
    let (mut flows, mut slots, mut slot) = (vec![], vec![], 0);
    for (index, flow) in plan.flows.iter().enumerate() {
        let own_slots = slot..slot + flow.slots() as u32;
        slot = own_slots.end;
        if part_of[bss_of[index]] == part {
            flows.push(index as u32);
            slots.extend(own_slots);
            own.flows.push(flow.clone());
        }
    }
    let (mut stations, mut first) = (vec![], 0);
    for (bss, planned) in plan.bsss().enumerate() {
        let count = planned.stations.len() as u16;
        stations.extend((first..first + count).filter(|_| is_there(bss)).map(StationId));
        first += count;
    }
    let nodes = own.station_ids();
    let labels = own.neighbours.iter().map(|neighbour| neighbour.label.as_str());
    let known: std::collections::BTreeSet<&str> = nodes.into_keys().chain(labels).chain([AP]).collect();
    let mut field = own.bss.field.clone();
    if let Some(field) = &mut field {
        field.gains.retain(|gain| gain.between.iter().all(|name| known.contains(name.as_str())));
        field.hidden.retain(|pair| pair.iter().all(|name| known.contains(name.as_str())));
    }
    own.bss.field = field;
    // The first BSS is first in each part, its own or not.
    let guests = usize::from(part != 0);
    let bsss = members.iter().enumerate().map(|(number, &bss)| (bss, number + guests)).collect();
    PartPlan { plan: own, bsss, flows, numbers: Numbers::new(slots, stations) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Four BSSs, `apart_m` apart, with a wire and a flow each.
    fn plan(apart_m: f64, edit: impl Fn(&mut Value)) -> Plan {
        let at = |place: f64| json!([place * apart_m, 0.0]);
        let station = |name: &str, place: f64| {
            let x = place * apart_m + 3.0;
            json!([{"label": name, "rate_mbps": 24.0, "position_m": [x, 0.0]}])
        };
        let neighbour = |name: &str, place: f64| {
            let stations = station(&format!("at-{name}"), place);
            json!({"label": name, "channel": 36, "ap": {"position_m": at(place)}, "stations": stations, "wire": {}})
        };
        let flow = |station: &str| {
            let application = json!({"name": "transfers", "transfer_bytes": 20_000, "count": 3});
            json!({"label": station, "group": station, "station": station, "direction": "down", "application": application})
        };
        let first = json!({"phy": {"name": "802.11a"}, "field": {}, "stations": station("at-a", 0.0)});
        let mut plan = json!({
            "bss": first, "bss_channel": 36,
            "neighbours": [neighbour("b", 1.0), neighbour("c", 2.0), neighbour("d", 3.0)],
            "flows": [flow("at-a"), flow("at-b"), flow("at-c"), flow("at-d")],
        });
        edit(&mut plan);
        Plan::from_json(&plan.to_string()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// By part: the BSSs of the plan that it has.
    fn parts(apart_m: f64, edit: impl Fn(&mut Value)) -> Vec<Vec<usize>> {
        let parts = split(&plan(apart_m, edit), 1).unwrap();
        parts.iter().map(|part| part.bsss.iter().map(|&(bss, _)| bss).collect()).collect()
    }

    #[test]
    fn a_plan_falls_into_what_has_nothing_in_common() {
        const FAR_M: f64 = 1e5;
        let channel =
            |plan: &mut Value, neighbour: usize| plan["neighbours"][neighbour]["channel"] = json!(40);
        assert_eq!(parts(FAR_M, |_| ()), [[0], [1], [2], [3]]);
        assert_eq!(parts(10.0, |_| ()), <[Vec<usize>; 0]>::default());
        assert_eq!(parts(10.0, |plan| channel(plan, 1)), [vec![0, 1, 3], vec![2]]);
        // The first and the last do not receive each other; those between connect them.
        let reach = |plan: &mut Value| plan["bss"]["field"] = json!({"floor_dbm": -80});
        assert_eq!(parts(40.0, reach), <[Vec<usize>; 0]>::default());
        let without_middle = |plan: &mut Value| {
            reach(plan);
            channel(plan, 0);
            channel(plan, 1);
        };
        assert_eq!(parts(40.0, without_middle), [vec![0], vec![1, 2], vec![3]]);
        let wire = |plan: &mut Value| {
            plan["neighbours"][2].as_object_mut().unwrap().remove("wire");
        };
        assert_eq!(parts(FAR_M, wire), [vec![0, 3], vec![1], vec![2]]);
        let awaited = |plan: &mut Value| plan["flows"][3]["stop_after_group"] = json!("at-c");
        assert_eq!(parts(FAR_M, awaited), [vec![0], vec![1], vec![2, 3]]);
        let hidden = |plan: &mut Value| {
            plan["bss"]["field"]["gains"] = json!([{"between": ["at-b", "d"], "gain_db": -100}])
        };
        assert_eq!(parts(FAR_M, hidden), [vec![0], vec![1, 3], vec![2]]);
        let event = |plan: &mut Value| plan["events"] = json!([{"at_s": 1, "ap": {"limit_packets": 7}}]);
        assert_eq!(parts(FAR_M, event), <[Vec<usize>; 0]>::default());
    }

    /// Two channels overlap in part, wherever the nodes are: then all parts judge powers alike.
    #[test]
    fn parts_have_subchannels_if_the_plan_has() {
        let of_parts = |primary: u16| {
            let plan = plan(1e5, |plan| {
                plan["bss"]["phy"] = json!({"name": "802.11n", "width_mhz": 40});
                plan["bss_channel"] = json!(38);
                plan["bss"]["stations"][0]["rate_mbps"] = Value::Null;
                for neighbour in plan["neighbours"].as_array_mut().unwrap() {
                    neighbour["channel"] = json!(38);
                    neighbour["stations"][0]["rate_mbps"] = Value::Null;
                }
                plan["neighbours"][1]["primary"] = json!(primary);
            });
            let parts = split(&plan, 1).unwrap();
            let has_subchannels = |part: &PartPlan| part.plan.bss.field.as_ref().unwrap().subchannels;
            parts.iter().map(has_subchannels).collect::<Vec<_>>()
        };
        assert_eq!(of_parts(36), [false; 4]);
        assert_eq!(of_parts(40), [true; 4]);
    }

    /// A scheme of another program may share what it likes.
    #[test]
    fn a_plan_with_a_scheme_of_another_program_is_one_part() {
        let mut plan = plan(1e5, |_| ());
        assert_eq!(split(&plan, 1).unwrap().len(), 4);
        let external = json!({"name": "external", "id": "x"});
        plan.neighbours[2].ap.tx_queue.scheme = serde_json::from_value(external).unwrap();
        assert!(split(&plan, 1).unwrap().is_empty());
    }
}
