//! Scheduled events of a BSS in addition to its exchanges: ticks of schemes, losses, changes of link rates. Most BSSs have
//! none, at the cost of one comparison.

use std::collections::VecDeque;

use wifair_core::{Rate, StationId, Time};
use wifair_queue::{Direction, TxCompletion, TxQueue};

use crate::node::EdcafId;

/// A sender's data rate towards its peer has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRateChange {
    /// The station at one end of the link.
    pub station: StationId,
    /// Up: the station's own rate; down: the AP's towards the station.
    pub direction: Direction,
    /// The new rate.
    pub rate: Rate,
}

/// A due event.
pub(crate) enum Due {
    /// A rate change to be output.
    LinkRate(LinkRateChange),
    /// Packets of a station's host are gone, which is to be output.
    TxCompletion(TxCompletion),
    /// An uplink packet that a scheme of the AP has marked is to be output.
    Marked,
    /// A packet that a recipient has released is to be output.
    Released,
    /// A target time of beacons has come.
    Beacon,
    /// The controller of CWmin takes a sample.
    ControllerSample,
    /// A reorder timeout expires.
    Reorder,
    /// An MPDU ends that is received on its own.
    MpduEnd,
    /// The tick of that transmit queue's scheme.
    Tick(EdcafId),
    /// The sender learns that the attempt of that channel access function has failed.
    Failure(EdcafId),
    /// The sender learns that the frame in service of that channel access function is given up at a retry limit.
    Loss(EdcafId),
}

/// What is output before anything else of its instant.
enum Notice {
    /// Packets have left the transmit queue and MAC of a station.
    TxCompletion(TxCompletion),
    /// The AP forwards an uplink packet with a mark.
    Marked,
}

pub(crate) struct Deadlines {
    /// Time of the earliest event.
    next: Time,
    /// By transmit queue.
    ticks: Vec<(EdcafId, Time)>,
    next_tick: Time,
    /// When each channel access function learns of a failure, and whether its frame is given up.
    failures: Vec<(Time, EdcafId, bool)>,
    next_failure: Time,
    /// Rate changes, the oldest first; due at once.
    rate_changes: VecDeque<LinkRateChange>,
    /// The oldest first; due at once.
    notices: VecDeque<Notice>,
    /// Whether packets released by recipients are to be output at once.
    has_released: bool,
    next_reorder: Time,
    /// When the next MPDU ends that is received on its own.
    next_mpdu_end: Time,
    /// Next target time of beacons.
    next_beacon: Time,
    /// Next sample of the controller of CWmin.
    next_sample: Time,
}

impl Deadlines {
    pub(crate) fn none() -> Deadlines {
        Deadlines {
            next: Time::MAX,
            ticks: Vec::new(),
            next_tick: Time::MAX,
            failures: Vec::new(),
            next_failure: Time::MAX,
            rate_changes: VecDeque::new(),
            notices: VecDeque::new(),
            has_released: false,
            next_reorder: Time::MAX,
            next_mpdu_end: Time::MAX,
            next_beacon: Time::MAX,
            next_sample: Time::MAX,
        }
    }

    /// Time of the earliest event.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Sets the next tick of a transmit queue with a clock to `at`.
    #[cold]
    pub(crate) fn set_tick(&mut self, tx_queue: EdcafId, at: Option<Time>, now: Time) {
        let at = at.map_or(Time::MAX, |at| at.max(now));
        match self.ticks.iter_mut().find(|(other, _)| *other == tx_queue) {
            Some((_, known)) if *known == at => return, // most calls for a transmit queue that moves its tick
            Some((_, known)) => *known = at,
            None if at == Time::MAX => return,
            None => self.ticks.push((tx_queue, at)),
        }
        self.next_tick = self.ticks.iter().map(|(_, at)| *at).min().unwrap_or(Time::MAX);
        self.review(now);
    }

    /// Schedules giving up the frame in service of `edcaf` at `at`.
    #[cold]
    pub(crate) fn schedule_drop(&mut self, edcaf: EdcafId, at: Time) {
        self.fail(edcaf, at, true);
    }

    /// Schedules the report of the failed attempt of `edcaf` to its transmit queue at `at`.
    #[cold]
    pub(crate) fn schedule_status(&mut self, edcaf: EdcafId, at: Time) {
        self.fail(edcaf, at, false);
    }

    fn fail(&mut self, edcaf: EdcafId, at: Time, is_loss: bool) {
        self.failures.push((at, edcaf, is_loss));
        self.next_failure = self.next_failure.min(at);
        self.next = self.next.min(at);
    }

    /// Schedules the output of a rate change at once.
    pub(crate) fn notify(&mut self, change: LinkRateChange, now: Time) {
        self.rate_changes.push_back(change);
        self.next = now;
    }

    /// Follows up on a call to the transmit queue of that number: sets its next tick, and schedules the output of what has left
    /// it.
    #[inline(always)] // most calls have no news
    pub(crate) fn follow(&mut self, number: EdcafId, tx_queue: &mut TxQueue, now: Time) {
        if tx_queue.has_news() {
            self.set_tick(number, tx_queue.next_tick(), now);
            self.notify_freed(tx_queue, now);
        }
    }

    /// Schedules the output of what a call to `tx_queue` reports as left, at once.
    #[inline(always)] // most transmit queues free nothing
    pub(crate) fn follow_freed(&mut self, tx_queue: &mut TxQueue, now: Time) {
        if tx_queue.has_news() {
            self.notify_freed(tx_queue, now);
        }
    }

    #[cold]
    fn notify_freed(&mut self, tx_queue: &mut TxQueue, now: Time) {
        tx_queue.take_completions(|completion| {
            match self.notices.back_mut() {
                Some(Notice::TxCompletion(last)) if last.connection == completion.connection => {
                    last.packets += completion.packets;
                    last.ip_bytes += completion.ip_bytes;
                }
                _ => self.notices.push_back(Notice::TxCompletion(completion)),
            }
            self.next = now;
        });
    }

    /// Schedules the output of an uplink packet that a scheme of the AP has marked, at once.
    #[cold]
    pub(crate) fn notify_marked(&mut self, now: Time) {
        self.notices.push_back(Notice::Marked);
        self.next = now;
    }

    /// Sets whether packets released by recipients are to be output at once, and when the next reorder timeout expires.
    pub(crate) fn set_reordering(&mut self, has_released: bool, next_reorder: Time, now: Time) {
        self.has_released = has_released;
        self.next_reorder = next_reorder;
        self.review(now);
    }

    /// Sets when the next MPDU ends that is received on its own.
    pub(crate) fn set_mpdu_end(&mut self, at: Time, now: Time) {
        self.next_mpdu_end = at;
        self.review(now);
    }

    /// Whether the event due at `next()` is the output of a packet that a recipient has released.
    pub(crate) fn releases(&self) -> bool {
        self.has_released && self.rate_changes.is_empty() && self.notices.is_empty()
    }

    /// Sets the next target time of beacons.
    pub(crate) fn set_beacon(&mut self, at: Time, now: Time) {
        self.next_beacon = at;
        self.review(now);
    }

    /// Sets the next sample of the controller of CWmin.
    pub(crate) fn set_sample(&mut self, at: Time, now: Time) {
        self.next_sample = at;
        self.review(now);
    }

    /// Takes the event due at `now == next()`: first outputs, then target times, samples of the controller, reorder timeouts,
    /// ticks, failures, ends of MPDUs. A tick remains until its transmit queue sets another, a reorder timeout until
    /// [`Deadlines::set_reordering`], a target time until [`Deadlines::set_beacon`], a sample until [`Deadlines::set_sample`],
    /// the end of an MPDU until [`Deadlines::set_mpdu_end`].
    pub(crate) fn take(&mut self, now: Time) -> Due {
        let due = if let Some(change) = self.rate_changes.pop_front() {
            Due::LinkRate(change)
        } else if let Some(notice) = self.notices.pop_front() {
            match notice {
                Notice::TxCompletion(completion) => Due::TxCompletion(completion),
                Notice::Marked => Due::Marked,
            }
        } else if self.has_released {
            Due::Released
        } else if now == self.next_beacon {
            Due::Beacon
        } else if now == self.next_sample {
            Due::ControllerSample
        } else if now == self.next_reorder {
            Due::Reorder
        } else if now == self.next_tick {
            let due = self.ticks.iter().filter(|(_, at)| *at == now).map(|(tx_queue, _)| *tx_queue);
            Due::Tick(due.min().expect("a tick is due"))
        } else if now < self.next_failure {
            Due::MpduEnd
        } else {
            let first =
                (0..self.failures.len()).min_by_key(|&index| self.failures[index]).expect("a failure is due");
            let (_, edcaf, is_loss) = self.failures.swap_remove(first);
            self.next_failure = self.failures.iter().map(|(at, ..)| *at).min().unwrap_or(Time::MAX);
            if is_loss { Due::Loss(edcaf) } else { Due::Failure(edcaf) }
        };
        self.review(now);
        due
    }

    fn review(&mut self, now: Time) {
        let is_empty = self.rate_changes.is_empty() && self.notices.is_empty() && !self.has_released;
        let untold = if is_empty { Time::MAX } else { now };
        let of_receivers = self.next_reorder.min(self.next_mpdu_end);
        let of_ap = self.next_beacon.min(self.next_sample);
        self.next = self.next_failure.min(self.next_tick).min(of_receivers).min(of_ap).min(untold);
    }
}
