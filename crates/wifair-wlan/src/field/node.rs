//! One node of a field: what it sends, owes and waits for (`docs/medium.md`, section 16). What it receives and senses is
//! [`FieldReceiver`](super::receiver::FieldReceiver)'s.

use wifair_core::{Rng, Time};

use super::access::Backoff;
use super::frame::{FieldExchange, FieldFrame};
use super::rules::FieldRules;
use crate::contention::Access;

#[derive(Debug)]
pub(super) struct FieldNode {
    /// Of its channel access functions, the highest category first; last that of its beacons, if it sends any, which are higher
    /// still.
    pub backoffs: Vec<Backoff>,
    /// The place of the channel access function that has won access at this instant.
    pub has_won: Option<usize>,
    /// What its exchange occupies, in a field with subchannels.
    pub subchannels: u64,
    /// What it sends or has sent, until the outcome is known.
    pub exchange: Option<FieldExchange>,
    /// If its PPDU is received MPDU by MPDU: the symbols of each, as in [`Outgoing`](super::Outgoing), and whether its
    /// addressee has decoded it.
    pub mpdus: Vec<(Time, Time)>,
    pub decoded: Vec<bool>,
    /// Whether it has won its TXOP in a spatial reuse opportunity.
    pub reuses: bool,
    /// What it transmits a SIFS after what it has decoded, and when.
    pub owes: Option<(Time, FieldFrame)>,
}

impl FieldNode {
    /// A node with these channel access functions that sends nothing.
    pub(super) fn new(functions: impl Iterator<Item = (Access, Rng)>) -> FieldNode {
        FieldNode {
            backoffs: functions.map(|(access, rng)| Backoff::new(access, rng)).collect(),
            has_won: None,
            subchannels: 0,
            exchange: None,
            mpdus: Vec::new(),
            decoded: Vec::new(),
            reuses: false,
            owes: None,
        }
    }

    /// Whether it neither sends nor owes a frame.
    pub(super) fn is_idle(&self) -> bool {
        self.has_won.is_none() && self.exchange.is_none() && self.owes.is_none()
    }

    /// When the node next does something by itself: it waits for a response until `waits_until`, or has waited, and its medium
    /// is physically busy or not.
    pub(super) fn due(
        &self,
        waits_until: Option<Time>,
        is_physically_busy: bool,
        rules: &FieldRules,
    ) -> Time {
        let owed = self.owes.as_ref().map_or(Time::MAX, |(at, _)| *at);
        let timeout = match self.exchange {
            Some(_) => waits_until.unwrap_or(Time::MAX),
            None => Time::MAX,
        };
        let access = match is_physically_busy {
            true => Time::MAX,
            false => self.access(rules),
        };
        owed.min(timeout).min(access)
    }

    /// When one of its channel access functions wins access if the medium, physically idle there, stays so.
    fn access(&self, rules: &FieldRules) -> Time {
        let starts = self.backoffs.iter().map(|backoff| backoff.start(&rules.contention));
        starts.min().unwrap_or(Time::MAX)
    }

    /// The medium becomes physically busy there. Returns whether a backoff counter may still run.
    pub(super) fn freeze(&mut self, rules: &FieldRules, now: Time) -> bool {
        let mut counts = false;
        for backoff in &mut self.backoffs {
            backoff.freeze(&rules.contention, now);
            counts |= backoff.counts();
        }
        counts
    }

    /// The medium becomes physically idle there, and its IFSs begin at `from`.
    pub(super) fn resume(&mut self, from: Time) {
        self.backoffs.iter_mut().for_each(|backoff| backoff.set_origin(from + backoff.ifs()));
    }
}
