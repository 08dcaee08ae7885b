//! The medium: which channel access functions contend for it, what is on the air, and what survives (`docs/medium.md`, sections
//! 3, 4 and 11). Senders are identified by the number of their channel access function; the medium does not know their frames
//! in service.

use wifair_core::Time;

use crate::beacons::Beacons;
use crate::channel::{Attempt, Channel};
use crate::contention::Contention;
use crate::exchange::{Captured, Collider, OngoingExchange, Phase, ReceptionOutcome};
use crate::mac::Mac;
use crate::node::{EdcafId, Node, Numbering};
use crate::phy::timing::BssTiming;
use crate::ppdu::Ppdu;
use crate::records::BeaconUsage;

/// Usage of the medium so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Exchanges begun, collisions and beacons included.
    pub exchanges: u64,
    /// Collisions begun.
    pub collisions: u64,
    /// Time occupied by completed collisions.
    pub collision_airtime: Time,
    /// Beacons begun, and time occupied by those that are over.
    pub beacons: BeaconUsage,
}

pub(crate) struct Medium {
    contention: Contention,
    /// Absent if no link has errors.
    channel: Option<Channel>,
    numbering: Numbering,
    /// Whether a node may have several contenders.
    has_siblings: bool,
    beacons: Option<Beacons>,
    phase: Phase,
    /// When the current exchange or collision began.
    began: Time,
    /// Time of the next event: the end of the phase or, while idle, the next start.
    due: Time,
    /// The current exchange, unless it is a collision.
    exchange: OngoingExchange,
    /// When the TXOP of an exchange that follows another began.
    txop_began: Time,
    colliders: Vec<Collider>,
    /// The frame that survives the current collision.
    captured: Option<Captured>,
    counts: Counts,
}

impl Medium {
    /// Idle, without errors.
    pub(crate) fn new(contention: Contention, numbering: Numbering, beacons: Option<Beacons>) -> Medium {
        Medium {
            contention,
            channel: None,
            numbering,
            has_siblings: numbering.per_node() > 1 || beacons.is_some(),
            beacons,
            phase: Phase::Idle,
            began: Time::ZERO,
            due: Time::MAX,
            exchange: OngoingExchange::none(),
            txop_began: Time::ZERO,
            colliders: Vec::new(),
            captured: None,
            counts: Counts::default(),
        }
    }

    /// When the medium has its next event.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Leaves it to a field (section 16) what is on the air.
    pub(crate) fn leave_to_field(&mut self) {
        self.phase = Phase::Field;
    }

    /// Sets when the field has its next event.
    pub(crate) fn set_due(&mut self, due: Time) {
        self.due = due;
    }

    /// Makes `exchange`, which began in the field at `began` and whose TXOP at `txop_began`, the current one.
    pub(crate) fn regard(&mut self, exchange: OngoingExchange, txop_began: Time, began: Time) {
        self.exchange = exchange;
        self.txop_began = txop_began;
        self.began = began;
    }

    /// When the current exchange or collision began.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// The current exchange, or that of a frame captured from the current collision.
    pub(crate) fn exchange(&self) -> OngoingExchange {
        self.exchange
    }

    pub(crate) fn colliders(&self) -> &[Collider] {
        &self.colliders
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// As [`Contention::set_cw_min`].
    pub(crate) fn set_cw_min(&mut self, sender: EdcafId, cw_min: u16) {
        self.contention.set_cw_min(sender, cw_min);
    }

    pub(crate) fn contention(&self) -> &Contention {
        &self.contention
    }

    /// The channel, to draw from.
    pub(crate) fn channel_mut(&mut self) -> Option<&mut Channel> {
        self.channel.as_mut()
    }

    pub(crate) fn channel(&self) -> Option<&Channel> {
        self.channel.as_ref()
    }

    /// The channel, created by `make` if there is none yet.
    pub(crate) fn channel_or_else(&mut self, make: impl FnOnce() -> Channel) -> &mut Channel {
        self.channel.get_or_insert_with(make)
    }

    // Contending.

    /// Handles a packet that has arrived at a free channel access function.
    pub(crate) fn arrive(&mut self, sender: EdcafId, now: Time) {
        self.contention.arrive(sender, now);
        self.review();
    }

    /// Updates the next start after a change that may bring it forward.
    pub(crate) fn review(&mut self) {
        if self.phase == Phase::Idle {
            self.due = self.contention.start();
        }
    }

    /// Starts the transmission of one or several senders; returns the sender in the usual case of one.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time) -> Option<EdcafId> {
        self.counts.exchanges += 1;
        self.began = now;
        self.contention.begin_alone(now)
    }

    /// General path of the start of a transmission.
    pub(crate) fn begin_unusually(&mut self, now: Time) {
        self.contention.begin(now);
    }

    /// Resolves internal collisions between categories of a node; returns the losers (section 10). Against a beacon all of the
    /// AP's lose.
    pub(crate) fn collide_internally(&mut self, with_beacon: bool) -> Vec<EdcafId> {
        self.contention.collide_internally(self.numbering, with_beacon.then_some(Node::Ap))
    }

    /// The transmitting senders, since [`Medium::begin_unusually`].
    pub(crate) fn transmitters(&self) -> &[EdcafId] {
        self.contention.transmitters()
    }

    /// Lets a loser of an internal collision contend again.
    pub(crate) fn lose_internally(&mut self, sender: EdcafId) {
        self.contention.lose_internally(sender);
    }

    /// Stops the contention of `sender`, whose frame will be given up.
    pub(crate) fn withdraw(&mut self, sender: EdcafId) {
        self.contention.withdraw(sender);
    }

    /// Lets `sender`, whose frame has been given up, contend with the next frame, if there is one; its CW is unchanged.
    pub(crate) fn go_on(&mut self, sender: EdcafId, more: bool) {
        self.contention.go_on(sender, more);
        self.review();
    }

    /// Sets the CW for the next backoff of `sender`: CWmin or a doubled window.
    pub(crate) fn set_window(&mut self, sender: EdcafId, resets: bool) {
        match resets {
            true => self.contention.reset_window(sender),
            false => self.contention.widen(sender),
        }
    }

    /// Returns slots of `sender` that were drawn after its wait began.
    pub(crate) fn take_drawn_late(&mut self, sender: EdcafId) -> Time {
        self.contention.take_drawn_late(sender)
    }

    // What is on the air.

    /// Whether frames fail only by collision.
    pub(crate) fn is_ideal(&self) -> bool {
        self.channel.is_none()
    }

    /// Puts the data frame of `exchange` on the air until `data_end`; a SIFS and the response take `response`. Returns the end
    /// of the exchange, which is not set in `exchange`.
    #[inline(always)]
    pub(crate) fn start_exchange(
        &mut self,
        exchange: OngoingExchange,
        data_end: Time,
        response: Time,
    ) -> Time {
        let (phase, end) = match exchange.outcome {
            ReceptionOutcome::DataLost => (Phase::Ending, data_end),
            ReceptionOutcome::Decoded | ReceptionOutcome::AckLost => (Phase::Data, data_end + response),
        };
        self.exchange = OngoingExchange { end, ..exchange };
        self.phase = phase;
        self.due = data_end;
        end
    }

    /// Handles the end of the data frame: the receiver has it.
    #[inline(always)]
    pub(crate) fn pass_data(&mut self) -> OngoingExchange {
        self.phase = Phase::Ending;
        self.due = self.exchange.end;
        self.exchange
    }

    /// Ends the exchange; returns it and its duration.
    #[inline(always)]
    pub(crate) fn end(&mut self, now: Time) -> (OngoingExchange, Time) {
        self.phase = Phase::Idle;
        (self.exchange, now - self.began)
    }

    /// Ends an exchange that all nodes have decoded: its sender contends with its next packet, if there is one, and the medium
    /// becomes idle.
    #[inline(always)]
    pub(crate) fn succeed(&mut self, sender: EdcafId, more: bool, now: Time) {
        self.contention.succeed(sender, more, now);
        self.due = self.contention.start();
    }

    /// When the TXOP of the exchange that is current, or has just ended, began.
    pub(crate) fn txop_began(&self) -> Time {
        if self.exchange.follows { self.txop_began } else { self.began }
    }

    /// When the TXOP of an exchange that is about to follow ([`Medium::follow`]) began.
    pub(crate) fn txop_of_next_began(&self) -> Time {
        self.txop_began
    }

    /// Lets `sender`, whose exchange has ended, keep the medium for another exchange.
    pub(crate) fn follow(&mut self, sender: EdcafId, now: Time) {
        self.contention.reset_window(sender);
        self.txop_began = self.txop_began();
        self.counts.exchanges += 1;
        self.began = now;
    }

    // Failures and collisions.

    /// Handles the failure of `sender`, known to it at `awaits_response_until`, after its CW has been set
    /// ([`Medium::set_window`]). Its IFS, and that of the other categories of its node, run from `from`. It contends again,
    /// unless what is in service `is_lost` and will be given up.
    #[inline(always)]
    pub(crate) fn fail(
        &mut self,
        sender: EdcafId,
        is_lost: bool,
        from: Time,
        awaits_response_until: Time,
        now: Time,
    ) {
        if is_lost {
            self.contention.leave_grid(sender, from, awaits_response_until);
        } else {
            self.contention.fail(sender, from, awaits_response_until);
        }
        if self.has_siblings {
            self.hold_siblings(sender, from, awaits_response_until, now);
        }
    }

    /// Makes the other categories of the node of `sender`, whose frame has failed, wait as it does.
    #[cold]
    #[inline(never)]
    fn hold_siblings(&mut self, sender: EdcafId, from: Time, awaits_response_until: Time, now: Time) {
        for sibling in self.senders_of(self.numbering.node(sender)) {
            if sibling != sender {
                self.contention.hold(sibling, from, awaits_response_until, now);
            }
        }
    }

    /// The contenders of a node, beacons included.
    fn senders_of(&self, node: Node) -> impl Iterator<Item = EdcafId> + use<> {
        let beacons = self.beacons.as_ref().filter(|_| node.is_ap()).map(|beacons| beacons.sender);
        self.numbering.of_node(node).chain(beacons)
    }

    /// Makes the receiver of an undecodable frame wait an IFS that runs from `from`.
    pub(crate) fn start_eifs(&mut self, receiver: Node, from: Time, now: Time) {
        for sender in self.senders_of(receiver) {
            self.contention.start_eifs(sender, from, now);
        }
    }

    /// Handles the acknowledgement of the captured frame of `sender`: it contends with its next packet, if there is one, after
    /// an IFS that runs from `from`, which may differ from that of the others.
    pub(crate) fn succeed_aside(&mut self, sender: EdcafId, more: bool, from: Time, now: Time) {
        self.contention.withdraw(sender);
        self.contention.reset_window(sender);
        self.contention.go_on(sender, more);
        self.fail(sender, true, from, Time::ZERO, now);
    }

    /// Makes the medium idle; the IFS of all other nodes runs from `from`, with the NAV set until `nav`, if given.
    pub(crate) fn fall_idle(&mut self, from: Time, nav: Option<Time>, now: Time) {
        self.contention.resume(now, from, nav);
        self.phase = Phase::Idle;
        self.due = self.contention.start();
    }

    /// Starts a collision; [`Medium::collide`] adds each sender.
    pub(crate) fn begin_collision(&mut self, now: Time) {
        self.counts.collisions += 1;
        self.colliders.clear();
        self.phase = Phase::Collision;
        self.due = now;
    }

    /// Adds a sender to a collision.
    pub(crate) fn collide(&mut self, collider: Collider) {
        self.due = self.due.max(collider.ends);
        self.colliders.push(collider);
    }

    /// Marks the frame of the collider as lost: it reaches a retry limit with this failure.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        self.colliders[index].lost = true;
        self.contention.withdraw(self.colliders[index].sender);
    }

    /// Determines whether one of the new colliders is captured by its addressee. It is removed from the colliders and returned
    /// with the end of its exchange, unless it will be answered in vain. `ppdu` returns what a collider sends.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture(
        &mut self,
        ppdu: impl FnOnce(&Collider) -> Ppdu,
        phy: &BssTiming,
        mac: &Mac,
        now: Time,
    ) -> Option<(Collider, Time)> {
        let (Some(margin_db), Some(channel)) = (mac.capture_db, &mut self.channel) else { return None };
        let index = channel.captured(&self.colliders, margin_db, now)?;
        let collider = self.colliders[index];
        let Collider { sender, link, ends, .. } = collider;
        let others = self.colliders.iter().enumerate().filter(|(other, _)| *other != index);
        let others_end = others.map(|(_, other)| other.ends).max().unwrap_or(now);
        let in_vain = others_end > ends + phy.sifs;

        let Ppdu { mode, control, with_rts, psdu_bytes, airtime, response, .. } = ppdu(&collider);
        let waits = &mac.waits[usize::from(control)];
        let attempt = Attempt { link, node: link.sender(), mode, control, psdu_bytes, now };
        let outcome = match in_vain {
            true if with_rts => ReceptionOutcome::AckLost,
            _ if channel.loses_data(&attempt, phy) => ReceptionOutcome::DataLost,
            false if !channel.loses_ack(&attempt, phy) => ReceptionOutcome::Decoded,
            _ => ReceptionOutcome::AckLost,
        };
        if outcome == ReceptionOutcome::DataLost && !with_rts {
            return None;
        }
        let reservation = if with_rts { waits.reservation } else { Time::ZERO };
        let data_end = now + airtime + reservation;
        let end = match in_vain {
            // The answer: a CTS, or a MAC ACK.
            true if with_rts => ends + phy.sifs + phy.control_frames[usize::from(control)].cts.duration,
            true => ends + response,
            false if outcome == ReceptionOutcome::DataLost => data_end,
            false => data_end + response,
        };
        let busy_until = if in_vain { end.max(others_end) } else { end };
        self.exchange = OngoingExchange { sender, link, outcome, end, follows: false };
        self.captured = Some(Captured { ends, others_end, in_vain, busy_until });
        (self.phase, self.due) = match (in_vain, with_rts, outcome) {
            (true, true, _) | (false, _, ReceptionOutcome::DataLost) => (Phase::Collision, busy_until),
            (true, false, _) => (Phase::Captured, ends),
            (false, ..) => (Phase::Captured, data_end),
        };
        if in_vain {
            self.colliders[..=index].rotate_right(1);
            return None;
        }
        self.colliders.remove(index);
        Some((collider, end))
    }

    /// Handles the end of the captured data frame; its collision continues.
    pub(crate) fn pass_captured(&mut self) {
        self.phase = Phase::Collision;
        self.due = self.captured.expect("it is captured until the medium falls idle").busy_until;
    }

    /// Ends the collision; returns the frame that was captured and answered, if any. Otherwise its time is attributed to no
    /// station.
    pub(crate) fn end_collision(&mut self, now: Time) -> Option<Captured> {
        let captured = self.captured.take().filter(|captured| !captured.in_vain);
        if captured.is_none() {
            self.counts.collision_airtime += now - self.began;
        }
        captured
    }

    // Beacons.

    /// The AP's beacons, if it sends any.
    pub(crate) fn beacons(&self) -> Option<&Beacons> {
        self.beacons.as_ref()
    }

    /// End of the beacon in the current exchange or collision.
    pub(crate) fn beacon_ends(&self) -> Option<Time> {
        self.beacons.as_ref()?.ends
    }

    /// Handles a target time: another beacon waits, in place of one that has waited until now.
    pub(crate) fn reach_target(&mut self, now: Time) {
        let Some(Beacons { sender, waits, .. }) = &mut self.beacons else { return };
        let sender = *sender;
        if !std::mem::replace(waits, true) {
            self.arrive(sender, now);
        }
    }

    /// Whether a beacon is among the transmitters, of which it is removed.
    pub(crate) fn take_beacon(&mut self) -> bool {
        self.beacons.as_ref().is_some_and(|beacons| self.contention.take_last(beacons.sender))
    }

    /// Starts the transmission of a beacon, alone or in a collision that has begun.
    pub(crate) fn send_beacon(&mut self, collides: bool, now: Time) {
        let Some(Beacons { sender, duration, waits, ends, .. }) = &mut self.beacons else { return };
        let end = now + *duration;
        *waits = false;
        *ends = Some(end);
        self.contention.withdraw(*sender);
        self.counts.beacons.sent += 1;
        self.counts.beacons.collided += u64::from(collides);
        (self.phase, self.due) = match collides {
            true => (Phase::Collision, self.due.max(end)),
            false => (Phase::Beacon, end),
        };
    }

    /// Ends a beacon that all nodes have decoded; the medium becomes idle.
    pub(crate) fn end_beacon(&mut self, now: Time) {
        let Some(Beacons { sender, waits, ends, .. }) = &mut self.beacons else { return };
        let (sender, waits) = (*sender, *waits);
        *ends = None;
        self.counts.beacons.airtime += now - self.began;
        self.phase = Phase::Idle;
        self.succeed(sender, waits, now);
    }

    /// Ends a beacon that has collided: the IFS of the AP runs from `from`.
    pub(crate) fn lose_beacon(&mut self, from: Time, now: Time) {
        let Some(Beacons { sender, ends, .. }) = &mut self.beacons else { return };
        let sender = *sender;
        *ends = None;
        self.contention.draw(sender);
        self.contention.leave_grid(sender, from, Time::ZERO);
        for sibling in self.senders_of(Node::Ap) {
            if sibling != sender {
                self.contention.start_eifs(sibling, from, now);
            }
        }
    }

    /// Whether a collision or a beacon is on the air.
    pub(crate) fn is_unusual(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Data | Phase::Ending)
    }

    /// Whether several senders began together.
    pub(crate) fn is_collision(&self) -> bool {
        matches!(self.phase, Phase::Collision | Phase::Captured)
    }

    /// Whether nothing survives the current collision, or only a frame that is answered in vain.
    pub(crate) fn is_lost(&self) -> bool {
        self.captured.is_none_or(|captured| captured.in_vain)
    }

    /// Whether that collider is captured but answered in vain.
    pub(crate) fn is_in_vain(&self, index: usize) -> bool {
        index == 0 && self.captured.is_some_and(|captured| captured.in_vain)
    }

    /// When the transmission of a collider ends, including a response in vain.
    pub(crate) fn end_of_attempt(&self, index: usize) -> Time {
        if self.is_in_vain(index) { self.exchange.end } else { self.colliders[index].ends }
    }
}
