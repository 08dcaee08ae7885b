use wifair_core::{Class, Ecn, TcpFlags};

use super::Buffer;
use super::ledger::Fate;
use super::slots::SlotId;
use crate::journal::TxQueueEvent;

impl Buffer {
    /// Sets CE on a queued packet whose transport is ECN-capable (RFC 3168, section 5). Returns false and changes nothing
    /// otherwise; the scheme decides what to do then. A packet that is already marked counts once.
    pub fn mark(&mut self, slot: SlotId) -> bool {
        let queued = self.slots.get_mut(slot);
        match queued.packet.ecn() {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                queued.packet = queued.packet.with_ecn(Ecn::Ce);
                let (flow, class, bytes) = (queued.flow, queued.class, queued.packet.ip_bytes());
                self.books.row(flow.index(), class).book(Fate::CeMarked, bytes);
                self.note_mark(slot, TxQueueEvent::CeMarked);
            }
        }
        true
    }

    /// Sets ECE on a queued pure ACK, so that the sender of the acknowledged data backs off although no data packet was marked.
    /// Returns false and changes nothing for other packets. An ACK that carries ECE counts once.
    ///
    /// No RFC specifies this: RFC 3168 leaves ECE to the receiver, and a sender without ECN ignores it (`dqm` III-B.1 does it).
    /// [`Buffer::mark`] never does it; a scheme must call this method.
    pub fn set_ece(&mut self, slot: SlotId) -> bool {
        let queued = self.slots.get_mut(slot);
        if queued.class != Class::Ack {
            return false;
        }
        if !queued.packet.flags.contains(TcpFlags::ECE) {
            queued.packet.flags |= TcpFlags::ECE;
            let (flow, class, bytes) = (queued.flow, queued.class, queued.packet.ip_bytes());
            self.books.row(flow.index(), class).book(Fate::EceMarked, bytes);
            self.note_mark(slot, TxQueueEvent::EceMarked);
            if let Some(index) = &mut self.index {
                index.ack_changed(&self.slots, slot);
            }
        }
        true
    }

    fn note_mark(&self, slot: SlotId, event: TxQueueEvent) {
        if let Some(journal) = &self.journal {
            let queued = self.slots.get(slot);
            journal.note(self.now, event, &queued.packet, queued.station);
        }
    }
}
