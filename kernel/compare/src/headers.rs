// SPDX-License-Identifier: GPL-2.0-only
//! TCP headers: the ACKs of a receiver, and what the kernel's side is to know of a packet.

use wifair_core::{Packet, Rng, SackBlocks, TcpFlags, Time};

const SEGMENT_BYTES: u32 = 1_460;

/// The receiver of an upload, behind the access point: what its next ACK says.
#[derive(Clone, Debug, Default)]
pub struct AckStream {
    ack: u32,
    /// What it has received beyond a segment that is missing.
    block: Option<(u32, u32)>,
    echo: bool,
}

impl AckStream {
    /// Makes a packet the next ACK: as a receiver sends it, or with random fields.
    pub fn next(&mut self, of_receiver: bool, packet: &mut Packet, rng: &mut Rng) {
        let mut blocks = match of_receiver {
            true => self.proceed(rng),
            false => self.jump(rng),
        };
        if rng.chance(0.01) {
            let known = self.ack.wrapping_sub(SEGMENT_BYTES);
            blocks.insert(0, (known, self.ack)); // a segment was received twice
        }
        packet.ack = self.ack;
        packet.payload_bytes = if rng.chance(0.02) { 100 } else { 0 };
        packet.flags = TcpFlags::ACK;
        for (flag, chance) in [(TcpFlags::PSH, 0.01), (TcpFlags::FIN, 0.002), (TcpFlags::CWR, 0.005)] {
            if rng.chance(chance) {
                packet.flags |= flag;
            }
        }
        if self.echo {
            packet.flags |= TcpFlags::ECE;
        }
        packet.sack = SackBlocks::new(self.ack, &blocks);
        packet.header_bytes = (40 + packet.sack.option_bytes()) as u8;
    }

    fn proceed(&mut self, rng: &mut Rng) -> Vec<(u32, u32)> {
        if rng.chance(0.02) {
            self.echo = !self.echo;
        }
        match &mut self.block {
            Some((_, end)) if rng.chance(0.2) => {
                self.ack = *end; // the segment has arrived
                self.block = None;
            }
            Some((_, end)) => *end = end.wrapping_add(SEGMENT_BYTES * (1 + rng.below(2))),
            None if rng.chance(0.03) => {
                let start = self.ack.wrapping_add(SEGMENT_BYTES);
                self.block = Some((start, start.wrapping_add(SEGMENT_BYTES)));
            }
            None if rng.chance(0.03) => {} // its window has changed
            None => self.ack = self.ack.wrapping_add(SEGMENT_BYTES * (1 + rng.below(3))),
        }
        self.block.into_iter().collect()
    }

    fn jump(&mut self, rng: &mut Rng) -> Vec<(u32, u32)> {
        self.echo = rng.chance(0.5);
        self.ack =
            self.ack.wrapping_add(SEGMENT_BYTES * rng.below(3)).wrapping_sub(SEGMENT_BYTES * rng.below(2));
        (0..rng.below(3))
            .map(|_| {
                let start = self.ack.wrapping_add(SEGMENT_BYTES * (1 + rng.below(4)));
                (start, start.wrapping_add(SEGMENT_BYTES * (1 + rng.below(4))))
            })
            .collect()
    }
}

/// The operation that says what headers the next packet has (`oracle.c`).
pub fn header_line(now: Time, packet: &Packet, is_ipv6: bool, rng: &mut Rng) -> String {
    let tuple = &packet.tuple;
    let has_time_stamps = rng.chance(0.5);
    let blocks: Vec<_> = packet.sack.iter(packet.ack).collect();
    let numbers = [
        u32::from(is_ipv6),
        tuple.source,
        tuple.destination,
        tuple.source_port.into(),
        tuple.destination_port.into(),
        tuple.protocol,
        packet.ack,
        packet.flags.bits().into(),
        packet.payload_bytes,
        has_time_stamps.into(),
        blocks.len() as u32,
    ];
    let blocks = blocks.into_iter().flat_map(|(start, end)| [start, end]);
    let numbers: Vec<String> = numbers.into_iter().chain(blocks).map(|number| number.to_string()).collect();
    format!("h {} 0 {}", now.as_ns(), numbers.join(" "))
}
