//! What contends for the medium: a node under DCF, one of its access categories under EDCA.

use super::agreement::{Event, Events, Originator};
use super::flaw::Flaw;
use super::frame::{NodeId, Packet};
use super::timing::Category;
use std::collections::VecDeque;
use wifair_core::Rng;

/// A frame of a link without agreement.
pub struct Single {
    pub packet: Packet,
    pub short: u32,
    pub long: u32,
    /// Transmissions so far.
    pub attempts: u32,
}

pub enum Service {
    Single(Single),
    /// A link with an agreement, by its receiver.
    Link(NodeId),
    /// A beacon that waits, or is on the air.
    Beacon,
}

pub struct Contender {
    flaw: Option<Flaw>,
    pub parameters: Category,
    pub backoff: Rng,
    pub queue: VecDeque<Packet>,
    pub in_service: Option<Service>,
    /// The link queues of links with agreements, by receiver.
    pub links: Vec<Option<Originator>>,
    /// Links with something left that are not in service, in the order in which they were released.
    pending: VecDeque<NodeId>,
    /// The receiver of what was last in service.
    last: Option<NodeId>,
    /// Failed exchanges of links with agreements in a row.
    failures: u32,
    pub events: Events,
    /// Backoff slots left; none once they have run out.
    pub counter: Option<u32>,
    pub cw: u32,
    /// CWmin from the next draw on.
    pub announced: Option<u32>,
    /// Idle steps that must still pass before slots count.
    pub ifs_left: u32,
    /// Idle steps of the slot that is passing.
    pub slot_elapsed: u32,
}

impl Contender {
    /// `agreements`: by receiver, whether there is one.
    pub fn new(parameters: Category, backoff: Rng, agreements: &[bool], flaw: Option<Flaw>) -> Contender {
        Contender {
            flaw,
            parameters,
            backoff,
            queue: VecDeque::new(),
            in_service: None,
            links: agreements.iter().map(|agreed| agreed.then(Originator::default)).collect(),
            pending: VecDeque::new(),
            last: None,
            failures: 0,
            events: Events::default(),
            counter: None,
            cw: parameters.cw_min,
            announced: None,
            ifs_left: 0,
            slot_elapsed: 0,
        }
    }

    /// What goes into service: a link that waits, other than the last; or the transmit queue's next packet; or the last link.
    pub fn serve(&mut self) {
        assert!(self.in_service.is_none(), "one at a time");
        let spared = if self.has(Flaw::LastLinkFirst) { None } else { self.last };
        let waits = |&link: &NodeId| Some(link) != spared;
        let tx_queue_first = self.has(Flaw::TxQueueFirst) && !self.queue.is_empty();
        if let Some(place) = self.pending.iter().position(waits).filter(|_| !tx_queue_first) {
            self.events.note(Event::OtherLink);
            self.in_service = self.pending.remove(place).map(Service::Link);
        } else if let Some(packet) = self.queue.pop_front() {
            self.in_service = Some(match &mut self.links[packet.to] {
                Some(link) => {
                    link.enter(packet);
                    self.pending.retain(|&link| link != packet.to);
                    Service::Link(packet.to)
                }
                None => Service::Single(Single { packet, short: 0, long: 0, attempts: 0 }),
            });
        } else if let Some(link) = self.pending.pop_front() {
            self.events.note(Event::SameLink);
            self.in_service = Some(Service::Link(link));
        }
        self.last = match self.in_service {
            Some(_) => Some(self.receiver()),
            None => self.last,
        };
    }

    /// What was in service no longer is.
    pub fn release(&mut self) {
        if let Some(Service::Link(link)) = self.in_service.take()
            && self.link(link).is_pending()
        {
            self.pending.push_back(link);
        }
    }

    pub fn link(&mut self, receiver: NodeId) -> &mut Originator {
        self.links[receiver].as_mut().expect("a link with an agreement")
    }

    /// Whom what is in service is for.
    pub fn receiver(&self) -> NodeId {
        match self.in_service.as_ref().expect("something is in service") {
            Service::Single(single) => single.packet.to,
            Service::Link(receiver) => *receiver,
            Service::Beacon => unreachable!("for all"),
        }
    }

    /// The frame in service, of a link without agreement.
    pub fn single(&mut self) -> Option<&mut Single> {
        match &mut self.in_service {
            Some(Service::Single(single)) => Some(single),
            _ => None,
        }
    }

    /// Packets that the MAC has taken from the transmit queue and not finished with.
    pub fn taken(&self) -> usize {
        let single = usize::from(matches!(self.in_service, Some(Service::Single(_))));
        single
            + self
                .links
                .iter()
                .flatten()
                .map(|link| link.queue.iter().map(|mpdu| mpdu.packets.len()).sum::<usize>())
                .sum::<usize>()
    }

    /// Has something that nothing but the medium holds back.
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

    /// Section 10, the controller.
    pub fn set_cw_min(&mut self, cw_min: u32) {
        self.parameters.cw_min = cw_min;
        if !self.has(Flaw::WindowStaysSmall) {
            self.cw = self.cw.max(cw_min);
        }
    }

    pub fn has_succeeded(&mut self) {
        self.cw = self.parameters.cw_min;
        if !self.has(Flaw::RowOutlivesSuccess) {
            self.failures = 0;
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// The frame in service, of a link without agreement, failed: a wider window, or, `lost`, the first window and no frame.
    pub fn single_has_failed(&mut self, lost: bool) {
        if lost {
            self.in_service = None;
            self.has_succeeded();
        } else {
            self.widen();
        }
    }

    /// An exchange of a link with an agreement failed; `counts`: for the row after which the window is the first again.
    pub fn link_has_failed(&mut self, counts: bool, limit: u32) {
        self.failures += u32::from(counts);
        if self.failures == limit {
            self.events.note(Event::RowEnded);
            self.failures = 0;
            if !self.has(Flaw::CwAfterRow) {
                self.cw = self.parameters.cw_min;
            }
        } else if !self.has(Flaw::CwAfterMissing) {
            self.widen();
        }
    }

    pub fn widen(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.parameters.cw_max);
    }
}
