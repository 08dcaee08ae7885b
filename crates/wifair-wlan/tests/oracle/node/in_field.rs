//! What a node of a field learns about the medium (docs/medium.md, section 16).

use super::Node;
use crate::oracle::frame::{Frame, Kind};

impl Node {
    /// The medium becomes physically busy here, as I transmit or sense others.
    pub fn becomes_busy(&mut self, transmits: bool) {
        self.energy_on_air = true;
        self.noise_left = 0;
        for contender in &mut self.contenders {
            contender.slot_elapsed = 0;
        }
        if !transmits && self.expected.is_none() && self.response.is_none() {
            for c in 0..self.contenders.len() {
                if self.contenders[c].is_waiting() {
                    self.draw(c); // section 5, rule 4: the medium did not stay idle until the origin
                }
            }
        }
    }

    /// The medium becomes physically idle here; `eifs`: and I wait an EIFS.
    pub fn becomes_idle(&mut self, eifs: bool) {
        self.energy_on_air = false;
        self.wait();
        if eifs {
            self.noise_left = self.rules.eifs_lead();
        }
    }

    /// My NAV is set for so long.
    pub fn set_nav(&mut self, left: u32) {
        self.nav_left = left;
    }

    /// My frame has ended.
    pub fn has_sent_in_field(&mut self, frame: &Frame) {
        if frame.kind != Kind::Cts {
            self.sent(frame, false);
        }
    }

    /// I am receiving the answer when the timeout comes.
    pub fn waits_on(&mut self) {
        if let Some(expected) = &mut self.expected {
            expected.begun = true;
        }
    }
}
