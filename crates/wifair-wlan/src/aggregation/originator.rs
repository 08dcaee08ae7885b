//! The originator's side of a Block Ack agreement: the MPDUs that its channel access function has taken from the port and that
//! are not yet acknowledged or given up (802.11-2020, 10.25.6; `docs/medium.md`, section 12).

use std::collections::VecDeque;

use wifair_core::{Packet, Rate, Time};
use wifair_queue::{Departure, MpduOutcome, TransmittedMpdu};

use super::amsdu::Amsdu;
use super::psdu::{DELIMITER_BYTES, Psdu, Shares};

/// A packet in the link queue, and the MPDU that contains it: all packets of an A-MSDU have its sequence number and its outcomes.
#[derive(Debug)]
pub(crate) struct Mpdu {
    pub departure: Departure,
    pub sequence: u64,
    /// The formed PPDU that contains it; [`NONE`] if it is in no PPDU.
    ppdu: u32,
    /// Its share of the pending airtime of its station.
    pub pending: Time,
    /// What it adds to the length of its MPDU, which has no delimiter here.
    pub bytes: u32,
    /// Number of PPDUs that contained it.
    pub attempts: u32,
    /// Number of exchanges in which it was not acknowledged.
    failures: u32,
    /// Whether its receiver decodes it from the PPDU on the air.
    decoded: bool,
    /// Whether its receiver has decoded it, from this PPDU or an earlier one.
    received: bool,
    /// Whether its receiver accepted it: it was not a duplicate, and had not been skipped by a reorder timeout.
    taken: bool,
    /// Whether it is in the MPDU of the packet before it.
    is_joined: bool,
    pub taken_at: Time,
    /// Its shares of the airtime and the overhead of its PPDUs.
    pub airtime: Time,
    pub overhead: Time,
    /// Its share of the time for which they were in service.
    pub service: Time,
    /// Its shares of the airtime and the overhead of its last attempt, and the rate of that.
    share: Time,
    overhead_share: Time,
    pub rate: Rate,
}

/// Limits of a PPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub max_mpdus: u32,
    /// Maximum length of a PSDU, by the standard, the PPDU's duration or the TXOP.
    pub max_psdu_bytes: u32,
    /// Minimum distance between the starts of two subframes.
    pub spacing_bytes: u32,
    /// Bytes of an MPDU in addition to its IP packet.
    pub mac_bytes: u32,
}

/// A formed PPDU: its number and its PSDU; no PSDU for a Block Ack Request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formed {
    pub ppdu: u32,
    pub psdu: Option<Psdu>,
}

/// How a packet enters the link queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// What it adds to the length of its MPDU.
    pub bytes: u32,
    /// Whether it joins the last MPDU.
    pub is_joined: bool,
    /// Its share of the pending airtime of its station.
    pub pending: Time,
}

/// The MPDU is in no PPDU.
const NONE: u32 = 0;
/// Number that represents a Block Ack Request.
const REQUEST: u32 = u32::MAX;

impl Mpdu {
    /// Whether its receiver decodes it from the last PPDU, unless that collides.
    pub fn is_decoded(&self) -> bool {
        self.decoded
    }

    /// Whether its receiver has decoded it from an earlier PPDU.
    pub fn is_received(&self) -> bool {
        self.received
    }

    /// Its share of the airtime of its last attempt.
    pub fn share(&self) -> Time {
        self.share
    }

    /// Whether it is in the MPDU of the packet before it.
    pub fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// Whether its recipient holds it, or has passed it on.
    pub fn is_taken(&self) -> bool {
        self.taken
    }
}

#[derive(Debug)]
pub(crate) struct Originator {
    window: u64,
    amsdu: Amsdu,
    queue: VecDeque<Mpdu>,
    next_sequence: u64,
    /// The number of the PPDU that is in service: on the air, or next.
    in_service: u32,
    /// Number of the PPDU formed last.
    last_ppdu: u32,
    owes_request: bool,
    /// Whether the Block Ack Request is formed.
    request_formed: bool,
    /// Number of failures of the pending Block Ack Request.
    request_failures: u32,
}

impl Originator {
    /// An originator with nothing to send. `window` is in MPDUs.
    pub fn new(window: u64, amsdu: Amsdu) -> Originator {
        Originator {
            window,
            amsdu,
            queue: VecDeque::new(),
            next_sequence: 0,
            in_service: NONE,
            last_ppdu: NONE,
            owes_request: false,
            request_formed: false,
            request_failures: 0,
        }
    }

    /// Whether anything can be sent: a packet that is in no PPDU and within the window.
    pub fn is_pending(&self) -> bool {
        let free = || self.queue.iter().find(|mpdu| mpdu.ppdu == NONE);
        self.owes_request && !self.request_formed
            || free().is_some_and(|mpdu| mpdu.sequence < self.window_start() + self.window)
    }

    /// Whether no further packet may be sent before one is acknowledged or given up.
    pub fn is_full(&self) -> bool {
        self.next_sequence >= self.window_start() + self.window
    }

    /// WinStartO: the oldest sequence number that is neither acknowledged nor given up.
    pub fn window_start(&self) -> u64 {
        self.queue.front().map_or(self.next_sequence, |head| head.sequence)
    }

    /// Adds a packet to the link queue as an MPDU. `mac_bytes` as in [`Limits`].
    pub fn push(&mut self, departure: Departure, mac_bytes: u32, now: Time) {
        let bytes = departure.packet.ip_bytes() + mac_bytes;
        self.enter(departure, Entry { bytes, is_joined: false, pending: Time::ZERO }, now);
    }

    /// How a packet of `ip_bytes` enters the link queue ahead of PPDUs, whose PSDUs have at most what `max_psdu_bytes` says. Its
    /// pending airtime is open.
    pub fn place(&self, ip_bytes: u32, mac_bytes: u32, max_psdu_bytes: impl FnOnce() -> u32) -> Entry {
        if self.amsdu.joins() && self.is_open(NONE) {
            let (bytes, is_amsdu) = self.last_mpdu();
            let max_mpdu_bytes = max_psdu_bytes().saturating_sub(DELIMITER_BYTES);
            if ip_bytes <= self.amsdu.room(bytes, is_amsdu, max_mpdu_bytes) {
                let added = self.amsdu.with(bytes, is_amsdu, ip_bytes) - bytes;
                return Entry { bytes: added, is_joined: true, pending: Time::ZERO };
            }
        }
        Entry { bytes: ip_bytes + mac_bytes, is_joined: false, pending: Time::ZERO }
    }

    /// Whether packets may join the last MPDU: it has been in no PPDU but the one of this number.
    fn is_open(&self, ppdu: u32) -> bool {
        self.queue.back().is_some_and(|last| last.attempts == 0 && last.ppdu == ppdu)
    }

    /// Length of the last MPDU, and whether it has an A-MSDU.
    fn last_mpdu(&self) -> (u32, bool) {
        let mut bytes = 0;
        for mpdu in self.queue.iter().rev() {
            bytes += mpdu.bytes;
            if !mpdu.is_joined {
                break;
            }
        }
        (bytes, self.queue.back().is_some_and(|last| last.is_joined))
    }

    /// Length of the MPDU whose first packet is at `index`, and the index of the next MPDU.
    fn mpdu_at(&self, index: usize) -> (u32, usize) {
        let mut bytes = self.queue[index].bytes;
        let mut next = index + 1;
        while let Some(mpdu) = self.queue.get(next).filter(|mpdu| mpdu.is_joined) {
            bytes += mpdu.bytes;
            next += 1;
        }
        (bytes, next)
    }

    /// Adds a packet to the link queue.
    pub fn enter(&mut self, departure: Departure, Entry { bytes, is_joined, pending }: Entry, now: Time) {
        self.next_sequence += u64::from(!is_joined);
        self.queue.push_back(Mpdu {
            sequence: self.next_sequence - 1,
            ppdu: NONE,
            pending,
            bytes,
            is_joined,
            attempts: 0,
            failures: 0,
            decoded: true, // unless the channel says otherwise
            received: false,
            taken: false,
            taken_at: now,
            airtime: Time::ZERO,
            overhead: Time::ZERO,
            service: Time::ZERO,
            share: Time::ZERO,
            overhead_share: Time::ZERO,
            rate: Rate::from_kbps(0),
            departure,
        });
    }

    /// Length of what would be sent first: only the head, or a Block Ack Request (`None`).
    pub fn head_bytes(&self) -> Option<u32> {
        if self.owes_request {
            return None;
        }
        assert!(!self.queue.is_empty(), "a link in service has something to send");
        Some(self.mpdu_at(0).0)
    }

    /// Forms a PPDU of what is in none. `take` gives the next packet for the link of at most so many IP bytes.
    pub fn form(
        &mut self,
        limits: &Limits,
        now: Time,
        mut take: impl FnMut(u32) -> Option<Departure>,
    ) -> Formed {
        if self.owes_request && !self.request_formed {
            self.request_formed = true;
            return Formed { ppdu: REQUEST, psdu: None };
        }
        self.last_ppdu = if self.last_ppdu + 1 < REQUEST { self.last_ppdu + 1 } else { 1 };
        let ppdu = self.last_ppdu;
        let end = self.window_start() + self.window;
        let mut psdu = Psdu::default();
        let mut index = 0;
        while index < self.queue.len() {
            let (bytes, next) = self.mpdu_at(index);
            let first = index;
            index = next;
            if self.queue[first].ppdu != NONE {
                continue;
            }
            let with = match psdu.mpdus() {
                0 => Psdu::of(bytes),
                _ => psdu.with(bytes, limits.spacing_bytes),
            };
            let fits = with.mpdus() <= limits.max_mpdus && with.bytes(true) <= limits.max_psdu_bytes;
            if self.queue[first].sequence >= end || psdu.mpdus() > 0 && !fits {
                return Formed { ppdu, psdu: Some(psdu) };
            }
            psdu = with;
            self.queue.range_mut(first..next).for_each(|mpdu| mpdu.ppdu = ppdu);
        }
        loop {
            let (last, is_amsdu) = match self.amsdu.joins() && self.is_open(ppdu) {
                true => (psdu.last(), self.queue.back().is_some_and(|last| last.is_joined)),
                false => (0, false),
            };
            let joint_room = match last {
                0 => 0,
                bytes => self.amsdu.room(bytes, is_amsdu, psdu.room_of_last(limits.max_psdu_bytes)),
            };
            let mut room = joint_room;
            if self.next_sequence < end && psdu.mpdus() < limits.max_mpdus {
                let own = psdu.room(limits.max_psdu_bytes, limits.spacing_bytes);
                room = room.max(own.saturating_sub(limits.mac_bytes));
            }
            if room == 0 {
                break;
            }
            let Some(departure) = take(room) else { break };
            let ip_bytes = departure.packet.ip_bytes();
            if ip_bytes <= joint_room {
                let bytes = self.amsdu.with(last, is_amsdu, ip_bytes);
                psdu = psdu.with_last(bytes);
                let entry = Entry { bytes: bytes - last, is_joined: true, pending: Time::ZERO };
                self.enter(departure, entry, now);
            } else {
                psdu = psdu.with(ip_bytes + limits.mac_bytes, limits.spacing_bytes);
                self.push(departure, limits.mac_bytes, now);
            }
            self.queue.back_mut().expect("it has just come").ppdu = ppdu;
        }
        Formed { ppdu, psdu: Some(psdu) }
    }

    /// Puts a formed PPDU, or the Block Ack Request, in service.
    pub fn serve(&mut self, ppdu: u32) {
        self.in_service = ppdu;
    }

    /// Discards what is in service: its MPDUs can join another PPDU.
    pub fn dissolve(&mut self) {
        let ppdu = std::mem::replace(&mut self.in_service, NONE);
        match ppdu {
            NONE => {}
            REQUEST => self.request_formed = false,
            _ => self.queue.iter_mut().filter(|mpdu| mpdu.ppdu == ppdu).for_each(|mpdu| mpdu.ppdu = NONE),
        }
    }

    fn is_request(&self) -> bool {
        self.in_service == REQUEST
    }

    /// The MPDUs of the PPDU, in order.
    pub fn formed(&self) -> impl Iterator<Item = &Mpdu> {
        self.queue.iter().filter(|mpdu| mpdu.ppdu == self.in_service && mpdu.ppdu != NONE)
    }

    fn formed_mut(&mut self) -> impl Iterator<Item = &mut Mpdu> {
        let ppdu = self.in_service;
        self.queue.iter_mut().filter(move |mpdu| mpdu.ppdu == ppdu && ppdu != NONE)
    }

    /// Draws whether the receiver decodes each MPDU of the PPDU: `decodes` decides by length. Returns whether it decodes any.
    pub fn draw(&mut self, mut decodes: impl FnMut(u32) -> bool) -> bool {
        let (mut any, mut index) = (false, 0);
        while index < self.queue.len() {
            let (bytes, next) = self.mpdu_at(index);
            if self.queue[index].ppdu == self.in_service && self.in_service != NONE {
                let decoded = decodes(bytes);
                any |= decoded;
                self.queue.range_mut(index..next).for_each(|mpdu| mpdu.decoded = decoded);
            }
            index = next;
        }
        any
    }

    /// The airtime and the overhead of the PPDU, and the time for which it is in service by its end: each packet has its share. `first`
    /// receives since when each has been in the link queue that is sent for the first time.
    pub fn attempt(&mut self, times: [Time; 3], rate: Rate, mut first: impl FnMut(Time)) {
        let whole = self.formed().map(|mpdu| u64::from(mpdu.bytes)).sum();
        let [mut airtimes, mut overheads, mut services] = times.map(|time| Shares::of(time.as_ns(), whole));
        for mpdu in self.formed_mut() {
            if mpdu.attempts == 0 {
                first(mpdu.taken_at);
            }
            mpdu.attempts += 1;
            mpdu.share = Time::from_ns(airtimes.next(mpdu.bytes));
            mpdu.airtime += mpdu.share;
            mpdu.overhead_share = Time::from_ns(overheads.next(mpdu.bytes));
            mpdu.overhead += mpdu.overhead_share;
            mpdu.service += Time::from_ns(services.next(mpdu.bytes));
            mpdu.rate = rate;
        }
    }

    /// Ends the PPDU: the packets of the MPDUs that its receiver decodes are passed to `received`, each with its share of the
    /// airtime; those that have joined an MPDU before the first of each. `received` returns whether the recipient accepts it.
    pub fn end(&mut self, mut received: impl FnMut(&Mpdu, Time) -> bool) {
        if self.amsdu.joins() {
            for mpdu in self.formed_mut().filter(|mpdu| mpdu.decoded && mpdu.is_joined) {
                mpdu.received = true;
                mpdu.taken |= received(mpdu, mpdu.share);
            }
        }
        for mpdu in self.formed_mut().filter(|mpdu| mpdu.decoded && !mpdu.is_joined) {
            mpdu.received = true;
            mpdu.taken |= received(mpdu, mpdu.share);
        }
    }

    /// Packets that have not reached the recipient.
    pub fn packets_not_received(&self) -> impl Iterator<Item = &Packet> {
        self.queue.iter().filter(|mpdu| !mpdu.taken).map(|mpdu| &mpdu.departure.packet)
    }

    /// The response has been decoded: what the recipient has decoded, of the PPDU or, after a Block Ack Request, of what is in no
    /// PPDU, is acknowledged and goes to `done`; the rest of the PPDU has failed.
    pub fn acknowledge(&mut self, mut done: impl FnMut(&Mpdu)) {
        let (covered, failures) = if self.is_request() { (NONE, 0) } else { (self.in_service, 1) };
        while let Some(head) = self.queue.front().filter(|head| head.ppdu == covered && head.received) {
            done(head);
            self.queue.pop_front(); // most often all of them, without a move of those behind
        }
        self.queue.retain_mut(|mpdu| {
            if mpdu.ppdu != covered {
                return true;
            }
            if mpdu.received {
                done(mpdu);
                return false;
            }
            mpdu.failures += failures;
            mpdu.ppdu = NONE;
            true
        });
        if self.is_request() {
            self.drop_request();
        }
        self.in_service = NONE;
    }

    /// Number of MPDUs of the PPDU that the recipient has decoded.
    pub fn acknowledged(&self) -> u32 {
        self.formed().filter(|mpdu| mpdu.received && !mpdu.is_joined).count() as u32
    }

    /// Handles a failed exchange, known to the originator after a wait for `timeout`: each MPDU of the PPDU has failed, or the
    /// Block Ack Request.
    pub fn fail(&mut self, timeout: Time) {
        if self.is_request() {
            self.request_failures += 1;
        }
        let whole = self.formed().map(|mpdu| u64::from(mpdu.bytes)).sum();
        let mut overheads = Shares::of(timeout.as_ns(), whole);
        for mpdu in self.formed_mut() {
            mpdu.failures += 1;
            let share = Time::from_ns(overheads.next(mpdu.bytes));
            mpdu.overhead_share += share;
            mpdu.overhead += share;
            mpdu.service += share;
        }
    }

    /// The outcomes of the packets of the PPDU, after an exchange that has `succeeded` or, after [`Originator::fail`], failed.
    pub fn transmitted(&self, succeeded: bool, max: &Attempts) -> impl Iterator<Item = TransmittedMpdu<'_>> {
        let max_failures = if succeeded { max.mpdu - 1 } else { max.mpdu }; // the failure of a success is yet to be counted
        self.formed().map(move |mpdu| TransmittedMpdu {
            packet: &mpdu.departure.packet,
            is_joined: mpdu.is_joined,
            flow: mpdu.departure.flow,
            outcome: match mpdu.failures {
                _ if succeeded && mpdu.received => MpduOutcome::Delivered,
                failures if failures >= max_failures => MpduOutcome::GivenUp,
                _ => MpduOutcome::ToRetry,
            },
            attempts: mpdu.attempts,
            airtime: mpdu.share,
            overhead: mpdu.overhead_share,
        })
    }

    fn drop_request(&mut self) {
        self.owes_request = false;
        self.request_formed = false;
        self.request_failures = 0;
    }

    /// Whether [`Originator::give_up`] would do anything.
    pub fn has_exhausted(&self, max: &Attempts) -> bool {
        self.request_failures >= max.request || self.queue.iter().any(|mpdu| mpdu.failures >= max.mpdu)
    }

    /// Whether [`Originator::give_up`] would leave nothing to send.
    pub fn is_exhausted(&self, max: &Attempts) -> bool {
        let exhausted = self.queue.iter().all(|mpdu| mpdu.failures >= max.mpdu);
        let request = if max.requests_after { self.queue.is_empty() } else { true };
        exhausted && request && (!self.owes_request || self.request_failures >= max.request)
    }

    /// Gives up the MPDUs and the Block Ack Request that have reached their limits of attempts; the MPDUs are passed to `done`.
    pub fn give_up(&mut self, max: &Attempts, mut done: impl FnMut(&Mpdu)) {
        if self.request_failures >= max.request {
            self.drop_request();
        }
        let before = self.queue.len();
        self.queue.retain(|mpdu| {
            let is_exhausted = mpdu.failures >= max.mpdu;
            if is_exhausted {
                done(mpdu);
            }
            !is_exhausted
        });
        if self.queue.len() == before {
            return;
        }
        self.owes_request |= max.requests_after;
    }
}

/// Limits of attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    pub mpdu: u32,
    pub request: u32,
    /// Whether a Block Ack Request follows an MPDU that is given up.
    pub requests_after: bool,
}
