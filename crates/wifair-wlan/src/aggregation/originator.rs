//! The originator's side of a Block Ack agreement: the MPDUs that its channel access function has taken from the transmit queue
//! and that are not yet acknowledged or given up (802.11-2020, 10.25.6; `docs/medium.md`, section 12).

use std::collections::VecDeque;

use wifair_core::{Counters, Packet, Rate, Time};
use wifair_queue::{Count, DequeuedPacket, MpduOutcome, TransmittedMpdu};

use super::accounts::{Account, Accounts, AirtimeShare};
use super::amsdu::Amsdu;
use super::psdu::{DELIMITER_BYTES, Limits, Psdu, Shares, room_at};
use super::spec::{Attempts, Requests};

/// A packet in the link queue, and the MPDU that contains it: all packets of an A-MSDU have its sequence number and its
/// outcomes.
#[derive(Debug)]
pub(crate) struct Mpdu {
    pub departure: DequeuedPacket,
    pub sequence: u64,
    /// The formed PPDU that contains it; [`NONE`] if it is in no PPDU.
    ppdu: u32,
    /// Its share of the pending airtime of its station.
    pub pending: Time,
    /// What it adds to the length of its MPDU, which has no delimiter here.
    pub bytes: u32,
    /// Number of transmissions that contained it and did not get it acknowledged.
    failures: u32,
    /// How many of them came before the last PPDU that contains it.
    failures_before: u32,
    /// Whether its receiver decodes it from the PPDU on the air.
    decoded: bool,
    /// Whether its receiver has decoded it, from this PPDU or an earlier one.
    received: bool,
    /// Whether its receiver accepted it: it was not a duplicate, and had not been skipped by a reorder timeout.
    taken: bool,
    /// Whether it continues the A-MSDU of the packet before it.
    continues_amsdu: bool,
    /// When it entered the link queue; [`NOTED`] if an exchange has begun with it, and a narrow CTS has kept it from being
    /// sent.
    taken_at: Time,
    /// Its account of shares, if it was in a PPDU whose times were divided among its MPDUs, as after each failure.
    account: u32,
}

/// A PPDU that was sent. Its times are divided among its MPDUs only when somebody asks for the shares, or if an MPDU has
/// failed.
#[derive(Clone, Copy, Debug)]
struct SentTimes {
    spent: AirtimeShare,
    /// The wait for a response that did not come; overhead and service include it.
    timeout: Time,
    packets: usize,
    /// Bytes of its MPDUs.
    bytes: u64,
    rate: Rate,
    /// Whether the receiver has decoded all of it.
    is_whole: bool,
    /// Whether its failure is counted.
    has_failed: bool,
    /// Whether a Block Ack Request follows if it fails.
    is_requested: bool,
}

impl SentTimes {
    fn nothing() -> SentTimes {
        let (spent, rate) = (AirtimeShare::default(), Rate::from_kbps(0));
        SentTimes {
            spent,
            timeout: Time::ZERO,
            packets: 0,
            bytes: 0,
            rate,
            is_whole: false,
            has_failed: false,
            is_requested: false,
        }
    }

    /// The shares of its packets, which are to be asked for in order, by length.
    fn shares(&self) -> impl FnMut(u32) -> AirtimeShare + use<> {
        let of = |time: Time| Shares::of(time.as_ns(), self.bytes);
        let AirtimeShare { airtime, overhead, service } = self.spent;
        let (mut airtimes, mut overheads, mut services) = (of(airtime), of(overhead), of(service));
        let mut timeouts = of(self.timeout);
        move |bytes| {
            let next = |shares: &mut Shares| Time::from_ns(shares.next(bytes));
            let timeout = next(&mut timeouts);
            AirtimeShare {
                airtime: next(&mut airtimes),
                overhead: next(&mut overheads) + timeout,
                service: next(&mut services) + timeout,
            }
        }
    }
}

/// Content of a PPDU as it was formed, and the part of it that entered the link queue at that time.
#[derive(Clone, Copy, Debug)]
struct PpduContent {
    ppdu: u32,
    packets: usize,
    /// Bytes of its MPDUs.
    bytes: u64,
    entered: usize,
    at: Time,
}

impl PpduContent {
    fn add(&mut self, packets: usize, bytes: u32) {
        self.packets += packets;
        self.bytes += u64::from(bytes);
    }
}

/// A formed PPDU: its number and its PSDU; no PSDU for a Block Ack Request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formed {
    pub ppdu: u32,
    pub psdu: Option<Psdu>,
}

/// How a packet enters the link queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkQueueEntry {
    /// What it adds to the length of its MPDU.
    pub bytes: u32,
    /// Whether it joins the last MPDU.
    pub continues_amsdu: bool,
    /// Its share of the pending airtime of its station.
    pub pending: Time,
}

/// How long it has waited in the link queue is known.
const NOTED: Time = Time::MAX;
/// The MPDU is in no PPDU.
const NONE: u32 = 0;
/// Number that represents a Block Ack Request.
const REQUEST: u32 = u32::MAX;

impl Mpdu {
    /// Completes a packet that has just entered: a new MPDU, or a part of the last. `next_sequence` is that of the next MPDU.
    #[inline]
    fn complete(&mut self, bytes: u32, continues_amsdu: bool, next_sequence: &mut u64) {
        match continues_amsdu {
            true => self.continues_amsdu = true,
            false => *next_sequence += 1,
        }
        (self.sequence, self.bytes) = (*next_sequence - 1, bytes);
    }

    /// Number of transmissions that contained it, once it leaves the link queue: all have failed but the one that got it
    /// acknowledged, if it is in that.
    pub fn attempts(&self) -> u32 {
        self.failures + u32::from(self.ppdu != NONE)
    }

    /// Whether it is given up: a PPDU has ended without its acknowledgement, and the limit had been reached but for that PPDU.
    fn is_exhausted(&self, max: &Attempts) -> bool {
        self.failures > self.failures_before && self.failures_before + 1 >= max.mpdu
    }

    /// Whether it is in the MPDU of the packet before it.
    pub fn continues_amsdu(&self) -> bool {
        self.continues_amsdu
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
    accounts: Accounts,
    next_sequence: u64,
    /// The number of the PPDU that is in service: on the air, or next.
    in_service: u32,
    /// The PPDU formed last.
    content: PpduContent,
    owes_request: bool,
    /// Whether the Block Ack Request is formed.
    request_formed: bool,
    /// Number of failures of the pending Block Ack Request.
    request_failures: u32,
    /// The last transmission of the PPDU in service.
    sent: SentTimes,
    /// Nothing in the queue has failed, and nothing is lost in the PPDU in service: that is the head of the queue. Recomputed
    /// by [`Originator::review`].
    ordinary: bool,
}

impl Originator {
    /// An originator with nothing to send. `window` is in MPDUs.
    pub fn new(window: u64, amsdu: Amsdu) -> Originator {
        Originator {
            window,
            amsdu,
            queue: VecDeque::new(),
            accounts: Accounts::default(),
            next_sequence: 0,
            in_service: NONE,
            content: PpduContent { ppdu: NONE, packets: 0, bytes: 0, entered: 0, at: Time::ZERO },
            owes_request: false,
            request_formed: false,
            request_failures: 0,
            sent: SentTimes::nothing(),
            ordinary: true,
        }
    }

    /// What it joins to A-MSDUs.
    pub fn amsdu(&self) -> Amsdu {
        self.amsdu
    }

    /// Whether anything can be sent: a packet that is in no PPDU and within the window.
    pub fn is_pending(&self) -> bool {
        let free = || self.queue.iter().find(|mpdu| mpdu.ppdu == NONE);
        self.forms_request() || free().is_some_and(|mpdu| mpdu.sequence < self.window_start() + self.window)
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
    pub fn push(&mut self, departure: DequeuedPacket, mac_bytes: u32, now: Time) {
        let bytes = departure.packet.ip_bytes() + mac_bytes;
        self.enter_ahead(
            departure,
            LinkQueueEntry { bytes, continues_amsdu: false, pending: Time::ZERO },
            now,
        );
    }

    /// How a packet of `ip_bytes` enters the link queue ahead of PPDUs, whose PSDUs have at most what `max_psdu_bytes` says.
    /// Its pending airtime is open.
    pub fn place(
        &self,
        ip_bytes: u32,
        mac_bytes: u32,
        max_psdu_bytes: impl FnOnce() -> u32,
    ) -> LinkQueueEntry {
        if self.amsdu.joins() && self.is_open(NONE) {
            let (bytes, is_amsdu) = self.last_mpdu();
            let max_mpdu_bytes = max_psdu_bytes().saturating_sub(DELIMITER_BYTES);
            if ip_bytes <= self.amsdu.room(bytes, is_amsdu, max_mpdu_bytes) {
                let added = self.amsdu.with(bytes, is_amsdu, ip_bytes) - bytes;
                return LinkQueueEntry { bytes: added, continues_amsdu: true, pending: Time::ZERO };
            }
        }
        LinkQueueEntry { bytes: ip_bytes + mac_bytes, continues_amsdu: false, pending: Time::ZERO }
    }

    /// Whether packets may join the last MPDU: it has been in no PPDU but the one of this number.
    fn is_open(&self, ppdu: u32) -> bool {
        self.queue.back().is_some_and(|last| last.failures == 0 && last.ppdu == ppdu)
    }

    /// Length of the last MPDU, and whether it has an A-MSDU.
    fn last_mpdu(&self) -> (u32, bool) {
        let mut bytes = 0;
        for mpdu in self.queue.iter().rev() {
            bytes += mpdu.bytes;
            if !mpdu.continues_amsdu {
                break;
            }
        }
        (bytes, self.queue.back().is_some_and(|last| last.continues_amsdu))
    }

    /// Length of the MPDU whose first packet is at `index`, and the index of the next MPDU.
    fn mpdu_at(&self, index: usize) -> (u32, usize) {
        let mut bytes = self.queue[index].bytes;
        let mut next = index + 1;
        while let Some(mpdu) = self.queue.get(next).filter(|mpdu| mpdu.continues_amsdu) {
            bytes += mpdu.bytes;
            next += 1;
        }
        (bytes, next)
    }

    /// Adds a packet to the link queue, ahead of PPDUs.
    pub fn enter_ahead(&mut self, departure: DequeuedPacket, entry: LinkQueueEntry, now: Time) {
        let LinkQueueEntry { bytes, continues_amsdu, pending } = entry;
        let mpdu = enter(&mut self.queue, departure, NONE, now);
        mpdu.complete(bytes, continues_amsdu, &mut self.next_sequence);
        mpdu.pending = pending;
    }

    /// Whether what is formed next is a Block Ack Request.
    pub fn forms_request(&self) -> bool {
        self.owes_request && !self.request_formed
    }

    /// Length of what would be sent first: only the head, or a Block Ack Request (`None`).
    pub fn head_bytes(&self) -> Option<u32> {
        if self.owes_request {
            return None;
        }
        assert!(!self.queue.is_empty(), "a link in service has something to send");
        Some(self.mpdu_at(0).0)
    }

    /// Forms a PPDU from MPDUs that are in no other PPDU, then from the queue. `take(max_ip_bytes)` dequeues the
    /// link's next packet.
    pub fn form(
        &mut self,
        limits: &Limits,
        now: Time,
        mut take: impl FnMut(u32) -> Option<DequeuedPacket>,
    ) -> Formed {
        if self.forms_request() {
            self.request_formed = true;
            return Formed { ppdu: REQUEST, psdu: None };
        }
        let ppdu = if self.content.ppdu + 1 < REQUEST { self.content.ppdu + 1 } else { 1 };
        let mut content = PpduContent { ppdu, packets: 0, bytes: 0, entered: 0, at: now };
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
            let with = psdu.followed_by(bytes, limits.spacing_bytes);
            let fits = with.mpdus() <= limits.max_mpdus && with.bytes(true) <= limits.max_psdu_bytes;
            if self.queue[first].sequence >= end || psdu.mpdus() > 0 && !fits {
                self.content = content;
                return Formed { ppdu, psdu: Some(psdu) };
            }
            psdu = with;
            content.add(next - first, bytes);
            for mpdu in self.queue.range_mut(first..next) {
                (mpdu.ppdu, mpdu.failures_before) = (ppdu, mpdu.failures);
            }
        }
        loop {
            let mut room = 0;
            let before_next = psdu.before_next(limits.spacing_bytes);
            if self.next_sequence < end && psdu.mpdus() < limits.max_mpdus {
                room = room_at(before_next, limits.max_psdu_bytes).saturating_sub(limits.mac_bytes);
            }
            let (mut last, mut is_amsdu, mut joint_room) = (0, false, 0);
            if self.amsdu.joins() && self.is_open(ppdu) && psdu.mpdus() > 0 {
                (last, is_amsdu) = (psdu.last(), self.queue.back().is_some_and(|last| last.continues_amsdu));
                joint_room = self.amsdu.room(last, is_amsdu, psdu.room_of_last(limits.max_psdu_bytes));
                room = room.max(joint_room);
            }
            if room == 0 {
                break;
            }
            let Some(departure) = take(room) else { break };
            let mpdu = enter(&mut self.queue, departure, ppdu, now); // read where it lies: it is copied only once
            let ip_bytes = mpdu.departure.packet.ip_bytes();
            let continues_amsdu = ip_bytes <= joint_room;
            let mut bytes = ip_bytes + limits.mac_bytes;
            if continues_amsdu {
                let joint = self.amsdu.with(last, is_amsdu, ip_bytes);
                psdu = psdu.with_last(joint);
                bytes = joint - last;
            } else {
                psdu = psdu.with_at(before_next, bytes);
            }
            content.add(1, bytes);
            content.entered += 1;
            mpdu.complete(bytes, continues_amsdu, &mut self.next_sequence);
        }
        self.content = content;
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
            _ => {
                self.queue.iter_mut().filter(|mpdu| mpdu.ppdu == ppdu).for_each(|mpdu| mpdu.ppdu = NONE);
                self.owes_request |= self.misses_block_ack();
            }
        }
    }

    /// Whether a Block Ack Request follows the failure of the PPDU.
    fn misses_block_ack(&self) -> bool {
        self.sent.has_failed && self.sent.is_requested
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
        let (mut any, mut all, mut index) = (false, true, 0);
        while index < self.queue.len() {
            let (bytes, next) = self.mpdu_at(index);
            if self.queue[index].ppdu == self.in_service && self.in_service != NONE {
                let decoded = decodes(bytes);
                any |= decoded;
                all &= decoded;
                self.queue.range_mut(index..next).for_each(|mpdu| mpdu.decoded = decoded);
            }
            index = next;
        }
        self.ordinary &= all;
        any
    }

    /// The PPDU is sent, which takes the times `spent`; a Block Ack Request follows its failure if it `is_requested`. `first`
    /// receives since when packets have been in the link queue that are sent for the first time, and the number of those in a
    /// row.
    pub fn attempt(
        &mut self,
        spent: AirtimeShare,
        rate: Rate,
        is_requested: bool,
        mut first: impl FnMut(Time, u64),
    ) {
        let PpduContent { ppdu, entered, at, mut packets, mut bytes } = self.content;
        let (mut since, mut count) = (Time::ZERO, 0);
        let mut note = |taken_at, more| {
            if taken_at != since && count > 0 {
                let waited = std::mem::take(&mut count);
                if since != NOTED {
                    first(since, waited);
                }
            }
            (since, count) = (taken_at, count + more);
        };
        if self.ordinary && ppdu == self.in_service {
            debug_assert!(self.formed().map(|mpdu| u64::from(mpdu.bytes)).sum::<u64>() == bytes);
            let before = packets - entered;
            self.queue.range(..before).for_each(|mpdu| note(mpdu.taken_at, 1));
            note(at, entered as u64);
        } else {
            (packets, bytes) = (0, 0);
            for mpdu in self.formed() {
                packets += 1;
                bytes += u64::from(mpdu.bytes);
                if mpdu.failures == 0 {
                    note(mpdu.taken_at, 1);
                }
            }
        }
        note(NOTED, 0);
        self.sent = SentTimes { spent, packets, bytes, rate, is_requested, ..SentTimes::nothing() };
    }

    /// Of the PPDU, which is going to be sent at `rate`, the first `mpdus` stay: the others are in no PPDU. None of a Block Ack
    /// Request.
    pub fn shorten(&mut self, mpdus: u32, rate: Rate) {
        let (mut count, mut packets, mut bytes) = (0, 0, 0);
        for mpdu in self.formed_mut() {
            count += u32::from(!mpdu.continues_amsdu);
            if count > mpdus {
                (mpdu.ppdu, mpdu.taken_at) = (NONE, NOTED);
            } else {
                packets += 1;
                bytes += u64::from(mpdu.bytes);
            }
        }
        self.sent = SentTimes { packets, bytes, rate, ..self.sent };
    }

    /// Ends the PPDU if the receiver decodes all of it and nothing has failed: returns its first sequence number and its
    /// numbers of MPDUs and of packets, which are taken one by one ([`Originator::take_received`]).
    pub fn end_ordinary(&mut self) -> Option<(u64, u64, usize)> {
        let packets = self.sent.packets;
        if !self.ordinary || packets == 0 {
            return None;
        }
        self.sent.is_whole = true;
        let [first, last] = [0, packets - 1].map(|at| self.queue[at].sequence);
        debug_assert!(self.queue.range(..packets).all(|mpdu| mpdu.ppdu == self.in_service && mpdu.decoded));
        debug_assert!(
            self.queue.range(1..packets).map(|mpdu| u64::from(!mpdu.continues_amsdu)).sum::<u64>()
                == last - first
        );
        Some((first, last - first + 1, packets))
    }

    /// The MPDU at a place of the link queue, which the recipient has accepted.
    #[inline]
    pub fn take_received(&mut self, at: usize) -> &Mpdu {
        let mpdu = &mut self.queue[at];
        (mpdu.received, mpdu.taken) = (true, true);
        mpdu
    }

    /// How the airtime of the PPDU is divided.
    pub fn airtimes(&self) -> Shares {
        Shares::of(self.sent.spent.airtime.as_ns(), self.sent.bytes)
    }

    /// Ends the PPDU, of whose MPDUs those before the place `from` have ended already: the packets of the MPDUs that its
    /// receiver decodes are passed to `received`, each with its share of the airtime.
    pub fn end(&mut self, from: usize, airtimes: &mut Shares, mut received: impl FnMut(&Mpdu, Time) -> bool) {
        let mut next = from;
        while next < self.queue.len() {
            next = self.end_mpdu(next, airtimes, &mut received);
        }
        let is_whole = self.formed().all(|mpdu| mpdu.decoded);
        self.sent.is_whole = is_whole;
    }

    /// Ends the MPDU of the PPDU whose first packet is at `index`, as in [`Originator::end`]: packets that have joined it go
    /// before the first, and `received` returns whether the recipient accepts a packet. Returns the place of the next MPDU.
    pub fn end_mpdu(
        &mut self,
        index: usize,
        airtimes: &mut Shares,
        mut received: impl FnMut(&Mpdu, Time) -> bool,
    ) -> usize {
        let (_, next) = self.mpdu_at(index);
        if self.queue[index].ppdu != self.in_service {
            return next;
        }
        let mut take = |mpdu: &mut Mpdu, share| {
            if mpdu.decoded {
                mpdu.received = true;
                mpdu.taken |= received(mpdu, Time::from_ns(share));
            }
        };
        let share = airtimes.next(self.queue[index].bytes);
        for joined in index + 1..next {
            let mpdu = &mut self.queue[joined];
            take(mpdu, airtimes.next(mpdu.bytes));
        }
        take(&mut self.queue[index], share);
        next
    }

    /// The MPDUs of the PPDU: the place of each one's first packet, and how many bytes of the PSDU, with so much spacing, end
    /// with it.
    pub fn mpdu_ends(&self, spacing_bytes: u32) -> impl Iterator<Item = (usize, u32)> {
        self.psdus(spacing_bytes).map(|(index, psdu)| (index, psdu.bytes(true)))
    }

    /// The MPDUs of the PPDU: the place of each one's first packet, and the PSDU, with so much spacing, that ends with it.
    pub fn psdus(&self, spacing_bytes: u32) -> impl Iterator<Item = (usize, Psdu)> {
        let (mut psdu, mut next) = (Psdu::default(), 0);
        std::iter::from_fn(move || {
            while next < self.queue.len() {
                let (index, (bytes, after)) = (next, self.mpdu_at(next));
                next = after;
                if self.queue[index].ppdu == self.in_service {
                    psdu = psdu.followed_by(bytes, spacing_bytes);
                    return Some((index, psdu));
                }
            }
            None
        })
    }

    /// The MPDUs of the PPDU: how many bytes of the PSDU, with so much spacing, precede each one's subframe, and how many end
    /// with it.
    pub fn mpdu_spans(&self, spacing_bytes: u32) -> impl Iterator<Item = (u32, u32)> {
        self.mpdu_ends(spacing_bytes).map(|(index, end)| {
            let (bytes, _) = self.mpdu_at(index);
            (end - bytes - DELIMITER_BYTES, end)
        })
    }

    /// Sets how long the PPDU, which has been transmitted, occupies the medium, and whether a Block Ack Request follows its
    /// failure.
    pub fn set_airtime(&mut self, airtime: Time, is_requested: bool) {
        let AirtimeShare { airtime: before, service, .. } = self.sent.spent;
        self.sent.spent.airtime = airtime;
        self.sent.spent.service = service + airtime - before;
        self.sent.is_requested = is_requested;
    }

    /// Adds the shares of the PPDU to its packets.
    fn settle(&mut self) {
        let (rate, mut shares) = (self.sent.rate, self.sent.shares());
        let Originator { queue, accounts, in_service, .. } = self;
        for mpdu in queue.iter_mut().filter(|mpdu| mpdu.ppdu == *in_service && mpdu.ppdu != NONE) {
            accounts.add(&mut mpdu.account, shares(mpdu.bytes), rate);
        }
    }

    /// Packets that have not reached the recipient.
    pub fn packets_not_received(&self) -> impl Iterator<Item = &Packet> {
        self.queue.iter().filter(|mpdu| !mpdu.taken).map(|mpdu| &mpdu.departure.packet)
    }

    /// Processes a decoded Block Ack. Received MPDUs of the PPDU leave the queue and go to `done` with their shares,
    /// which are complete if `is_watched`; the others of the PPDU count one failure. After a Block Ack Request it
    /// covers the MPDUs that are in no PPDU.
    pub fn acknowledge(&mut self, is_watched: bool, mut done: impl FnMut(&Mpdu, &Account)) {
        let (covered, failures) = if self.is_request() { (NONE, 0) } else { (self.in_service, 1) };
        let (mut shares, rate) = (self.sent.shares(), self.sent.rate);
        let is_divided = is_watched && self.sent.is_whole;
        if !self.sent.is_whole {
            self.settle();
        }
        let Originator { queue, accounts, .. } = self;
        let mut done = |mpdu: &Mpdu| {
            let account = accounts.close(mpdu.account);
            match is_divided {
                true => done(mpdu, &account.with(shares(mpdu.bytes), rate)),
                false => done(mpdu, &account),
            }
        };
        while let Some(head) = queue.front().filter(|head| head.ppdu == covered && head.received) {
            done(head);
            queue.pop_front(); // most often all of them, without a move of those behind
        }
        queue.retain_mut(|mpdu| {
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
        self.sent.is_whole = false;
        self.review();
    }

    /// Fast path of [`Originator::acknowledge`] if the receiver has decoded all of the PPDU and nothing has failed before: its
    /// packets go to `done`, without their shares. Returns whether it applies.
    pub fn acknowledge_ordinary(&mut self, done: impl FnMut(&DequeuedPacket)) -> bool {
        let applies = self.ordinary && self.sent.is_whole;
        if applies {
            let packets = self.sent.packets;
            self.queue.range(..packets).map(|mpdu| &mpdu.departure).for_each(done);
            self.queue.drain(..packets);
            self.in_service = NONE;
            self.sent.is_whole = false;
        }
        applies
    }

    /// Makes the fast paths inapplicable, or reviews whether they apply.
    #[cfg(test)]
    pub fn take_general_path(&mut self, is_general: bool) {
        self.ordinary = !is_general && self.queue.iter().all(|mpdu| mpdu.failures == 0);
    }

    /// Recomputes whether the fast paths apply. Called after every change of what has failed.
    fn review(&mut self) {
        if !self.ordinary {
            self.ordinary = self.queue.iter().all(|mpdu| mpdu.failures == 0);
        }
    }

    /// Number of MPDUs of the PPDU that the recipient has decoded.
    pub fn acknowledged(&self) -> u32 {
        self.formed().filter(|mpdu| mpdu.received && !mpdu.continues_amsdu).count() as u32
    }

    /// Handles a failed exchange, known to the originator after a wait for `timeout`: each MPDU of the PPDU has failed, or the
    /// Block Ack Request.
    pub fn fail(&mut self, timeout: Time) {
        if self.is_request() {
            self.request_failures += 1;
        }
        (self.sent.timeout, self.sent.has_failed) = (timeout, true);
        self.settle();
        self.formed_mut().for_each(|mpdu| mpdu.failures += 1);
        self.ordinary &= self.is_request();
    }

    /// The packets of the PPDU, which has been transmitted, and their outcomes, if a response to it `is_decoded` or not, and
    /// another try follows or the PPDU ends with it.
    pub fn transmitted(
        &self,
        is_decoded: bool,
        ends: bool,
        max: &Attempts,
    ) -> impl Iterator<Item = TransmittedMpdu<'_>> {
        let (mut shares, last) = (self.sent.shares(), u32::from(!self.sent.has_failed));
        self.formed().map(move |mpdu| {
            let AirtimeShare { airtime, overhead, .. } = shares(mpdu.bytes);
            let attempts = mpdu.failures + last;
            TransmittedMpdu {
                packet: &mpdu.departure.packet,
                continues_amsdu: mpdu.continues_amsdu,
                flow: mpdu.departure.flow,
                sequence: Some((mpdu.sequence % 4_096) as u16),
                outcome: match () {
                    () if is_decoded && (mpdu.decoded || mpdu.received) => MpduOutcome::Delivered,
                    () if ends && mpdu.failures_before + 1 >= max.mpdu => MpduOutcome::GivenUp,
                    () => MpduOutcome::ToRetry,
                },
                attempts,
                airtime,
                overhead,
            }
        })
    }

    /// Whether the receiver decodes each packet of the PPDU, unless that collides.
    pub fn decoded(&self) -> impl Iterator<Item = bool> {
        self.formed().map(|mpdu| mpdu.decoded)
    }

    /// The packets of the last MPDU that the receiver decodes from the PPDU; none of a Block Ack Request.
    pub fn last_decoded(&self) -> impl Iterator<Item = &Packet> {
        let decoded = || self.formed().filter(|mpdu| mpdu.decoded);
        let last = decoded().last().map(|mpdu| mpdu.sequence);
        decoded().filter(move |mpdu| Some(mpdu.sequence) == last).map(|mpdu| &mpdu.departure.packet)
    }

    /// The packets in the link queue, and their IP bytes.
    pub fn backlog(&self) -> Count {
        let mut backlog = Count::default();
        for mpdu in &self.queue {
            backlog.add(&Count { packets: 1, bytes: mpdu.departure.packet.ip_bytes().into() });
        }
        backlog
    }

    fn drop_request(&mut self) {
        self.owes_request = false;
        self.request_formed = false;
        self.request_failures = 0;
    }

    /// Whether [`Originator::give_up`] would do anything.
    pub fn has_exhausted(&self, max: &Attempts) -> bool {
        self.request_failures >= max.request || self.queue.iter().any(|mpdu| mpdu.is_exhausted(max))
    }

    /// Whether [`Originator::give_up`] would leave nothing to send.
    pub fn is_exhausted(&self, max: &Attempts) -> bool {
        let exhausted = self.queue.iter().all(|mpdu| mpdu.is_exhausted(max));
        let request = max.requests == Requests::Never || self.queue.is_empty();
        let owes_request = self.owes_request && self.request_failures < max.request;
        exhausted && request && !owes_request && !self.misses_block_ack()
    }

    /// Gives up the MPDUs and the Block Ack Request that have reached their limits of attempts; the MPDUs are passed to `done`,
    /// with their shares.
    pub fn give_up(&mut self, max: &Attempts, mut done: impl FnMut(&Mpdu, &Account)) {
        if self.request_failures >= max.request {
            self.drop_request();
        }
        if self.ordinary {
            return;
        }
        let Originator { queue, accounts, .. } = self;
        let before = queue.len();
        queue.retain(|mpdu| {
            let is_exhausted = mpdu.is_exhausted(max);
            if is_exhausted {
                done(mpdu, &accounts.close(mpdu.account));
            }
            !is_exhausted
        });
        self.review();
        if self.queue.len() == before {
            return;
        }
        self.owes_request |= max.requests != Requests::Never;
    }
}

/// Adds a packet to a link queue, which is to be completed.
#[inline]
fn enter(queue: &mut VecDeque<Mpdu>, departure: DequeuedPacket, ppdu: u32, now: Time) -> &mut Mpdu {
    queue.push_back(Mpdu {
        sequence: 0,
        ppdu,
        pending: Time::ZERO,
        bytes: 0,
        continues_amsdu: false,
        failures: 0,
        failures_before: 0,
        decoded: true, // unless the channel says otherwise
        received: false,
        taken: false,
        taken_at: now,
        account: Accounts::NONE,
        departure,
    });
    queue.back_mut().expect("it has entered")
}
