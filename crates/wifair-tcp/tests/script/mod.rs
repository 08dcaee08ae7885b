//! Runs a script (see `tests/scripts/README.md`) against one end of a connection.

pub mod parse;

use std::collections::VecDeque;
use std::sync::Arc;

use parse::{End, Line, Script, Step, Wire, parse_time};
use wifair_core::{FiveTuple, Packet, TCP, TcpFlags, Time};
use wifair_tcp::{Receiver, Sender, TcpSpec};

const TUPLE: FiveTuple =
    FiveTuple { source: 1, destination: 2, source_port: 1000, destination_port: 80, protocol: TCP };

enum Endpoint {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

struct Run {
    endpoint: Endpoint,
    spec: TcpSpec,
    now: Time,
    sent: VecDeque<(Time, Packet)>,
}

/// Parses and runs; the error names the line.
pub fn run(text: &str) -> Result<(), String> {
    let Script { end, spec, lines } = parse::parse(text)?;
    let shared = Arc::new(spec.clone());
    let endpoint = match end {
        End::Sender => Endpoint::Sender(Box::new(Sender::new(&shared, TUPLE))),
        End::Receiver => Endpoint::Receiver(Box::new(Receiver::new(&shared, TUPLE))),
    };
    let mut run = Run { endpoint, spec, now: Time::ZERO, sent: VecDeque::new() };
    for line in &lines {
        run.step(line).map_err(|error| format!("line {}: {error}", line.number))?;
    }
    run.nothing_unexpected().map_err(|error| format!("after the last line: {error}"))
}

impl Run {
    fn step(&mut self, line: &Line) -> Result<(), String> {
        if let Some(time) = line.time {
            self.move_to(time);
        }
        if let Step::Out(packets) = &line.step {
            return packets.iter().try_for_each(|wire| self.expect(wire));
        }
        self.nothing_unexpected()?;
        let segment_bytes = u32::from(self.spec.mss_bytes + self.spec.header_bytes);
        match (&line.step, &mut self.endpoint) {
            (Step::Assert(pairs), _) => {
                return pairs.iter().try_for_each(|(name, value)| self.assert(name, value));
            }
            (Step::In(packets), _) => packets.iter().for_each(|wire| self.receive(wire)),
            (Step::Open, Endpoint::Sender(sender)) => sender.open(self.now),
            (Step::Write(bytes), Endpoint::Sender(sender)) => sender.write(*bytes),
            (Step::Close, Endpoint::Sender(sender)) => sender.close(),
            (Step::LinkRate(rate), Endpoint::Sender(sender)) => sender.on_link_rate(self.now, *rate),
            (Step::Freed(segments), Endpoint::Sender(sender)) => {
                if !sender.on_freed(*segments, *segments * segment_bytes) {
                    return Ok(());
                }
            }
            _ => return Err("a receiver has no such call".into()),
        }
        self.poll();
        Ok(())
    }

    /// Lets every timer expire on the way to `time`.
    fn move_to(&mut self, time: Time) {
        while self.deadline() <= time {
            self.now = self.deadline();
            let now = self.now;
            match &mut self.endpoint {
                Endpoint::Sender(sender) => sender.on_timer(now),
                Endpoint::Receiver(receiver) => receiver.on_timer(now),
            }
            self.poll();
            assert!(self.deadline() > now, "a deadline in the past");
        }
        self.now = time;
    }

    fn deadline(&self) -> Time {
        match &self.endpoint {
            Endpoint::Sender(sender) => sender.deadline(),
            Endpoint::Receiver(receiver) => receiver.deadline(),
        }
    }

    fn poll(&mut self) {
        let now = self.now;
        while let Some(packet) = match &mut self.endpoint {
            Endpoint::Sender(sender) => sender.poll_transmit(now).copied(),
            Endpoint::Receiver(receiver) => receiver.poll_transmit(now).copied(),
        } {
            self.sent.push_back((now, packet));
            assert!(self.sent.len() < 100_000, "sends without end");
        }
    }

    fn receive(&mut self, wire: &Wire) {
        let initial = self.spec.initial_sequence;
        let from_receiver = matches!(self.endpoint, Endpoint::Sender(_));
        let ack = wire.ack.unwrap_or(u32::from(wire.flags.contains(TcpFlags::ACK))).wrapping_add(initial);
        let packet = Packet {
            tuple: if from_receiver { TUPLE.reversed() } else { TUPLE },
            seq: wire.seq.unwrap_or(1).wrapping_add(initial),
            ack,
            window_bytes: wire.window.unwrap_or(self.spec.receiver_window_bytes()),
            payload_bytes: wire.payload,
            header_bytes: self.spec.header_bytes as u8,
            flags: wire.flags,
            ds_field: wire.ds_field,
            sack: wire.sack_of(ack, initial),
            ..Packet::default()
        };
        match &mut self.endpoint {
            Endpoint::Sender(sender) => sender.on_segment(&packet, self.now),
            Endpoint::Receiver(receiver) => receiver.on_segment(&packet, self.now),
        }
        self.poll();
    }

    fn expect(&mut self, wire: &Wire) -> Result<(), String> {
        let (time, packet) = self.sent.pop_front().ok_or(format!("nothing came out, expected {wire:?}"))?;
        let shown = self.show(&packet);
        if time != self.now {
            return Err(format!("{shown} came out at {} s", time.as_secs_f64()));
        }
        if !wire.describes(&packet, self.spec.initial_sequence) {
            return Err(format!("{shown} came out, expected {wire:?}"));
        }
        Ok(())
    }

    fn nothing_unexpected(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((time, packet)) => Err(format!("unexpected: {} {}", time.as_secs_f64(), self.show(packet))),
        }
    }

    fn show(&self, packet: &Packet) -> String {
        let from = packet.seq.wrapping_sub(self.spec.initial_sequence);
        let ack = packet.ack.wrapping_sub(self.spec.initial_sequence);
        let to = from.wrapping_add(packet.payload_bytes);
        let (flags, ds, blocks) = (packet.flags.bits(), packet.ds_field, packet.sack);
        format!("{from}:{to} ack {ack} flags {flags:#x} ds {ds:#x} blocks {blocks:?}")
    }

    fn assert(&self, name: &str, wanted: &str) -> Result<(), String> {
        let found = match &self.endpoint {
            Endpoint::Sender(sender) => self.sender_value(sender, name, wanted),
            Endpoint::Receiver(receiver) => self.receiver_value(receiver, name),
        };
        let found = found.ok_or(format!("`{name}` cannot be asserted here"))?;
        let time = matches!(name, "timer" | "rto" | "srtt" | "srtt_mean" | "srtt_max" | "rtt")
            && wanted != "off"
            && wanted != "none";
        let same = if time {
            found == parse_time(wanted)?.as_ns().to_string()
        } else {
            found == wanted.to_lowercase()
        };
        if same { Ok(()) } else { Err(format!("{name} is {found}, not {wanted}")) }
    }

    fn sender_value(&self, sender: &Sender, name: &str, wanted: &str) -> Option<String> {
        let stats = sender.stats();
        let bytes = |value: u32| match value {
            u32::MAX => "inf".to_string(),
            _ if wanted.ends_with('b') => format!("{value}b"),
            _ if value.is_multiple_of(u32::from(self.spec.mss_bytes)) => {
                (value / u32::from(self.spec.mss_bytes)).to_string()
            }
            _ => format!("{value}b"),
        };
        Some(match name {
            "cwnd" => bytes(sender.cwnd_bytes()),
            "ssthresh" => bytes(sender.ssthresh_bytes()),
            "flight" => bytes(sender.flight_bytes()),
            "queued" => format!("{}b", sender.queued_bytes()),
            "timer" => show_time(sender.deadline()),
            "rto" => show_time(sender.retransmission_timeout()),
            "srtt" => sender.srtt().map_or("none".into(), show_time),
            "recovery" => if sender.is_in_recovery() { "yes" } else { "no" }.into(),
            "state" => format!("{:?}", sender.state()).to_lowercase(),
            "phase" => format!("{:?}", sender.phase()).to_lowercase(),
            "limited_by" => format!("{:?}", sender.limited_by()).to_lowercase(),
            "control" => sender.control_state().unwrap_or("none").into(),
            "pacing" => sender.pacing_rate().map_or("none".into(), |rate| rate.to_string()),
            "open" => if sender.is_established() { "yes" } else { "no" }.into(),
            "closed" => if sender.is_closed() { "yes" } else { "no" }.into(),
            "all_acked" => if sender.is_all_acknowledged() { "yes" } else { "no" }.into(),
            "segments" => stats.segments_sent.to_string(),
            "sent_bytes" => stats.payload_bytes_sent.to_string(),
            "retransmitted_bytes" => stats.payload_bytes_retransmitted.to_string(),
            "acked" => stats.payload_bytes_acked.to_string(),
            "retransmitted" => stats.segments_retransmitted.to_string(),
            "timeouts" => stats.timeouts.to_string(),
            "fast_retransmits" => stats.fast_retransmits.to_string(),
            "ecn_reductions" => stats.ecn_reductions.to_string(),
            "loss_probes" => sender.loss_probes().to_string(),
            "duplicates_told" => stats.duplicates_told.to_string(),
            "control_packets" => stats.control_packets_sent.to_string(),
            "rtt" => stats.rtt.mean().map_or("none".into(), |mean| format!("{mean:.0}")),
            "srtt_mean" => stats.srtt_mean_ns().map_or("none".into(), |mean| format!("{mean:.0}")),
            "srtt_max" => show_time(stats.srtt_max),
            "samples" => stats.rtt.count().to_string(),
            _ => return None,
        })
    }

    fn receiver_value(&self, receiver: &Receiver, name: &str) -> Option<String> {
        let stats = receiver.stats();
        Some(match name {
            "segments" => stats.segments_received.to_string(),
            "ip_bytes" => stats.ip_bytes_received.to_string(),
            "packets" => stats.packets_sent.to_string(),
            "delivered" => stats.payload_bytes_delivered.to_string(),
            "held" => receiver.held_intervals().to_string(),
            "ce" => stats.ce_segments_received.to_string(),
            "duplicates" => stats.duplicate_segments_received.to_string(),
            "timeouts" => stats.timeouts.to_string(),
            "timer" => show_time(receiver.deadline()),
            "state" => format!("{:?}", receiver.state()).to_lowercase(),
            _ => return None,
        })
    }
}

/// Nanoseconds, so that times compare exactly.
fn show_time(time: Time) -> String {
    if time == Time::MAX { "off".into() } else { time.as_ns().to_string() }
}
