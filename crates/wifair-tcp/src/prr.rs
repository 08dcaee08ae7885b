//! Proportional rate reduction: RFC 9937 (December 2025), which replaces RFC 6937. Its names are in brackets.
//!
//! The idea: what is sent during fast recovery is clocked by what is delivered. While more is in flight than the new window, a
//! share of it, so that the reduction takes a round trip; below that as much, and a segment more where the ACK shows progress.

/// State of a recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// In flight at the start [RecoverFS].
    flight: u32,
    /// [prr_delivered]
    delivered: u32,
    /// [prr_out]
    out: u32,
}

impl Prr {
    /// Starts with `flight` bytes neither acknowledged nor selectively acknowledged before the ACK that starts the recovery
    /// (6.1).
    pub(crate) fn new(flight: u32) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// Handles an ACK that delivers `delivered` bytes (6.2) and leaves `pipe` in flight; returns the window. `safe`: it
    /// advances and indicates no further loss [SafeACK].
    pub(crate) fn on_ack(&mut self, delivered: u32, pipe: u32, ssthresh: u32, safe: bool, mss: u32) -> u32 {
        self.delivered = self.delivered.saturating_add(delivered);
        let mut count = if pipe > ssthresh {
            let share = (u64::from(self.delivered) * u64::from(ssthresh)).div_ceil(u64::from(self.flight));
            share.saturating_sub(u64::from(self.out)) as u32
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            limit.min(ssthresh - pipe)
        };
        if self.out == 0 && count == 0 {
            count = mss; // the fast retransmit
        }
        (pipe + count).max(mss)
    }

    /// Counts `bytes` that have been sent.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// RFC 9937, 6 and 9: without safe ACKs no more is sent than delivered, but for the segment that starts the recovery,
        /// and a window that loses nothing more arrives at ssthresh.
        #[test]
        fn sends_no_more_than_is_delivered_and_ends_at_the_threshold(
            segments in 4u32..2_000,
            lost in 1u32..50,
            mss in 1u32..1_500,
        ) {
            let lost = lost.min(segments / 4);
            let (flight, ssthresh) = (segments * mss, segments * mss / 2);
            let mut prr = Prr::new(flight);
            let (mut pipe, mut sent, mut delivered) = (flight - lost * mss, 0, 0);
            for _ in lost..segments {
                pipe -= mss;
                delivered += mss;
                let window = prr.on_ack(mss, pipe, ssthresh, false, mss);
                while pipe + mss <= window {
                    prr.sent(mss);
                    (pipe, sent) = (pipe + mss, sent + mss);
                }
                prop_assert!(sent <= delivered.max(mss));
            }
            let end = ssthresh.min(flight - lost * mss);
            prop_assert!(pipe.abs_diff(end) <= 2 * mss, "{pipe} in flight at the end, {end} wanted");
        }
    }
}
