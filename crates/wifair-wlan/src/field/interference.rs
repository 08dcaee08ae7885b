//! How the frames of a BSS fare among those of others (`docs/medium.md`, section 16): counters, which decide nothing.

use wifair_core::Time;

use super::frame::{Disturbance, FieldFrame, FrameId};
use super::{Field, FieldNode};
use crate::records::FieldUsage;

impl Field {
    /// All counters of a BSS up to `now`.
    pub(crate) fn usage(&self, bss: usize, now: Time) -> FieldUsage {
        self.meters[bss].until(now)
    }

    /// A frame of `node` is on the air from now on, or is no longer.
    pub(super) fn count_frame(&mut self, node: usize, is_start: bool, now: Time) {
        let meter = &mut self.meters[self.bss_of[node]];
        meter.count(now);
        match is_start {
            true => meter.frames += 1,
            false => meter.frames -= 1,
        }
    }

    /// Notes whether the medium is physically busy at the access points where it has become busy or idle.
    pub(super) fn note_busy_access_points(&mut self, now: Time) {
        let Field { receivers, meters, bss_of, .. } = self;
        for node in receivers.turned() {
            let meter = &mut meters[bss_of[node]];
            meter.count(now);
            meter.ap_is_busy = !meter.ap_is_busy;
        }
    }

    /// Notes which of the frames on the air disturb each other since these have started.
    pub(super) fn note_disturbances(&mut self, started: &[FrameId], now: Time) {
        for &id in started {
            for other in self.frames.places() {
                if !self.frames.has(other) {
                    continue;
                }
                self.disturb(id, other);
                if self.frames[other].begins < now {
                    self.disturb(other, id);
                }
            }
        }
    }

    /// Notes that a frame is disturbed by another, if that reaches its addressee or comes from it.
    fn disturb(&mut self, id: FrameId, by: FrameId) {
        let (frame, by) = (&self.frames[id], &self.frames[by]);
        let meets = || by.mask & frame.mask != 0 && self.receivers.links().reaches(by.from, frame.to);
        if by.from == frame.from || (by.from != frame.to && !meets()) {
            return;
        }
        let Disturbance { same_start, by_own } = frame.disturbed;
        let disturbed = Disturbance {
            same_start: same_start || by.begins == frame.begins,
            by_own: by_own || self.bss_of[by.from] == self.bss_of[frame.from],
        };
        self.frames[id].disturbed = disturbed;
    }

    /// Counts a frame that has ended, and that its addressee has decoded or not.
    pub(super) fn count_reception(&mut self, frame: &FieldFrame, is_decoded: bool) {
        let usage = &mut self.meters[self.bss_of[frame.from]].usage;
        if frame.header_ends.is_some() {
            let FieldNode { mpdus, decoded, .. } = &self.nodes[frame.from];
            usage.mpdus += mpdus.len() as u64;
            usage.mpdus_lost += match is_decoded {
                true => decoded.iter().filter(|is_decoded| !**is_decoded).count() as u64,
                false => mpdus.len() as u64,
            };
        }
        if is_decoded {
            return;
        }
        let Disturbance { same_start, by_own } = frame.disturbed;
        match same_start {
            true => usage.lost_same_start += 1,
            false => usage.lost_hidden += 1,
        }
        usage.lost_to_others += u64::from(!by_own);
    }

    /// Counts an RTS that `node` has decoded and does not answer.
    pub(super) fn count_unanswered(&mut self, frame: &FieldFrame) {
        self.meters[self.bss_of[frame.from]].usage.unanswered += 1;
    }
}
