//! A basic service set (BSS): the access point, its stations and the medium between them, as a polled state machine.
//!
//! The owner passes packets in ([`Bss::send_up`], [`Bss::send_down`]) and calls [`Bss::advance`] when the time of
//! [`Bss::next_event`] has been reached and everything else of that instant is done. Packets leave as [`Delivery`].
//! `docs/medium.md` defines what happens when. An exchange has at most three events: start, end of the data frame (delivery),
//! end.

pub(crate) mod access;
pub(crate) mod accessors;
pub(crate) mod air;
mod beacons;
mod build;
mod change;
mod controlled;
mod exchanges;
pub(crate) mod field;
mod frames;
mod live;
#[cfg(test)]
mod metering_tests;
pub(crate) mod shared_field;

use wifair_core::{FlowId, Packet, StationId, Time};
use wifair_queue::TxCompletion;

pub(crate) use self::exchanges::Event;
use self::exchanges::Exchanges;
use self::exchanges::field::InField;
use crate::channel::ChannelRecipe;
use crate::deadlines::{Due, LinkRateChange};
use crate::edca_controller::EdcaController;
use crate::exchange::{OngoingExchange, Phase};
use crate::node::Node;
use crate::rate::RateSpec;

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

/// See the module documentation.
pub struct Bss {
    exchanges: Exchanges,
    /// How to create a channel when it is first needed.
    channel_recipe: ChannelRecipe,
    rate_adaptation: RateSpec,
    /// The last change of a link rate that was output.
    rate_change: Option<LinkRateChange>,
    /// The last packets that were output as completed.
    completion: Option<TxCompletion>,
    /// Of CWmin at the stations, if there is one.
    edca_controller: Option<EdcaController>,
    now: Time,
}

impl Bss {
    /// Passes a packet from the station's host to the station's transmit queue.
    #[inline(always)] // into the single caller through which all packets of the stations' hosts pass
    pub fn send_up(&mut self, station: StationId, packet: &Packet, now: Time) {
        self.come_from_outside(now);
        let sender = self.exchanges.nodes.classify(Node::Station(station), packet);
        if self.exchanges.nodes.offer(sender, false, packet, FlowId::default(), station, now) {
            self.exchanges.serve(sender, now);
        }
    }

    /// Passes a packet for the station from the wire to the flow monitor and the AP's transmit queue.
    #[inline(always)] // into the single caller through which all packets of the wire pass
    pub fn send_down(&mut self, station: StationId, packet: &Packet, now: Time) {
        self.come_from_outside(now);
        let flow = self.exchanges.nodes.observe(packet, now);
        let sender = self.exchanges.nodes.classify(Node::Ap, packet);
        if self.exchanges.nodes.offer(sender, true, packet, flow, station, now) {
            self.exchanges.serve(sender, now);
        }
    }

    /// When [`Bss::advance`] is due; [`Time::MAX`] if no event is scheduled.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.exchanges.medium.due().min(self.exchanges.nodes.deadlines.next())
    }

    /// Handles the event due at `now == next_event()`; returns its output, if any. Further events may be due at the same
    /// instant.
    pub fn advance(&mut self, now: Time) -> Option<Output<'_>> {
        if now != self.next_event() {
            self.not_due(now);
        }
        self.now = now;
        let event = if now >= self.exchanges.nodes.deadlines.next() {
            self.meet_deadline(now)
        } else {
            match self.exchanges.medium.phase() {
                Phase::Idle => {
                    self.exchanges.start(now);
                    None
                }
                Phase::Ending => {
                    self.exchanges.end(now);
                    None
                }
                Phase::Data => {
                    let exchange = self.exchanges.medium.pass_data();
                    self.exchanges.deliver(exchange, now)
                }
                Phase::Collision | Phase::Captured | Phase::Beacon => self.exchanges.pass_collision(now),
                Phase::Field => self.pass_field(now, &mut |_| ()),
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
            let now = self.exchanges.nodes.deadlines.next();
            if now >= limit {
                return None;
            }
            let event = match self.exchanges.nodes.deadlines.releases() {
                true => self.exchanges.release(now),
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
            let is_idle = if self.exchanges.medium.phase() == Phase::Ending {
                let now = self.enter(limit)?;
                let follows = self.exchanges.end(now);
                if follows {
                    began(self);
                }
                !follows
            } else {
                self.exchanges.medium.phase() == Phase::Idle
            };
            if is_idle {
                debug_assert!(self.exchanges.medium.phase() == Phase::Idle);
                let now = self.enter(limit)?;
                self.exchanges.start(now);
                began(self);
            }
            if self.exchanges.medium.phase() == Phase::Data {
                let now = self.enter(limit)?;
                let exchange = self.exchanges.medium.pass_data();
                if let Some(event) = self.exchanges.deliver(exchange, now) {
                    return Some(event);
                }
            } else if self.exchanges.medium.is_unusual() {
                let now = self.enter(limit)?;
                let event = match self.exchanges.medium.phase() {
                    Phase::Field => self.pass_field(now, began),
                    _ => self.exchanges.pass_collision(now),
                };
                if let Some(event) = event {
                    return Some(event);
                }
            }
        }
    }

    /// Handles what is due in a field; `began` is called when the outcome of an exchange is known.
    #[cold]
    #[inline(never)]
    fn pass_field(&mut self, now: Time, began: &mut dyn FnMut(&Bss)) -> Option<Event> {
        self.advance_field(now);
        if InField::of(&mut self.exchanges)?.reach_outcome() {
            began(self);
        }
        InField::of(&mut self.exchanges)?.pass(now)
    }

    /// Handles the next of what has happened in a field that other BSSs are in; `began` as in [`Bss::advance_watched`].
    pub(crate) fn pass_shared_field(&mut self, now: Time, began: &mut dyn FnMut(&Bss)) -> Option<Event> {
        self.now = now;
        self.pass_field(now, began)
    }

    /// Moves to the medium's next event, if it comes before `limit` and the next deadline.
    #[inline(always)]
    fn enter(&mut self, limit: Time) -> Option<Time> {
        let due = self.exchanges.medium.due();
        if due >= limit.min(self.exchanges.nodes.deadlines.next()) {
            return None;
        }
        debug_assert!(due >= self.now, "time runs backwards in a BSS");
        self.now = due;
        Some(due)
    }

    #[inline]
    pub(crate) fn output(&self, event: Event) -> Output<'_> {
        match event {
            Event::Delivery => {
                let OngoingExchange { sender, link, .. } = self.exchanges.medium.exchange();
                let packet = &self.exchanges.nodes.edcaf(sender).departure().packet;
                Output::Delivery(Delivery { packet, to: link.receiver() })
            }
            Event::Released => {
                let (link, _, packet) = self.exchanges.nodes.released();
                Output::Delivery(Delivery { packet, to: link.receiver() })
            }
            Event::Marked => Output::Delivery(Delivery { packet: &self.exchanges.marked, to: Node::Ap }),
            Event::LinkRate => Output::LinkRate(self.rate_change.expect("a rate has changed")),
            Event::TxCompletion => Output::TxCompletion(self.completion.expect("there is a completion")),
        }
    }

    /// Handles a deadline. Rate changes are output at once; ticks and losses precede the medium's events of the same instant.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet_deadline(&mut self, now: Time) -> Option<Event> {
        self.now = now;
        match self.exchanges.nodes.deadlines.take(now) {
            Due::LinkRate(change) => {
                self.rate_change = Some(change);
                return Some(Event::LinkRate);
            }
            Due::TxCompletion(completion) => {
                self.completion = Some(completion);
                return Some(Event::TxCompletion);
            }
            Due::Marked => return Some(Event::Marked),
            Due::Released => return self.exchanges.release(now),
            Due::Beacon => beacons::reach_target(&mut self.exchanges, now),
            Due::ControllerSample => {
                let airtime = self.snapshot(now).airtime_by_direction();
                let controller = self.edca_controller.as_mut().expect("a controller takes samples");
                controlled::sample(controller, &mut self.exchanges, airtime, now);
            }
            Due::Reorder => self.exchanges.nodes.expire_reordering(now),
            Due::MpduEnd => self.exchanges.receive_mpdu(now),
            Due::Tick(tx_queue) => {
                for sender in self.exchanges.nodes.tick(tx_queue, now) {
                    if self.exchanges.nodes.awaits(sender, tx_queue) {
                        self.exchanges.serve(sender, now);
                    }
                }
            }
            Due::Failure(sender) => self.exchanges.nodes.report_failure(sender, false, now),
            Due::Loss(sender) => {
                self.exchanges.nodes.report_failure(sender, true, now);
                self.exchanges.give_up(sender, now);
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
}
