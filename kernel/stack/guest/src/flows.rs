//! The flows of a plan, as far as the guest carries them.

use serde_json::Value;
use wifair_core::Time;

use crate::Fault;

/// A flow of the plan.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub label: String,
    /// Index of its station in the plan.
    pub station: usize,
    /// Whether data goes to the station; of echoes, the requests.
    pub down: bool,
    /// What it carries.
    pub kind: Kind,
    /// Start of the span within which it starts, and its length.
    pub start: (Time, Time),
}

/// What a flow carries.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// TCP, data without end.
    Bulk,
    /// Datagrams of this payload in bytes, one per interval.
    Datagrams {
        /// Bytes after the UDP header.
        payload: usize,
        /// From one to the next.
        interval: Time,
        /// Whether each is sent back.
        echo: bool,
    },
}

/// Reads the flows of a plan.
///
/// # Errors
/// Fails for what the guest does not carry.
pub fn read(plan: &Value) -> Result<Vec<Flow>, Fault> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let stations = list(&plan["bss"]["stations"]);
    if !list(&plan["events"]).is_empty() {
        return Err("events: the guest carries plans without events alone".into());
    }
    list(&plan["flows"]).iter().map(|flow| one(flow, &stations)).collect()
}

fn one(flow: &Value, stations: &[Value]) -> Result<Flow, Fault> {
    let label = flow["label"].as_str().ok_or("flows: a flow without a label")?.to_owned();
    let number =
        |value: &Value, key: &str| value.as_f64().ok_or_else(|| format!("{label}: {key} is not a number"));
    let station = stations.iter().position(|station| station["label"] == flow["station"]);
    let application = &flow["application"];
    let kind = match application["name"].as_str() {
        Some("bulk") if application["transfer_bytes"].is_null() => Kind::Bulk,
        Some("udp") => {
            let payload = number(&application["payload_bytes"], "payload_bytes")?;
            let mbps = number(&application["rate_mbps"], "rate_mbps")?;
            let interval = Time::from_secs_f64(payload * 8.0 / mbps / 1e6);
            Kind::Datagrams { payload: payload as usize, interval, echo: false }
        }
        Some("ping") => {
            let payload = number(&application["payload_bytes"], "payload_bytes")? as usize;
            let ms = number(&application["interval_ms"], "interval_ms")?;
            Kind::Datagrams { payload, interval: Time::from_secs_f64(ms / 1e3), echo: true }
        }
        _ => {
            return Err(format!(
                "{label}: the guest carries bulk without end, udp and ping, not {application}"
            )
            .into());
        }
    };
    let start = [&flow["start_s"], &flow["start_spread_s"]].map(|value| value.as_f64().unwrap_or(0.0));
    Ok(Flow {
        station: station.ok_or_else(|| format!("{label}: no such station: {}", flow["station"]))?,
        down: flow["direction"] == "down",
        kind,
        start: (Time::from_secs_f64(start[0]), Time::from_secs_f64(start[1])),
        label,
    })
}
