use wifair_core::{FlowId, Packet, TcpFlags};

use super::indexes::Filter;
use super::slots::{NONE, SlotId, Slots};

/// The queued pure ACKs of each flow in the order in which they came, and which of them are redundant.
#[derive(Clone, Debug)]
pub(super) struct Acks {
    filter: Filter,
    /// By slot.
    links: Vec<Link>,
    /// By flow.
    flows: Vec<Flow>,
    /// Whether anybody notes ACKs.
    notes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    newer: u32,
    /// Repeats the acknowledgement number of the flow's ACK before it.
    duplicate: bool,
    redundant: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    newest: u32,
    /// Acknowledgement number of the last ACK let in, still queued or not.
    last_ack: Option<u32>,
    /// Where ACKs are noted: the oldest redundant one, or one that is about to be it.
    noted: u32,
}

/// What the removal of an ACK means for redundancy.
pub(super) struct Removal {
    pub was_redundant: bool,
    /// The one before it in its flow, if it has become redundant (true) or needed (false): its next one is now
    /// another, or none.
    pub changed: Option<(SlotId, bool)>,
}

impl Acks {
    const VACANT: Link = Link { older: NONE, newer: NONE, duplicate: false, redundant: false };
    const NO_ACKS: Flow = Flow { newest: NONE, last_ack: None, noted: NONE };

    pub fn new(filter: Filter) -> Acks {
        Acks { filter, links: Vec::new(), flows: Vec::new(), notes: false }
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

    /// Adds the newest ACK of its flow; says which one has become redundant by it.
    #[inline]
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) -> Option<SlotId> {
        let queued = slots.get(slot);
        let flow = &mut self.flows[queued.flow.index()];
        let older = std::mem::replace(&mut flow.newest, slot.0);
        let duplicate = flow.last_ack.replace(queued.packet.ack) == Some(queued.packet.ack);
        self.links[slot.index()] = Link { older, newer: NONE, duplicate, redundant: false };
        let older = SlotId::from_link(older)?;
        self.links[older.index()].newer = slot.0;
        self.supersede(slots, older, &queued.packet)
    }

    /// Takes an ACK out of its flow, wherever it stands there.
    #[inline]
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) -> Removal {
        let Link { older, newer, redundant, .. } = self.links[slot.index()];
        let index = slots.get(slot).flow.index();
        let flow = &mut self.flows[index];
        let was_noted = flow.noted == slot.0;
        match SlotId::from_link(newer) {
            Some(newer) => self.links[newer.index()].older = older,
            None => flow.newest = older,
        }
        let mut removal = Removal { was_redundant: redundant, changed: None };
        if let Some(older) = SlotId::from_link(older) {
            let superseded = SlotId::from_link(newer)
                .is_some_and(|newer| self.supersedes(slots, &slots.get(newer).packet, older));
            let link = &mut self.links[older.index()];
            link.newer = newer;
            if link.redundant != superseded {
                link.redundant = superseded;
                removal.changed = Some((older, superseded));
            }
        }
        if was_noted || self.notes && removal.changed.is_some() {
            self.note_oldest(index);
        }
        removal
    }

    /// Notes the oldest redundant ACK of a flow, if it has one.
    fn note_oldest(&mut self, flow: usize) {
        let mut noted = NONE;
        let mut next = self.flows[flow].newest;
        while let Some(ack) = SlotId::from_link(next) {
            let Link { older, redundant, .. } = self.links[ack.index()];
            if redundant {
                noted = next;
            }
            next = older;
        }
        self.flows[flow].noted = noted;
    }

    /// The flags of a queued ACK have changed: which of it and the one before it have become redundant (true) or needed
    /// (false) by that.
    pub fn changed(&mut self, slots: &Slots, slot: SlotId) -> [Option<(SlotId, bool)>; 2] {
        let older = SlotId::from_link(self.links[slot.index()].older);
        let changed = [older, Some(slot)].map(|ack| {
            let ack = ack?;
            let newer = SlotId::from_link(self.links[ack.index()].newer)?;
            let superseded = self.supersedes(slots, &slots.get(newer).packet, ack);
            let link = &mut self.links[ack.index()];
            (std::mem::replace(&mut link.redundant, superseded) != superseded).then_some((ack, superseded))
        });
        if self.notes && changed.iter().any(Option::is_some) {
            self.note_oldest(slots.get(slot).flow.index());
        }
        changed
    }

    /// The newest ACK of `flow` if an arriving one supersedes it.
    #[inline]
    pub fn superseded_by(&self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        let newest = SlotId::from_link(self.flows[flow.index()].newest)?;
        self.supersedes(slots, ack, newest).then_some(newest)
    }

    /// As [`Acks::superseded_by`], and marks it as redundant; `None` if it is so marked already.
    #[inline]
    pub fn announce(&mut self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        let newest = SlotId::from_link(self.flows[flow.index()].newest)?;
        self.supersede(slots, newest, ack)
    }

    /// An announced ACK does not come in; says which one is needed again.
    pub fn refused(&mut self, flow: FlowId) -> Option<SlotId> {
        let newest = SlotId::from_link(self.flows[flow.index()].newest)?;
        std::mem::take(&mut self.links[newest.index()].redundant).then_some(newest)
    }

    /// Notes a queued ACK of `flow`, which is about to be its only redundant one.
    #[inline]
    pub fn note(&mut self, flow: FlowId, slot: SlotId) {
        self.notes = true;
        self.flows[flow.index()].noted = slot.0;
    }

    /// The noted ACK of `flow`, if it is still queued and redundant.
    #[inline]
    pub fn noted_redundant(&self, flow: FlowId) -> Option<SlotId> {
        let noted = SlotId::from_link(self.flows[flow.index()].noted)?;
        self.links[noted.index()].redundant.then_some(noted)
    }

    #[inline]
    fn supersede(&mut self, slots: &Slots, older: SlotId, newer: &Packet) -> Option<SlotId> {
        if self.links[older.index()].redundant || !self.supersedes(slots, newer, older) {
            return None;
        }
        self.links[older.index()].redundant = true;
        Some(older)
    }

    /// Whether `newer`, the next ACK of the flow, makes the queued one redundant.
    #[inline]
    fn supersedes(&self, slots: &Slots, newer: &Packet, older: SlotId) -> bool {
        match self.filter {
            Filter::Paper => true,
            Filter::Safe => {
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
    }
}
