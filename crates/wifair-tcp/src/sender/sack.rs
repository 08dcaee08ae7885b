//! Loss recovery by SACK (RFC 6675, `scoreboard.rs`): its ACKs and its choice of segments.

use wifair_core::{Packet, Time};

use super::tcb::Tcb;
use crate::scoreboard::Scoreboard;

impl Scoreboard {
    /// Handles an ACK (section 5).
    pub(super) fn on_ack(&mut self, tcb: &mut Tcb, packet: &Packet, may_grow: bool, now: Time) {
        if packet.ack != tcb.una {
            tcb.on_new_ack(packet.ack, packet.ack.wrapping_sub(tcb.una), 0, may_grow, now);
        }
        let news = self.update(packet, tcb.max);
        let mss = tcb.window.mss;
        if packet.sack.duplicate(packet.ack).is_some() {
            tcb.stats.duplicates_told += 1;
        }
        if tcb.nxt != tcb.max {
            tcb.nxt = self.skip(tcb.nxt); // after a timeout: SACKed data need not be sent again
        }
        if tcb.recovery.is_active() {
            self.set_pipe(tcb.una, tcb.max, mss);
        } else if news {
            let first_lost = self.is_first_lost(tcb.una, mss);
            let (reduces, known) = (tcb.loss_reduces(tcb.flight_at_loss()), tcb.ecn.reduced);
            let (window, control) = (&mut tcb.window, &mut tcb.control);
            if tcb.recovery.on_selective_news(tcb.una, tcb.max, reduces, first_lost, known, window, control) {
                self.start_recovery(tcb.una); // nothing yet: the repair may have to wait, and an ACK may overtake it
                tcb.start_fast_retransmit(now);
            }
        }
    }

    /// The next packet: the repair of the first hole, the segment that NextSeg() chooses, what was outstanding at a timeout,
    /// new data or a FIN.
    pub(super) fn next_packet(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        if tcb.repair {
            return Some(self.transmit_repair(tcb, now));
        }
        if tcb.recovery.is_selective() {
            return self.transmit_in_recovery(tcb, now);
        }
        if tcb.nxt != tcb.max {
            let packet =
                tcb.transmit_again(self.hole_end(tcb.nxt, tcb.max), self.sacked_before(tcb.nxt), now)?;
            tcb.nxt = self.skip(tcb.nxt);
            return Some(packet);
        }
        if tcb.unsent == 0 {
            return tcb.transmit_fin(0, now);
        }
        tcb.transmit_new_data(0, |tcb| self.bytes_beyond_window(tcb), now)
    }

    /// Bytes that may be outstanding beyond the window: limited transmit (section 5, step 3), and SACKed data during a repair.
    pub(super) fn bytes_beyond_window(&self, tcb: &Tcb) -> u32 {
        match tcb.spec.limited_transmit || tcb.is_repairing() {
            true => self.sacked_before(tcb.nxt),
            false => 0,
        }
    }

    /// Retransmits the first unacknowledged segment at the start of a recovery.
    #[cold]
    fn transmit_repair(&mut self, tcb: &mut Tcb, now: Time) -> Packet {
        tcb.repair = false;
        let (payload, fin) = tcb.sent_segment_at(tcb.una, self.hole_end(tcb.una, tcb.max));
        self.start_recovery(tcb.una.wrapping_add(payload + u32::from(fin)));
        self.set_pipe(tcb.una, tcb.max, tcb.window.mss);
        tcb.retransmit(tcb.una, payload, fin, now)
    }

    /// Sends the segment chosen by NextSeg() if the window has room for one in addition to the pipe (section 5, step C).
    #[cold]
    fn transmit_in_recovery(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        let (una, max, mss) = (tcb.una, tcb.max, tcb.window.mss);
        if tcb.window.allowance() >= self.pipe() + mss {
            if let Some((at, end)) = self.next_lost(una, mss) {
                return Some(self.transmit_hole(tcb, at, end, true, now));
            }
            if let Some(packet) = self.transmit_new_data(tcb, now) {
                return Some(packet);
            }
            if let Some((at, end)) = self.next_unsacked(una) {
                return Some(self.transmit_hole(tcb, at, end, true, now));
            }
            if let Some((at, end)) = self.rescue(una, max, mss, tcb.recovery.point(), tcb.fin_sent) {
                return Some(self.transmit_hole(tcb, at, end, false, now));
            }
        }
        if tcb.unsent == 0 { tcb.transmit_fin(0, now) } else { None }
    }

    /// Retransmits the segment at the start of the hole `[at, end)`.
    fn transmit_hole(&mut self, tcb: &mut Tcb, at: u32, end: u32, counts: bool, now: Time) -> Packet {
        let room = end.wrapping_sub(at);
        let (payload, fin) = tcb.sent_segment_at(at, self.hole_end(at, tcb.max));
        let (payload, fin) = (payload.min(room), fin && payload < room);
        let octets = payload + u32::from(fin);
        self.sent(octets);
        if counts {
            self.sent_again(at.wrapping_add(octets));
        }
        tcb.retransmit(at, payload, fin, now)
    }

    /// NextSeg(), rule 2.
    fn transmit_new_data(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        let payload = u64::from(tcb.window.mss).min(tcb.unsent) as u32;
        let flight_after = tcb.sent_bytes() + payload;
        if payload == 0 || flight_after > tcb.peer_window {
            return None;
        }
        self.sent(payload);
        Some(tcb.transmit_unsent(payload, flight_after, now))
    }
}
