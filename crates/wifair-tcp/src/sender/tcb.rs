//! The sender's transmission control block (RFC 9293, 3.3.1): sequence numbers, window, timer and the last packet. Loss
//! recoveries work on it.

use std::sync::Arc;

use wifair_core::{ConnectionId, FiveTuple, Packet, SackBlocks, TcpFlags, Time};

use super::state::SenderState;
use crate::congestion::{Control, Window};
use crate::ecn::EcnSender;
use crate::recovery::Recovery;
use crate::rto::Rto;
use crate::seq;
use crate::shaper::Shaper;
use crate::spec::{Handshake, LossReduces, TcpSpec};
use crate::stats::SenderStats;
use crate::window_field::MAX_WINDOW_BYTES;

/// A packet that is sent before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Nothing,
    Syn,
    Ack,
}

/// See the module documentation.
#[derive(Clone, Debug)]
#[repr(C)] // what every ACK needs comes first
pub(super) struct Tcb {
    pub(super) timer: Time,
    pub(super) spec: Arc<TcpSpec>,
    /// First unacknowledged sequence number (SND.UNA).
    pub(super) una: u32,
    /// Next to send (SND.NXT); a timeout takes it back to `una`.
    pub(super) nxt: u32,
    /// One past the highest sequence number ever sent.
    pub(super) max: u32,
    /// Next expected from the receiver (RCV.NXT).
    pub(super) rcv_nxt: u32,
    pub(super) peer_window: u32,
    /// The segment being timed ends before this number; it was sent at `timed_at`.
    pub(super) timed_end: u32,
    pub(super) timed_at: Time,
    pub(super) last_sent_at: Time,
    /// Bytes written and not yet sent; `u64::MAX` if unlimited.
    pub(super) unsent: u64,
    pub(super) state: SenderState,
    pub(super) pending: Pending,
    /// DS field of new data without marked priority.
    pub(super) ds_field: u8,
    pub(super) timing: bool,
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    pub(super) peer_closed: bool,
    /// The first unacknowledged segment is to be retransmitted at once (fast retransmit, partial ACK).
    pub(super) repair: bool,
    /// The timer has already expired for the first unacknowledged segment.
    pub(super) timed_out: bool,
    /// Established, data outstanding, and nothing to repair, to negotiate or to mark: usually an ACK of part of that data and
    /// one more full segment follow. Recomputed by [`Sender::review`](super::Sender::review).
    pub(super) ordinary: bool,
    /// The same with RACK, if nothing is lost or selectively acknowledged: usually one more full segment follows.
    pub(super) ordinary_by_rack: bool,
    /// An ACK is reported to the congestion control if the window is smaller than this.
    pub(super) reported_below: u32,
    pub(super) window: Window,
    /// Last packet sent. The next one overwrites it and is lent to the caller.
    pub(super) packet: Packet,
    pub(super) recovery: Recovery,
    pub(super) control: Control,
    pub(super) rto: Rto,
    pub(super) stats: SenderStats,
    pub(super) ecn: EcnSender,
    /// Present if data is paced, or the host's queue limited.
    pub(super) shaper: Option<Box<Shaper>>,
}

impl Tcb {
    pub(super) fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Tcb {
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
        Tcb {
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
            shaper: Shaper::new(spec, control.pacing_rate().is_some()),
            control,
            ecn: EcnSender::default(),
            rto: Rto::new(&spec.rto),
            timer: Time::MAX,
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

    /// Establishes the connection without negotiation: the receiver has the same parameters, so its sequence numbers are known.
    pub(super) fn establish_as_configured(&mut self, peer_window: u32) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        (self.una, self.nxt, self.max, self.rcv_nxt) = (first, first, first, first);
        self.set_peer_window(peer_window);
        self.ecn.on = self.spec.ecn;
        self.state = SenderState::Established;
    }

    /// Sets the receiver's window. Growth beyond it has no effect.
    pub(super) fn set_peer_window(&mut self, bytes: u32) {
        let beyond = self.spec.cwnd_beyond_receiver_window || self.control.shrinks_on_ack();
        self.peer_window = bytes;
        self.reported_below = if beyond { MAX_WINDOW_BYTES } else { bytes };
    }

    /// Ends a closed connection with its last acknowledgement, if no FIN is sent.
    pub(super) fn finish_without_fin(&mut self) {
        let established = self.state == SenderState::Established;
        if self.closing && self.spec.handshake != Handshake::Real && established && self.is_all_acknowledged()
        {
            self.state = SenderState::Closed;
        }
    }

    /// True if every byte that was written is acknowledged (also if none was).
    pub(super) fn is_all_acknowledged(&self) -> bool {
        let outstanding = self.outstanding_bytes();
        let only_fin = self.fin_sent && outstanding == 1;
        self.unsent == 0 && (outstanding == 0 || only_fin) && self.state != SenderState::SynSent
    }

    /// Bytes before `nxt` that are not acknowledged.
    pub(super) fn sent_bytes(&self) -> u32 {
        self.nxt.wrapping_sub(self.una)
    }

    /// Bytes sent and not acknowledged, lost ones included.
    pub(super) fn outstanding_bytes(&self) -> u32 {
        self.max.wrapping_sub(self.una)
    }

    /// Bytes sent and not acknowledged, lost ones included, without those of limited transmit (RFC 5681, 3.2 step 2).
    pub(super) fn flight_at_loss(&self) -> u32 {
        self.sent_bytes().saturating_sub(self.recovery.bytes_beyond_window())
    }

    /// What a loss, a timeout or a mark reduces, with a FlightSize of `flight`.
    pub(super) fn loss_reduces(&self, flight: u32) -> u32 {
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

    /// True during fast recovery, and after a timeout until what was outstanding then is acknowledged.
    pub(super) fn is_repairing(&self) -> bool {
        seq::before(self.una, self.recovery.point())
    }
}
