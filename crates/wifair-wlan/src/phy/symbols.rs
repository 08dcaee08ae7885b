//! Number of OFDM symbols of a PSDU: tail bits, LDPC's extra symbol, segments of the last symbol (`docs/medium.md`, section
//! 2.1).

use wifair_core::{Rate, Time};

use super::mcs::CodeRate;

/// SERVICE bits.
pub(super) const SERVICE_BITS: u32 = 16;
/// Tail bits of a BCC encoder.
pub(super) const TAIL_BITS: u32 = 6;

/// Rule by which symbols are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolCount {
    /// Whole symbols.
    Whole,
    /// LDPC as in HT: the payload is not padded before it is encoded (19.3.11.7.5).
    HtLdpc,
    /// LDPC as in VHT: the payload is padded to whole symbols first (21.3.10.5.4).
    VhtLdpc,
    /// The last symbol is filled by segments, and a packet extension follows (27.3.12, 27.3.13); with LDPC or not.
    Segments { ldpc: bool },
}

/// A mode's symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbols {
    pub count: SymbolCount,
    /// Whether silence follows up to a multiple of 4 µs, as after the symbols with HT's and VHT's short guard interval
    /// (equations 19-91 and 21-109).
    pub in_steps_of_4_us: bool,
    /// Nominal packet padding in µs.
    pub padding_us: u8,
    pub code: CodeRate,
    /// Coded bits of a symbol.
    pub coded_bits: u32,
    /// Data bits of a symbol.
    pub data_bits: u32,
    /// Coded bits of a segment of the last symbol.
    pub segment_bits: u32,
    pub symbol_ns: u64,
}

/// Where a PSDU ends: in which symbol and, by segments, in which quarter of it, the pre-FEC or post-FEC padding factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    symbols: u64,
    quarter: u64,
}

impl End {
    const fn whole(symbols: u64) -> End {
        End { symbols, quarter: 4 }
    }
}

impl Symbols {
    /// The data rate, to the nearest kbit/s: as the standard's tables have it, of `coded_bits` times the code rate, which need
    /// not be whole.
    pub(super) fn rate(&self) -> Rate {
        let bits = u64::from(self.coded_bits) * u64::from(self.code.data) * 1_000_000;
        let per = u64::from(self.code.coded) * self.symbol_ns;
        Rate::from_kbps(((2 * bits + per) / (2 * per)) as u32)
    }

    /// How long the symbols of `bits` last, SERVICE and tail bits included, with what follows them but the signal extension.
    pub(super) fn duration(&self, bits: u64) -> Time {
        Time::from_ns(self.duration_ns(self.end(bits)))
    }

    /// Maximum number of bits whose symbols last at most `duration`.
    pub(super) fn most_bits(&self, duration: Time) -> Option<u64> {
        let end = self.last_within(duration.as_ns())?;
        match self.count {
            SymbolCount::Whole | SymbolCount::Segments { ldpc: false } => Some(self.most_data_bits(end)),
            SymbolCount::VhtLdpc | SymbolCount::Segments { ldpc: true } => {
                let payload = self.most_data_bits(end);
                let fits = !self.has_extra(payload, self.most_coded_bits(end));
                if fits { Some(payload) } else { self.before(end).map(|end| self.most_data_bits(end)) }
            }
            SymbolCount::HtLdpc => {
                // Within a symbol, a PSDU that needs an extra one is longer than one that does not.
                let coded = self.most_coded_bits(end);
                let [mut fits, mut fails] =
                    [End::whole(end.symbols - 1), end].map(|end| self.most_data_bits(end) / 8);
                fails += 1;
                while fails - fits > 1 {
                    let middle = fits.midpoint(fails);
                    if self.has_extra(8 * middle, coded) { fails = middle } else { fits = middle }
                }
                Some(8 * fits)
            }
        }
    }

    fn duration_ns(&self, end: End) -> u64 {
        let symbols_ns = end.symbols * self.symbol_ns;
        if self.in_steps_of_4_us {
            return symbols_ns.next_multiple_of(4_000);
        }
        symbols_ns + self.extension_ns(end.quarter)
    }

    /// Packet extension after a last symbol that is filled up to a quarter (27.3.13, 36.3.14).
    fn extension_ns(&self, quarter: u64) -> u64 {
        (4 * quarter + u64::from(self.padding_us)).saturating_sub(16) * 1_000
    }

    /// Where the PSDU ends that with SERVICE and tail has `bits`.
    fn end(&self, bits: u64) -> End {
        let symbols = bits.div_ceil(u64::from(self.data_bits));
        match self.count {
            SymbolCount::Whole => End::whole(symbols),
            SymbolCount::HtLdpc => {
                let extra = self.has_extra(bits, symbols * u64::from(self.coded_bits));
                End::whole(symbols + u64::from(extra))
            }
            SymbolCount::VhtLdpc => {
                let end = End::whole(symbols);
                let extra = self.has_extra(self.most_data_bits(end), self.most_coded_bits(end));
                End::whole(symbols + u64::from(extra))
            }
            SymbolCount::Segments { ldpc } => {
                let in_last = bits - (symbols - 1) * u64::from(self.data_bits);
                let quarter = in_last.div_ceil(u64::from(self.code.data_of(self.segment_bits))).min(4);
                let end = End { symbols, quarter };
                let extra = ldpc && self.has_extra(self.most_data_bits(end), self.most_coded_bits(end));
                match (extra, quarter) {
                    (false, _) => end,
                    (true, 4) => End { symbols: symbols + 1, quarter: 1 },
                    (true, _) => End { symbols, quarter: quarter + 1 },
                }
            }
        }
    }

    fn before(&self, end: End) -> Option<End> {
        match self.count {
            SymbolCount::Segments { .. } if end.quarter > 1 => Some(End { quarter: end.quarter - 1, ..end }),
            _ => (end.symbols > 1).then(|| End::whole(end.symbols - 1)),
        }
    }

    /// The last end that `duration_ns` allows.
    fn last_within(&self, duration_ns: u64) -> Option<End> {
        let symbols = match self.in_steps_of_4_us {
            true => duration_ns / 4_000 * 4_000 / self.symbol_ns,
            false => duration_ns / self.symbol_ns,
        };
        let mut end = (symbols > 0).then_some(End::whole(symbols));
        while end.is_some_and(|end| self.duration_ns(end) > duration_ns) {
            end = end.and_then(|end| self.before(end));
        }
        end
    }

    /// Data bits sent up to `end`.
    fn most_data_bits(&self, end: End) -> u64 {
        let last = match end.quarter {
            4 => self.data_bits,
            quarter => self.code.data_of(quarter as u32 * self.segment_bits),
        };
        (end.symbols * u64::from(self.data_bits) + u64::from(last)) - u64::from(self.data_bits)
    }

    /// Coded bits sent up to `end`.
    fn most_coded_bits(&self, end: End) -> u64 {
        let last = match end.quarter {
            4 => self.coded_bits,
            quarter => quarter as u32 * self.segment_bits,
        };
        (end.symbols * u64::from(self.coded_bits) + u64::from(last)) - u64::from(self.coded_bits)
    }

    /// Whether `payload` bits encoded by LDPC into `available` bits are punctured so much that a symbol or segment is added
    /// (19.3.11.7.5, Table 19-16 and step d).
    fn has_extra(&self, payload: u64, available: u64) -> bool {
        let (data, coded) = (u64::from(self.code.data), u64::from(self.code.coded));
        let parity = coded - data;
        let roomy = |bits: u64| available >= payload + bits * parity / coded;
        let (codewords, length) = match available {
            0..=648 => (1, if roomy(912) { 1_296 } else { 648 }),
            649..=1_296 => (1, if roomy(1_464) { 1_944 } else { 1_296 }),
            1_297..=1_944 => (1, 1_944),
            1_945..=2_592 => (2, if roomy(2_916) { 1_944 } else { 1_296 }),
            _ => (payload.div_ceil(1_944 * data / coded), 1_944),
        };
        let shortened = (codewords * length * data / coded).saturating_sub(payload);
        let punctured = (codewords * length).saturating_sub(available + shortened);
        let parity_bits = codewords * length * parity / coded;
        let scarcely_shortened = 10 * shortened * parity < 12 * punctured * data;
        10 * punctured > parity_bits && scarcely_shortened || 10 * punctured > 3 * parity_bits
    }
}
