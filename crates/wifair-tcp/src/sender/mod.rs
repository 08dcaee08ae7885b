//! The state of a sender and its calls. What arriving packets and the timer do to it: `receive.rs`; what it sends:
//! `transmit.rs`.

mod receive;
mod transmit;

use std::sync::Arc;

use wifair_core::{ConnectionId, Ecn, FiveTuple, Packet, Rate, SackBlocks, TcpFlags, Time};

use crate::congestion::{CongestionControl, Control, Window};
use crate::ecn::EcnSender;
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::scoreboard::Scoreboard;
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
    /// Done, where no FIN is sent.
    Closed,
}

/// What a sender does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is no connection, or nothing to send and nothing outstanding.
    Idle,
    /// The window grows exponentially: it is below the slow start threshold (RFC 5681, 3.1), or the connection is being opened.
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// The retransmission timer has expired and nothing new has been acknowledged since.
    TimedOut,
}

/// What keeps a sender from sending more at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restraint {
    /// It has nothing more to send.
    Application,
    /// The receiver's window is full, and the congestion window would allow more.
    ReceiverWindow,
    /// The congestion window is full, or a loss is being repaired.
    CongestionWindow,
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
    /// The packet sent last. The next one is written over it and lent.
    packet: Packet,
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
    ecn: EcnSender,
    recovery: Recovery,
    /// Where selective acknowledgement is agreed on.
    scoreboard: Option<Box<Scoreboard>>,
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
    /// DS field of new data, unless its priority is marked.
    ds_field: u8,
    timing: bool,
    closing: bool,
    fin_sent: bool,
    peer_closed: bool,
    /// The first unacknowledged segment is to be sent again at once (fast retransmit, partial ACK).
    repair: bool,
    /// The timer has already expired for the first unacknowledged segment.
    timed_out: bool,
    /// Established, data outstanding, and nothing to repair, to negotiate or to mark: what comes next is most often an ACK
    /// of part of that data, and one more full segment. Recomputed by [`Sender::review`].
    ordinary: bool,
    stats: SenderStats,
}

impl Sender {
    /// A sender whose data travels along `tuple`. `spec` is taken as valid ([`TcpSpec::validate`]).
    pub fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Sender {
        let control = spec.congestion_control.build();
        let iss = spec.initial_sequence;
        let counted = spec.counted_bytes();
        Sender {
            packet: Packet {
                tuple,
                connection: ConnectionId::NONE,
                seq: iss,
                ack: 0,
                window_bytes: spec.receiver_window_bytes(),
                payload_bytes: 0,
                header_bytes: spec.header_bytes as u8,
                flags: TcpFlags::NONE,
                ds_field: 0,
                sack: SackBlocks::NONE,
            },
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
                counting: spec.counting(),
                divisor: 1,
            },
            recovery: Recovery::new(control.recovery(), iss),
            scoreboard: None,
            control,
            ecn: EcnSender::default(),
            rto: Rto::new(&spec.rto),
            timer: Time::MAX,
            poll_at: Time::MAX,
            timed_end: 0,
            timed_at: Time::ZERO,
            last_sent_at: Time::ZERO,
            state: SenderState::Idle,
            pending: Pending::Nothing,
            ds_field: 0,
            timing: false,
            closing: false,
            fin_sent: false,
            peer_closed: false,
            repair: false,
            timed_out: false,
            ordinary: false,
            stats: SenderStats::default(),
            spec: Arc::clone(spec),
        }
    }

    /// Parameters of the next connection.
    pub(crate) fn set_spec(&mut self, spec: &Arc<TcpSpec>) {
        self.spec = Arc::clone(spec);
    }

    /// Its packets carry the connection's name from now on, until it is renewed.
    pub fn set_connection(&mut self, connection: ConnectionId) {
        self.packet.connection = connection;
    }

    /// Makes this the sender of another connection, not opened yet, as by [`Sender::new`] with the same parameters. The
    /// counters go on.
    pub fn renew(&mut self, tuple: FiveTuple) {
        let stats = std::mem::take(&mut self.stats);
        *self = Sender { stats, ..Sender::new(&self.spec, tuple) };
    }

    /// Opens the connection: sends a SYN or what ns-2 has for one, or is established at once without handshake. Once only;
    /// later calls do nothing.
    pub fn open(&mut self, now: Time) {
        if self.state != SenderState::Idle {
            return;
        }
        match self.spec.handshake {
            Handshake::Real | Handshake::Ns2 => {
                self.state = SenderState::SynSent;
                self.pending = Pending::Syn;
            }
            Handshake::None => {
                // As after a handshake of long ago: data begins after the SYN that was never sent.
                self.establish_as_configured(self.packet.window_bytes);
            }
        }
        self.last_sent_at = now;
    }

    /// The connection is open. Nothing was negotiated: the receiver has the same parameters, so its sequence numbers are known.
    fn establish_as_configured(&mut self, peer_window: u32) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        (self.una, self.nxt, self.max, self.rcv_nxt) = (first, first, first, first);
        self.peer_window = peer_window;
        self.ecn.on = self.spec.ecn;
        if self.spec.sack.is_some() {
            self.use_sack();
        }
        self.state = SenderState::Established;
    }

    fn use_sack(&mut self) {
        self.scoreboard = Some(Box::default());
        self.recovery.use_sack();
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
        self.finish_without_fin();
    }

    /// The rate of the sender's own link, its first hop, is `rate` from `now` on: what a driver can tell its host.
    ///
    /// To be called at each change and, for a link that is not at its highest rate when the sender is made, once at
    /// the beginning. No effect on a congestion control that ignores link rates.
    pub fn on_link_rate(&mut self, now: Time, rate: Rate) {
        let in_recovery = self.recovery.is_active();
        self.poll_at = self.control.on_link_rate(&mut self.window, in_recovery, now, rate);
        self.review();
    }

    /// Comes after every call on the general path: whether the short ones serve what comes next.
    fn review(&mut self) {
        self.ds_field = self.spec.dscp << 2 | if self.ecn.on { Ecn::Ect0 as u8 } else { 0 };
        self.ordinary = self.state == SenderState::Established
            && self.pending == Pending::Nothing
            && !(self.repair || self.timed_out)
            && self.spec.priority_marking.is_none()
            && self.ecn.is_quiet()
            && self.nxt == self.max
            && self.una != self.max
            && self.window.divisor == 1
            && self.recovery.is_quiet()
            && self.scoreboard.is_none();
    }

    /// Where no FIN is sent, a closed connection ends with its last acknowledgement.
    fn finish_without_fin(&mut self) {
        let established = self.state == SenderState::Established;
        if self.closing && self.spec.handshake != Handshake::Real && established && self.is_all_acknowledged()
        {
            self.state = SenderState::Closed;
        }
    }

    /// When [`Sender::on_timer`] wants to be called; [`Time::MAX`] while no timer runs.
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

    /// True once both directions are closed (TIME-WAIT), or, where no FIN is sent, once everything is acknowledged.
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

    /// What it does.
    pub fn phase(&self) -> Phase {
        let Window { cwnd, ssthresh, .. } = self.window;
        match self.state {
            SenderState::Idle | SenderState::TimeWait | SenderState::Closed => Phase::Idle,
            _ if self.timed_out => Phase::TimedOut,
            SenderState::SynSent => Phase::SlowStart,
            _ if self.unsent == 0 && self.una == self.max => Phase::Idle,
            _ if self.recovery.is_active() => Phase::Recovery,
            _ if cwnd < ssthresh => Phase::SlowStart,
            _ => Phase::Avoidance,
        }
    }

    /// What keeps it from sending more, once it has been polled.
    pub fn restraint(&self) -> Restraint {
        if self.unsent == 0 && self.nxt == self.max {
            return Restraint::Application;
        }
        let full = self.flight_bytes() + self.window.mss > self.peer_window;
        if full && self.peer_window <= self.window.allowance() && !self.recovery.is_active() {
            return Restraint::ReceiverWindow;
        }
        Restraint::CongestionWindow
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

    /// A measurement begins: greatest values in the counters are to be of what comes from now on.
    pub fn forget_greatest(&mut self) {
        self.stats.srtt_max = Time::ZERO;
    }

    /// The counters.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(kind: u8) -> TcpSpec {
        use crate::congestion::CongestionControlSpec::*;
        let kinds = [
            TcpSpec { congestion_control: Reno(Default::default()), ..TcpSpec::default() },
            TcpSpec {
                congestion_control: NewReno(Default::default()),
                limited_transmit: false,
                dscp: 46,
                ..TcpSpec::default()
            },
            TcpSpec { congestion_control: Cubic(Default::default()), ecn: true, ..TcpSpec::default() },
            TcpSpec { congestion_control: ArfAware(Default::default()), ..TcpSpec::default() },
            TcpSpec { sack: Some(Default::default()), ..TcpSpec::default() },
        ];
        TcpSpec { handshake: Handshake::None, ..kinds[usize::from(kind) % kinds.len()].clone() }
    }

    /// What two senders say to a call, of which the second has to take the general path.
    fn both<R: PartialEq + std::fmt::Debug>(
        pair: &mut [Sender; 2],
        mut call: impl FnMut(&mut Sender) -> R,
    ) -> R {
        let [short, general] = pair;
        general.ordinary = false;
        let said = call(short);
        assert_eq!(said, call(general));
        let mut reviewed = short.clone();
        reviewed.review();
        assert_eq!(short.ordinary, reviewed.ordinary, "the flag is stale");
        general.ordinary = short.ordinary;
        assert_eq!(format!("{short:?}"), format!("{general:?}"));
        said
    }

    proptest! {
        #[test]
        fn the_short_paths_do_what_the_general_ones_do(
            kind in 0u8..5,
            finite in prop::option::of(0u64..500_000),
            steps in prop::collection::vec((0u8..24, 0u32..100_000, 0u64..30_000), 1..150),
        ) {
            let mut now = Time::ZERO;
            let sender = Sender::new(&Arc::new(spec(kind)), FiveTuple::default());
            let mut pair = [sender.clone(), sender];
            both(&mut pair, |sender| { sender.open(now); sender.write(finite.unwrap_or(u64::MAX)) });
            for (what, number, us) in steps {
                while both(&mut pair, |sender| sender.poll_transmit(now).copied()).is_some() {}
                now += Time::from_us(us);
                let (una, peer_window, mss) = (pair[0].una, pair[0].peer_window, pair[0].window.mss);
                let flight = pair[0].flight_bytes();
                let whole = number % (flight / mss + 1) * mss;
                let (ack, window, flags) = match what {
                    0..=14 => (una.wrapping_add(whole.min(flight)), peer_window, TcpFlags::ACK),
                    15 => (una.wrapping_add(number % (flight + 1)), peer_window, TcpFlags::ACK),
                    16 | 17 => (una, peer_window, TcpFlags::ACK),
                    18 => (una.wrapping_add(whole), peer_window, TcpFlags::ACK | TcpFlags::ECE),
                    19 => (una.wrapping_add(whole), 1_000 + number, TcpFlags::ACK),
                    20 => (una.wrapping_sub(number), peer_window, TcpFlags::ACK),
                    _ => (una, peer_window, TcpFlags::NONE),
                };
                match what {
                    21 => {
                        now = now.max(pair[0].deadline().min(now + Time::from_s(100)));
                        both(&mut pair, |sender| sender.on_timer(now));
                    }
                    22 => {
                        let rate = Rate::from_kbps(1_000 + number % 11_000);
                        both(&mut pair, |sender| sender.on_link_rate(now, rate));
                    }
                    23 if number % 8 == 0 => both(&mut pair, |sender| sender.close()),
                    _ => {
                        let packet = Packet { ack, window_bytes: window, flags, ..Packet::default() };
                        both(&mut pair, |sender| sender.on_segment(&packet, now));
                    }
                }
            }
        }
    }

    #[test]
    fn a_sender_stays_small() {
        // A run may hold 10,000 of them: six cache lines with the counters and the packet sent last, and the name in that, the histogram's
        // buckets and the scoreboard beside.
        assert!(size_of::<Sender>() <= 392, "{} bytes", size_of::<Sender>());
    }
}
