//! The timing of a BSS: what all its nodes share, whatever the mode of their links.

use wifair_core::{SpecError, Time};

use super::keys::ErpProtection;
use super::mode::{Mode, Modes, RateIndex};
use super::{Characteristics, PhySpec, dsss};
use crate::check;

/// PSDU bytes of MAC ACK and CTS (9.3.1.4, 9.3.1.3).
pub(crate) const ACK_BYTES: u32 = 14;
/// PSDU bytes of an RTS (9.3.1.2).
const RTS_BYTES: u32 = 20;

/// The timing of a BSS, ready for use.
#[derive(Clone, Debug)]
pub struct BssTiming {
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
    /// Mode of MAC ACK.
    pub control: Mode,
    /// Mode of RTS and CTS: that of MAC ACK, or as protection has it.
    pub reservation: Mode,
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
}

/// How OFDM frames are announced to 802.11b receivers.
pub(crate) struct Protection {
    pub how: ErpProtection,
    pub preamble: dsss::Preamble,
    pub rate_mbps: Option<f64>,
}

impl BssTiming {
    /// The timing that `spec` describes; `path` is where it stands in the plan.
    ///
    /// # Errors
    /// A duration or size out of range, a rate that the PHY does not have, a contention window that is not a power of two
    /// minus one or exceeds 1023, a key that another lacks.
    pub fn new(spec: &PhySpec, path: &str) -> Result<BssTiming, SpecError> {
        spec.validate(path)?;
        let phy = spec.phy();
        let Characteristics { slot_us, sifs_us, rx_start_delay_us, cw_min, is_dsss } = phy.characteristics();
        let keys = phy.keys();

        let us = |key, given: Option<f64>, default| check::micros(path, key, given.unwrap_or(default));
        let slot = us("slot_us", keys.slot_us, slot_us)?;
        if slot == Time::ZERO {
            return Err(SpecError::new(format!("{path}.slot_us"), 0, "more than 0 microseconds"));
        }
        let sifs = us("sifs_us", keys.sifs_us, sifs_us)?;
        let rx_start_delay = us("rx_start_delay_us", None, rx_start_delay_us)?;

        let bytes = |key, given: Option<u32>, default| {
            check::integer(path, key, given.unwrap_or(default), 0..=1_000, "bytes")
        };
        let overhead_bytes = bytes("mac_header_bytes", keys.mac_header_bytes, 24)?
            + bytes("llc_bytes", keys.llc_bytes, 8)?
            + bytes("fcs_bytes", keys.fcs_bytes, 4)?;

        let cw_min = contention_window(path, "cw_min", keys.cw_min.unwrap_or(cw_min), 1)?;
        let cw_max = contention_window(path, "cw_max", keys.cw_max.unwrap_or(1_023), cw_min)?;

        // The slowest rate of each PHY is mandatory.
        let modes = Modes::new(spec, path)?;
        let slowest = modes.on_air(RateIndex(0));
        let control = match keys.control_rate_mbps {
            Some(mbps) => modes.on_air(modes.rate_index(mbps, &format!("{path}.control_rate_mbps"))?),
            None => slowest,
        };
        let mut timing = BssTiming {
            slot,
            sifs,
            difs: sifs + slot * 2,
            rx_start_delay,
            cts_start_delay: rx_start_delay,
            control: control.mode,
            reservation: control.mode,
            ack: control.duration(ACK_BYTES),
            cts: control.duration(ACK_BYTES),
            rts: control.duration(RTS_BYTES),
            always_reserves: false,
            announces: false,
            slowest_ack: slowest.duration(ACK_BYTES),
            cw_min,
            cw_max,
            overhead_bytes,
            dsss: is_dsss,
        };
        if let Some(protection) = phy.protection() {
            timing.protect(&protection, path)?;
        }
        Ok(timing)
    }

    /// Announces data frames in 802.11b's modulation.
    fn protect(&mut self, protection: &Protection, path: &str) -> Result<(), SpecError> {
        let spec = PhySpec::Dsss(dsss::Spec { preamble: protection.preamble, ..Default::default() });
        let modes = Modes::new(&spec, path)?;
        let legacy = BssTiming::new(&spec, path)?;
        let rate = match protection.rate_mbps {
            Some(mbps) => modes.rate_index(mbps, &format!("{path}.protection_rate_mbps"))?,
            None => RateIndex(0),
        };
        let on_air = modes.on_air(rate);
        self.reservation = on_air.mode;
        self.cts = on_air.duration(ACK_BYTES);
        self.rts = on_air.duration(RTS_BYTES);
        self.slowest_ack = legacy.slowest_ack;
        self.cts_start_delay = legacy.rx_start_delay;
        match protection.how {
            ErpProtection::RtsCts => self.always_reserves = true,
            ErpProtection::CtsToSelf => self.announces = true,
        }
        Ok(())
    }

    /// What goes before each data frame to announce it: a CTS-to-self and a SIFS, or nothing.
    pub fn announcement(&self) -> Time {
        if self.announces { self.cts + self.sifs } else { Time::ZERO }
    }

    /// Whether it is 802.11b's.
    pub(crate) fn is_dsss(&self) -> bool {
        self.dsss
    }

    /// Bytes of the PSDU that carries an IP packet of `ip_bytes`.
    #[inline]
    pub fn psdu_bytes(&self, ip_bytes: u32) -> u32 {
        self.overhead_bytes + ip_bytes
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
