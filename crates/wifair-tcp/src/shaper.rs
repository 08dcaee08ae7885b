//! What may hold data back that the windows allow: pacing (`pacing.rs`) and TCP small queues (`small_queue.rs`).

use wifair_core::{Packet, Time};

use crate::pacing::{Pacer, PacingSpec};
use crate::small_queue::SmallQueue;
use crate::spec::TcpSpec;

/// Pacing and TCP small queues of a sender. A sender without either has none.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    /// Gives the rate.
    pub(crate) pacing: PacingSpec,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) queue: Option<SmallQueue>,
    /// One past the highest sequence number sent when the window was last used up, until that is acknowledged.
    pub(crate) used_up: Option<u32>,
}

impl Shaper {
    pub(crate) fn new(spec: &TcpSpec, control_paces: bool) -> Option<Box<Shaper>> {
        let own_rate = control_paces.then(|| PacingSpec { unpaced_segments: 0, ..PacingSpec::default() });
        let pacing = spec.pacing.or(own_rate);
        let pacer = pacing.map(Pacer::new);
        let queue = spec.small_queue.map(|queue| SmallQueue::new(queue, spec.initial_sequence));
        let pacing = pacing.unwrap_or_default();
        (pacer.is_some() || queue.is_some()).then(|| Box::new(Shaper { pacing, pacer, queue, used_up: None }))
    }

    /// Whether data is paced.
    pub(crate) fn paces(&self) -> bool {
        self.pacer.is_some()
    }

    /// When the pacer lets more go; [`Time::MAX`] if it has held nothing back.
    pub(crate) fn wakes_at(&self) -> Time {
        self.pacer.as_ref().map_or(Time::MAX, |pacer| pacer.wakes_at)
    }

    /// The deadline may have expired.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.wake(now);
        }
    }

    /// Counts a packet that enters the host's queue.
    pub(crate) fn count(&mut self, packet: &Packet) {
        if let Some(queue) = &mut self.queue {
            queue.count(packet.ip_bytes());
        }
    }
}
