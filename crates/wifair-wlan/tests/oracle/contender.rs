//! What contends for the medium: a node under DCF, one of its access categories under EDCA.

use super::frame::Packet;
use super::timing::Category;
use std::collections::VecDeque;
use wifair_core::Rng;

pub struct InService {
    pub packet: Packet,
    pub short: u32,
    pub long: u32,
    /// Transmissions so far.
    pub attempts: u32,
}

pub struct Contender {
    pub parameters: Category,
    pub backoff: Rng,
    pub queue: VecDeque<Packet>,
    pub in_service: Option<InService>,
    /// Backoff slots left; none once they have run out.
    pub counter: Option<u32>,
    pub cw: u32,
    /// Idle steps that must still pass before slots count.
    pub ifs_left: u32,
    /// Idle steps of the slot that is passing.
    pub slot_elapsed: u32,
}

impl Contender {
    pub fn new(parameters: Category, backoff: Rng) -> Contender {
        Contender {
            parameters,
            backoff,
            queue: VecDeque::new(),
            in_service: None,
            counter: None,
            cw: parameters.cw_min,
            ifs_left: 0,
            slot_elapsed: 0,
        }
    }

    /// The next packet of the port becomes the frame in service.
    pub fn serve(&mut self) {
        self.in_service =
            self.queue.pop_front().map(|packet| InService { packet, short: 0, long: 0, attempts: 0 });
    }

    /// The frame in service is begun; which transmission of it that is.
    pub fn attempt(&mut self) -> u32 {
        let service = self.in_service.as_mut().expect("an access is for a frame in service");
        service.attempts += 1;
        service.attempts
    }

    /// Has a frame that nothing but the medium holds back.
    pub fn is_due(&self) -> bool {
        self.in_service.is_some() && self.ifs_left == 0 && matches!(self.counter, None | Some(0))
    }

    pub fn is_at_boundary(&self) -> bool {
        self.ifs_left == 0 && self.slot_elapsed == 0
    }

    /// Section 5, rule 4: it waits, without a counter, for a moment that will not come.
    pub fn is_waiting(&self) -> bool {
        self.in_service.is_some() && self.counter.is_none()
    }

    /// The frame in service failed: a wider window, or, `lost`, the first window and no frame.
    pub fn has_failed(&mut self, lost: bool) {
        if lost {
            self.in_service = None;
            self.cw = self.parameters.cw_min;
        } else {
            self.cw = (2 * self.cw + 1).min(self.parameters.cw_max);
        }
    }
}
