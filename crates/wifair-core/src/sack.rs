use std::fmt;

/// The SACK blocks of a packet (RFC 2018): ranges of sequence numbers, `[start, end)`, that the receiver holds beyond a hole.
/// The most recently changed range comes first. The first block may be a D-SACK (RFC 2883) instead: a range received a second
/// time, which lies before the acknowledgement number or within the second block.
///
/// Every range is exact to the byte. Blocks are stored in twelve bytes, as distances from the packet's acknowledgement number.
/// Three blocks fit if all lie within 64 KiB of it, as many as a TCP header with timestamps has room for; two fit if one is
/// farther, up to 16 MiB. This keeps packets without SACK small.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Number of blocks, and the bits below.
    header: u8,
    distances: [u8; 12],
}

const COUNT: u8 = 0b11;
/// Two blocks of 3 + 3 bytes instead of three of 2 + 2.
const WIDE: u8 = 1 << 2;
/// The first block starts before the acknowledgement number; its distance counts down.
const BELOW: u8 = 1 << 3;
/// No block: the "SACK permitted" option of a SYN.
const PERMITTED: u8 = 1 << 4;

impl SackBlocks {
    /// No block.
    pub const NONE: SackBlocks = SackBlocks { header: 0, distances: [0; 12] };
    /// The "SACK permitted" option of a SYN or SYN-ACK (RFC 2018, section 2).
    pub const SYN_PERMITTED: SackBlocks = SackBlocks { header: PERMITTED, distances: [0; 12] };
    /// The largest number of blocks that fit.
    pub const MAX_BLOCKS: usize = 3;
    /// The largest distance of a block's start from the acknowledgement number, and the greatest length of a block, in bytes.
    pub const MAX_DISTANCE: u32 = (1 << 24) - 1;

    /// Stores the first of `blocks`, as many as fit, for a packet that acknowledges `ack`. Only the first may begin before
    /// `ack`. No distance and no length may exceed [`SackBlocks::MAX_DISTANCE`].
    pub fn new(ack: u32, blocks: &[(u32, u32)]) -> SackBlocks {
        let below = blocks.first().is_some_and(|&(start, _)| (start.wrapping_sub(ack) as i32) < 0);
        let distances = blocks.iter().enumerate().map(|(i, &(start, end))| {
            let distance = if below && i == 0 { ack.wrapping_sub(start) } else { start.wrapping_sub(ack) };
            (distance, end.wrapping_sub(start))
        });
        let narrow = distances.clone().take(3).all(|(d, length)| d.max(length) <= u32::from(u16::MAX));
        let (room, width) = if narrow { (3, 2) } else { (2, 3) };
        let mut packed = [0; 12];
        for ((distance, length), place) in distances.take(room).zip(packed.chunks_exact_mut(2 * width)) {
            debug_assert!(distance.max(length) <= Self::MAX_DISTANCE);
            place[..width].copy_from_slice(&distance.to_le_bytes()[..width]);
            place[width..].copy_from_slice(&length.to_le_bytes()[..width]);
        }
        let count = blocks.len().min(room) as u8;
        let flag = |bit, on| if on { bit } else { 0 };
        SackBlocks { header: count | flag(WIDE, !narrow) | flag(BELOW, below), distances: packed }
    }

    /// True if there are no blocks.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.header & COUNT == 0
    }

    /// Number of blocks, 0 to 3.
    #[inline]
    pub const fn count(&self) -> usize {
        (self.header & COUNT) as usize
    }

    /// True on a SYN or SYN-ACK that permits selective acknowledgements.
    #[inline]
    pub const fn is_permitted(&self) -> bool {
        self.header & PERMITTED != 0
    }

    /// Bytes that the option takes in a TCP header, padded to words (RFC 2018, section 3).
    pub const fn option_bytes(&self) -> u32 {
        if self.is_empty() { 0 } else { 4 + 8 * self.count() as u32 }
    }

    /// Iterates over the blocks of a packet that acknowledges `ack`, in order, as `(start, end)`.
    pub fn iter(&self, ack: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let width = if self.header & WIDE == 0 { 2 } else { 3 };
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
        self.distances.chunks_exact(2 * width).take(self.count()).enumerate().map(move |(i, place)| {
            let distance = number(&place[..width]);
            let below = i == 0 && self.header & BELOW != 0;
            let start = if below { ack.wrapping_sub(distance) } else { ack.wrapping_add(distance) };
            (start, start.wrapping_add(number(&place[width..])))
        })
    }

    /// Sum of the lengths of all blocks in bytes; overlaps count once per block.
    pub fn bytes(&self) -> u64 {
        self.iter(0).map(|(start, end)| u64::from(end.wrapping_sub(start))).sum()
    }

    /// Returns the D-SACK of a packet that acknowledges `ack`: its first block if that lies before `ack` or within the second
    /// (RFC 2883, section 4).
    pub fn duplicate(&self, ack: u32) -> Option<(u32, u32)> {
        let mut blocks = self.iter(ack);
        let (start, end) = blocks.next()?;
        let within = |(outer_start, outer_end): (u32, u32)| {
            let offset = start.wrapping_sub(outer_start);
            offset < outer_end.wrapping_sub(outer_start)
                && offset.wrapping_add(end.wrapping_sub(start)) <= outer_end.wrapping_sub(outer_start)
        };
        (self.header & BELOW != 0 || blocks.next().is_some_and(within)).then_some((start, end))
    }

    /// True if `newer`, on a packet that acknowledges `newer_ack`, makes these blocks, on a packet that acknowledges `ack`,
    /// redundant: they have no D-SACK, and every block is acknowledged by `newer_ack` or lies within a block of `newer`.
    pub fn are_covered(&self, ack: u32, newer: &SackBlocks, newer_ack: u32) -> bool {
        if self.is_empty() {
            return true;
        }
        let from_newer = |number: u32| number.wrapping_sub(newer_ack) as i32;
        self.duplicate(ack).is_none()
            && self.iter(ack).all(|(start, end)| {
                let (start, end) = (from_newer(start), from_newer(end));
                end <= 0 || newer.iter(newer_ack).any(|(s, e)| from_newer(s) <= start && end <= from_newer(e))
            })
    }

    /// The whole value as numbers, for hashing.
    pub fn words(&self) -> [u64; 2] {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        [word(&self.distances[..8]), word(&self.distances[8..]) << 8 | u64::from(self.header)]
    }
}

impl fmt::Debug for SackBlocks {
    /// Prints the distances from the acknowledgement number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter(0).map(|(start, end)| start as i32..end as i32)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_as_they_went_in() {
        for ack in [0, 1_000_000, u32::MAX - 70_000] {
            let at = |distance: i64| ack.wrapping_add(distance as u32);
            for (blocks, kept) in [
                (vec![], 0),
                (vec![(at(1), at(2))], 1),
                (vec![(at(5_000), at(6_000)), (at(1_460), at(2_920)), (at(65_535), at(131_070))], 3),
                (vec![(at(5_000), at(6_000)), (at(1_460), at(2_920)), (at(65_536), at(65_537))], 2),
                (vec![(at(16_777_215), at(33_554_430)), (at(1), at(65_537))], 2),
                (vec![(at(-1_460), at(0)), (at(1_460), at(2_920)), (at(4_000), at(5_000))], 3),
                (vec![(at(-70_000), at(-68_540)), (at(1_460), at(2_920)), (at(4_000), at(5_000))], 2),
                (vec![(at(10), at(20)), (at(30), at(40)), (at(50), at(60)), (at(70), at(80))], 3),
            ] {
                let sack = SackBlocks::new(ack, &blocks);
                assert_eq!(sack.iter(ack).collect::<Vec<_>>(), blocks[..kept], "{blocks:?} on {ack}");
                assert_eq!((sack.count(), sack.is_empty()), (kept, kept == 0));
            }
        }
    }

    #[test]
    fn what_is_a_duplicate() {
        let duplicate = |blocks: &[(u32, u32)]| SackBlocks::new(1_000, blocks).duplicate(1_000);
        assert_eq!(duplicate(&[]), None);
        assert_eq!(duplicate(&[(1_500, 1_600)]), None);
        assert_eq!(duplicate(&[(900, 1_000)]), Some((900, 1_000)));
        assert_eq!(duplicate(&[(1_500, 1_600), (1_400, 1_700)]), Some((1_500, 1_600)));
        assert_eq!(duplicate(&[(1_500, 1_600), (1_500, 1_600)]), Some((1_500, 1_600)));
        assert_eq!(duplicate(&[(1_500, 1_701), (1_400, 1_700)]), None);
        assert_eq!(duplicate(&[(1_300, 1_350), (1_400, 1_700)]), None);
        assert_eq!(duplicate(&[(1_400, 1_700), (1_500, 1_600)]), None);
    }

    #[test]
    fn what_is_covered() {
        let covered = |old: (u32, &[(u32, u32)]), new: (u32, &[(u32, u32)])| {
            SackBlocks::new(old.0, old.1).are_covered(old.0, &SackBlocks::new(new.0, new.1), new.0)
        };
        assert!(covered((1_000, &[]), (1_000, &[])));
        assert!(covered((1_000, &[(2_000, 3_000)]), (1_000, &[(2_000, 4_000)])));
        assert!(covered((1_000, &[(2_000, 3_000)]), (3_000, &[])), "acknowledged meanwhile");
        assert!(!covered((1_000, &[(2_000, 3_000)]), (2_999, &[])));
        assert!(!covered((1_000, &[(2_000, 3_000), (5_000, 6_000)]), (1_000, &[(2_000, 3_000)])));
        assert!(covered((1_000, &[(2_000, 3_000), (5_000, 6_000)]), (3_000, &[(4_000, 6_000)])));
        assert!(!covered((1_000, &[(900, 1_000)]), (2_000, &[])), "a D-SACK is news");
    }

    #[test]
    fn blocks_have_their_bytes() {
        let bytes = |blocks: &[(u32, u32)]| SackBlocks::new(u32::MAX - 99, blocks).bytes();
        assert_eq!(bytes(&[]), 0);
        assert_eq!(bytes(&[(u32::MAX - 9, 10), (100, 90_100)]), 90_020);
    }

    #[test]
    fn the_option_has_its_length() {
        assert_eq!(SackBlocks::NONE.option_bytes(), 0);
        assert_eq!(SackBlocks::SYN_PERMITTED.option_bytes(), 0);
        assert!(SackBlocks::SYN_PERMITTED.is_empty() && SackBlocks::SYN_PERMITTED.is_permitted());
        assert_eq!(SackBlocks::new(0, &[(1, 2), (3, 4)]).option_bytes(), 20);
    }
}
