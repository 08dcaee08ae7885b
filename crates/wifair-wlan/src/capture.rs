//! A collision with a survivor (`docs/medium.md`, section 11).

use wifair_core::Time;
use wifair_queue::Outcome;

use crate::bss::{Bss, Told};
use crate::channel::Attempt;
use crate::exchange::{Captured, Collider, Fate, OngoingExchange, Phase};

impl Bss {
    /// Of the colliders, which have just begun, one is perhaps captured by its addressee: it leaves their number, unless it
    /// will be answered in vain.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture(&mut self, now: Time) {
        let (Some(margin_db), Some(channel)) = (self.mac.capture_db, &mut self.channel) else { return };
        let Some(index) = channel.captured(&self.colliders, self.category_bits, margin_db, now) else {
            return;
        };
        let Collider { sender, link, ends, with_rts, .. } = self.colliders[index];
        let others = self.colliders.iter().enumerate().filter(|(other, _)| *other != index);
        let others_end = others.map(|(_, other)| other.ends).max().unwrap_or(now);
        let in_vain = others_end > ends + self.phy.sifs;

        let row = &mut self.links[link.index()];
        let frame = &mut self.senders[sender as usize].frame;
        let (mode, psdu_bytes) = (row.on_air.mode, frame.psdu_bytes);
        let attempt = Attempt { link, node: sender >> self.category_bits, mode, psdu_bytes, now };
        let fate = match (in_vain, with_rts) {
            (false, _) => channel.fate(&attempt, &self.phy),
            (true, false) if channel.loses_data(&attempt, &self.phy) => Fate::DataLost,
            (true, _) => Fate::AckLost,
        };
        if fate == Fate::DataLost && !with_rts {
            return;
        }
        if in_vain {
            // The answer: a CTS, or a MAC ACK.
            let end = ends + if with_rts { self.phy.sifs + self.phy.cts } else { self.mac.acknowledgement };
            self.single = OngoingExchange { sender, link, fate, end };
            self.captured = Some(Captured { ends, others_end, in_vain, busy_until: end.max(others_end) });
            self.colliders[..=index].rotate_right(1);
            (self.phase, self.due) = match with_rts {
                true => (Phase::Collision, end.max(others_end)),
                false => (Phase::Captured, ends),
            };
            return;
        }
        let data_end =
            now + row.on_air.duration(psdu_bytes) + if with_rts { self.mac.reservation } else { Time::ZERO };
        let end = data_end + if fate == Fate::DataLost { Time::ZERO } else { self.mac.acknowledgement };
        frame.attempt(mode, end - now);
        row.usage.attempts += 1;
        self.single = OngoingExchange { sender, link, fate, end };
        self.captured = Some(Captured { ends, others_end, in_vain, busy_until: end });
        self.colliders.remove(index);
        (self.phase, self.due) = match fate {
            Fate::DataLost => (Phase::Collision, end),
            Fate::Decoded | Fate::AckLost => (Phase::Captured, data_end),
        };
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
        if self.is_in_vain(index) { self.single.end } else { self.colliders[index].ends }
    }

    /// The captured data frame ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_captured(&mut self, now: Time) -> Option<Told> {
        let told = self.deliver(now);
        self.phase = Phase::Collision;
        self.due = self.captured.expect("it is captured until the medium falls idle").busy_until;
        told
    }

    /// The exchange of a captured frame ends, and with it the collision: section 11, case 2.
    pub(crate) fn end_captured(&mut self, captured: Captured, now: Time) {
        let OngoingExchange { sender, link, fate, .. } = self.single;
        self.links[link.index()].usage.airtime += now - self.phase_began;
        let not_before = self.eifs_of_collider(captured.ends, captured.others_end);
        let (from, nav) = match fate {
            Fate::Decoded => {
                self.adapt(link, true, now);
                self.finish_captured(sender, not_before.max(now), now);
                (now, None)
            }
            Fate::DataLost | Fate::AckLost => self.fail_single(not_before, now),
        };
        self.end_colliders(Some(captured), from, now);
        self.contention.resume(now, from.max(captured.others_end + self.mac.eifs_lead), nav);
    }

    /// A captured frame is delivered and acknowledged: its sender and the other categories of its node count from an IFS after
    /// `from`, which need not be the others' origin.
    fn finish_captured(&mut self, sender: u32, from: Time, now: Time) {
        let more = match self.edca {
            Some(_) => self.replace_frame::<true>(sender, Outcome::Delivered, now),
            None => self.replace_frame::<false>(sender, Outcome::Delivered, now),
        };
        self.contention.withdraw(sender);
        self.contention.start_over(sender, more);
        self.contention.set_aside(sender, from, Time::ZERO);
        if self.edca.is_some() {
            self.hold_siblings(sender, from, Time::ZERO, now);
        }
        if more {
            self.meter_wait(sender, now);
        }
    }
}
