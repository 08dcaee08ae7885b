//! Both ends of a Block Ack agreement (docs/medium.md, section 12). Sequence numbers count from 0 and do not wrap.

use super::flaw::Flaw;
use super::frame::{Mpdu, Packet};
use super::mode::Mode;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What happens under agreements; a test of random scenarios wants to have seen all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// PPDUs of one MPDU and of several.
    One,
    Several,
    /// What ended a PPDU.
    EndedByWindow,
    EndedByCount,
    EndedByBytes,
    EndedByDuration,
    EndedByTxop,
    EndedByHeadRun,
    EndedByTxQueue,
    /// A packet joins an MPDU: the first to be sent, or one that already had to wait.
    Joined,
    JoinedBeyondCount,
    /// It does not, for the MPDU would be too long, or was sent before.
    AmsduFull,
    ClosedBySending,
    /// An A-MSDU that its receiver cannot decode.
    AmsduLost,
    /// The link queue is longer than the window.
    WindowStall,
    /// Filled past packets for other stations.
    Gathered,
    /// A head that exceeds a limit goes alone.
    LongHead,
    Spaced,
    /// A link other than the last takes its turn.
    OtherLink,
    /// The link last in service is all that there is.
    SameLink,
    FollowsInTxop,
    DoesNotFitTxop,
    AfterRts,
    RtsFailed,
    /// A Block Ack that acknowledges some of the MPDUs.
    Partial,
    GivenUp,
    /// A PPDU is sent again as it was formed: also where another could be longer now, or would have another mode.
    TriedAgain,
    TriedAgainShort,
    TriedInOldMode,
    /// The last of several tries has failed.
    TriesOver,
    /// An MPDU that is not given up, although it has failed as often: the PPDU was formed before.
    SparedByTries,
    /// As many failed exchanges in a row that CW is CWmin.
    RowEnded,
    InternalCollision,
    RequestSent,
    /// One that is due because a Block Ack was missed.
    RequestAfterMissed,
    RequestInTxop,
    RequestAnswered,
    RequestFailed,
    RequestDropped,
    /// A request whose answer acknowledges MPDUs.
    RequestAcknowledges,
    /// A request that lets the recipient pass packets on.
    RequestReleases,
    /// A PPDU whose MPDUs are received one by one.
    OwnEnds,
    Duplicate,
    /// Decoded after its timeout.
    TooLate,
    Held,
    TimedOut,
    /// An MPDU beyond the recipient's window.
    WindowMoved,
    /// Outstanding sequence numbers on both sides of a wrap, and what fails of them.
    Wraps,
    WrapPartial,
    /// A PPDU longer than the windows of 64 and 256 MPDUs.
    Over64,
    Over256,
    /// Bitmaps of these lengths.
    Bitmap256,
    Bitmap512,
    Bitmap1024,
}

/// How often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events(BTreeMap<Event, u64>);

impl Events {
    pub fn note(&mut self, event: Event) {
        *self.0.entry(event).or_default() += 1;
    }

    pub fn note_if(&mut self, happens: bool, event: Event) {
        if happens {
            self.note(event);
        }
    }

    pub fn add(&mut self, more: &Events) {
        for (event, count) in &more.0 {
            *self.0.entry(*event).or_default() += count;
        }
    }

    pub fn count(&self, event: Event) -> u64 {
        self.0.get(&event).copied().unwrap_or(0)
    }

    /// Whether each event has happened `least` times.
    pub fn covers_all(&self, least: u64) -> bool {
        self.0.len() == Event::Bitmap1024 as usize + 1 && self.0.values().all(|&count| count >= least)
    }
}

/// A PPDU from when it is formed until it ends.
#[derive(Clone)]
pub struct Tried {
    /// As in its first try.
    pub mpdus: Vec<Mpdu>,
    pub psdu_bytes: u32,
    pub mode: Mode,
    /// Tries that have failed.
    pub failed: u32,
}

impl Tried {
    /// How often an MPDU had failed before it.
    fn failures_before(&self, seq: u64) -> Option<u32> {
        self.mpdus.iter().find(|mpdu| mpdu.seq == seq).map(|mpdu| mpdu.number - 1)
    }
}

/// The transmitter's end: the link queue.
#[derive(Default)]
pub struct Originator {
    /// `number`: how often each has failed.
    pub queue: VecDeque<Mpdu>,
    /// The PPDU in service.
    pub tried: Option<Tried>,
    next: u64,
    /// A request is owed, and how often it has failed.
    pub request: Option<u32>,
}

impl Originator {
    pub fn enter(&mut self, packet: Packet) {
        self.queue.push_back(Mpdu { seq: self.next, packets: vec![packet], number: 0 });
        self.next += 1;
    }

    /// A packet joins the last MPDU.
    pub fn join(&mut self, packet: Packet) {
        self.queue.back_mut().expect("it joins something").packets.push(packet);
    }

    /// The sequence numbers that are outstanding lie on both sides of 4096 or a multiple of it.
    pub fn wraps(&self) -> bool {
        self.start() / 4096 < self.next.saturating_sub(1) / 4096
    }

    /// WinStartO.
    pub fn start(&self) -> u64 {
        self.queue.front().map_or(self.next, |head| head.seq)
    }

    /// The sequence number that a packet would get.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn is_pending(&self) -> bool {
        !self.queue.is_empty() || self.request.is_some()
    }

    pub fn acknowledge(&mut self, decoded: &BTreeSet<u64>) {
        self.queue.retain(|mpdu| !decoded.contains(&mpdu.seq));
    }

    /// A PPDU is formed.
    pub fn begin(&mut self, mpdus: &[Mpdu], psdu_bytes: u32, mode: Mode) {
        self.tried = Some(Tried { mpdus: mpdus.to_vec(), psdu_bytes, mode, failed: 0 });
    }

    /// A try of the PPDU has failed: each of its MPDUs has.
    pub fn fail_try(&mut self, sent: &[Mpdu]) {
        for mpdu in self.queue.iter_mut().filter(|mpdu| sent.iter().any(|one| one.seq == mpdu.seq)) {
            mpdu.number += 1;
        }
    }

    /// A PPDU ends with another failure of these, unless they have left the queue. What is given up.
    pub fn fail(&mut self, sent: &[Mpdu], max_attempts: u32, requests: bool) -> Vec<Mpdu> {
        self.fail_try(sent);
        let tried = self.tried.take();
        let before = |mpdu: &Mpdu| {
            let before = tried.as_ref().and_then(|tried| tried.failures_before(mpdu.seq));
            before.unwrap_or(mpdu.number - 1)
        };
        let (mut kept, mut given_up) = (VecDeque::new(), Vec::new());
        for mpdu in self.queue.drain(..) {
            let fails = sent.iter().any(|one| one.seq == mpdu.seq);
            if fails && before(&mpdu) + 1 >= max_attempts {
                given_up.push(mpdu);
            } else {
                kept.push_back(mpdu);
            }
        }
        self.queue = kept;
        if requests && !given_up.is_empty() && self.request.is_none() {
            self.request = Some(0);
        }
        given_up
    }
}

/// The receiver's end.
pub struct Recipient {
    window: u64,
    timeout: u64,
    flaw: Option<Flaw>,
    /// WinStartB.
    start: u64,
    /// MPDUs out of order, and when they time out.
    held: BTreeMap<u64, (Vec<Packet>, u64)>,
    /// All that was ever decoded.
    pub decoded: BTreeSet<u64>,
}

impl Recipient {
    pub fn new(window: u32, timeout: u32, flaw: Option<Flaw>) -> Recipient {
        let late = flaw == Some(Flaw::LateReorderTimeout);
        Recipient {
            window: window.into(),
            timeout: (timeout + u32::from(late)).into(),
            flaw,
            start: 0,
            held: BTreeMap::new(),
            decoded: BTreeSet::new(),
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    pub fn holds_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// An MPDU was decoded: what is passed on; none if it is dropped.
    pub fn receive(&mut self, mpdu: &Mpdu, now: u64, events: &mut Events) -> Option<Vec<Packet>> {
        let seq = mpdu.seq;
        let new = self.decoded.insert(seq);
        // What lies further back has left the transmitter's window.
        self.decoded = self.decoded.split_off(&self.start.saturating_sub(2 * self.window));
        if self.has(Flaw::OutOfOrder) {
            return new.then(|| mpdu.packets.clone());
        }
        if seq < self.start || self.held.contains_key(&seq) {
            events.note(if new { Event::TooLate } else { Event::Duplicate });
            return self.has(Flaw::NoDuplicateFilter).then(|| mpdu.packets.clone());
        }
        let mut passed_on = Vec::new();
        if seq >= self.start + self.window {
            events.note(Event::WindowMoved);
            let further = u64::from(self.has(Flaw::WindowMovesTooFar));
            passed_on = self.skip_to(seq + 1 + further - self.window);
        }
        let mut packets = mpdu.packets.clone();
        if self.has(Flaw::AmsduBackwards) {
            packets.reverse();
        }
        self.held.insert(seq, (packets, now + self.timeout));
        passed_on.extend(self.pass_on());
        events.note_if(self.held.contains_key(&seq), Event::Held);
        Some(passed_on)
    }

    /// A request was decoded: what is passed on.
    pub fn request(&mut self, start: u64, events: &mut Events) -> Vec<Packet> {
        if start <= self.start {
            return Vec::new();
        }
        let passed_on = [self.skip_to(start), self.pass_on()].concat();
        events.note_if(!passed_on.is_empty(), Event::RequestReleases);
        passed_on
    }

    /// When the next timeout is.
    pub fn next_timeout(&self) -> Option<u64> {
        self.held.values().map(|&(_, at)| at).min()
    }

    /// What is passed on because MPDUs have been held for too long.
    pub fn time_out(&mut self, now: u64, events: &mut Events) -> Vec<Packet> {
        let Some((&last, _)) = self.held.iter().rev().find(|(_, (_, at))| *at == now) else {
            return Vec::new();
        };
        events.note(Event::TimedOut);
        let last = match self.held.last_key_value() {
            Some((&all, _)) if self.has(Flaw::TimeoutOfAll) => all,
            _ => last,
        };
        [self.skip_to(last), self.pass_on()].concat()
    }

    /// WinStartB moves; what was held before it.
    fn skip_to(&mut self, start: u64) -> Vec<Packet> {
        self.start = start;
        let rest = self.held.split_off(&start);
        let before = std::mem::replace(&mut self.held, rest);
        before.into_values().flat_map(|(packets, _)| packets).collect()
    }

    /// What is held from WinStartB on without a gap.
    fn pass_on(&mut self) -> Vec<Packet> {
        let mut passed_on = Vec::new();
        while let Some((packets, _)) = self.held.remove(&self.start) {
            passed_on.extend(packets);
            self.start += 1;
        }
        passed_on
    }
}
