use wifair_core::FiveTuple;

use crate::words::Direction;

/// A connection's 5-tuple as in uplink packets (the source is the station's side), in two words: it is reversed, compared and
/// hashed in a few instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowKey {
    /// Source address in the lower half, destination in the upper.
    addresses: u64,
    /// Source port in the lowest 16 bits, destination port, protocol.
    rest: u64,
}

impl FlowKey {
    /// The key of a packet that goes in `direction`.
    pub fn of(tuple: FiveTuple, direction: Direction) -> FlowKey {
        let addresses = u64::from(tuple.source) | u64::from(tuple.destination) << 32;
        let ports = u32::from(tuple.source_port) | u32::from(tuple.destination_port) << 16;
        let (addresses, ports) = match direction {
            Direction::Up => (addresses, ports),
            Direction::Down => (addresses.rotate_left(32), ports.rotate_left(16)),
        };
        FlowKey { addresses, rest: u64::from(ports) | u64::from(tuple.protocol) << 32 }
    }

    /// The 5-tuple of an uplink packet.
    pub fn tuple(self) -> FiveTuple {
        FiveTuple {
            source: self.addresses as u32,
            destination: (self.addresses >> 32) as u32,
            source_port: self.rest as u16,
            destination_port: (self.rest >> 16) as u16,
            protocol: (self.rest >> 32) as u32,
        }
    }

    /// The upper half of a sum of products with odd constants. It spreads networks with consecutive addresses and ports evenly.
    /// Unlike [`FiveTuple::connection_hash`] it is not symmetric, so networks in which station i talks to server i do not all
    /// hash to one bucket.
    pub fn hash(self) -> u32 {
        let product = self
            .addresses
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(self.rest.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        (product >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::FiveTuple;

    use super::*;

    proptest! {
        #[test]
        fn both_directions_have_one_key_and_it_holds_the_tuple(
            (source, destination, source_port, destination_port, protocol) in any::<(u32, u32, u16, u16, u8)>(),
        ) {
            let tuple = FiveTuple { source, destination, source_port, destination_port, protocol: u32::from(protocol) };
            let key = FlowKey::of(tuple, Direction::Up);
            prop_assert_eq!(key.tuple(), tuple);
            prop_assert_eq!(key, FlowKey::of(tuple.reversed(), Direction::Down));
        }
    }

    #[test]
    fn counting_networks_are_spread_nearly_as_well_as_at_random() {
        // Station i to server i, or to one server, from one port or from consecutive ports.
        for shape in 0..4u32 {
            let mut home = vec![0u32; 4096];
            for i in 0..2048u32 {
                let key = FlowKey::of(
                    FiveTuple {
                        source: 0x0A00_0000 + i,
                        destination: if shape & 1 == 0 { 0xC0A8_0000 } else { 0xC0A8_0000 + i },
                        source_port: if shape & 2 == 0 { 5000 } else { 5000 + i as u16 },
                        destination_port: 80,
                        protocol: 6,
                    },
                    Direction::Up,
                );
                home[(key.hash() >> 20) as usize] += 1;
            }
            // n flows on m buckets at random have an expected sum of squares of n + n²/m: 1.5 n.
            let squares: u32 = home.iter().map(|n| n * n).sum();
            assert!(squares < 2048 * 7 / 4, "shape {shape}: {squares}");
        }
    }
}
