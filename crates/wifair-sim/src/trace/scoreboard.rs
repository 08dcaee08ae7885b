//! What a Block Ack says: the recipient's scoreboard in full-state operation (802.11-2020, 10.25.6.3; 10.25.6.5 for the
//! response).

/// Sequence numbers count modulo this.
const SEQUENCES: u16 = 4_096;

/// The MPDUs of one agreement that its recipient has decoded.
#[derive(Debug)]
pub(super) struct BlockAckScoreboard {
    /// WinStartR.
    start: u16,
    /// WinSizeR.
    window: u16,
    /// By sequence number.
    received: SequenceSet,
}

impl BlockAckScoreboard {
    pub fn new(window: u16) -> BlockAckScoreboard {
        BlockAckScoreboard { start: 0, window, received: SequenceSet::default() }
    }

    /// Handles an MPDU that the recipient has decoded.
    pub fn receive(&mut self, sequence: u16) {
        let ahead = self.ahead(sequence);
        if ahead >= SEQUENCES / 2 {
            return; // before the window
        }
        if ahead >= self.window {
            self.move_by(ahead + 1 - self.window);
        }
        self.received.set(sequence);
    }

    /// Handles a Block Ack Request with this starting sequence number.
    pub fn request(&mut self, start: u16) {
        let ahead = self.ahead(start);
        if ahead < SEQUENCES / 2 {
            self.move_by(ahead);
        }
    }

    /// Starting sequence number of a Block Ack.
    pub fn start(&self) -> u16 {
        self.start
    }

    /// Appends the bitmap of a Block Ack, as long as the window requires; returns the value of the fragment number subfield,
    /// which gives its length (Table 9-28 of 802.11-2020, with 802.11ax and be).
    pub fn write(&self, bytes: &mut Vec<u8>) -> u16 {
        let (bits, code): (u16, u16) = match self.window {
            0..=64 => (64, 0),
            65..=256 => (256, 4),
            257..=512 => (512, 8),
            _ => (1_024, 10),
        };
        bytes.extend((0..bits / 8).map(|byte| {
            let is_set = |bit| {
                let place = 8 * byte + bit;
                place < self.window && self.received.has((self.start + place) % SEQUENCES)
            };
            (0..8).fold(0, |all, bit| all | u8::from(is_set(bit)) << bit)
        }));
        code
    }

    fn ahead(&self, sequence: u16) -> u16 {
        (sequence + SEQUENCES - self.start) % SEQUENCES
    }

    /// Moves the window; the numbers that enter it have not been received.
    fn move_by(&mut self, places: u16) {
        for place in 0..places.min(self.window) {
            self.received.clear((self.start + place) % SEQUENCES);
        }
        self.start = (self.start + places) % SEQUENCES;
    }
}

/// A set of sequence numbers.
#[derive(Debug)]
pub(super) struct SequenceSet([u64; 64]);

impl Default for SequenceSet {
    fn default() -> SequenceSet {
        SequenceSet([0; 64])
    }
}

impl SequenceSet {
    pub fn has(&self, sequence: u16) -> bool {
        self.0[usize::from(sequence / 64)] >> (sequence % 64) & 1 == 1
    }

    pub fn set(&mut self, sequence: u16) {
        self.0[usize::from(sequence / 64)] |= 1 << (sequence % 64);
    }

    pub fn clear(&mut self, sequence: u16) {
        self.0[usize::from(sequence / 64)] &= !(1 << (sequence % 64));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the rules with numbers that do not wrap.
        #[test]
        fn agrees_with_sets(
            window in prop_oneof![1u16..70, 250u16..260, 500u16..520, 1_020u16..1_025],
            steps in prop::collection::vec((0u8..10, 0u64..1_200), 1..400),
        ) {
            let (mut scoreboard, mut start, mut received) = (BlockAckScoreboard::new(window), 0, BTreeSet::new());
            let wide = u64::from(window);
            for (what, ahead) in steps {
                let sequence = (start + ahead).saturating_sub(wide / 4);
                let on_air = (sequence % 4_096) as u16;
                if what == 0 {
                    scoreboard.request(on_air);
                    start = start.max(sequence);
                } else {
                    scoreboard.receive(on_air);
                    if sequence >= start {
                        received.insert(sequence);
                        start = start.max((sequence + 1).saturating_sub(wide));
                    }
                }
                received = received.split_off(&start);
                prop_assert_eq!(u64::from(scoreboard.start()), start % 4_096);
                let mut bytes = vec![];
                let code = scoreboard.write(&mut bytes);
                let lengths = [(0, 8), (4, 32), (8, 64), (10, 128)];
                prop_assert!(lengths.contains(&(code, bytes.len())));
                prop_assert!(bytes.len() * 8 >= window.into());
                let told: BTreeSet<u64> = (0..8 * bytes.len() as u64)
                    .filter(|place| bytes[*place as usize / 8] >> (place % 8) & 1 == 1)
                    .map(|place| start + place)
                    .collect();
                prop_assert_eq!(&told, &received);
            }
        }
    }
}
