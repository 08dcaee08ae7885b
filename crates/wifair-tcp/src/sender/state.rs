//! States and phases of a sender, and what limits it.

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
pub enum SenderPhase {
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
pub enum LimitedBy {
    /// It has nothing more to send.
    Application,
    /// The receiver's window is full, and the congestion window would allow more.
    ReceiverWindow,
    /// The congestion window is full, or a loss is being repaired.
    CongestionWindow,
}
