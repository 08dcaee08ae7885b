//! Durations (docs/medium.md, section 2) and the rules that a scenario may change, all in whole steps of the clock.
//!
//! A step is a microsecond, in which everything fits that the standard's tables have; or a part of one, in which slots,
//! arrivals and timeouts fall between the microseconds.

use super::flaw::Flaw;
use super::mode::{Generation, Mode};
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

impl Phy {
    /// 802.11b's rates, or those of OFDM, the slowest first.
    pub fn rates(self) -> &'static [Tenths] {
        match self {
            Phy::Dsss { .. } => &[10, 20, 55, 110],
            Phy::Ofdm { .. } => &[60, 90, 120, 180, 240, 360, 480, 540],
        }
    }

    pub fn is_dsss(self) -> bool {
        matches!(self, Phy::Dsss { .. })
    }
}

/// How a frame is sent that is no HT frame or later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonHt {
    pub phy: Phy,
    pub rate: Tenths,
}

/// How data frames of a link are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    NonHt(NonHt),
    Mode(Mode),
}

impl Form {
    pub fn rate(self) -> Tenths {
        match self {
            Form::NonHt(NonHt { rate, .. }) => rate,
            Form::Mode(mode) => mode.rate(),
        }
    }

    fn is_dsss(self) -> bool {
        matches!(self, Form::NonHt(NonHt { phy: Phy::Dsss { .. }, .. }))
    }
}

/// The PHY of a BSS from 802.11n on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modern {
    pub generation: Generation,
    pub band_ghz: f64,
    pub width_mhz: u32,
    /// None: control frames have the rate that the rules give to all.
    pub basic_rates: Option<&'static [Tenths]>,
    /// 802.11b stations are about.
    pub has_dot11b: bool,
}

/// PSDU bytes of a MAC ACK and of a CTS.
pub const ACK_BYTES: u32 = 14;
/// PSDU bytes of an RTS.
pub const RTS_BYTES: u32 = 20;
/// PSDU bytes of a Block Ack Request.
pub const REQUEST_BYTES: u32 = 24;
/// Bytes of LLC and SNAP, which the overhead includes.
pub const LLC_BYTES: u32 = 8;
/// Bytes of DA, SA and length of a subframe of an A-MSDU.
const SUBFRAME_HEADER_BYTES: u32 = 14;
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
    /// None: older than 802.11n.
    pub modern: Option<Modern>,
    /// None: there are none.
    pub beacons: Option<Beacons>,
    /// The AP's transmit queues police what comes from stations, by [`verdict`](super::scenario::verdict), and ask for queue
    /// sizes.
    pub polices: bool,
    /// What this model does wrong on purpose.
    pub flaw: Option<Flaw>,
}

/// When a link comes to owe a Block Ack Request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requests {
    Never,
    GivenUp,
    /// After a missed Block Ack, too.
    Missed,
}

/// Section 12.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregation {
    /// MPDUs.
    pub window: u32,
    pub max_mpdus: Option<u32>,
    pub max_ampdu_bytes: u32,
    /// 0: none.
    pub max_amsdu_bytes: u32,
    /// Steps of the clock, as all times.
    pub max_ppdu: u32,
    /// Between the starts of MPDUs, in quarters of a µs.
    pub min_spacing_quarters: u32,
    /// Transmissions of an MPDU, where those in its last PPDU count as one.
    pub max_attempts: u32,
    /// Of a PPDU as it was formed.
    pub tries: u32,
    /// What the transmit queue gives ends at the first packet for another station.
    pub head_run: bool,
    pub requests: Requests,
    /// MPDUs of a PPDU are received each at its own end.
    pub delivers_mpdus: bool,
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
            max_amsdu_bytes: 0,
            max_ppdu: 5_484,
            min_spacing_quarters: 0,
            max_attempts: 7,
            tries: 1,
            head_run: false,
            requests: Requests::GivenUp,
            delivers_mpdus: false,
            reorder_timeout: 100_000,
            ccmp: false,
        }
    }
}

/// Section 13.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beacons {
    pub interval_tu: u32,
    /// FCS included.
    pub bytes: u32,
    /// None: that of the MAC ACK that EIFS allows for.
    pub rate: Option<Tenths>,
}

/// Section 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edca {
    /// Voice, video, best effort, background.
    pub ap: [Category; 4],
    pub stations: [Category; 4],
    pub dcf_countdown: bool,
    pub internal_collision_retry: bool,
    /// The categories of the AP, of a station, have one transmit queue.
    pub ap_shares_tx_queue: bool,
    pub stations_share_tx_queue: bool,
    /// None: CWmin stays.
    pub controller: Option<Controller>,
}

/// Of CWmin for best effort at the stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    pub interval_tu: u32,
    pub samples: u32,
    pub max_cw_min: u32,
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
            modern: None,
            beacons: None,
            polices: false,
            flaw: None,
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
        self.phy.rates()
    }

    /// Whether it is done wrong on purpose.
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// The queue size that the AP reads in the last MPDU that it decodes of a data frame: `queued` bytes, `own` of them in that
    /// MPDU. None: there is no such field.
    pub fn queue_size(&self, mode: Option<Mode>, queued: u32, own: u32) -> Option<u32> {
        self.edca?;
        if mode.is_none_or(|mode| mode.generation < Generation::He) {
            let queued = if self.has(Flaw::OwnMsduCounts) { queued } else { queued - own };
            let field = (0..=253).find(|units| 256 * units >= queued);
            return Some(field.map_or(64_769, |units| 256 * units));
        }
        let queued = if self.has(Flaw::OwnMsduMissing) { queued - own } else { queued };
        let sizes = [(0, 16, 64), (1_024, 256, 64), (17_408, 2_048, 64), (148_480, 32_768, 62)];
        let mut sizes =
            sizes.into_iter().flat_map(|(base, unit, values)| (0..values).map(move |v| base + unit * v));
        Some(sizes.find(|size| *size >= queued).unwrap_or(2_147_329))
    }

    /// Whether the categories of a node have one transmit queue.
    pub fn shares_tx_queue(&self, node: usize) -> bool {
        self.edca.is_some_and(
            |edca| if node == 0 { edca.ap_shares_tx_queue } else { edca.stations_share_tx_queue },
        )
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
        if self.has(Flaw::ShortEifs) {
            return self.difs() + self.slot;
        }
        let ns2 = if self.eifs_plus_difs { self.difs() } else { 0 };
        self.sifs + self.control(ACK_BYTES, self.lowest_form()) + self.difs() + ns2
    }

    /// How the MAC ACK is sent that EIFS allows for, and beacons unless they have a rate.
    pub fn lowest_form(&self) -> NonHt {
        match self.protection {
            Some(Protection { plcp, .. }) => NonHt { phy: Phy::Dsss { plcp }, rate: 10 },
            None => NonHt { phy: self.phy, rate: self.lowest_mandatory_rate },
        }
    }

    /// How beacons are sent.
    pub fn beacon_form(&self, beacons: Beacons) -> NonHt {
        let phy = match (self.phy, self.protection) {
            (Phy::Ofdm { .. }, Some(Protection { plcp, .. })) => Phy::Dsss { plcp },
            (Phy::Ofdm { .. }, None) => Phy::Dsss { plcp: 192 },
            (dsss, _) => dsss,
        };
        match beacons.rate.filter(|_| !self.has(Flaw::BeaconsHaveNoRate)) {
            Some(rate) if phy.rates().contains(&rate) => NonHt { phy, rate },
            Some(rate) => NonHt { phy: self.phy, rate },
            None => self.lowest_form(),
        }
    }

    /// The rates that beacons may have.
    pub fn beacon_rates(&self) -> Vec<Tenths> {
        let dsss = Phy::Dsss { plcp: 192 }.rates();
        match self.phy {
            Phy::Ofdm { extension: 0 } => self.phy.rates().to_vec(),
            Phy::Ofdm { .. } if !self.modern.is_some_and(|modern| modern.has_dot11b) => {
                [dsss, self.phy.rates()].concat()
            }
            _ => dsss.to_vec(),
        }
    }

    /// Between target times.
    pub fn beacon_interval(&self) -> Option<u64> {
        let tu = u64::from(1_024 * self.steps);
        self.beacons.map(|beacons| tu * u64::from(beacons.interval_tu))
    }

    /// The controller of CWmin, if there is one, and the time between its samples.
    pub fn controller(&self) -> Option<(Controller, u64)> {
        let tu = u64::from(1_024 * self.steps);
        let controller = self.edca?.controller?;
        Some((controller, tu * u64::from(controller.interval_tu)))
    }

    /// How long a non-HT frame of `bytes` bytes lasts.
    pub fn control(&self, bytes: u32, form: NonHt) -> u32 {
        self.steps * form.phy.duration(bytes, form.rate)
    }

    /// How what answers data frames of this form is sent.
    pub fn response_form(&self, form: Form) -> NonHt {
        if let Form::NonHt(NonHt { phy: phy @ Phy::Dsss { .. }, .. }) = form
            && self.modern.is_some()
        {
            return NonHt { phy, rate: 10 };
        }
        let reference = match form {
            Form::NonHt(NonHt { rate, .. }) => rate,
            Form::Mode(mode) => mode.reference_rate(),
        };
        let rate = match self.modern.and_then(|modern| modern.basic_rates) {
            None => self.control_rate,
            Some(rates) if self.has(Flaw::LowestResponseRate) => rates[0],
            Some(rates) => *rates.iter().rev().find(|&&rate| rate <= reference).unwrap_or(&rates[0]),
        };
        NonHt { phy: self.phy, rate }
    }

    /// What protects data frames of this form.
    fn protection_of(&self, form: Form) -> Option<Protection> {
        let spared = form.is_dsss() && !self.has(Flaw::ProtectedDsss);
        self.protection.filter(|_| !spared)
    }

    /// How RTS and CTS before data frames of this form are sent.
    pub fn reservation_form(&self, form: Form) -> NonHt {
        match self.protection_of(form) {
            Some(Protection { plcp, rate, .. }) => NonHt { phy: Phy::Dsss { plcp }, rate },
            None => self.response_form(form),
        }
    }

    /// Whether a CTS-to-self goes before each data frame of this form.
    pub fn announces(&self, form: Form) -> bool {
        self.protection_of(form).is_some_and(|protection| protection.self_addressed)
    }

    /// Whether an RTS goes before a data frame of this form and of so many bytes.
    pub fn uses_rts(&self, form: Form, psdu_bytes: u32) -> bool {
        match self.protection_of(form) {
            Some(protection) => !protection.self_addressed,
            None => psdu_bytes > self.rts_threshold_bytes,
        }
    }

    /// For how long a sender waits for what answers it in this form: for a MAC ACK or Block Ack.
    pub fn ack_timeout_of(&self, response: NonHt) -> u32 {
        self.ack_timeout.unwrap_or(self.timeout_after(response))
    }

    /// The same for a CTS.
    pub fn cts_timeout_of(&self, reservation: NonHt) -> u32 {
        self.cts_timeout.unwrap_or(self.timeout_after(reservation))
    }

    fn timeout_after(&self, answer: NonHt) -> u32 {
        self.sifs + self.slot + self.steps * answer.phy.rx_start_delay()
    }

    /// How long a data frame of one packet lasts.
    pub fn data_frame(&self, ip_bytes: u32, form: Form) -> u32 {
        match form {
            Form::NonHt(form) => self.control(self.mpdu_bytes(ip_bytes), form),
            Form::Mode(mode) => self.ppdu(self.mpdu_bytes(ip_bytes), mode),
        }
    }

    // Where all stations are alike and older than 802.11n.

    pub fn plain(&self, rate: Tenths) -> Form {
        Form::NonHt(NonHt { phy: self.phy, rate })
    }

    pub fn data(&self, ip_bytes: u32, rate: Tenths) -> u32 {
        self.data_frame(ip_bytes, self.plain(rate))
    }

    pub fn ack(&self) -> u32 {
        self.control(ACK_BYTES, NonHt { phy: self.phy, rate: self.control_rate })
    }

    pub fn cts(&self) -> u32 {
        self.control(ACK_BYTES, self.reservation_form(self.plain(self.control_rate)))
    }

    pub fn rts(&self) -> u32 {
        self.control(RTS_BYTES, self.reservation_form(self.plain(self.control_rate)))
    }

    pub fn ack_timeout(&self) -> u32 {
        self.ack_timeout_of(NonHt { phy: self.phy, rate: self.control_rate })
    }

    pub fn cts_timeout(&self) -> u32 {
        self.cts_timeout_of(self.reservation_form(self.plain(self.control_rate)))
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

    /// MPDUs in the window of a link in this mode.
    pub fn window(&self, mode: Mode) -> u32 {
        let generation = match self.modern {
            Some(modern) if self.has(Flaw::WindowOfTheNewer) => modern.generation,
            _ => mode.generation,
        };
        self.agreed().window.min(generation.window())
    }

    pub fn max_psdu_bytes(&self, mode: Mode) -> u32 {
        let most = self.agreed().max_ampdu_bytes.min(mode.generation.longest_psdu_bytes());
        most + if self.has(Flaw::LongerPsdu) { 64 } else { 0 }
    }

    /// Bytes of the subframe of an MPDU that another follows.
    fn subframe_bytes(&self, mpdu_bytes: u32, mode: Mode) -> u32 {
        let spacing = self.agreed().min_spacing_quarters;
        let spacing = if self.has(Flaw::NoSpacing) { 0 } else { mode.bytes_in(spacing) };
        let bytes = (DELIMITER_BYTES + mpdu_bytes).max(spacing);
        if self.has(Flaw::NoPadding) { bytes } else { bytes.next_multiple_of(4) }
    }

    /// Whether the minimum spacing makes the subframe of an MPDU longer.
    pub fn spacing_extends(&self, bytes: u32, mode: Mode) -> bool {
        self.subframe_bytes(bytes, mode) > (DELIMITER_BYTES + bytes).next_multiple_of(4)
    }

    /// What an MPDU has around its body.
    fn frame_bytes(&self) -> u32 {
        self.mpdu_bytes(0) - LLC_BYTES
    }

    /// An A-MSDU of these packets.
    fn amsdu_bytes(&self, ip_bytes: &[u32]) -> u32 {
        let (last, before) = ip_bytes.split_last().expect("an MPDU is not empty");
        let subframe = |bytes: &u32| SUBFRAME_HEADER_BYTES + LLC_BYTES + bytes;
        let padded = |bytes: &u32| match self.has(Flaw::UnpaddedAmsdu) {
            true => subframe(bytes),
            false => subframe(bytes).next_multiple_of(4),
        };
        let missing = if self.has(Flaw::FirstWithoutHeader) { SUBFRAME_HEADER_BYTES } else { 0 };
        before.iter().map(padded).sum::<u32>() + subframe(last) - missing
    }

    /// An MPDU with these packets.
    pub fn bytes_with(&self, ip_bytes: &[u32]) -> u32 {
        match ip_bytes {
            [one] => self.mpdu_bytes(*one),
            several => self.frame_bytes() + self.amsdu_bytes(several),
        }
    }

    /// What the longest A-MSDU to and from a station of this generation may have, whatever the key says.
    pub fn longest_amsdu(&self, generation: Generation) -> u32 {
        let is_low = self.modern.is_some_and(|modern| modern.band_ghz < 5.0);
        match generation {
            Generation::Ht if self.agreed().max_mpdus != Some(1) => 4_095 - self.frame_bytes(),
            Generation::Ht => 7_935,
            Generation::He if is_low => 7_935,
            _ => 11_454 - self.frame_bytes(),
        }
    }

    /// Whether packets may share an MPDU.
    pub fn may_share(&self, ip_bytes: &[u32], mode: Mode) -> bool {
        let generation = match self.modern {
            Some(modern) if self.has(Flaw::AmsduOfTheNewer) => modern.generation,
            _ => mode.generation,
        };
        let more = if self.has(Flaw::LongerAmsdu) { 4 } else { 0 };
        let most = self.agreed().max_amsdu_bytes.min(self.longest_amsdu(generation));
        most > 0 && self.amsdu_bytes(ip_bytes) <= most + more
    }

    /// PSDU bytes of a PPDU with these packets, one in each MPDU.
    pub fn psdu_bytes(&self, ip_bytes: &[u32], mode: Mode) -> u32 {
        let mpdus: Vec<u32> = ip_bytes.iter().map(|&bytes| self.mpdu_bytes(bytes)).collect();
        self.psdu_of(&mpdus, mode)
    }

    /// PSDU bytes of a PPDU with MPDUs of these lengths.
    pub fn psdu_of(&self, mpdus: &[u32], mode: Mode) -> u32 {
        let (&last, before) = mpdus.split_last().expect("a PPDU is not empty");
        let before: u32 = before.iter().map(|&bytes| self.subframe_bytes(bytes, mode)).sum();
        let plain = match self.has(Flaw::Delimiters) {
            false => mode.generation == Generation::Ht,
            true => mode.generation != Generation::Ht,
        };
        if mpdus.len() == 1 && plain {
            return last;
        }
        self.with_delimiter(before, last)
    }

    /// PSDU bytes of a PPDU of one MPDU, reckoned as one of several.
    pub fn psdu_as_of_several(&self, mpdu: u32) -> u32 {
        self.with_delimiter(0, mpdu)
    }

    fn with_delimiter(&self, before: u32, last: u32) -> u32 {
        let last = DELIMITER_BYTES + last;
        before + if self.has(Flaw::LastPadded) { last.next_multiple_of(4) } else { last }
    }

    pub fn ppdu(&self, psdu_bytes: u32, mode: Mode) -> u32 {
        let extension = match self.phy {
            Phy::Ofdm { .. } if self.has(Flaw::NoSignalExtension) => 0,
            Phy::Ofdm { extension } => extension,
            Phy::Dsss { .. } => unreachable!("802.11n has OFDM"),
        };
        let mode = match self.flaw {
            Some(Flaw::NoPacketExtension) => Mode { padding_us: 0, ..mode },
            Some(Flaw::OneLtfSize) => Mode { ltf: 2, ..mode },
            Some(Flaw::NoLdpc) => Mode { ldpc: false, ..mode },
            _ => mode,
        };
        let ns = u64::from(self.steps) * mode.duration_ns(psdu_bytes);
        assert!(ns.is_multiple_of(1_000), "{mode:?}: {ns} ns are no whole steps");
        (ns / 1_000) as u32 + self.steps * extension
    }

    /// When each MPDU of a PPDU that lasts `length` ends, from the PPDU's start: MPDUs of these lengths.
    pub fn mpdu_ends(&self, mpdus: &[u32], mode: Mode, length: u32) -> Vec<u32> {
        let in_steps = |ns: u64| {
            let ns = u64::from(self.steps) * ns;
            assert!(
                ns.is_multiple_of(1_000),
                "{mode:?}: an MPDU ends after {ns} ns, which are no whole steps"
            );
            (ns / 1_000) as u32
        };
        let mut before = 0;
        let mut ends: Vec<u32> = mpdus
            .iter()
            .map(|&bytes| {
                let subframe = self.subframe_bytes(bytes, mode);
                let padding =
                    if self.has(Flaw::MpduEndsWithPadding) { subframe - DELIMITER_BYTES - bytes } else { 0 };
                let end = before + DELIMITER_BYTES + bytes + padding;
                before += subframe;
                in_steps(mode.end_of_bytes_ns(end))
            })
            .collect();
        if let Some(last) = ends.last_mut() {
            *last = length;
        }
        ends
    }

    /// The symbols of each MPDU of a PPDU, in ns from the PPDU's start: MPDUs of these lengths.
    pub fn mpdu_symbols_ns(&self, mpdus: &[u32], mode: Mode) -> Vec<[u64; 2]> {
        let delimiter = self.psdu_of(&mpdus[..1], mode) - mpdus[0];
        let delimiter = if mpdus.len() > 1 { DELIMITER_BYTES } else { delimiter };
        let mut before = 0;
        let symbols = mpdus.iter().map(|&bytes| {
            let (first, end) = (before, before + delimiter + bytes);
            before += self.subframe_bytes(bytes, mode);
            [mode.start_of_byte_ns(first), mode.end_of_bytes_ns(end)]
        });
        symbols.collect()
    }

    /// The answer to a PPDU of `mpdus` MPDUs.
    pub fn response(&self, mpdus: usize, mode: Mode) -> u32 {
        let single = mpdus == 1 && !self.has(Flaw::BlockAckForOne);
        let bytes = if single { ACK_BYTES } else { self.block_ack_bytes(mode) };
        self.control(bytes, self.response_form(Form::Mode(mode)))
    }

    pub fn block_ack(&self, mode: Mode) -> u32 {
        self.control(self.block_ack_bytes(mode), self.response_form(Form::Mode(mode)))
    }

    fn block_ack_bytes(&self, mode: Mode) -> u32 {
        match self.window(mode) {
            _ if self.has(Flaw::ShortBitmaps) => 32,
            ..=64 => 32,
            65..=256 => 56,
            257..=512 => 88,
            _ => 152,
        }
    }

    /// A Block Ack Request.
    pub fn request(&self, mode: Mode) -> u32 {
        self.control(REQUEST_BYTES, self.response_form(Form::Mode(mode)))
    }
}
