//! A sender whose congestion control goes by delivery rate samples (`delivery_rate.rs`).

use wifair_core::Time;

use super::Sender;

impl Sender {
    /// Whether there was nothing to send although the window would have allowed it [CheckIfApplicationLimited]: to be called before an
    /// ACK, a timer or a write is handled.
    pub(super) fn check_application_limit(&mut self) {
        let Some(rack) = &mut self.rack else { return };
        let (pipe, lost) = (rack.segments.pipe(), rack.segments.lost_bytes());
        let Some(sampler) = &mut rack.segments.sampler else { return };
        if self.unsent == 0 && pipe < self.window.cwnd && lost == 0 {
            sampler.mark_app_limited(pipe);
        }
    }

    /// Reports new losses and the sample of the ACK that has been handled, if it has one.
    pub(super) fn update_model(&mut self, newly_acked: u32, now: Time) {
        if self.rack.as_ref().is_none_or(|rack| rack.segments.sampler.is_none()) {
            return;
        }
        let is_cwnd_limited = self.is_window_used_up(newly_acked);
        let is_repairing = self.is_repairing();
        let Some(rack) = &mut self.rack else { return };
        let pipe = rack.segments.pipe();
        let Some(sampler) = &mut rack.segments.sampler else { return };
        for lost in sampler.take_losses() {
            self.control.on_lost_packet(&mut self.window, &lost, now);
        }
        let Some(sample) = sampler.sample(pipe, is_cwnd_limited, is_repairing) else { return };
        if self.control.on_rate_sample(&mut self.window, &sample, now) {
            sampler.mark_app_limited(pipe);
        }
    }

    /// Reports an ECN echo.
    pub(super) fn report_mark(&mut self) {
        if let Some(sampler) = self.rack.as_ref().and_then(|rack| rack.segments.sampler.as_ref()) {
            self.control.on_congestion_mark(sampler.total_delivered());
        }
    }

    /// Data may be sent: reports to the control if none was because the application had none.
    pub(super) fn check_restart_from_idle(&mut self, now: Time) {
        let Some(rack) = &mut self.rack else { return };
        if self.unsent == 0 || rack.segments.pipe() > 0 {
            return;
        }
        let Some(sampler) = &rack.segments.sampler else { return };
        if sampler.is_app_limited() {
            self.control.on_transmit_from_idle(&mut self.window, sampler.total_delivered(), now);
        }
    }
}
