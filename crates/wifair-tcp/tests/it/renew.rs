//! Two ends that serve one connection after another behave in each as new ones do, and their counters continue.

use std::sync::Arc;

use wifair_core::{Counters, FiveTuple, Packet, TCP, Time};
use wifair_tcp::{Receiver, ReceiverState, Sender, SenderState, TcpSpec};

fn tuple(source_port: u16) -> FiveTuple {
    FiveTuple { source: 1, destination: 2, source_port, destination_port: 80, protocol: TCP }
}

/// A transfer over a path that takes 10 ms each way; everything that travels, in order.
fn transfer(sender: &mut Sender, receiver: &mut Receiver, mut now: Time) -> Vec<Packet> {
    let mut travelled = Vec::new();
    sender.write(5_000);
    sender.open(now);
    sender.close();
    loop {
        let there: Vec<Packet> = std::iter::from_fn(|| sender.poll_transmit(now).copied()).collect();
        now += Time::from_ms(10);
        there.iter().for_each(|packet| receiver.on_segment(packet, now));
        receiver.on_timer(now);
        let back: Vec<Packet> = std::iter::from_fn(|| receiver.poll_transmit(now).copied()).collect();
        now += Time::from_ms(10);
        back.iter().for_each(|packet| sender.on_segment(packet, now));
        if there.is_empty() && back.is_empty() {
            break;
        }
        travelled.extend(there.into_iter().chain(back));
    }
    assert_eq!((sender.state(), receiver.state()), (SenderState::TimeWait, ReceiverState::Closed));
    travelled
}

#[test]
fn ends_that_are_used_again_are_as_new() {
    let spec: TcpSpec =
        serde_json::from_str(r#"{ "mss_bytes": 1000, "delayed_ack": { "segments": 1 } }"#).unwrap();
    let spec = Arc::new(spec);
    let start = Time::from_ms(0);
    let (mut sender, mut receiver) = (Sender::new(&spec, tuple(1000)), Receiver::new(&spec, tuple(1000)));
    transfer(&mut sender, &mut receiver, start);
    let (sent, received) = (sender.stats().clone(), *receiver.stats());
    assert_eq!((sent.payload_bytes_acked, received.payload_bytes_delivered), (5_000, 5_000));

    sender.renew(tuple(1001));
    receiver.renew(tuple(1001));
    assert_eq!((sender.state(), receiver.state()), (SenderState::Idle, ReceiverState::Listen));
    assert_eq!((sender.stats(), receiver.stats()), (&sent, &received));
    let again = transfer(&mut sender, &mut receiver, start);

    let (mut fresh_sender, mut fresh_receiver) =
        (Sender::new(&spec, tuple(1001)), Receiver::new(&spec, tuple(1001)));
    assert_eq!(again, transfer(&mut fresh_sender, &mut fresh_receiver, start));
    assert_eq!(&sender.stats().since(&sent), &{
        let mut fresh = fresh_sender.stats().clone();
        fresh.srtt_max = sender.stats().srtt_max;
        fresh
    });
    assert_eq!(&receiver.stats().since(&received), fresh_receiver.stats());
}
