//! The radiotap header before a captured frame.
//!
//! Sources: radiotap.org for TSFT to HE; Linux' `ieee80211_radiotap.h` for U-SIG and EHT, which are TLVs.

use wifair_core::Time;
use wifair_wlan::{Band, Format, Mode, PhySpec, Preamble};

// Bits of the word that says which fields follow, in this order.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const ANTENNA_SIGNAL: u32 = 1 << 5;
const MCS: u32 = 1 << 19;
const A_MPDU_STATUS: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const HE: u32 = 1 << 23;
const TLVS: u32 = 1 << 28;

// Types of TLVs.
const U_SIG: u16 = 33;
const EHT: u16 = 34;
/// U-SIG-2 B3 to B7 of an EHT MU PPDU.
const PUNCTURED_INFO: u32 = 0x3e00;

// Flags.
const SHORT_PREAMBLE: u8 = 0x02;
const WITH_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;

/// Subframe of an A-MPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subframe {
    /// The same for all subframes of an A-MPDU.
    pub reference: u32,
    pub is_last: bool,
    /// Whether it is an S-MPDU, whose delimiter has the EOF bit; unknown in HT.
    pub eof: Option<bool>,
}

/// What a radio has of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct RadioReception {
    /// Whether the frame can be decoded.
    pub whole: bool,
    /// Its power in dBm, if it is another radio's, and frames have powers.
    pub signal_dbm: Option<i8>,
    /// The Punctured Channel Information of its PHY header.
    pub puncturing: u8,
}

/// Writes radiotap headers of frames as a radio captures them.
pub(super) struct Radiotap {
    /// Frequency in MHz and the band's flag of the channel.
    channel: [u16; 2],
    short_preamble: bool,
}

impl Radiotap {
    /// Of a radio whose primary channel has this centre, or the lowest of the band.
    pub fn new(phy: &PhySpec, primary_mhz: Option<u16>) -> Radiotap {
        // 6 GHz has no flag.
        let [lowest, flag] = match phy.band() {
            Band::Ghz2_4 => [2_412, 0x80],
            Band::Ghz5 => [5_180, 0x100],
            Band::Ghz6 => [5_955, 0x0],
        };
        let channel = [primary_mhz.unwrap_or(lowest), flag];
        Radiotap { channel, short_preamble: phy.preamble() == Preamble::Short }
    }

    /// Writes the header of a frame whose PSDU begins at `at` in `mode` into `bytes`, which it clears.
    pub fn write(
        &self,
        at: Time,
        mode: &Mode,
        RadioReception { whole, signal_dbm, puncturing }: RadioReception,
        part: Option<Subframe>,
        bytes: &mut Vec<u8>,
    ) {
        bytes.clear();
        bytes.extend_from_slice(&[0; 8]);
        let mut present = TSFT | FLAGS | CHANNEL;
        bytes.extend_from_slice(&(at.as_ns() / 1_000).to_le_bytes());
        let is_dsss = mode.format == Format::Dsss;
        let preamble = if self.short_preamble && is_dsss { SHORT_PREAMBLE } else { 0 };
        bytes.push(WITH_FCS | preamble | if whole { 0 } else { BAD_FCS });
        if mode.format < Format::Ht {
            present |= RATE;
            bytes.push((mode.rate.as_kbps() / 500) as u8);
        }
        let modulation = if is_dsss { 0x20 } else { 0x40 }; // CCK or OFDM
        words(bytes, [self.channel[0], self.channel[1] | modulation]);
        if let Some(dbm) = signal_dbm {
            present |= ANTENNA_SIGNAL;
            bytes.extend_from_slice(&dbm.to_le_bytes());
        }
        if mode.format == Format::Ht {
            present |= MCS;
            ht(mode, bytes);
        }
        if let Some(subframe) = part {
            present |= A_MPDU_STATUS;
            a_mpdu_status(subframe, bytes);
        }
        present |= match mode.format {
            Format::Dsss | Format::Ofdm | Format::Ht => 0,
            Format::Vht => {
                vht(mode, bytes);
                VHT
            }
            Format::He => {
                he(mode, bytes);
                HE
            }
            // Wireshark 4.0, which does not know these TLVs, rejects short records with them.
            Format::Eht if !whole => 0,
            Format::Eht => {
                eht(mode, puncturing, bytes);
                TLVS
            }
        };
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..8].copy_from_slice(&present.to_le_bytes());
    }
}

/// Fields are aligned to their size from the start of the header.
fn align(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

fn words<const N: usize>(bytes: &mut Vec<u8>, words: [u16; N]) {
    align(bytes, 2);
    words.into_iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

fn tlv<const N: usize>(bytes: &mut Vec<u8>, kind: u16, data: [u32; N]) {
    align(bytes, 4);
    words(bytes, [kind, 4 * N as u16]);
    data.into_iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

fn a_mpdu_status(subframe: Subframe, bytes: &mut Vec<u8>) {
    align(bytes, 4);
    bytes.extend_from_slice(&subframe.reference.to_le_bytes());
    let last = 0x4 | if subframe.is_last { 0x8 } else { 0 };
    let eof = match subframe.eof {
        None => 0,
        Some(false) => 0x80,
        Some(true) => 0x80 | 0x40,
    };
    words(bytes, [last | eof]);
    bytes.extend_from_slice(&[0, 0]); // the CRC of the delimiter is unknown
}

/// Width, MCS, guard interval, format and coding.
fn ht(mode: &Mode, bytes: &mut Vec<u8>) {
    let width = u8::from(mode.width_mhz == 40);
    let short = if is_short(mode) { 0x04 } else { 0 };
    let ldpc = if mode.ldpc { 0x10 } else { 0 };
    bytes.extend_from_slice(&[0x1F, width | short | ldpc, mode.mcs]);
}

/// No STBC, guard interval, width; MCS and streams of one user, coding.
fn vht(mode: &Mode, bytes: &mut Vec<u8>) {
    words(bytes, [0x0045]);
    let width = match mode.width_mhz {
        20 => 0,
        40 => 1,
        80 => 4,
        _ => 11,
    };
    bytes.extend_from_slice(&[if is_short(mode) { 0x04 } else { 0 }, width]);
    bytes.extend_from_slice(&[mode.mcs << 4 | mode.streams, 0, 0, 0]);
    bytes.extend_from_slice(&[u8::from(mode.ldpc), 0, 0, 0]);
}

/// An HE SU PPDU: MCS, no DCM, coding, no STBC, width; guard interval; streams.
fn he(mode: &Mode, bytes: &mut Vec<u8>) {
    let data_1 = 0x0020 | 0x0040 | 0x0080 | 0x0200 | 0x4000;
    let data_2 = 0x0002;
    let data_3 = u16::from(mode.mcs) << 8 | u16::from(mode.ldpc) << 13;
    let data_5 = width_code(mode) as u16 | (guard_interval_code(mode) as u16) << 4;
    words(bytes, [data_1, data_2, data_3, 0, data_5, u16::from(mode.streams)]);
}

/// An EHT MU PPDU to one user: width, what is left out of it; guard interval; MCS, coding and streams of the user.
fn eht(mode: &Mode, puncturing: u8, bytes: &mut Vec<u8>) {
    let common = 0x1 | 0x2 | width_code(mode) << 15; // PHY version 0
    let mask = if puncturing == 0 { 0 } else { PUNCTURED_INFO };
    tlv(bytes, U_SIG, [common, u32::from(puncturing) << PUNCTURED_INFO.trailing_zeros(), mask]);
    let guard_interval = 0x4;
    let user = 0x2
        | 0x4
        | 0x10
        | 0x80
        | u32::from(mode.ldpc) << 19
        | u32::from(mode.mcs) << 20
        | u32::from(mode.streams - 1) << 24;
    let mut data = [0; 11];
    data[0] = guard_interval;
    data[1] = guard_interval_code(mode) << 7;
    data[10] = user;
    tlv(bytes, EHT, data);
}

fn is_short(mode: &Mode) -> bool {
    mode.guard_interval_ns == 400
}

/// Of a punctured PPDU the width of the channel that it leaves out a part of.
fn width_code(mode: &Mode) -> u32 {
    match mode.width_mhz {
        0..=20 => 0,
        21..=40 => 1,
        41..=80 => 2,
        81..=160 => 3,
        _ => 4,
    }
}

fn guard_interval_code(mode: &Mode) -> u32 {
    match mode.guard_interval_ns {
        800 => 0,
        1_600 => 1,
        _ => 2,
    }
}
