//! Web documents of uniformly drawn size, with time to think between them, each over one new connection or several.
//!
//! With several connections a document is divided evenly among them; they are opened together, and it is there when the last
//! share is. So do browsers, which load a page's parts over as many connections as they may open to a server side by side (RFC
//! 9112, section 9.4); which part goes over which connection, and that a later part may use an earlier one's connection again,
//! is left out.
//!
//! Draws: two per document, the size and the think time before it, even if a range is empty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

use super::{Application, Transfer, Transport};
use crate::check::check_range;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "web",
    source: "spm-af-las, Section 7.2: Web documents of 5 to 25 packets",
    idea: "Documents of uniformly drawn size, each over a new connection, with time to think between them.",
};

/// Parameters of [`Web`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Smallest size of a document, in bytes of payload; 7300 are five full segments.
    pub min_bytes: u64,
    /// Greatest size of a document, in bytes of payload; 36500 are 25 full segments.
    pub max_bytes: u64,
    /// Step between sizes, in bytes. A size is `min_bytes` plus a multiple of it up to `max_bytes`, all
    /// equally likely.
    pub step_bytes: u64,
    /// Mean think time in seconds, exponentially distributed, from the end of a document to the request for
    /// the next. `spm-af-las` does not mention one ("repeatedly transfer").
    pub think_mean_s: f64,
    /// Parallel connections, 1 to 64, over which each document is divided evenly. Browsers open up to six per
    /// server with HTTP/1.1; `spm-af-las` has one.
    pub connections: u16,
    /// Number of documents. Without the key, unlimited until the flow stops (`stop_s`, `stop_after_group`).
    pub count: Option<u64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            min_bytes: 5 * 1460,
            max_bytes: 25 * 1460,
            step_bytes: 1460,
            think_mean_s: 0.0,
            connections: 1,
            count: None,
        }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let error = |key: &str, value: u64, allowed: &str| {
            Err(SpecError::new(format!("{path}.{key}"), value, allowed.to_string()))
        };
        if self.min_bytes == 0 {
            return error("min_bytes", 0, "at least 1 byte");
        }
        if self.max_bytes < self.min_bytes {
            return error("max_bytes", self.max_bytes, "min_bytes or more");
        }
        if self.step_bytes == 0 {
            return error("step_bytes", 0, "at least 1 byte");
        }
        if self.steps() >= u64::from(u32::MAX) {
            return error("step_bytes", self.step_bytes, "a step that makes fewer than 2^32 sizes");
        }
        if !(1..=64).contains(&self.connections) {
            return error("connections", self.connections.into(), "1 to 64 connections");
        }
        if self.count == Some(0) {
            return error("count", 0, "at least 1 document");
        }
        check_range(&format!("{path}.think_mean_s"), self.think_mean_s, 0.0, 1e6, "s")
    }

    fn steps(&self) -> u64 {
        (self.max_bytes - self.min_bytes) / self.step_bytes
    }

    /// The series before its first document. The parameters are taken as valid.
    pub fn build(&self) -> Web {
        Web { spec: self.clone(), left: self.count, started: false }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        self.count.is_some()
    }
}

/// See the module documentation.
pub struct Web {
    spec: Spec,
    left: Option<u64>,
    started: bool,
}

impl Application for Web {
    fn next(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let steps = rng.below(self.spec.steps() as u32 + 1);
        // The inverse of the distribution at 1 − u, which is never 0.
        let think_s = -self.spec.think_mean_s * libm::log(1.0 - rng.unit());
        let first = !std::mem::replace(&mut self.started, true);
        let at = if first { now } else { now + Time::from_secs_f64(think_s) };
        Some(Transfer { at, bytes: Some(self.spec.min_bytes + u64::from(steps) * self.spec.step_bytes) })
    }

    fn connections(&self) -> u16 {
        self.spec.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_uniform_and_thinking_has_its_mean() {
        let mut web = Spec { think_mean_s: 0.5, ..Spec::default() }.build();
        let mut rng = Rng::stream(1, "test", "web");
        let mut sizes = [0u32; 21];
        let mut thought_s = 0.0;
        let first = web.next(Time::from_s(7), &mut rng).unwrap();
        assert_eq!(first.at, Time::from_s(7));
        for _ in 0..21_000 {
            let next = web.next(Time::ZERO, &mut rng).unwrap();
            let bytes = next.bytes.unwrap();
            assert_eq!(bytes % 1460, 0);
            sizes[(bytes / 1460) as usize - 5] += 1;
            thought_s += next.at.as_secs_f64();
        }
        // 20 degrees of freedom: 99.99 % of all streams stay under 52.4.
        let chi2: f64 = sizes.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
        assert!(chi2 < 52.4, "chi-square {chi2}");
        assert!((thought_s / 21_000.0 - 0.5).abs() < 0.015, "{} s", thought_s / 21_000.0); // 4 standard errors
    }
}
