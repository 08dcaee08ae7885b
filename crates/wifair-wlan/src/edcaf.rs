//! A channel access function (EDCAF) and its frame in service. (A node has four under EDCA; the single one under DCF is also
//! called so.)

use wifair_core::{Ac, StationId, Time};
use wifair_queue::{Departure, Exchange, Outcome};

use crate::mac::Mac;
use crate::node::LinkId;
use crate::phy::{BssTiming, Mode, OnAir};
use crate::ppdu::Ppdu;

/// Static properties of a channel access function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub is_ap: bool,
    /// The category that it serves; best effort under DCF.
    pub ac: Ac,
    /// The port that its packets come from.
    pub port: u32,
    /// 0 means one frame.
    pub txop_limit: Time,
}

/// What a channel access function serves: a packet that it has taken from its port, until it is acknowledged or given up.
///
/// The packet is written in place, so it is copied only once, from the port.
#[derive(Debug)]
#[repr(C)] // what every frame needs comes last, next to the port
pub(crate) struct Edcaf {
    /// The link's last or current PPDU.
    ppdu: Ppdu,
    /// Channel time of the last attempt, if its port asks for transmissions.
    of_last: [Time; 2],
    /// Number of consecutive failed exchanges of the link.
    failed_exchanges: u32,
    /// Whether it takes packets even with something in service.
    has_room: bool,
    /// Whether a link with a Block Ack agreement is in service.
    serves_queue: bool,
    /// Whether the receiver has the frame: another copy is a duplicate.
    delivered: bool,
    link: LinkId,
    psdu_bytes: u32,
    attempts: u32,
    short_retries: u32,
    long_retries: u32,
    /// Mode of the last attempt.
    mode: Mode,
    role: Role,
    /// The single frame in service, if any.
    departure: Option<Departure>,
    /// When it took its packet; for a link, when it came into service or when the outcome of its last PPDU became known.
    taken_at: Time,
    /// Airtime of the attempts.
    airtime: Time,
    /// Overhead of the attempts: the timeouts after failed ones and, if the BSS has a meter, the spaces and backoffs before
    /// them.
    overhead: Time,
    /// Channel time of the attempts before the last one, if its port asks for transmissions.
    before_last: [Time; 2],
}

impl Edcaf {
    /// A free channel access function.
    pub(crate) fn new(role: Role) -> Edcaf {
        Edcaf {
            departure: None,
            serves_queue: false,
            has_room: false,
            ppdu: Ppdu::of(Mode::none()),
            failed_exchanges: 0,
            link: LinkId::of(role.is_ap, StationId(0)),
            psdu_bytes: 0,
            attempts: 0,
            mode: Mode::none(),
            short_retries: 0,
            long_retries: 0,
            delivered: false,
            role,
            taken_at: Time::ZERO,
            airtime: Time::ZERO,
            overhead: Time::ZERO,
            before_last: [Time::ZERO; 2],
            of_last: [Time::ZERO; 2],
        }
    }

    pub(crate) fn role(&self) -> &Role {
        &self.role
    }

    /// When it took its packet, or when a wait for access of a PPDU began.
    pub(crate) fn taken_at(&self) -> Time {
        self.taken_at
    }

    pub(crate) fn is_free(&self) -> bool {
        self.departure.is_none() && !self.serves_queue
    }

    /// Whether it takes packets from its port.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        self.is_free() || self.has_room
    }

    /// Sets whether it takes packets even with something in service.
    pub(crate) fn set_room(&mut self, has_room: bool) {
        self.has_room = has_room;
    }

    /// Loads the packet that the port returned, if any; returns whether there is a packet in service now.
    #[inline(always)]
    pub(crate) fn load(&mut self, departure: Option<Departure>, phy: &BssTiming, now: Time) -> bool {
        let Some(departure) = departure else {
            self.departure = None;
            return false;
        };
        let departure = self.departure.insert(departure);
        self.link = LinkId::of(self.role.is_ap, departure.station);
        self.psdu_bytes = phy.psdu_bytes(departure.packet.ip_bytes());
        self.taken_at = now;
        self.airtime = Time::ZERO;
        self.overhead = Time::ZERO;
        self.before_last = [Time::ZERO; 2];
        self.attempts = 0;
        self.short_retries = 0;
        self.long_retries = 0;
        self.delivered = false;
        true
    }

    /// Puts a link with a Block Ack agreement in service.
    pub(crate) fn serve_queue(&mut self, link: LinkId, now: Time) {
        self.departure = None;
        self.taken_at = now;
        self.serves_queue = true;
        self.link = link;
    }

    /// Releases the link in service.
    pub(crate) fn release(&mut self) {
        self.serves_queue = false;
    }

    pub(crate) fn serves_queue(&self) -> bool {
        self.serves_queue
    }

    /// Sets the PPDU of the link in service.
    pub(crate) fn set_ppdu(&mut self, ppdu: Ppdu) {
        self.psdu_bytes = ppdu.psdu_bytes;
        self.ppdu = ppdu;
    }

    pub(crate) fn ppdu(&self) -> Ppdu {
        self.ppdu
    }

    /// Sends the PPDU at `now`, in an exchange that occupies the medium for `occupied`. Returns the overhead before it, and its
    /// time in service by the end of the exchange.
    pub(crate) fn attempt_ppdu(&mut self, occupied: Time, now: Time) -> (Time, Time) {
        let overhead = std::mem::take(&mut self.overhead);
        self.mode = self.ppdu.mode;
        self.ppdu = Ppdu { occupied, overhead, ..self.ppdu };
        let since = std::mem::replace(&mut self.taken_at, now + occupied);
        (overhead, self.taken_at - since)
    }

    /// Counts a failed exchange of the PPDU, after a wait for `timeout`.
    pub(crate) fn fail_ppdu(&mut self, timeout: Time) {
        self.ppdu.overhead += timeout;
        self.taken_at += timeout;
    }

    /// Counts a failed exchange of the link in service. Returns whether `limit` consecutive failures are reached; the count
    /// then restarts.
    pub(crate) fn fail_exchange(&mut self, limit: u32) -> bool {
        self.failed_exchanges += 1;
        let exhausted = self.failed_exchanges >= limit;
        if exhausted {
            self.failed_exchanges = 0;
        }
        exhausted
    }

    /// Resets the count of failures after a success, or after the loss of a single frame.
    pub(crate) fn forget_failures(&mut self) {
        self.failed_exchanges = 0;
    }

    /// The packet in service, while the node transmits or waits for the outcome.
    pub(crate) fn departure(&self) -> &Departure {
        self.departure.as_ref().expect("a packet is in service until it is acknowledged or given up")
    }

    /// The packet in service, if there is one that has not reached its receiver.
    pub(crate) fn under_way(&self) -> Option<&Departure> {
        self.departure.as_ref().filter(|_| !self.delivered)
    }

    /// The link that the frame in service crosses.
    pub(crate) fn link(&self) -> LinkId {
        self.link
    }

    pub(crate) fn psdu_bytes(&self) -> u32 {
        self.psdu_bytes
    }

    /// Number of the last attempt, from 1, and its mode.
    pub(crate) fn last_attempt(&self) -> (u32, Mode) {
        (self.attempts, self.mode)
    }

    /// Whether RTS and CTS precede the frame, unless it follows another in its TXOP.
    pub(crate) fn with_rts(&self, on_air: &OnAir) -> bool {
        self.psdu_bytes > on_air.rts_threshold
    }

    /// Counts an attempt in `mode` that occupies the medium for `airtime`.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, mode: &Mode, airtime: Time) {
        self.attempts += 1;
        self.mode = *mode;
        self.airtime += airtime;
    }

    /// Counts the overhead of an attempt.
    pub(crate) fn wait(&mut self, overhead: Time) {
        self.overhead += overhead;
    }

    /// Ends the last attempt, whose times are all counted.
    pub(crate) fn close_attempt(&mut self) {
        let all = [self.airtime, self.overhead];
        self.of_last = [all[0] - self.before_last[0], all[1] - self.before_last[1]];
        self.before_last = all;
    }

    /// Airtime and overhead of the last attempt, since [`Edcaf::close_attempt`].
    pub(crate) fn of_last(&self) -> [Time; 2] {
        self.of_last
    }

    /// Total channel time of the attempts so far.
    pub(crate) fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }

    /// Records that the receiver has decoded the data frame; returns whether it passes on the packet, which it does once.
    #[inline(always)]
    pub(crate) fn deliver(&mut self) -> bool {
        !std::mem::replace(&mut self.delivered, true)
    }

    /// Counts a failure of the frame, or of its RTS if no CTS was received, known to the sender after a wait for `timeout`.
    /// Returns whether a retry limit is reached (10.3.4.4).
    pub(crate) fn fail(&mut self, cts: bool, timeout: Time, mac: &Mac) -> bool {
        self.overhead += timeout;
        if cts {
            self.short_retries = 0;
            self.long_retries += 1;
            self.long_retries >= mac.retry_limit_long
        } else {
            self.short_retries += 1;
            self.short_retries >= mac.retry_limit_short
        }
    }

    /// The end of the packet's service.
    pub(crate) fn exchange(&self, outcome: Outcome, now: Time) -> Exchange<'_> {
        let departure = self.departure();
        Exchange {
            outcome,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: self.role.ac,
            rate: self.mode.rate,
            attempts: self.attempts.min(u32::from(u8::MAX)) as u8,
            airtime: self.airtime,
            overhead: self.overhead,
            service: now - self.taken_at,
        }
    }
}
