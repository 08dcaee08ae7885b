use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// One named stream of random numbers: xoshiro256++, keyed by (seed, entity, purpose).
///
/// Streams are keyed by stable labels, so adding a station, a flow or a scheme does not change any other stream. Each method
/// takes a fixed number of draws from the stream, given in its documentation.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns the stream of `entity` (a label of the plan, such as `"ap"` or `"sta-3"`) for `purpose` (such as `"backoff"`).
    pub fn stream(seed: u64, entity: &str, purpose: &str) -> Rng {
        // FNV-1a over both labels with a separator that no label contains, then mixed with the seed by the
        // generator's own seeding (SplitMix64).
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in entity.bytes().chain([0]).chain(purpose.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mixed = hash ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
        Rng(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform in `0..n`; one draw. The bias is below 2⁻³² for every `n`. `n` of zero gives zero.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u32
    }

    /// Uniform in `[0, 1)` with a resolution of 53 bits; one draw.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`; one draw, whatever `p` is.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_every_part_of_their_key() {
        let first = |seed, entity, purpose| Rng::stream(seed, entity, purpose).0.next_u64();
        let base = first(1, "ap", "backoff");
        assert_eq!(base, first(1, "ap", "backoff"));
        for other in [first(2, "ap", "backoff"), first(1, "ap2", "backoff"), first(1, "ap", "channel")] {
            assert_ne!(base, other);
        }
        assert_ne!(first(1, "ab", "c"), first(1, "a", "bc"));
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Rng::stream(7, "test", "below");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        // 9 degrees of freedom: 99.99 % of all streams stay under 33.7.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 33.7, "chi-square {chi2}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn the_keying_never_changes() {
        // Computed by an independent implementation of FNV-1a, SplitMix64 and xoshiro256++: a change here changes
        // every result that was ever stored.
        let mut rng = Rng::stream(1, "ap", "backoff");
        let draws: Vec<u32> = (0..4).map(|_| rng.below(1024)).collect();
        assert_eq!(draws, [626, 91, 927, 260]);
    }
}
