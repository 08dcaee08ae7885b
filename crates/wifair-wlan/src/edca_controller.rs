//! The access point's controller of CWmin at the stations (`docs/medium.md`, section 10).
//!
//! Source: none; a rule of this project, made of what an access point can do: 802.11-2020, 9.4.2.28 lets it announce other
//! EDCA parameters at any beacon, and it knows its queues and the airtime of each direction.
//!
//! Idea: under EDCA every station wins the medium as often as the access point, which serves all of them. So where the access
//! point has packets waiting all the time, and stations together use more air than it does, CWmin of best effort at the
//! stations doubles, step by step; where that is over, it halves again.
//!
//! Interpretations:
//! - Airtime, and not the number of flows: that is what `station dump` shows (transmit and receive duration).
//! - Down only when stations use less than half of what the access point uses: between the two it stays, so it does not
//!   oscillate.
//! - Nine of ten samples: an access point whose queue is often empty has what it wants.
//!
//! Deviations: stations are told at once and without loss; a beacon may be missed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use crate::beacons::TU;
use crate::check;
use crate::contention::Access;
use crate::phy::timing::contention_window;
use crate::records::AirtimeByDirection;

/// Parameters of the controller of CWmin for best effort at the stations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EdcaControllerSpec {
    /// Time between two samples of the AP's queue, in TU of 1,024 µs.
    pub interval_tu: u32,
    /// Samples to a decision.
    pub samples: u32,
    /// The largest CWmin in slots, a power of two minus one from the stations' CWmin to their CWmax.
    pub max_cw_min: u16,
}

impl Default for EdcaControllerSpec {
    fn default() -> EdcaControllerSpec {
        EdcaControllerSpec { interval_tu: 100, samples: 10, max_cw_min: 63 }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct EdcaController {
    interval: Time,
    samples_to_decision: u32,
    least: u16,
    most: u16,
    cw_min: u16,
    /// Since the last decision; and of these, those at which packets were held.
    samples: u32,
    held: u32,
    /// As of the last decision.
    before: AirtimeByDirection,
}

impl EdcaController {
    /// The controller of stations whose best effort has this access at the start.
    pub(crate) fn new(
        spec: &EdcaControllerSpec,
        access: Access,
        path: &str,
    ) -> Result<EdcaController, SpecError> {
        let interval_tu =
            check::integer(path, "interval_tu", spec.interval_tu, 1..=65_535, "TU of 1,024 µs")?;
        let samples_to_decision = check::integer(path, "samples", spec.samples, 1..=1_000, "samples")?;
        let most = contention_window(path, "max_cw_min", spec.max_cw_min, access.cw_min)?;
        if most > access.cw_max {
            let allowed = format!("at most {}, CWmax of best effort at the stations", access.cw_max);
            return Err(SpecError::new(format!("{path}.max_cw_min"), most, allowed));
        }
        Ok(EdcaController {
            interval: TU * interval_tu.into(),
            samples_to_decision,
            least: access.cw_min,
            most,
            cw_min: access.cw_min,
            samples: 0,
            held: 0,
            before: AirtimeByDirection::default(),
        })
    }

    /// Time between two samples.
    pub(crate) fn interval(&self) -> Time {
        self.interval
    }

    /// CWmin of best effort at the stations.
    pub(crate) fn cw_min(&self) -> u16 {
        self.cw_min
    }

    /// Takes a sample: the AP's transmit queue `holds` packets of best effort, or none; `total` is the airtime since the start.
    /// Returns the new CWmin if there is one.
    pub(crate) fn sample(&mut self, holds: bool, total: AirtimeByDirection) -> Option<u16> {
        self.samples += 1;
        self.held += u32::from(holds);
        if self.samples < self.samples_to_decision {
            return None;
        }
        let before = std::mem::replace(&mut self.before, total);
        let (up, down) = (total.up - before.up, total.down - before.down);
        let is_held_back = 10 * self.held >= 9 * self.samples;
        (self.samples, self.held) = (0, 0);
        let cw_min = if is_held_back && up > down {
            (2 * self.cw_min + 1).min(self.most)
        } else if !is_held_back || up * 2 < down {
            (self.cw_min.saturating_sub(1) / 2).max(self.least)
        } else {
            self.cw_min
        };
        let before = std::mem::replace(&mut self.cw_min, cw_min);
        (cw_min != before).then_some(cw_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Access = Access { cw_min: 15, cw_max: 1_023, aifs: Time::ZERO };

    fn controller(samples: u32, max_cw_min: u16) -> EdcaController {
        let keys = EdcaControllerSpec { interval_tu: 100, samples, max_cw_min };
        EdcaController::new(&keys, ACCESS, "mac.edca.controller").unwrap()
    }

    /// Makes decisions from shares of one interval, in percent: packets held at so many samples of ten, up, down. Returns CWmin
    /// after each.
    fn decide(controller: &mut EdcaController, intervals: &[(u32, u64, u64)]) -> Vec<u16> {
        let mut total = controller.before;
        let mut after = Vec::new();
        for &(held, up, down) in intervals {
            total.up += Time::from_ms(up);
            total.down += Time::from_ms(down);
            for sample in 0..10 {
                let news = controller.sample(sample < held, total);
                assert!(news.is_none_or(|cw_min| sample == 9 && cw_min == controller.cw_min()));
            }
            after.push(controller.cw_min());
        }
        after
    }

    #[test]
    fn cw_min_doubles_while_uploads_crowd_out_the_access_point() {
        let crowded = (10, 60, 30);
        let mut bounded = controller(10, 63);
        assert_eq!(decide(&mut bounded, &[crowded, crowded, crowded]), [31, 63, 63]);
        assert_eq!(decide(&mut controller(10, 1_023), &[(9, 31, 30), (8, 60, 30)]), [31, 15]);
    }

    #[test]
    fn between_equal_airtime_and_half_of_it_cw_min_stays() {
        let after = decide(
            &mut controller(10, 255),
            &[(10, 60, 30), (10, 60, 30), (10, 40, 40), (10, 25, 50), (10, 24, 50)],
        );
        assert_eq!(after, [31, 63, 63, 63, 31]);
    }

    #[test]
    fn without_a_queue_cw_min_returns_to_the_start() {
        let idle = (0, 60, 30);
        assert_eq!(
            decide(&mut controller(10, 63), &[(10, 60, 30), (10, 60, 30), idle, idle, idle]),
            [31, 63, 31, 15, 15]
        );
    }

    #[test]
    fn a_limit_that_is_no_window_of_the_stations_is_refused() {
        let error = |max_cw_min, access| {
            let keys = EdcaControllerSpec { max_cw_min, ..Default::default() };
            EdcaController::new(&keys, access, "mac.edca.controller").unwrap_err().to_string()
        };
        assert!(error(7, ACCESS).contains("mac.edca.controller.max_cw_min"), "{}", error(7, ACCESS));
        assert!(error(40, ACCESS).contains("a power of two minus one from 15 to 1023"));
        let narrow = Access { cw_max: 31, ..ACCESS };
        assert!(error(63, narrow).contains("at most 31"), "{}", error(63, narrow));
    }
}
