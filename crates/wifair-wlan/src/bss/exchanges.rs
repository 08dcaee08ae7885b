//! The frame exchanges of a BSS (`docs/medium.md`, sections 3, 4 and 10): what its nodes send over the medium, and what becomes
//! of it.
//!
//! A transmission is the same for a single frame, an A-MPDU and a Block Ack Request ([`Ppdu`]): `start`, `transmit`, `deliver`
//! and `end` if it succeeds. `failure` has collisions, failures and retry limits, `ppdu` the content of PPDUs, `tries` how they
//! are sent again, `metering` what is counted for schemes that use channel times, and what the AP reads of queue sizes. `field`
//! does all of this where the nodes do not all hear each other.

mod failure;
pub(super) mod field;
mod metering;
mod ppdu;
mod tries;

use wifair_core::{Ac, Packet, Time};
use wifair_queue::{Direction, MpduOutcome, Outcome};

use crate::aggregation::Occasion;
use crate::deadlines::LinkRateChange;
use crate::exchange::{OngoingExchange, ReceptionOutcome};
use crate::field::share::FieldShare;
use crate::link::{LinkRow, StationModes};
use crate::mac::Mac;
use crate::medium::Medium;
use crate::meter::Meter;
use crate::node::{EdcafId, LinkId, Node};
use crate::nodes::{Finished, Nodes, Released};
use crate::phy::timing::BssTiming;
use crate::ppdu::Ppdu;
use crate::queue_size::QueueSizes;
use crate::rate::Choice;

/// Kind of output of an event.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// The frame in service of the exchange's sender has reached its receiver.
    Delivery,
    /// A recipient has released a packet in order.
    Released,
    /// The AP's scheme has marked an uplink packet ([`Exchanges::marked`]).
    Marked,
    /// The rate of a link has changed.
    LinkRate,
    /// Packets have left a station.
    TxCompletion,
}

/// The nodes of a BSS, the links between them, and the medium.
pub(super) struct Exchanges {
    pub phy: BssTiming,
    /// The modes available to the links.
    pub modes: StationModes,
    pub mac: Mac,
    pub nodes: Nodes,
    pub medium: Medium,
    /// Present if the nodes do not all hear each other: says when the medium's next event is due, and what happens then.
    pub field: Option<Box<FieldShare>>,
    /// By [`LinkId`].
    pub links: Vec<LinkRow>,
    /// Present only if the AP's scheme uses channel times, or what is known with them.
    pub meter: Option<Meter>,
    /// The uplink packet that a scheme of the AP has marked last, with the mark.
    pub marked: Packet,
    /// Present only if the AP's scheme asks for queue sizes and stations send them.
    pub queue_sizes: Option<QueueSizes>,
    /// CWmin of best effort at the stations, until they adopt it.
    pub announced_cw_min: Option<u16>,
    /// Whether a scheme of the AP polices. Recomputed by [`Exchanges::review`], like the next.
    pub polices: bool,
    /// Whether frames fail only by collision, and their starts are not followed up.
    pub is_ideal: bool,
    /// Whether the BSS is a field, or links have Block Ack agreements.
    pub serves_generally: bool,
}

impl Exchanges {
    /// Lets a free channel access function take a packet and contend for it.
    #[inline(never)]
    pub(super) fn serve(&mut self, sender: EdcafId, now: Time) {
        if self.serves_generally {
            return self.serve_generally(sender, now);
        }
        if self.nodes.select_next(sender, &self.phy, now) {
            self.medium.arrive(sender, now);
            self.meter_wait(sender, now);
        }
    }

    /// One or several senders start to transmit.
    #[inline(always)]
    pub(super) fn start(&mut self, now: Time) {
        let sender = match self.medium.begin(now) {
            Some(sender) => sender,
            None => match self.start_unusually(now) {
                Some(sender) => sender,
                None => return,
            },
        };
        match self.is_ideal {
            true => self.transmit(sender, now, None, |_| ReceptionOutcome::Decoded),
            false => self.transmit_under_errors(sender, now, None),
        }
    }

    #[inline(never)]
    fn transmit_under_errors(&mut self, sender: EdcafId, now: Time, lead: Option<Time>) {
        self.transmit(sender, now, lead, |exchanges| {
            exchanges.fix_queue_size(sender);
            exchanges.draw_outcome(sender, now)
        });
    }

    /// Starts the exchange of `sender` now or, in a continuing TXOP, after `lead`.
    #[inline(always)]
    fn transmit(
        &mut self,
        sender: EdcafId,
        now: Time,
        lead: Option<Time>,
        outcome: impl FnOnce(&mut Exchanges) -> ReceptionOutcome,
    ) {
        if self.nodes.serves_queue(sender) {
            self.form_ppdu(sender, now, lead.is_some());
        }
        let outcome = outcome(self);
        let edcaf = self.nodes.edcaf_mut(sender);
        let link = edcaf.link();
        let LinkRow { on_air, usage, has_agreement, .. } = &mut self.links[link.index()];
        let on_air = &**on_air;
        let Ppdu { airtime, response, control, with_rts, .. } = edcaf.next_ppdu(on_air);
        let before = match lead {
            Some(lead) => lead,
            None if with_rts => self.mac.waits[usize::from(control)].reservation,
            None => Time::ZERO,
        };
        let follows = lead.is_some();
        let exchange = OngoingExchange { sender, link, outcome, end: Time::ZERO, follows };
        let end = self.medium.start_exchange(exchange, now + before + airtime, response);
        edcaf.attempt(&on_air.mode, end - now);
        usage.attempts += 1;
        if *has_agreement {
            self.begin_ppdu(now);
        }
    }

    /// Handles the end of the PPDU of `exchange`: its receiver decodes it. A recipient's packets are released one by one
    /// ([`Exchanges::release`]).
    #[inline(always)]
    pub(super) fn deliver(&mut self, exchange: OngoingExchange, now: Time) -> Option<Event> {
        let OngoingExchange { sender, link, .. } = exchange;
        let LinkRow { has_agreement, usage, .. } = &mut self.links[link.index()];
        if *has_agreement {
            if self.queue_sizes.is_some() {
                return self.deliver_after_queue_size(sender, link, now);
            }
            self.nodes.receive(sender, now, |is_duplicate| usage.duplicates += u64::from(is_duplicate));
            return None; // what it can release is due now
        }
        let Some(flow) = self.nodes.receive_frame(sender, link.direction(), now) else {
            usage.duplicates += 1;
            self.read_queue_size(sender, link, now);
            return None;
        };
        usage.delivered += 1;
        usage.delivered_bytes += u64::from(self.nodes.edcaf(sender).departure().packet.ip_bytes());
        if self.meter.is_some() && link.direction() == Direction::Up && !self.meter_frame(flow, now) {
            return None;
        }
        Some(Event::Delivery)
    }

    /// Handles the end of an MPDU that is received on its own.
    pub(super) fn receive_mpdu(&mut self, now: Time) {
        let OngoingExchange { sender, link, .. } = self.medium.exchange();
        let usage = &mut self.links[link.index()].usage;
        self.nodes.receive_mpdu(sender, now, |is_duplicate| usage.duplicates += u64::from(is_duplicate));
    }

    /// The next packet that a recipient releases in order.
    #[inline(always)] // into the engine's loop
    pub(super) fn release(&mut self, now: Time) -> Option<Event> {
        let Released { link, bytes, flow, airtime } = self.nodes.release(self.meter.is_some(), now)?;
        let usage = &mut self.links[link.index()].usage;
        usage.delivered += 1;
        usage.delivered_bytes += u64::from(bytes);
        if self.meter.is_some()
            && link.direction() == Direction::Up
            && !self.meter_released(flow, airtime, now)
        {
            return None;
        }
        Some(Event::Released)
    }

    /// Handles the end of an exchange's last frame. Returns whether the next exchange of its TXOP has begun.
    #[inline(always)]
    pub(super) fn end(&mut self, now: Time) -> bool {
        let (exchange, airtime) = self.medium.end(now);
        let OngoingExchange { sender, link, outcome, .. } = exchange;
        let row = &mut self.links[link.index()];
        row.usage.airtime += airtime;
        if outcome != ReceptionOutcome::Decoded {
            self.end_failure(now);
            return false;
        }
        if row.ends_generally {
            return self.end_generally(sender, link, now);
        }
        match self.nodes.complete_unobserved(sender, &self.phy, now) {
            Some(next) => self.proceed(sender, next, now),
            None => self.end_generally(sender, link, now),
        }
    }

    /// Follows queue sizes from now on if a scheme of the AP asks for them and stations send them; recomputes what depends on
    /// it.
    pub(super) fn follow_queue_sizes(&mut self) {
        let wanted = self.nodes.numbering().has_categories()
            && self.nodes.tx_queues_of(Node::Ap).any(|(_, tx_queue)| tx_queue.hooks().queue_size);
        if wanted && self.queue_sizes.is_none() {
            self.queue_sizes = Some(QueueSizes::new(self.nodes.tx_queues().count()));
        }
        self.review();
    }

    /// Recomputes which links have an agreement, and what takes the general paths of the start and the end of an exchange.
    pub(super) fn review(&mut self) {
        self.polices = self.nodes.tx_queues_of(Node::Ap).any(|(_, tx_queue)| tx_queue.hooks().police);
        self.is_ideal = self.medium.is_ideal() && self.queue_sizes.is_none();
        self.serves_generally = self.nodes.aggregates() || self.field.is_some();
        let is_general = self.nodes.aggregates() || self.meter.is_some();
        for (index, row) in self.links.iter_mut().enumerate() {
            row.has_agreement = self.nodes.agreement(LinkId::at(index), Ac::BestEffort).is_some();
            row.ends_generally = row.adapts || is_general;
        }
    }

    /// The general path of the end of a successful exchange.
    #[inline(never)]
    fn end_generally(&mut self, sender: EdcafId, link: LinkId, now: Time) -> bool {
        let next = self.complete(sender, link, now);
        let follows = self.proceed(sender, next, now);
        if next.is_some() && !follows {
            self.meter_wait(sender, now);
        }
        follows
    }

    /// Lets `sender`, whose exchange has succeeded, continue its TXOP with what it sends next, if there is anything, or contend
    /// for it. Returns whether it continues. `next` is its TXOP limit.
    #[inline(always)]
    fn proceed(&mut self, sender: EdcafId, next: Option<Time>, now: Time) -> bool {
        if let Some(limit) = next
            && limit > Time::ZERO
            && self.fits_txop(sender, limit, now)
        {
            self.follow(sender, now);
            return true;
        }
        self.medium.succeed(sender, next.is_some(), now);
        false
    }

    /// Completes what the decoded response to `sender` acknowledges: reports it to the rate adaptation, the meter and the
    /// transmit queue. Returns the TXOP limit if there is anything to send next.
    #[inline(always)] // into the usual end in a BSS with a meter
    pub(super) fn complete(&mut self, sender: EdcafId, link: LinkId, now: Time) -> Option<Time> {
        if self.links[link.index()].adapts {
            let (sent, acknowledged) = self.nodes.acknowledged(sender);
            self.adapt(sender, link, sent, acknowledged, now);
        }
        if self.meter.is_some() {
            self.meter_late_draws(sender);
        }
        self.nodes.report(sender, MpduOutcome::Delivered, now);
        self.finish(sender, true, now);
        self.select_next(sender, now).then(|| self.nodes.edcaf(sender).role().txop_limit)
    }

    /// Takes what is acknowledged, if the exchange has `succeeded`, and what has reached its retry limit out of the service of
    /// `sender`. Returns whether anything is left there.
    #[inline(always)]
    fn finish(&mut self, sender: EdcafId, succeeded: bool, now: Time) -> bool {
        let link = self.nodes.edcaf(sender).link();
        let usage = &mut self.links[link.index()].usage;
        let (is_metered, meter) = (self.meter.is_some(), &mut self.meter);
        self.nodes.finish(sender, succeeded, is_metered, now, |finished: &Finished| {
            if finished.outcome == Outcome::LostAtRetryLimit {
                usage.lost_at_retry_limit += 1;
                usage.lost_after_delivery += u64::from(finished.is_received);
            }
            if let Some(meter) = meter {
                meter.count(finished.class, finished.is_ap, finished.cost.airtime + finished.cost.overhead);
            }
        })
    }

    /// Selects the next transmission of `sender` once the outcome of the last is known. Returns whether there is one.
    #[inline(always)]
    fn select_next(&mut self, sender: EdcafId, now: Time) -> bool {
        if !self.nodes.prefetches(sender) {
            return self.nodes.select_next(sender, &self.phy, now);
        }
        self.nodes.transmitter(sender).let_go(now);
        self.prefetch(sender, Occasion::Outcome, now)
    }

    /// Whether what `sender` sends next ends within the TXOP of the exchange that has just succeeded.
    #[inline(never)]
    fn fits_txop(&self, sender: EdcafId, limit: Time, now: Time) -> bool {
        now + self.phy.sifs + self.shortest_exchange(sender) <= self.medium.txop_began() + limit
    }

    /// Sends the next PPDU of a TXOP after a SIFS, which belongs to its exchange.
    #[inline(never)]
    fn follow(&mut self, sender: EdcafId, now: Time) {
        self.medium.follow(sender, now);
        self.transmit_under_errors(sender, now, Some(self.phy.sifs));
    }

    /// The next attempt of `link` has another mode, if it is another. Says so if the link has another rate.
    pub(crate) fn set_rate(&mut self, link: LinkId, choice: Choice, now: Time) {
        let row = &mut self.links[link.index()];
        row.on_air = self.modes.on_air(link.station(), choice.next, choice.rts);
        row.samples = choice.samples;
        let rate = self.modes.of(link.station()).on_air(choice.link).rate();
        if rate == row.rate {
            return;
        }
        row.set_rate(rate, now);
        let (station, direction) = (link.station(), link.direction());
        self.nodes.deadlines.notify(LinkRateChange { station, direction, rate }, now);
        self.nodes.set_rate(link, rate, now);
    }
}
