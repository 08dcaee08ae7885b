//! The state of a sender and its interface. `receive.rs` handles arriving packets and the timer, `transmit.rs` sends, `rack.rs` does
//! both with RACK, `throttle.rs` holds data back.

mod model;
mod rack;
mod receive;
mod throttle;
mod transmit;

use std::sync::Arc;

use throttle::Throttle;
use wifair_core::{ConnectionId, Ecn, FiveTuple, Packet, Rate, SackBlocks, TcpFlags, Time};

use crate::congestion::{Control, Window};
use crate::ecn::EcnSender;
use crate::loss_detection::LossDetectionSpec;
use crate::rack::Rack;
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::scoreboard::Scoreboard;
use crate::spec::{Handshake, LossReduces, MAX_WINDOW_BYTES, TcpSpec};
use crate::stats::SenderStats;

/// State of a sender; the names of RFC 9293, 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Created, not opened yet.
    Idle,
    /// SYN-SENT.
    SynSent,
    /// ESTABLISHED.
    Established,
    /// FIN-WAIT-1: the FIN is sent and not acknowledged.
    FinWait1,
    /// FIN-WAIT-2: the FIN is acknowledged, the receiver's has not arrived.
    FinWait2,
    /// TIME-WAIT: closed, but a repeated FIN of the receiver is still answered. The caller ends it: the sender may be dropped
    /// once the receiver is closed too.
    TimeWait,
    /// Closed, if no FIN is sent.
    Closed,
}

/// Phase of a sender at an instant.
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
    /// The retransmission timer has expired and no new data has been acknowledged since.
    TimedOut,
}

/// What limits a sender at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restraint {
    /// It has nothing more to send.
    Application,
    /// The receiver's window is full, and the congestion window would allow more.
    ReceiverWindow,
    /// The congestion window is full, or a loss is being repaired.
    CongestionWindow,
}

/// A packet that is sent before any data.
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
#[repr(C)] // what every ACK needs comes first
pub struct Sender {
    timer: Time,
    /// The earliest of `poll_at` and of the end of the pacer's wait. Recomputed by [`Sender::review`].
    wakes_at: Time,
    spec: Arc<TcpSpec>,
    /// First unacknowledged sequence number (SND.UNA).
    una: u32,
    /// Next to send (SND.NXT); a timeout takes it back to `una`.
    nxt: u32,
    /// One past the highest sequence number ever sent.
    max: u32,
    /// Next expected from the receiver (RCV.NXT).
    rcv_nxt: u32,
    peer_window: u32,
    /// The segment being timed ends before this number; it was sent at `timed_at`.
    timed_end: u32,
    timed_at: Time,
    last_sent_at: Time,
    /// Bytes written and not yet sent; `u64::MAX` if unlimited.
    unsent: u64,
    state: SenderState,
    pending: Pending,
    /// DS field of new data without marked priority.
    ds_field: u8,
    timing: bool,
    closing: bool,
    fin_sent: bool,
    peer_closed: bool,
    /// The first unacknowledged segment is to be retransmitted at once (fast retransmit, partial ACK).
    repair: bool,
    /// The timer has already expired for the first unacknowledged segment.
    timed_out: bool,
    /// Established, data outstanding, and nothing to repair, to negotiate or to mark: usually an ACK of part of that data and
    /// one more full segment follow. Recomputed by [`Sender::review`].
    ordinary: bool,
    /// The same with RACK, if nothing is lost or selectively acknowledged: usually one more full segment follows.
    ordinary_by_rack: bool,
    /// An ACK is reported to the congestion control if the window is smaller than this.
    reported_below: u32,
    window: Window,
    /// Last packet sent. The next one overwrites it and is lent to the caller.
    packet: Packet,
    recovery: Recovery,
    control: Control,
    rto: Rto,
    stats: SenderStats,
    ecn: EcnSender,
    /// Present if SACK is agreed on, without RACK.
    scoreboard: Option<Box<Scoreboard>>,
    /// Present if SACK is agreed on, with RACK. `nxt` is `max` then.
    rack: Option<Box<Rack>>,
    /// When the congestion control polls the rate of the link.
    poll_at: Time,
    /// Present if data is paced, or the host's queue limited.
    throttle: Option<Box<Throttle>>,
}

impl Sender {
    /// Creates a sender whose data has the 5-tuple `tuple`. `spec` must be valid ([`TcpSpec::validate`]).
    pub fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Sender {
        let mut control = spec.congestion_control.build();
        let iss = spec.initial_sequence;
        let mut window = Window {
            cwnd: spec.initial_window_bytes(),
            ssthresh: spec.initial_ssthresh_bytes(),
            mss: u32::from(spec.mss_bytes),
            credit: 0,
            slow_start_limit: spec.counted_bytes().slow_start,
            counting: spec.counting(),
            divisor: 1,
        };
        control.begin(&mut window, tuple.connection_hash());
        let throttle = Throttle::new(spec, control.pacing_rate().is_some());
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
            reported_below: 0,
            unsent: 0,
            window,
            recovery: Recovery::new(control.recovery(), iss),
            scoreboard: None,
            rack: None,
            control,
            ecn: EcnSender::default(),
            rto: Rto::new(&spec.rto),
            timer: Time::MAX,
            poll_at: Time::MAX,
            wakes_at: Time::MAX,
            throttle,
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
            ordinary_by_rack: false,
            stats: SenderStats::default(),
            spec: Arc::clone(spec),
        }
    }

    /// Sets the parameters of the next connection.
    pub(crate) fn set_spec(&mut self, spec: &Arc<TcpSpec>) {
        self.spec = Arc::clone(spec);
    }

    /// Sets the short name that its packets carry until it is renewed.
    pub fn set_connection(&mut self, connection: ConnectionId) {
        self.packet.connection = connection;
    }

    /// Makes this the sender of another connection, not opened yet, as by [`Sender::new`] with the same parameters. The
    /// counters continue.
    pub fn renew(&mut self, tuple: FiveTuple) {
        let stats = std::mem::take(&mut self.stats);
        *self = Sender { stats, ..Sender::new(&self.spec, tuple) };
    }

    /// Opens the connection: sends a SYN or ns-2's opening segment, or is established at once if there is no handshake. Later
    /// calls do nothing.
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
                // As after an earlier handshake: data begins after the SYN that was never sent.
                self.establish_as_configured(self.packet.window_bytes);
            }
        }
        self.last_sent_at = now;
    }

    /// Establishes the connection without negotiation: the receiver has the same parameters, so its sequence numbers are known.
    fn establish_as_configured(&mut self, peer_window: u32) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        (self.una, self.nxt, self.max, self.rcv_nxt) = (first, first, first, first);
        self.set_peer_window(peer_window);
        self.ecn.on = self.spec.ecn;
        if self.spec.sack.is_some() {
            self.use_sack();
        }
        self.state = SenderState::Established;
    }

    /// Sets the receiver's window. Growth beyond it has no effect.
    fn set_peer_window(&mut self, bytes: u32) {
        let beyond = self.spec.cwnd_beyond_receiver_window || self.control.shrinks_on_ack();
        self.peer_window = bytes;
        self.reported_below = if beyond { MAX_WINDOW_BYTES } else { bytes };
    }

    fn use_sack(&mut self) {
        match self.spec.loss_detection {
            LossDetectionSpec::DuplicateAcks(_) => self.scoreboard = Some(Box::default()),
            LossDetectionSpec::Rack(mut spec) => {
                let samples_rate = self.control.needs_rate_samples();
                spec.proportional_rate_reduction &= !samples_rate;
                let mut rack = Rack::new(spec, self.una);
                rack.segments.sampler = samples_rate.then(Box::default);
                self.rack = Some(Box::new(rack));
            }
        }
        self.recovery.use_sack();
    }

    /// Adds `bytes` to send. Does nothing after [`Sender::close`].
    pub fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.check_application_limit();
            self.unsent = self.unsent.saturating_add(bytes);
        }
    }

    /// Adds unlimited data to send.
    pub fn write_unlimited(&mut self) {
        self.write(u64::MAX);
    }

    /// Ends the data: a FIN follows the last byte. Unlimited data ends with what has been sent.
    pub fn close(&mut self) {
        self.closing = true;
        if self.unsent == u64::MAX {
            self.unsent = 0;
        }
        self.finish_without_fin();
    }

    /// Sets the rate of the sender's own link, its first hop, to `rate` from `now` on, as a driver can report it to its host.
    ///
    /// To be called at each change and, for a link that is not at its highest rate when the sender is created, once at the
    /// beginning. No effect on a congestion control that ignores link rates.
    pub fn on_link_rate(&mut self, now: Time, rate: Rate) {
        let in_recovery = self.recovery.is_active();
        self.poll_at = self.control.on_link_rate(&mut self.window, in_recovery, now, rate);
        self.review();
    }

    /// Recomputes whether the fast paths apply, and the deadline. Called after every call on the general path.
    fn review(&mut self) {
        self.ds_field = self.spec.dscp << 2 | if self.ecn.on { Ecn::Ect0 as u8 } else { 0 };
        self.wakes_at =
            self.throttle.as_ref().map_or(Time::MAX, |throttle| throttle.wakes_at()).min(self.poll_at);
        let ordinary = self.state == SenderState::Established
            && self.pending == Pending::Nothing
            && !(self.repair || self.timed_out)
            && self.spec.priority_marking.is_none()
            && self.ecn.is_quiet()
            && self.nxt == self.max
            && self.una != self.max
            && self.window.divisor == 1
            && self.recovery.is_quiet()
            && self.scoreboard.is_none()
            && self.throttle.is_none();
        self.ordinary = ordinary && self.rack.is_none();
        self.ordinary_by_rack = ordinary && self.rack.as_ref().is_some_and(|rack| rack.is_quiet());
    }

    /// Ends a closed connection with its last acknowledgement, if no FIN is sent.
    fn finish_without_fin(&mut self) {
        let established = self.state == SenderState::Established;
        if self.closing && self.spec.handshake != Handshake::Real && established && self.is_all_acknowledged()
        {
            self.state = SenderState::Closed;
        }
    }

    /// When [`Sender::on_timer`] is to be called; [`Time::MAX`] while no timer runs.
    pub fn deadline(&self) -> Time {
        self.timer.min(self.wakes_at)
    }

    /// The sender's state.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// True from the end of the handshake until the sender's FIN is sent.
    pub fn is_established(&self) -> bool {
        self.state == SenderState::Established
    }

    /// True once both directions are closed (TIME-WAIT) or, if no FIN is sent, once everything is acknowledged.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, SenderState::TimeWait | SenderState::Closed)
    }

    /// True if every byte that was written is acknowledged (also if none was).
    pub fn is_all_acknowledged(&self) -> bool {
        let outstanding = self.max.wrapping_sub(self.una);
        let only_fin = self.fin_sent && outstanding == 1;
        self.unsent == 0 && (outstanding == 0 || only_fin) && self.state != SenderState::SynSent
    }

    /// Bytes sent and not acknowledged (RFC 5681's FlightSize). Data outstanding at a timeout counts as lost until it is
    /// retransmitted; with RACK what is found to be lost.
    pub fn flight_bytes(&self) -> u32 {
        let lost = self.rack.as_ref().map_or(0, |rack| rack.segments.lost_bytes());
        self.sent_bytes() - lost
    }

    /// What a loss, a timeout or a mark reduces, with a FlightSize of `flight`.
    fn loss_reduces(&self, flight: u32) -> u32 {
        match self.spec.loss_reduces {
            LossReduces::Flight => flight,
            LossReduces::Cwnd => self.window.cwnd,
            LossReduces::Window => {
                let Window { cwnd, ssthresh, .. } = self.window;
                let deflated = if self.recovery.is_active() { cwnd.min(ssthresh) } else { cwnd };
                deflated.min(self.peer_window)
            }
        }
    }

    /// Bytes sent and not acknowledged, lost ones included, without those of limited transmit (RFC 5681, 3.2 step 2).
    fn flight_at_loss(&self) -> u32 {
        self.sent_bytes().saturating_sub(self.recovery.bytes_beyond_window())
    }

    /// Bytes before `nxt` that are not acknowledged.
    fn sent_bytes(&self) -> u32 {
        self.nxt.wrapping_sub(self.una)
    }

    /// Congestion window in bytes, inflated during fast recovery.
    pub fn cwnd_bytes(&self) -> u32 {
        self.window.cwnd
    }

    /// Slow start threshold in bytes; `u32::MAX` means "arbitrarily high".
    pub fn ssthresh_bytes(&self) -> u32 {
        self.window.ssthresh
    }

    /// The sender's phase.
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

    /// What limits the sender, once it has been polled.
    pub fn restraint(&self) -> Restraint {
        if self.unsent == 0 && self.una.wrapping_add(self.flight_bytes()) == self.max {
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

    /// Current retransmission timeout, backoff included (RFC 6298).
    pub fn retransmission_timeout(&self) -> Time {
        self.rto.timeout()
    }

    /// The state of a congestion control that is a state machine.
    pub fn control_state(&self) -> Option<&'static str> {
        self.control.state()
    }

    /// Number of tail loss probes that this connection has sent (RFC 8985, 7.3).
    pub fn loss_probes(&self) -> u32 {
        self.rack.as_ref().map_or(0, |rack| rack.probes)
    }

    /// Resets the maxima among the counters at the start of a measurement.
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
            TcpSpec {
                sack: Some(Default::default()),
                loss_detection: LossDetectionSpec::Rack(Default::default()),
                ecn: true,
                ..TcpSpec::default()
            },
        ];
        TcpSpec { handshake: Handshake::None, ..kinds[usize::from(kind) % kinds.len()].clone() }
    }

    /// Compares the results of a call on two senders, the second of which must take the general path.
    fn both<R: PartialEq + std::fmt::Debug>(
        pair: &mut [Sender; 2],
        mut call: impl FnMut(&mut Sender) -> R,
    ) -> R {
        let [short, general] = pair;
        (general.ordinary, general.ordinary_by_rack) = (false, false);
        let said = call(short);
        assert_eq!(said, call(general));
        let mut reviewed = short.clone();
        reviewed.review();
        let flags = |sender: &Sender| (sender.ordinary, sender.ordinary_by_rack);
        assert_eq!(flags(short), flags(&reviewed), "a flag is stale");
        (general.ordinary, general.ordinary_by_rack) = flags(short);
        assert_eq!(format!("{short:?}"), format!("{general:?}"));
        said
    }

    proptest! {
        #[test]
        fn the_short_paths_do_what_the_general_ones_do(
            kind in 0u8..6,
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
        // A run may hold 10,000 of them: six and a half cache lines with the counters and the last packet, which has the short
        // name; the histogram's buckets, the scoreboard and RACK's segments are separate.
        assert!(size_of::<Sender>() <= 416, "{} bytes", size_of::<Sender>());
    }
}
