//! Where HyStart and HyStart++ end slow start at a bottleneck, against the arithmetic of its queue.

use crate::network;

use network::{Arrivals, End, Network, Path};
use serde_json::{Value, json};
use wifair_core::{Packet, Rate, Time};
use wifair_tcp::TcpSpec;

/// There and back, without the bottleneck.
const RTT: Time = Time::from_ms(60);
/// A packet of 1500 bytes takes 1.2 ms, so the path holds 51 of them.
const RATE: Rate = Rate::from_kbps(10_000);
const LIMIT_PACKETS: u64 = 200;

/// A FIFO queue with tail drop towards the receiver.
struct Bottleneck {
    free_at: Time,
}

impl Path for Bottleneck {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        if from == End::Receiver {
            return [Some(now + RTT), None];
        }
        if self.free_at.saturating_sub(now) / RATE.duration_of(1500) >= LIMIT_PACKETS {
            return [None, None];
        }
        self.free_at = self.free_at.max(now) + RATE.duration_of(u64::from(packet.ip_bytes()));
        [Some(self.free_at), None]
    }
}

/// A flow that begins with ten segments, after 2 s: the threshold in segments, and the number of segments sent again. Each
/// segment is acknowledged at once.
fn run(slow_start: Value) -> (u32, u64) {
    let spec: TcpSpec = serde_json::from_value(json!({
        "congestion_control": { "name": "cubic", "slow_start": slow_start },
        "receiver_window_segments": 1000,
        "initial_window_segments": 10,
        "delayed_ack": { "segments": 1 },
        "sack": {},
        "loss_detection": { "name": "rack" },
        "handshake": "none",
    }))
    .unwrap();
    let mut network = Network::new(&spec, 1, Bottleneck { free_at: Time::ZERO });
    network.start(0, u64::MAX);
    network.run(Time::from_s(2));
    let sender = &network.connections[0].sender;
    (sender.ssthresh_bytes() / 1460, sender.stats().segments_retransmitted)
}

/// Windows of 10, 20, 40 segments: their ACKs are 1.2 ms apart, a train. It ends slow start when it is longer than half of the
/// 61.2 ms and 1 ms, which is the 27th ACK of the third round, 31.2 ms after the first. The window has 40 segments and 26 more
/// then: the queue is never full.
#[test]
fn the_ack_train_ends_slow_start_near_the_capacity_of_the_path() {
    assert_eq!(run(json!({ "name": "hystart" })), (66, 0));
    assert_eq!(run(json!({ "name": "hystart", "delay": false })), (66, 0));
}

/// By the RTT alone. The window of 80 finds an empty queue at first, which counts; that of 160 finds 29 packets there, and ends
/// slow start with its ninth ACK.
#[test]
fn the_delay_ends_slow_start_before_the_queue_is_full() {
    assert_eq!(run(json!({ "name": "hystart", "ack_train": false })), (168, 0));
}

/// HyStart++ compares with the round before and then grows by a quarter per round: from 167 segments over 208 to 260, of which
/// path and queue hold 251. A loss shows a round trip late: slow start has sent a window too much by then, conservative slow
/// start a quarter of one.
#[test]
fn conservative_slow_start_loses_less_than_slow_start() {
    let (_, standard) = run(json!({ "name": "standard" }));
    let (_, conservative) = run(json!({ "name": "hystart++" }));
    assert!(standard >= 200, "{standard} segments lost");
    assert!((1..=252 / 4).contains(&conservative), "{conservative} segments lost");
}
