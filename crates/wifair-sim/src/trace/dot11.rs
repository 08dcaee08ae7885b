//! MAC frames as bytes, after a radiotap header as capture programs expect it.
//!
//! Sources: 802.11-2020, 9.2 (the general format), 9.3.1 (control frames), 9.3.2 (data frames), 9.3.3.2 and 9.4.2 (beacons and
//! their elements); 802.2 LLC and SNAP by RFC 1042.

use std::collections::BTreeMap;

use wifair_core::{Ac, Packet, SpecError, StationId, Time};
use wifair_wlan::{AirFrame, BeaconsSpec, BssSpec, BssTiming, Format, FrameKind, Mode, Node, SentPpdu};

use super::contents::Contents;
use super::radiotap::Subframe;
use crate::address::{ap_link_address, station_link_address};

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;

/// LLC and SNAP before an EtherType (RFC 1042).
const LLC_SNAP: [u8; 6] = [0xAA, 0xAA, 0x03, 0, 0, 0];
/// LLC, SNAP and EtherType.
const LLC_BYTES: usize = 8;
/// The bit of the QoS Control field for an A-MSDU (9.2.4.5.9).
const A_MSDU_PRESENT: u8 = 0x80;
const FCS_BYTES: usize = 4;

/// Compressed BlockAckReq and BlockAck (Tables 9-24 and 9-25 of 802.11-2020), below the TID.
const COMPRESSED: u16 = 2 << 1;

/// The shortest element of a vendor: ID, length and OUI (9.4.2.25).
const VENDOR_BYTES: usize = 5;

/// The address of group-addressed frames to all.
const BROADCAST: [u8; 6] = [0xFF; 6];
/// The network's name in beacons, if there is one BSS; of several it is the BSS's.
const SSID: &str = "wifair";
/// The longest name of a network, in bytes (9.4.2.2).
const LONGEST_SSID: usize = 32;
/// The Capability Information field of an AP's BSS (9.4.1.4).
const ESS: u16 = 1;

/// What a frame contains in addition to its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    /// An RTS, CTS or MAC ACK.
    None,
    /// A packet, or several in an A-MSDU; no category under DCF. Of an A-MPDU, the subframe that contains them.
    Data { packets: &'a [&'a Packet], ac: Option<Ac>, stamp: Stamp, subframe: Option<Subframe> },
    /// Starting sequence number of a Block Ack Request.
    Request { ac: Ac, start: u16 },
    /// Starting sequence number, fragment number subfield and bitmap of a Block Ack.
    BlockAck { ac: Ac, start: u16, fragment: u16, bitmap: &'a [u8] },
    /// Sequence number of a beacon.
    Beacon { sequence: u16 },
}

/// Addresses of the nodes of a BSS, and its name.
pub(super) struct BssAddresses {
    bssid: [u8; 6],
    /// Number of its first station in the network.
    first: u16,
    ssid: String,
}

impl BssAddresses {
    /// Of the only BSS.
    pub fn of_only() -> BssAddresses {
        BssAddresses::new(0, 0, SSID)
    }

    /// Of the BSS with that number, whose first station has the number `first` in the network.
    pub fn new(number: usize, first: u16, name: &str) -> BssAddresses {
        let ssid = shortened(name, LONGEST_SSID).into();
        BssAddresses { bssid: ap_link_address(number), first, ssid }
    }

    fn of(&self, node: Node) -> [u8; 6] {
        match node {
            Node::Ap => self.bssid,
            Node::Station(station) => station_link_address(StationId(self.first + station.0)),
        }
    }
}

/// The beginning of a name, of at most so many bytes.
fn shortened(name: &str, longest: usize) -> &str {
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    &name[..ends.take_while(|end| *end <= longest).last().unwrap_or_default()]
}

/// When and how a MAC frame, or a subframe of an A-MPDU, is transmitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmitted {
    pub mode: Mode,
    pub psdu_begins: Time,
    pub ends: Time,
    pub subframe: Option<Subframe>,
}

impl Transmitted {
    pub fn new(frame: &AirFrame, body: &Body) -> Transmitted {
        let subframe = if let Body::Data { subframe, .. } = body { *subframe } else { None };
        Transmitted { mode: frame.mode, psdu_begins: frame.psdu_begins, ends: frame.ends, subframe }
    }
}

/// A MAC frame as bytes, as much of it as is captured.
#[derive(Clone, Debug, Default)]
pub(super) struct MacFrame {
    bytes: Vec<u8>,
    /// Length of its MAC header.
    header: usize,
    /// Its real length, with FCS.
    pub length: usize,
}

impl MacFrame {
    /// What is written of it; of one that cannot be decoded only the MAC header.
    pub fn received(&self, whole: bool) -> &[u8] {
        if whole { &self.bytes } else { &self.bytes[..self.header] }
    }
}

/// Writes the frames of a BSS.
pub(super) struct Dot11Writer {
    addresses: BssAddresses,
    beacons: BeaconsSpec,
    /// In units of 500 kbit/s.
    basic_rates: Vec<u32>,
}

impl Dot11Writer {
    pub fn new(bss: &BssSpec, addresses: BssAddresses) -> Result<Dot11Writer, SpecError> {
        let timing = BssTiming::new(&bss.phy, "phy")?;
        let basic_rates = timing.control_frames.iter().map(|frames| frames.ack.mode.rate.as_kbps() / 500);
        Ok(Dot11Writer {
            addresses,
            beacons: bss.mac.beacons.unwrap_or_default(),
            basic_rates: basic_rates.collect(),
        })
    }

    /// Writes a frame into `written`, with payload and FCS if `full`.
    pub fn write(
        &self,
        frame: &AirFrame,
        body: Body,
        full: bool,
        contents: &impl Contents,
        written: &mut MacFrame,
    ) {
        let MacFrame { bytes, header, length } = written;
        bytes.clear();
        mac_header(&self.addresses, frame, body, contents, bytes);
        *header = bytes.len();
        let has_payload = match body {
            Body::Data { packets: [packet], .. } => {
                *length = *header + msdu(packet, full, contents, bytes);
                true
            }
            Body::Data { packets, .. } => {
                *length = a_msdu(packets, full, contents, bytes);
                true
            }
            _ => {
                self.rest(frame, body, bytes);
                *length = bytes.len();
                false
            }
        };
        if full || !has_payload {
            bytes.resize(*length, 0);
            let fcs = crc32fast::hash(bytes);
            bytes.extend_from_slice(&fcs.to_le_bytes());
        }
        *length += FCS_BYTES;
    }

    /// What follows the MAC header of a frame without packets.
    fn rest(&self, frame: &AirFrame, body: Body, bytes: &mut Vec<u8>) {
        match body {
            Body::Beacon { .. } => self.beacon(frame, bytes),
            _ => control(body, bytes),
        }
    }
}

/// Appends LLC and SNAP header and a packet, as much of it as is captured; returns their real length.
fn msdu(packet: &Packet, full: bool, contents: &impl Contents, bytes: &mut Vec<u8>) -> usize {
    bytes.extend_from_slice(&LLC_SNAP);
    bytes.extend_from_slice(&contents.ether_type(packet));
    LLC_BYTES + contents.write(packet, full, bytes)
}

/// Appends the subframes of an A-MSDU (9.3.2.2.2), up to as much of the last as is captured; payload that is not captured is
/// zeros. Returns the real length of all of `bytes`.
fn a_msdu(packets: &[&Packet], full: bool, contents: &impl Contents, bytes: &mut Vec<u8>) -> usize {
    let (mut begins, mut length) = (bytes.len(), bytes.len());
    for packet in packets {
        begins += (length - begins).next_multiple_of(4);
        bytes.resize(begins, 0);
        bytes.extend_from_slice(&contents.link_address(packet.tuple.destination));
        bytes.extend_from_slice(&contents.link_address(packet.tuple.source));
        let place = bytes.len();
        bytes.extend_from_slice(&[0; 2]);
        let msdu_bytes = msdu(packet, full, contents, bytes);
        bytes[place..place + 2].copy_from_slice(&(msdu_bytes as u16).to_be_bytes());
        length = place + 2 + msdu_bytes;
    }
    length
}

impl Dot11Writer {
    /// What follows the MAC header of a beacon: the fixed fields, SSID and supported rates, and elements of a vendor up to its
    /// length.
    fn beacon(&self, frame: &AirFrame, bytes: &mut Vec<u8>) {
        let header_bits = 8 * bytes.len() as u64;
        let kbps = frame.mode.rate.as_kbps();
        // The TSF timer at the transmission of the field's first bit (11.1.3.1).
        let timestamp = frame.psdu_begins + Time::from_ns(header_bits * 1_000_000 / u64::from(kbps));
        bytes.extend_from_slice(&(timestamp.as_ns() / 1_000).to_le_bytes());
        bytes.extend_from_slice(&(self.beacons.interval_tu as u16).to_le_bytes());
        bytes.extend_from_slice(&ESS.to_le_bytes());
        element(0, self.addresses.ssid.as_bytes(), bytes);
        let rates: &[u8] = match frame.mode.format {
            Format::Dsss => &[2, 4, 11, 22],
            _ => &[12, 18, 24, 36, 48, 72, 96, 108],
        };
        let is_basic = |rate: u8| self.basic_rates.contains(&rate.into()) || u32::from(rate) * 500 == kbps;
        let rates = rates.iter().map(|&rate| rate | if is_basic(rate) { 0x80 } else { 0 });
        element(1, &rates.collect::<Vec<u8>>(), bytes);
        let mut contents = [0; 255];
        contents[..3].copy_from_slice(&self.addresses.bssid[..3]);
        let mut left = (self.beacons.bytes as usize).saturating_sub(bytes.len() + FCS_BYTES);
        while left >= VENDOR_BYTES {
            // What remains is nothing, or enough for another element.
            let longest = 2 + contents.len();
            let taken = if left <= longest { left } else { longest.min(left - VENDOR_BYTES) };
            element(221, &contents[..taken - 2], bytes);
            left -= taken;
        }
    }
}

fn element(id: u8, contents: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[id, contents.len() as u8]);
    bytes.extend_from_slice(contents);
}

fn mac_header(
    addresses: &BssAddresses,
    frame: &AirFrame,
    body: Body,
    contents: &impl Contents,
    bytes: &mut Vec<u8>,
) {
    // Type and subtype: 9.2.4.1.3.
    let control = match (frame.kind, body) {
        (FrameKind::Beacon, _) => [0x80, 0],
        (FrameKind::BlockAckRequest, _) => [0x84, 0],
        (FrameKind::BlockAck, _) => [0x94, 0],
        (FrameKind::Rts, _) => [0xB4, 0],
        (FrameKind::Cts, _) => [0xC4, 0],
        (FrameKind::Data, Body::Data { ac, stamp, .. }) => {
            let kind = if ac.is_some() { 0x88 } else { 0x08 };
            let way = if frame.from == Node::Ap { FROM_DS } else { TO_DS };
            [kind, way | if stamp.is_retry { RETRY } else { 0 }]
        }
        _ => [0xD4, 0],
    };
    bytes.extend_from_slice(&control);
    // In microseconds, rounded up (9.2.5.1).
    let duration = frame.duration.as_ns().div_ceil(1_000).min(32_767) as u16;
    bytes.extend_from_slice(&duration.to_le_bytes());
    let to = if frame.kind == FrameKind::Beacon { BROADCAST } else { addresses.of(frame.to) };
    bytes.extend_from_slice(&to);
    if matches!(frame.kind, FrameKind::Cts | FrameKind::Ack) {
        return;
    }
    bytes.extend_from_slice(&addresses.of(frame.from));
    if let Body::Beacon { sequence } = body {
        bytes.extend_from_slice(&addresses.bssid);
        bytes.extend_from_slice(&(sequence << 4).to_le_bytes());
    }
    let Body::Data { packets, ac, stamp, .. } = body else { return };
    // Address 3 (Table 9-30): of an A-MSDU, that of the BSS.
    let beyond = match packets {
        [packet] if frame.from == Node::Ap => contents.link_address(packet.tuple.source),
        [packet] => contents.link_address(packet.tuple.destination),
        _ => addresses.bssid,
    };
    bytes.extend_from_slice(&beyond);
    bytes.extend_from_slice(&(stamp.sequence << 4).to_le_bytes());
    if let Some(ac) = ac {
        let present = if packets.len() > 1 { A_MSDU_PRESENT } else { 0 };
        bytes.extend_from_slice(&[traffic_id(ac) | present, 0]);
    }
}

/// What follows the addresses of a Block Ack Request or a Block Ack (9.3.1.7.2, 9.3.1.8.2).
fn control(body: Body, bytes: &mut Vec<u8>) {
    let mut words = |ac: Ac, sequence_control: u16| {
        let control = COMPRESSED | u16::from(traffic_id(ac)) << 12;
        bytes.extend_from_slice(&control.to_le_bytes());
        bytes.extend_from_slice(&sequence_control.to_le_bytes());
    };
    match body {
        Body::None | Body::Data { .. } | Body::Beacon { .. } => {}
        Body::Request { ac, start } => words(ac, start << 4),
        Body::BlockAck { ac, start, fragment, bitmap } => {
            words(ac, start << 4 | fragment);
            bytes.extend_from_slice(bitmap);
        }
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
    pub sequence: u16,
    pub is_retry: bool,
}

/// Sequence numbers (10.3.2.14.2): per node under DCF, per node, receiver and category under EDCA, where beacons have their
/// own.
#[derive(Default)]
pub(super) struct Sequences {
    next: BTreeMap<(u32, StationId), u16>,
    /// By sender: fields of the frame in service, and whether its data frame has been sent.
    in_service: BTreeMap<u32, Stamp>,
}

impl Sequences {
    /// Returns the number of the AP's next beacon.
    pub fn beacon(&mut self, has_edca: bool) -> u16 {
        let sender = if has_edca { u32::MAX } else { 0 };
        let next = self.next.entry((sender, StationId::default())).or_default();
        std::mem::replace(next, (*next + 1) % 4_096)
    }

    /// Starts a transmission of a link without an agreement.
    pub fn begin(&mut self, ppdu: &SentPpdu) {
        if ppdu.transmission.mpdus[0].attempts == 1 {
            let receiver =
                if ppdu.category.is_some() { ppdu.transmission.station } else { StationId::default() };
            let next = self.next.entry((ppdu.sender, receiver)).or_default();
            self.in_service.insert(ppdu.sender, Stamp { sequence: *next, is_retry: false });
            *next = (*next + 1) % 4_096;
        }
    }

    /// Returns the fields of the data frame of the transmission. The packet's next one will be a retry.
    pub fn stamp(&mut self, ppdu: &SentPpdu) -> Stamp {
        let stamp = self.in_service.entry(ppdu.sender).or_default();
        std::mem::replace(stamp, Stamp { is_retry: true, ..*stamp })
    }
}
