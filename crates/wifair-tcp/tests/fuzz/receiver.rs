//! A receiver under arbitrary segments: what it delivers is what has arrived, in order and once; it tells of nothing that it
//! does not hold; it answers with few packets and never stands still with a timer that is due.

use arbitrary::{Result, Unstructured};
use wifair_core::{FiveTuple, Packet, TcpFlags, Time};
use wifair_tcp::{Handshake, Receiver, ReceiverState, TcpSpec};

use crate::common::{MOST_STEPS, distance, pass_time, segment, spec};
use crate::given::{chance, one_of};
use crate::stream::Arrived;

/// Parameters, then segments and times.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Some(spec) = spec(&mut u) else { return };
    let receiver = Receiver::new(&spec, FiveTuple::default());
    let first = spec.initial_sequence.wrapping_add(1);
    let mut account = Account {
        window: spec.receiver_window_bytes(),
        spec: &spec,
        receiver,
        first: (spec.handshake != Handshake::Real).then_some(first),
        arrived: Arrived::default(),
        ends: vec![],
        segments: 0,
        delivered: 0,
    };
    let _ = account.play(&mut u); // bytes that end in the midst of a segment end the input there
}

struct Account<'a> {
    spec: &'a TcpSpec,
    window: u32,
    receiver: Receiver,
    /// Sequence number of the first byte, once known.
    first: Option<u32>,
    arrived: Arrived,
    /// Offsets at which the peer has said that its data ends.
    ends: Vec<u64>,
    /// With payload, so far.
    segments: usize,
    delivered: u64,
}

impl Account<'_> {
    fn play(&mut self, u: &mut Unstructured) -> Result<()> {
        let mss = u32::from(self.spec.mss_bytes);
        let own_first = self.spec.initial_sequence.wrapping_add(1);
        let opening = if self.spec.handshake == Handshake::Ns2 { TcpFlags::NONE } else { TcpFlags::ACK };
        let usual = [TcpFlags::ACK, TcpFlags::ACK, opening, TcpFlags::SYN, TcpFlags::FIN | TcpFlags::ACK];
        let mut now = Time::ZERO;
        for _ in 0..MOST_STEPS {
            if u.is_empty() {
                break;
            }
            pass_time(u, &mut now, self.receiver.deadline())?;
            self.receiver.on_timer(now);
            assert!(self.receiver.deadline() > now, "still due after its timer");
            self.count_delivered(); // with receive offload
            self.answer(now);
            let expected =
                self.first.map_or(u.arbitrary()?, |first| first.wrapping_add(self.delivered as u32));
            let seq = expected.wrapping_add(distance(u, mss, self.window)?);
            let payload = match u.int_in_range(0..=7u8)? {
                0..=4 => mss,
                5 => 0,
                6 => u.int_in_range(0..=mss)?,
                _ => u.int_in_range(0..=65_495)?,
            };
            let ack = own_first.wrapping_add(*one_of(u, &[0, 1, 2, u32::MAX]));
            let mut packet = segment(u, &usual, seq, ack, payload)?;
            if chance(u, 128) {
                packet.sack = wifair_core::SackBlocks::SYN_PERMITTED;
            }
            self.hear(&packet, now);
            self.answer(now);
        }
        Ok(())
    }

    /// Offset of a sequence number from the first byte; what lies before it has none. No case delivers 2³¹ bytes.
    fn offset(&self, seq: u32) -> Option<u64> {
        let ahead = seq.wrapping_sub(self.first?).wrapping_sub(self.delivered as u32) as i32;
        self.delivered.checked_add_signed(i64::from(ahead))
    }

    fn hear(&mut self, packet: &Packet, now: Time) {
        let listened = self.receiver.state() == ReceiverState::Listen;
        self.receiver.on_segment(packet, now);
        if listened && self.receiver.state() == ReceiverState::SynReceived {
            self.first = Some(packet.seq.wrapping_add(1));
        }
        let end = packet.seq.wrapping_add(packet.payload_bytes);
        if packet.flags.contains(TcpFlags::FIN) {
            self.ends.extend(self.offset(end));
        }
        if packet.payload_bytes > 0
            && let Some(end) = self.offset(end)
        {
            let start = end.saturating_sub(u64::from(packet.payload_bytes));
            self.arrived.insert(start, end);
            self.segments += 1;
        }
        self.count_delivered();
    }

    fn count_delivered(&mut self) {
        let delivered = self.receiver.stats().payload_bytes_delivered;
        assert!(delivered >= self.delivered, "what is delivered is delivered");
        assert!(delivered - self.delivered <= u64::from(self.window), "more than the window at once");
        assert!(delivered <= self.arrived.prefix(), "delivered before it arrived, or twice");
        self.delivered = delivered;
        assert!(self.receiver.held_intervals() <= self.segments, "holds more than it got");
        if matches!(self.receiver.state(), ReceiverState::LastAck) {
            assert!(self.ends.contains(&delivered), "an end that nobody spoke of");
        }
    }

    /// Polls it dry.
    fn answer(&mut self, now: Time) {
        for _ in 0..2 {
            let Some(packet) = self.receiver.poll_transmit(now).copied() else { return };
            assert_eq!(packet.payload_bytes, 0);
            assert_eq!(
                packet.window_bytes,
                if packet.flags.contains(TcpFlags::SYN) { self.window.min(65_535) } else { self.window }
            );
            let Some(first) = self.first else { panic!("answers before anything came: {packet:?}") };
            let in_order = first.wrapping_add(self.delivered as u32);
            let ended = matches!(self.receiver.state(), ReceiverState::LastAck | ReceiverState::Closed);
            assert_eq!(packet.ack, in_order.wrapping_add(u32::from(ended)));
            let most = self.spec.sack.map_or(0, |sack| usize::from(sack.blocks));
            assert!(packet.sack.count() <= most);
            for (start, end) in packet.sack.iter(packet.ack) {
                let (Some(start), Some(end)) = (self.offset(start), self.offset(end)) else {
                    assert!(
                        packet.sack.duplicate(packet.ack).is_some(),
                        "tells of what was before the first byte"
                    );
                    continue;
                };
                assert!(start < end && self.arrived.holds(start, end), "tells of {start}..{end}");
            }
        }
        assert!(self.receiver.poll_transmit(now).is_none(), "answers without end");
    }
}
