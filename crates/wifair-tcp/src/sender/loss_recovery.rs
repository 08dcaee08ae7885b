//! The three loss recoveries of a sender, each in its file: by duplicate ACKs (here), by SACK (`sack.rs`), by RACK (`rack.rs`).

use wifair_core::{Packet, Time};

use super::tcb::Tcb;
use crate::rack::Rack;
use crate::scoreboard::Scoreboard;
use crate::small_queue::Next;

/// The loss recovery of a connection. `recovery.rs` counts duplicate ACKs and says when fast recovery starts and ends.
#[derive(Clone, Debug)]
pub(super) enum LossRecovery {
    /// RFC 5681 and 6582: SACK is not agreed on.
    DuplicateAcks,
    /// RFC 6675.
    Sack(Box<Scoreboard>),
    /// RFC 8985. SND.NXT is the highest number sent then.
    Rack(Box<Rack>),
}

impl LossRecovery {
    /// Bytes outstanding that are found to be lost.
    pub(super) fn lost_bytes(&self) -> u32 {
        match self {
            LossRecovery::Rack(rack) => rack.segments.lost_bytes(),
            _ => 0,
        }
    }

    /// Bytes delivered so far, if delivery rates are sampled.
    pub(super) fn total_delivered(&self) -> Option<u64> {
        match self {
            LossRecovery::Rack(rack) => {
                rack.segments.sampler.as_ref().map(|sampler| sampler.total_delivered())
            }
            _ => None,
        }
    }

    /// Handles an ACK that is not old; the window grows if it `may_grow`.
    pub(super) fn on_ack(&mut self, tcb: &mut Tcb, packet: &Packet, may_grow: bool, now: Time) {
        match self {
            LossRecovery::DuplicateAcks => on_ack(tcb, packet, may_grow, now),
            LossRecovery::Sack(scoreboard) => scoreboard.on_ack(tcb, packet, may_grow, now),
            LossRecovery::Rack(rack) => rack.process_ack(tcb, packet, may_grow, now),
        }
    }

    /// An RTT sample was taken apart from an ACK of data.
    pub(super) fn on_sample(&mut self, rtt: Time, now: Time) {
        if let LossRecovery::Rack(rack) = self {
            rack.on_sample(rtt, now);
        }
    }

    /// True if the timer, which has expired, was set for a retransmission timeout, or if that is due as well.
    pub(super) fn is_timeout(&mut self, tcb: &mut Tcb, now: Time) -> bool {
        match self {
            LossRecovery::Rack(rack) => rack.is_timeout(tcb, now),
            _ => true,
        }
    }

    /// Data is lost by a retransmission timeout. Without RACK everything outstanding is retransmitted, as the window allows.
    #[cold]
    pub(super) fn on_timeout(&mut self, tcb: &mut Tcb, now: Time) {
        match self {
            LossRecovery::DuplicateAcks => {}
            LossRecovery::Sack(scoreboard) => scoreboard.forget(),
            LossRecovery::Rack(rack) => return rack.retransmission_timeout(tcb, now),
        }
        tcb.repair = false;
        tcb.nxt = tcb.una;
    }

    /// What is sent next, as far as TCP small queues distinguish it. During a repair without RACK it is a retransmission.
    pub(super) fn next(&mut self, tcb: &Tcb) -> Next {
        let (lost, beyond_window) = match self {
            LossRecovery::Rack(rack) => {
                if tcb.repair || rack.probe_due {
                    return Next::Forced;
                }
                if rack.segments.next_lost().is_some() {
                    return Next::Retransmission;
                }
                (rack.segments.lost_bytes(), rack.bytes_beyond_window(tcb))
            }
            _ if tcb.repair => return Next::Forced,
            _ if tcb.is_repairing() => return Next::Retransmission,
            LossRecovery::DuplicateAcks => (0, bytes_beyond_window(tcb)),
            LossRecovery::Sack(scoreboard) => (0, scoreboard.bytes_beyond_window(tcb)),
        };
        let window = tcb.peer_window.min(tcb.window.allowance().saturating_add(beyond_window));
        Next::New(window.saturating_sub(tcb.sent_bytes() - lost))
    }

    /// The least RTT of the last minutes, with RACK.
    pub(super) fn least_rtt(&self) -> Option<Time> {
        match self {
            LossRecovery::Rack(rack) => rack.least_rtt(),
            _ => None,
        }
    }

    /// When the first outstanding segment was last sent, with RACK.
    pub(super) fn first_sent(&self) -> Option<Time> {
        match self {
            LossRecovery::Rack(rack) => rack.segments.first_sent(),
            _ => None,
        }
    }

    /// The next packet with data or a FIN.
    pub(super) fn next_packet(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        match self {
            LossRecovery::DuplicateAcks => next_packet(tcb, now),
            LossRecovery::Sack(scoreboard) => scoreboard.next_packet(tcb, now),
            LossRecovery::Rack(rack) => rack.next_packet(tcb, now),
        }
    }

    /// See [`Rack::check_application_limit`].
    pub(super) fn check_application_limit(&mut self, tcb: &Tcb) {
        if let LossRecovery::Rack(rack) = self {
            rack.check_application_limit(tcb);
        }
    }
}

fn on_ack(tcb: &mut Tcb, packet: &Packet, may_grow: bool, now: Time) {
    if packet.ack != tcb.una {
        tcb.on_new_ack(packet.ack, packet.ack.wrapping_sub(tcb.una), 0, may_grow, now);
    } else if tcb.max != tcb.una && packet.payload_bytes == 0 && packet.window_bytes == tcb.peer_window {
        // A duplicate ACK by RFC 5681, section 2: data is outstanding, no payload, no SYN or FIN, the highest acknowledgement
        // number seen, the window unchanged.
        let (reduces, known) = (tcb.loss_reduces(tcb.flight_at_loss()), tcb.ecn.reduced);
        let (window, control) = (&mut tcb.window, &mut tcb.control);
        if tcb.recovery.on_duplicate(tcb.una, tcb.max, reduces, known, window, control) {
            tcb.start_fast_retransmit(now);
        }
    }
}

fn next_packet(tcb: &mut Tcb, now: Time) -> Option<Packet> {
    if tcb.repair {
        tcb.repair = false;
        let (payload, fin) = tcb.sent_segment_at(tcb.una, tcb.max);
        return Some(tcb.retransmit(tcb.una, payload, fin, now));
    }
    if tcb.nxt != tcb.max {
        return tcb.transmit_again(tcb.max, 0, now);
    }
    if tcb.unsent == 0 {
        return tcb.transmit_fin(0, now);
    }
    tcb.transmit_new_data(0, bytes_beyond_window, now)
}

/// Bytes that may be outstanding beyond the window (limited transmit, RFC 3042).
fn bytes_beyond_window(tcb: &Tcb) -> u32 {
    match tcb.spec.limited_transmit {
        true => tcb.recovery.limited_transmit_bytes(tcb.window.mss),
        false => 0,
    }
}
