//! The mode of a link, and durations of its PPDUs.

use std::sync::Arc;

use wifair_core::{Rate, SpecError, Time};

use super::mcs::{MCS, Mcs};
use super::symbols::{SERVICE_BITS, SymbolCount, Symbols, TAIL_BITS};

/// Modulation of a PSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The data rate, to the nearest kbit/s.
    pub rate: Rate,
    /// Format of its PPDUs.
    pub format: Format,
    /// Whether it is coded by LDPC.
    pub ldpc: bool,
    /// MCS, from HT on; 0 before.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width in MHz: that of the channel, or what a punctured PPDU occupies.
    pub width_mhz: u16,
    /// Guard interval in ns; 0 for DSSS.
    pub guard_interval_ns: u16,
}

/// The format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// DSSS and HR-DSSS (clauses 15 and 16).
    Dsss,
    /// OFDM, called non-HT since 802.11n (clauses 17 and 18).
    Ofdm,
    /// HT, mixed format (clause 19).
    Ht,
    /// VHT (clause 21).
    Vht,
    /// HE SU (clause 27 of 802.11ax-2021).
    He,
    /// EHT MU to one user (clause 36 of 802.11be-2024).
    Eht,
}

/// Maximum duration of a PPDU from HT on (aPPDUMaxTime, 5.484 ms).
pub const MAX_PPDU_DURATION: Time = Time::from_us(5_484);

impl Format {
    /// Maximum length of a PSDU in bytes (aPSDUMaxLength).
    pub const fn max_psdu_bytes(self) -> u32 {
        match self {
            Format::Dsss | Format::Ofdm => 4_095,
            Format::Ht => 65_535,
            Format::Vht => 1_048_575,
            Format::He => 6_500_631,
            Format::Eht => 15_523_200,
        }
    }

    /// Whether a PPDU of one MPDU is an S-MPDU, with a delimiter (10.12.8).
    pub(crate) fn has_s_mpdus(self) -> bool {
        self >= Format::Vht
    }

    /// Maximum Block Ack window in MPDUs; 0 if there is none.
    pub(crate) fn max_window(self) -> u32 {
        match self {
            Format::Dsss | Format::Ofdm => 0,
            Format::Ht | Format::Vht => 64,
            Format::He => 256,
            Format::Eht => 1_024,
        }
    }

    /// Maximum duration of a PPDU, if the format has one.
    pub const fn max_ppdu_duration(self) -> Option<Time> {
        match self {
            Format::Dsss | Format::Ofdm => None,
            Format::Ht | Format::Vht | Format::He | Format::Eht => Some(MAX_PPDU_DURATION),
        }
    }
}

impl Mode {
    /// A placeholder before the first attempt.
    pub(crate) fn none() -> Mode {
        Mode::before_ht(Format::Dsss, 0)
    }

    /// Of 802.11b, or of what was there before 802.11n.
    pub(crate) fn before_ht(format: Format, kbps: u32) -> Mode {
        let guard_interval_ns = if format == Format::Dsss { 0 } else { 800 };
        Mode {
            rate: Rate::from_kbps(kbps),
            format,
            ldpc: false,
            mcs: 0,
            streams: 1,
            width_mhz: 20,
            guard_interval_ns,
        }
    }

    /// Modulation and code rate, from OFDM on. OFDM's are those of the MCS that has its rate as reference, but for 9 Mbps, BPSK
    /// 3/4.
    pub(crate) fn modulation(&self) -> Mcs {
        let of_mcs = |mcs: u8| MCS[usize::from(mcs)];
        match (self.format, self.rate.as_kbps()) {
            (Format::Ht, _) => of_mcs(self.mcs % 8),
            (Format::Ofdm, 9_000) => Mcs { bits: 1, ..of_mcs(2) },
            (Format::Ofdm, kbps) => {
                MCS.into_iter().find(|mcs| mcs.reference_kbps == kbps).unwrap_or(of_mcs(0))
            }
            _ => of_mcs(self.mcs),
        }
    }

    /// Whether its PPDUs leave out a part of their width.
    pub(crate) fn is_punctured(&self) -> bool {
        !(self.width_mhz / 20).is_power_of_two()
    }

    /// The rate that the rate of a control response must not exceed (10.6.6.5, 10.6.11).
    pub(super) fn reference_rate(&self) -> Rate {
        match self.format {
            Format::Dsss | Format::Ofdm => self.rate,
            _ => Rate::from_kbps(self.modulation().reference_kbps),
        }
    }
}

/// A mode of [`Modes`]. The link's own modes are counted from the slowest; the others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateIndex(pub u16);

/// Durations of a mode's PPDUs and of the frames that go with them.
#[derive(Clone, Copy, Debug)]
pub struct OnAir {
    /// The mode.
    pub mode: Mode,
    /// Index of its control frames in [`BssTiming::control_frames`](super::timing::BssTiming::control_frames).
    pub(crate) control: u8,
    /// Frames with a longer PSDU are sent after an RTS.
    pub(crate) rts_threshold: u32,
    /// Duration of SIFS and MAC ACK, which follow a decoded data frame.
    pub(crate) acknowledgement: Time,
    /// Half bits of every PPDU in addition to its PSDU, plus the term that makes the division round up.
    head: u64,
    /// ⌈2⁶⁴ / half bits of a symbol⌉: a multiplication instead of a division for each PPDU. Exact while (half bits of the PPDU)
    /// · (half bits of a symbol) < 2⁶⁴ (Granlund and Montgomery 1994).
    reciprocal: u64,
    symbol_ns: u64,
    /// Duration of preamble, signal extension, and announcement of the PPDU.
    fixed_ns: u64,
    /// Duration of the announcement.
    announcement_ns: u64,
    preamble_ns: u64,
    extra_bits: u32,
    half_bits: u32,
    /// Present unless the PPDU consists of whole symbols of equal length.
    symbols: Option<Symbols>,
    /// Largest PSDU of a PPDU of maximum duration, from HT on: most PPDUs ask for it.
    largest_psdu: Option<u32>,
}

impl OnAir {
    /// PPDUs of `mode` with `extra_bits` in addition to the PSDU, in symbols of `symbol` that carry `half_bits` / 2 bits each,
    /// after `preamble` and before `extension`.
    pub(super) fn new(
        mode: Mode,
        extra_bits: u32,
        half_bits: u32,
        symbol: Time,
        preamble: Time,
        extension: Time,
    ) -> OnAir {
        let wide = u64::from(half_bits);
        assert!(wide >= 2, "a symbol carries a bit");
        OnAir {
            mode,
            control: 0,
            rts_threshold: u32::MAX,
            acknowledgement: Time::ZERO,
            head: 2 * u64::from(extra_bits) + wide - 1,
            reciprocal: (u64::MAX / wide) + 1,
            symbol_ns: symbol.as_ns(),
            fixed_ns: (preamble + extension).as_ns(),
            announcement_ns: 0,
            preamble_ns: preamble.as_ns(),
            extra_bits,
            half_bits,
            symbols: None,
            largest_psdu: None,
        }
    }

    /// The same from HT on, with `encoders` BCC encoders unless the mode is coded by LDPC.
    pub(super) fn with_symbols(
        mode: Mode,
        symbols: Symbols,
        encoders: u32,
        preamble: Time,
        extension: Time,
    ) -> OnAir {
        let tail_bits = if mode.ldpc { 0 } else { TAIL_BITS * encoders };
        let symbol = Time::from_ns(symbols.symbol_ns);
        let is_plain = match symbols.count {
            SymbolCount::Whole => !symbols.in_steps_of_4_us,
            SymbolCount::Segments { ldpc: false } => symbols.padding_us == 0,
            _ => false,
        };
        let on_air = OnAir {
            symbols: (!is_plain).then_some(symbols),
            ..OnAir::new(mode, SERVICE_BITS + tail_bits, 2 * symbols.data_bits, symbol, preamble, extension)
        };
        OnAir { largest_psdu: on_air.largest_psdu(MAX_PPDU_DURATION), ..on_air }
    }

    /// The data rate.
    pub fn rate(&self) -> Rate {
        self.mode.rate
    }

    /// Data bits per symbol (N_DBPS).
    pub(crate) fn data_bits(&self) -> u32 {
        self.half_bits / 2
    }

    /// Bytes of data sent in `duration` at the mode's rate, rounded up.
    pub(crate) fn bytes_in(&self, duration: Time) -> u32 {
        (duration.as_ns() * u64::from(self.half_bits)).div_ceil(self.symbol_ns * 16) as u32
    }

    /// Time for which a frame with `psdu_bytes` occupies the medium, including a CTS-to-self and its SIFS.
    #[inline]
    pub fn duration(&self, psdu_bytes: u32) -> Time {
        if let Some(symbols) = &self.symbols {
            return self.duration_by(symbols, psdu_bytes);
        }
        let half_bits = self.head + 16 * u64::from(psdu_bytes);
        let symbols = ((u128::from(half_bits) * u128::from(self.reciprocal)) >> 64) as u64;
        Time::from_ns(self.fixed_ns + symbols * self.symbol_ns)
    }

    #[inline(never)]
    fn duration_by(&self, symbols: &Symbols, psdu_bytes: u32) -> Time {
        let bits = u64::from(self.extra_bits) + 8 * u64::from(psdu_bytes);
        Time::from_ns(self.fixed_ns) + symbols.duration(bits)
    }

    /// Duration of the PPDU with a PSDU of `psdu_bytes`, its signal extension included (TXTIME).
    pub fn ppdu_duration(&self, psdu_bytes: u32) -> Time {
        self.duration(psdu_bytes) - Time::from_ns(self.announcement_ns)
    }

    /// Duration of the announcement before the PPDU: a CTS-to-self and a SIFS, or zero.
    pub fn announcement(&self) -> Time {
        Time::from_ns(self.announcement_ns)
    }

    /// Duration of preamble and headers before the PSDU.
    pub fn preamble(&self) -> Time {
        Time::from_ns(self.preamble_ns)
    }

    /// Time from the start of the PPDU to the end of the symbol with the last of the first `bytes` bytes of its PSDU.
    pub(crate) fn end_of_bytes(&self, bytes: u32) -> Time {
        let half_bits = 2 * u64::from(SERVICE_BITS) + 16 * u64::from(bytes);
        Time::from_ns(self.preamble_ns + half_bits.div_ceil(u64::from(self.half_bits)) * self.symbol_ns)
    }

    /// Time from the start of the PPDU to the start of the symbol with the byte of its PSDU that follows the first `bytes`.
    pub(crate) fn start_of_byte(&self, bytes: u32) -> Time {
        let half_bits = 2 * u64::from(SERVICE_BITS) + 16 * u64::from(bytes);
        Time::from_ns(self.preamble_ns + half_bits / u64::from(self.half_bits) * self.symbol_ns)
    }

    /// The longest PSDU in bytes that the format allows.
    pub fn max_psdu_bytes(&self) -> u32 {
        self.mode.format.max_psdu_bytes()
    }

    /// Maximum length in bytes such that every PSDU up to it is allowed by the format and its PPDU lasts at most `duration`;
    /// `None` if even an empty PSDU lasts longer.
    pub fn largest_psdu(&self, duration: Time) -> Option<u32> {
        if duration == MAX_PPDU_DURATION && self.largest_psdu.is_some() {
            return self.largest_psdu;
        }
        let of_symbols = duration.as_ns().checked_sub(self.fixed_ns - self.announcement_ns)?;
        let bits = match &self.symbols {
            Some(symbols) => symbols.most_bits(Time::from_ns(of_symbols))?,
            None => of_symbols / self.symbol_ns * u64::from(self.half_bits) / 2,
        };
        let bytes = bits.checked_sub(u64::from(self.extra_bits))? / 8;
        Some(bytes.min(u64::from(self.max_psdu_bytes())) as u32)
    }

    /// The same, after an RTS whatever the length, unless a CTS-to-self precedes it.
    pub(crate) fn after_rts(self) -> OnAir {
        let rts_threshold = if self.announcement_ns == 0 { 0 } else { self.rts_threshold };
        OnAir { rts_threshold, ..self }
    }

    /// The same as data frames of a BSS: after an announcement, with control frames of its.
    pub(super) fn in_bss(self, control: u8, announcement: Time, acknowledgement: Time) -> OnAir {
        OnAir {
            control,
            acknowledgement,
            announcement_ns: announcement.as_ns(),
            fixed_ns: self.fixed_ns + announcement.as_ns(),
            ..self
        }
    }
}

/// The modes that a link may use.
///
/// The link's *own* modes have its width, number of streams and guard interval; a scenario names one of them. From 802.11n
/// on, other groups of narrower widths, fewer streams and a longer guard interval follow, for rate adaptations that descend
/// to them (`docs/medium.md`, section 2.1). Those of punctured PPDUs are in none.
#[derive(Clone, Debug)]
pub struct Modes {
    /// The own modes, the slowest first, then the other groups in the order of [`Modes::groups`], then those of punctured
    /// PPDUs.
    all: Vec<Arc<OnAir>>,
    /// How many are the link's own.
    own: usize,
}

impl Modes {
    /// Own modes alone.
    pub(super) fn new(own: Vec<OnAir>) -> Modes {
        Modes::of_groups(vec![own])
    }

    /// Groups of modes, the link's own first.
    pub(super) fn of_groups(groups: Vec<Vec<OnAir>>) -> Modes {
        Modes { own: groups[0].len(), all: groups.into_iter().flatten().map(Arc::new).collect() }
    }

    /// The own modes of these and others.
    pub(super) fn and(mut self, others: &Modes) -> Modes {
        self.all.truncate(self.own);
        self.all.extend_from_slice(&others.all[..others.own]);
        self.all.sort_by_key(|on_air| on_air.rate());
        Modes { own: self.all.len(), ..self }
    }

    /// The same, each changed.
    pub(crate) fn map(self, mut change: impl FnMut(OnAir) -> OnAir) -> Modes {
        Modes { own: self.own, all: self.all.iter().map(|on_air| Arc::new(change(**on_air))).collect() }
    }

    /// All modes, by width, guard interval and number of streams: the narrowest group first, of equals the one with the
    /// longer guard interval, of equals the one with fewer streams. The last group is the link's own.
    pub fn groups(&self) -> Vec<Vec<RateIndex>> {
        let key = |index: &RateIndex| {
            let Mode { width_mhz, guard_interval_ns, streams, .. } = self.all[usize::from(index.0)].mode;
            (width_mhz, guard_interval_ns, streams)
        };
        let is_in_group = |index: &RateIndex| !self.all[usize::from(index.0)].mode.is_punctured();
        let indices: Vec<RateIndex> = (0..self.all.len() as u16).map(RateIndex).filter(is_in_group).collect();
        let (own, others) = indices.split_at(self.own);
        others.chunk_by(|a, b| key(a) == key(b)).chain([own]).map(<[_]>::to_vec).collect()
    }

    /// Whether they have MCSs: from 802.11n on.
    pub fn have_mcs(&self) -> bool {
        self.all[0].mode.format >= Format::Ht
    }

    /// Whether they are 802.11b's.
    pub(crate) fn are_dsss(&self) -> bool {
        self.all[0].mode.format == Format::Dsss
    }

    /// The index of the rate `mbps`, given at `key`.
    ///
    /// # Errors
    /// Fails if the PHY does not have the rate; the error lists its rates.
    pub fn rate_index(&self, mbps: f64, key: &str) -> Result<RateIndex, SpecError> {
        match self.rates().position(|rate| rate.as_mbps() == mbps) {
            Some(index) => Ok(RateIndex(index as u16)),
            None => {
                let rates: Vec<String> = self.rates().map(|rate| rate.as_mbps().to_string()).collect();
                Err(SpecError::new(key, mbps, format!("one of {} Mbps", rates.join(", "))))
            }
        }
    }

    /// The index of an MCS, given at `key`.
    ///
    /// # Errors
    /// Fails if the PHY does not have the MCS with these streams and this width; the error lists its MCSs.
    pub fn mcs_index(&self, mcs: u8, key: &str) -> Result<RateIndex, SpecError> {
        match self.iter().position(|on_air| on_air.mode.mcs == mcs) {
            Some(index) => Ok(RateIndex(index as u16)),
            None => {
                let Mode { streams, width_mhz, .. } = self.all[0].mode;
                let listed: Vec<String> = self.iter().map(|on_air| on_air.mode.mcs.to_string()).collect();
                let plural = if streams == 1 { "" } else { "s" };
                let allowed =
                    format!("one of {} at {width_mhz} MHz with {streams} stream{plural}", listed.join(", "));
                Err(SpecError::new(key, mcs, allowed))
            }
        }
    }

    /// The index of what a station names by a rate in Mbps or, from 802.11n on, by an MCS, with the names of these keys; the
    /// fastest if it names neither.
    ///
    /// # Errors
    /// The PHY does not have it, or is not asked by that key.
    pub fn chosen(
        &self,
        rate_mbps: Option<f64>,
        mcs: Option<u8>,
        path: &str,
        [rate_key, mcs_key]: [&str; 2],
    ) -> Result<RateIndex, SpecError> {
        match (rate_mbps, mcs, self.have_mcs()) {
            (None, None, _) => Ok(RateIndex(self.own as u16 - 1)),
            (Some(mbps), None, false) => self.rate_index(mbps, &format!("{path}.{rate_key}")),
            (None, Some(mcs), true) => self.mcs_index(mcs, &format!("{path}.{mcs_key}")),
            (Some(mbps), _, true) => {
                let allowed = format!("no such key with a PHY from 802.11n on: {mcs_key} chooses the mode");
                Err(SpecError::new(format!("{path}.{rate_key}"), mbps, allowed))
            }
            (_, Some(mcs), false) => {
                let allowed = format!("no such key with a PHY before 802.11n: {rate_key} chooses the mode");
                Err(SpecError::new(format!("{path}.{mcs_key}"), mcs, allowed))
            }
        }
    }

    /// The rates of the own modes, the slowest first.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        self.iter().map(OnAir::rate)
    }

    /// How many are the link's own.
    pub fn count(&self) -> usize {
        self.own
    }

    /// The mode behind an index.
    #[inline]
    pub fn on_air(&self, index: RateIndex) -> OnAir {
        *self.all[usize::from(index.0)]
    }

    /// The same, in the one copy that all links of these modes use.
    pub(crate) fn shared(&self, index: RateIndex) -> Arc<OnAir> {
        Arc::clone(&self.all[usize::from(index.0)])
    }

    /// The index of one of them.
    pub(crate) fn index_of(&self, mode: &Mode) -> RateIndex {
        let place = self.all.iter().position(|on_air| on_air.mode == *mode);
        RateIndex(place.expect("the link has the modes that it uses") as u16)
    }

    /// The width of the own modes, in MHz.
    pub(crate) fn width_mhz(&self) -> u16 {
        self.all[0].mode.width_mhz
    }

    /// Whether there are some of punctured PPDUs.
    pub(crate) fn have_punctured(&self) -> bool {
        self.all[self.all.len() - 1].mode.is_punctured()
    }

    /// The own mode of that rate or, if its width is greater than `width_mhz`, the mode of this width with its streams, its
    /// guard interval and its MCS, or the next lower that there is.
    pub(crate) fn within(&self, rate: Rate, width_mhz: u16) -> Arc<OnAir> {
        let own = self.all[..self.own].iter().find(|on_air| on_air.rate() == rate);
        let own = own.expect("a link's rate is that of one of its modes");
        if own.mode.width_mhz <= width_mhz { Arc::clone(own) } else { self.narrowed(&own.mode, width_mhz) }
    }

    /// The mode of a width, less than that of `mode`, with its streams, its guard interval and its MCS, or the next lower that
    /// there is.
    pub(crate) fn narrowed(&self, mode: &Mode, width_mhz: u16) -> Arc<OnAir> {
        let Mode { mcs, streams, guard_interval_ns, .. } = *mode;
        let is_such = |mode: &Mode| {
            let setting = (mode.width_mhz, mode.streams, mode.guard_interval_ns);
            setting == (width_mhz, streams, guard_interval_ns) && mode.mcs <= mcs
        };
        let narrower = self.all[self.own..].iter().filter(|on_air| is_such(&on_air.mode));
        let highest = narrower.max_by_key(|on_air| on_air.mode.mcs);
        Arc::clone(highest.expect("a PHY has the lowest MCS in all widths"))
    }

    /// The own modes, the slowest first.
    pub fn iter(&self) -> impl Iterator<Item = &OnAir> {
        self.all[..self.own].iter().map(|on_air| &**on_air)
    }
}
