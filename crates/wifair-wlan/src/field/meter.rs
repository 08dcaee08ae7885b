//! The counters of one BSS in a field (`docs/medium.md`, section 16).

use wifair_core::Time;

use crate::records::FieldUsage;

/// The counters of a BSS.
#[derive(Debug, Default)]
pub(super) struct FieldMeter {
    pub usage: FieldUsage,
    /// Until when time is counted; the number of its frames on the air, and whether its access point senses a busy medium.
    counted: Time,
    pub frames: u32,
    pub ap_is_busy: bool,
}

impl FieldMeter {
    /// The counters up to `now`.
    pub(super) fn until(&self, now: Time) -> FieldUsage {
        let passed = now - self.counted;
        let mut usage = self.usage;
        match (self.frames > 0, self.ap_is_busy) {
            (true, _) => usage.busy_own += passed,
            (false, true) => usage.busy_others += passed,
            (false, false) => {}
        }
        usage
    }

    /// Counts the time up to `now`.
    pub(super) fn count(&mut self, now: Time) {
        self.usage = self.until(now);
        self.counted = now;
    }
}
