//! The packets that a sender sends: new data, retransmissions, SYN, bare ACKs and FIN.

use wifair_core::{Ecn, Packet, SackBlocks, TcpFlags, Time};

use super::state::SenderState;
use super::tcb::{Pending, Tcb};
use crate::ecn::SETUP_SYN;
use crate::marking::Kind;
use crate::spec::Handshake;

/// Flags of a segment.
fn ack_or_fin(fin: bool) -> TcpFlags {
    if fin { TcpFlags::ACK | TcpFlags::FIN } else { TcpFlags::ACK }
}

impl Tcb {
    /// Like `send_new_data`, for a full segment without marked priority. The timer runs, since data is outstanding.
    #[inline(always)]
    pub(super) fn send_full_segment(&mut self, now: Time) -> &Packet {
        let payload = self.window.mss;
        if self.unsent != u64::MAX {
            self.unsent -= u64::from(payload);
        }
        self.packet.seq = self.nxt;
        self.packet.ack = self.rcv_nxt;
        self.packet.payload_bytes = payload;
        self.packet.flags = TcpFlags::ACK;
        self.packet.ds_field = self.ds_field;
        self.max = self.max.wrapping_add(payload);
        self.nxt = self.max;
        if !self.timing {
            self.time_segment(now);
        }
        self.stats.segments_sent += 1;
        self.stats.payload_bytes_sent += u64::from(payload);
        self.last_sent_at = now;
        &self.packet
    }

    /// After a timeout: retransmits the next segment that was outstanding then, up to `hole_end`, as the window allows.
    /// `sacked`: bytes before it that the receiver holds.
    #[cold]
    pub(super) fn transmit_again(&mut self, hole_end: u32, sacked: u32, now: Time) -> Option<Packet> {
        let (payload, fin) = self.sent_segment_at(self.nxt, hole_end);
        let flight_after = self.sent_bytes() - sacked + payload;
        if flight_after > self.window.allowance().min(self.peer_window) {
            return None;
        }
        let at = self.nxt;
        self.nxt = at.wrapping_add(payload + u32::from(fin));
        Some(self.retransmit(at, payload, fin, now))
    }

    /// Sends new data, with `lost` bytes outstanding that are found to be lost. `beyond_window`: bytes that may be outstanding
    /// beyond the window: limited transmit (RFC 3042; with SACK RFC 6675, section 5, step 3), and SACKed data during a repair.
    pub(super) fn transmit_new_data(
        &mut self,
        lost: u32,
        beyond_window: impl FnOnce(&Tcb) -> u32,
        now: Time,
    ) -> Option<Packet> {
        if self.una == self.max {
            self.restart_after_idleness(now);
        }
        if self.ecn.paused {
            return None;
        }
        let payload = u64::from(self.window.mss).min(self.unsent) as u32;
        let flight_after = self.sent_bytes() - lost + payload;
        if flight_after > self.peer_window {
            return None;
        }
        let allowance = self.window.allowance();
        if flight_after > allowance {
            if flight_after - allowance > beyond_window(self) {
                return None;
            }
            self.recovery.sent_beyond_window(payload);
        }
        Some(self.transmit_unsent(payload, flight_after, now))
    }

    /// Sets the restart window after more than a timeout without sending (RFC 5681, 4.1).
    pub(super) fn restart_after_idleness(&mut self, now: Time) {
        if now.saturating_sub(self.last_sent_at) > self.rto.timeout() && !self.control.needs_rate_samples() {
            self.window.cwnd = self.window.cwnd.min(self.spec.initial_window_bytes());
            self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
        }
    }

    /// Sends `payload` new bytes, with the FIN on the last of them if the receiver's window has room for its sequence number.
    pub(super) fn transmit_unsent(&mut self, payload: u32, flight_after: u32, now: Time) -> Packet {
        let last = self.unsent == u64::from(payload);
        let fin = last && self.sends_fin() && flight_after < self.peer_window;
        let marks = self.marks_of_new_data();
        self.send_new_data(payload, fin, marks, now)
    }

    fn send_new_data(&mut self, payload: u32, fin: bool, marks: (TcpFlags, u8), now: Time) -> Packet {
        if self.unsent != u64::MAX {
            self.unsent -= u64::from(payload);
        }
        let at = self.nxt;
        self.advance(payload, fin);
        if !self.timing {
            self.time_segment(now);
        }
        self.stats.segments_sent += 1;
        self.stats.payload_bytes_sent += u64::from(payload);
        self.note_sent(now);
        self.packet(at, payload, ack_or_fin(fin) | marks.0, marks.1)
    }

    /// Flag and DS field of new data: its priority, and ECN, which only new data may use (RFC 3168, 6.1.5). The first segment
    /// after a reduction carries CWR (6.1.2).
    fn marks_of_new_data(&mut self) -> (TcpFlags, u8) {
        let ds_field = self.ds_field(Kind::NewData);
        if !self.ecn.on {
            return (TcpFlags::NONE, ds_field);
        }
        let reduced = std::mem::replace(&mut self.ecn.cwr_due, false);
        (if reduced { TcpFlags::CWR } else { TcpFlags::NONE }, ds_field | Ecn::Ect0 as u8)
    }

    /// Sends a FIN without data. It is not data: the congestion window does not limit it.
    #[cold]
    pub(super) fn transmit_fin(&mut self, lost: u32, now: Time) -> Option<Packet> {
        if !self.sends_fin() || self.fin_sent || self.sent_bytes() - lost >= self.peer_window {
            return None;
        }
        let at = self.nxt;
        self.advance(0, true);
        if !self.timing {
            self.time_segment(now);
        }
        self.stats.control_packets_sent += 1;
        self.note_sent(now);
        Some(self.packet(at, 0, ack_or_fin(true), self.ds_field(Kind::Control)))
    }

    fn sends_fin(&self) -> bool {
        self.closing && self.spec.handshake == Handshake::Real
    }

    /// Advances past a new segment.
    fn advance(&mut self, payload: u32, fin: bool) {
        self.max = self.max.wrapping_add(payload + u32::from(fin));
        self.nxt = self.max;
        if fin {
            self.fin_sent = true;
            self.state = SenderState::FinWait1;
        }
    }

    fn time_segment(&mut self, now: Time) {
        self.timing = true;
        self.timed_end = self.nxt;
        self.timed_at = now;
    }

    /// Payload and FIN of the segment that starts at `at` and was sent before, up to `hole_end`, from where the receiver is
    /// known to hold data.
    pub(super) fn sent_segment_at(&self, at: u32, hole_end: u32) -> (u32, bool) {
        let data = self.max.wrapping_sub(at) - u32::from(self.fin_sent);
        let payload = data.min(self.window.mss).min(hole_end.wrapping_sub(at));
        (payload, self.fin_sent && payload == data)
    }

    /// Retransmits a segment, which can then no longer be timed (Karn's algorithm; RFC 6298, 3). Any retransmission ends the
    /// timing, as in BSD: the ACK of a later segment would have waited for the repair.
    pub(super) fn retransmit(&mut self, at: u32, payload: u32, fin: bool, now: Time) -> Packet {
        self.timing = false;
        if payload > 0 {
            self.stats.segments_sent += 1;
            self.stats.payload_bytes_sent += u64::from(payload);
            self.stats.segments_retransmitted += 1;
            self.stats.payload_bytes_retransmitted += u64::from(payload);
        } else {
            self.stats.control_packets_sent += 1;
        }
        self.note_sent(now);
        self.packet(at, payload, ack_or_fin(fin), self.ds_field(Kind::Retransmission))
    }

    /// The DS field: the connection's code point, or the packet's priority as one.
    fn ds_field(&self, kind: Kind) -> u8 {
        let Some(marking) = &self.spec.priority_marking else { return self.spec.dscp << 2 };
        let recovery = self.recovery.is_active().then_some(self.window.ssthresh);
        marking.ds_field(kind, self.window.allowance(), recovery, self.window.mss)
    }

    /// Starts the timer, if it is not running, when something that will be acknowledged is sent (RFC 6298, 5.1).
    fn note_sent(&mut self, now: Time) {
        if self.timer == Time::MAX {
            self.timer = now + self.rto.timeout();
        }
        self.last_sent_at = now;
    }

    #[cold]
    pub(super) fn transmit_pending(&mut self, now: Time) -> Packet {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        self.stats.control_packets_sent += 1;
        if pending == Pending::Ack {
            return self.packet(self.max, 0, TcpFlags::ACK, self.spec.dscp << 2);
        }
        let iss = self.spec.initial_sequence;
        self.max = iss.wrapping_add(1);
        self.nxt = self.max;
        if !self.timed_out {
            self.time_segment(now);
        }
        self.note_sent(now);
        let ds_field = self.ds_field(Kind::Control);
        if self.spec.handshake == Handshake::Ns2 {
            return self.packet(iss, 0, TcpFlags::NONE, ds_field);
        }
        let setup = if self.spec.ecn { SETUP_SYN } else { TcpFlags::NONE };
        Packet {
            window_bytes: self.spec.syn_window_bytes(),
            sack: if self.spec.sack.is_some() { SackBlocks::SYN_PERMITTED } else { SackBlocks::NONE },
            ..self.packet(iss, 0, TcpFlags::SYN | setup, ds_field)
        }
    }

    fn packet(&self, seq: u32, payload_bytes: u32, flags: TcpFlags, ds_field: u8) -> Packet {
        let after_syn = self.packet.flags.contains(TcpFlags::SYN);
        let window_bytes =
            if after_syn { self.spec.receiver_window_bytes() } else { self.packet.window_bytes };
        Packet {
            seq,
            ack: self.rcv_nxt, // 0 on a SYN
            window_bytes,
            payload_bytes,
            flags,
            ds_field,
            sack: SackBlocks::NONE,
            ..self.packet
        }
    }
}
