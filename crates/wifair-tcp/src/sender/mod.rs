//! The state of a sender, its calls, and what arriving packets and the timer do to it. What it sends: `transmit.rs`.

mod transmit;

use std::sync::Arc;

use wifair_core::{FiveTuple, Packet, Rate, TcpFlags, Time};

use crate::congestion::{CongestionControl, Control, Window};
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::seq;
use crate::spec::{Handshake, TcpSpec};
use crate::stats::SenderStats;

/// Where a sender stands; the names of RFC 9293, 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Made, not opened yet.
    Idle,
    /// SYN-SENT.
    SynSent,
    /// ESTABLISHED.
    Established,
    /// FIN-WAIT-1: the FIN is sent and not acknowledged.
    FinWait1,
    /// FIN-WAIT-2: the FIN is acknowledged, the receiver's is missing.
    FinWait2,
    /// TIME-WAIT: done; a repeated FIN of the receiver is still answered. Its end is the caller's: the sender may be
    /// dropped once the receiver is closed too.
    TimeWait,
    /// Done, without handshake.
    Closed,
}

/// A packet that goes out before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nothing,
    Syn,
    Ack,
}

/// The end of a connection that opens it and sends data.
///
/// See the crate's documentation for the contract between calls.
#[derive(Clone, Debug)]
pub struct Sender {
    spec: Arc<TcpSpec>,
    tuple: FiveTuple,
    /// First unacknowledged sequence number (SND.UNA).
    una: u32,
    /// Next to send (SND.NXT); a timeout takes it back to `una`.
    nxt: u32,
    /// One past the highest that was ever sent.
    max: u32,
    /// Next expected from the receiver (RCV.NXT).
    rcv_nxt: u32,
    peer_window: u32,
    /// Bytes written and never sent; `u64::MAX` without limit.
    unsent: u64,
    window: Window,
    control: Control,
    recovery: Recovery,
    rto: Rto,
    timer: Time,
    /// When the congestion control asks for the rate of the link.
    poll_at: Time,
    /// The segment being timed ends before this number; it was sent at `timed_at`.
    timed_end: u32,
    timed_at: Time,
    last_sent_at: Time,
    state: SenderState,
    pending: Pending,
    timing: bool,
    closing: bool,
    fin_sent: bool,
    peer_closed: bool,
    /// The first unacknowledged segment is to be sent again at once (fast retransmit, partial ACK).
    repair: bool,
    /// The timer has already expired for the first unacknowledged segment.
    timed_out: bool,
    stats: SenderStats,
}

impl Sender {
    /// A sender whose data travels along `tuple`. `spec` is taken as valid ([`TcpSpec::validate`]).
    pub fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Sender {
        let control = Control::new(&spec.congestion_control);
        let iss = spec.initial_sequence;
        let counted = spec.counted_bytes();
        Sender {
            tuple,
            una: iss,
            nxt: iss,
            max: iss,
            rcv_nxt: 0,
            peer_window: 0,
            unsent: 0,
            window: Window {
                cwnd: spec.initial_window_bytes(),
                ssthresh: spec.initial_ssthresh_bytes(),
                mss: u32::from(spec.mss_bytes),
                credit: 0,
                slow_start_limit: counted.slow_start,
                avoidance_limit: counted.avoidance,
            },
            recovery: Recovery::new(control.recovery(), iss),
            control,
            rto: Rto::new(&spec.rto),
            timer: Time::MAX,
            poll_at: Time::MAX,
            timed_end: 0,
            timed_at: Time::ZERO,
            last_sent_at: Time::ZERO,
            state: SenderState::Idle,
            pending: Pending::Nothing,
            timing: false,
            closing: false,
            fin_sent: false,
            peer_closed: false,
            repair: false,
            timed_out: false,
            stats: SenderStats::default(),
            spec: Arc::clone(spec),
        }
    }

    /// Makes this the sender of another connection, not opened yet, as by [`Sender::new`] with the same parameters. The
    /// counters go on.
    pub fn renew(&mut self, tuple: FiveTuple) {
        let stats = std::mem::take(&mut self.stats);
        *self = Sender { stats, ..Sender::new(&self.spec, tuple) };
    }

    /// Opens the connection: sends a SYN, or is established at once without handshake. Once only; later calls do nothing.
    pub fn open(&mut self, now: Time) {
        if self.state != SenderState::Idle {
            return;
        }
        match self.spec.handshake {
            Handshake::Real => {
                self.state = SenderState::SynSent;
                self.pending = Pending::Syn;
            }
            Handshake::None => {
                // As after a handshake of long ago: data begins after the SYN that was never sent.
                let first = self.spec.initial_sequence.wrapping_add(1);
                (self.una, self.nxt, self.max, self.rcv_nxt) = (first, first, first, first);
                self.peer_window = self.spec.receiver_window_bytes();
                self.state = SenderState::Established;
            }
        }
        self.last_sent_at = now;
    }

    /// Hands over `bytes` more to send. Nothing is taken after [`Sender::close`].
    pub fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.unsent = self.unsent.saturating_add(bytes);
        }
    }

    /// Gives the sender data for ever.
    pub fn write_unlimited(&mut self) {
        self.write(u64::MAX);
    }

    /// No more will be written: a FIN follows the last byte. Unlimited data ends with what has been sent.
    pub fn close(&mut self) {
        self.closing = true;
        if self.unsent == u64::MAX {
            self.unsent = 0;
        }
        self.finish_without_handshake();
    }

    /// The rate of the sender's own link, its first hop, is `rate` from `now` on: what a driver can tell its host.
    ///
    /// To be called at each change and, for a link that is not at its highest rate when the sender is made, once at
    /// the beginning. Senders whose congestion control does not care do nothing.
    pub fn on_link_rate(&mut self, now: Time, rate: Rate) {
        let in_recovery = self.recovery.is_active();
        self.poll_at = self.control.on_link_rate(&mut self.window, in_recovery, now, rate);
    }

    /// A packet of the receiver has arrived.
    pub fn on_segment(&mut self, packet: &Packet, now: Time) {
        if self.state == SenderState::Idle {
            return;
        }
        if packet.flags.intersects(TcpFlags::SYN | TcpFlags::FIN) {
            self.on_control(packet, now);
        } else if packet.flags.contains(TcpFlags::ACK) && self.state != SenderState::SynSent {
            self.on_ack(packet, now);
        }
    }

    fn on_ack(&mut self, packet: &Packet, now: Time) {
        let ack = packet.ack;
        if seq::before(ack, self.una) || seq::after(ack, self.max) {
            return; // old, or of something never sent (RFC 9293, 3.10.7.4)
        }
        if ack != self.una {
            self.on_new_ack(ack, now);
        } else if self.max != self.una && packet.payload_bytes == 0 && packet.window_bytes == self.peer_window
        {
            // A duplicate ACK by RFC 5681, section 2: data is outstanding, no payload, no SYN or FIN, the highest
            // acknowledgement number seen, the window unchanged.
            let flight = self.flight_bytes();
            let lost =
                self.recovery.on_duplicate(self.una, self.max, flight, &mut self.window, &mut self.control);
            if lost {
                self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
                self.repair = true;
                self.stats.fast_retransmits += 1;
            }
        }
        self.peer_window = packet.window_bytes;
    }

    fn on_new_ack(&mut self, ack: u32, now: Time) {
        let acked = ack.wrapping_sub(self.una);
        self.una = ack;
        self.nxt = seq::later(self.nxt, ack);
        self.timed_out = false;
        if self.timing && !seq::before(ack, self.timed_end) {
            self.take_sample(now);
        }
        let all_acked = ack == self.max;
        let fin_acked = self.fin_sent && all_acked;
        self.stats.payload_bytes_acked += u64::from(acked - u32::from(fin_acked));

        let flight = self.flight_bytes();
        let progress = self.recovery.on_new_ack(ack, acked, flight, &mut self.window);
        if progress.grow && self.window.cwnd < self.peer_window {
            self.control.on_ack(&mut self.window, acked);
        }
        self.repair = progress.retransmit;
        if all_acked {
            self.timer = Time::MAX; // RFC 6298, 5.2
            if fin_acked {
                self.state = if self.peer_closed { SenderState::TimeWait } else { SenderState::FinWait2 };
            }
            self.finish_without_handshake();
        } else if progress.restart_timer {
            self.timer = now + self.rto.timeout(); // RFC 6298, 5.3
        }
    }

    fn take_sample(&mut self, now: Time) {
        self.timing = false;
        let rtt = now - self.timed_at;
        self.rto.sample(self.timed_at, now, &self.spec.rto);
        self.stats.rtt.record_time(rtt);
    }

    /// SYN-ACK and FIN.
    #[cold]
    fn on_control(&mut self, packet: &Packet, now: Time) {
        if packet.flags.contains(TcpFlags::SYN | TcpFlags::ACK) {
            if self.state == SenderState::SynSent {
                self.on_syn_ack(packet, now);
            } else {
                self.pending = Pending::Ack; // ours was lost (RFC 9293, 3.10.7.4)
            }
            return;
        }
        let synchronised = !matches!(self.state, SenderState::SynSent | SenderState::Idle);
        if !packet.flags.contains(TcpFlags::FIN | TcpFlags::ACK) || !synchronised {
            return;
        }
        if seq::after(packet.ack, self.una) && !seq::after(packet.ack, self.max) {
            self.on_new_ack(packet.ack, now);
        }
        if packet.seq == self.rcv_nxt {
            self.rcv_nxt = self.rcv_nxt.wrapping_add(1);
            self.peer_closed = true;
            if self.state == SenderState::FinWait2 {
                self.state = SenderState::TimeWait;
            }
        }
        self.pending = Pending::Ack; // the FIN's, or again for a repeated one
    }

    fn on_syn_ack(&mut self, packet: &Packet, now: Time) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        if packet.ack != first || self.max != first {
            return; // acknowledges something else, or a SYN that has not gone out
        }
        self.una = first;
        self.rcv_nxt = packet.seq.wrapping_add(1);
        self.peer_window = packet.window_bytes;
        self.state = SenderState::Established;
        self.pending = Pending::Ack;
        self.timer = Time::MAX;
        if self.timing {
            self.take_sample(now);
        }
        if self.timed_out {
            self.timed_out = false;
            self.window.cwnd = self.window.mss; // RFC 5681, 3.1: a SYN was lost
            self.rto.restart_after_lost_syn(&self.spec.rto);
        }
    }

    /// The time has reached [`Sender::deadline`]. Earlier calls do nothing.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.timer {
            self.on_timeout(now);
        }
        if now >= self.poll_at {
            self.poll_at = Time::MAX;
            self.control.on_poll(&mut self.window, self.recovery.is_active());
        }
    }

    #[cold]
    fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.timing = false; // Karn's algorithm (RFC 6298, 3)
        self.rto.back_off(&self.spec.rto);
        self.timer = now + self.rto.timeout(); // RFC 6298, 5.6
        if self.state == SenderState::SynSent {
            self.timed_out = true;
            self.pending = Pending::Syn;
            return;
        }
        // RFC 5681, 3.1: the threshold stays if the timer expires again for the same segment.
        if !self.timed_out {
            let before = self.window.ssthresh;
            let flight = self.flight_bytes();
            self.control.on_loss(&mut self.window, flight);
            if self.recovery.is_active() {
                // The losses are those that started this recovery, and have lowered the threshold already. FlightSize
                // has grown since by all that the receiver holds beyond the hole; RFC 5681's equation 4 is an upper
                // bound ("no more than").
                self.window.ssthresh = self.window.ssthresh.min(before);
            }
            self.timed_out = true;
        }
        self.window.cwnd = self.window.mss; // the loss window
        self.window.slow_start_limit = self.spec.counted_bytes().after_timeout; // until fast recovery or idleness
        self.recovery.on_timeout(self.max);
        self.repair = false;
        self.nxt = self.una; // everything outstanding is sent again, as the window allows
    }

    /// Without handshake a closed connection ends with its last acknowledgement.
    fn finish_without_handshake(&mut self) {
        let established = self.state == SenderState::Established;
        if self.closing && self.spec.handshake == Handshake::None && established && self.is_all_acknowledged()
        {
            self.state = SenderState::Closed;
        }
    }

    /// When [`Sender::on_timer`] wants to be called; [`Time::MAX`] while no timer runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.timer.min(self.poll_at)
    }

    /// Where the sender stands.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// True from the end of the handshake on, until the sender's FIN goes out.
    pub fn is_established(&self) -> bool {
        self.state == SenderState::Established
    }

    /// True once both directions are closed (TIME-WAIT), or, without handshake, once everything is acknowledged.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, SenderState::TimeWait | SenderState::Closed)
    }

    /// True where every byte that was written is acknowledged (also if none was).
    pub fn is_all_acknowledged(&self) -> bool {
        let outstanding = self.max.wrapping_sub(self.una);
        let only_fin = self.fin_sent && outstanding == 1;
        self.unsent == 0 && (outstanding == 0 || only_fin) && self.state != SenderState::SynSent
    }

    /// Bytes sent and not acknowledged (RFC 5681's FlightSize). What was outstanding at a timeout counts as lost until
    /// it is sent again.
    #[inline]
    pub fn flight_bytes(&self) -> u32 {
        self.nxt.wrapping_sub(self.una)
    }

    /// Congestion window in bytes, inflated during fast recovery.
    pub fn cwnd_bytes(&self) -> u32 {
        self.window.cwnd
    }

    /// Slow start threshold in bytes; `u32::MAX` stands for "arbitrarily high".
    pub fn ssthresh_bytes(&self) -> u32 {
        self.window.ssthresh
    }

    /// True during fast recovery.
    pub fn is_in_recovery(&self) -> bool {
        self.recovery.is_active()
    }

    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub fn srtt(&self) -> Option<Time> {
        self.rto.srtt()
    }

    /// Retransmission timeout now, back-off included (RFC 6298).
    pub fn retransmission_timeout(&self) -> Time {
        self.rto.timeout()
    }

    /// The counters.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_stays_small() {
        // A run may hold 10,000 of them: five cache lines with the counters, the histogram's buckets beside.
        assert!(size_of::<Sender>() <= 320, "{} bytes", size_of::<Sender>());
    }
}
