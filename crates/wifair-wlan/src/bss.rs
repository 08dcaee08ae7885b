//! A basic service set (BSS): the access point, its stations and the medium between them, as a polled state machine.
//!
//! The owner passes packets in ([`Bss::send_up`], [`Bss::send_down`]) and calls [`Bss::advance`] when the time of
//! [`Bss::next_event`] has been reached and everything else of that instant is done. Packets leave as [`Delivery`].
//! `docs/medium.md` defines what happens when. An exchange has at most three events: start, end of the data frame (delivery),
//! end.

pub(crate) mod access;
mod accessors;
pub(crate) mod air;
mod build;
mod change;
mod failure;
mod frames;
mod live;
#[cfg(test)]
mod metering_tests;
mod ppdu;

use wifair_core::{Ac, FlowId, Packet, StationId, Time};
use wifair_queue::{Direction, MpduOutcome, Outcome, Reception, TxCompletion};

use crate::channel::ChannelRecipe;
use crate::deadlines::{Due, LinkRateChange};
use crate::exchange::{OngoingExchange, Phase, ReceptionOutcome};
use crate::link::{LinkRow, StationModes};
use crate::mac::Mac;
use crate::medium::Medium;
use crate::meter::Meter;
use crate::node::{EdcafId, LinkId, Node};
use crate::nodes::{Finished, Nodes, Released};
use crate::phy::BssTiming;
use crate::ppdu::Ppdu;
use crate::rate::{Feedback, RateSpec};

/// A packet that has crossed the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The packet. It is stored by its sender until the exchange ends.
    pub packet: &'a Packet,
    /// The node that has received it.
    pub to: Node,
}

/// Output of a BSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// A packet has crossed the medium.
    Delivery(Delivery<'a>),
    /// A link rate has changed.
    LinkRate(LinkRateChange),
    /// Packets of a connection are gone from their station ([`Bss::report_completions`]).
    TxCompletion(TxCompletion),
}

/// Kind of output of an event.
#[derive(Clone, Copy)]
enum Event {
    /// The frame in service of the exchange's sender has reached its receiver.
    Delivery,
    /// A recipient has released a packet in order.
    Released,
    /// The rate of a link has changed.
    LinkRate,
    /// Packets have left a station.
    TxCompletion,
}

/// See the module documentation.
pub struct Bss {
    phy: BssTiming,
    /// The modes available to the links.
    modes: StationModes,
    mac: Mac,
    nodes: Nodes,
    medium: Medium,
    /// By [`LinkId`].
    links: Vec<LinkRow>,
    /// Present only if the AP's scheme uses channel times.
    meter: Option<Meter>,
    /// How to create a channel when it is first needed.
    channel_recipe: ChannelRecipe,
    rate_adaptation: RateSpec,
    /// The last change of a link rate that was output.
    rate_change: Option<LinkRateChange>,
    /// The last packets that were output as completed.
    completion: Option<TxCompletion>,
    now: Time,
}

impl Bss {
    /// Passes a packet from the station's host to the station's port.
    #[inline(always)] // into the single caller through which all packets of the stations' hosts pass
    pub fn send_up(&mut self, station: StationId, packet: &Packet, now: Time) {
        self.come_from_outside(now);
        let sender = self.nodes.classify(Node::Station(station), packet);
        if self.nodes.offer(sender, false, packet, FlowId::default(), station, now) {
            self.serve(sender, now);
        }
    }

    /// Passes a packet for the station from the wire to the flow monitor and the AP's port.
    #[inline]
    pub fn send_down(&mut self, station: StationId, packet: &Packet, now: Time) {
        self.come_from_outside(now);
        let flow = self.nodes.observe(packet, now);
        let sender = self.nodes.classify(Node::Ap, packet);
        if self.nodes.offer(sender, true, packet, flow, station, now) {
            self.serve(sender, now);
        }
    }

    /// When [`Bss::advance`] is due; [`Time::MAX`] if no event is scheduled.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.medium.due().min(self.nodes.deadlines.next())
    }

    /// Handles the event due at `now == next_event()`; returns its output, if any. Further events may be due at the same
    /// instant.
    pub fn advance(&mut self, now: Time) -> Option<Output<'_>> {
        if now != self.next_event() {
            self.not_due(now);
        }
        self.now = now;
        let event = if now >= self.nodes.deadlines.next() {
            self.meet_deadline(now)
        } else {
            match self.medium.phase() {
                Phase::Idle => {
                    self.start(now);
                    None
                }
                Phase::Ending => {
                    self.end(now);
                    None
                }
                Phase::Data => self.deliver(now),
                Phase::Collision | Phase::Captured | Phase::Beacon => self.pass_collision(now),
            }
        };
        event.map(|event| self.output(event))
    }

    /// Handles the events before `limit` up to the first output; returns it with its time. `None` once nothing more is due
    /// before `limit`.
    #[inline]
    pub fn advance_before(&mut self, limit: Time) -> Option<(Time, Output<'_>)> {
        self.advance_watched(limit, |_| ())
    }

    /// Like [`Bss::advance_before`]; calls `began` whenever an exchange has begun.
    #[inline(always)] // into the engine's loop
    pub fn advance_watched(
        &mut self,
        limit: Time,
        mut began: impl FnMut(&Bss),
    ) -> Option<(Time, Output<'_>)> {
        let event = loop {
            if let Some(event) = self.exchange_before(limit, &mut began) {
                break event;
            }
            let now = self.nodes.deadlines.next();
            if now >= limit {
                return None;
            }
            let event = match self.nodes.deadlines.releases() {
                true => self.release(now),
                false => self.meet_deadline(now),
            };
            if let Some(event) = event {
                break event;
            }
        };
        Some((self.now, self.output(event)))
    }

    /// Handles the medium's events before `limit` and the next deadline, up to the first output. The usual exchange is a
    /// straight line: the end of the previous one, the start, the delivery.
    #[inline(always)]
    fn exchange_before(&mut self, limit: Time, began: &mut impl FnMut(&Bss)) -> Option<Event> {
        loop {
            if self.medium.phase() == Phase::Ending {
                let exchanges = self.medium.counts().exchanges;
                let now = self.enter(limit)?;
                self.end(now);
                if self.medium.counts().exchanges != exchanges {
                    began(self);
                }
            }
            if self.medium.phase() == Phase::Idle {
                let now = self.enter(limit)?;
                self.start(now);
                began(self);
            }
            if self.medium.phase() == Phase::Data {
                let now = self.enter(limit)?;
                if let Some(event) = self.deliver(now) {
                    return Some(event);
                }
            } else if self.medium.is_unusual() {
                let now = self.enter(limit)?;
                if let Some(event) = self.pass_collision(now) {
                    return Some(event);
                }
            }
        }
    }

    /// Moves to the medium's next event, if it comes before `limit` and the next deadline.
    #[inline(always)]
    fn enter(&mut self, limit: Time) -> Option<Time> {
        let due = self.medium.due();
        if due >= limit.min(self.nodes.deadlines.next()) {
            return None;
        }
        debug_assert!(due >= self.now, "time runs backwards in a BSS");
        self.now = due;
        Some(due)
    }

    #[inline]
    fn output(&self, event: Event) -> Output<'_> {
        match event {
            Event::Delivery => {
                let OngoingExchange { sender, link, .. } = self.medium.exchange();
                let packet = &self.nodes.edcaf(sender).departure().packet;
                Output::Delivery(Delivery { packet, to: link.receiver() })
            }
            Event::Released => {
                let (link, packet) = self.nodes.released();
                Output::Delivery(Delivery { packet, to: link.receiver() })
            }
            Event::LinkRate => Output::LinkRate(self.rate_change.expect("a rate has changed")),
            Event::TxCompletion => Output::TxCompletion(self.completion.expect("there is a completion")),
        }
    }

    /// Handles a deadline. Rate changes are output at once; ticks and losses precede the medium's events of the same instant.
    #[cold]
    #[inline(never)]
    fn meet_deadline(&mut self, now: Time) -> Option<Event> {
        self.now = now;
        match self.nodes.deadlines.take(now) {
            Due::LinkRate(change) => {
                self.rate_change = Some(change);
                return Some(Event::LinkRate);
            }
            Due::TxCompletion(completion) => {
                self.completion = Some(completion);
                return Some(Event::TxCompletion);
            }
            Due::Released => return self.release(now),
            Due::Beacon => {
                let next = self.medium.reach_target(now);
                self.nodes.deadlines.set_beacon(next, now);
            }
            Due::Reorder => self.nodes.expire_reordering(now),
            Due::Tick(port) => {
                for sender in self.nodes.tick(port, now) {
                    if self.nodes.awaits(sender, port) {
                        self.serve(sender, now);
                    }
                }
            }
            Due::Failure(sender) => self.nodes.report_failure(sender, false, now),
            Due::Loss(sender) => {
                self.nodes.report_failure(sender, true, now);
                self.give_up(sender, now);
            }
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn not_due(&self, now: Time) -> ! {
        panic!("{now} is not the BSS's next event ({})", self.next_event());
    }

    /// Whether `now` lies between the BSS's last event and its next.
    fn is_in_turn(&self, now: Time) -> bool {
        (self.now..=self.next_event()).contains(&now)
    }

    #[inline]
    fn come_from_outside(&mut self, now: Time) {
        debug_assert!(self.is_in_turn(now), "{now} is before the BSS's last event or after its next");
        self.now = now;
    }

    /// Lets a channel access function take packets ahead of access; if it was free, it contends now.
    #[cold]
    fn serve_ahead(&mut self, sender: EdcafId, now: Time) {
        let was_free = self.nodes.edcaf(sender).is_free();
        if self.prefetch(sender, now) && was_free {
            self.medium.arrive(sender, now);
            self.meter_wait(sender, now);
        }
    }

    /// Lets a free channel access function take a packet and contend for it.
    #[inline(never)]
    fn serve(&mut self, sender: EdcafId, now: Time) {
        if self.nodes.prefetches(sender) {
            return self.serve_ahead(sender, now);
        }
        if self.nodes.select_next(sender, &self.phy, now) {
            self.medium.arrive(sender, now);
            self.meter_wait(sender, now);
        }
    }

    /// One or several senders start to transmit.
    #[inline(always)]
    fn start(&mut self, now: Time) {
        let sender = match self.medium.begin(now) {
            Some(sender) => sender,
            None => match self.start_unusually(now) {
                Some(sender) => sender,
                None => return,
            },
        };
        match self.medium.is_ideal() {
            true => self.transmit(sender, now, None, |_| ReceptionOutcome::Decoded),
            false => self.transmit_under_errors(sender, now, None),
        }
    }

    #[inline(never)]
    fn transmit_under_errors(&mut self, sender: EdcafId, now: Time, lead: Option<Time>) {
        self.transmit(sender, now, lead, |bss| bss.draw_outcome(sender, now));
    }

    /// Starts the exchange of `sender` now or, in a continuing TXOP, after `lead`.
    #[inline(always)]
    fn transmit(
        &mut self,
        sender: EdcafId,
        now: Time,
        lead: Option<Time>,
        outcome: impl FnOnce(&mut Bss) -> ReceptionOutcome,
    ) {
        if self.nodes.serves_queue(sender) {
            self.form_ppdu(sender, now, lead.is_some());
        }
        let outcome = outcome(self);
        let edcaf = self.nodes.edcaf_mut(sender);
        let link = edcaf.link();
        let row = &mut self.links[link.index()];
        let Ppdu { airtime, response, control, with_rts, .. } = edcaf.next_ppdu(&row.on_air);
        let before = match lead {
            Some(lead) => lead,
            None if with_rts => self.mac.waits[usize::from(control)].reservation,
            None => Time::ZERO,
        };
        let follows = lead.is_some();
        let exchange = OngoingExchange { sender, link, outcome, end: Time::ZERO, follows };
        let end = self.medium.start_exchange(exchange, now + before + airtime, response);
        edcaf.attempt(&row.on_air.mode, end - now);
        row.usage.attempts += 1;
        if row.has_agreement {
            self.count_mpdus(sender, link);
        }
    }

    /// Handles the end of the PPDU: its receiver decodes it. A recipient's packets are released one by one ([`Bss::release`]).
    #[inline(always)]
    fn deliver(&mut self, now: Time) -> Option<Event> {
        let OngoingExchange { sender, link, .. } = self.medium.pass_data();
        let LinkRow { has_agreement, usage, .. } = &mut self.links[link.index()];
        if *has_agreement {
            self.nodes.receive(sender, now, |is_duplicate| usage.duplicates += u64::from(is_duplicate));
            return None; // what it can release is due now
        }
        let Some(flow) = self.nodes.receive_frame(sender, link.direction(), now) else {
            usage.duplicates += 1;
            return None;
        };
        usage.delivered += 1;
        if self.meter.is_some() && link.direction() == Direction::Up {
            self.meter_frame(flow, now);
        }
        Some(Event::Delivery)
    }

    /// The next packet that a recipient releases in order.
    #[inline(always)] // into the engine's loop
    fn release(&mut self, now: Time) -> Option<Event> {
        let Released { link, ac, flow, airtime } = self.nodes.release(self.meter.is_some(), now)?;
        self.links[link.index()].usage.delivered += 1;
        if self.meter.is_some() && link.direction() == Direction::Up {
            self.meter_released(link.station(), ac, flow, airtime, now);
        }
        Some(Event::Released)
    }

    /// Handles the end of an exchange's last frame.
    #[inline(always)]
    fn end(&mut self, now: Time) {
        let (exchange, airtime) = self.medium.end(now);
        let OngoingExchange { sender, link, outcome, .. } = exchange;
        let row = &mut self.links[link.index()];
        row.usage.airtime += airtime;
        if outcome != ReceptionOutcome::Decoded {
            return self.end_failure(now);
        }
        if row.ends_generally {
            return self.end_generally(sender, link, now);
        }
        match self.nodes.complete_unobserved(sender, &self.phy, now) {
            Some(next) => {
                self.proceed(sender, next, now);
            }
            None => self.end_generally(sender, link, now),
        }
    }

    /// Recomputes which links have an agreement, and which take the general path of the end of an exchange.
    fn review_ends(&mut self) {
        for (index, row) in self.links.iter_mut().enumerate() {
            row.has_agreement = self.nodes.agreement_of(LinkId::at(index), Ac::BestEffort).is_some();
            row.ends_generally = row.adapts || row.has_agreement || self.meter.is_some();
        }
    }

    /// The general path of the end of a successful exchange.
    #[inline(never)]
    fn end_generally(&mut self, sender: EdcafId, link: LinkId, now: Time) {
        let next = self.complete(sender, link, now);
        if self.proceed(sender, next, now) {
            self.meter_wait(sender, now);
        }
    }

    /// Lets `sender`, whose exchange has succeeded, continue its TXOP with what it sends next, if there is anything, or contend for it.
    /// Returns whether it contends. `next` is its TXOP limit.
    #[inline(always)]
    fn proceed(&mut self, sender: EdcafId, next: Option<Time>, now: Time) -> bool {
        if let Some(limit) = next
            && limit > Time::ZERO
            && self.fits_txop(sender, limit, now)
        {
            self.follow(sender, now);
            return false;
        }
        self.medium.succeed(sender, next.is_some(), now);
        next.is_some()
    }

    /// Completes what the decoded response to `sender` acknowledges: reports it to the rate adaptation, the meter and the port. Returns the TXOP
    /// limit if there is anything to send next.
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

    /// Takes what is acknowledged, if the exchange has `succeeded`, and what has reached its retry limit out of the service of `sender`.
    /// Returns whether anything is left there.
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
        self.nodes.let_go(sender, now);
        self.prefetch(sender, now)
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

    /// Counts the wait of `sender` for access that begins now: a DIFS or AIFS and the rest of its backoff.
    #[inline(always)]
    fn meter_wait(&mut self, sender: EdcafId, now: Time) {
        if self.meter.is_some() {
            self.nodes.edcaf_mut(sender).wait(self.medium.contention().wait(sender, now));
        }
    }

    /// Counts slots that were drawn after the wait of `sender` for its last access began.
    #[cold]
    fn meter_late_draws(&mut self, sender: EdcafId) {
        if self.meter.is_some() {
            self.nodes.edcaf_mut(sender).wait(self.medium.take_drawn_late(sender));
        }
    }

    /// Meters the first copy of a frame of `flow` received by the AP.
    #[cold]
    #[inline(never)]
    fn meter_frame(&mut self, flow: FlowId, now: Time) {
        let OngoingExchange { sender, link, end, .. } = self.medium.exchange();
        let packet = self.nodes.edcaf(sender).departure().packet;
        let (airtime, ac) = (end - self.medium.began(), self.nodes.edcaf(sender).role().ac);
        self.meter_reception(&packet, link.station(), ac, flow, airtime, now);
    }

    /// Meters the last packet that a recipient has released.
    #[cold]
    #[inline(never)]
    fn meter_released(&mut self, station: StationId, ac: Ac, flow: FlowId, airtime: Time, now: Time) {
        let packet = *self.nodes.released().1;
        self.meter_reception(&packet, station, ac, flow, airtime, now);
    }

    /// Meters a packet received by the AP, and reports it to the schemes that ask for receptions.
    #[inline(always)] // into its two callers
    fn meter_reception(
        &mut self,
        packet: &Packet,
        station: StationId,
        ac: Ac,
        flow: FlowId,
        airtime: Time,
        now: Time,
    ) {
        let Some(meter) = &mut self.meter else { return };
        let sender = self.nodes.edcaf_of(Node::Station(station), ac);
        let overhead = self.medium.contention().mean_first_wait(sender); // `dqm` III-B.1
        let reception = Reception { packet, flow, station, ac, airtime, overhead };
        self.nodes.report_reception(&reception, now);
        meter.believe(packet.class(), Direction::Up, reception.channel_time());
    }

    /// Reports to the rate adaptation of a link how many of the MPDUs that `sender` sent were acknowledged.
    #[inline(never)]
    fn ask_adaptation(&mut self, sender: EdcafId, link: LinkId, sent: u32, acknowledged: u32, now: Time) {
        let modes = self.modes.of(link.station());
        let channel = &mut self.medium.channel_mut();
        let mut error_rate = |mode, bytes| match channel {
            Some(channel) => channel.data_error_rate(link, &modes.on_air(mode).mode, bytes, now),
            None => 0.0,
        };
        let mode = modes.index_of(self.nodes.edcaf(sender).mode());
        let mut feedback = Feedback { mode, sent, acknowledged, now, error_rate: &mut error_rate };
        let choice = self.links[link.index()].adaptation.on_attempt(&mut feedback);
        self.set_rate(link, choice, now);
    }
}
