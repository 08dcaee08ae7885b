//! The timing of a BSS: common to all its nodes and independent of the modes of their links.

use wifair_core::{Rate, SpecError, Time};

use super::contract::Characteristics;
use super::keys::{ErpProtection, ProtectionKeys};
use super::mode::{Format, Mode, Modes, OnAir, RateIndex};
use super::{Band, PhySpec, StationPhy, dsss, ofdm};
use crate::check;

/// PSDU bytes of MAC ACK and CTS (9.3.1.4, 9.3.1.3).
pub(crate) const ACK_BYTES: u32 = 14;
/// PSDU bytes of an RTS (9.3.1.2).
const RTS_BYTES: u32 = 20;
/// Header and MIC of CCMP (12.5.3.2).
const CCMP_BYTES: u32 = 16;

/// The timing of a BSS, in the form that the engine uses.
#[derive(Clone, Debug)]
pub struct BssTiming {
    /// Slot time.
    pub slot: Time,
    /// Short interframe space.
    pub sifs: Time,
    /// DCF interframe space: SIFS and two slots (10.3.7).
    pub difs: Time,
    /// The default mode of beacons, and that of the MAC ACK that EIFS counts (10.3.2.3.7): the lowest mandatory or basic rate;
    /// that of 802.11b, where there are receivers of it.
    pub(crate) slowest: OnAir,
    /// That ACK.
    pub slowest_ack: Time,
    /// Modes of group-addressed frames: those that all stations decode.
    group: Modes,
    band: Band,
    /// CWmin in slots.
    pub cw_min: u16,
    /// CWmax in slots.
    pub cw_max: u16,
    /// The control frames that go with data frames; a mode of a link refers to one of them.
    pub control_frames: Vec<ControlFrames>,
    /// CWmin of an 802.11b station.
    dsss_cw_min: u16,
    overhead_bytes: u32,
    llc_bytes: u32,
    dsss: bool,
    /// Whether the rates of control frames follow from those of data frames.
    responds_by_rate: bool,
}

/// The control frames that go with a data frame.
#[derive(Clone, Copy, Debug)]
pub struct ControlFrames {
    /// The response to the data frame.
    pub ack: ControlFrame,
    /// The frame that reserves the medium for it.
    pub rts: ControlFrame,
    /// The response to the RTS, or the CTS-to-self that announces the data frame.
    pub cts: ControlFrame,
    /// How the data frame is protected from 802.11b receivers.
    pub protection: Option<ErpProtection>,
    /// Durations of responses, and of a Block Ack Request, by length.
    response: OnAir,
}

/// A control frame.
#[derive(Clone, Copy, Debug)]
pub struct ControlFrame {
    /// Its mode.
    pub mode: Mode,
    /// Time from its start to the start of its PSDU.
    pub preamble: Time,
    /// Its duration.
    pub duration: Time,
    /// aRxPHYStartDelay of its mode.
    pub start_delay: Time,
}

impl ControlFrame {
    fn new(on_air: &OnAir, bytes: u32, start_delay: Time) -> ControlFrame {
        let duration = on_air.duration(bytes);
        ControlFrame { mode: on_air.mode, preamble: on_air.preamble(), duration, start_delay }
    }
}

impl ControlFrames {
    fn new(on_air: &OnAir, start_delay: Time) -> ControlFrames {
        let frame = |bytes| ControlFrame::new(on_air, bytes, start_delay);
        ControlFrames {
            ack: frame(ACK_BYTES),
            rts: frame(RTS_BYTES),
            cts: frame(ACK_BYTES),
            protection: None,
            response: *on_air,
        }
    }

    /// Duration of a response, or a Block Ack Request, of `bytes`.
    pub(crate) fn response(&self, bytes: u32) -> Time {
        self.response.duration(bytes)
    }

    /// Whether a CTS-to-self precedes the data frame.
    pub(crate) fn announces(&self) -> bool {
        self.protection == Some(ErpProtection::CtsToSelf)
    }
}

impl BssTiming {
    /// The timing of a BSS of stations that all have the PHY `spec`; `path` is its key in the plan.
    ///
    /// # Errors
    /// A duration or size out of range, a rate that the PHY does not have, a contention window that is not a power of two
    /// minus one or exceeds 1023, a key that another lacks.
    pub fn new(spec: &PhySpec, path: &str) -> Result<BssTiming, SpecError> {
        BssTiming::with(spec, false, path)
    }

    /// The same, if stations may have 802.11b's PHY.
    pub(crate) fn with(spec: &PhySpec, has_dsss_station: bool, path: &str) -> Result<BssTiming, SpecError> {
        let all = spec.modes(&StationPhy::default(), path)?;
        let phy = spec.phy();
        let Characteristics { band, slot_us, sifs_us, rx_start_delay_us, cw_min, is_dsss } =
            phy.characteristics();
        let keys = phy.keys();
        let has_dsss_station = has_dsss_station && !is_dsss;

        let us = |key, given: Option<f64>, default| check::micros(path, key, given.unwrap_or(default));
        let slot = us("slot_us", keys.slot_us, if has_dsss_station { 20.0 } else { slot_us })?;
        if slot == Time::ZERO {
            return Err(SpecError::new(format!("{path}.slot_us"), 0, "more than 0 microseconds"));
        }
        let sifs = us("sifs_us", keys.sifs_us, sifs_us)?;
        let start_delay = us("rx_start_delay_us", None, rx_start_delay_us)?;

        let bytes = |key, given: Option<u32>, default| {
            check::integer(path, key, given.unwrap_or(default), 0..=1_000, "bytes")
        };
        let has_qos = phy.format() >= Format::Ht;
        let llc_bytes = bytes("llc_bytes", keys.llc_bytes, 8)?;
        let overhead_bytes = bytes("mac_header_bytes", keys.mac_header_bytes, if has_qos { 26 } else { 24 })?
            + llc_bytes
            + bytes("fcs_bytes", keys.fcs_bytes, 4)?
            + if keys.ccmp { CCMP_BYTES } else { 0 };

        let cw_min = contention_window(path, "cw_min", keys.cw_min.unwrap_or(cw_min), 1)?;
        let cw_max = contention_window(path, "cw_max", keys.cw_max.unwrap_or(1_023), cw_min)?;

        // Control frames are not HT. The slowest rate of each PHY before HT is mandatory.
        let control = match phy.chosen() {
            Some(_) => {
                Modes::new(ofdm::modes(Time::from_us(ofdm::PREAMBLE_US as u64), band.signal_extension()))
            }
            None => all,
        };
        let rate = |mbps, key: &str| control.rate_index(mbps, &format!("{path}.{key}"));
        let rates: Vec<RateIndex> = match (keys.control_rate_mbps, phy.chosen()) {
            (Some(mbps), _) => vec![rate(mbps, "control_rate_mbps")?],
            (None, Some(chosen)) => {
                let given = chosen.band.basic_rates_mbps.clone().unwrap_or(vec![6.0, 12.0, 24.0]);
                if given.is_empty() {
                    let allowed = "one rate or more, as [6, 12, 24]";
                    return Err(SpecError::new(format!("{path}.basic_rates_mbps"), "[]", allowed));
                }
                let mut rates = given
                    .into_iter()
                    .map(|mbps| rate(mbps, "basic_rates_mbps"))
                    .collect::<Result<Vec<_>, _>>()?;
                rates.sort();
                rates.dedup();
                rates
            }
            (None, None) => vec![RateIndex(0)],
        };
        let dsss = PhySpec::Dsss(dsss::Spec { preamble: phy.preamble(), ..Default::default() });
        let dsss = dsss.modes(&StationPhy::default(), path)?;
        let group = match band {
            Band::Ghz2_4 if has_dsss_station => dsss.clone(),
            Band::Ghz2_4 if !is_dsss => dsss.clone().and(&control),
            _ => control.clone(),
        };
        let lowest = if has_qos && keys.control_rate_mbps.is_none() { rates[0] } else { RateIndex(0) };
        let mut timing = BssTiming {
            slot,
            sifs,
            difs: sifs + slot * 2,
            slowest: control.on_air(lowest),
            slowest_ack: control.on_air(lowest).duration(ACK_BYTES),
            group,
            band,
            cw_min,
            cw_max,
            control_frames: rates
                .iter()
                .map(|&rate| ControlFrames::new(&control.on_air(rate), start_delay))
                .collect(),
            dsss_cw_min: contention_window(path, "cw_min", keys.cw_min.unwrap_or(31), 1)?,
            overhead_bytes,
            llc_bytes,
            dsss: is_dsss,
            responds_by_rate: has_qos && keys.control_rate_mbps.is_none(),
        };
        timing.protect(phy.protection(), has_dsss_station, &dsss, path)?;
        Ok(timing)
    }

    /// Announces data frames in 802.11b's `modes`, and adds the control frames of 802.11b stations.
    fn protect(
        &mut self,
        keys: Option<&ProtectionKeys>,
        has_dsss_station: bool,
        modes: &Modes,
        path: &str,
    ) -> Result<(), SpecError> {
        let Some(keys) = keys else { return Ok(()) };
        let how = keys.erp_protection.or(has_dsss_station.then_some(ErpProtection::CtsToSelf));
        let Some(how) = how else {
            let given = [
                ("preamble", keys.preamble.is_some()),
                ("protection_rate_mbps", keys.protection_rate_mbps.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => {
                    let allowed = format!(
                        "no such key without {path}.erp_protection: it is of the 802.11b frames that protect"
                    );
                    Err(SpecError::new(format!("{path}.{key}"), "this key", allowed))
                }
                None => Ok(()),
            };
        };
        if self.band != Band::Ghz2_4 {
            let allowed = "no such key but at 2.4 GHz: there are no 802.11b stations elsewhere";
            return Err(SpecError::new(format!("{path}.erp_protection"), "this key", allowed));
        }
        let start_delay = modes.on_air(RateIndex(0)).preamble(); // in DSSS they are equal (Table 16-4)
        let rate = match keys.protection_rate_mbps {
            Some(mbps) => modes.rate_index(mbps, &format!("{path}.protection_rate_mbps"))?,
            None => RateIndex(0),
        };
        let of_dsss = ControlFrames::new(&modes.on_air(rate), start_delay);
        for control in &mut self.control_frames {
            let ControlFrames { ack, response, .. } = *control;
            *control = ControlFrames { ack, response, protection: Some(how), ..of_dsss };
        }
        self.slowest = modes.on_air(RateIndex(0));
        self.slowest_ack = self.slowest.duration(ACK_BYTES);
        if has_dsss_station {
            self.control_frames.push(ControlFrames::new(&modes.on_air(RateIndex(0)), start_delay));
        }
        Ok(())
    }

    /// The same mode as the BSS's data frames have it: with the control frames that go with them. Frames with a PSDU longer
    /// than `rts_threshold` are sent after an RTS.
    pub fn in_bss(&self, on_air: OnAir, rts_threshold: u32) -> OnAir {
        let index = self.handshake_of(&on_air.mode);
        let control = &self.control_frames[usize::from(index)];
        let announcement = if control.announces() { control.cts.duration + self.sifs } else { Time::ZERO };
        let always_reserves = control.protection == Some(ErpProtection::RtsCts);
        let mut own = on_air.in_bss(index, announcement, self.sifs + control.ack.duration);
        own.rts_threshold = if always_reserves { 0 } else { rts_threshold };
        own
    }

    /// The control frames that go with data frames of a mode that is [`BssTiming::in_bss`].
    pub fn control(&self, on_air: &OnAir) -> &ControlFrames {
        &self.control_frames[usize::from(on_air.control)]
    }

    /// Which control frames go with data frames of a mode (10.6.6.5).
    fn handshake_of(&self, mode: &Mode) -> u8 {
        let of_rate = |rate: Rate| {
            let ofdm =
                self.control_frames.iter().take_while(|control| control.ack.mode.format == Format::Ofdm);
            ofdm.filter(|control| control.ack.mode.rate <= rate).count().saturating_sub(1)
        };
        let index = match mode.format {
            Format::Dsss => self.control_frames.len() - 1,
            _ if self.responds_by_rate => of_rate(mode.reference_rate()),
            _ => 0,
        };
        index as u8
    }

    /// CWmin of a station with these modes.
    pub(crate) fn cw_min_of(&self, modes: &Modes) -> u16 {
        if modes.are_dsss() { self.dsss_cw_min } else { self.cw_min }
    }

    /// The mode of a group-addressed frame at `mbps`, given at `key`.
    pub(crate) fn group_mode(&self, mbps: f64, key: &str) -> Result<OnAir, SpecError> {
        let index = self.group.rate_index(mbps, key).map_err(|error| {
            let stations = if self.group.are_dsss() { " with 802.11b stations" } else { "" };
            let allowed = format!("{} at {} GHz{stations}", error.allowed, self.band.ghz());
            SpecError { allowed, ..error }
        })?;
        Ok(self.group.on_air(index))
    }

    /// Whether protection precedes some data frames.
    pub(crate) fn protects(&self) -> bool {
        self.control_frames.iter().any(|control| control.protection.is_some())
    }

    /// Whether it is 802.11b's.
    pub(crate) fn is_dsss(&self) -> bool {
        self.dsss
    }

    /// Bytes of LLC and SNAP before an IP packet.
    pub(crate) fn llc_bytes(&self) -> u32 {
        self.llc_bytes
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
