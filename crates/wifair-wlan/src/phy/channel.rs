//! Bands, widths, streams and guard intervals: the setting of a link of 802.11n or later, and its checks.

use wifair_core::{SpecError, Time};

use super::keys::{BandKeys, LinkKeys, Preamble};
use super::mode::{Format, Mode, OnAir};
use super::symbols::{SymbolCount, Symbols};

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 GHz.
    Ghz5,
    /// 6 GHz.
    Ghz6,
}

impl Band {
    const ALL: [Band; 3] = [Band::Ghz2_4, Band::Ghz5, Band::Ghz6];

    /// In GHz.
    pub fn ghz(self) -> f64 {
        match self {
            Band::Ghz2_4 => 2.4,
            Band::Ghz5 => 5.0,
            Band::Ghz6 => 6.0,
        }
    }

    pub(super) fn sifs_us(self) -> f64 {
        if self == Band::Ghz2_4 { 10.0 } else { 16.0 }
    }

    /// The signal extension after each PPDU but DSSS (18.3.2.4).
    pub(super) fn signal_extension(self) -> Time {
        if self == Band::Ghz2_4 { Time::from_us(6) } else { Time::ZERO }
    }
}

/// Capabilities of a PHY from 802.11n on.
pub(super) struct Capabilities {
    pub name: &'static str,
    /// By band, the narrowest width first; empty if the PHY does not support the band.
    pub widths_mhz: fn(Band) -> &'static [u16],
    /// Default width, except at 2.4 GHz.
    pub default_width_mhz: u16,
    pub max_streams: u8,
    pub guard_intervals_ns: &'static [u16],
}

/// A PHY from 802.11n on, and the scenario's choices among its capabilities.
pub(crate) struct Operating<'a> {
    pub(super) capabilities: &'static Capabilities,
    pub band: &'a BandKeys,
    pub link: &'a LinkKeys,
}

impl Operating<'_> {
    /// The band of the BSS; `None` if the PHY does not support it.
    pub(super) fn in_band(&self) -> Option<Band> {
        let ghz = self.band.band_ghz.unwrap_or(5.0);
        Band::ALL.into_iter().find(|&band| band.ghz() == ghz && self.works_at(band))
    }

    pub(super) fn works_at(&self, band: Band) -> bool {
        !(self.capabilities.widths_mhz)(band).is_empty()
    }

    /// What a BSS with this PHY offers to its links.
    pub(super) fn supported(&self, preamble: Preamble, path: &str) -> Result<Supported, SpecError> {
        let name = self.capabilities.name;
        let Some(band) = self.in_band() else {
            let bands = Band::ALL.into_iter().filter(|&band| self.works_at(band)).map(Band::ghz);
            let allowed = format!("{} with {name}", list(bands));
            let given = self.band.band_ghz.unwrap_or(5.0);
            return Err(SpecError::new(format!("{path}.band_ghz"), given, allowed));
        };
        let default = if band == Band::Ghz2_4 { 20 } else { self.capabilities.default_width_mhz };
        let width_mhz = self.capabilities.width(self.link.width_mhz.unwrap_or(default), band, path)?;
        let streams =
            self.capabilities.streams(self.link.streams.unwrap_or(1), &format!("{path}.streams"))?;
        Ok(Supported { band, preamble, width_mhz, streams })
    }
}

/// What a BSS offers to its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supported {
    pub band: Band,
    /// Preamble of its DSSS frames.
    pub preamble: Preamble,
    pub width_mhz: u16,
    pub streams: u8,
}

/// A station's settings for its link.
#[derive(Clone, Copy)]
pub(crate) struct Requested<'a> {
    pub supported: Supported,
    pub streams: Option<u8>,
    /// The key of the station in the plan.
    pub path: &'a str,
}

/// The setting of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub band: Band,
    pub width_mhz: u16,
    pub streams: u8,
    pub guard_interval_ns: u16,
}

impl Setting {
    /// The settings of the link's groups of modes: its own, then each other with at most its width and number of streams
    /// and, if its guard interval is 400 ns, with one of 800 ns. The narrowest width is first, then the longer guard
    /// interval, then fewer streams.
    fn groups(self, widths_mhz: &[u16]) -> Vec<Setting> {
        let guard_intervals_ns =
            if self.guard_interval_ns == 400 { vec![800, 400] } else { vec![self.guard_interval_ns] };
        let mut groups = vec![self];
        for &width_mhz in widths_mhz.iter().filter(|&&width_mhz| width_mhz <= self.width_mhz) {
            for &guard_interval_ns in &guard_intervals_ns {
                groups.extend((1..=self.streams).map(|streams| Setting {
                    width_mhz,
                    guard_interval_ns,
                    streams,
                    ..self
                }));
            }
        }
        groups.pop(); // the link's own is the last
        groups
    }
}

impl Capabilities {
    /// The settings of a link's groups of modes, its own first. `path` is the key of the PHY in the plan.
    pub(super) fn settings(
        &self,
        link: &LinkKeys,
        requested: &Requested,
        path: &str,
    ) -> Result<Vec<Setting>, SpecError> {
        let setting = self.setting(link, requested, path)?;
        Ok(setting.groups((self.widths_mhz)(setting.band)))
    }

    /// Determines the setting of a link. `path` is the key of the PHY in the plan.
    fn setting(&self, link: &LinkKeys, requested: &Requested, path: &str) -> Result<Setting, SpecError> {
        let supported = requested.supported;
        let widest =
            *(self.widths_mhz)(supported.band).last().expect("a PHY of another band is refused before");
        let width_mhz =
            self.width(link.width_mhz.unwrap_or(supported.width_mhz.min(widest)), supported.band, path)?;
        let (asked, key) = match requested.streams {
            Some(streams) => (streams, format!("{}.streams", requested.path)),
            None => {
                (link.streams.unwrap_or(supported.streams.min(self.max_streams)), format!("{path}.streams"))
            }
        };
        let streams = self.streams(asked, &key)?;
        for (key, value, offered) in [
            (format!("{path}.width_mhz"), width_mhz, supported.width_mhz),
            (key, streams.into(), supported.streams.into()),
        ] {
            if value > offered {
                let name = key.rsplit('.').next().unwrap_or_default().to_owned();
                return Err(SpecError::new(key, value, format!("at most {offered}, the BSS's (phy.{name})")));
            }
        }
        let guard_interval_ns = link.guard_interval_ns.unwrap_or(800);
        if !self.guard_intervals_ns.contains(&guard_interval_ns) {
            let allowed = format!("{} ns with {}", list(self.guard_intervals_ns), self.name);
            return Err(SpecError::new(format!("{path}.guard_interval_ns"), guard_interval_ns, allowed));
        }
        Ok(Setting { band: supported.band, width_mhz, streams, guard_interval_ns })
    }

    fn width(&self, width_mhz: u16, band: Band, path: &str) -> Result<u16, SpecError> {
        let widths = (self.widths_mhz)(band);
        if widths.contains(&width_mhz) {
            return Ok(width_mhz);
        }
        let allowed = format!("{} MHz with {} at {} GHz", list(widths), self.name, band.ghz());
        Err(SpecError::new(format!("{path}.width_mhz"), width_mhz, allowed))
    }

    fn streams(&self, streams: u8, key: &str) -> Result<u8, SpecError> {
        if (1..=self.max_streams).contains(&streams) {
            return Ok(streams);
        }
        Err(SpecError::new(key, streams, format!("1 to {} with {}", self.max_streams, self.name)))
    }
}

/// Lists values in words: "20, 40 or 80".
pub(super) fn list(values: impl IntoIterator<Item = impl ToString>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    match values.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => "nothing".into(),
    }
}

/// Parameters of a mode from its PHY's clause.
pub(super) struct Waveform {
    pub format: Format,
    pub mcs: u8,
    pub ldpc: bool,
    pub subcarriers: u32,
    /// Data subcarriers of a segment of the last symbol.
    pub segment_subcarriers: u32,
    /// Duration of a symbol without its guard interval.
    pub symbol_ns: u64,
    pub count: SymbolCount,
    pub padding_us: u8,
    pub preamble: Time,
}

impl Setting {
    /// The durations of PPDUs of a mode with this setting.
    pub(super) fn on_air(&self, wave: &Waveform, encoders: impl Fn(u32) -> u32) -> OnAir {
        let &Setting { band, width_mhz, streams, guard_interval_ns } = self;
        let mode = Mode {
            rate: wifair_core::Rate::from_kbps(0),
            format: wave.format,
            ldpc: wave.ldpc,
            mcs: wave.mcs,
            streams,
            width_mhz,
            guard_interval_ns,
        };
        let modulation = mode.modulation();
        let per_subcarrier = modulation.bits * u32::from(streams);
        let coded_bits = wave.subcarriers * per_subcarrier;
        let symbol_ns = wave.symbol_ns + u64::from(guard_interval_ns);
        let data_bits = modulation.code.data_of(coded_bits);
        let symbols = Symbols {
            count: wave.count,
            in_steps_of_4_us: guard_interval_ns == 400,
            padding_us: wave.padding_us,
            code: modulation.code,
            coded_bits,
            data_bits,
            segment_bits: wave.segment_subcarriers * per_subcarrier,
            symbol_ns,
        };
        let mode = Mode { rate: symbols.rate(), ..mode };
        OnAir::with_symbols(mode, symbols, encoders(data_bits), wave.preamble, band.signal_extension())
    }
}
