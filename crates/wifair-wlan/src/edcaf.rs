//! A channel access function (EDCAF) and its frame in service. (A node has four under EDCA; the single one under DCF is also
//! called so.)

use wifair_core::{Ac, StationId, Time};
use wifair_queue::{DequeuedPacket, Exchange, Outcome};

use crate::mac::Mac;
use crate::node::{EdcafId, LinkId};
use crate::phy::timing::BssTiming;
use crate::phy::{Mode, OnAir};
use crate::ppdu::Ppdu;

/// Static properties of a channel access function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub is_ap: bool,
    /// The category that it serves; best effort under DCF.
    pub ac: Ac,
    /// The transmit queue that its packets come from.
    pub tx_queue: EdcafId,
    /// 0 means one frame.
    pub txop_limit: Time,
}

/// Time that transmissions take of the channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// From the start of the first frame of the exchange, or of the RTS that fails, to the end of the last.
    pub airtime: Time,
    /// The timeout after a failure and, if the BSS has a meter, the spaces and backoffs before it.
    pub overhead: Time,
}

/// What the failure of an exchange brings about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// CW is reset to CWmin, in place of being doubled.
    pub resets_window: bool,
    /// Nothing in service is left to send.
    pub is_lost: bool,
    /// The transmit queue asks for transmissions.
    pub is_reported: bool,
}

/// What a channel access function serves: a packet that it has taken from its transmit queue, until it is acknowledged or given
/// up; or a link queue.
///
/// The packet is written in place, so it is copied only once, from the transmit queue.
#[derive(Debug)]
#[repr(C)] // what every frame needs comes last, next to the transmit queue
pub(crate) struct Edcaf {
    /// The PPDU of the link queue, on the air or next.
    ppdu: Ppdu,
    /// Number of consecutive failed exchanges of the link queue.
    failed_exchanges: u32,
    /// Whether it takes packets even with something in service.
    has_room: bool,
    /// Whether a link queue is in service, and not a packet.
    serves_queue: bool,
    /// Whether the receiver has the packet: another copy is a duplicate.
    delivered: bool,
    link: LinkId,
    attempts: u32,
    short_retries: u32,
    long_retries: u32,
    /// Bytes of the PSDU of the packet in service.
    psdu_bytes: u32,
    /// Mode of the last transmission.
    mode: Mode,
    role: Role,
    /// The single frame in service, if any.
    departure: Option<DequeuedPacket>,
    /// When it took its packet; for a link queue, when it came into service or when the outcome of its last PPDU became known.
    taken_at: Time,
    /// Cost of the packet in service so far; of a link queue, since its last PPDU.
    cost: Cost,
    /// Cost of the packet before the last transmission, if its transmit queue asks for transmissions.
    before_last: Cost,
    /// Cost of the last transmission of a link queue or, if its transmit queue asks for transmissions, of the packet.
    last: Cost,
}

impl Edcaf {
    /// A free channel access function.
    pub(crate) fn new(role: Role) -> Edcaf {
        Edcaf {
            departure: None,
            serves_queue: false,
            has_room: false,
            ppdu: Ppdu::none(),
            psdu_bytes: 0,
            mode: Mode::none(),
            failed_exchanges: 0,
            link: LinkId::of(role.is_ap, StationId(0)),
            attempts: 0,
            short_retries: 0,
            long_retries: 0,
            delivered: false,
            role,
            taken_at: Time::ZERO,
            cost: Cost::default(),
            before_last: Cost::default(),
            last: Cost::default(),
        }
    }

    pub(crate) fn role(&self) -> &Role {
        &self.role
    }

    /// When it took its packet; for a link queue, when it came into service or when the outcome of its last PPDU became known.
    pub(crate) fn taken_at(&self) -> Time {
        self.taken_at
    }

    pub(crate) fn is_free(&self) -> bool {
        self.departure.is_none() && !self.serves_queue
    }

    /// Whether it takes packets from its transmit queue.
    #[inline]
    pub(crate) fn asks(&self) -> bool {
        self.is_free() || self.has_room
    }

    /// Sets whether it takes packets even with something in service.
    pub(crate) fn set_room(&mut self, has_room: bool) {
        self.has_room = has_room;
    }

    /// Loads the packet that the transmit queue returned, if any; returns whether there is a packet in service now.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        departure: Option<impl Into<DequeuedPacket>>,
        phy: &BssTiming,
        now: Time,
    ) -> bool {
        let Some(departure) = departure else {
            self.departure = None;
            return false;
        };
        let departure = self.departure.insert(departure.into());
        self.link = LinkId::of(self.role.is_ap, departure.station);
        self.psdu_bytes = phy.psdu_bytes(departure.packet.ip_bytes());
        self.taken_at = now;
        self.cost = Cost::default();
        self.before_last = Cost::default();
        self.attempts = 0;
        self.short_retries = 0;
        self.long_retries = 0;
        self.delivered = false;
        true
    }

    /// Puts a link queue in service.
    pub(crate) fn serve_queue(&mut self, link: LinkId, now: Time) {
        self.departure = None;
        self.taken_at = now;
        self.cost = Cost::default();
        self.serves_queue = true;
        self.link = link;
    }

    /// Releases the link queue in service.
    pub(crate) fn release(&mut self) {
        self.serves_queue = false;
    }

    pub(crate) fn serves_queue(&self) -> bool {
        self.serves_queue
    }

    /// Sets the PPDU of the link queue in service.
    pub(crate) fn set_ppdu(&mut self, ppdu: Ppdu) {
        self.ppdu = ppdu;
    }

    /// The PPDU of the link queue in service.
    pub(crate) fn ppdu(&self) -> &Ppdu {
        &self.ppdu
    }

    /// What is transmitted next: the packet in service, or the formed PPDU of the link queue.
    #[inline(always)] // into the usual exchange
    pub(crate) fn next_ppdu(&self, on_air: &OnAir) -> Ppdu {
        if self.serves_queue { self.ppdu } else { Ppdu::of_frame(on_air, self.psdu_bytes) }
    }

    /// Bytes of the PSDU of the packet in service.
    pub(crate) fn psdu_bytes(&self) -> u32 {
        self.psdu_bytes
    }

    /// Mode of the last transmission.
    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Gives the transmission just counted another mode.
    pub(crate) fn set_mode(&mut self, mode: &Mode) {
        self.mode = *mode;
    }

    /// The packet in service, while the node transmits or waits for the outcome.
    pub(crate) fn departure(&self) -> &DequeuedPacket {
        self.departure.as_ref().expect("a packet is in service until it is acknowledged or given up")
    }

    /// The packet in service, if there is one that has not reached its receiver.
    pub(crate) fn under_way(&self) -> Option<&DequeuedPacket> {
        self.departure.as_ref().filter(|_| !self.delivered)
    }

    /// The link that the packet, or the link queue, in service crosses.
    pub(crate) fn link(&self) -> LinkId {
        self.link
    }

    /// Number of transmissions of the packet in service.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Counts a transmission in `mode` that occupies the medium for `airtime`.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, mode: &Mode, airtime: Time) {
        self.attempts += 1;
        self.mode = *mode;
        self.cost.airtime += airtime;
    }

    /// Adds time for which the transmission just counted occupies the medium, where that is known only later.
    pub(crate) fn occupy(&mut self, airtime: Time) {
        self.cost.airtime += airtime;
    }

    /// Records that the transmission just counted is the PPDU of the link queue, which began at `began`. Returns
    /// its cost, and the time in service until its end, counted from the last outcome if there was one.
    pub(crate) fn attempt_ppdu(&mut self, began: Time) -> (Cost, Time) {
        self.mode = self.ppdu.mode; // it may have been formed before the link's mode has changed
        self.last = std::mem::take(&mut self.cost);
        let until = began + self.last.airtime;
        (self.last, until - std::mem::replace(&mut self.taken_at, until))
    }

    /// Sets for how long the PPDU just counted occupies the medium, where that is known only later.
    pub(crate) fn occupy_ppdu(&mut self, airtime: Time) {
        let before = std::mem::replace(&mut self.last.airtime, airtime);
        self.taken_at = self.taken_at + airtime - before;
    }

    /// Counts a wait before a transmission.
    pub(crate) fn wait(&mut self, overhead: Time) {
        self.cost.overhead += overhead;
    }

    /// Ends the last transmission of the packet, whose costs are all counted; those of a link queue are known already.
    pub(crate) fn close_attempt(&mut self) {
        if self.serves_queue {
            return;
        }
        let Cost { airtime, overhead } = self.cost;
        let before = std::mem::replace(&mut self.before_last, self.cost);
        self.last = Cost { airtime: airtime - before.airtime, overhead: overhead - before.overhead };
    }

    /// Cost of the last transmission of a link queue or, since [`Edcaf::close_attempt`], of a packet.
    pub(crate) fn last_cost(&self) -> Cost {
        self.last
    }

    /// Cost of the transmissions of the packet in service so far.
    pub(crate) fn cost(&self) -> Cost {
        self.cost
    }

    /// Records that the receiver has decoded the packet in service; returns whether it is the first copy.
    #[inline(always)]
    pub(crate) fn deliver(&mut self) -> bool {
        !std::mem::replace(&mut self.delivered, true)
    }

    /// Counts the timeout after a failed exchange.
    #[inline(always)]
    pub(crate) fn time_out(&mut self, timeout: Time) {
        if self.serves_queue {
            self.last.overhead += timeout;
            self.taken_at += timeout;
        } else {
            self.cost.overhead += timeout;
        }
    }

    /// Counts a failure of what is in service, with a CTS or none, by the node's counters: of a single frame 10.3.4.4, of a
    /// link queue the exchanges in a row.
    #[inline(always)]
    pub(crate) fn fail(&mut self, has_cts: bool, mac: &Mac) -> Failure {
        let is_lost = if self.serves_queue {
            self.failed_exchanges += 1;
            let resets_window = self.failed_exchanges >= mac.retry_limit_short;
            if resets_window {
                self.failed_exchanges = 0;
            }
            return Failure { resets_window, is_lost: false, is_reported: false };
        } else if has_cts {
            self.short_retries = 0;
            self.long_retries += 1;
            self.long_retries >= mac.retry_limit_long
        } else {
            self.short_retries += 1;
            self.short_retries >= mac.retry_limit_short
        };
        Failure { resets_window: is_lost, is_lost, is_reported: false }
    }

    /// Whether another failure, with a CTS or none, is the last of the single frame in service.
    pub(crate) fn is_last_attempt(&self, has_cts: bool, mac: &Mac) -> bool {
        match has_cts {
            true => self.long_retries + 1 >= mac.retry_limit_long,
            false => self.short_retries + 1 >= mac.retry_limit_short,
        }
    }

    /// Resets the count of failed exchanges after a success, or after the loss of a single frame.
    pub(crate) fn forget_failures(&mut self) {
        self.failed_exchanges = 0;
    }

    /// The end of the packet's service.
    pub(crate) fn exchange(&self, outcome: Outcome, now: Time) -> Exchange<'_> {
        let departure = self.departure();
        let Cost { airtime, overhead } = self.cost;
        Exchange {
            outcome,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: self.role.ac,
            rate: self.mode.rate,
            attempts: self.attempts.min(u32::from(u8::MAX)) as u8,
            airtime,
            overhead,
            service: now - self.taken_at,
        }
    }
}
