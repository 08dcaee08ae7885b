//! Explicit congestion notification, RFC 3168, section 6: the state that either end keeps, and the rules that need it.
//!
//! Both ends use ECN if both want it: an ECN-setup SYN carries ECE and CWR, an ECN-setup SYN-ACK carries ECE alone
//! (6.1.1). Without handshake what `tcp.ecn` says is taken as agreed.

use wifair_core::{Ecn, Packet, TcpFlags};

use crate::seq;

/// Flags of an ECN-setup SYN (RFC 3168, 6.1.1).
pub(crate) const SETUP_SYN: TcpFlags = TcpFlags::from_bits(TcpFlags::ECE.bits() | TcpFlags::CWR.bits());

/// True for an ECN-setup SYN-ACK. A peer that reflects what it does not understand sets CWR too (6.1.1.2).
pub(crate) fn is_setup_syn_ack(flags: TcpFlags) -> bool {
    flags.contains(TcpFlags::ECE) && !flags.contains(TcpFlags::CWR)
}

/// What a sender knows of congestion that was shown to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnSender {
    /// ECN is agreed on.
    pub(crate) on: bool,
    /// The window was reduced, and what was sent before that is not all acknowledged: a mark on it or its loss is no
    /// news, the window is reduced once for what is sent in one window (6.1.2). So an ACK that covers the last of it and
    /// the first segment after it says nothing new; if the latter was marked too, the next ACK still echoes that.
    pub(crate) reduced: bool,
    /// The next new data carries CWR.
    pub(crate) cwr_due: bool,
    /// The window is one segment and was to be reduced: nothing new is sent until the timer expires (6.1.2).
    pub(crate) paused: bool,
    /// Up to here had been sent when the window was reduced.
    reduced_at: u32,
}

impl EcnSender {
    /// The window was reduced, for whatever reason, with data sent up to `max`.
    pub(crate) fn note_reduction(&mut self, max: u32) {
        if self.on {
            self.reduced = true;
            self.cwr_due = true;
            self.reduced_at = max;
        }
    }

    /// There is nothing to tell, and no reduction to be over.
    pub(crate) fn is_quiet(&self) -> bool {
        !(self.reduced | self.cwr_due | self.paused)
    }

    /// Everything before `una` is acknowledged.
    pub(crate) fn advance(&mut self, una: u32) {
        if self.reduced && !seq::before(una, self.reduced_at) {
            self.reduced = false;
        }
    }
}

/// What a receiver has to tell of congestion marks.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnReceiver {
    /// ECN is agreed on.
    pub(crate) on: bool,
    /// ECE goes out on every ACK until CWR comes (6.1.3).
    latched: bool,
    /// A marked segment has arrived since the last ACK. Its echo goes out even if CWR came right after it, with the
    /// same delayed ACK (6.1.3: "any of the data packets being acknowledged").
    unacknowledged: bool,
}

impl EcnReceiver {
    /// `on`: ECN is agreed on from the start.
    pub(crate) fn new(on: bool) -> EcnReceiver {
        EcnReceiver { on, ..EcnReceiver::default() }
    }

    /// There is nothing to tell.
    pub(crate) fn is_quiet(&self) -> bool {
        !(self.latched | self.unacknowledged)
    }

    /// Data has arrived within the window. True where it was marked.
    pub(crate) fn on_data(&mut self, packet: &Packet) -> bool {
        if packet.flags.contains(TcpFlags::CWR) {
            self.latched = false;
        }
        let marked = packet.ecn() == Ecn::Ce;
        if marked {
            (self.latched, self.unacknowledged) = (true, true);
        }
        marked
    }

    /// The flag of an ACK that goes out now.
    pub(crate) fn echo(&mut self) -> TcpFlags {
        let marked = std::mem::take(&mut self.unacknowledged);
        if self.latched || marked { TcpFlags::ECE } else { TcpFlags::NONE }
    }
}
