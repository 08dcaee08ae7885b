//! One channel access function of a node of a field: its backoff counter and the origin that it counts from
//! (`docs/medium.md`, sections 4, 5, 10 and 16).

use wifair_core::{Rng, Time};

use crate::contention::{Access, ArrivalWithinIfs, ContentionRules};

/// The backoff of one channel access function. Its owner says when the medium is busy at the node.
#[derive(Debug)]
pub(super) struct Backoff {
    rng: Rng,
    access: Access,
    cw: u16,
    /// Remaining slots, as of the origin.
    counter: u64,
    /// The counter has reached zero without a frame to send.
    has_expired: bool,
    /// The frame is sent at the origin if the medium stays idle until then; otherwise it backs off.
    waits_for_origin: bool,
    /// A frame waits for access.
    is_ready: bool,
    origin: Time,
    /// Slots drawn because the medium became busy before the origin that a frame waited for, or a secondary channel was busy.
    drawn_late: u64,
}

impl Backoff {
    /// An expired counter.
    pub(super) fn new(access: Access, rng: Rng) -> Backoff {
        Backoff {
            rng,
            access,
            cw: access.cw_min,
            counter: 0,
            has_expired: true,
            waits_for_origin: false,
            is_ready: false,
            origin: Time::ZERO,
            drawn_late: 0,
        }
    }

    /// DIFS or AIFS.
    pub(super) fn ifs(&self) -> Time {
        self.access.aifs
    }

    /// When the node transmits if the medium stays idle there.
    pub(super) fn start(&self, rules: &ContentionRules) -> Time {
        if self.is_ready { self.origin + rules.slot * self.counter } else { Time::MAX }
    }

    /// Whether it has a frame, or a counter that has not expired: otherwise neither counter nor origin is read before it draws
    /// or a packet arrives.
    pub(super) fn counts(&self) -> bool {
        self.is_ready || !self.has_expired
    }

    /// Sets CWmin: a smaller CW is raised to it.
    pub(super) fn set_cw_min(&mut self, cw_min: u16) {
        self.access.cw_min = cw_min;
        self.cw = self.cw.max(cw_min);
    }

    /// Counts from `origin` on, once the medium has become idle.
    pub(super) fn set_origin(&mut self, origin: Time) {
        self.origin = origin;
    }

    /// The frame is transmitted, or loses an internal collision.
    pub(super) fn begin(&mut self) {
        self.is_ready = false;
        self.waits_for_origin = false;
    }

    /// The medium, idle so far, becomes busy at the node (sections 4 and 10).
    pub(super) fn freeze(&mut self, rules: &ContentionRules, now: Time) {
        if std::mem::take(&mut self.waits_for_origin) {
            self.draw(rules);
            self.drawn_late += self.counter;
        } else if now >= self.origin {
            let passed = (now - self.origin) / rules.slot;
            self.has_expired |= !self.is_ready && self.counter <= passed;
            self.counter = self.counter.saturating_sub(passed + u64::from(rules.at_boundaries));
        }
    }

    /// A packet arrives at the free MAC (section 5). The medium may be busy at the node: physically, or for another reason.
    pub(super) fn arrive(
        &mut self,
        rules: &ContentionRules,
        is_physically_busy: bool,
        is_busy: bool,
        now: Time,
    ) {
        self.is_ready = true;
        let counted = || !is_physically_busy && self.origin + rules.slot * self.counter <= now;
        if !self.has_expired && !counted() {
            return;
        }
        if is_busy {
            return self.draw(rules);
        }
        self.counter = 0;
        self.has_expired = false;
        let within_ifs = now < self.origin;
        let backs_off = match within_ifs {
            true => rules.arrival_within_ifs == ArrivalWithinIfs::Backoff,
            false => !rules.immediate_access,
        };
        if !within_ifs {
            self.origin = if backs_off { now + self.ifs() } else { self.next_access(rules, now) };
        }
        self.waits_for_origin = !backs_off;
        if backs_off {
            self.draw(rules);
        }
    }

    /// The first instant from `now` on at which a frame may be sent, after the origin: under EDCA's countdown a slot boundary.
    fn next_access(&self, rules: &ContentionRules, now: Time) -> Time {
        let past = Time::from_ns((now - self.origin).as_ns() % rules.slot.as_ns());
        if rules.at_boundaries && past > Time::ZERO { now - past + rules.slot } else { now }
    }

    /// Sets the CW for the next backoff: CWmin, or a doubled window.
    pub(super) fn set_window(&mut self, resets: bool) {
        self.cw = match resets {
            true => self.access.cw_min,
            false => (2 * self.cw + 1).min(self.access.cw_max),
        };
    }

    /// The outcome of the last transmission, or an internal collision, is known, and CW is set: draws, and contends if there is
    /// `more` to send.
    pub(super) fn go_on(&mut self, rules: &ContentionRules, more: bool) {
        self.draw(rules);
        self.is_ready = more;
    }

    /// It has won access, and a secondary channel is busy: draws a new backoff. [`Backoff::wait_for_boundary`] must follow.
    pub(super) fn restart(&mut self, rules: &ContentionRules) {
        self.draw(rules);
        self.drawn_late += 1 + self.counter;
        self.is_ready = true;
    }

    /// Was due now, and does not transmit although the medium is idle: counts from the next boundary on.
    pub(super) fn wait_for_boundary(&mut self, rules: &ContentionRules, now: Time) {
        self.origin = now + rules.slot;
    }

    /// Duration of a wait for access that begins now: the IFS and the remaining whole slots.
    pub(super) fn wait(&self, rules: &ContentionRules, is_physically_busy: bool, now: Time) -> Time {
        let counted = match is_physically_busy {
            true => 0,
            false => now.saturating_sub(self.origin) / rules.slot,
        };
        self.access.aifs + rules.slot * self.counter.saturating_sub(counted)
    }

    /// Returns the slots drawn since the last call that [`Backoff::wait`] could not know.
    pub(super) fn take_drawn_late(&mut self, rules: &ContentionRules) -> Time {
        rules.slot * std::mem::take(&mut self.drawn_late)
    }

    fn draw(&mut self, rules: &ContentionRules) {
        self.counter = u64::from(self.rng.below(rules.slots(self.cw)));
        self.has_expired = false;
    }
}
