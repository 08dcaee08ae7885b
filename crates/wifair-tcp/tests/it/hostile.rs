//! A peer that keeps to nothing: what fuzzing has found, by hand.

use std::sync::Arc;

use wifair_core::{ConnectionId, FiveTuple, Packet, SackBlocks, TcpFlags, Time};
use wifair_tcp::{Handshake, Receiver, SackSpec, Sender, TcpSpec};

fn receiver() -> Receiver {
    let mut spec = TcpSpec {
        handshake: Handshake::None,
        mss_bytes: 100,
        receiver_window_segments: 3,
        ..TcpSpec::default()
    };
    spec.delayed_ack.segments = 1;
    Receiver::new(&Arc::new(spec), FiveTuple::default())
}

fn segment(seq: u32, payload_bytes: u32, flags: TcpFlags) -> Packet {
    Packet {
        tuple: FiveTuple::default(),
        connection: ConnectionId::NONE,
        seq,
        ack: 1,
        window_bytes: 300,
        payload_bytes,
        header_bytes: 40,
        flags,
        ds_field: 0,
        sack: SackBlocks::NONE,
    }
}

/// What the receiver acknowledges, and has delivered, once it has got a segment.
fn answer(receiver: &mut Receiver, seq: u32, payload_bytes: u32, flags: TcpFlags) -> (u32, u64) {
    receiver.on_segment(&segment(seq, payload_bytes, flags), Time::ZERO);
    let answer = receiver.poll_transmit(Time::ZERO).copied().expect("every segment is answered at once");
    (answer.ack, receiver.stats().payload_bytes_delivered)
}

/// RFC 9293, 3.10.7.4: what lies beyond the window is not taken, also where it follows on what is there.
#[test]
fn no_more_than_the_window_is_taken_at_once() {
    let mut receiver = receiver();
    assert_eq!(answer(&mut receiver, 1, 301, TcpFlags::ACK), (1, 0));
    assert_eq!(answer(&mut receiver, 1, 300, TcpFlags::ACK), (301, 300));
}

/// The same: after a FIN the text of a segment is ignored.
#[test]
fn nothing_is_delivered_behind_the_end() {
    let mut receiver = receiver();
    assert_eq!(answer(&mut receiver, 1, 100, TcpFlags::ACK | TcpFlags::FIN), (102, 100));
    assert_eq!(answer(&mut receiver, 102, 100, TcpFlags::ACK), (102, 100));
    assert_eq!(answer(&mut receiver, 1, 100, TcpFlags::ACK), (102, 100));
}

/// A D-SACK has room for 16 MiB of distance; older data is not reported.
#[test]
fn what_comes_from_far_back_is_acknowledged_without_a_block() {
    let spec = TcpSpec {
        handshake: Handshake::None,
        sack: Some(SackSpec::default()),
        initial_sequence: 1 << 30,
        ..TcpSpec::default()
    };
    let mut receiver = Receiver::new(&Arc::new(spec), FiveTuple::default());
    for (back, told) in [(1 << 24, 0), ((1 << 24) - 1, 1)] {
        let seq = (1u32 << 30) + 1 - back;
        receiver.on_segment(&segment(seq, 100, TcpFlags::ACK), Time::ZERO);
        let answer = receiver.poll_transmit(Time::ZERO).copied().expect("every segment is answered at once");
        assert_eq!((answer.ack, answer.sack.count()), ((1 << 30) + 1, told));
    }
}

/// A peer may close its direction while data is outstanding, and acknowledge some of it with its FIN: what it told
/// selectively below that is no longer outstanding.
#[test]
fn a_fin_acknowledges_what_was_told_selectively() {
    let spec = TcpSpec {
        handshake: Handshake::None,
        mss_bytes: 100,
        initial_window_segments: Some(10),
        sack: Some(SackSpec::default()),
        ..TcpSpec::default()
    };
    let mut sender = Sender::new(&Arc::new(spec), FiveTuple::default());
    sender.open(Time::ZERO);
    sender.write(1_000);
    let sent = |sender: &mut Sender, now| {
        std::iter::from_fn(|| sender.poll_transmit(now).copied()).collect::<Vec<_>>()
    };
    assert_eq!(sent(&mut sender, Time::ZERO).len(), 10);
    let now = sender.deadline();
    sender.on_timer(now);
    assert_eq!(sent(&mut sender, now).len(), 1);
    let told = SackBlocks::new(1, &[(201, 301)]);
    let window_bytes = 42 * 100;
    sender.on_segment(&Packet { window_bytes, sack: told, ..segment(1, 0, TcpFlags::ACK) }, now);
    let fin = Packet { ack: 401, window_bytes, ..segment(1, 0, TcpFlags::ACK | TcpFlags::FIN) };
    sender.on_segment(&fin, now);
    let again = sent(&mut sender, now).into_iter().filter(|packet| packet.payload_bytes > 0);
    assert_eq!(again.map(|packet| packet.seq).collect::<Vec<_>>(), [401, 501]);
}
