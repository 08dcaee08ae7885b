use wifair_core::{FiveTuple, Rng};

/// A keyed hash of 5-tuples into buckets: two folded multiplications, of the tuple's words with the keys mixed in.
///
/// A fold is the full product of two words, its halves combined by XOR without carry, and depends on every bit of both. A
/// single fold, or a sum of products, spreads consecutive addresses and ports more evenly than chance would. After the second
/// fold two tuples collide as often as at random, as under the kernel's keyed hashes. The keys come from the transmit queue's
/// random stream, so collisions differ between seeds as they do between boots, and are the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    keys: [u64; 3],
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl FlowHash {
    /// Draws the keys from `rng`: six draws.
    pub fn new(rng: &mut Rng) -> FlowHash {
        let mut half = || u64::from(rng.below(u32::MAX));
        FlowHash { keys: std::array::from_fn(|_| (half() << 32) | half()) }
    }

    /// Returns the bucket of a packet's 5-tuple, below `buckets`.
    pub fn bucket(&self, tuple: &FiveTuple, buckets: u32) -> u32 {
        let [a, b, c] = self.keys;
        let addresses = (u64::from(tuple.source) << 32) | u64::from(tuple.destination);
        let rest = (u64::from(tuple.protocol) << 32)
            | (u64::from(tuple.source_port) << 16)
            | u64::from(tuple.destination_port);
        let first = fold(addresses ^ a, rest ^ b);
        let hash = fold(first ^ c, 0x9E37_79B9_7F4A_7C15);
        (((hash >> 32) * u64::from(buckets)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks with consecutive addresses and ports, the worst case of a multiplicative hash.
    fn tuple(shape: u32, i: u32) -> FiveTuple {
        FiveTuple {
            source: if shape & 1 == 0 { 0xC0A8_0000 } else { 0xC0A8_0000 + i },
            destination: 0x0A00_0000 + i,
            source_port: 80,
            destination_port: if shape & 2 == 0 { 5000 } else { 5000 + i as u16 },
            protocol: 6,
        }
    }

    /// Of n flows on m buckets, n (n − 1) / 2m pairs collide on average over keys.
    #[test]
    fn collisions_are_as_frequent_as_at_random() {
        let (n, m, seeds) = (200u32, 1024u32, 300u64);
        for shape in 0..4 {
            let mut shared = 0u64;
            for seed in 0..seeds {
                let hash = FlowHash::new(&mut Rng::stream(seed, "ap", "scheme"));
                let mut buckets = vec![0u64; m as usize];
                for i in 0..n {
                    buckets[hash.bucket(&tuple(shape, i), m) as usize] += 1;
                }
                shared += buckets.iter().map(|k| k * k.saturating_sub(1) / 2).sum::<u64>();
            }
            let expected = f64::from(n * (n - 1)) / f64::from(2 * m) * seeds as f64;
            let ratio = shared as f64 / expected;
            assert!((ratio - 1.0).abs() < 0.15, "shape {shape}: {ratio} times as many as at random");
        }
    }

    #[test]
    fn every_part_of_the_tuple_counts_and_so_does_the_key() {
        let hash = FlowHash::new(&mut Rng::stream(1, "ap", "scheme"));
        let base = tuple(3, 7);
        let buckets = |tuple: &FiveTuple| hash.bucket(tuple, 1 << 30);
        for other in [
            FiveTuple { source: base.source + 1, ..base },
            FiveTuple { destination: base.destination + 1, ..base },
            FiveTuple { source_port: base.source_port + 1, ..base },
            FiveTuple { destination_port: base.destination_port + 1, ..base },
            FiveTuple { protocol: 17, ..base },
        ] {
            assert_ne!(buckets(&base), buckets(&other));
        }
        let rekeyed = FlowHash::new(&mut Rng::stream(2, "ap", "scheme"));
        assert_ne!(buckets(&base), rekeyed.bucket(&base, 1 << 30));
        assert!((0..1000).all(|i| hash.bucket(&tuple(1, i), 3) < 3));
    }
}
