//! PHY timing as data: one row a PHY, every value of a row overridable by a key of [`PhySpec`].
//!
//! Sources: 802.11-2020, clauses 15 (DSSS), 16 (HR-DSSS), 17 (OFDM) and 18 (ERP); durations as in
//! `docs/medium.md`, section 2. All frames of a BSS use one preamble.

mod spec;
mod table;

use wifair_core::{Rate, SpecError, Time};

use crate::check;
use spec::label;
pub use spec::{ErpProtection, PhyName, PhySpec, Preamble};
pub(crate) use table::OnAir;
use table::row;

/// PSDU bytes of MAC ACK and CTS (9.3.1.4, 9.3.1.3).
pub(crate) const ACK_BYTES: u32 = 14;
/// PSDU bytes of an RTS (9.3.1.2).
const RTS_BYTES: u32 = 20;

impl PhyName {
    /// Its rates in Mbit/s, the slowest first.
    pub fn rates_mbps(self) -> Vec<f64> {
        let rates = row(self, Preamble::Long, true).rates.iter();
        rates.map(|rate| Rate::from_kbps(rate.kbps).as_mbps()).collect()
    }
}

/// A rate of a [`Phy`], counted from the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateIndex(pub u8);

/// The timing of a BSS, ready for use.
#[derive(Clone, Debug)]
pub struct Phy {
    /// Slot time.
    pub slot: Time,
    /// Short interframe space.
    pub sifs: Time,
    /// DCF interframe space: SIFS and two slots (10.3.7).
    pub difs: Time,
    /// aRxPHYStartDelay.
    pub rx_start_delay: Time,
    /// aRxPHYStartDelay of a CTS.
    pub cts_start_delay: Time,
    /// Rate of MAC ACK, RTS and CTS.
    pub control_rate: Rate,
    /// Rate of RTS and CTS: the control rate, or as protection has it.
    pub reservation_rate: Rate,
    /// A MAC ACK at the control rate.
    pub ack: Time,
    /// A CTS: at the control rate, or as protection has it.
    pub cts: Time,
    /// An RTS, likewise.
    pub rts: Time,
    /// Whether protection puts RTS and CTS before every data frame.
    pub always_reserves: bool,
    /// Whether protection puts a CTS-to-self before every data frame.
    pub announces: bool,
    /// A MAC ACK at the lowest mandatory rate, as EIFS counts it (10.3.2.3.7): that of 802.11b, where there are receivers
    /// of it.
    pub slowest_ack: Time,
    /// CWmin in slots.
    pub cw_min: u16,
    /// CWmax in slots.
    pub cw_max: u16,
    overhead_bytes: u32,
    dsss: bool,
    rates: Vec<OnAir>,
}

impl Phy {
    /// The timing that `spec` describes; `path` is where it stands in the plan.
    ///
    /// # Errors
    /// A key that this PHY does not have, a duration or size out of range, a rate that the PHY does not have, a
    /// contention window that is not a power of two minus one or exceeds 1023.
    pub fn new(spec: &PhySpec, path: &str) -> Result<Phy, SpecError> {
        let only = |given: bool, key: &str, owner: PhyName| {
            if given && spec.name != owner {
                let allowed = format!("no such key unless {path}.name is {}", label(owner));
                return Err(SpecError::new(format!("{path}.{key}"), "this key", allowed));
            }
            Ok(())
        };
        if spec.erp_protection.is_none() {
            only(spec.preamble.is_some(), "preamble", PhyName::B)?;
            if spec.protection_rate_mbps.is_some() {
                let allowed = format!("no such key without {path}.erp_protection");
                return Err(SpecError::new(format!("{path}.protection_rate_mbps"), "this key", allowed));
            }
        }
        only(spec.erp_protection.is_some(), "erp_protection", PhyName::G)?;
        only(spec.short_slot.is_some(), "short_slot", PhyName::G)?;
        let row = row(spec.name, spec.preamble.unwrap_or_default(), spec.short_slot.unwrap_or(true));

        let us = |key, given: Option<f64>, default| check::micros(path, key, given.unwrap_or(default));
        let slot = us("slot_us", spec.slot_us, row.slot_us)?;
        if slot == Time::ZERO {
            return Err(SpecError::new(format!("{path}.slot_us"), 0, "more than 0 microseconds"));
        }
        let sifs = us("sifs_us", spec.sifs_us, row.sifs_us)?;
        let plcp = us("plcp_us", spec.plcp_us, row.plcp_us)?;
        let extension = us("signal_extension_us", spec.signal_extension_us, row.signal_extension_us)?;

        let bytes = |key, given: Option<u32>, default| {
            check::integer(path, key, given.unwrap_or(default), 0..=1_000, "bytes")
        };
        let overhead_bytes = bytes("mac_header_bytes", spec.mac_header_bytes, 24)?
            + bytes("llc_bytes", spec.llc_bytes, 8)?
            + bytes("fcs_bytes", spec.fcs_bytes, 4)?;

        let cw_min = contention_window(path, "cw_min", spec.cw_min.unwrap_or(row.cw_min), 1)?;
        let cw_max = contention_window(path, "cw_max", spec.cw_max.unwrap_or(1_023), cw_min)?;

        let rates = row.rates.iter().map(|rate| rate.on_air(plcp + extension));
        let mut phy = Phy {
            slot,
            sifs,
            difs: sifs + slot * 2,
            rx_start_delay: us("rx_start_delay_us", None, row.rx_start_delay_us)?,
            cts_start_delay: Time::ZERO,
            control_rate: Rate::from_kbps(0),
            ack: Time::ZERO,
            reservation_rate: Rate::from_kbps(0),
            cts: Time::ZERO,
            rts: Time::ZERO,
            always_reserves: false,
            announces: false,
            slowest_ack: Time::ZERO,
            cw_min,
            cw_max,
            overhead_bytes,
            dsss: spec.name == PhyName::B,
            rates: rates.collect(),
        };
        // The slowest rate of each row is mandatory.
        let slowest = RateIndex(0);
        let control = match spec.control_rate_mbps {
            Some(mbps) => phy.rate_index(mbps, &format!("{path}.control_rate_mbps"))?,
            None => slowest,
        };
        phy.control_rate = phy.rate(control);
        phy.ack = phy.duration(control, ACK_BYTES);
        phy.reservation_rate = phy.control_rate;
        phy.cts = phy.ack;
        phy.rts = phy.duration(control, RTS_BYTES);
        phy.slowest_ack = phy.duration(slowest, ACK_BYTES);
        phy.cts_start_delay = phy.rx_start_delay;
        if let Some(protection) = spec.erp_protection {
            phy.protect(protection, spec, path)?;
        }
        Ok(phy)
    }

    /// Announces data frames in 802.11b's modulation.
    fn protect(&mut self, protection: ErpProtection, spec: &PhySpec, path: &str) -> Result<(), SpecError> {
        let legacy = Phy::new(&PhySpec { preamble: spec.preamble, ..PhySpec::default() }, path)?;
        let rate = match spec.protection_rate_mbps {
            Some(mbps) => legacy.rate_index(mbps, &format!("{path}.protection_rate_mbps"))?,
            None => RateIndex(0),
        };
        self.reservation_rate = legacy.rate(rate);
        self.cts = legacy.duration(rate, ACK_BYTES);
        self.rts = legacy.duration(rate, RTS_BYTES);
        self.slowest_ack = legacy.slowest_ack;
        self.cts_start_delay = legacy.rx_start_delay;
        match protection {
            ErpProtection::RtsCts => self.always_reserves = true,
            ErpProtection::CtsToSelf => {
                self.announces = true;
                let announcement = self.cts + self.sifs;
                self.rates.iter_mut().for_each(|on_air| on_air.fixed_ns += announcement.as_ns());
            }
        }
        Ok(())
    }

    /// The index of the rate `mbps`, given at `key`.
    ///
    /// # Errors
    /// The PHY does not have it; the error lists those that it has.
    pub fn rate_index(&self, mbps: f64, key: &str) -> Result<RateIndex, SpecError> {
        let exact = |on_air: &OnAir| on_air.rate.as_mbps() == mbps;
        match self.rates.iter().position(exact) {
            Some(index) => Ok(RateIndex(index as u8)),
            None => {
                let rates: Vec<String> = self.rates.iter().map(|r| r.rate.as_mbps().to_string()).collect();
                Err(SpecError::new(key, mbps, format!("one of {} Mbps", rates.join(", "))))
            }
        }
    }

    /// The rate behind an index.
    pub fn rate(&self, index: RateIndex) -> Rate {
        self.rates[usize::from(index.0)].rate
    }

    /// Whether it is 802.11b.
    pub(crate) fn is_dsss(&self) -> bool {
        self.dsss
    }

    /// All rates, the slowest first.
    pub(crate) fn rates(&self) -> impl Iterator<Item = Rate> {
        self.rates.iter().map(|on_air| on_air.rate)
    }

    #[inline]
    pub(crate) fn on_air(&self, index: RateIndex) -> OnAir {
        self.rates[usize::from(index.0)]
    }

    /// How many rates the PHY has.
    pub fn rate_count(&self) -> usize {
        self.rates.len()
    }

    /// Bytes of the PSDU that carries an IP packet of `ip_bytes`.
    #[inline]
    pub fn psdu_bytes(&self, ip_bytes: u32) -> u32 {
        self.overhead_bytes + ip_bytes
    }

    /// How long a data frame with `psdu_bytes` occupies the medium, with the CTS-to-self and the SIFS that may go before it.
    pub fn duration(&self, rate: RateIndex, psdu_bytes: u32) -> Time {
        self.rates[usize::from(rate.0)].duration(psdu_bytes)
    }
}

pub(crate) fn contention_window(path: &str, key: &str, value: u16, low: u16) -> Result<u16, SpecError> {
    if (low..=1_023).contains(&value) && (value + 1).is_power_of_two() {
        Ok(value)
    } else {
        let allowed = format!("a power of two minus one from {low} to 1023");
        Err(SpecError::new(format!("{path}.{key}"), value, allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(spec: &PhySpec) -> Phy {
        Phy::new(spec, "phy").unwrap()
    }

    fn named(name: PhyName) -> PhySpec {
        PhySpec { name, ..PhySpec::default() }
    }

    /// Microseconds of a data frame with 1500 bytes of IP.
    fn data(phy: &Phy, mbps: f64) -> u64 {
        phy.duration(phy.rate_index(mbps, "rate").unwrap(), phy.psdu_bytes(1_500)).as_ns() / 1_000
    }

    #[test]
    fn dsss_by_hand() {
        let long = phy(&PhySpec::default());
        // 1536 bytes: 12288, 6144, 2234.2 and 1117.1 µs after 192 µs.
        assert_eq!([1.0, 2.0, 5.5, 11.0].map(|mbps| data(&long, mbps)), [12_480, 6_336, 2_427, 1_310]);
        let us = Time::from_us;
        assert_eq!((long.slot, long.sifs, long.difs), (us(20), us(10), us(50)));
        assert_eq!((long.ack, long.rts, long.slowest_ack), (us(304), us(352), us(304)));
        assert_eq!((long.rx_start_delay, long.cw_min, long.cw_max), (us(192), 31, 1_023));

        let short = phy(&PhySpec { preamble: Some(Preamble::Short), ..PhySpec::default() });
        assert_eq!((data(&short, 11.0), short.ack, short.rx_start_delay), (1_214, us(208), us(96)));

        let table_one = phy(&PhySpec { mac_header_bytes: Some(30), ..PhySpec::default() });
        assert_eq!(data(&table_one, 11.0), 192 + 1_122); // 12336 bits: 1121.45 µs

        let fast_control = phy(&PhySpec { control_rate_mbps: Some(2.0), ..PhySpec::default() });
        assert_eq!((fast_control.ack, fast_control.slowest_ack), (us(248), us(304)));
    }

    #[test]
    fn ofdm_by_hand() {
        let us = Time::from_us;
        // 1536 bytes are 12310 bits with SERVICE and tail: 57 symbols at 54 Mbps, 513 at 6 Mbps.
        let a = phy(&named(PhyName::A));
        assert_eq!((data(&a, 54.0), data(&a, 6.0)), (20 + 228, 20 + 2_052));
        assert_eq!((a.slot, a.sifs, a.difs, a.cw_min), (us(9), us(16), us(34), 15));
        assert_eq!((a.ack, a.rts), (us(20 + 24), us(20 + 32)));

        let g = phy(&PhySpec { control_rate_mbps: Some(24.0), ..named(PhyName::G) });
        assert_eq!((data(&g, 54.0), g.ack, g.slowest_ack), (254, us(34), us(50)));
        assert_eq!((g.slot, g.sifs, g.difs), (us(9), us(10), us(28)));

        let long_slot = phy(&PhySpec { short_slot: Some(false), ..named(PhyName::G) });
        assert_eq!((long_slot.slot, long_slot.difs), (us(20), us(50)));
        let bare = phy(&PhySpec { signal_extension_us: Some(0.0), ..named(PhyName::G) });
        assert_eq!(data(&bare, 54.0), 248);
    }

    #[test]
    fn protection_by_hand() {
        let us = Time::from_us;
        let protected = |protection, preamble, rate| PhySpec {
            erp_protection: Some(protection),
            preamble,
            protection_rate_mbps: rate,
            ..named(PhyName::G)
        };
        // CTS of 112 bits at 1 Mbps after 192 µs, SIFS, and the 254 µs of an unprotected frame.
        let g = phy(&protected(ErpProtection::CtsToSelf, None, None));
        assert_eq!((data(&g, 54.0), g.ack, g.cts, g.slowest_ack), (304 + 10 + 254, us(50), us(304), us(304)));
        assert!(g.announces && !g.always_reserves);
        let fast = phy(&protected(ErpProtection::CtsToSelf, Some(Preamble::Short), Some(11.0)));
        assert_eq!((data(&fast, 54.0), fast.cts), (107 + 10 + 254, us(107)));
        let rts = phy(&protected(ErpProtection::RtsCts, None, Some(2.0)));
        assert_eq!((data(&rts, 54.0), rts.rts, rts.cts), (254, us(192 + 80), us(192 + 56)));
        assert_eq!((rts.rx_start_delay, rts.cts_start_delay), (us(20), us(192)));

        let error = |spec: PhySpec| Phy::new(&spec, "phy").unwrap_err().key;
        let b = PhySpec { erp_protection: Some(ErpProtection::CtsToSelf), ..PhySpec::default() };
        assert_eq!(error(b), "phy.erp_protection");
        assert_eq!(error(protected(ErpProtection::RtsCts, None, Some(6.0))), "phy.protection_rate_mbps");
        let idle = PhySpec { protection_rate_mbps: Some(2.0), ..named(PhyName::G) };
        assert_eq!(error(idle), "phy.protection_rate_mbps");
    }

    #[test]
    fn the_multiplication_divides_exactly() {
        for name in [PhyName::A, PhyName::B] {
            let phy = phy(&named(name));
            for (index, row) in row(name, Preamble::Long, true).rates.iter().enumerate() {
                for bytes in 0..=140_000 {
                    let half_bits = 2 * (row.extra_bits + 8 * bytes);
                    let units = u64::from(half_bits.div_ceil(row.half_bits));
                    let plcp = if name == PhyName::A { 20 } else { 192 };
                    let expected = Time::from_us(plcp + units * row.unit_us);
                    assert_eq!(phy.duration(RateIndex(index as u8), bytes), expected);
                }
            }
        }
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        let error = |spec: PhySpec| Phy::new(&spec, "phy").unwrap_err();
        let e = phy(&PhySpec::default()).rate_index(54.0, "stations[0].rate_mbps").unwrap_err();
        assert_eq!(
            e.to_string(),
            "stations[0].rate_mbps: 54 is not allowed; expected one of 1, 2, 5.5, 11 Mbps"
        );
        let e = error(PhySpec { preamble: Some(Preamble::Long), ..named(PhyName::G) });
        assert_eq!((e.key.as_str(), e.allowed.contains("802.11b")), ("phy.preamble", true));
        let e = error(PhySpec { short_slot: Some(true), ..PhySpec::default() });
        assert_eq!(e.key, "phy.short_slot");
        for spec in [
            PhySpec { slot_us: Some(0.0), ..PhySpec::default() },
            PhySpec { sifs_us: Some(-1.0), ..PhySpec::default() },
            PhySpec { plcp_us: Some(f64::NAN), ..PhySpec::default() },
            PhySpec { cw_min: Some(30), ..PhySpec::default() },
            PhySpec { cw_max: Some(2_047), ..PhySpec::default() },
            PhySpec { cw_min: Some(63), cw_max: Some(31), ..PhySpec::default() },
            PhySpec { control_rate_mbps: Some(6.0), ..PhySpec::default() },
            PhySpec { llc_bytes: Some(5_000), ..PhySpec::default() },
        ] {
            assert!(error(spec).key.starts_with("phy."));
        }
    }
}
