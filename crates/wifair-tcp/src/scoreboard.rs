//! The sender's side of selective acknowledgement: RFC 6675, "A Conservative Loss Recovery Algorithm Based on Selective
//! Acknowledgment (SACK) for TCP" (August 2012). Its names: HighACK + 1 is `una` here, HighData + 1 is `max`.

use wifair_core::Packet;

use crate::reassembly::Reassembly;
use crate::seq;

/// RFC 6675, section 2: DupThresh.
const DUPLICATE_THRESHOLD: usize = 3;

/// The ranges that the receiver has selectively acknowledged, and the state of loss recovery derived from them (RFC 6675,
/// sections 3 and 4).
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: Reassembly,
    /// Octets assumed to be in the network (pipe): the last computed value plus what was sent since.
    pipe: u32,
    /// HighRxt + 1: everything unacknowledged before it has been retransmitted in this recovery.
    high_rxt: u32,
    /// RescueRxt + 1.
    rescue_rxt: u32,
}

impl Scoreboard {
    /// Update(): adds the blocks of an ACK within `[una, max]`. Returns true if they cover octets that were neither
    /// acknowledged nor SACKed before: RFC 6675's duplicate acknowledgement.
    pub(crate) fn update(&mut self, packet: &Packet, max: u32) -> bool {
        let ack = packet.ack;
        if !self.sacked.is_empty() {
            self.sacked.advance(ack);
        }
        let mut news = false;
        for (start, end) in packet.sack.iter(ack) {
            // A block that is not above the ACK and below `max` is a D-SACK, old or invalid.
            if seq::after(start, ack) && seq::before(start, end) && !seq::after(end, max) {
                news |= self.sacked.insert(start, end);
            }
        }
        news
    }

    /// Discards all SACK information after a timeout, since the receiver may have discarded the data (RFC 2018, section 8).
    pub(crate) fn forget(&mut self) {
        self.sacked.clear();
    }

    /// Octets SACKed before `seq`, which is in no interval.
    pub(crate) fn sacked_before(&self, seq: u32) -> u32 {
        let below = self.sacked.iter().take_while(|&(_, end)| !seq::after(end, seq));
        below.map(|(start, end)| end.wrapping_sub(start)).sum()
    }

    /// Returns `seq`, or the end of the interval that contains it.
    pub(crate) fn skip(&self, seq: u32) -> u32 {
        match self.sacked.beyond(seq).next() {
            Some((start, end)) if !seq::after(start, seq) => end,
            _ => seq,
        }
    }

    /// Upper bound of a segment that starts at `seq` and repeats nothing that the receiver holds.
    pub(crate) fn hole_end(&self, seq: u32, max: u32) -> u32 {
        self.sacked.beyond(seq).next().map_or(max, |(start, _)| start)
    }

    /// IsLost() is true for everything that is not SACKed before this number, and for nothing from it on: three intervals, or
    /// more than two segments, are SACKed above.
    fn lost_before(&self, mss: u32) -> Option<u32> {
        let mut octets = 0;
        for (count, (start, end)) in self.sacked.iter().rev().enumerate() {
            octets += end.wrapping_sub(start);
            if count + 1 >= DUPLICATE_THRESHOLD || octets > (DUPLICATE_THRESHOLD as u32 - 1) * mss {
                return Some(start);
            }
        }
        None
    }

    /// IsLost(HighACK + 1).
    pub(crate) fn is_first_lost(&self, una: u32, mss: u32) -> bool {
        self.lost_before(mss).is_some_and(|before| seq::before(una, before))
    }

    /// Starts recovery with what ends at `end` retransmitted (section 5, step 4.3).
    pub(crate) fn start_recovery(&mut self, end: u32) {
        (self.high_rxt, self.rescue_rxt) = (end, end);
    }

    /// SetPipe(): counts octets that are not SACKed unless they are lost, and once more if they were retransmitted.
    pub(crate) fn set_pipe(&mut self, una: u32, max: u32, mss: u32) {
        let lost_before = self.lost_before(mss).unwrap_or(una);
        let (mut pipe, mut from) = (0, una);
        for (start, end) in self.sacked.iter().chain([(max, max)]) {
            let octets = start.wrapping_sub(from);
            if !seq::before(from, lost_before) {
                pipe += octets;
            }
            if seq::after(self.high_rxt, from) {
                pipe += octets.min(self.high_rxt.wrapping_sub(from));
            }
            from = end;
        }
        self.pipe = pipe;
    }

    /// Counts `octets` that have been sent.
    pub(crate) fn sent(&mut self, octets: u32) {
        self.pipe += octets;
    }

    /// Octets assumed to be in the network.
    pub(crate) fn pipe(&self) -> u32 {
        self.pipe
    }

    /// NextSeg(), rule 1: the first lost octet that was not retransmitted, and the end of its hole.
    pub(crate) fn next_lost(&self, una: u32, mss: u32) -> Option<(u32, u32)> {
        let lost_before = self.lost_before(mss)?;
        self.next_unsacked(una).filter(|&(start, _)| seq::before(start, lost_before))
    }

    /// NextSeg(), rule 3: the first octet that is not SACKed, has SACKed ones above it, and was not retransmitted.
    pub(crate) fn next_unsacked(&self, una: u32) -> Option<(u32, u32)> {
        let mut from = seq::later(una, self.high_rxt);
        for (start, end) in self.sacked.beyond(from) {
            if seq::before(from, start) {
                return Some((from, start));
            }
            from = end;
        }
        None
    }

    /// NextSeg(), rule 4: the last outstanding segment that is not SACKed, once each time that everything up to the last such
    /// segment is acknowledged. `recovery_point`: RecoveryPoint + 1; the last octet before `max` may be a FIN, which is sent
    /// with data.
    pub(crate) fn rescue(
        &mut self,
        una: u32,
        max: u32,
        mss: u32,
        recovery_point: u32,
        fin: bool,
    ) -> Option<(u32, u32)> {
        if una == max || !seq::after(una, self.rescue_rxt) {
            return None;
        }
        let (mut start, mut end) = (una, max);
        for (sacked_start, sacked_end) in self.sacked.iter().rev() {
            if sacked_end != end {
                start = sacked_end;
                break;
            }
            end = sacked_start;
        }
        self.rescue_rxt = recovery_point;
        let octets = end.wrapping_sub(start);
        let fin = u32::from(fin && end == max && octets > 1);
        let last = (octets - fin - 1) % mss + 1 + fin;
        Some((end.wrapping_sub(last), end))
    }

    /// Records that the last retransmission ends at `end`.
    pub(crate) fn sent_again(&mut self, end: u32) {
        self.high_rxt = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::{SackBlocks, TcpFlags};

    use super::*;

    /// RFC 6675, section 4, octet by octet, with sequence numbers from 0 and without wrapping.
    struct Octets {
        sacked: Vec<bool>,
        una: u32,
        max: u32,
        mss: u32,
        high_rxt: u32,
    }

    impl Octets {
        fn is_sacked(&self, octet: u32) -> bool {
            self.sacked[octet as usize]
        }

        fn is_lost(&self, octet: u32) -> bool {
            let above = || octet + 1..self.max;
            let octets = above().filter(|&octet| self.is_sacked(octet)).count() as u32;
            let ranges =
                above().filter(|&o| self.is_sacked(o) && (o == octet + 1 || !self.is_sacked(o - 1))).count();
            ranges >= 3 || octets > 2 * self.mss
        }

        fn pipe(&self) -> u32 {
            let unsacked = (self.una..self.max).filter(|&octet| !self.is_sacked(octet));
            unsacked.map(|o| u32::from(!self.is_lost(o)) + u32::from(o < self.high_rxt)).sum()
        }

        fn next(&self, lost_only: bool) -> Option<u32> {
            let highest = (self.una..self.max).rev().find(|&octet| self.is_sacked(octet))?;
            (self.una..highest)
                .find(|&o| !self.is_sacked(o) && o >= self.high_rxt && (!lost_only || self.is_lost(o)))
        }

        fn highest_unsacked(&self) -> Option<u32> {
            (self.una..self.max).rev().find(|&octet| !self.is_sacked(octet))
        }
    }

    fn ack(number: u32, blocks: &[(u32, u32)]) -> Packet {
        Packet {
            connection: Default::default(),
            tuple: wifair_core::FiveTuple::default(),
            seq: 0,
            ack: number,
            window_bytes: 0,
            payload_bytes: 0,
            header_bytes: 40,
            flags: TcpFlags::ACK,
            ds_field: 0,
            sack: SackBlocks::new(number, blocks),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_rfc_octet_by_octet(
            base: u32,
            mss in 1u32..8,
            max in 2u32..80,
            acks in prop::collection::vec((0u32..8, 1u32..80, 1u32..12), 1..20),
            rxt in prop::collection::vec(0u32..80, 20),
        ) {
            let mut board = Scoreboard::default();
            let mut octets = Octets { sacked: vec![false; max as usize], una: 0, max, mss, high_rxt: 0 };
            for (&(advance, start, length), &rxt) in acks.iter().zip(&rxt) {
                // An ACK that may acknowledge more, and has a block that is not contiguous with it.
                octets.una = (octets.una + if advance < 3 { advance } else { 0 }).min(max - 1);
                while octets.una < max - 1 && octets.is_sacked(octets.una) {
                    octets.una += 1;
                }
                if octets.is_sacked(octets.una) {
                    break;
                }
                let (start, end) = (start.max(octets.una + 1), (start + length).min(max));
                let mut news = false;
                let valid = start < end;
                if valid {
                    for octet in start..end {
                        news |= !std::mem::replace(&mut octets.sacked[octet as usize], true);
                    }
                }
                let at = |octet: u32| base.wrapping_add(octet);
                let blocks = if valid { vec![(at(start), at(end))] } else { vec![] };
                prop_assert_eq!(board.update(&ack(at(octets.una), &blocks), at(max)), news);

                octets.high_rxt = octets.high_rxt.max(rxt.min(max));
                board.start_recovery(at(octets.high_rxt));
                let (una, end) = (at(octets.una), at(max));
                board.set_pipe(una, end, mss);
                prop_assert_eq!(board.pipe(), octets.pipe());
                prop_assert_eq!(board.is_first_lost(una, mss), octets.is_lost(octets.una));
                let hole = |from: Option<u32>| from.map(|from| {
                    (at(from), at((from..max).find(|&octet| octets.is_sacked(octet)).unwrap_or(max)))
                });
                prop_assert_eq!(board.next_lost(una, mss), hole(octets.next(true)));
                prop_assert_eq!(board.next_unsacked(una), hole(octets.next(false)));
                let rescued = board.rescue(una, end, mss, end, false);
                if octets.una > octets.high_rxt {
                    let (start, last) = rescued.expect("HighACK is beyond RescueRxt");
                    prop_assert_eq!(last.wrapping_sub(1), at(octets.highest_unsacked().unwrap()));
                    prop_assert!(last.wrapping_sub(start) <= mss && board.skip(start) == start);
                    prop_assert_eq!(board.rescue(una, end, mss, end, false), None);
                } else {
                    prop_assert_eq!(rescued, None);
                }
                let held = (octets.una..max).filter(|&octet| octets.is_sacked(octet)).count() as u32;
                prop_assert_eq!(board.sacked_before(end), held);
            }
        }
    }
}
