//! The medium: who contends for it, what is on the air, and what survives (`docs/medium.md`, sections 3, 4 and 11). Who
//! transmits is named by the number of its channel access function; what that has in service is not known here.

use wifair_core::Time;

use crate::channel::{Attempt, Channel};
use crate::contention::Contention;
use crate::exchange::{Captured, Collider, Fate, OngoingExchange, Phase};
use crate::mac::Mac;
use crate::phy::{BssTiming, OnAir};

/// What the medium was used for so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Exchanges begun, collisions included.
    pub exchanges: u64,
    /// Collisions begun.
    pub collisions: u64,
    /// Time occupied by collisions that are over.
    pub collision_airtime: Time,
}

pub(crate) struct Medium {
    contention: Contention,
    /// Absent where no link has errors.
    channel: Option<Channel>,
    /// Bits of a channel access function's number that tell its category.
    category_bits: u32,
    phase: Phase,
    /// When the exchange or collision that goes on began.
    began: Time,
    /// When the next event comes: the end of the phase or, while idle, the next start.
    due: Time,
    /// The exchange that goes on, unless it is a collision.
    exchange: OngoingExchange,
    /// When the TXOP began in which it follows another.
    txop_began: Time,
    colliders: Vec<Collider>,
    /// What survives the collision that goes on.
    captured: Option<Captured>,
    counts: Counts,
}

impl Medium {
    /// Idle, without errors.
    pub(crate) fn new(contention: Contention, category_bits: u32) -> Medium {
        Medium {
            contention,
            channel: None,
            category_bits,
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

    /// When the exchange or collision that goes on began.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// The exchange that goes on, or that of a frame captured from the collision that does.
    pub(crate) fn exchange(&self) -> OngoingExchange {
        self.exchange
    }

    pub(crate) fn colliders(&self) -> &[Collider] {
        &self.colliders
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
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

    /// The channel, which `make` makes where there is none yet.
    pub(crate) fn channel_or_else(&mut self, make: impl FnOnce() -> Channel) -> &mut Channel {
        self.channel.get_or_insert_with(make)
    }

    // Contending.

    /// A packet has come to a free channel access function.
    pub(crate) fn arrive(&mut self, sender: u32, now: Time) {
        self.contention.arrive(sender, now);
        self.review();
    }

    /// After what may have brought a start nearer.
    pub(crate) fn review(&mut self) {
        if self.phase == Phase::Idle {
            self.due = self.contention.start();
        }
    }

    /// Somebody, or several, start to transmit: the one, if things are as usual.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time) -> Option<u32> {
        self.counts.exchanges += 1;
        self.began = now;
        self.contention.begin_alone(now)
    }

    /// As things are not as usual.
    pub(crate) fn begin_unusually(&mut self, now: Time) {
        self.contention.begin(now);
    }

    /// Several categories of a node would transmit: the losers (section 10).
    pub(crate) fn collide_internally(&mut self) -> Vec<u32> {
        self.contention.collide_internally(self.category_bits)
    }

    /// Who transmits, since [`Medium::begin_unusually`].
    pub(crate) fn transmitters(&self) -> &[u32] {
        self.contention.transmitters()
    }

    /// A loser of an internal collision contends again, with CWmin or twice the window.
    pub(crate) fn lose_internally(&mut self, sender: u32, resets: bool) {
        self.set_window(sender, resets);
        self.contention.lose_internally(sender);
    }

    /// The frame of `sender` will be given up, and contends no more.
    pub(crate) fn withdraw(&mut self, sender: u32) {
        self.contention.withdraw(sender);
    }

    /// The frame of `sender` has been given up: it contends with the next, if there is one.
    pub(crate) fn start_over(&mut self, sender: u32, more: bool) {
        self.contention.start_over(sender, more);
        self.review();
    }

    /// What `sender` had in service has been given up, and its CW stays: it contends with what is next, if there is anything.
    pub(crate) fn go_on(&mut self, sender: u32, more: bool) {
        self.contention.go_on(sender, more);
        self.review();
    }

    /// The next backoff of `sender` is drawn with CWmin, or with twice the window.
    pub(crate) fn set_window(&mut self, sender: u32, resets: bool) {
        match resets {
            true => self.contention.reset_window(sender),
            false => self.contention.widen(sender),
        }
    }

    /// Slots that nobody could tell of when the wait of `sender` began.
    pub(crate) fn take_drawn_late(&mut self, sender: u32) -> Time {
        self.contention.take_drawn_late(sender)
    }

    // What is on the air.

    /// Whether nothing can fail but by collision.
    pub(crate) fn is_ideal(&self) -> bool {
        self.channel.is_none()
    }

    /// Draws what the channel does to a data frame and its MAC ACK.
    pub(crate) fn fate(&mut self, attempt: &Attempt, phy: &BssTiming) -> Fate {
        self.channel.as_mut().map_or(Fate::Decoded, |channel| channel.fate(attempt, phy))
    }

    /// The data frame of `exchange` is on its way until `data_end`; a SIFS and what answers it take `response`. Returns when the
    /// exchange ends, which `exchange` does not know.
    #[inline(always)]
    pub(crate) fn carry(&mut self, exchange: OngoingExchange, data_end: Time, response: Time) -> Time {
        let (phase, end) = match exchange.fate {
            Fate::DataLost => (Phase::Ending, data_end),
            Fate::Decoded | Fate::AckLost => (Phase::Data, data_end + response),
        };
        self.exchange = OngoingExchange { end, ..exchange };
        self.phase = phase;
        self.due = data_end;
        end
    }

    /// The data frame has ended: the receiver has it.
    #[inline(always)]
    pub(crate) fn pass_data(&mut self) -> OngoingExchange {
        self.phase = Phase::Ending;
        self.due = self.exchange.end;
        self.exchange
    }

    /// The exchange ends: what it was, and how long it has taken.
    #[inline(always)]
    pub(crate) fn end(&mut self, now: Time) -> (OngoingExchange, Time) {
        self.phase = Phase::Idle;
        (self.exchange, now - self.began)
    }

    /// Everybody has decoded the exchange: its sender contends with its next packet, if there is one, and the medium falls idle.
    #[inline(always)]
    pub(crate) fn succeed(&mut self, sender: u32, more: bool, now: Time) {
        self.contention.succeed(sender, more, now);
        self.due = self.contention.start();
    }

    /// When the TXOP began to which the exchange belongs that goes on, or has just ended.
    pub(crate) fn txop_began(&self) -> Time {
        if self.exchange.follows { self.txop_began } else { self.began }
    }

    /// When the TXOP began in which an exchange follows that is about to begin ([`Medium::follow`]).
    pub(crate) fn txop_of_next_began(&self) -> Time {
        self.txop_began
    }

    /// `sender`, whose exchange has ended, keeps the medium: another follows.
    pub(crate) fn follow(&mut self, sender: u32, now: Time) {
        self.contention.reset_window(sender);
        self.txop_began = self.txop_began();
        self.counts.exchanges += 1;
        self.began = now;
    }

    // Failures and collisions.

    /// The frame of `sender` has failed, which it knows at `deaf_until`; its IFS, and that of the other categories of its node, run
    /// from `from`. It contends again, unless it is `lost`, to be given up.
    #[inline(always)]
    pub(crate) fn fail(&mut self, sender: u32, lost: bool, from: Time, deaf_until: Time, now: Time) {
        if lost {
            self.contention.set_aside(sender, from, deaf_until);
        } else {
            self.contention.fail(sender, true, from, deaf_until);
        }
        if self.category_bits > 0 {
            self.hold_siblings(sender, from, deaf_until, now);
        }
    }

    /// The same where CW has been set ([`Medium::set_window`]).
    pub(crate) fn fail_with_window(
        &mut self,
        sender: u32,
        lost: bool,
        from: Time,
        deaf_until: Time,
        now: Time,
    ) {
        match lost {
            true => self.contention.set_aside(sender, from, deaf_until),
            false => self.contention.fail(sender, false, from, deaf_until),
        }
        self.hold_siblings(sender, from, deaf_until, now);
    }

    /// The other categories of the node of `sender`, whose frame has failed, wait as it does.
    #[cold]
    #[inline(never)]
    fn hold_siblings(&mut self, sender: u32, from: Time, deaf_until: Time, now: Time) {
        let first = sender >> self.category_bits << self.category_bits;
        for sibling in first..first + (1 << self.category_bits) {
            if sibling != sender {
                self.contention.hold(sibling, from, deaf_until, now);
            }
        }
    }

    /// The receiver of an undecodable frame waits an IFS that runs from `from`.
    pub(crate) fn divert(&mut self, receiver: u32, from: Time, now: Time) {
        let first = receiver << self.category_bits;
        for sender in first..first + (1 << self.category_bits) {
            self.contention.divert(sender, from, now);
        }
    }

    /// The captured frame of `sender` is acknowledged: it contends with its next packet, if there is one, after an IFS that runs
    /// from `from`, which need not be that of the others.
    pub(crate) fn succeed_aside(&mut self, sender: u32, more: bool, from: Time, now: Time) {
        self.contention.withdraw(sender);
        self.contention.start_over(sender, more);
        self.fail(sender, true, from, Time::ZERO, now);
    }

    /// The medium falls idle; the IFS of everybody else runs from `from`, with the NAV set until `nav`, if given.
    pub(crate) fn fall_idle(&mut self, from: Time, nav: Option<Time>, now: Time) {
        self.contention.resume(now, from, nav);
        self.phase = Phase::Idle;
        self.due = self.contention.start();
    }

    /// Several transmit: [`Medium::collide`] says what of each.
    pub(crate) fn begin_collision(&mut self, now: Time) {
        self.counts.collisions += 1;
        self.colliders.clear();
        self.phase = Phase::Collision;
        self.due = now;
    }

    /// One of several that transmit.
    pub(crate) fn collide(&mut self, collider: Collider) {
        self.due = self.due.max(collider.ends);
        self.colliders.push(collider);
    }

    /// The frame of the collider reaches a retry limit with this failure.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        self.colliders[index].lost = true;
        self.contention.withdraw(self.colliders[index].sender);
    }

    /// Of the colliders, which have just begun, one is perhaps captured by its addressee. It leaves their number, and is returned
    /// with the end of its exchange, unless it will be answered in vain. Mode and length of a collider's frame are for
    /// `frame` to say.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture(
        &mut self,
        frame: impl FnOnce(&Collider) -> (OnAir, u32),
        phy: &BssTiming,
        mac: &Mac,
        now: Time,
    ) -> Option<(Collider, Time)> {
        let (Some(margin_db), Some(channel)) = (mac.capture_db, &mut self.channel) else { return None };
        let index = channel.captured(&self.colliders, self.category_bits, margin_db, now)?;
        let collider = self.colliders[index];
        let Collider { sender, link, ends, with_rts, is_ppdu, .. } = collider;
        let others = self.colliders.iter().enumerate().filter(|(other, _)| *other != index);
        let others_end = others.map(|(_, other)| other.ends).max().unwrap_or(now);
        let in_vain = others_end > ends + phy.sifs;

        let (on_air, psdu_bytes) = frame(&collider);
        let OnAir { mode, handshake, acknowledgement, .. } = on_air;
        let waits = &mac.waits[usize::from(handshake)];
        let attempt = Attempt { link, node: sender >> self.category_bits, mode, handshake, psdu_bytes, now };
        let fate = match (in_vain, with_rts) {
            (false, _) => channel.fate(&attempt, phy),
            (true, false) if channel.loses_data(&attempt, phy) => Fate::DataLost,
            (true, _) => Fate::AckLost,
        };
        if fate == Fate::DataLost && !with_rts {
            return None;
        }
        let reservation = if with_rts { waits.reservation } else { Time::ZERO };
        let data_end = now + on_air.duration(psdu_bytes) + reservation;
        let end = match in_vain {
            // The answer: a CTS, or a MAC ACK.
            true if with_rts => ends + phy.sifs + phy.handshakes[usize::from(handshake)].cts.duration,
            true => ends + acknowledgement,
            false if fate == Fate::DataLost => data_end,
            false => data_end + acknowledgement,
        };
        let busy_until = if in_vain { end.max(others_end) } else { end };
        self.exchange = OngoingExchange { sender, link, handshake, fate, end, follows: false, is_ppdu };
        self.captured = Some(Captured { ends, others_end, in_vain, busy_until });
        (self.phase, self.due) = match (in_vain, with_rts, fate) {
            (true, true, _) | (false, _, Fate::DataLost) => (Phase::Collision, busy_until),
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

    /// The captured data frame has ended: its collision goes on.
    pub(crate) fn pass_captured(&mut self) {
        self.phase = Phase::Collision;
        self.due = self.captured.expect("it is captured until the medium falls idle").busy_until;
    }

    /// The collision ends: what was captured and answered, if anything. If nothing was, its time is nobody's.
    pub(crate) fn end_collision(&mut self, now: Time) -> Option<Captured> {
        let captured = self.captured.take().filter(|captured| !captured.in_vain);
        if captured.is_none() {
            self.counts.collision_airtime += now - self.began;
        }
        captured
    }

    /// Whether several began together.
    pub(crate) fn is_collision(&self) -> bool {
        matches!(self.phase, Phase::Collision | Phase::Captured)
    }

    /// Whether nothing comes of the collision that goes on: it has no survivor, or one that is answered in vain.
    pub(crate) fn is_lost(&self) -> bool {
        self.captured.is_none_or(|captured| captured.in_vain)
    }

    /// Whether that collider is one that is captured, but answered in vain.
    pub(crate) fn is_in_vain(&self, index: usize) -> bool {
        index == 0 && self.captured.is_some_and(|captured| captured.in_vain)
    }

    /// When the transmission of a collider ends, the answer that is in vain included.
    pub(crate) fn end_of_attempt(&self, index: usize) -> Time {
        if self.is_in_vain(index) { self.exchange.end } else { self.colliders[index].ends }
    }
}
