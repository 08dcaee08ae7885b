//! A basic service set (BSS): the access point, its stations and the medium between them, as a polled state machine.
//!
//! The owner hands packets in ([`Bss::send_up`], [`Bss::send_down`]) and calls [`Bss::advance`] whenever
//! [`Bss::next_event`] has come and everything else of that instant is done; it gets packets out as [`Delivery`].
//! What happens when is in `docs/medium.md`. An exchange has at most three events: start, end of the data frame
//! (delivery), end.

use std::collections::VecDeque;

use wifair_core::{FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{Direction, Flows, Link, Port, View};

use crate::channel::{Channel, ChannelSpec};
use crate::contention::Contention;
use crate::edca::Edca;
use crate::exchange::{Captured, Collider, Frame, OngoingExchange, Phase};
use crate::link::LinkRow;
use crate::mac::Mac;
use crate::meter::Meter;
use crate::node::{AP, Node, node_of};
use crate::phy::{BssTiming, Modes};
use crate::rate::RateSpec;

/// A packet that has crossed the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The packet. It lies where its sender holds it until the exchange ends.
    pub packet: &'a Packet,
    /// Where it is now.
    pub to: Node,
}

/// A sender's data rate towards its peer has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRateChange {
    /// The station at one end of the link.
    pub station: StationId,
    /// Up: the station's own rate; down: the AP's towards the station.
    pub direction: Direction,
    /// The rate from now on.
    pub rate: Rate,
}

/// What a BSS gives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// A packet has crossed the medium.
    Delivery(Delivery<'a>),
    /// A link rate has changed.
    LinkRate(LinkRateChange),
}

/// What an event gives out, before anybody looks at it.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// The packet in service of the exchange's sender has reached its receiver.
    Delivery,
    LinkRate(LinkRateChange),
}

/// A MAC, or an access category of one, and what stands behind it: see [`Bss::port_of`] for whose port it is.
pub(crate) struct Sender {
    pub port: Port,
    pub frame: Frame,
}

/// What the schemes of one side of the BSS may look at.
pub(crate) struct Surroundings {
    pub flows: Flows,
    /// By station.
    pub links: Vec<Link>,
}

/// The two sides of the cell.
pub(crate) struct Sides {
    pub ap: Surroundings,
    /// All stations share one: a station has no flow monitor, its scheme sees an idle one.
    pub stations: Surroundings,
}

impl Sides {
    #[inline]
    pub(crate) fn view(&self, is_ap: bool) -> View<'_> {
        let side = if is_ap { &self.ap } else { &self.stations };
        View { flows: &side.flows, links: &side.links }
    }
}

/// A frame that reaches the retry limit when its sender's timeout comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loss {
    pub at: Time,
    pub sender: u32,
}

/// See the module's head.
pub struct Bss {
    pub(crate) phy: BssTiming,
    /// Of every link.
    pub(crate) modes: Modes,
    pub(crate) mac: Mac,
    pub(crate) contention: Contention,
    /// A sender is what contends: under DCF a node, under EDCA a category of a node (its rank in the low bits).
    pub(crate) senders: Vec<Sender>,
    /// Bits of a sender that tell its category: none under DCF.
    pub(crate) category_bits: u32,
    pub(crate) edca: Option<Edca>,
    /// By the AP's senders: whether the limit is one of its own, which a change of the AP's limit leaves as it is.
    pub(crate) own_limits: Vec<bool>,
    pub(crate) sides: Sides,
    /// By [`LinkId`](crate::link::LinkId).
    pub(crate) links: Vec<LinkRow>,
    /// Absent where no link has errors.
    pub(crate) channel: Option<Channel>,
    pub(crate) channel_spec: ChannelSpec,
    pub(crate) ap_position_m: [f64; 2],
    pub(crate) rate_adaptation: RateSpec,
    pub(crate) seed: u64,
    /// By node.
    pub(crate) labels: Vec<String>,

    pub(crate) phase: Phase,
    /// When the exchange or collision that goes on began.
    pub(crate) phase_began: Time,
    /// When the medium has its next event: the end of the phase or, while idle, the next start.
    pub(crate) due: Time,
    /// The exchange that goes on, unless it is a collision.
    pub(crate) single: OngoingExchange,
    pub(crate) colliders: Vec<Collider>,
    /// What survives the collision that goes on.
    pub(crate) captured: Option<Captured>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) next_loss: Time,
    /// Senders whose scheme wants a tick, and when.
    pub(crate) tickers: Vec<(u32, Time)>,
    pub(crate) next_tick: Time,
    /// Changes of link rates that the owner has yet to hear of, the oldest first.
    pub(crate) rate_changes: VecDeque<LinkRateChange>,
    /// The earlier of `next_loss` and `next_tick`, or now while `rate_changes` wait; most BSSs never have any.
    pub(crate) rare: Time,
    pub(crate) now: Time,

    /// Only where the AP's scheme looks at channel times.
    pub(crate) meter: Option<Meter>,
    pub(crate) exchanges: u64,
    pub(crate) collisions: u64,
    pub(crate) collision_airtime: Time,
}

impl Bss {
    /// The station's host hands a packet to the station's port.
    #[inline(always)] // into the one place from which all that the stations' hosts send comes
    pub fn send_up(&mut self, station: StationId, packet: &Packet, now: Time) {
        let sender = self.sender(node_of(station), packet);
        self.offer(sender, false, packet, FlowId::default(), station, now);
    }

    /// A packet for the station comes to the AP from the wire: the flow monitor sees it, the AP's port gets it.
    #[inline]
    pub fn send_down(&mut self, station: StationId, packet: &Packet, now: Time) {
        let flow = self.observe(packet, Direction::Down, now);
        let sender = self.sender(AP, packet);
        self.offer(sender, true, packet, flow, station, now);
    }

    /// When [`Bss::advance`] is due; [`Time::MAX`] if nothing will happen by itself.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.due.min(self.rare)
    }

    /// Does what is due at `now == next_event()`, and gives out what comes of it, if anything. Further things may be due
    /// at the same instant.
    pub fn advance(&mut self, now: Time) -> Option<Output<'_>> {
        if now != self.next_event() {
            self.not_due(now);
        }
        let told = self.step(now)?;
        Some(self.output(told))
    }

    /// Does all that is due before `limit`, up to the first thing that gives something out, and when that
    /// is.
    /// `None` once nothing more is due before `limit`.
    #[inline]
    pub fn advance_before(&mut self, limit: Time) -> Option<(Time, Output<'_>)> {
        let told = loop {
            let now = self.next_event();
            if now >= limit {
                return None;
            }
            if let Some(told) = self.step(now) {
                break told;
            }
        };
        Some((self.now, self.output(told)))
    }

    #[inline]
    pub(crate) fn output(&self, told: Told) -> Output<'_> {
        match told {
            Told::Delivery => {
                let OngoingExchange { sender, link, .. } = self.single;
                let to = match link.direction() {
                    Direction::Up => Node::Ap,
                    Direction::Down => Node::Station(link.station()),
                };
                Output::Delivery(Delivery {
                    packet: &self.senders[sender as usize].frame.departure().packet,
                    to,
                })
            }
            Told::LinkRate(change) => Output::LinkRate(change),
        }
    }

    /// One event. It is inlined where the BSS goes on by itself, and with it what the usual exchange needs: start,
    /// delivery and end then share their registers.
    #[inline(always)]
    pub(crate) fn step(&mut self, now: Time) -> Option<Told> {
        assert!(now >= self.now, "time runs backwards in a BSS");
        self.now = now;
        if now >= self.rare {
            return self.advance_rarely(now);
        }
        match self.phase {
            Phase::Idle => self.start(now),
            Phase::Data => return self.deliver(now),
            Phase::Ending => self.end_single(now),
            Phase::Collision => self.end_collision(now),
            Phase::Captured => return self.deliver_captured(now),
        }
        None
    }

    /// Changes of rates are told at once; ticks and losses come before what the medium does at the same instant.
    #[cold]
    #[inline(never)]
    fn advance_rarely(&mut self, now: Time) -> Option<Told> {
        let told = self.rate_changes.pop_front().map(Told::LinkRate);
        if told.is_none() {
            if now == self.next_tick {
                self.tick(now);
            } else {
                self.lose(now);
            }
        }
        self.reschedule();
        told
    }

    #[cold]
    #[inline(never)]
    fn not_due(&self, now: Time) -> ! {
        panic!("{now} is not the BSS's next event ({})", self.next_event());
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_turn(&self, now: Time) -> ! {
        panic!(
            "{now} does not lie between the BSS's last event ({}) and its next ({})",
            self.now,
            self.next_event()
        );
    }

    /// After what may have brought a start nearer, or a rare event.
    pub(crate) fn reschedule(&mut self) {
        if self.phase == Phase::Idle {
            self.due = self.contention.start();
        }
        self.expect_rare();
    }

    pub(crate) fn expect_rare(&mut self) {
        let untold = if self.rate_changes.is_empty() { Time::MAX } else { self.now };
        self.rare = self.next_loss.min(self.next_tick).min(untold);
    }
}
