//! TCP end points without I/O: time and packets are arguments; packets and a deadline are results.
//!
//! Read first: [`TcpSpec`] (every parameter, with its source), then [`Sender`] (sends data, opens actively), then [`Receiver`]
//! (reassembles, acknowledges, opens passively). One instance of each forms a connection. A sender repairs losses by one of
//! three recoveries (`sender/loss_recovery.rs`); the window is controlled by [`congestion`], one file per congestion control.
//!
//! The contract of both ends: after every input (`open`, `write`, `close`, `on_segment`, `on_timer`, `on_link_rate`), call
//! `poll_transmit` until it returns `None`; call `on_timer` once the time has reached `deadline`. A call of `on_timer` before
//! that does nothing, so one lazily re-armed timer per connection is enough.
//!
//! Data flows one way, from sender to receiver, as in the applications of the papers; the other direction carries ACKs, SYN-ACK
//! and FIN. The receiving application reads at once, so the advertised window never closes and there is no persist timer (RFC
//! 9293, 3.8.6.1). The sending application writes whole transfers and sets TCP_NODELAY: there is no Nagle algorithm, and only
//! the last segment of a write is short.
//!
//! Sequence numbers are bytes, 32 bits, and wrap.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod change;
pub mod congestion;
mod delivery_rate;
mod ecn;
mod gro;
mod gso;
mod loss_detection;
mod marking;
mod pacing;
mod prr;
mod rack;
mod reassembly;
mod receiver;
mod recovery;
mod recovery_rule;
mod rto;
mod scoreboard;
mod segments;
mod sender;
mod seq;
mod shaper;
mod slow_start;
mod small_queue;
mod spec;
mod stats;
mod window_field;

pub use change::TcpChange;
pub use congestion::CongestionControlSpec;
pub use delivery_rate::{LostPacket, RateSample};
pub use loss_detection::{DuplicateAcksSpec, LossDetectionSpec, RackSpec};
pub use marking::{Marked, PriorityMarkingSpec, WindowInRecovery};
pub use pacing::PacingSpec;
pub use receiver::{Receiver, ReceiverState};
pub use recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};
pub use sender::{LimitedBy, Sender, SenderPhase, SenderState};
pub use slow_start::{HystartPlusPlusSpec, HystartSpec, SlowStartSpec, StandardSpec};
pub use small_queue::SmallQueueSpec;
pub use spec::{
    ByteCountingSpec, DelayedAckSpec, Handshake, LossReduces, ReceiveOffloadSpec, RtoSpec, RttSamples,
    SackSpec, TcpSpec,
};
pub use stats::{ReceiverStats, SenderStats};
