//! eBDP: the emulated bandwidth-delay product.
//!
//! Source: the "emulating BDP algorithm" that `alt` I refers to: T. Li and D. Leith, "Buffer sizing for TCP flows in 802.11e
//! WLANs", IEEE Communications Letters, 2008.
//!
//! Idea: a full buffer should drain within T_max at the measured mean service time: the limit is min(T_max / T_serv + c,
//! Q_max).
//!
//! Interpretations:
//! - T_serv: an exponentially weighted mean, over packets, of the time from the head of the line to the end of the last
//!   attempt, packets that are given up included, since they delay the others, too.
//! - `service_weight`: service times vary about as much as their mean, so an average of weight w wanders by √(w/2) of it.
//!   One thousandth leaves 2 %, a packet or two of the limit, and looks back over 1,000 packets: under a second at full speed
//!   and some seconds where the AP gets only a tenth of the air, still less than a TCP sawtooth.
//! - `spare_packets`, the c: bursts in addition to a steady flow. A new connection's first burst is 4 segments below
//!   1,096 bytes (RFC 5681, 3.1) and there is the one in service.
//! - Before the first exchange T_serv is unknown, and the limit is `limit_packets` of the transmit queue, at most Q_max.
//! - Packets above a lowered limit: see `lowered_limit` of the transmit queue.
//!
//! Deviations: none known. No random draws.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::check;
use crate::limit::{LimitController, Wants};
use crate::words::Exchange;

pub const INFO: Info = Info {
    name: "ebdp",
    source: "Li and Leith, IEEE Communications Letters 2008; alt I",
    idea: "The limit is what can be sent within a given delay; it is reckoned from the measured mean service time, with some to spare.",
};

/// Parameters of eBDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// T_max: target time in which a full buffer drains, in ms.
    pub max_delay_ms: f64,
    /// c: packets in addition to the product of rate and delay, for bursts.
    pub spare_packets: u32,
    /// Q_max: greatest limit, in packets.
    pub max_packets: u32,
    /// Weight of the newest service time in the moving average, more than 0, at most 1.
    pub service_weight: f64,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { max_delay_ms: 200.0, spare_packets: 5, max_packets: 400, service_weight: 0.001 }
    }
}

impl Spec {
    pub fn build(&self) -> Ebdp {
        Ebdp { limit: 0.0, service_s: None, spec: self.clone() }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "max_delay_ms", self.max_delay_ms, 0.001..=100_000.0, "ms")?;
        check::bounds(path, 1, self.max_packets)?;
        if !(1..=self.max_packets).contains(&self.spare_packets) {
            let key = format!("{path}.spare_packets");
            let allowed = format!("1 to max_packets ({})", self.max_packets);
            return Err(SpecError::new(key, self.spare_packets, allowed));
        }
        if self.service_weight == 0.0 {
            let key = format!("{path}.service_weight");
            return Err(SpecError::new(key, self.service_weight, "more than 0, at most 1"));
        }
        check::within(path, "service_weight", self.service_weight, 0.0..=1.0, "")
    }
}

pub struct Ebdp {
    spec: Spec,
    limit: f64,
    /// T_serv; `None` before the first exchange.
    service_s: Option<f64>,
}

impl LimitController for Ebdp {
    fn bounds(&self) -> RangeInclusive<u32> {
        1..=self.spec.max_packets
    }

    fn start(&mut self, limit_packets: u32) {
        self.limit = f64::from(limit_packets);
    }

    fn limit_packets(&self) -> f64 {
        self.limit
    }

    fn wants(&self) -> Wants {
        Wants { exchange: true, ..Wants::default() }
    }

    fn on_exchange(&mut self, exchange: &Exchange) {
        let sample = exchange.service.max(Time::from_ns(1)).as_secs_f64();
        let mean = self.service_s.get_or_insert(sample);
        *mean += self.spec.service_weight * (sample - *mean);
        let product = self.spec.max_delay_ms * 1e-3 / *mean;
        self.limit = (product + f64::from(self.spec.spare_packets)).min(f64::from(self.spec.max_packets));
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(service_s) = self.service_s {
            out("service_time_ms", service_s * 1e3);
        }
    }
}
