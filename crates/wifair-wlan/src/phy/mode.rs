//! The mode of a link, and how long PPDUs last in it.

use wifair_core::{Rate, SpecError, Time};

use super::PhySpec;

/// How a PSDU is modulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The data rate, to the nearest kbit/s.
    pub rate: Rate,
    /// What its PPDUs look like.
    pub format: Format,
}

/// The format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// DSSS and HR-DSSS (clauses 15 and 16).
    Dsss,
    /// OFDM, called non-HT since 802.11n (clauses 17 and 18).
    Ofdm,
}

/// A mode of [`Modes`], counted from the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateIndex(pub u8);

/// How long PPDUs of a mode are on the air.
#[derive(Clone, Copy, Debug)]
pub struct OnAir {
    /// The mode.
    pub mode: Mode,
    /// Half bits that every PPDU has beyond its PSDU, plus what makes the division round up.
    head: u64,
    /// ⌈2⁶⁴ / half bits of a symbol⌉: a multiplication instead of a division for each PPDU. Exact while (half bits of the PPDU) ·
    /// (half bits of a symbol) < 2⁶⁴ (Granlund and Montgomery 1994).
    reciprocal: u64,
    symbol_ns: u64,
    /// Preamble and signal extension, and what announces the PPDU.
    fixed_ns: u64,
}

impl OnAir {
    /// PPDUs of `mode` with `extra_bits` beside the PSDU, in symbols of `symbol` that carry `half_bits` / 2 bits each, after and
    /// before `fixed`.
    pub(super) fn new(mode: Mode, extra_bits: u32, half_bits: u32, symbol: Time, fixed: Time) -> OnAir {
        let half_bits = u64::from(half_bits);
        assert!(half_bits >= 2, "a symbol carries a bit");
        OnAir {
            mode,
            head: 2 * u64::from(extra_bits) + half_bits - 1,
            reciprocal: (u64::MAX / half_bits) + 1,
            symbol_ns: symbol.as_ns(),
            fixed_ns: fixed.as_ns(),
        }
    }

    /// The data rate.
    pub fn rate(&self) -> Rate {
        self.mode.rate
    }

    /// How long a frame with `psdu_bytes` occupies the medium, with the CTS-to-self and the SIFS that may go before it.
    #[inline]
    pub fn duration(&self, psdu_bytes: u32) -> Time {
        let half_bits = self.head + 16 * u64::from(psdu_bytes);
        let symbols = ((u128::from(half_bits) * u128::from(self.reciprocal)) >> 64) as u64;
        Time::from_ns(self.fixed_ns + symbols * self.symbol_ns)
    }
}

/// The modes that a link may use, the slowest first.
#[derive(Clone, Debug)]
pub struct Modes(Vec<OnAir>);

impl Modes {
    /// Those of the PHY that `spec` names; `path` is where it stands in the plan.
    ///
    /// # Errors
    /// A duration that is out of range.
    pub fn new(spec: &PhySpec, path: &str) -> Result<Modes, SpecError> {
        Ok(Modes(spec.phy().modes(path)?))
    }

    /// The same, each data frame after an announcement that takes `lead`.
    pub(crate) fn after(mut self, lead: Time) -> Modes {
        self.0.iter_mut().for_each(|on_air| on_air.fixed_ns += lead.as_ns());
        self
    }

    /// The index of the rate `mbps`, given at `key`.
    ///
    /// # Errors
    /// The PHY does not have it; the error lists those that it has.
    pub fn rate_index(&self, mbps: f64, key: &str) -> Result<RateIndex, SpecError> {
        match self.rates().position(|rate| rate.as_mbps() == mbps) {
            Some(index) => Ok(RateIndex(index as u8)),
            None => {
                let rates: Vec<String> = self.rates().map(|rate| rate.as_mbps().to_string()).collect();
                Err(SpecError::new(key, mbps, format!("one of {} Mbps", rates.join(", "))))
            }
        }
    }

    /// Their rates, the slowest first.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        self.0.iter().map(OnAir::rate)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The mode behind an index.
    #[inline]
    pub fn on_air(&self, index: RateIndex) -> OnAir {
        self.0[usize::from(index.0)]
    }
}
