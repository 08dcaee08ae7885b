use serde_json::{Value, json};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::Direction;
use wifair_wlan::Turn;

use crate::plan::Plan;

/// By station, in the order of the plan, and direction: how packets with `ip_bytes` and `dscp` contend, and the times that one
/// takes and that as many take as fit in a PPDU or TXOP, in microseconds, at the initial rates of the plan. See
/// [`Bss::access`].
pub fn airtimes(plan: &Plan, ip_bytes: u32, dscp: u8) -> Result<Value, SpecError> {
    let air = plan.air(0)?;
    let us = |time: Time| time.as_ns() as f64 * 1e-3;
    let turn = |turn: Turn| json!({"packets": turn.packets, "airtime_us": us(turn.airtime), "exposed_us": us(turn.exposed)});
    let row = |(index, label): (u16, &String), direction, name: &str| {
        let (bss, station) = air.place(StationId(index));
        let access = air.bss(bss).access(station, direction, ip_bytes, dscp);
        json!({
            "station": label,
            "direction": name,
            "category": access.ac.map(|ac| ac.name()),
            "ifs_us": us(access.ifs),
            "slot_us": us(access.slot),
            "backoffs": access.backoffs,
            "eifs_lead_us": us(access.eifs_lead),
            "one": turn(access.one),
            "full": turn(access.full),
        })
    };
    let labels = (0..).zip(plan.stations().map(|station| &station.label));
    let both = |at: (u16, &_)| [row(at, Direction::Up, "up"), row(at, Direction::Down, "down")];
    Ok(labels.flat_map(both).collect())
}
