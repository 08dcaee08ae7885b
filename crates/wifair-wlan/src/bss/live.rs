//! Support for a live view: another scheme at the AP, the journals of the AP's transmit queues only and of the frames of a
//! field, and how long senders have waited.

use wifair_core::Time;
use wifair_queue::{Journal, SchemeSpec};

use super::Bss;
use crate::field::FieldJournal;
use crate::field::share::FieldShare;
use crate::meter::Meter;
use crate::node::{EdcafId, Node};
use crate::records::FieldUsage;

impl Bss {
    /// Sets `scheme` at each transmit queue of the AP, except those of categories with a separate scheme, at `now`, which is
    /// not after [`Bss::next_event`]: see [`TxQueue::change_scheme`](wifair_queue::TxQueue::change_scheme). `scheme` must have
    /// passed [`BssSpec::check_ap_scheme`](crate::BssSpec::check_ap_scheme).
    pub fn set_ap_scheme(&mut self, scheme: &SchemeSpec, now: Time) {
        self.come_from_outside(now);
        self.exchanges.nodes.set_ap_scheme(scheme, now);
        // A meter is kept once it exists: its counts are cumulative.
        if self.exchanges.meter.is_none() {
            self.exchanges.meter = Meter::wanted_by(self.exchanges.nodes.tx_queues_of(Node::Ap));
        }
        self.exchanges.follow_queue_sizes();
        for sender in self.exchanges.nodes.numbering().of_node(Node::Ap) {
            if self.exchanges.nodes.edcaf(sender).asks() {
                self.exchanges.serve(sender, now);
            }
        }
    }

    /// Makes the AP's transmit queues write in the journal `ap` from now on, each under its number, and the field that the BSS
    /// is in, if it is in one, the frames of all its BSSs in the journal `field`; `None` for no journal.
    pub fn keep_live_journals(&mut self, ap: Option<&Journal>, field: Option<&FieldJournal>) {
        self.exchanges.nodes.keep_ap_journal(ap);
        FieldJournal::keep(field, self);
    }

    /// When the packet of an attempt's sender came into service; of a link queue, when it did, or when the outcome of its last
    /// PPDU became known.
    pub fn in_service_since(&self, sender: u32) -> Time {
        self.exchanges.nodes.edcaf(EdcafId::at(sender as usize)).taken_at()
    }
}

impl FieldUsage {
    /// How the frames of a BSS that is alone in its field fare; `None` if it is in no field.
    pub fn of_only(bss: &Bss, now: Time) -> Option<FieldUsage> {
        let share = bss.exchanges.field.as_deref().filter(|share| share.is_alone());
        share.map(FieldShare::field).map(|field| field.usage(0, now))
    }
}

impl FieldJournal {
    /// Makes the field that a BSS is in write the frames of all its BSSs in `journal` from now on, or in none. Does nothing
    /// if it is in no field.
    pub fn keep(journal: Option<&FieldJournal>, bss: &mut Bss) {
        if let Some(share) = bss.exchanges.field.as_deref_mut() {
            share.keep_journal(journal);
        }
    }
}
