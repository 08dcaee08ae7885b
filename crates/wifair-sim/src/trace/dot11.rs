//! MAC frames as bytes, after a radiotap header as capture programs expect it.
//!
//! Sources: 802.11-2020, 9.2 (the general format), 9.3.1 (control frames), 9.3.2 (data frames); radiotap.org for the fields;
//! 802.2 LLC and SNAP by RFC 1042.

use std::collections::BTreeMap;

use wifair_core::{Ac, StationId};
use wifair_wlan::{AirFrame, Attempted, Band, Format, FrameKind, Mode, Node, PhySpec, Preamble};

use super::contents::Contents;
use crate::address::{AP_LINK_ADDRESS, station_link_address};

/// Radiotap header: version 0, this length, with the fields TSFT, flags, rate and channel.
const RADIOTAP_HEAD: [u8; 8] = [0, 0, 22, 0, 0b1111, 0, 0, 0];
const SHORT_PREAMBLE: u8 = 0x02;
const WITH_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;

/// LLC and SNAP before an EtherType (RFC 1042).
const LLC_SNAP: [u8; 6] = [0xAA, 0xAA, 0x03, 0, 0, 0];
const FCS_BYTES: usize = 4;

/// Properties common to all frames of a cell.
pub(super) struct Radio {
    /// Frequency in MHz and radiotap's flags of the channel.
    channel: [u16; 2],
    short_preamble: bool,
}

/// How a receiver captures a frame.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    /// Whether it can be decoded. Otherwise only the MAC header is written, flagged as damaged.
    pub whole: bool,
    /// Whether to include payload and FCS.
    pub full: bool,
}

impl Radio {
    pub fn new(phy: &PhySpec) -> Radio {
        // 2.4 GHz: 0x80; 5 GHz: 0x100; 6 GHz has no flag; CCK: 0x20; OFDM: 0x40.
        let modulation = if phy.format() == Format::Dsss { 0x20 } else { 0x40 };
        let [frequency, band] = match phy.band() {
            Band::Ghz2_4 => [2_412, 0x80],
            Band::Ghz5 => [5_180, 0x100],
            Band::Ghz6 => [5_955, 0x0],
        };
        Radio { channel: [frequency, band | modulation], short_preamble: phy.preamble() == Preamble::Short }
    }

    /// Writes a frame as received into `bytes`, as much of it as is captured; returns its real length.
    pub fn write(
        &self,
        frame: &AirFrame,
        stamp: Stamp,
        heard: Heard,
        contents: &impl Contents,
        bytes: &mut Vec<u8>,
    ) -> usize {
        bytes.clear();
        self.radiotap(frame, heard.whole, bytes);
        let from = bytes.len();
        mac_header(frame, stamp, contents, bytes);
        if frame.kind != FrameKind::Data {
            return self.close(from, 0, Heard { full: true, ..heard }, bytes);
        }
        let before = bytes.len();
        let packet = frame.attempt.packet;
        bytes.extend_from_slice(&LLC_SNAP);
        bytes.extend_from_slice(&contents.ether_type(packet));
        let begins = bytes.len();
        let length = contents.write(packet, heard.full, bytes);
        if !heard.whole {
            bytes.truncate(before);
            return begins + length + FCS_BYTES;
        }
        self.close(from, begins + length - bytes.len(), heard, bytes)
    }

    /// Appends payload and FCS, or only counts their length.
    fn close(&self, from: usize, payload: usize, heard: Heard, bytes: &mut Vec<u8>) -> usize {
        let length = bytes.len() + payload + FCS_BYTES;
        if heard.whole && heard.full {
            bytes.resize(bytes.len() + payload, 0);
            let fcs = crc32fast::hash(&bytes[from..]);
            bytes.extend_from_slice(&fcs.to_le_bytes());
        }
        length
    }

    fn radiotap(&self, frame: &AirFrame, whole: bool, bytes: &mut Vec<u8>) {
        let mut flags = WITH_FCS;
        if self.short_preamble && frame.mode.format == Format::Dsss {
            flags |= SHORT_PREAMBLE;
        }
        if !whole {
            flags |= BAD_FCS;
        }
        bytes.extend_from_slice(&RADIOTAP_HEAD);
        bytes.extend_from_slice(&(frame.psdu_begins.as_ns() / 1_000).to_le_bytes());
        bytes.extend_from_slice(&[flags, half_mbps(&frame.mode)]);
        for word in self.channel {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// Radiotap's unit of rates is 500 kbit/s; a mode with an MCS has no such rate.
fn half_mbps(mode: &Mode) -> u8 {
    if mode.format >= Format::Ht { 0 } else { (mode.rate.as_kbps() / 500) as u8 }
}

fn link_address_of(node: Node) -> [u8; 6] {
    match node {
        Node::Ap => AP_LINK_ADDRESS,
        Node::Station(station) => station_link_address(station),
    }
}

fn mac_header(frame: &AirFrame, stamp: Stamp, contents: &impl Contents, bytes: &mut Vec<u8>) {
    // Type and subtype: 9.2.4.1.3.
    let control = match frame.kind {
        FrameKind::Rts => [0xB4, 0],
        FrameKind::Cts => [0xC4, 0],
        FrameKind::Ack => [0xD4, 0],
        FrameKind::Data => {
            let kind = if frame.attempt.ac.is_some() { 0x88 } else { 0x08 };
            let way = if frame.from == Node::Ap { FROM_DS } else { TO_DS };
            [kind, way | if stamp.is_retry { RETRY } else { 0 }]
        }
    };
    bytes.extend_from_slice(&control);
    // In microseconds, rounded up (9.2.5.1).
    let duration = frame.duration.as_ns().div_ceil(1_000).min(32_767) as u16;
    bytes.extend_from_slice(&duration.to_le_bytes());
    bytes.extend_from_slice(&link_address_of(frame.to));
    if matches!(frame.kind, FrameKind::Cts | FrameKind::Ack) {
        return;
    }
    bytes.extend_from_slice(&link_address_of(frame.from));
    if frame.kind == FrameKind::Rts {
        return;
    }
    let tuple = &frame.attempt.packet.tuple;
    let beyond = if frame.from == Node::Ap { tuple.source } else { tuple.destination };
    bytes.extend_from_slice(&contents.link_address(beyond));
    bytes.extend_from_slice(&(stamp.sequence << 4).to_le_bytes());
    if let Some(ac) = frame.attempt.ac {
        bytes.extend_from_slice(&[traffic_id(ac), 0]);
    }
}

/// The traffic identifier of a category: the lower of its two user priorities (Table 10-1), 0 for best effort.
fn traffic_id(ac: Ac) -> u8 {
    match ac {
        Ac::Background => 1,
        Ac::BestEffort => 0,
        Ac::Video => 4,
        Ac::Voice => 6,
    }
}

/// Fields of a data frame in addition to the packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    sequence: u16,
    is_retry: bool,
}

/// Sequence numbers (10.3.2.14.2): per node under DCF, per node, receiver and category under EDCA.
#[derive(Default)]
pub(super) struct Sequences {
    next: BTreeMap<(u32, StationId), u16>,
    /// By sender: fields of the frame in service, and whether its data frame has been sent.
    in_service: BTreeMap<u32, Stamp>,
}

impl Sequences {
    /// Starts a transmission.
    pub fn begin(&mut self, attempt: &Attempted) {
        if attempt.number == 1 {
            let receiver = if attempt.ac.is_some() { attempt.station } else { StationId::default() };
            let next = self.next.entry((attempt.sender, receiver)).or_default();
            self.in_service.insert(attempt.sender, Stamp { sequence: *next, is_retry: false });
            *next = (*next + 1) % 4_096;
        }
    }

    /// Returns the fields of a frame of the transmission. The packet's next data frame will be a retry.
    pub fn stamp(&mut self, frame: &AirFrame) -> Stamp {
        let stamp = self.in_service.entry(frame.attempt.sender).or_default();
        let told = *stamp;
        stamp.is_retry |= frame.kind == FrameKind::Data;
        told
    }
}
