//! Support for a live view: another scheme at the AP, the journal of the AP's transmit queues only, and how long senders have
//! waited.

use wifair_core::Time;
use wifair_queue::{Journal, SchemeSpec};

use super::Bss;
use crate::meter::Meter;
use crate::node::{EdcafId, Node};

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

    /// Makes the AP's transmit queues write in `journal` from now on, each under its number.
    pub fn keep_ap_journal(&mut self, journal: &Journal) {
        self.exchanges.nodes.keep_ap_journal(Some(journal));
    }

    /// Makes the AP's transmit queues write in no journal.
    pub fn stop_ap_journal(&mut self) {
        self.exchanges.nodes.keep_ap_journal(None);
    }

    /// When the packet of an attempt's sender came into service.
    pub fn in_service_since(&self, sender: u32) -> Time {
        self.exchanges.nodes.edcaf(EdcafId::at(sender as usize)).taken_at()
    }
}
