//! A sender and its interface. `tcb.rs` has its state; `window.rs` is what ACKs and timeouts do to it, `output.rs` makes
//! packets. `receive.rs` handles arriving packets and the timer, `transmit.rs` chooses what is sent, `shaper.rs` holds data
//! back. Losses are repaired by one of three recoveries (`loss_recovery.rs`).

mod loss_recovery;
mod model;
mod output;
mod rack;
mod receive;
mod sack;
mod shaper;
mod state;
mod status;
mod tcb;
mod transmit;
mod window;

use std::sync::Arc;

use loss_recovery::LossRecovery;
pub use state::{LimitedBy, SenderPhase, SenderState};
use tcb::{Pending, Tcb};
use wifair_core::{ConnectionId, Ecn, FiveTuple, Rate, Time};

use crate::loss_detection::LossDetectionSpec;
use crate::rack::Rack;
use crate::spec::{Handshake, TcpSpec};

/// The end of a connection that opens it and sends data.
///
/// See the crate's documentation for the contract between calls.
#[derive(Clone, Debug)]
#[repr(C)] // what every ACK needs comes first
pub struct Sender {
    /// The earliest of `poll_at` and of the end of the pacer's wait. Recomputed by [`Sender::review`].
    wakes_at: Time,
    tcb: Tcb,
    loss_recovery: LossRecovery,
    /// When the congestion control polls the rate of the link.
    poll_at: Time,
}

impl Sender {
    /// Creates a sender whose data has the 5-tuple `tuple`. `spec` must be valid ([`TcpSpec::validate`]).
    pub fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Sender {
        Sender {
            wakes_at: Time::MAX,
            tcb: Tcb::new(spec, tuple),
            loss_recovery: LossRecovery::DuplicateAcks,
            poll_at: Time::MAX,
        }
    }

    /// Sets the parameters of the next connection.
    pub(crate) fn set_spec(&mut self, spec: &Arc<TcpSpec>) {
        self.tcb.spec = Arc::clone(spec);
    }

    /// Sets the short name that its packets carry until it is renewed.
    pub fn set_connection(&mut self, connection: ConnectionId) {
        self.tcb.packet.connection = connection;
    }

    /// Makes this the sender of another connection, not opened yet, as by [`Sender::new`] with the same parameters. The
    /// counters continue.
    pub fn renew(&mut self, tuple: FiveTuple) {
        let stats = std::mem::take(&mut self.tcb.stats);
        *self = Sender::new(&self.tcb.spec, tuple);
        self.tcb.stats = stats;
    }

    /// Opens the connection: sends a SYN or ns-2's opening segment, or is established at once if there is no handshake. Later
    /// calls do nothing.
    pub fn open(&mut self, now: Time) {
        if self.tcb.state != SenderState::Idle {
            return;
        }
        match self.tcb.spec.handshake {
            Handshake::Real | Handshake::Ns2 => {
                self.tcb.state = SenderState::SynSent;
                self.tcb.pending = Pending::Syn;
            }
            Handshake::None => {
                // As after an earlier handshake: data begins after the SYN that was never sent.
                self.establish_as_configured(self.tcb.packet.window_bytes);
            }
        }
        self.tcb.last_sent_at = now;
    }

    /// See [`Tcb::establish_as_configured`].
    fn establish_as_configured(&mut self, peer_window: u32) {
        self.tcb.establish_as_configured(peer_window);
        if self.tcb.spec.sack.is_some() {
            self.use_sack();
        }
    }

    fn use_sack(&mut self) {
        self.loss_recovery = match self.tcb.spec.loss_detection {
            LossDetectionSpec::DuplicateAcks(_) => LossRecovery::Sack(Box::default()),
            LossDetectionSpec::Rack(mut spec) => {
                let samples_rate = self.tcb.control.needs_rate_samples();
                spec.proportional_rate_reduction &= !samples_rate;
                let mut rack = Rack::new(spec, self.tcb.una);
                rack.segments.sampler = samples_rate.then(Box::default);
                rack.samples_acks = self.tcb.control.needs_ack_samples();
                LossRecovery::Rack(Box::new(rack))
            }
        };
        self.tcb.recovery.use_sack();
    }

    /// Adds `bytes` to send. Does nothing after [`Sender::close`].
    pub fn write(&mut self, bytes: u64) {
        if !self.tcb.closing {
            self.loss_recovery.check_application_limit(&self.tcb);
            self.tcb.unsent = self.tcb.unsent.saturating_add(bytes);
        }
    }

    /// Adds unlimited data to send.
    pub fn write_unlimited(&mut self) {
        self.write(u64::MAX);
    }

    /// Ends the data: a FIN follows the last byte. Unlimited data ends with what has been sent.
    pub fn close(&mut self) {
        self.tcb.closing = true;
        if self.tcb.unsent == u64::MAX {
            self.tcb.unsent = 0;
        }
        self.tcb.finish_without_fin();
    }

    /// Sets the rate of the sender's own link, its first hop, to `rate` from `now` on, as a driver can report it to its host.
    ///
    /// To be called at each change and, for a link that is not at its highest rate when the sender is created, once at the
    /// beginning. No effect on a congestion control that ignores link rates.
    pub fn on_link_rate(&mut self, now: Time, rate: Rate) {
        let in_recovery = self.tcb.recovery.is_active();
        self.poll_at = self.tcb.control.on_link_rate(&mut self.tcb.window, in_recovery, now, rate);
        self.review();
    }

    /// Recomputes whether the fast paths apply, and the deadline. Called after every call on the general path.
    fn review(&mut self) {
        let tcb = &mut self.tcb;
        tcb.ds_field = tcb.spec.dscp << 2 | if tcb.ecn.on { Ecn::Ect0 as u8 } else { 0 };
        self.wakes_at = tcb.shaper.as_ref().map_or(Time::MAX, |shaper| shaper.wakes_at()).min(self.poll_at);
        let ordinary = tcb.state == SenderState::Established
            && tcb.pending == Pending::Nothing
            && !(tcb.repair || tcb.timed_out)
            && tcb.spec.priority_marking.is_none()
            && tcb.ecn.is_quiet()
            && tcb.nxt == tcb.max
            && tcb.una != tcb.max
            && tcb.window.divisor == 1
            && tcb.recovery.is_quiet()
            && tcb.shaper.is_none();
        (tcb.ordinary, tcb.ordinary_by_rack) = match &self.loss_recovery {
            LossRecovery::DuplicateAcks => (ordinary, false),
            LossRecovery::Sack(_) => (false, false),
            LossRecovery::Rack(rack) => (false, ordinary && rack.is_quiet()),
        };
    }

    /// When [`Sender::on_timer`] is to be called; [`Time::MAX`] while no timer runs.
    pub fn deadline(&self) -> Time {
        self.tcb.timer.min(self.wakes_at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::{Packet, TcpFlags};

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
        (general.tcb.ordinary, general.tcb.ordinary_by_rack) = (false, false);
        let said = call(short);
        assert_eq!(said, call(general));
        let mut reviewed = short.clone();
        reviewed.review();
        let flags = |sender: &Sender| (sender.tcb.ordinary, sender.tcb.ordinary_by_rack);
        assert_eq!(flags(short), flags(&reviewed), "a flag is stale");
        (general.tcb.ordinary, general.tcb.ordinary_by_rack) = flags(short);
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
                let (una, peer_window, mss) = (pair[0].tcb.una, pair[0].tcb.peer_window, pair[0].tcb.window.mss);
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
