//! A sender under arbitrary acknowledgements: it sends what was written and nothing else, no more than the receiver has room
//! for, comes to an end of sending at each instant, and never stands still with a timer that is due.

use std::collections::VecDeque;

use arbitrary::{Result, Unstructured};
use wifair_core::{FiveTuple, Packet, Rate, SackBlocks, TcpFlags, Time};
use wifair_tcp::{Handshake, Sender, SenderState, TcpSpec};

use crate::common::{MOST_STEPS, distance, pass_time, segment, spec};
use crate::given::{chance, one_of};

/// Parameters, then what happens.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Some(spec) = spec(&mut u) else { return };
    let first = spec.initial_sequence.wrapping_add(1);
    let mut account = Account {
        sender: Sender::new(&spec, FiveTuple::default()),
        window: spec.receiver_window_bytes(),
        written: 0,
        acked: 0,
        sent: 0,
        queue: VecDeque::new(),
        first,
        spec: &spec,
    };
    let _ = account.play(&mut u); // bytes that end in the midst of a segment end the input there
}

struct Account<'a> {
    spec: &'a TcpSpec,
    sender: Sender,
    /// Sequence number of the first byte.
    first: u32,
    /// What the receiver has last said that it has room for.
    window: u32,
    written: u64,
    acked: u64,
    /// The highest offset that was ever sent.
    sent: u64,
    /// IP bytes of the packets in the host's queue, the oldest first.
    queue: VecDeque<u32>,
}

impl Account<'_> {
    fn play(&mut self, u: &mut Unstructured) -> Result<()> {
        let mss = u32::from(self.spec.mss_bytes);
        let usual = [TcpFlags::ACK; 6]
            .into_iter()
            .chain([TcpFlags::SYN | TcpFlags::ACK, TcpFlags::FIN | TcpFlags::ACK]);
        let usual: Vec<TcpFlags> = usual.collect();
        let mut now = Time::ZERO;
        self.sender.open(now);
        self.write(u)?;
        for _ in 0..MOST_STEPS {
            if u.is_empty() {
                break;
            }
            pass_time(u, &mut now, self.sender.deadline())?;
            self.sender.on_timer(now);
            assert!(self.sender.deadline() > now, "still due after its timer");
            self.send(now);
            for ip_bytes in self.queue.drain(..u.int_in_range(0..=self.queue.len())?) {
                self.sender.on_freed(1, ip_bytes);
            }
            match u.int_in_range(0..=15u8)? {
                0 => self.write(u)?,
                1 if chance(u, 128) => self.sender.close(),
                1 => {
                    let rate = Rate::from_mbps(*one_of(u, &[1.0, 5.5, 11.0, 54.0]));
                    self.sender.on_link_rate(now, rate);
                }
                _ => {
                    let packet = self.acknowledgement(u, mss, &usual)?;
                    self.hear(&packet, now);
                }
            }
            self.send(now);
        }
        Ok(())
    }

    fn write(&mut self, u: &mut Unstructured) -> Result<()> {
        let mss = u64::from(self.spec.mss_bytes);
        let bytes = mss * u.int_in_range(0..=400)? + *one_of(u, &[0u64, 1, 700]);
        self.sender.write(bytes);
        self.written += bytes; // not taken after a close; more than what may be sent is no harm to what is asserted
        Ok(())
    }

    fn acknowledgement(&mut self, u: &mut Unstructured, mss: u32, usual: &[TcpFlags]) -> Result<Packet> {
        let una = self.first.wrapping_add(self.acked as u32);
        let outstanding = self.sent.saturating_sub(self.acked) as u32;
        let far = distance(u, mss, outstanding)?;
        let ack = una.wrapping_add(if chance(u, 240) { far.min(outstanding) } else { far });
        let seq = self.first.wrapping_add(*one_of(u, &[0, 1, u32::MAX]));
        let mut packet = segment(u, usual, seq, ack, 0)?;
        packet.window_bytes = match u.int_in_range(0..=7u8)? {
            0..=5 => self.spec.receiver_window_bytes(),
            6 => self.window,
            _ => u.arbitrary()?,
        };
        packet.sack = if packet.flags.contains(TcpFlags::SYN) {
            if chance(u, 128) { SackBlocks::SYN_PERMITTED } else { SackBlocks::NONE }
        } else {
            let mut blocks = vec![];
            for index in 0..u.int_in_range(0..=3)? {
                let start = ack.wrapping_add(match u.int_in_range(0..=3u8)? {
                    0 if index == 0 => 0u32.wrapping_sub(mss),
                    0..=2 => mss.wrapping_mul(u.int_in_range(0..=20)?),
                    _ => u.int_in_range(0..=SackBlocks::MAX_DISTANCE / 2)?,
                });
                let length = mss.wrapping_mul(u.int_in_range(0..=8)?).min(SackBlocks::MAX_DISTANCE);
                blocks.push((start, start.wrapping_add(length)));
            }
            let distance = |start: u32| (start.wrapping_sub(ack) as i32).unsigned_abs();
            blocks.retain(|(start, _)| distance(*start) <= SackBlocks::MAX_DISTANCE);
            SackBlocks::new(ack, &blocks)
        };
        Ok(packet)
    }

    fn hear(&mut self, packet: &Packet, now: Time) {
        let before = self.sender.stats().payload_bytes_acked;
        self.sender.on_segment(packet, now);
        let acked = self.sender.stats().payload_bytes_acked;
        assert!(acked >= before && acked <= self.sent, "{acked} acknowledged of {} sent", self.sent);
        self.acked = acked;
    }

    /// Polls it dry.
    fn send(&mut self, now: Time) {
        // A step may send all that is written and repair it; more is no end of sending.
        let segments = self.written / u64::from(self.spec.mss_bytes) + 100;
        for _ in 0..2 * segments {
            let before = self.sender.flight_bytes();
            let Some(packet) = self.sender.poll_transmit(now).copied() else { return self.rest(now) };
            self.queue.push_back(packet.ip_bytes());
            if self.spec.small_queue.is_some() {
                let queued: u32 = self.queue.iter().sum();
                assert_eq!(self.sender.queued_bytes(), u64::from(queued));
            }
            if packet.payload_bytes == 0 {
                continue;
            }
            assert!(packet.payload_bytes <= u32::from(self.spec.mss_bytes));
            let ahead = packet.seq.wrapping_sub(self.first).wrapping_sub(self.acked as u32);
            let start = self.acked + u64::from(ahead);
            let end = start + u64::from(packet.payload_bytes);
            assert!(start <= self.sent, "a hole in what is sent, or something before what is acknowledged");
            assert!(end <= self.written, "sends what was never written");
            assert!(self.sender.flight_bytes() >= before, "what is sent is under way");
            self.sent = self.sent.max(end);
        }
        panic!("sends without end");
    }

    /// It has sent all that it may at this instant.
    fn rest(&self, now: Time) {
        let Account { sender, spec, .. } = self;
        let mss = u32::from(spec.mss_bytes);
        assert!(sender.cwnd_bytes() >= mss && sender.ssthresh_bytes() >= mss);
        assert!(sender.deadline() >= now, "a deadline in the past");
        assert!(u64::from(sender.flight_bytes()) <= self.sent - self.acked + 2);
        let waits = matches!(sender.state(), SenderState::Established | SenderState::FinWait1);
        let outstanding = waits && sender.flight_bytes() > 0;
        assert!(!outstanding || sender.deadline() != Time::MAX, "outstanding data without a timer");
        let closed = sender.state() == SenderState::Closed;
        assert!(!closed || spec.handshake != Handshake::Real && sender.is_all_acknowledged());
    }
}
