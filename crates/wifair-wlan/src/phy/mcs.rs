//! Modulation and code rate by MCS, from 802.11n on.

/// Modulation and code rate of an MCS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mcs {
    /// Coded bits per subcarrier and stream.
    pub bits: u32,
    pub code: CodeRate,
    /// The non-HT reference rate (10.6.11) in kbit/s.
    pub reference_kbps: u32,
}

/// The share of coded bits that are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRate {
    pub data: u32,
    pub coded: u32,
}

impl CodeRate {
    /// Number of data bits among `bits` coded bits, rounded down.
    pub(crate) fn data_of(self, bits: u32) -> u32 {
        bits * self.data / self.coded
    }
}

const fn mcs(bits: u32, data: u32, coded: u32, reference_kbps: u32) -> Mcs {
    Mcs { bits, code: CodeRate { data, coded }, reference_kbps }
}

/// By MCS; HT has the first eight for each number of streams, VHT the first ten, HE twelve, EHT all.
pub(super) const MCS: [Mcs; 14] = [
    mcs(1, 1, 2, 6_000),
    mcs(2, 1, 2, 12_000),
    mcs(2, 3, 4, 18_000),
    mcs(4, 1, 2, 24_000),
    mcs(4, 3, 4, 36_000),
    mcs(6, 2, 3, 48_000),
    mcs(6, 3, 4, 54_000),
    mcs(6, 5, 6, 54_000),
    mcs(8, 3, 4, 54_000),
    mcs(8, 5, 6, 54_000),
    mcs(10, 3, 4, 54_000),
    mcs(10, 5, 6, 54_000),
    mcs(12, 3, 4, 54_000),
    mcs(12, 5, 6, 54_000),
];

/// Training fields for 1 to 8 streams: HT-LTF, VHT-LTF, HE-LTF and EHT-LTF.
const TRAINING_FIELDS: [u64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

/// Number of training fields of a PPDU with that many streams.
pub(super) fn training_fields(streams: u8) -> u64 {
    TRAINING_FIELDS[usize::from(streams) - 1]
}
