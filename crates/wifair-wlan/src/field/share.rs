//! What a BSS has of the field that it is in (`docs/medium.md`, section 16): the BSS's numbers of nodes and channel access
//! functions become those of the field, and back. If several BSSs are in the field, it is lent to one at a time.

use wifair_core::Time;

use super::beacons::SentBeacon;
use super::medium::FieldMedium;
use super::{Field, FieldEvent, FieldExchange, FieldJournal, LinkWidth, Outgoing};
use crate::node::{EdcafId, Numbering};
use crate::phy::Mode;
use crate::records::BeaconUsage;
use crate::transmission::TransmissionOutcome;

/// See the module documentation. All numbers of its methods are those of the BSS.
pub(crate) struct FieldShare {
    numbering: Numbering,
    /// Number of the BSS in the field.
    bss: usize,
    /// Place of its access point among the nodes of the field; its stations follow.
    first: usize,
    /// Whether it alone is in the field, which it then lets advance itself.
    is_alone: bool,
    /// The field, unless another BSS has it.
    medium: Option<Box<FieldMedium>>,
}

impl FieldShare {
    /// The share of a BSS that is the only one, or becomes one of several ([`FieldShare::join`]). It does not have the field.
    pub(crate) fn new(numbering: Numbering) -> FieldShare {
        FieldShare { numbering, bss: 0, first: 0, is_alone: true, medium: None }
    }

    /// Makes it the share of the BSS with this number, whose access point has the place `first`, of several.
    pub(crate) fn join(&mut self, bss: usize, first: usize) {
        (self.bss, self.first, self.is_alone) = (bss, first, false);
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Lends it the field.
    pub(crate) fn lend(&mut self, medium: Box<FieldMedium>) {
        self.medium = Some(medium);
    }

    /// Takes the field back.
    pub(crate) fn take(&mut self) -> Box<FieldMedium> {
        self.medium.take().expect("the BSS has the field")
    }

    /// The number in the BSS of what is `sender` in the field.
    pub(crate) fn in_bss(&self, sender: EdcafId) -> EdcafId {
        EdcafId::at(sender.index() - self.numbering.after(self.first).index())
    }

    fn in_field(&self, sender: EdcafId) -> EdcafId {
        EdcafId::at(sender.index() + self.numbering.after(self.first).index())
    }

    /// What the BSS sends, as the field sees it.
    pub(crate) fn outgoing(&self, outgoing: Outgoing) -> Outgoing {
        Outgoing { to: outgoing.to + self.first, ..outgoing }
    }

    fn exchange(&self, exchange: FieldExchange) -> FieldExchange {
        FieldExchange { sender: self.in_bss(exchange.sender), to: exchange.to - self.first, ..exchange }
    }

    fn medium(&self) -> &FieldMedium {
        self.medium.as_deref().expect("the BSS has the field")
    }

    /// The field.
    pub(crate) fn field(&self) -> &Field {
        &self.medium().field
    }

    fn field_mut(&mut self) -> &mut Field {
        &mut self.medium.as_deref_mut().expect("the BSS has the field").field
    }

    /// When the BSS lets the field advance; [`Time::MAX`] if it is not alone there.
    pub(crate) fn due(&self, now: Time) -> Time {
        if self.is_alone { self.medium().due(now) } else { Time::MAX }
    }

    /// The next of what has happened, which is the BSS's.
    pub(crate) fn pop(&mut self) -> Option<FieldEvent> {
        let event = self.medium.as_deref_mut()?.pop()?;
        Some(match event {
            FieldEvent::Started(sender) => FieldEvent::Started(self.in_bss(sender)),
            FieldEvent::Received(exchange) => FieldEvent::Received(self.exchange(exchange)),
            FieldEvent::Narrowed(exchange) => FieldEvent::Narrowed(self.exchange(exchange)),
            FieldEvent::Acknowledged(exchange) => FieldEvent::Acknowledged(self.exchange(exchange)),
            FieldEvent::Failed(exchange) => FieldEvent::Failed(self.exchange(exchange)),
            FieldEvent::Beacon(beacon) => FieldEvent::Beacon(beacon),
            FieldEvent::Ended { node, to, alone } => {
                FieldEvent::Ended { node: node - self.first, to: to - self.first, alone }
            }
        })
    }

    /// As [`FieldMedium::outcome`], if it is the BSS's.
    pub(crate) fn outcome(&self) -> Option<(FieldExchange, TransmissionOutcome)> {
        let medium = self.medium.as_deref().filter(|medium| medium.next_bss() == Some(self.bss))?;
        let (exchange, outcome) = medium.outcome()?;
        Some((self.exchange(exchange), outcome))
    }

    /// As [`FieldMedium::beacon`], if it is the BSS's.
    pub(crate) fn beacon(&self) -> Option<SentBeacon> {
        let medium = self.medium.as_deref().filter(|medium| medium.next_bss() == Some(self.bss))?;
        medium.beacon()
    }

    /// A target time of the BSS's beacons has come.
    pub(crate) fn reach_target(&mut self, now: Time) {
        let bss = self.bss;
        self.field_mut().reach_target(bss, now);
    }

    /// The BSS's beacons in its `field`.
    pub(crate) fn beacon_usage(&self, field: &Field) -> BeaconUsage {
        field.beacon_usage(self.bss)
    }

    /// As [`Field::keep_journal`].
    pub(crate) fn keep_journal(&mut self, journal: Option<&FieldJournal>) {
        self.field_mut().keep_journal(journal);
    }

    /// As [`Field::arrive`].
    pub(crate) fn arrive(&mut self, sender: EdcafId, now: Time) {
        let sender = self.in_field(sender);
        self.field_mut().arrive(sender, now);
    }

    /// As [`Field::set_window`].
    pub(crate) fn set_window(&mut self, sender: EdcafId, resets: bool) {
        let sender = self.in_field(sender);
        self.field_mut().set_window(sender, resets);
    }

    /// As [`Field::set_cw_min`].
    pub(crate) fn set_cw_min(&mut self, sender: EdcafId, cw_min: u16) {
        let sender = self.in_field(sender);
        self.field_mut().set_cw_min(sender, cw_min);
    }

    /// As [`Field::go_on`].
    pub(crate) fn go_on(&mut self, sender: EdcafId, more: bool) {
        let sender = self.in_field(sender);
        self.field_mut().go_on(sender, more);
    }

    /// As [`Field::follow`].
    pub(crate) fn follow(&mut self, sender: EdcafId, outgoing: Outgoing, txop_began: Time, now: Time) {
        let (sender, outgoing) = (self.in_field(sender), self.outgoing(outgoing));
        self.field_mut().follow(sender, outgoing, txop_began, now);
    }

    /// As [`Field::narrow`].
    pub(crate) fn narrow(&mut self, sender: EdcafId, outgoing: Outgoing) {
        let (sender, outgoing) = (self.in_field(sender), self.outgoing(outgoing));
        self.field_mut().narrow(sender, outgoing);
    }

    /// As [`Field::decoded`].
    pub(crate) fn decoded(&self, sender: EdcafId) -> &[bool] {
        self.field().decoded(self.in_field(sender))
    }

    /// As [`Field::wait`].
    pub(crate) fn wait(&self, sender: EdcafId, now: Time) -> Time {
        self.field().wait(self.in_field(sender), now)
    }

    /// As [`Field::take_drawn_late`].
    pub(crate) fn take_drawn_late(&mut self, sender: EdcafId) -> Time {
        let sender = self.in_field(sender);
        self.field_mut().take_drawn_late(sender)
    }

    /// As [`Field::senses`].
    pub(crate) fn senses(&self, from: usize, to: usize) -> bool {
        self.field().senses(from + self.first, to + self.first)
    }

    /// As [`Field::reaches`].
    pub(crate) fn reaches(&self, from: usize, to: usize, mode: &Mode, of_data: &Mode) -> bool {
        self.field().reaches(from + self.first, to + self.first, mode, of_data)
    }

    /// As [`Field::has_subchannels`].
    pub(crate) fn has_subchannels(&self) -> bool {
        self.field().has_subchannels()
    }

    /// As [`Field::width_in_txop`].
    pub(crate) fn width_in_txop(&mut self, sender: EdcafId, link: LinkWidth) -> u16 {
        let sender = self.in_field(sender);
        self.field_mut().width_in_txop(sender, link)
    }

    /// In the `field` of the BSS: exchanges begun, those of one instant as one, and how many of these overlapped an earlier one
    /// or each other.
    pub(crate) fn begun(&self, field: &Field) -> (u64, u64) {
        field.occupancy(self.bss).begun()
    }

    /// Until `now`: the time of overlapping exchanges, and for each exchange on the air sender, receiver and the time that it
    /// had for itself.
    pub(crate) fn occupied_until<'a>(
        &self,
        field: &'a Field,
        now: Time,
    ) -> (Time, impl Iterator<Item = (usize, usize, Time)> + use<'a>) {
        let first = self.first;
        let (overlapping, alone) = field.occupancy(self.bss).until(now);
        (overlapping, alone.map(move |(node, to, time)| (node - first, to - first, time)))
    }
}
