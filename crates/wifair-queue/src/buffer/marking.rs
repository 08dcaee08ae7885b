use wifair_core::{Class, Ecn, TcpFlags};

use super::Buffer;
use super::counters::Counted;
use super::slots::SlotId;
use crate::journal::TxQueueEvent;

impl Buffer {
    /// Sets CE on a queued packet whose transport is ECN-capable (RFC 3168, section 5). Returns false and changes nothing
    /// otherwise; the scheme decides what to do then. A packet that is already marked counts once.
    pub fn mark(&mut self, slot: SlotId) -> bool {
        let packet = &mut self.fifo.queued_mut(slot).packet;
        match packet.ecn() {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                *packet = packet.with_ecn(Ecn::Ce);
                self.count_mark(slot, Counted::CeMarked, TxQueueEvent::CeMarked);
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
        let queued = self.fifo.queued_mut(slot);
        if queued.class != Class::Ack {
            return false;
        }
        if !queued.packet.flags.contains(TcpFlags::ECE) {
            queued.packet.flags |= TcpFlags::ECE;
            self.count_mark(slot, Counted::EceMarked, TxQueueEvent::EceMarked);
            if let Some(index) = &mut self.index {
                index.ack_changed(self.fifo.slots(), slot);
            }
        }
        true
    }

    fn count_mark(&mut self, slot: SlotId, counted: Counted, event: TxQueueEvent) {
        self.fifo.count(slot, counted);
        self.observers.marked(&self[slot], event, self.fifo.now());
    }
}
