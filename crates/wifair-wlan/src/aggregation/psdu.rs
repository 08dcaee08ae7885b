//! Length of an A-MPDU, and what may still be added to it (802.11-2020, 9.7 and 10.12; `docs/medium.md`, section 12).

use super::amsdu::Amsdu;

/// Bytes of the delimiter before an MPDU in an A-MPDU; subframes are padded to multiples of it.
pub(super) const DELIMITER_BYTES: u32 = 4;

/// Limits of a PPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub max_mpdus: u32,
    /// Maximum length of a PSDU, by the standard, the PPDU's duration or the TXOP.
    pub max_psdu_bytes: u32,
    /// Minimum distance between the starts of two subframes.
    pub spacing_bytes: u32,
    /// Bytes of an MPDU in addition to its IP packet.
    pub mac_bytes: u32,
}

/// The PSDU of the MPDUs of a PPDU, as it grows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Psdu {
    /// Bytes of the subframes before the last, with their padding.
    before: u32,
    /// Bytes of the last MPDU.
    last: u32,
    mpdus: u32,
}

impl Psdu {
    /// A PSDU of one MPDU of `bytes`.
    pub fn of(bytes: u32) -> Psdu {
        Psdu { before: 0, last: bytes, mpdus: 1 }
    }

    /// The longest PSDU of packets that all have `ip_bytes`, and their number.
    pub fn full(ip_bytes: u32, limits: &Limits, amsdu: &Amsdu) -> (Psdu, u32) {
        let Limits { max_mpdus, max_psdu_bytes, spacing_bytes, mac_bytes } = *limits;
        let bytes = ip_bytes + mac_bytes;
        let (mut psdu, mut packets, mut is_amsdu) = (Psdu::of(bytes), 1, false);
        loop {
            let room = psdu.room_of_last(max_psdu_bytes);
            if amsdu.joins() && ip_bytes <= amsdu.room(psdu.last, is_amsdu, room) {
                psdu = psdu.with_last(amsdu.with(psdu.last, is_amsdu, ip_bytes));
                is_amsdu = true;
            } else if psdu.mpdus < max_mpdus && bytes <= psdu.room(max_psdu_bytes, spacing_bytes) {
                psdu = psdu.with(bytes, spacing_bytes);
                is_amsdu = false;
            } else {
                return (psdu, packets);
            }
            packets += 1;
        }
    }

    /// Adds an MPDU of `bytes`. The starts of two MPDUs are at least `spacing_bytes` apart.
    pub fn with(self, bytes: u32, spacing_bytes: u32) -> Psdu {
        self.with_at(self.before_next(spacing_bytes), bytes)
    }

    /// The same, after as many bytes as [`Psdu::before_next`] returns.
    pub fn with_at(self, before: u32, bytes: u32) -> Psdu {
        Psdu { before, last: bytes, mpdus: self.mpdus + 1 }
    }

    /// The same, or the PSDU of this MPDU if it has none yet.
    pub fn followed_by(self, bytes: u32, spacing_bytes: u32) -> Psdu {
        if self.mpdus == 0 { Psdu::of(bytes) } else { self.with(bytes, spacing_bytes) }
    }

    /// Bytes before the delimiter of a further MPDU.
    pub fn before_next(&self, spacing_bytes: u32) -> u32 {
        let subframe = (DELIMITER_BYTES + self.last).max(spacing_bytes);
        self.before + subframe.next_multiple_of(DELIMITER_BYTES)
    }

    /// Gives the last MPDU, which another packet has joined, `bytes`.
    pub fn with_last(self, bytes: u32) -> Psdu {
        Psdu { last: bytes, ..self }
    }

    /// Bytes of the last MPDU.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Maximum length of the last MPDU such that the PSDU, which has delimiters, has at most `max_bytes`.
    pub fn room_of_last(&self, max_bytes: u32) -> u32 {
        max_bytes.saturating_sub(self.before + DELIMITER_BYTES)
    }

    /// Number of MPDUs.
    pub fn mpdus(&self) -> u32 {
        self.mpdus
    }

    /// Length in bytes. A lone MPDU has a delimiter only as an S-MPDU.
    pub fn bytes(&self, lone_has_delimiter: bool) -> u32 {
        match self.mpdus {
            1 if !lone_has_delimiter => self.last,
            _ => self.before + DELIMITER_BYTES + self.last,
        }
    }

    /// Maximum length of a further MPDU such that the PSDU has at most `max_bytes`.
    pub fn room(&self, max_bytes: u32, spacing_bytes: u32) -> u32 {
        room_at(self.before_next(spacing_bytes), max_bytes)
    }
}

/// Maximum length of an MPDU after as many bytes as [`Psdu::before_next`] returns, such that the PSDU has at most `max_bytes`.
pub(super) fn room_at(before: u32, max_bytes: u32) -> u32 {
    max_bytes.saturating_sub(before + DELIMITER_BYTES)
}

/// Splits a total among parts in proportion to their sizes: the first `n` shares sum to the total times their fraction of the
/// whole, rounded down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    total: u64,
    whole: u64,
    /// ⌈2⁶⁴ / whole⌉, by which to multiply in place of a division, where that is exact: total · whole² < 2⁶⁴ (Granlund and
    /// Montgomery 1994).
    reciprocal: Option<u64>,
    sum: u64,
    given: u64,
}

impl Shares {
    /// Splits `total` among parts whose sizes add up to `whole`.
    pub fn of(total: u64, whole: u64) -> Shares {
        let is_exact = total > 0
            && whole > 1
            && total.checked_mul(whole).is_some_and(|n| n.checked_mul(whole).is_some());
        let reciprocal = is_exact.then(|| u64::MAX / whole + 1);
        Shares { total, whole, reciprocal, sum: 0, given: 0 }
    }

    /// The share of the next part.
    pub fn next(&mut self, size: u32) -> u64 {
        if self.total == 0 {
            return 0;
        }
        self.sum += u64::from(size);
        let until = match self.reciprocal {
            Some(reciprocal) => ((u128::from(self.total * self.sum) * u128::from(reciprocal)) >> 64) as u64,
            None => (u128::from(self.total) * u128::from(self.sum) / u128::from(self.whole)) as u64,
        };
        let share = until - self.given;
        self.given = until;
        share
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Subframe by subframe, as 9.7.1 draws it.
    fn plainly(mpdus: &[u32], spacing_bytes: u32, lone_has_delimiter: bool) -> u32 {
        if mpdus.len() == 1 && !lone_has_delimiter {
            return mpdus[0];
        }
        let mut bytes = 0;
        for (index, mpdu) in mpdus.iter().enumerate() {
            let start = bytes;
            bytes += 4 + mpdu;
            if index + 1 < mpdus.len() {
                while bytes % 4 != 0 {
                    bytes += 1;
                }
                while bytes - start < spacing_bytes {
                    bytes += 4;
                }
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn lengths_and_room(
            mpdus in prop::collection::vec(30u32..3_000, 1..70),
            spacing_bytes in prop_oneof![Just(0), 1u32..2_000],
            lone in any::<bool>(),
            max_bytes in 0u32..70_000,
        ) {
            let grow = |psdu: Psdu, &bytes: &u32| psdu.with(bytes, spacing_bytes);
            let psdu = mpdus[1..].iter().fold(Psdu::of(mpdus[0]), grow);
            prop_assert_eq!(psdu.bytes(lone), plainly(&mpdus, spacing_bytes, lone));
            prop_assert_eq!(psdu.mpdus() as usize, mpdus.len());
            let room = psdu.room(max_bytes, spacing_bytes);
            if room > 0 {
                prop_assert_eq!(psdu.with(room, spacing_bytes).bytes(lone), max_bytes);
            }
            prop_assert!(psdu.with(room + 1, spacing_bytes).bytes(lone) > max_bytes);
            let of_last = psdu.room_of_last(max_bytes);
            prop_assert!(of_last == 0 || psdu.with_last(of_last).bytes(true) == max_bytes);
            prop_assert_eq!(psdu.with_last(psdu.last()).bytes(true), psdu.bytes(true));
        }

        #[test]
        fn shares_add_up(total in prop_oneof![0u64..10_000_000, any::<u64>()], sizes in prop::collection::vec(1u32..2_000, 1..70)) {
            let whole: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
            let mut shares = Shares::of(total, whole);
            let parts: Vec<u64> = sizes.iter().map(|&size| shares.next(size)).collect();
            let (mut sum, mut given) = (0, 0);
            for (part, size) in parts.iter().zip(&sizes) {
                sum += u64::from(*size);
                given += part;
                prop_assert_eq!(u128::from(given), u128::from(total) * u128::from(sum) / u128::from(whole));
            }
            prop_assert_eq!(given, total);
        }
    }
}
