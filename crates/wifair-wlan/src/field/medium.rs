//! A field as the medium of BSSs: what has happened there is handled event by event, as a BSS outputs one thing at a time.

use std::collections::VecDeque;

use wifair_core::Time;

use super::beacons::SentBeacon;
use super::{Field, FieldEvent, FieldExchange, LinkWidth, Outgoing};
use crate::node::EdcafId;
use crate::transmission::TransmissionOutcome;

/// A field, and what has happened there and is not handled yet.
pub(crate) struct FieldMedium {
    pub field: Field,
    events: VecDeque<FieldEvent>,
    /// Buffer for the events of an instant.
    fresh: Vec<FieldEvent>,
}

impl FieldMedium {
    pub(crate) fn new(field: Field) -> FieldMedium {
        FieldMedium { field, events: VecDeque::new(), fresh: Vec::new() }
    }

    /// When there is something to handle: at once if something has happened.
    pub(crate) fn due(&self, now: Time) -> Time {
        if self.events.is_empty() { self.field.due() } else { now }
    }

    /// The channel access functions that lose an internal collision at `now`; see [`Field::contend`].
    pub(crate) fn contend(&mut self, now: Time, width: impl Fn(usize, EdcafId) -> LinkWidth) -> Vec<EdcafId> {
        if self.events.is_empty() { self.field.contend(now, width) } else { Vec::new() }
    }

    /// Lets the field handle the first of what is due at `now`, unless something is left from before; `outgoing` as in
    /// [`Field::advance`].
    pub(crate) fn advance(
        &mut self,
        now: Time,
        outgoing: impl FnMut(usize, EdcafId, Option<u16>) -> Outgoing,
    ) {
        if self.events.is_empty() {
            self.field.advance(now, outgoing, &mut self.fresh);
            self.events.extend(self.fresh.drain(..));
        }
    }

    /// The number of the BSS that handles the next of what has happened.
    pub(crate) fn next_bss(&self) -> Option<usize> {
        Some(match *self.events.front()? {
            FieldEvent::Started(sender) => self.field.bss_of(sender),
            FieldEvent::Received(exchange)
            | FieldEvent::Narrowed(exchange)
            | FieldEvent::Acknowledged(exchange)
            | FieldEvent::Failed(exchange) => self.field.bss_of(exchange.sender),
            FieldEvent::Beacon(SentBeacon { ap: node, .. }) | FieldEvent::Ended { node, .. } => {
                self.field.bss_of[node]
            }
        })
    }

    /// The next of what has happened.
    pub(crate) fn pop(&mut self) -> Option<FieldEvent> {
        self.events.pop_front()
    }

    /// The beacon that has ended, if that is what is handled next.
    pub(crate) fn beacon(&self) -> Option<SentBeacon> {
        match *self.events.front()? {
            FieldEvent::Beacon(beacon) => Some(beacon),
            _ => None,
        }
    }

    /// The exchange whose sender comes to know its outcome, if that is what is handled next, with this outcome. An RTS that
    /// nobody answers counts as a collision.
    pub(crate) fn outcome(&self) -> Option<(FieldExchange, TransmissionOutcome)> {
        let (exchange, outcome) = match *self.events.front()? {
            FieldEvent::Acknowledged(exchange) => (exchange, TransmissionOutcome::Acknowledged),
            FieldEvent::Failed(exchange) => {
                let outcome = match exchange {
                    FieldExchange { is_received: true, .. } => TransmissionOutcome::AckLost,
                    FieldExchange { data_ends: Some(_), overlaps: false, .. } => {
                        TransmissionOutcome::DataLost
                    }
                    FieldExchange { .. } => TransmissionOutcome::Collided,
                };
                (exchange, outcome)
            }
            FieldEvent::Started(_)
            | FieldEvent::Received(_)
            | FieldEvent::Narrowed(_)
            | FieldEvent::Beacon(_)
            | FieldEvent::Ended { .. } => return None,
        };
        Some((exchange, outcome))
    }
}
