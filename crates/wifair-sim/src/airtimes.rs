use serde_json::{Value, json};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::Direction;
use wifair_wlan::Bss;

use crate::plan::Plan;

/// By station, in the order of the plan: its label, and the time in microseconds that a frame with `ip_bytes` takes from it and
/// to it on an otherwise idle medium, at the initial rates of the plan. See [`Bss::time_alone`].
pub fn airtimes(plan: &Plan, ip_bytes: u32) -> Result<Value, SpecError> {
    let bss = Bss::new(&plan.bss, 0)?;
    let us = |time: Time| time.as_ns() as f64 * 1e-3;
    let row = |(index, label): (u16, &String)| {
        let time = |direction| us(bss.time_alone(StationId(index), direction, ip_bytes));
        json!({"station": label, "up_us": time(Direction::Up), "down_us": time(Direction::Down)})
    };
    let labels = plan.bss.stations.iter().map(|station| &station.label);
    Ok((0..).zip(labels).map(row).collect())
}
