use wifair_core::{FlowId, Packet, TcpFlags};

use super::pools::Filter;
use super::slots::{NONE, SlotId, Slots};

/// The queued pure ACKs of each flow in order of arrival, and which of them are redundant.
#[derive(Clone, Debug)]
pub(super) struct Acks {
    filter: Filter,
    /// By slot.
    links: Vec<AckLink>,
    /// By flow.
    flows: Vec<FlowAcks>,
}

#[derive(Clone, Copy, Debug)]
struct AckLink {
    older: u32,
    newer: u32,
    /// Repeats the acknowledgement number of the flow's previous ACK.
    duplicate: bool,
    redundant: bool,
}

#[derive(Clone, Copy, Debug)]
struct FlowAcks {
    newest: u32,
    /// Acknowledgement number of the last admitted ACK, still queued or not.
    last_ack: Option<u32>,
    oldest_redundant: u32,
}

impl FlowAcks {
    /// Updates the oldest redundant ACK when `ack` leaves or is no longer redundant.
    fn no_longer_redundant(&mut self, links: &[AckLink], ack: SlotId) {
        if self.oldest_redundant == ack.0 {
            let mut next = links[ack.index()].newer;
            while SlotId::from_link(next).is_some_and(|ack| !links[ack.index()].redundant) {
                next = links[next as usize].newer;
            }
            self.oldest_redundant = next;
        }
    }
}

/// Effects of the removal of an ACK on redundancy.
pub(super) struct Removal {
    pub was_redundant: bool,
    /// The previous ACK of the flow, if it has become redundant (true) or needed (false) because its successor changed.
    pub changed: Option<(SlotId, bool)>,
}

impl Acks {
    const VACANT: AckLink = AckLink { older: NONE, newer: NONE, duplicate: false, redundant: false };
    const NO_ACKS: FlowAcks = FlowAcks { newest: NONE, last_ack: None, oldest_redundant: NONE };

    pub fn new(filter: Filter) -> Acks {
        Acks { filter, links: Vec::new(), flows: Vec::new() }
    }

    pub fn grow_slots(&mut self, slots: usize) {
        self.links.resize(slots, Self::VACANT);
    }

    pub fn grow_flows(&mut self, flows: usize) {
        self.flows.resize(flows, Self::NO_ACKS);
    }

    pub fn retire(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            *flow = Self::NO_ACKS;
        }
    }

    /// Adds the newest ACK of its flow; returns the ACK that it makes redundant, if any.
    #[inline(always)] // into its two callers
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) -> Option<SlotId> {
        let queued = slots.get(slot);
        let flow = &mut self.flows[queued.flow.index()];
        let older = std::mem::replace(&mut flow.newest, slot.0);
        let duplicate = flow.last_ack.replace(queued.packet.ack) == Some(queued.packet.ack);
        self.links[slot.index()] = AckLink { older, newer: NONE, duplicate, redundant: false };
        let older = SlotId::from_link(older)?;
        self.links[older.index()].newer = slot.0;
        self.supersede(slots, older, &queued.packet)
    }

    /// Removes an ACK from its flow, at any position.
    #[inline(always)] // into its two callers
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) -> Removal {
        let AckLink { older, newer, redundant, .. } = self.links[slot.index()];
        let flow = &mut self.flows[slots.get(slot).flow.index()];
        match SlotId::from_link(newer) {
            Some(newer) => self.links[newer.index()].older = older,
            None => flow.newest = older,
        }
        flow.no_longer_redundant(&self.links, slot);
        let mut removal = Removal { was_redundant: redundant, changed: None };
        if let Some(older) = SlotId::from_link(older) {
            self.links[older.index()].newer = newer;
            removal.changed = self.re_evaluate(slots, older);
        }
        removal
    }

    /// Handles a change of a queued ACK's flags: returns which of it and the previous ACK have become redundant (true) or
    /// needed (false).
    pub fn changed(&mut self, slots: &Slots, slot: SlotId) -> [Option<(SlotId, bool)>; 2] {
        let older = SlotId::from_link(self.links[slot.index()].older);
        [older, Some(slot)].map(|ack| self.re_evaluate(slots, ack?))
    }

    /// Re-evaluates a queued ACK after a change to it or to its successor: returns whether it has become redundant (true) or
    /// needed (false).
    fn re_evaluate(&mut self, slots: &Slots, ack: SlotId) -> Option<(SlotId, bool)> {
        let newer = self.links[ack.index()].newer;
        let redundant = SlotId::from_link(newer)
            .is_some_and(|newer| self.supersedes(slots, &slots.get(newer).packet, ack));
        if std::mem::replace(&mut self.links[ack.index()].redundant, redundant) == redundant {
            return None;
        }
        let flow = &mut self.flows[slots.get(ack).flow.index()];
        if !redundant {
            flow.no_longer_redundant(&self.links, ack);
        } else {
            let before = |ack: SlotId| SlotId::from_link(self.links[ack.index()].older);
            let mut earlier = std::iter::successors(before(ack), |&ack| before(ack));
            if !earlier.any(|ack| self.links[ack.index()].redundant) {
                flow.oldest_redundant = ack.0;
            }
        }
        Some((ack, redundant))
    }

    /// The newest ACK of `flow`, if an arriving one supersedes it.
    pub fn superseded_by(&self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        let newest = SlotId::from_link(self.flows[flow.index()].newest)?;
        self.supersedes(slots, ack, newest).then_some(newest)
    }

    /// Like [`Acks::superseded_by`], and marks the ACK as redundant; `None` if it is already marked.
    #[inline(always)] // into its two callers
    pub fn announce(&mut self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        let newest = SlotId::from_link(self.flows[flow.index()].newest)?;
        self.supersede(slots, newest, ack)
    }

    /// Undoes an announcement whose ACK was refused; returns the ACK that is needed again.
    pub fn refused(&mut self, flow: FlowId) -> Option<SlotId> {
        let flow = &mut self.flows[flow.index()];
        let newest = SlotId::from_link(flow.newest)?;
        let was_redundant = std::mem::take(&mut self.links[newest.index()].redundant);
        flow.no_longer_redundant(&self.links, newest);
        was_redundant.then_some(newest)
    }

    /// The oldest queued ACK of `flow` that is redundant.
    pub fn oldest_redundant(&self, flow: FlowId) -> Option<SlotId> {
        SlotId::from_link(self.flows.get(flow.index())?.oldest_redundant)
    }

    #[inline(always)] // into admission and announcement
    fn supersede(&mut self, slots: &Slots, older: SlotId, newer: &Packet) -> Option<SlotId> {
        if self.links[older.index()].redundant || !self.supersedes(slots, newer, older) {
            return None;
        }
        self.links[older.index()].redundant = true;
        // It was the newest, so it is the oldest redundant one only if it is the only one.
        let flow = &mut self.flows[slots.get(older).flow.index()];
        if flow.oldest_redundant == NONE {
            flow.oldest_redundant = older.0;
        }
        Some(older)
    }

    /// Whether `newer`, the next ACK of the flow, makes the queued one redundant.
    #[inline]
    fn supersedes(&self, slots: &Slots, newer: &Packet, older: SlotId) -> bool {
        self.filter == Filter::Paper || self.supersedes_safely(slots, newer, older)
    }

    #[inline(never)]
    fn supersedes_safely(&self, slots: &Slots, newer: &Packet, older: SlotId) -> bool {
        let packet = &slots.get(older).packet;
        let echo = TcpFlags::ECE.bits() | TcpFlags::CWR.bits();
        let further = newer.ack.wrapping_sub(packet.ack).cast_signed();
        (further > 0 || further == 0 && newer.sack.bytes() > packet.sack.bytes())
            && !self.links[older.index()].duplicate
            && packet.flags.bits() & !echo == TcpFlags::ACK.bits()
            && packet.flags.bits() & echo == newer.flags.bits() & echo
            && packet.sack.are_covered(packet.ack, &newer.sack, newer.ack)
    }
}
