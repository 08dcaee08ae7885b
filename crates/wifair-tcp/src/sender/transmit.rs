//! What a sender sends, and in which order: SYN or a bare ACK, the repair of a hole, what a timeout took back, new data,
//! a FIN.

use wifair_core::{Ecn, Packet, SackBlocks, TcpFlags, Time};

use super::{Pending, Sender, SenderState};
use crate::congestion::CongestionControl;
use crate::ecn::SETUP_SYN;
use crate::marking::Kind;
use crate::spec::Handshake;

impl Sender {
    /// The next packet to send, if there is one now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.pending != Pending::Nothing {
            return Some(self.transmit_pending(now));
        }
        if !matches!(self.state, SenderState::Established | SenderState::FinWait1) {
            return None;
        }
        if self.repair {
            self.repair = false;
            let (payload, fin) = self.sent_segment_at(self.una);
            return Some(self.retransmit(self.una, payload, fin, now));
        }
        if self.nxt != self.max {
            let (payload, fin) = self.sent_segment_at(self.nxt);
            let fits =
                self.flight_bytes() + payload <= self.control.allowance(&self.window).min(self.peer_window);
            return fits.then(|| {
                let at = self.nxt;
                self.nxt = self.nxt.wrapping_add(payload + u32::from(fin));
                self.retransmit(at, payload, fin, now)
            });
        }
        if self.unsent > 0 {
            return self.transmit_new_data(now);
        }
        self.transmit_fin(now)
    }

    fn transmit_new_data(&mut self, now: Time) -> Option<Packet> {
        if self.una == self.max && now.saturating_sub(self.last_sent_at) > self.rto.timeout() {
            // Idle for more than a timeout: the restart window (RFC 5681, 4.1).
            self.window.cwnd = self.window.cwnd.min(self.spec.initial_window_bytes());
            self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
        }
        if self.ecn.paused {
            return None;
        }
        let payload = u64::from(self.window.mss).min(self.unsent) as u32;
        let flight_after = self.flight_bytes() + payload;
        if flight_after > self.peer_window {
            return None;
        }
        let allowance = self.control.allowance(&self.window);
        if flight_after > allowance {
            let extra = self.recovery.limited_transmit_bytes(self.window.mss);
            if !self.spec.limited_transmit || flight_after > allowance + extra {
                return None;
            }
            self.recovery.sent_beyond_window(payload);
        }
        if self.unsent != u64::MAX {
            self.unsent -= u64::from(payload);
        }
        // The FIN rides on the last segment if the receiver's window has room for its sequence number.
        let fin = self.unsent == 0 && self.sends_fin() && flight_after < self.peer_window;
        let at = self.nxt;
        self.advance(payload, fin);
        if !self.timing {
            self.time_segment(now);
        }
        let mut packet = self.transmit(Kind::NewData, at, payload, fin, now);
        if self.ecn.on {
            // RFC 3168, 6.1.2 and 6.1.5: new data alone is ECN-capable, and the first of it after a reduction says so.
            packet = packet.with_ecn(Ecn::Ect0);
            if std::mem::replace(&mut self.ecn.cwr_due, false) {
                packet.flags |= TcpFlags::CWR;
            }
        }
        Some(packet)
    }

    /// A FIN by itself. It is not data: the congestion window does not hold it back.
    fn transmit_fin(&mut self, now: Time) -> Option<Packet> {
        if !self.sends_fin() || self.fin_sent || self.flight_bytes() >= self.peer_window {
            return None;
        }
        let at = self.nxt;
        self.advance(0, true);
        if !self.timing {
            self.time_segment(now);
        }
        Some(self.transmit(Kind::Control, at, 0, true, now))
    }

    fn sends_fin(&self) -> bool {
        self.closing && self.spec.handshake == Handshake::Real
    }

    /// Moves past a segment that was never sent before.
    #[inline]
    fn advance(&mut self, payload: u32, fin: bool) {
        self.max = self.max.wrapping_add(payload + u32::from(fin));
        self.nxt = self.max;
        if fin {
            self.fin_sent = true;
            self.state = SenderState::FinWait1;
        }
    }

    #[inline]
    fn time_segment(&mut self, now: Time) {
        self.timing = true;
        self.timed_end = self.nxt;
        self.timed_at = now;
    }

    /// Payload and FIN of the segment that starts at `at`, which was sent before.
    fn sent_segment_at(&self, at: u32) -> (u32, bool) {
        let data = self.max.wrapping_sub(at) - u32::from(self.fin_sent);
        let payload = data.min(self.window.mss);
        (payload, self.fin_sent && payload == data)
    }

    /// Sends again what was sent before, so it can no longer be timed (Karn's algorithm; RFC 6298, 3). The timing ends
    /// with any retransmission, as in BSD: the ACK of a later segment would have waited for the repair.
    fn retransmit(&mut self, at: u32, payload: u32, fin: bool, now: Time) -> Packet {
        self.timing = false;
        if payload > 0 {
            self.stats.segments_retransmitted += 1;
            self.stats.payload_bytes_retransmitted += u64::from(payload);
        }
        self.transmit(Kind::Retransmission, at, payload, fin, now)
    }

    #[inline]
    fn transmit(&mut self, kind: Kind, at: u32, payload: u32, fin: bool, now: Time) -> Packet {
        if payload > 0 {
            self.stats.segments_sent += 1;
            self.stats.payload_bytes_sent += u64::from(payload);
        } else {
            self.stats.control_packets_sent += 1;
        }
        self.start_timer(now);
        self.last_sent_at = now;
        let flags = if fin { TcpFlags::ACK | TcpFlags::FIN } else { TcpFlags::ACK };
        Packet { ds_field: self.ds_field(kind), ..self.packet(at, payload, flags) }
    }

    #[inline]
    fn ds_field(&self, kind: Kind) -> u8 {
        let Some(marking) = &self.spec.priority_marking else { return 0 };
        let recovery = self.recovery.is_active().then_some(self.window.ssthresh);
        marking.ds_field(kind, self.control.allowance(&self.window), recovery, self.window.mss)
    }

    /// RFC 6298, 5.1.
    #[inline]
    fn start_timer(&mut self, now: Time) {
        if self.timer == Time::MAX {
            self.timer = now + self.rto.timeout();
        }
    }

    #[cold]
    fn transmit_pending(&mut self, now: Time) -> Packet {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        self.stats.control_packets_sent += 1;
        if pending == Pending::Ack {
            return self.packet(self.max, 0, TcpFlags::ACK);
        }
        let iss = self.spec.initial_sequence;
        self.max = iss.wrapping_add(1);
        self.nxt = self.max;
        if !self.timed_out {
            self.time_segment(now);
        }
        self.start_timer(now);
        self.last_sent_at = now;
        let setup = if self.spec.ecn { SETUP_SYN } else { TcpFlags::NONE };
        Packet { ds_field: self.ds_field(Kind::Control), ..self.packet(iss, 0, TcpFlags::SYN | setup) }
    }

    #[inline]
    fn packet(&self, seq: u32, payload: u32, flags: TcpFlags) -> Packet {
        Packet {
            tuple: self.tuple,
            seq,
            ack: if flags.contains(TcpFlags::ACK) { self.rcv_nxt } else { 0 },
            window_bytes: self.spec.receiver_window_bytes(),
            payload_bytes: payload,
            header_bytes: self.spec.header_bytes as u8,
            flags,
            ds_field: 0,
            sack: SackBlocks::NONE,
        }
    }
}
