//! Durations (docs/medium.md, section 2) and the rules that a scenario may change, all in whole steps of the clock.
//!
//! A step is a microsecond, in which everything fits that the standard's tables have; or a part of one, in which slots, arrivals and
//! timeouts fall between the microseconds.

use super::radio::Capture;
use super::rate::Adaptation;

/// How a frame is put on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phy {
    /// DSSS and HR-DSSS: preamble and header of `plcp` µs, then the PSDU, rounded up to whole µs.
    Dsss { plcp: u32 },
    /// OFDM at 20 MHz: 20 µs of preamble and header, then symbols of 4 µs; `extension` is 6 µs on 802.11g.
    Ofdm { extension: u32 },
}

/// A rate in tenths of Mbps, so that 5.5 Mbps is whole.
pub type Tenths = u32;

impl Phy {
    /// How many µs a PSDU of `bytes` bytes occupies the medium at `rate`.
    fn duration(self, bytes: u32, rate: Tenths) -> u32 {
        match self {
            Phy::Dsss { plcp } => plcp + (8 * bytes * 10).div_ceil(rate),
            Phy::Ofdm { extension } => {
                let bits_per_symbol = rate * 4 / 10;
                20 + 4 * (16 + 8 * bytes + 6).div_ceil(bits_per_symbol) + extension
            }
        }
    }

    /// aRxPHYStartDelay in µs.
    fn rx_start_delay(self) -> u32 {
        match self {
            Phy::Dsss { plcp } => plcp,
            Phy::Ofdm { .. } => 20,
        }
    }
}

/// A mode of 802.11n: mixed format, equal modulation on all streams, BCC (802.11-2020, 19.4.3 and 19.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ht {
    /// 0 to 31: eight for each number of streams.
    pub mcs: u32,
    pub short_gi: bool,
    pub forty_mhz: bool,
}

impl Ht {
    /// 20 MHz, long guard interval.
    pub fn plain(mcs: u32) -> Ht {
        Ht { mcs, short_gi: false, forty_mhz: false }
    }

    fn streams(self) -> u32 {
        self.mcs / 8 + 1
    }

    fn bits_per_symbol(self) -> u32 {
        // Coded bits per subcarrier times the code rate, in twelfths.
        let twelfths = [6, 12, 18, 24, 36, 48, 54, 60][self.mcs as usize % 8];
        let subcarriers = if self.forty_mhz { 108 } else { 52 };
        subcarriers * twelfths / 12 * self.streams()
    }

    fn symbol_ns(self) -> u32 {
        if self.short_gi { 3_600 } else { 4_000 }
    }

    /// Rounded down to tenths of Mbps.
    pub fn rate(self) -> Tenths {
        self.bits_per_symbol() * 10_000 / self.symbol_ns()
    }

    /// How many µs a PSDU of `bytes` bytes occupies the medium, without signal extension.
    fn duration(self, bytes: u32) -> u32 {
        let long_training_fields = [1, 2, 4, 4][self.mcs as usize / 8];
        let preamble = 20 + 8 + 4 + 4 * long_training_fields;
        let encoders = (self.bits_per_symbol() / 4).div_ceil(300); // one for each 300 Mbps at the long guard interval
        let symbols = (16 + 8 * bytes + 6 * encoders).div_ceil(self.bits_per_symbol());
        // Symbols with the short guard interval fill whole symbols of 4 µs.
        preamble + 4 * (symbols * self.symbol_ns()).div_ceil(4_000)
    }

    /// Bytes that pass in `quarters` quarters of a µs, rounded up.
    fn bytes_in(self, quarters: u32) -> u32 {
        (self.bits_per_symbol() * 1_000 * quarters).div_ceil(8 * 4 * self.symbol_ns())
    }
}

/// PSDU bytes of a MAC ACK and of a CTS.
const ACK_BYTES: u32 = 14;
/// PSDU bytes of an RTS.
const RTS_BYTES: u32 = 20;
/// PSDU bytes of a Block Ack Request.
pub const REQUEST_BYTES: u32 = 24;
/// Bytes of the delimiter before an MPDU of an A-MPDU.
const DELIMITER_BYTES: u32 = 4;

/// What goes before 802.11g's data frames where 802.11b's receivers are near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Protection {
    /// A CTS-to-self; else RTS and CTS.
    pub self_addressed: bool,
    /// Preamble and header of 802.11b, µs.
    pub plcp: u32,
    pub rate: Tenths,
}

/// Everything that all nodes of a scenario agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Steps of the clock in a µs.
    pub steps: u32,
    pub phy: Phy,
    pub slot: u32,
    pub sifs: u32,
    pub cw_min: u32,
    pub cw_max: u32,
    /// Rate of MAC ACK, CTS and RTS.
    pub control_rate: Tenths,
    /// Rate of the MAC ACK that EIFS allows for.
    pub lowest_mandatory_rate: Tenths,
    /// What the MAC adds to an IP packet.
    pub overhead_bytes: u32,
    /// A PSDU longer than this is announced by an RTS.
    pub rts_threshold_bytes: u32,
    pub short_limit: u32,
    pub long_limit: u32,
    pub eifs: bool,
    pub eifs_plus_difs: bool,
    /// None: the standard's.
    pub ack_timeout: Option<u32>,
    /// None: the standard's.
    pub cts_timeout: Option<u32>,
    pub exclusive_backoff: bool,
    pub immediate_access: bool,
    pub backoff_within_ifs: bool,
    pub colliders_wait_eifs: bool,
    /// None: no frame survives a collision.
    pub capture: Option<Capture>,
    pub protection: Option<Protection>,
    /// None: rates stay as the scenario says.
    pub adaptation: Option<Adaptation>,
    /// None: DCF.
    pub edca: Option<Edca>,
    /// None: single frames only.
    pub aggregation: Option<Aggregation>,
}

/// Section 12.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregation {
    /// MPDUs.
    pub window: u32,
    pub max_mpdus: Option<u32>,
    pub max_ampdu_bytes: u32,
    /// Steps of the clock, as all times.
    pub max_ppdu: u32,
    /// Between the starts of MPDUs, in quarters of a µs.
    pub min_spacing_quarters: u32,
    /// Transmissions of an MPDU.
    pub max_attempts: u32,
    /// What the port gives ends at the first packet for another station.
    pub head_run: bool,
    pub requests: bool,
    pub reorder_timeout: u32,
    pub ccmp: bool,
}

impl Aggregation {
    /// The defaults of section 12, with its window for HT.
    pub fn ht() -> Aggregation {
        Aggregation {
            window: 64,
            max_mpdus: None,
            max_ampdu_bytes: 65_535,
            max_ppdu: 5_484,
            min_spacing_quarters: 0,
            max_attempts: 7,
            head_run: false,
            requests: true,
            reorder_timeout: 100_000,
            ccmp: false,
        }
    }

    fn block_ack_bytes(&self) -> u32 {
        match self.window {
            ..=64 => 32,
            65..=256 => 56,
            257..=512 => 88,
            _ => 152,
        }
    }
}

/// Section 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edca {
    /// Voice, video, best effort, background.
    pub ap: [Category; 4],
    pub stations: [Category; 4],
    pub dcf_countdown: bool,
    pub internal_collision_retry: bool,
    /// The categories of the AP, of a station, have one port.
    pub ap_shares_port: bool,
    pub stations_share_port: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Category {
    pub cw_min: u32,
    pub cw_max: u32,
    /// Slots after a SIFS.
    pub aifsn: u32,
    pub txop_limit: u32,
}

impl Rules {
    /// 802.11b with the standard's defaults.
    pub fn dot11b(long_preamble: bool) -> Rules {
        Rules {
            steps: 1,
            phy: Phy::Dsss { plcp: if long_preamble { 192 } else { 96 } },
            slot: 20,
            sifs: 10,
            cw_min: 31,
            cw_max: 1023,
            control_rate: 10,
            lowest_mandatory_rate: 10,
            overhead_bytes: 36,
            rts_threshold_bytes: u32::MAX,
            short_limit: 7,
            long_limit: 4,
            eifs: true,
            eifs_plus_difs: false,
            ack_timeout: None,
            cts_timeout: None,
            exclusive_backoff: false,
            immediate_access: true,
            backoff_within_ifs: false,
            colliders_wait_eifs: false,
            capture: None,
            protection: None,
            adaptation: None,
            edca: None,
            aggregation: None,
        }
    }

    /// 802.11g, OFDM rates only, short slot.
    pub fn dot11g() -> Rules {
        Rules {
            phy: Phy::Ofdm { extension: 6 },
            slot: 9,
            cw_min: 15,
            control_rate: 60,
            lowest_mandatory_rate: 60,
            ..Rules::dot11b(true)
        }
    }

    /// 802.11a.
    pub fn dot11a() -> Rules {
        Rules { phy: Phy::Ofdm { extension: 0 }, sifs: 16, ..Rules::dot11g() }
    }

    /// The same with a clock of `steps` steps a µs.
    pub fn in_steps(self, steps: u32) -> Rules {
        let longer = |time: u32| time * steps / self.steps;
        let of_category = |c: Category| Category { txop_limit: longer(c.txop_limit), ..c };
        Rules {
            steps,
            slot: longer(self.slot),
            sifs: longer(self.sifs),
            ack_timeout: self.ack_timeout.map(longer),
            cts_timeout: self.cts_timeout.map(longer),
            edca: self.edca.map(|edca| Edca {
                ap: edca.ap.map(of_category),
                stations: edca.stations.map(of_category),
                ..edca
            }),
            aggregation: self.aggregation.map(|aggregation| Aggregation {
                max_ppdu: longer(aggregation.max_ppdu),
                reorder_timeout: longer(aggregation.reorder_timeout),
                ..aggregation
            }),
            ..self
        }
    }

    /// All rates of data frames, the slowest first.
    pub fn rates(&self) -> &'static [Tenths] {
        match self.phy {
            Phy::Dsss { .. } => &[10, 20, 55, 110],
            Phy::Ofdm { .. } => &[60, 90, 120, 180, 240, 360, 480, 540],
        }
    }

    /// Whether the categories of a node have one port.
    pub fn shares_port(&self, node: usize) -> bool {
        self.edca.is_some_and(|edca| if node == 0 { edca.ap_shares_port } else { edca.stations_share_port })
    }

    pub fn difs(&self) -> u32 {
        self.sifs + 2 * self.slot
    }

    pub fn aifs(&self, category: &Category) -> u32 {
        self.sifs + category.aifsn * self.slot
    }

    /// What of an EIFS precedes its DIFS or AIFS.
    pub fn eifs_lead(&self) -> u32 {
        self.eifs() - self.difs()
    }

    /// The categories of a node; under DCF one.
    pub fn categories(&self, node: usize) -> Vec<Category> {
        match &self.edca {
            Some(edca) if node == 0 => edca.ap.to_vec(),
            Some(edca) => edca.stations.to_vec(),
            None => vec![Category { cw_min: self.cw_min, cw_max: self.cw_max, aifsn: 2, txop_limit: 0 }],
        }
    }

    /// What a node waits that could not decode the last frame.
    pub fn eifs(&self) -> u32 {
        if !self.eifs {
            return self.difs();
        }
        let ack = match self.protection {
            Some(Protection { plcp, .. }) => Phy::Dsss { plcp }.duration(ACK_BYTES, 10),
            None => self.phy.duration(ACK_BYTES, self.lowest_mandatory_rate),
        };
        let ns2 = if self.eifs_plus_difs { self.difs() } else { 0 };
        self.sifs + self.steps * ack + self.difs() + ns2
    }

    pub fn ack(&self) -> u32 {
        self.steps * self.phy.duration(ACK_BYTES, self.control_rate)
    }

    pub fn cts(&self) -> u32 {
        self.reservation(ACK_BYTES)
    }

    pub fn rts(&self) -> u32 {
        self.reservation(RTS_BYTES)
    }

    fn reservation(&self, bytes: u32) -> u32 {
        let phy = self.protection.map_or(self.phy, |protection| Phy::Dsss { plcp: protection.plcp });
        self.steps * phy.duration(bytes, self.reservation_rate())
    }

    /// Rate of RTS and CTS.
    pub fn reservation_rate(&self) -> Tenths {
        self.protection.map_or(self.control_rate, |protection| protection.rate)
    }

    /// Whether a CTS-to-self goes before each data frame.
    pub fn announces(&self) -> bool {
        self.protection.is_some_and(|protection| protection.self_addressed)
    }

    pub fn data(&self, ip_bytes: u32, rate: Tenths) -> u32 {
        self.steps * self.phy.duration(self.mpdu_bytes(ip_bytes), rate)
    }

    /// A packet with what the MAC adds.
    pub fn mpdu_bytes(&self, ip_bytes: u32) -> u32 {
        let ccmp = self.aggregation.is_some_and(|aggregation| aggregation.ccmp);
        ip_bytes + self.overhead_bytes + if ccmp { 16 } else { 0 }
    }

    // Section 12.

    fn agreed(&self) -> &Aggregation {
        self.aggregation.as_ref().expect("an agreement is for aggregation")
    }

    /// Bytes of the subframe of an MPDU, the last of its A-MPDU or another.
    fn subframe_bytes(&self, mpdu_bytes: u32, mode: Ht, last: bool) -> u32 {
        let bytes = DELIMITER_BYTES + mpdu_bytes;
        if last {
            return bytes;
        }
        bytes.max(mode.bytes_in(self.agreed().min_spacing_quarters)).next_multiple_of(4)
    }

    /// Whether the minimum spacing makes the subframe of an MPDU longer.
    pub fn spacing_extends(&self, ip_bytes: u32, mode: Ht) -> bool {
        let bytes = self.mpdu_bytes(ip_bytes);
        self.subframe_bytes(bytes, mode, false) > (DELIMITER_BYTES + bytes).next_multiple_of(4)
    }

    /// PSDU bytes of a PPDU with these packets.
    pub fn psdu_bytes(&self, ip_bytes: &[u32], mode: Ht) -> u32 {
        if let &[only] = ip_bytes {
            return self.mpdu_bytes(only);
        }
        let subframe = |(index, &bytes): (usize, &u32)| {
            self.subframe_bytes(self.mpdu_bytes(bytes), mode, index + 1 == ip_bytes.len())
        };
        ip_bytes.iter().enumerate().map(subframe).sum()
    }

    pub fn ppdu(&self, psdu_bytes: u32, mode: Ht) -> u32 {
        let extension = match self.phy {
            Phy::Ofdm { extension } => extension,
            Phy::Dsss { .. } => unreachable!("802.11n has OFDM"),
        };
        self.steps * (mode.duration(psdu_bytes) + extension)
    }

    /// The answer to a PPDU of `mpdus` MPDUs.
    pub fn response(&self, mpdus: usize, mode: Ht) -> u32 {
        if mpdus == 1 { self.control(ACK_BYTES, mode) } else { self.block_ack(mode) }
    }

    pub fn block_ack(&self, mode: Ht) -> u32 {
        self.control(self.agreed().block_ack_bytes(), mode)
    }

    pub fn request(&self, mode: Ht) -> u32 {
        self.control(REQUEST_BYTES, mode)
    }

    /// A control frame at the response rate of `mode`.
    fn control(&self, bytes: u32, mode: Ht) -> u32 {
        self.steps * self.phy.duration(bytes, self.response_rate(mode))
    }

    /// Rate of ACKs and Block Acks that answer a PPDU of this mode, and of requests.
    pub fn response_rate(&self, _mode: Ht) -> Tenths {
        self.control_rate
    }

    pub fn uses_rts(&self, psdu_bytes: u32) -> bool {
        if let Some(protection) = self.protection {
            return !protection.self_addressed;
        }
        psdu_bytes > self.rts_threshold_bytes
    }

    pub fn ack_timeout(&self) -> u32 {
        self.ack_timeout.unwrap_or(self.sifs + self.slot + self.steps * self.phy.rx_start_delay())
    }

    pub fn cts_timeout(&self) -> u32 {
        let answer = self.protection.map_or(self.phy, |protection| Phy::Dsss { plcp: protection.plcp });
        self.cts_timeout.unwrap_or(self.sifs + self.slot + self.steps * answer.rx_start_delay())
    }
}
