//! A sender whose data is paced (`pacing.rs`).

use wifair_core::{Packet, Time};

use super::Sender;

impl Sender {
    /// The rate at which data is paced, in bytes per second; `None` if it is not, or if no RTT is known.
    pub fn pacing_rate(&self) -> Option<u64> {
        let spec = &self.pacer.as_ref()?.spec;
        Some(spec.rate(&self.window, self.outstanding_bytes(), self.rto.srtt()?))
    }

    /// Like [`Sender::poll_data`], once the pacer allows it.
    #[inline(never)]
    pub(super) fn poll_paced(&mut self, now: Time) -> Option<Packet> {
        if !self.pacer.as_mut()?.allows(now) {
            return None;
        }
        let packet = self.poll_data(now)?;
        let (rate, mss) = (self.pacing_rate(), self.window.mss);
        self.pacer.as_mut()?.sent(packet.payload_bytes, mss, rate, now);
        Some(packet)
    }
}
