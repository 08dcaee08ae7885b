//! Controlled delay (CoDel, RFC 8289): decides when to signal congestion from the sojourn times of packets at a queue's head.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Time;

use crate::buffer::{Buffer, DequeuedPacket, QueueId, SlotId};
use crate::congestion::Signal;
use crate::words::{Eviction, Grant};

/// The constants of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodelSettings {
    /// Acceptable standing sojourn time (TARGET).
    pub target: Time,
    /// How long the sojourn time must exceed the target before the first signal (INTERVAL): a worst-case RTT of most
    /// connections.
    pub interval: Time,
    /// Nothing is signalled while no more than these bytes are queued behind the head.
    pub spared_bytes: u32,
    /// How congestion is signalled to senders.
    pub signal: Signal,
    pub arithmetic: Arithmetic,
}

/// How times and square roots are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// In nanoseconds, with the square root of the RFC's control law.
    #[default]
    Exact,
    /// As Linux computes them (`include/net/codel.h`, `codel_impl.h`): the clock counts 1,024 ns, the reciprocal of the
    /// square root has 16 bits and improves by a Newton step per signal, and the interval has to be exceeded.
    Linux,
}

/// The tick of CoDel's clock in Linux.
const TICK_NS: u64 = 1_024;

impl Arithmetic {
    /// A time on CoDel's clock.
    pub fn clock(self, time: Time) -> Time {
        match self {
            Arithmetic::Exact => time,
            Arithmetic::Linux => Time::from_ns(time.as_ns() / TICK_NS * TICK_NS),
        }
    }
}

/// The state of CoDel at one queue. Names follow the RFC, with `signalling` for its dropping state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Codel {
    /// When the sojourn time will have exceeded the target for an interval; zero while it does not exceed it.
    first_above: Time,
    /// When the next signal is due while signalling; otherwise when it would have been due.
    next: Time,
    /// Signals since signalling began, plus the count carried over.
    count: u32,
    /// Value of `count` when signalling began.
    last_count: u32,
    signalling: bool,
    /// The reciprocal of the square root of `count`, in units of 1/65,536; with [`Arithmetic::Linux`].
    reciprocal_root: u16,
}

/// CoDel's decision about the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send the packet.
    Send,
    /// Signal congestion: mark the packet and send it ([`Codel::marked`]), or drop it ([`Codel::dropped`]).
    Signal,
}

/// A packet at the head of its queue: its sojourn time, and the bytes behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub waited: Time,
    pub bytes_behind: u32,
}

impl Codel {
    /// Decides about a packet that is about to leave.
    pub fn judge(&mut self, head: Head, now: Time, settings: &CodelSettings) -> Verdict {
        let above = self.is_above(Some(head), now, settings);
        if self.signalling && above {
            self.judge_when_due(now, settings)
        } else if self.signalling {
            self.signalling = false;
            Verdict::Send
        } else if above {
            Verdict::Signal
        } else {
            Verdict::Send
        }
    }

    /// Records that the packet of [`Verdict::Signal`] has been marked and leaves.
    pub fn marked(&mut self, now: Time, settings: &CodelSettings) {
        if self.signalling {
            self.next = self.law(self.next, settings);
        } else {
            self.begin(now, settings);
        }
    }

    /// Records that the packet of [`Verdict::Signal`] has been dropped, and decides about the new `head`, if any.
    pub fn dropped(&mut self, head: Option<Head>, now: Time, settings: &CodelSettings) -> Verdict {
        let above = self.is_above(head, now, settings);
        if !self.signalling {
            self.begin(now, settings);
            Verdict::Send
        } else if above {
            self.next = self.law(self.next, settings);
            self.judge_when_due(now, settings)
        } else {
            self.signalling = false;
            Verdict::Send
        }
    }

    /// Records a dequeue attempt at an empty queue.
    pub fn found_empty(&mut self) {
        self.first_above = Time::ZERO;
        self.signalling = false;
    }

    /// Counts packets dropped at overflow as congestion signals.
    pub fn overflowed(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    fn judge_when_due(&mut self, now: Time, settings: &CodelSettings) -> Verdict {
        if now < self.next {
            return Verdict::Send;
        }
        self.count = self.count.saturating_add(1);
        if settings.arithmetic == Arithmetic::Linux {
            self.improve_root();
        }
        Verdict::Signal
    }

    /// A Newton step towards the reciprocal root of `count`: x (3 - count x²) / 2, in the kernel's fixed point.
    fn improve_root(&mut self) {
        let root = u64::from(self.reciprocal_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.reciprocal_root = (rest.wrapping_mul(root) >> 31 >> 16) as u16;
    }

    /// Whether the sojourn time has exceeded the target for an interval.
    fn is_above(&mut self, head: Option<Head>, now: Time, settings: &CodelSettings) -> bool {
        match head {
            Some(head) if head.waited >= settings.target && head.bytes_behind > settings.spared_bytes => {
                if self.first_above == Time::ZERO {
                    self.first_above = now + settings.interval;
                    if settings.arithmetic == Arithmetic::Linux {
                        self.first_above += Time::from_ns(TICK_NS);
                    }
                    return false;
                }
                now >= self.first_above
            }
            _ => {
                self.first_above = Time::ZERO;
                false
            }
        }
    }

    /// Enters the signalling state, at the rate at which it last ended if that was recently.
    fn begin(&mut self, now: Time, settings: &CodelSettings) {
        let since = self.count.wrapping_sub(self.last_count);
        let is_recent = now < self.next + settings.interval * 16;
        let goes_on = since > 1 && is_recent;
        self.count = if goes_on { since } else { 1 };
        if settings.arithmetic == Arithmetic::Linux {
            match goes_on {
                true => self.improve_root(),
                false => self.reciprocal_root = u16::MAX,
            }
        }
        self.last_count = self.count;
        self.next = self.law(now, settings);
        self.signalling = true;
    }

    /// When the next signal is due by the control law, counted from `from`.
    fn law(&self, from: Time, settings: &CodelSettings) -> Time {
        from + match settings.arithmetic {
            Arithmetic::Exact => control_law(settings.interval, self.count),
            Arithmetic::Linux => {
                let ticks = settings.interval.as_ns() / TICK_NS;
                Time::from_ns(((ticks * u64::from(self.reciprocal_root)) >> 16) * TICK_NS)
            }
        }
    }
}

/// The control law: the time from signal number `count` to the next, an interval divided by the square root of `count`.
pub(crate) fn control_law(interval: Time, count: u32) -> Time {
    Time::from_ns((interval.as_ns() as f64 / libm::sqrt(f64::from(count))) as u64)
}

/// Sends the first packet of a queue that CoDel lets pass, after marking or dropping the packets before it.
///
/// `None` if the queue is then empty, or if the grant does not admit its first packet.
pub(crate) fn release(
    codel: &mut Codel,
    settings: &CodelSettings,
    queue: QueueId,
    grant: &Grant,
    buffer: &mut Buffer,
    now: Time,
    first: impl Fn(&Buffer) -> Option<SlotId>,
) -> Option<DequeuedPacket> {
    let arithmetic = settings.arithmetic;
    let now = arithmetic.clock(now);
    let head = |slot: SlotId, buffer: &Buffer| {
        let bytes_behind = buffer.queues().bytes(queue) - buffer[slot].packet.ip_bytes();
        Head { waited: now - arithmetic.clock(buffer[slot].enqueued_at), bytes_behind }
    };
    let Some(mut slot) = first(buffer) else {
        if buffer.queues().first(queue).is_none() {
            codel.found_empty();
        }
        return None;
    };
    if !buffer.may_go(slot, grant) {
        return None;
    }
    let mut verdict = codel.judge(head(slot, buffer), now, settings);
    while verdict == Verdict::Signal {
        if settings.signal.mark(slot, buffer) {
            codel.marked(now, settings);
            break;
        }
        buffer.evict(slot, Eviction::Aqm);
        let next = first(buffer);
        if next.is_none() && buffer.queues().first(queue).is_some() {
            codel.marked(now, settings); // the sojourn time at the head is not checked
            return None;
        }
        verdict = codel.dropped(next.map(|slot| head(slot, buffer)), now, settings);
        slot = next?;
    }
    buffer.may_go(slot, grant).then(|| buffer.release(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: CodelSettings = CodelSettings {
        target: Time::from_ms(5),
        interval: Time::from_ms(100),
        spared_bytes: 1514,
        signal: Signal::Drop,
        arithmetic: Arithmetic::Exact,
    };

    /// Polls once per millisecond with packets that have waited for `waited`; returns the times of the signals in ns.
    fn signals(codel: &mut Codel, from_ms: u64, to_ms: u64, waited: Time, by_marks: bool) -> Vec<u64> {
        let head = Head { waited, bytes_behind: 15_000 };
        let mut times = vec![];
        for ms in from_ms..to_ms {
            let now = Time::from_ms(ms);
            let mut verdict = codel.judge(head, now, &SETTINGS);
            while verdict == Verdict::Signal {
                times.push(ms);
                if by_marks {
                    codel.marked(now, &SETTINGS);
                    break;
                }
                verdict = codel.dropped(Some(head), now, &SETTINGS);
            }
        }
        times
    }

    /// RFC 8289, 3.1 and 5.5: the first signal comes after an interval above the target, and the n-th interval/√n after the one
    /// before; whole milliseconds, since it is polled once per millisecond.
    #[test]
    fn signals_come_at_the_interval_over_the_root_of_their_number() {
        for by_marks in [false, true] {
            let mut codel = Codel::default();
            let times = signals(&mut codel, 1, 2_000, Time::from_ms(6), by_marks);
            let mut due = 101.0;
            let mut expected = vec![];
            for n in 1..=times.len() as u32 {
                expected.push(f64::ceil(due) as u64);
                due += 100.0 / f64::from(n).sqrt();
            }
            assert_eq!(times, expected);
            assert_eq!(times[..5], [101, 201, 272, 330, 380]);
            assert!(times.len() > 90, "19 intervals of signals are (19/2)² of them: {}", times.len());
        }
    }

    #[test]
    fn below_the_target_or_with_a_packet_alone_nothing_is_signalled() {
        let mut codel = Codel::default();
        assert!(signals(&mut codel, 0, 3_000, Time::from_us(4_999), false).is_empty());
        let alone = Head { waited: Time::from_s(1), bytes_behind: SETTINGS.spared_bytes };
        for ms in 3_000..4_000 {
            assert_eq!(codel.judge(alone, Time::from_ms(ms), &SETTINGS), Verdict::Send);
        }
        assert_eq!(codel, Codel::default());
    }

    /// A single packet below the target ends signalling, and the interval starts again.
    #[test]
    fn a_single_packet_below_the_target_ends_it() {
        let mut codel = Codel::default();
        let above = Time::from_ms(6);
        assert_eq!(signals(&mut codel, 0, 150, above, false), [100]);
        assert!(signals(&mut codel, 150, 151, Time::ZERO, false).is_empty());
        assert_eq!(signals(&mut codel, 151, 400, above, false), [251, 351]);
    }

    /// Signalling resumes with the count it ended with, less the count it began with, unless 16 intervals have passed.
    #[test]
    fn it_remembers_its_pace_for_a_while() {
        for (pause_ms, carried) in [(1, true), (1_450, true), (1_700, false)] {
            let mut codel = Codel::default();
            let above = Time::from_ms(6);
            let before = signals(&mut codel, 0, 1_000, above, false).len() as u64;
            assert!(before > 20);
            signals(&mut codel, 1_000, 1_001, Time::ZERO, false);
            let begins = 1_000 + pause_ms;
            let times = signals(&mut codel, begins, begins + 250, above, false);
            assert_eq!(times[0], begins + 100);
            let gap = if carried { 100.0 / f64::from(before as u32 - 1).sqrt() } else { 100.0 };
            assert_eq!(times[1] - times[0], f64::ceil(gap) as u64);
        }
    }

    /// If more signals are due than packets leave, several packets are dropped at once; at most one is marked per packet sent.
    #[test]
    fn a_slow_link_drops_several_at_once_and_marks_one_by_one() {
        let head = Head { waited: Time::from_ms(50), bytes_behind: 15_000 };
        let mut codel = Codel::default();
        let mut dropped = vec![];
        for second in 1..6 {
            let now = Time::from_s(second);
            let mut verdict = codel.judge(head, now, &SETTINGS);
            let mut drops = 0;
            while verdict == Verdict::Signal {
                drops += 1;
                verdict = codel.dropped(Some(head), now, &SETTINGS);
            }
            dropped.push(drops);
        }
        // One when signalling begins at 2 s; at 3 s all n with 2 s + 100 ms (1 + 1/√2 + … ) <= 3 s.
        assert_eq!(dropped[..2], [0, 1]);
        let mut due = 2.1;
        let mut count = 1;
        while due <= 3.0 {
            count += 1;
            due += 0.1 / f64::from(count).sqrt();
        }
        assert_eq!(dropped[2], count - 1);
        assert!(dropped[3] > dropped[2] && dropped[4] > dropped[3]);
    }
}
