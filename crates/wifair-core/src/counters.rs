use crate::Time;

/// Cumulative counters. A measurement is the difference of two snapshots; counters of the same kind are added up.
pub trait Counters {
    /// Returns what was counted since `earlier`, a previous snapshot of the same counters.
    fn since(&self, earlier: &Self) -> Self;

    /// Adds the counts of `other`.
    fn add(&mut self, other: &Self);
}

/// Counters whose values are numbers.
macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Counters for $number {
            fn since(&self, earlier: &$number) -> $number {
                *self - *earlier
            }

            fn add(&mut self, other: &$number) {
                *self += *other;
            }
        })+
    };
}

numbers!(u64, u128, Time);

impl<T: Counters, const N: usize> Counters for [T; N] {
    fn since(&self, earlier: &[T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].since(&earlier[index]))
    }

    fn add(&mut self, other: &[T; N]) {
        self.iter_mut().zip(other).for_each(|(sum, other)| sum.add(other));
    }
}

/// Declares a struct of [`Counters`](trait@crate::Counters), with `since` and `add` field by field.
///
/// A field may define its own difference, written `= value` after its type, with the names of the two snapshots after the
/// struct's name: `struct Ledger |now, earlier| { …, queued: Count = now.queued, … }`. With `; max` after that, `add` takes the
/// maximum of the two values.
#[macro_export]
macro_rules! counters {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident $(|$now:ident, $earlier:ident|)? {
            $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty $(= $since:expr $(; $add:ident)?)?,)+
        }
    ) => {
        $(#[$attribute])*
        $vis struct $name {
            $($(#[$doc])* $field_vis $field: $type,)+
        }

        impl $crate::Counters for $name {
            fn since(&self, earlier: &$name) -> $name {
                $(let ($now, $earlier) = (self, earlier);)?
                $name { $($field: $crate::counters!(@since self.$field, earlier.$field $(, $since)?),)+ }
            }

            fn add(&mut self, other: &$name) {
                $($crate::counters!(@add self.$field, other.$field $($(, $add)?)?);)+
            }
        }
    };
    (@since $now:expr, $earlier:expr) => { $crate::Counters::since(&$now, &$earlier) };
    (@since $now:expr, $earlier:expr, $since:expr) => { $since };
    (@add $sum:expr, $other:expr) => { $crate::Counters::add(&mut $sum, &$other) };
    (@add $sum:expr, $other:expr, $add:ident) => { $sum = $sum.$add($other) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHistogram;

    counters! {
        #[derive(Clone, Debug, PartialEq)]
        struct Counted |now, earlier| {
            packets: u64,
            air: [Time; 2],
            length: LogHistogram,
            queued_before: u64 = earlier.queued,
            queued: u64 = now.queued,
            greatest: u64 = now.greatest; max,
        }
    }

    fn counted(packets: u64) -> Counted {
        let mut length = LogHistogram::default();
        (0..packets).for_each(|value| length.record(value));
        let air = [Time::from_ns(packets), Time::from_ns(2 * packets)];
        Counted { packets, air, length, queued_before: 0, queued: 10 - packets, greatest: packets }
    }

    #[test]
    fn differences_and_sums_are_of_each_field() {
        let length = |range: std::ops::Range<u64>| {
            let mut length = LogHistogram::default();
            range.for_each(|value| length.record(value));
            length
        };
        let air = [Time::from_ns(3), Time::from_ns(6)];
        let expected =
            Counted { packets: 3, air, length: length(2..5), queued_before: 8, queued: 5, greatest: 5 };
        assert_eq!(counted(5).since(&counted(2)), expected);

        let mut sum = counted(2);
        sum.add(&counted(3));
        let mut both = length(0..2);
        both.add(&length(0..3));
        let air = [Time::from_ns(5), Time::from_ns(10)];
        assert_eq!(sum, Counted { packets: 5, air, length: both, queued_before: 0, queued: 15, greatest: 3 });
    }
}
