//! RACK with delivery rate samples (`delivery_rate.rs`), for a congestion control that needs them.

use wifair_core::Time;

use super::tcb::Tcb;
use crate::rack::Rack;

impl Rack {
    /// Whether there was nothing to send although the window would have allowed it [CheckIfApplicationLimited]: to be called
    /// before an ACK, a timer or a write is handled.
    pub(super) fn check_application_limit(&mut self, tcb: &Tcb) {
        let (pipe, lost) = (self.segments.pipe(), self.segments.lost_bytes());
        let Some(sampler) = &mut self.segments.sampler else { return };
        if tcb.unsent == 0 && pipe < tcb.window.cwnd && lost == 0 {
            sampler.mark_app_limited(pipe);
        }
    }

    /// Reports new losses and the sample of the ACK that has been handled, if it has one.
    pub(super) fn update_model(&mut self, tcb: &mut Tcb, newly_acked: u32, now: Time) {
        if self.segments.sampler.is_none() {
            return;
        }
        let pipe = self.segments.pipe();
        let Some(sampler) = &mut self.segments.sampler else { return };
        let is_cwnd_limited = tcb.is_window_used_up(newly_acked);
        for lost in sampler.take_losses() {
            tcb.control.on_lost_packet(&mut tcb.window, &lost, now);
        }
        let Some(sample) = sampler.sample(pipe, is_cwnd_limited, tcb.is_repairing()) else { return };
        if tcb.control.on_rate_sample(&mut tcb.window, &sample, now) {
            sampler.mark_app_limited(pipe);
        }
    }

    /// Data may be sent: reports to the control if none was because the application had none.
    pub(super) fn check_restart_from_idle(&mut self, tcb: &mut Tcb, now: Time) {
        if tcb.unsent == 0 || self.segments.pipe() > 0 {
            return;
        }
        let Some(sampler) = &self.segments.sampler else { return };
        if sampler.is_app_limited() {
            tcb.control.on_transmit_from_idle(&mut tcb.window, sampler.total_delivered(), now);
        }
    }
}
