use std::collections::VecDeque;

use wifair_core::Time;

use crate::delivery_rate::DeliveryRateEstimator;
use crate::reassembly::Reassembly;
use crate::seq;

/// An outstanding segment and its latest transmission (RFC 8985, 5.1). It starts where the one before ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// One past its last sequence number (Segment.end_seq).
    pub(crate) end: u32,
    /// Sent more than once.
    pub(crate) retransmitted: bool,
    /// Whether it ends with a FIN. No SACK block covers a FIN, since the receiver keeps one without its sequence number.
    fin: bool,
    sacked: bool,
    /// Found to be lost since the latest transmission.
    lost: bool,
    /// Number of its latest transmission, which orders those of one time; it wraps.
    pub(crate) transmission: u32,
    /// When it was last sent (Segment.xmit_ts).
    pub(crate) sent: Time,
}

/// A transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct SegmentTransmission {
    number: u32,
    /// The segment's number.
    segment: u32,
}

/// Result of a search for lost segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// A segment was found to be lost.
    pub(crate) lost: bool,
    /// When the lost segment that was last sent was sent, among those sent more than once.
    pub(crate) retransmission: Option<Time>,
    /// When all those that may be lost are.
    pub(crate) wait: Option<Time>,
}

/// All outstanding segments, in the order of sequence numbers and in that of their latest transmissions: a search for lost ones
/// looks at none that was sent later than the last delivered one, and at each transmission once or twice.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    /// First unacknowledged sequence number.
    una: u32,
    list: VecDeque<Segment>,
    /// Number of the first in `list`; they are numbered as they are first sent.
    first: u32,
    /// Transmissions, earliest first. One is out of date if its segment is delivered, lost or sent again.
    order: VecDeque<SegmentTransmission>,
    /// Number of the next transmission.
    next: u32,
    /// What the receiver holds beyond a hole.
    held: Reassembly,
    sacked_segments: u32,
    sacked_bytes: u32,
    lost_bytes: u32,
    /// No segment before this number is lost.
    lost_from: u32,
    /// Present if the congestion control goes by delivery rates; by index, like `list`.
    pub(crate) sampler: Option<Box<DeliveryRateEstimator>>,
}

impl Segments {
    /// Nothing is outstanding; the next number to send is `una`.
    pub(crate) fn new(una: u32) -> Segments {
        Segments {
            una,
            list: VecDeque::new(),
            first: 0,
            order: VecDeque::new(),
            next: 0,
            held: Reassembly::default(),
            sacked_segments: 0,
            sacked_bytes: 0,
            lost_bytes: 0,
            lost_from: 0,
            sampler: None,
        }
    }

    /// Number of outstanding segments.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Number of segments that are selectively acknowledged (RACK.segs_sacked).
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// When the first outstanding segment was last sent.
    pub(crate) fn first_sent(&self) -> Option<Time> {
        self.list.front().map(|first| first.sent)
    }

    /// Octets that are selectively acknowledged.
    pub(crate) fn sacked_bytes(&self) -> u32 {
        self.sacked_bytes
    }

    /// Octets lost and not sent again.
    pub(crate) fn lost_bytes(&self) -> u32 {
        self.lost_bytes
    }

    /// Octets that are neither acknowledged nor selectively acknowledged.
    pub(crate) fn undelivered_bytes(&self) -> u32 {
        let end = self.list.back().map_or(self.una, |segment| segment.end);
        end.wrapping_sub(self.una) - self.sacked_bytes
    }

    /// Octets assumed to be in the network: neither delivered nor lost.
    pub(crate) fn pipe(&self) -> u32 {
        self.undelivered_bytes() - self.lost_bytes
    }

    /// Sequence numbers of a segment.
    pub(crate) fn range(&self, index: usize) -> (u32, u32) {
        let start = if index == 0 { self.una } else { self.list[index - 1].end };
        (start, self.list[index].end)
    }

    fn octets(&self, index: usize) -> u32 {
        let (start, end) = self.range(index);
        end.wrapping_sub(start)
    }

    /// Adds a new segment that ends at `end`, perhaps with a FIN; returns its length.
    pub(crate) fn sent(&mut self, end: u32, fin: bool, now: Time) -> u32 {
        let segment = self.first.wrapping_add(self.list.len() as u32);
        let transmission = self.number_of_transmission(segment);
        let (retransmitted, sacked, lost) = (false, false, false);
        let (before, start) = (self.pipe(), self.list.back().map_or(self.una, |last| last.end));
        self.list.push_back(Segment { end, retransmitted, fin, sacked, lost, transmission, sent: now });
        let octets = end.wrapping_sub(start);
        if let Some(sampler) = &mut self.sampler {
            sampler.sent(octets, before, before + octets, now);
        }
        octets
    }

    /// Records that a segment is sent again.
    pub(crate) fn sent_again(&mut self, index: usize, now: Time) {
        let octets = self.octets(index);
        let before = self.pipe();
        let transmission = self.number_of_transmission(self.first.wrapping_add(index as u32));
        let segment = &mut self.list[index];
        if std::mem::replace(&mut segment.lost, false) {
            self.lost_bytes -= octets;
        }
        *segment = Segment { retransmitted: true, transmission, sent: now, ..*segment };
        let after = self.pipe();
        if let Some(sampler) = &mut self.sampler {
            sampler.sent_again(index, before, after, now);
        }
    }

    fn number_of_transmission(&mut self, segment: u32) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.order.push_back(SegmentTransmission { number, segment });
        number
    }

    /// Removes what is before `ack`; calls `delivered` with each whole segment that was not delivered before, in order.
    pub(crate) fn acknowledge(&mut self, ack: u32, mut delivered: impl FnMut(Segment)) {
        while let Some(&segment) = self.list.front() {
            if seq::after(segment.end, ack) {
                break;
            }
            self.shorten_first(segment.end);
            self.sacked_segments -= u32::from(segment.sacked);
            self.list.pop_front();
            self.first = self.first.wrapping_add(1);
            if let Some(sampler) = &mut self.sampler {
                if !segment.sacked {
                    sampler.deliver(0, segment.transmission, segment.retransmitted);
                }
                sampler.forget_first();
            }
            if !segment.sacked {
                delivered(segment);
            }
        }
        if seq::after(ack, self.una) {
            self.shorten_first(ack);
        }
        if !self.held.is_empty() {
            self.held.advance(ack);
        }
    }

    /// Moves the start of the first segment to `to`.
    fn shorten_first(&mut self, to: u32) {
        let octets = to.wrapping_sub(self.una);
        self.una = to;
        let Some(segment) = self.list.front() else { return };
        if segment.sacked {
            self.sacked_bytes -= octets;
        }
        if segment.lost {
            self.lost_bytes -= octets;
        }
    }

    /// Adds the block `[start, end)`, which lies beyond the acknowledgement number; calls `delivered` with each segment that is
    /// now wholly selectively acknowledged and was not before, in order.
    pub(crate) fn select(&mut self, start: u32, end: u32, mut delivered: impl FnMut(Segment)) {
        let mut from = start;
        while seq::before(from, end) {
            let (news_end, next) = match self.held.beyond(from).next() {
                Some((held_start, held_end)) if !seq::after(held_start, from) => (from, held_end),
                Some((held_start, held_end)) if seq::before(held_start, end) => (held_start, held_end),
                _ => (end, end),
            };
            if news_end != from {
                self.select_news(from, news_end, (start, end), &mut delivered);
            }
            from = next;
        }
        self.held.insert(start, end);
    }

    /// Marks the segments within `block` that overlap its part `[from, to)`, or within it and what is held.
    fn select_news(&mut self, from: u32, to: u32, block: (u32, u32), delivered: &mut impl FnMut(Segment)) {
        let mut index = self.list.partition_point(|segment| !seq::after(segment.end, from));
        while index < self.list.len() {
            let (start, end) = self.range(index);
            if !seq::before(start, to) {
                return;
            }
            let holds =
                |start, end| !seq::before(start, end) || self.held.overlap(start, end) == Some((start, end));
            let segment = self.list[index];
            let told_end = end.wrapping_sub(u32::from(segment.fin && end.wrapping_sub(start) > 1));
            if !segment.sacked && holds(start, block.0) && holds(block.1, told_end) {
                delivered(segment);
                if let Some(sampler) = &mut self.sampler {
                    sampler.deliver(index, segment.transmission, segment.retransmitted);
                }
                let octets = end.wrapping_sub(start);
                if segment.lost {
                    self.lost_bytes -= octets;
                }
                self.sacked_bytes += octets;
                self.sacked_segments += 1;
                self.list[index] = Segment { sacked: true, lost: false, ..segment };
            }
            index += 1;
        }
    }

    /// RACK_detect_loss() (RFC 8985, 6.2): a segment sent before the transmission `latest` is lost once `patience` has passed
    /// since it was sent.
    pub(crate) fn detect(&mut self, latest: u32, patience: Time, now: Time) -> Detected {
        let mut found = Detected::default();
        // Most often everything before `latest` is delivered.
        while let Some(first) = self.order.front().filter(|first| seq::before(first.number, latest)) {
            if self.awaited(first).is_some() {
                break;
            }
            self.order.pop_front();
        }
        if self.order.front().is_none_or(|first| !seq::before(first.number, latest)) {
            return found;
        }
        let reached = self.order.partition_point(|other| seq::before(other.number, latest));
        let mut kept = 0;
        for at in 0..reached {
            let transmission = self.order[at];
            let Some((index, segment)) = self.awaited(&transmission) else { continue };
            let lost_at = segment.sent + patience;
            if lost_at <= now {
                found.lost = true;
                if segment.retransmitted {
                    found.retransmission = found.retransmission.max(Some(segment.sent));
                }
                self.lose(index);
            } else {
                found.wait = found.wait.max(Some(lost_at));
                self.order[kept] = transmission;
                kept += 1;
            }
        }
        self.order.drain(kept..reached);
        found
    }

    /// The segment of a transmission, and its index, unless it is delivered, lost or sent again.
    fn awaited(&self, transmission: &SegmentTransmission) -> Option<(usize, Segment)> {
        let index = transmission.segment.wrapping_sub(self.first) as usize;
        let segment = *self.list.get(index)?;
        let is_latest = segment.transmission == transmission.number;
        (is_latest && !segment.sacked && !segment.lost).then_some((index, segment))
    }

    /// RACK_mark_losses_on_RTO() (RFC 8985, 6.3): the first segment is lost, and each that was sent at least `patience` ago. A
    /// receiver that has discarded SACKed data does not acknowledge the first although it has SACKed it; then all is lost (RFC
    /// 2018, section 8).
    pub(crate) fn lose_on_timeout(&mut self, patience: Time, now: Time) {
        if self.list.front().is_some_and(|first| first.sacked) {
            self.held.clear();
            (self.sacked_segments, self.sacked_bytes) = (0, 0);
            self.list.iter_mut().for_each(|segment| segment.sacked = false);
        }
        for index in 0..self.list.len() {
            let segment = self.list[index];
            if !segment.sacked && !segment.lost && (index == 0 || segment.sent + patience <= now) {
                self.lose(index);
            }
        }
    }

    fn lose(&mut self, index: usize) {
        let number = self.first.wrapping_add(index as u32);
        if self.lost_bytes == 0 || seq::before(number, self.lost_from) {
            self.lost_from = number;
        }
        let (start, end) = self.range(index);
        self.lost_bytes += end.wrapping_sub(start);
        self.list[index].lost = true;
        if let Some(sampler) = &mut self.sampler {
            sampler.lose(index, start);
        }
    }

    /// The last segment with data, or a FIN alone if no other is outstanding.
    pub(crate) fn last(&self) -> Option<usize> {
        let last = self.list.len().checked_sub(1)?;
        let fin_alone = self.list[last].fin && self.octets(last) == 1;
        Some(if fin_alone { last.saturating_sub(1) } else { last })
    }

    /// The first lost segment that was not sent again.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        if self.lost_bytes == 0 {
            return None;
        }
        let from = seq::later(self.lost_from, self.first).wrapping_sub(self.first) as usize;
        let index = from + self.list.range(from..).position(|segment| segment.lost)?;
        self.lost_from = self.first.wrapping_add(index as u32);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is held is forgotten once it is acknowledged, so that it neither grows nor comes back when numbers wrap.
    #[test]
    fn what_is_acknowledged_is_no_longer_held() {
        let mut segments = Segments::new(0);
        for end in 1..=4 {
            segments.sent(1_000 * end, false, Time::ZERO);
        }
        let mut delivered = vec![];
        segments.select(1_000, 2_000, |segment| delivered.push(segment.end));
        segments.select(3_000, 4_000, |segment| delivered.push(segment.end));
        assert_eq!(segments.held.beyond(0).collect::<Vec<_>>(), [(1_000, 2_000), (3_000, 4_000)]);
        segments.acknowledge(2_000, |segment| delivered.push(segment.end));
        assert_eq!(segments.held.beyond(0).collect::<Vec<_>>(), [(3_000, 4_000)]);
        segments.acknowledge(4_000, |segment| delivered.push(segment.end));
        assert!(segments.held.is_empty());
        assert_eq!(delivered, [2_000, 4_000, 1_000, 3_000]);
    }
}
