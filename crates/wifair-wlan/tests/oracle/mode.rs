//! Modes from 802.11n on: how long a PSDU lasts in each (docs/medium.md, section 2.1). All in ns and whole bits.

use super::timing::Tenths;

/// PHYs from 802.11n on, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    Ht,
    Vht,
    He,
    Eht,
}

use Generation::{Eht, He, Ht, Vht};

impl Generation {
    /// The widest channel in a band.
    pub fn widest_mhz(self, band_ghz: f64) -> u32 {
        match self {
            _ if band_ghz < 5.0 => 40,
            Ht => 40,
            Eht if band_ghz > 5.5 => 320,
            Vht | He | Eht => 160,
        }
    }

    pub fn most_streams(self) -> u32 {
        if self <= Vht { 4 } else { 8 }
    }

    /// MCSs of one number of streams.
    pub fn mcs_count(self) -> u32 {
        match self {
            Ht => 8,
            Vht => 10,
            He => 12,
            Eht => 14,
        }
    }

    /// The Block Ack window that it has.
    pub fn window(self) -> u32 {
        match self {
            Ht | Vht => 64,
            He => 256,
            Eht => 1_024,
        }
    }

    pub fn longest_psdu_bytes(self) -> u32 {
        match self {
            Ht => 65_535,
            Vht => 1_048_575,
            He => 6_500_631,
            Eht => 15_523_200,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub generation: Generation,
    pub width_mhz: u32,
    pub streams: u32,
    /// Of one number of streams: HT's modulo 8.
    pub mcs: u32,
    pub guard_ns: u32,
    /// LDPC also where BCC would do.
    pub ldpc: bool,
    /// Size of HE-LTFs and EHT-LTFs: 1, 2 or 4.
    pub ltf: u32,
    /// Nominal packet padding, µs.
    pub padding_us: u32,
}

/// Bits per subcarrier and stream.
const BITS: [u64; 14] = [1, 2, 2, 4, 4, 6, 6, 6, 8, 8, 10, 10, 12, 12];
/// Code rates: numerators and denominators.
const CODE_RATES: [(u64, u64); 14] = [
    (1, 2),
    (1, 2),
    (3, 4),
    (1, 2),
    (3, 4),
    (2, 3),
    (3, 4),
    (5, 6),
    (3, 4),
    (5, 6),
    (3, 4),
    (5, 6),
    (3, 4),
    (5, 6),
];

/// How the last symbol of a PSDU is filled.
struct Symbols {
    count: u64,
    /// Segments that the last of them has filled, of four.
    segments: u64,
}

impl Mode {
    /// 20 MHz and whatever is usual.
    pub fn plain(generation: Generation, streams: u32, mcs: u32) -> Mode {
        Mode { generation, width_mhz: 20, streams, mcs, guard_ns: 800, ldpc: false, ltf: 2, padding_us: 0 }
    }

    /// 802.11n at 20 MHz with the long guard interval; MCSs 0 to 31.
    pub fn ht(mcs: u32) -> Mode {
        Mode::plain(Ht, mcs / 8 + 1, mcs % 8)
    }

    /// The MCS that a scenario names.
    pub fn named_mcs(self) -> u32 {
        if self.generation == Ht { 8 * (self.streams - 1) + self.mcs } else { self.mcs }
    }

    /// The same with another MCS, or with the next lower one that there is.
    pub fn with_mcs(self, mcs: u32) -> Mode {
        let most = mcs % self.generation.mcs_count();
        let with = |mcs| Mode { mcs, ..self };
        (0..=most).rev().map(with).find(|mode| mode.exists()).expect("MCS 0 is there")
    }

    /// The MCSs that there are with its streams and width.
    pub fn ladder(self) -> Vec<u32> {
        (0..self.generation.mcs_count()).filter(|&mcs| Mode { mcs, ..self }.exists()).collect()
    }

    /// VHT leaves some out.
    pub fn exists(self) -> bool {
        let (numerator, denominator) = self.code_rate();
        let coded = self.coded_bits();
        self.generation != Vht
            || ((coded * numerator).is_multiple_of(denominator)
                && coded.is_multiple_of(self.encoders())
                && self.bits_per_symbol().is_multiple_of(self.encoders()))
    }

    fn code_rate(self) -> (u64, u64) {
        CODE_RATES[self.mcs as usize]
    }

    fn of_width<T: Copy>(self, by_width: [T; 5], punctured: [T; 6]) -> T {
        match self.width_mhz {
            20 => by_width[0],
            40 => by_width[1],
            80 => by_width[2],
            160 => by_width[3],
            320 => by_width[4],
            60 => punctured[0],
            120 => punctured[1],
            140 => punctured[2],
            200 => punctured[3],
            240 => punctured[4],
            280 => punctured[5],
            other => panic!("no PPDU occupies {other} MHz"),
        }
    }

    fn is_he(self) -> bool {
        self.generation >= He
    }

    /// N_CBPS.
    fn coded_bits(self) -> u64 {
        let subcarriers = match self.is_he() {
            false => self.of_width([52, 108, 234, 468, 0], [0; 6]),
            true => self.of_width([234, 468, 980, 1960, 3920], [702, 1448, 1682, 2428, 2940, 3408]),
        };
        subcarriers * self.bits_per_subcarrier()
    }

    fn bits_per_subcarrier(self) -> u64 {
        BITS[self.mcs as usize] * u64::from(self.streams)
    }

    /// N_DBPS.
    fn bits_per_symbol(self) -> u64 {
        let (numerator, denominator) = self.code_rate();
        self.coded_bits() * numerator / denominator
    }

    /// N_ES.
    fn encoders(self) -> u64 {
        match self.generation {
            Ht => self.bits_per_symbol().div_ceil(1_080),
            Vht if (self.width_mhz, self.streams, self.mcs) == (160, 4, 7) => 6,
            Vht => self.bits_per_symbol().div_ceil(2_160),
            He | Eht => 1,
        }
    }

    pub fn uses_ldpc(self) -> bool {
        let bcc_ends = self.is_he() && (self.width_mhz > 20 || self.mcs >= 10 || self.streams > 4);
        self.ldpc || bcc_ends
    }

    fn symbol_ns(self) -> u64 {
        let without = if self.is_he() { 12_800 } else { 3_200 };
        without + u64::from(self.guard_ns)
    }

    /// Rounded to the kbit/s, then down to tenths of Mbps.
    pub fn rate(self) -> Tenths {
        let (numerator, denominator) = self.code_rate();
        let (bits, ns) = (self.coded_bits() * numerator * 1_000_000, denominator * self.symbol_ns());
        let kbps = (2 * bits + ns) / (2 * ns);
        (kbps / 100) as Tenths
    }

    /// What answers it is at most as fast as this.
    pub fn reference_rate(self) -> Tenths {
        [60, 120, 180, 240, 360, 480, 540][self.mcs.min(6) as usize]
    }

    /// Bytes that pass in `quarters` quarters of a µs, rounded up.
    pub fn bytes_in(self, quarters: u32) -> u32 {
        let (numerator, denominator) = self.code_rate();
        let bits = self.coded_bits() * numerator * 1_000 * u64::from(quarters);
        bits.div_ceil(8 * 4 * self.symbol_ns() * denominator) as u32
    }

    fn preamble_ns(self) -> u64 {
        let training_fields = [1, 2, 4, 4, 6, 6, 8, 8][self.streams as usize - 1];
        let he_ltf = 3_200 * u64::from(self.ltf) + u64::from(self.guard_ns);
        20_000
            + match self.generation {
                Ht => 8_000 + 4_000 + 4_000 * training_fields,
                Vht => 8_000 + 4_000 + 4_000 * training_fields + 4_000,
                He => 4_000 + 8_000 + 4_000 + he_ltf * training_fields,
                Eht => 4_000 + 8_000 + 8_000 + 4_000 + he_ltf * training_fields,
            }
    }

    /// How long a PSDU of `bytes` bytes lasts, without signal extension.
    pub fn duration_ns(self, bytes: u32) -> u64 {
        let symbols = self.symbols(u64::from(bytes));
        let data = match self.guard_ns {
            // Short symbols fill whole symbols of 4 µs.
            400 => 4_000 * (symbols.count * 3_600).div_ceil(4_000),
            _ => symbols.count * self.symbol_ns(),
        };
        let extension = if self.is_he() { self.extension_us(symbols.segments) } else { 0 };
        self.preamble_ns() + data + 1_000 * extension
    }

    /// When the symbol ends that has the last of the first `bytes` bytes of a PSDU, from the start of the PPDU.
    pub fn end_of_bytes_ns(self, bytes: u32) -> u64 {
        let symbols = (16 + 8 * u64::from(bytes)).div_ceil(self.bits_per_symbol());
        self.preamble_ns() + symbols * self.symbol_ns()
    }

    /// When the symbol begins that has the byte after the first `bytes` of a PSDU, from the start of the PPDU.
    pub fn start_of_byte_ns(self, bytes: u32) -> u64 {
        let symbols = (16 + 8 * u64::from(bytes)) / self.bits_per_symbol();
        self.preamble_ns() + symbols * self.symbol_ns()
    }

    /// T_PE.
    fn extension_us(self, segments: u64) -> u64 {
        let by_segments = match self.padding_us {
            0 => [0; 4],
            8 => [0, 0, 4, 8],
            16 => [4, 8, 12, 16],
            _ => [8, 12, 16, 20],
        };
        by_segments[segments as usize - 1]
    }

    fn symbols(self, bytes: u64) -> Symbols {
        let ldpc = self.uses_ldpc();
        let tail = if ldpc { 0 } else { 6 * self.encoders() };
        let bits = 8 * bytes + 16 + tail;
        let coded = self.coded_bits();
        let per_symbol = self.bits_per_symbol();
        let count = bits.div_ceil(per_symbol);
        if !self.is_he() {
            let payload = if self.generation == Ht { bits } else { count * per_symbol };
            let extra = ldpc && self.needs_extra(payload, count * coded);
            return Symbols { count: count + u64::from(extra), segments: 4 };
        }
        // C(1) and D(1).
        let of_segment = self.of_width([60, 120, 240, 492, 984], [180, 360, 420, 612, 732, 852]);
        let coded_segment = of_segment * self.bits_per_subcarrier();
        let (numerator, denominator) = self.code_rate();
        let segment = coded_segment * numerator / denominator;
        let segments = match bits % per_symbol {
            0 => 4,
            rest => rest.div_ceil(segment).min(4),
        };
        let payload = (count - 1) * per_symbol + if segments == 4 { per_symbol } else { segments * segment };
        let available = (count - 1) * coded + if segments == 4 { coded } else { segments * coded_segment };
        match (ldpc && self.needs_extra(payload, available), segments) {
            (false, _) => Symbols { count, segments },
            (true, 4) => Symbols { count: count + 1, segments: 1 },
            (true, _) => Symbols { count, segments: segments + 1 },
        }
    }

    /// Whether `payload` bits need more than the `available` coded bits, for too many would be punctured.
    fn needs_extra(self, payload: u64, available: u64) -> bool {
        let (numerator, denominator) = self.code_rate();
        let parity = denominator - numerator; // 1 - R, times the denominator
        let roomy = |spare: u64| denominator * available >= denominator * payload + spare * parity;
        let (codewords, length) = match available {
            ..=648 => (1, if roomy(912) { 1_296 } else { 648 }),
            649..=1_296 => (1, if roomy(1_464) { 1_944 } else { 1_296 }),
            1_297..=1_944 => (1, 1_944),
            1_945..=2_592 => (2, if roomy(2_916) { 1_944 } else { 1_296 }),
            _ => ((payload * denominator).div_ceil(1_944 * numerator), 1_944),
        };
        let shortened = (codewords * length * numerator / denominator).saturating_sub(payload);
        let punctured = (codewords * length).saturating_sub(available + shortened);
        let parity_bits = codewords * length * parity; // times the denominator
        let many = 10 * denominator * punctured > parity_bits;
        let hardly_shortened = 10 * shortened * parity < 12 * punctured * numerator;
        (many && hardly_shortened) || 10 * denominator * punctured > 3 * parity_bits
    }
}
