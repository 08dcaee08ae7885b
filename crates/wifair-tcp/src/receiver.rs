use std::sync::Arc;

use wifair_core::{ConnectionId, Ecn, FiveTuple, Packet, SackBlocks, TcpFlags, Time};

use crate::ecn::{EcnReceiver, SETUP_SYN};
use crate::gro::GroPacket;
use crate::reassembly::Reassembly;
use crate::rto::{RoundTrip, Rto};
use crate::seq;
use crate::spec::{Handshake, TcpSpec};
use crate::stats::ReceiverStats;

/// State of a receiver; the names of RFC 9293, 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverState {
    /// LISTEN.
    Listen,
    /// SYN-RECEIVED.
    SynReceived,
    /// ESTABLISHED.
    Established,
    /// LAST-ACK: both FINs are sent, the receiver's is not acknowledged. (The application closes as soon as it reads the end of
    /// the data, so CLOSE-WAIT takes no time and one packet carries the ACK and the FIN.)
    LastAck,
    /// CLOSED.
    Closed,
}

/// The end of a connection that opens passively, receives data and acknowledges it.
///
/// See the crate's documentation for the contract between calls.
#[derive(Clone, Debug)]
pub struct Receiver {
    spec: Arc<TcpSpec>,
    /// Last packet sent. The next one overwrites it and is lent to the caller.
    packet: Packet,
    /// Next expected (RCV.NXT).
    nxt: u32,
    /// Advertised window in bytes.
    window_bytes: u32,
    held: Reassembly,
    /// Segments delivered in order and not acknowledged yet.
    unacked_segments: u32,
    /// An ACK is due now.
    ack_now: bool,
    /// A SYN-ACK or a FIN is due now.
    control_now: bool,
    /// The present SYN-ACK or FIN was retransmitted.
    sent_again: bool,
    state: ReceiverState,
    ecn: EcnReceiver,
    /// SACK is agreed on.
    selective: bool,
    /// Data received a second time since the last ACK.
    duplicate: Option<(u32, u32)>,
    /// Established, nothing held, nothing but the data to report, and the last packet sent was a plain ACK: the next one
    /// differs from it only in the acknowledgement number. Recomputed by [`Receiver::review`].
    ordinary: bool,
    /// Sequence number of the sender's FIN, once known.
    fin_at: Option<u32>,
    /// When a delayed ACK is due.
    ack_deadline: Time,
    /// What generic receive offload has merged and not yet delivered; absent before the first packet.
    gro: Option<Box<GroPacket>>,
    /// When the SYN-ACK or FIN is retransmitted.
    timer: Time,
    /// The earliest of that and of the end of the merging. Recomputed by [`Receiver::review`].
    wakes_at: Time,
    control_sent_at: Time,
    rto: Rto,
    stats: ReceiverStats,
}

impl Receiver {
    /// Creates the receiver of packets with the 5-tuple `tuple`, from sender to receiver. `spec` must be valid
    /// ([`TcpSpec::validate`]).
    pub fn new(spec: &Arc<TcpSpec>, tuple: FiveTuple) -> Receiver {
        let agreed = spec.handshake != Handshake::Real;
        let (nxt, state) = match spec.handshake {
            Handshake::None => (spec.initial_sequence.wrapping_add(1), ReceiverState::Established),
            Handshake::Real | Handshake::Ns2 => (0, ReceiverState::Listen),
        };
        Receiver {
            packet: Packet {
                tuple: tuple.reversed(),
                connection: ConnectionId::NONE,
                seq: 0,
                ack: 0,
                window_bytes: spec.receiver_window_bytes(),
                payload_bytes: 0,
                header_bytes: spec.header_bytes as u8,
                flags: TcpFlags::NONE,
                ds_field: spec.dscp << 2,
                sack: SackBlocks::NONE,
            },
            nxt,
            window_bytes: spec.receiver_window_bytes(),
            held: Reassembly::default(),
            unacked_segments: 0,
            ack_now: false,
            control_now: false,
            sent_again: false,
            state,
            ecn: EcnReceiver::new(agreed && spec.ecn),
            selective: agreed && spec.sack.is_some(),
            duplicate: None,
            ordinary: false,
            fin_at: None,
            ack_deadline: Time::MAX,
            gro: None,
            timer: Time::MAX,
            wakes_at: Time::MAX,
            control_sent_at: Time::ZERO,
            rto: Rto::new(&spec.rto),
            stats: ReceiverStats::default(),
            spec: Arc::clone(spec),
        }
    }

    /// Sets the parameters of the next connection.
    pub(crate) fn set_spec(&mut self, spec: &Arc<TcpSpec>) {
        self.spec = Arc::clone(spec);
    }

    /// Sets the short name that its packets carry until it is renewed.
    pub fn set_connection(&mut self, connection: ConnectionId) {
        self.packet.connection = connection;
    }

    /// Makes this the receiver of another connection, as by [`Receiver::new`] with the same parameters. The counters continue.
    pub fn renew(&mut self, tuple: FiveTuple) {
        *self = Receiver { stats: self.stats, ..Receiver::new(&self.spec, tuple) };
    }

    /// Handles a packet from the sender.
    pub fn on_segment(&mut self, packet: &Packet, now: Time) {
        let payload = packet.payload_bytes;
        if payload > 0 {
            self.stats.segments_received += 1;
            self.stats.ip_bytes_received += u64::from(packet.ip_bytes());
        }
        if self.ordinary
            && packet.seq == self.nxt
            && payload.wrapping_sub(1) < self.window_bytes
            && !packet.flags.intersects(TcpFlags::SYN | TcpFlags::FIN)
            && packet.ecn() != Ecn::Ce
        {
            self.stats.payload_bytes_delivered += u64::from(payload);
            self.nxt = self.nxt.wrapping_add(payload);
            self.count_in_order(1, now);
        } else {
            self.on_unusual_segment(packet, now);
        }
    }

    #[inline(never)] // otherwise the fast path saves and restores the registers that this takes
    fn on_unusual_segment(&mut self, packet: &Packet, now: Time) {
        match self.spec.receive_offload {
            Some(offload) => self.gather(packet, offload.within(), now),
            None => self.on_any_segment(packet, 1, now),
        }
        self.review();
    }

    /// Generic receive offload: merges packets that arrive together.
    fn gather(&mut self, packet: &Packet, within: Time, now: Time) {
        let is_plain = GroPacket::accepts(packet);
        if is_plain && self.gro.as_mut().is_some_and(|gro| gro.merge(packet, now)) {
            return;
        }
        self.flush(now);
        if is_plain {
            let gro = self.gro.get_or_insert_with(|| Box::new(GroPacket::none()));
            **gro = GroPacket::of(packet, now + within + Time::from_ns(1));
        } else {
            self.on_any_segment(packet, 1, now);
        }
    }

    /// Processes the packet merged by generic receive offload.
    fn flush(&mut self, now: Time) {
        let Some(gro) = &mut self.gro else { return };
        let GroPacket { packet, segments, .. } = std::mem::replace(&mut **gro, GroPacket::none());
        if segments > 0 {
            self.on_any_segment(&packet, segments, now);
        }
    }

    fn gro_ends(&self) -> Time {
        self.gro.as_ref().map_or(Time::MAX, |gro| gro.ends)
    }

    /// Recomputes whether the fast paths apply, and the deadline. Called after every call on the general path.
    fn review(&mut self) {
        self.wakes_at = self.timer.min(self.gro_ends());
        self.ordinary = self.state == ReceiverState::Established
            && !self.control_now
            && self.ecn.is_quiet()
            && self.fin_at.is_none()
            && self.held.is_empty()
            && self.duplicate.is_none()
            && self.packet.flags == TcpFlags::ACK
            && self.packet.sack.is_empty()
            && self.spec.receive_offload.is_none();
    }

    /// Counts `segments` received in order: an ACK is due at once or soon.
    #[inline(always)]
    fn count_in_order(&mut self, segments: u32, now: Time) {
        self.unacked_segments += segments;
        if self.unacked_segments >= u32::from(self.spec.delayed_ack.segments) {
            self.ack_now = true; // RFC 5681, 4.2: at least every second segment
        } else if self.ack_deadline == Time::MAX {
            self.ack_deadline = now + self.spec.ack_delay();
        }
    }

    #[inline(never)]
    fn on_any_segment(&mut self, packet: &Packet, segments: u32, now: Time) {
        if self.state == ReceiverState::Established && !packet.flags.intersects(TcpFlags::SYN | TcpFlags::FIN)
        {
            self.on_data(packet, segments, now);
        } else {
            self.on_control(packet, now);
        }
    }

    /// Handles everything but plain data of an established connection.
    #[cold]
    fn on_control(&mut self, packet: &Packet, now: Time) {
        if self.state == ReceiverState::Listen && self.spec.handshake == Handshake::Ns2 {
            return self.on_empty(packet, now);
        }
        if packet.flags.contains(TcpFlags::SYN) {
            if matches!(self.state, ReceiverState::Listen | ReceiverState::SynReceived) {
                self.ecn.on = self.spec.ecn && packet.flags.contains(SETUP_SYN);
                self.selective = self.spec.sack.is_some() && packet.sack.is_permitted();
            }
            match self.state {
                ReceiverState::Listen => {
                    self.nxt = packet.seq.wrapping_add(1);
                    self.state = ReceiverState::SynReceived;
                    self.control_now = true;
                }
                ReceiverState::SynReceived => {
                    self.control_now = true; // the SYN-ACK may be lost
                    self.sent_again = true;
                }
                _ => self.ack_now = true, // an old duplicate (RFC 9293, 3.10.7.4)
            }
            return;
        }
        if !packet.flags.contains(TcpFlags::ACK) {
            return;
        }
        let first = self.spec.initial_sequence.wrapping_add(1);
        match self.state {
            ReceiverState::Listen | ReceiverState::Closed => return,
            ReceiverState::SynReceived if packet.ack != first => return,
            ReceiverState::SynReceived => {
                self.state = ReceiverState::Established;
                self.control_acknowledged(now);
            }
            ReceiverState::LastAck if packet.ack == first.wrapping_add(1) => {
                self.state = ReceiverState::Closed;
                self.control_acknowledged(now);
                return;
            }
            _ => {}
        }
        if packet.flags.contains(TcpFlags::FIN) {
            let at = packet.seq.wrapping_add(packet.payload_bytes);
            if at.wrapping_sub(self.nxt) < self.window_bytes {
                self.fin_at = Some(at);
            }
        }
        let end = packet.seq.wrapping_add(packet.payload_bytes);
        if self.state == ReceiverState::LastAck && seq::after(end, self.nxt) {
            self.ack_now = true; // after the FIN no text is accepted (RFC 9293, 3.10.7.4)
        } else if packet.payload_bytes > 0 {
            self.on_data(packet, 1, now);
        }
        if packet.flags.contains(TcpFlags::FIN) {
            self.ack_now = true; // a FIN is never delayed, in order or not, new or repeated
        }
        self.finish_if_all_arrived();
    }

    /// Handles the payload of `segments` segments.
    fn on_data(&mut self, packet: &Packet, segments: u32, now: Time) {
        let payload = packet.payload_bytes;
        if payload == 0 {
            return self.on_empty(packet, now);
        }
        let (start, end) = (packet.seq, packet.seq.wrapping_add(payload));
        if self.ecn.on {
            self.on_ecn_field(packet, segments, end);
        }
        if start == self.nxt && self.held.is_empty() && payload <= self.window_bytes {
            self.deliver_up_to(end);
            self.count_in_order(segments, now);
        } else {
            self.on_disorder(start, end, segments);
        }
    }

    /// Handles a packet without payload: the last ACK of the handshake, an ACK of a FIN, or ns-2's opening segment, perhaps
    /// repeated.
    #[cold]
    fn on_empty(&mut self, packet: &Packet, now: Time) {
        let iss = self.spec.initial_sequence;
        let opens = packet.payload_bytes == 0 && packet.flags == TcpFlags::NONE && packet.seq == iss;
        if self.spec.handshake != Handshake::Ns2 || !opens {
            return;
        }
        let first = iss.wrapping_add(1);
        if self.state == ReceiverState::Listen {
            self.nxt = first;
            self.state = ReceiverState::Established;
        }
        if self.spec.delayed_ack.syn && self.nxt == first && self.ack_deadline == Time::MAX {
            self.ack_deadline = now + self.spec.ack_delay();
        } else {
            self.ack_now = true;
        }
    }

    /// RFC 3168, 6.1.5: marks are ignored on data outside of the window.
    fn on_ecn_field(&mut self, packet: &Packet, segments: u32, end: u32) {
        let ahead = end.wrapping_sub(self.nxt);
        if (1..=self.window_bytes).contains(&ahead) && self.ecn.on_data(packet) {
            self.stats.ce_segments_received += u64::from(segments);
        }
    }

    /// Handles a segment with a hole before it, in a hole, or with nothing new. Each is acknowledged at once (RFC 5681, 4.2;
    /// RFC 9293, 3.10.7.4).
    #[cold]
    fn on_disorder(&mut self, start: u32, end: u32, segments: u32) {
        self.ack_now = true;
        let window_end = self.nxt.wrapping_add(self.window_bytes);
        if self.selective {
            self.note_duplicate(start, end);
        }
        if !seq::after(end, self.nxt) {
            self.stats.duplicate_segments_received += u64::from(segments);
        } else if seq::after(end, window_end) {
            // Beyond the window: not accepted (RFC 9293, 3.10.7.4).
        } else if seq::after(start, self.nxt) {
            if !self.held.insert(start, end) {
                self.stats.duplicate_segments_received += u64::from(segments);
            }
        } else {
            let reached = self.held.advance(end);
            self.deliver_up_to(reached);
        }
    }

    /// Records the first part of `[start, end)` that was received before, as in RFC 2883.
    fn note_duplicate(&mut self, start: u32, end: u32) {
        if seq::before(start, self.nxt) {
            self.duplicate = Some((start, if seq::before(end, self.nxt) { end } else { self.nxt }));
        } else {
            self.duplicate = self.held.overlap(start, end).or(self.duplicate);
        }
    }

    fn deliver_up_to(&mut self, end: u32) {
        self.stats.payload_bytes_delivered += u64::from(end.wrapping_sub(self.nxt));
        self.nxt = end;
        if self.fin_at.is_some() {
            self.finish_if_all_arrived(); // the FIN had arrived before the last data
        }
    }

    /// Closes once everything up to the sender's FIN has arrived: the application reads the end and closes.
    fn finish_if_all_arrived(&mut self) {
        if self.fin_at == Some(self.nxt) && self.state == ReceiverState::Established {
            self.nxt = self.nxt.wrapping_add(1);
            self.state = ReceiverState::LastAck;
            self.control_now = true;
        }
    }

    /// Handles the acknowledgement of the SYN-ACK or FIN: stops its timer and, by Karn's algorithm, takes a sample if it was
    /// sent once.
    fn control_acknowledged(&mut self, now: Time) {
        self.timer = Time::MAX;
        self.control_now = false;
        if !std::mem::replace(&mut self.sent_again, false) {
            self.rto.sample(self.control_sent_at, now, RoundTrip::SINGLE, &self.spec.rto);
        }
    }

    /// Handles expired timers. Does nothing before [`Receiver::deadline`].
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.gro_ends() {
            self.flush(now);
        }
        if now >= self.ack_deadline {
            self.ack_deadline = Time::MAX;
            self.ack_now = true;
        }
        if now >= self.timer {
            self.stats.timeouts += 1;
            self.sent_again = true;
            self.rto.back_off(&self.spec.rto);
            self.timer = Time::MAX;
            self.control_now = true;
        }
        self.review();
    }

    /// Returns the next packet to send, if there is one now.
    #[inline(always)] // an ACK takes fewer instructions than a call
    pub fn poll_transmit(&mut self, now: Time) -> Option<&Packet> {
        if !(self.ack_now | self.control_now) {
            return None;
        }
        if self.ordinary {
            self.packet.ack = self.nxt;
            self.count_ack();
        } else {
            self.packet = self.transmit(now);
            self.review();
        }
        Some(&self.packet)
    }

    /// Creates the packet that is due.
    #[inline(never)]
    fn transmit(&mut self, now: Time) -> Packet {
        if self.control_now {
            return self.transmit_control(now);
        }
        let first = self.spec.initial_sequence.wrapping_add(1);
        let fin_sent = matches!(self.state, ReceiverState::LastAck | ReceiverState::Closed);
        self.packet(first.wrapping_add(u32::from(fin_sent)), TcpFlags::ACK)
    }

    /// Creates a SYN-ACK or FIN, each with an ACK.
    #[cold]
    fn transmit_control(&mut self, now: Time) -> Packet {
        self.control_now = false;
        if self.timer == Time::MAX {
            self.timer = now + self.rto.timeout(); // RFC 6298, 5.1 and 5.6
        }
        self.control_sent_at = now;
        let iss = self.spec.initial_sequence;
        match self.state {
            ReceiverState::SynReceived => {
                let setup = if self.ecn.on { TcpFlags::ECE } else { TcpFlags::NONE };
                Packet {
                    sack: if self.selective { SackBlocks::SYN_PERMITTED } else { SackBlocks::NONE },
                    window_bytes: self.spec.syn_window_bytes(),
                    ..self.packet(iss, TcpFlags::SYN | TcpFlags::ACK | setup)
                }
            }
            _ => self.packet(iss.wrapping_add(1), TcpFlags::FIN | TcpFlags::ACK),
        }
    }

    /// Creates a packet that acknowledges everything received in order.
    fn packet(&mut self, seq: u32, mut flags: TcpFlags) -> Packet {
        if self.ecn.on {
            flags |= self.ecn.echo();
        }
        self.count_ack();
        let packet = Packet {
            seq,
            ack: self.nxt,
            window_bytes: self.window_bytes,
            header_bytes: self.spec.header_bytes as u8,
            flags,
            sack: SackBlocks::NONE,
            ..self.packet
        };
        if self.selective { self.with_blocks(packet) } else { packet }
    }

    /// Resets the pending ACK: everything received in order is about to be acknowledged.
    fn count_ack(&mut self) {
        self.ack_now = false;
        self.unacked_segments = 0;
        self.ack_deadline = Time::MAX;
        self.stats.packets_sent += 1;
    }

    /// Adds the SACK blocks to a packet: duplicate data, once (RFC 2883, section 4), then the held data, the latest first (RFC
    /// 2018, section 4).
    fn with_blocks(&mut self, packet: Packet) -> Packet {
        let duplicate = self.duplicate.take();
        let Some(spec) = self.spec.sack.filter(|_| duplicate.is_some() || !self.held.is_empty()) else {
            return packet;
        };
        // Data too old for the distance to fit in a block is not reported.
        let near =
            |start: u32| (start.wrapping_sub(self.nxt) as i32).unsigned_abs() <= SackBlocks::MAX_DISTANCE;
        let duplicate = duplicate.filter(|&(start, _)| spec.duplicates && near(start));
        let mut blocks = [duplicate.unwrap_or_default(); SackBlocks::MAX_BLOCKS];
        let told = usize::from(duplicate.is_some());
        let count = told + self.held.latest(&mut blocks[told..usize::from(spec.blocks)]);
        let sack = SackBlocks::new(self.nxt, &blocks[..count]);
        Packet { header_bytes: packet.header_bytes + sack.option_bytes() as u8, sack, ..packet }
    }

    /// When [`Receiver::on_timer`] is to be called; [`Time::MAX`] while no timer runs.
    pub fn deadline(&self) -> Time {
        self.ack_deadline.min(self.wakes_at)
    }

    /// The receiver's state.
    pub fn state(&self) -> ReceiverState {
        self.state
    }

    /// True once both directions are closed.
    pub fn is_closed(&self) -> bool {
        self.state == ReceiverState::Closed
    }

    /// Number of intervals held beyond a hole.
    pub fn held_intervals(&self) -> usize {
        self.held.intervals()
    }

    /// The counters.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::ReceiveOffloadSpec;

    /// Compares the results of a call on two receivers, the second of which must take the general path.
    fn both<R: PartialEq + std::fmt::Debug>(
        pair: &mut [Receiver; 2],
        mut call: impl FnMut(&mut Receiver) -> R,
    ) -> R {
        let [short, general] = pair;
        general.ordinary = false;
        let said = call(short);
        assert_eq!(said, call(general));
        let mut reviewed = short.clone();
        reviewed.review();
        assert_eq!(short.ordinary, reviewed.ordinary, "the flag is stale");
        general.ordinary = short.ordinary;
        assert_eq!(format!("{short:?}"), format!("{general:?}"));
        said
    }

    proptest! {
        #[test]
        fn the_short_paths_do_what_the_general_ones_do(
            (handshake, sack, ecn, segments, receive_offload) in (0u8..3, any::<bool>(), any::<bool>(), 1u8..4, prop::option::of(0u32..200_000)),
            steps in prop::collection::vec((0u8..24, 0u32..8, 0u64..100_000), 1..150),
        ) {
            let handshake = [Handshake::None, Handshake::Real, Handshake::Ns2][usize::from(handshake)];
            let sack = sack.then(Default::default);
            let receive_offload = receive_offload.map(|within_us| ReceiveOffloadSpec { within_us });
            let mut spec = TcpSpec { handshake, sack, ecn, receive_offload, ..TcpSpec::default() };
            spec.delayed_ack.segments = segments;
            let (mss, iss) = (u32::from(spec.mss_bytes), spec.initial_sequence);
            let receiver = Receiver::new(&Arc::new(spec), FiveTuple::default());
            let mut pair = [receiver.clone(), receiver];
            let mut now = Time::ZERO;
            for (what, number, us) in steps {
                now += Time::from_us(us);
                let nxt = pair[0].nxt;
                let flags = TcpFlags::ACK;
                let plain = Packet { seq: nxt, ack: iss.wrapping_add(1), payload_bytes: mss, flags, ..Packet::default() };
                let packet = match what {
                    0..=14 => plain,
                    15 => Packet { seq: nxt.wrapping_add(number * mss), ..plain },
                    16 => Packet { seq: nxt.wrapping_sub(number * mss), ..plain },
                    17 => Packet { payload_bytes: number * 100, ..plain },
                    18 => Packet { seq: iss, ack: 0, payload_bytes: 0, flags: TcpFlags::SYN, sack: SackBlocks::SYN_PERMITTED, ..plain },
                    19 => Packet { seq: iss, payload_bytes: 0, flags: TcpFlags::NONE, ..plain },
                    20 => Packet { ds_field: 3, ..plain },
                    21 if number > 4 => Packet { flags: TcpFlags::ACK | TcpFlags::CWR, ..plain },
                    21 if number == 0 => Packet { flags: TcpFlags::ACK | TcpFlags::FIN, ..plain },
                    _ => Packet { payload_bytes: 0, ..plain },
                };
                if what == 23 {
                    now = now.max(pair[0].deadline().min(now + Time::from_s(100)));
                    both(&mut pair, |receiver| receiver.on_timer(now));
                } else {
                    both(&mut pair, |receiver| receiver.on_segment(&packet, now));
                }
                while both(&mut pair, |receiver| receiver.poll_transmit(now).copied()).is_some() {}
            }
        }
    }
}
