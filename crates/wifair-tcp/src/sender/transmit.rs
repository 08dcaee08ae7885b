//! The packets that a sender sends, in order of precedence: SYN or a bare ACK, the repair of a hole, retransmissions after a
//! timeout, new data, a FIN.

use wifair_core::{Ecn, Packet, SackBlocks, TcpFlags, Time};

use super::{Pending, Sender, SenderState};
use crate::ecn::SETUP_SYN;
use crate::marking::Kind;
use crate::seq;
use crate::spec::Handshake;

/// Flags of a segment.
fn ack_or_fin(fin: bool) -> TcpFlags {
    if fin { TcpFlags::ACK | TcpFlags::FIN } else { TcpFlags::ACK }
}

impl Sender {
    /// Returns the next packet to send, if there is one now.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<&Packet> {
        let payload = self.window.mss;
        if !self.ordinary || self.unsent <= u64::from(payload) {
            return self.poll_generally(now);
        }
        if self.sent_bytes() + payload > self.window.cwnd.min(self.peer_window) {
            return None;
        }
        Some(self.send_full_segment(now))
    }

    /// Like `send_new_data`, for a full segment without marked priority. The timer runs, since data is outstanding.
    #[inline(always)]
    fn send_full_segment(&mut self, now: Time) -> &Packet {
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

    #[inline(never)]
    fn poll_generally(&mut self, now: Time) -> Option<&Packet> {
        let payload = self.window.mss;
        if self.ordinary_by_rack && self.unsent > u64::from(payload) {
            if self.sent_bytes() + payload > self.window.cwnd.min(self.peer_window) {
                return None;
            }
            self.send_full_segment(now);
            self.note_segment(false, now);
            return Some(&self.packet);
        }
        let packet = self.poll_all(now);
        self.review();
        self.packet = packet?;
        if let Some(throttle) = &mut self.throttle {
            throttle.count(&self.packet);
        }
        Some(&self.packet)
    }

    /// Returns the next packet of any kind.
    fn poll_all(&mut self, now: Time) -> Option<Packet> {
        if self.pending != Pending::Nothing {
            return Some(self.transmit_pending(now));
        }
        if !matches!(self.state, SenderState::Established | SenderState::FinWait1) {
            return None;
        }
        if self.throttle.is_some() { self.poll_throttled(now) } else { self.poll_data(now) }
    }

    /// Returns the next packet with data or a FIN.
    pub(super) fn poll_data(&mut self, now: Time) -> Option<Packet> {
        if self.rack.is_some() {
            return self.transmit_by_rack(now);
        }
        if self.repair {
            return Some(self.transmit_repair(now));
        }
        if self.recovery.is_selective() {
            return self.transmit_by_scoreboard(now);
        }
        if self.nxt != self.max {
            return self.transmit_again(now);
        }
        if self.unsent > 0 {
            return self.transmit_new_data(now);
        }
        self.transmit_fin(now)
    }

    /// Retransmits the first unacknowledged segment now: fast retransmit or a partial ACK.
    #[cold]
    fn transmit_repair(&mut self, now: Time) -> Packet {
        self.repair = false;
        let (payload, fin) = self.sent_segment_at(self.una);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.start_recovery(self.una.wrapping_add(payload + u32::from(fin)));
            scoreboard.set_pipe(self.una, self.max, self.window.mss);
        }
        self.retransmit(self.una, payload, fin, now)
    }

    /// After a timeout: retransmits the next segment that was outstanding then, as the window allows.
    #[cold]
    fn transmit_again(&mut self, now: Time) -> Option<Packet> {
        let (payload, fin) = self.sent_segment_at(self.nxt);
        let held = self.scoreboard.as_ref().map_or(0, |scoreboard| scoreboard.sacked_before(self.nxt));
        let flight_after = self.flight_bytes() - held + payload;
        if flight_after > self.window.allowance().min(self.peer_window) {
            return None;
        }
        let at = self.nxt;
        self.nxt = at.wrapping_add(payload + u32::from(fin));
        if let Some(scoreboard) = &self.scoreboard {
            self.nxt = scoreboard.skip(self.nxt);
        }
        Some(self.retransmit(at, payload, fin, now))
    }

    /// During recovery by RFC 6675: sends the segment chosen by NextSeg() if the window has room for one in addition to the
    /// pipe (section 5, step C).
    #[cold]
    fn transmit_by_scoreboard(&mut self, now: Time) -> Option<Packet> {
        let (una, max, mss) = (self.una, self.max, self.window.mss);
        let window = self.window.allowance();
        let point = self.recovery.point();
        let scoreboard = self.scoreboard.as_mut()?;
        if window >= scoreboard.pipe() + mss {
            if let Some((at, end)) = scoreboard.next_lost(una, mss) {
                return Some(self.transmit_hole(at, end, true, now));
            }
            if let Some(packet) = self.transmit_new_data_in_recovery(now) {
                return Some(packet);
            }
            let scoreboard = self.scoreboard.as_mut()?;
            if let Some((at, end)) = scoreboard.next_unsacked(una) {
                return Some(self.transmit_hole(at, end, true, now));
            }
            if let Some((at, end)) = scoreboard.rescue(una, max, mss, point, self.fin_sent) {
                return Some(self.transmit_hole(at, end, false, now));
            }
        }
        if self.unsent == 0 { self.transmit_fin(now) } else { None }
    }

    /// Retransmits the segment at the start of the hole `[at, end)`.
    fn transmit_hole(&mut self, at: u32, end: u32, counts: bool, now: Time) -> Packet {
        let room = end.wrapping_sub(at);
        let (payload, fin) = self.sent_segment_at(at);
        let (payload, fin) = (payload.min(room), fin && payload < room);
        let octets = payload + u32::from(fin);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.sent(octets);
            if counts {
                scoreboard.sent_again(at.wrapping_add(octets));
            }
        }
        self.retransmit(at, payload, fin, now)
    }

    /// NextSeg(), rule 2.
    fn transmit_new_data_in_recovery(&mut self, now: Time) -> Option<Packet> {
        let payload = u64::from(self.window.mss).min(self.unsent) as u32;
        let flight_after = self.flight_bytes() + payload;
        if payload == 0 || flight_after > self.peer_window {
            return None;
        }
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.sent(payload);
        }
        Some(self.transmit_unsent(payload, flight_after, now))
    }

    pub(super) fn transmit_new_data(&mut self, now: Time) -> Option<Packet> {
        if self.una == self.max {
            self.restart_after_idleness(now);
        }
        if self.ecn.paused {
            return None;
        }
        let payload = u64::from(self.window.mss).min(self.unsent) as u32;
        let flight_after = self.flight_bytes() + payload;
        if flight_after > self.peer_window {
            return None;
        }
        let allowance = self.window.allowance();
        if flight_after > allowance {
            if flight_after - allowance > self.bytes_beyond_window() {
                return None;
            }
            self.recovery.sent_beyond_window(payload);
        }
        Some(self.transmit_unsent(payload, flight_after, now))
    }

    /// Sets the restart window after more than a timeout without sending (RFC 5681, 4.1).
    fn restart_after_idleness(&mut self, now: Time) {
        if now.saturating_sub(self.last_sent_at) > self.rto.timeout() && !self.control.needs_rate_samples() {
            self.window.cwnd = self.window.cwnd.min(self.spec.initial_window_bytes());
            self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
        }
    }

    /// Bytes that may be outstanding beyond the window: limited transmit (RFC 3042; with a scoreboard RFC 6675, section 5, step
    /// 3), and SACKed data during a repair.
    fn bytes_beyond_window(&self) -> u32 {
        let in_repair = || seq::before(self.una, self.recovery.point());
        if let Some(rack) = &self.rack {
            return if self.spec.limited_transmit || in_repair() { rack.segments.sacked_bytes() } else { 0 };
        }
        match &self.scoreboard {
            None if self.spec.limited_transmit => self.recovery.limited_transmit_bytes(self.window.mss),
            Some(scoreboard) if self.spec.limited_transmit || in_repair() => {
                scoreboard.sacked_before(self.nxt)
            }
            _ => 0,
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
        self.note_segment(fin, now);
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
    pub(super) fn transmit_fin(&mut self, now: Time) -> Option<Packet> {
        if !self.sends_fin() || self.fin_sent || self.flight_bytes() >= self.peer_window {
            return None;
        }
        let at = self.nxt;
        self.advance(0, true);
        if !self.timing {
            self.time_segment(now);
        }
        self.stats.control_packets_sent += 1;
        self.note_segment(true, now);
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

    /// Payload and FIN of the segment that starts at `at` and was sent before, without what the receiver is known to hold.
    fn sent_segment_at(&self, at: u32) -> (u32, bool) {
        let data = self.max.wrapping_sub(at) - u32::from(self.fin_sent);
        let mut payload = data.min(self.window.mss);
        if let Some(scoreboard) = &self.scoreboard {
            payload = payload.min(scoreboard.hole_end(at, self.max).wrapping_sub(at));
        }
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
    fn transmit_pending(&mut self, now: Time) -> Packet {
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
