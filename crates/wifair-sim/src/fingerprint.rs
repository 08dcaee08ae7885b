use wifair_core::{Packet, Time};
use wifair_wlan::Node;

use crate::tap::Tap;

/// A hash of a trajectory: every packet that crosses the air, with its time. Runs with the same trajectory have the same
/// fingerprint. The determinism tests compare fingerprints, and golden values pin the engine's behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of an empty trajectory.
    pub fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    /// Adds `packet`, delivered at `now`.
    pub fn add(&mut self, now: Time, packet: &Packet) {
        let tuple = &packet.tuple;
        let addresses = u64::from(tuple.source) << 32 | u64::from(tuple.destination);
        let ports = u64::from(tuple.source_port) << 32 | u64::from(tuple.destination_port);
        let numbers = u64::from(packet.seq) << 32 | u64::from(packet.ack);
        let rest = u64::from(packet.payload_bytes) << 32
            | u64::from(packet.flags.bits()) << 8
            | u64::from(packet.ds_field);
        for word in [now.as_ns(), addresses, ports, numbers, rest] {
            self.mix(word);
        }
        if !packet.sack.is_empty() {
            for word in packet.sack.words() {
                self.mix(word);
            }
        }
    }

    /// FNV-1a over 64-bit words, with a rotation so that high bits reach low ones.
    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// The hash so far.
    pub fn value(&self) -> u64 {
        self.0
    }
}

impl Tap for Fingerprint {
    fn crossed_air(&mut self, now: Time, packet: &Packet, _to: Node) {
        self.add(now, packet);
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint::new()
    }
}
