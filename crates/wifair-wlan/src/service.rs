//! Between the ports and the medium: who serves a packet, what a free MAC does, and what follows when it is done with a
//! frame.

use wifair_core::{Ac, FlowId, Packet, StationId, Time};
use wifair_queue::{Direction, Exchange, Grant, Outcome, Port};

use crate::bss::{Bss, Sender};
use crate::edca::{BEST_EFFORT, CATEGORY_BITS, RANKS};
use crate::exchange::Frame;
use crate::node::AP;
use crate::node::LinkId;

impl Bss {
    /// The sender that serves best effort at a node.
    pub(crate) fn usual_sender(&self, node: u32) -> u32 {
        if self.edca.is_some() { node << CATEGORY_BITS | BEST_EFFORT } else { node }
    }

    /// The sender that serves a packet at a node.
    #[inline]
    pub(crate) fn sender(&self, node: u32, packet: &Packet) -> u32 {
        match &self.edca {
            None => node,
            Some(edca) => node << CATEGORY_BITS | edca.rank(packet),
        }
    }

    /// The port that a sender takes its packets from: one of its own, unless the categories of its node share the first's.
    #[inline]
    pub(crate) fn port_of(&self, sender: u32) -> u32 {
        match &self.edca {
            None => sender,
            Some(edca) => edca.port_of(sender),
        }
    }

    /// Whether a sender is the AP's.
    #[inline]
    pub(crate) fn is_ap(&self, sender: u32) -> bool {
        sender >> self.category_bits == AP
    }

    /// The link of the frame in service of `sender`.
    #[inline]
    pub(crate) fn link_of(&self, sender: u32) -> LinkId {
        LinkId::of(self.is_ap(sender), self.senders[sender as usize].frame.departure().station)
    }

    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        sender: u32,
        is_ap: bool,
        packet: &Packet,
        flow: FlowId,
        station: StationId,
        now: Time,
    ) {
        self.come_from_outside(now);
        let (port_of, ac) = match &self.edca {
            None => (sender, Ac::BestEffort),
            Some(edca) => (edca.port_of(sender), RANKS[sender as usize % RANKS.len()]),
        };
        let (port, frame) = parts(&mut self.senders, sender, port_of);
        port.offer_in(ac, packet, flow, station, now, self.sides.view(is_ap));
        if frame.departure.is_none() {
            return self.serve(sender, now);
        }
        let tick = port.next_tick();
        self.ask_tick(port_of, tick);
    }

    #[inline]
    pub(crate) fn come_from_outside(&mut self, now: Time) {
        if now < self.now || now > self.next_event() {
            self.out_of_turn(now);
        }
        self.now = now;
    }

    /// What follows where a MAC is free: it asks its port for a packet and contends for it.
    #[inline(never)]
    pub(crate) fn serve(&mut self, sender: u32, now: Time) {
        let (is_ap, grant, port_of) = (self.is_ap(sender), self.grant(sender), self.port_of(sender));
        let (port, frame) = parts(&mut self.senders, sender, port_of);
        let departure = port.take(&grant, now, self.sides.view(is_ap));
        let tick = port.next_tick();
        if frame.load(departure, &self.phy, now) {
            self.contention.arrive(sender, now);
            self.meter_wait(sender, now);
            self.reschedule();
        }
        self.ask_tick(port_of, tick);
    }

    /// What a sender may take from its port.
    #[inline]
    pub(crate) fn grant(&self, sender: u32) -> Grant {
        let ac = if self.edca.is_some() { RANKS[sender as usize % RANKS.len()] } else { Ac::BestEffort };
        Grant { ac, ..Grant::ANY }
    }

    /// `sender` is done with its frame: it takes the next, if there is one, and draws. With a delivery the
    /// exchange is over and the medium falls idle, unless a TXOP goes on; a loss comes at any time.
    #[inline(always)] // into the usual end of an exchange; the other callers are cold
    pub(crate) fn finish(&mut self, sender: u32, outcome: Outcome, now: Time) {
        if self.edca.is_some() {
            self.finish_in_category(sender, outcome, now);
        } else {
            self.finish_as::<false>(sender, outcome, now);
        }
    }

    #[inline(never)]
    pub(crate) fn finish_in_category(&mut self, sender: u32, outcome: Outcome, now: Time) {
        self.finish_as::<true>(sender, outcome, now);
    }

    #[inline(always)]
    fn finish_as<const EDCA: bool>(&mut self, sender: u32, outcome: Outcome, now: Time) {
        let more = self.replace_frame::<EDCA>(sender, outcome, now);
        match outcome {
            Outcome::Delivered => {
                if !EDCA {
                    self.contention.succeed(sender, more, now);
                } else if more && self.goes_on(sender, now) {
                    return self.follow(sender, now);
                } else {
                    self.contention.succeed_in_category(sender, more, now);
                }
                self.due = self.contention.start();
            }
            Outcome::LostAtRetryLimit => self.contention.start_over(sender, more),
        }
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// The port of `sender` hears what became of its frame, and gives the next: whether there is one.
    #[inline(always)]
    pub(crate) fn replace_frame<const EDCA: bool>(
        &mut self,
        sender: u32,
        outcome: Outcome,
        now: Time,
    ) -> bool {
        if self.meter.is_some() {
            self.meter_frame(sender);
        }
        let (grant, is_ap, port_of) = match EDCA {
            true => (self.grant(sender), self.is_ap(sender), self.port_of(sender)),
            false => (Grant::ANY, sender == AP, sender),
        };
        let view = self.sides.view(is_ap);
        let (port, frame) = parts(&mut self.senders, sender, port_of);
        let departure = frame.departure();
        port.finish(departure, outcome, now, view, || Exchange {
            outcome,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: grant.ac,
            rate: frame.mode.rate,
            attempts: frame.attempts.min(u32::from(u8::MAX)) as u8,
            airtime: frame.airtime,
            overhead: frame.overhead,
            service: now - frame.taken_at,
        });
        let departure = port.take(&grant, now, view);
        let tick = port.next_tick();
        let more = frame.load(departure, &self.phy, now);
        self.ask_tick(port_of, tick);
        more
    }

    /// A scheme's tick. It may have released a packet to a free MAC.
    #[cold]
    pub(crate) fn tick(&mut self, now: Time) {
        let due = self.tickers.iter().filter(|(_, at)| *at == now).map(|(port, _)| *port);
        let port_of = due.min().expect("a tick is due");
        let is_ap = self.is_ap(port_of);
        let port = &mut self.senders[port_of as usize].port;
        port.tick(now, self.sides.view(is_ap));
        let tick = port.next_tick();
        self.ask_tick(port_of, tick);
        let first = port_of >> self.category_bits << self.category_bits;
        for sender in first..first + (1 << self.category_bits) {
            if self.port_of(sender) == port_of && self.senders[sender as usize].frame.departure.is_none() {
                self.serve(sender, now);
            }
        }
    }

    /// The AP's flow monitor sees a packet.
    #[inline(always)]
    pub(crate) fn observe(&mut self, packet: &Packet, direction: Direction, now: Time) -> FlowId {
        let (senders, category_bits) = (&self.senders, self.category_bits);
        self.sides.ap.flows.observe(packet, direction, now, |flow| is_held(senders, category_bits, flow))
    }

    /// A port wants its next tick at `at`.
    #[inline]
    pub(crate) fn ask_tick(&mut self, port: u32, at: Option<Time>) {
        if at.is_some() || !self.tickers.is_empty() {
            self.set_tick(port, at);
        }
    }

    #[cold]
    pub(crate) fn set_tick(&mut self, port: u32, at: Option<Time>) {
        let at = at.map(|at| at.max(self.now));
        if self.tickers.iter().find(|(other, _)| *other == port).map(|(_, at)| *at) == at {
            return; // it keeps a clock: most calls change nothing
        }
        self.tickers.retain(|(other, _)| *other != port);
        self.tickers.extend(at.map(|at| (port, at)));
        self.next_tick = self.tickers.iter().map(|(_, at)| *at).min().unwrap_or(Time::MAX);
        self.expect_rare();
    }
}

/// A sender's frame in service, and the port that its packets come from.
#[inline]
fn parts(senders: &mut [Sender], sender: u32, port_of: u32) -> (&mut Port, &mut Frame) {
    if port_of == sender {
        let Sender { port, frame } = &mut senders[sender as usize];
        return (port, frame);
    }
    shared_parts(senders, sender, port_of)
}

#[cold]
fn shared_parts(senders: &mut [Sender], sender: u32, port_of: u32) -> (&mut Port, &mut Frame) {
    let both = senders.get_disjoint_mut([port_of as usize, sender as usize]);
    let [Sender { port, .. }, Sender { frame, .. }] = both.expect("two senders");
    (port, frame)
}

/// Whether one of the AP's ports holds a packet of the flow.
pub(crate) fn is_held(senders: &[Sender], category_bits: u32, flow: FlowId) -> bool {
    senders[..1 << category_bits].iter().any(|sender| sender.port.holds(flow))
}
