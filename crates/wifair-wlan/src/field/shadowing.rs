//! Shadowing: what the gain of a pair of nodes deviates by from the losses (`docs/medium.md`, section 16).

use wifair_core::Rng;

use crate::channel::normal;

/// Log-normal, drawn once per pair.
pub(super) struct Shadowing {
    pub deviation_db: f64,
    /// Of the run.
    pub seed: u64,
}

impl Shadowing {
    /// The offset of the gain between two nodes with these names, in dB; the same for both orders.
    pub(super) fn offset_db(&self, a: &str, b: &str) -> f64 {
        let pair = format!("{}\0{}", a.min(b), a.max(b));
        self.deviation_db * normal(&mut Rng::stream(self.seed, &pair, "shadowing"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_symmetric_and_scales(seed in any::<u64>(), a in "[a-z0-9-]{1,8}", b in "[a-z0-9-]{1,8}", db in 0.0..20.0) {
            let of = |deviation_db| Shadowing { deviation_db, seed };
            prop_assert_eq!(of(db).offset_db(&a, &b), of(db).offset_db(&b, &a));
            prop_assert_eq!(of(db).offset_db(&a, &b), db * of(1.0).offset_db(&a, &b));
        }
    }

    /// Over pairs with one seed, and over seeds of one pair: within four standard errors.
    #[test]
    fn its_mean_is_zero_and_its_deviation_as_given() {
        let names: Vec<String> = (0..150).map(|i| format!("node-{i}")).collect();
        let of = |seed| Shadowing { deviation_db: 5.0, seed };
        let pairs = (0..names.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let over_pairs: Vec<f64> = pairs.map(|(a, b)| of(3).offset_db(&names[a], &names[b])).collect();
        let over_seeds: Vec<f64> = (0..10_000).map(|seed| of(seed).offset_db("ap", "sta")).collect();
        for offsets in [over_pairs, over_seeds] {
            let n = offsets.len() as f64;
            let mean = offsets.iter().sum::<f64>() / n;
            let variance = offsets.iter().map(|of| (of - mean) * (of - mean)).sum::<f64>() / (n - 1.0);
            assert!(mean.abs() < 4.0 * 5.0 / n.sqrt(), "mean {mean}");
            assert!(
                (variance.sqrt() / 5.0 - 1.0).abs() < 4.0 / (2.0 * n).sqrt(),
                "deviation {}",
                variance.sqrt()
            );
            // Normal: 68.3 % within one deviation, 4.55 % beyond two.
            let share =
                |is: fn(f64) -> bool| offsets.iter().filter(|of| is(of.abs() / 5.0)).count() as f64 / n;
            assert!((share(|of| of < 1.0) - 0.6827).abs() < 4.0 * 0.465 / n.sqrt());
            assert!((share(|of| of > 2.0) - 0.0455).abs() < 4.0 * 0.208 / n.sqrt());
        }
    }

    #[test]
    fn pairs_have_streams_of_their_own() {
        let of = Shadowing { deviation_db: 5.0, seed: 1 };
        let offsets = [("a", "b"), ("a", "c"), ("b", "c"), ("ab", "c"), ("a", "bc")];
        let mut offsets = offsets.map(|(a, b)| of.offset_db(a, b));
        offsets.sort_by(f64::total_cmp);
        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{offsets:?}");
    }
}
