//! Explicit congestion notification, RFC 3168, section 6: the state of either end, and its rules.
//!
//! Both ends use ECN if both want it: an ECN-setup SYN carries ECE and CWR, an ECN-setup SYN-ACK carries ECE alone (6.1.1).
//! Without handshake, `tcp.ecn` is taken as agreed.

use wifair_core::{Ecn, Packet, TcpFlags};

use crate::seq;

/// Flags of an ECN-setup SYN (RFC 3168, 6.1.1).
pub(crate) const SETUP_SYN: TcpFlags = TcpFlags::from_bits(TcpFlags::ECE.bits() | TcpFlags::CWR.bits());

/// True for an ECN-setup SYN-ACK. A peer that reflects unknown flags sets CWR too (6.1.1.2).
pub(crate) fn is_setup_syn_ack(flags: TcpFlags) -> bool {
    flags.contains(TcpFlags::ECE) && !flags.contains(TcpFlags::CWR)
}

/// A sender's state of ECN.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnSender {
    /// ECN is agreed on.
    pub(crate) on: bool,
    /// The window was reduced, and the data sent before that is not all acknowledged. A mark on it or its loss causes no
    /// further reduction: the window is reduced once for the data of one window (6.1.2). So an ACK that covers the last of it
    /// and the first segment after it says nothing new; if the latter was marked too, the next ACK still echoes that.
    pub(crate) reduced: bool,
    /// The next new data carries CWR.
    pub(crate) cwr_due: bool,
    /// The window is one segment and was to be reduced: no new data is sent until the timer expires (6.1.2).
    pub(crate) paused: bool,
    /// Highest sequence number sent when the window was reduced, plus one.
    reduced_at: u32,
}

impl EcnSender {
    /// Records that the window was reduced, for any reason, with data sent up to `max`.
    pub(crate) fn note_reduction(&mut self, max: u32) {
        if self.on {
            self.reduced = true;
            self.cwr_due = true;
            self.reduced_at = max;
        }
    }

    /// True if nothing is to be signalled and no reduction is in progress.
    pub(crate) fn is_quiet(&self) -> bool {
        !(self.reduced | self.cwr_due | self.paused)
    }

    /// Updates the state when everything before `una` is acknowledged.
    pub(crate) fn advance(&mut self, una: u32) {
        if self.reduced && !seq::before(una, self.reduced_at) {
            self.reduced = false;
        }
    }
}

/// A receiver's state of ECN.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcnReceiver {
    /// ECN is agreed on.
    pub(crate) on: bool,
    /// ECE is set on every ACK until CWR arrives (6.1.3).
    latched: bool,
    /// A marked segment has arrived since the last ACK. It is echoed even if CWR arrived right after it, with the same delayed
    /// ACK (6.1.3: "any of the data packets being acknowledged").
    unacknowledged: bool,
}

impl EcnReceiver {
    /// `on`: ECN is agreed on from the start.
    pub(crate) fn new(on: bool) -> EcnReceiver {
        EcnReceiver { on, ..EcnReceiver::default() }
    }

    /// True if there is nothing to echo.
    pub(crate) fn is_quiet(&self) -> bool {
        !(self.latched | self.unacknowledged)
    }

    /// Handles data that has arrived within the window. Returns whether it was marked.
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

    /// The ECE flag of an ACK that is sent now.
    pub(crate) fn echo(&mut self) -> TcpFlags {
        let marked = std::mem::take(&mut self.unacknowledged);
        if self.latched || marked { TcpFlags::ECE } else { TcpFlags::NONE }
    }
}
