//! The files of captures, and what goes into each: on the air what a radio receives, elsewhere what passes an interface.

use std::path::Path;

use wifair_core::{Packet, SpecError, StationId, Time};
use wifair_wlan::{AirFrame, Bss, Decoded, FieldJournal, FrameKind, Node};

use super::capture::{Capture, LinkType};
use super::contents::Contents;
use super::dot11::{BssAddresses, Dot11Writer, MacFrame, Transmitted};
use super::error::TraceError;
use super::exchanges::TracedExchanges;
use super::field::FieldAir;
use super::radiotap::{RadioReception, Radiotap};
use super::spec::PcapSpec;
use crate::address;
use crate::plan::Plan;

/// See the module documentation.
pub(super) struct Captures<C> {
    radios: Vec<CapturedRadio>,
    /// Of access points, by the number of their BSS.
    wires: Vec<(usize, Capture)>,
    servers: Option<Capture>,
    hosts: Vec<(StationId, Capture)>,
    full_frames: bool,
    pub contents: C,
    /// By BSS.
    writers: Vec<Dot11Writer>,
    exchanges: Vec<TracedExchanges>,
    /// If the BSSs are in a field.
    field: Option<FieldAir>,
    /// By BSS: the number of its first station in the network.
    firsts: Vec<u16>,
    /// Buffers for the packet and the MAC frame being written.
    bytes: Vec<u8>,
    mac_frame: MacFrame,
}

/// A radio whose frames are captured.
struct CapturedRadio {
    node: Node,
    /// Its place among the nodes of all BSSs, where each access point comes before its stations.
    place: usize,
    radiotap: Radiotap,
    capture: Capture,
}

impl CapturedRadio {
    /// Writes a frame as received.
    fn write(
        &mut self,
        sent: &Transmitted,
        mac_frame: &MacFrame,
        received: RadioReception,
        bytes: &mut Vec<u8>,
    ) -> Result<(), TraceError> {
        self.radiotap.write(sent.psdu_begins, &sent.mode, received, sent.subframe, bytes);
        let length = bytes.len() + mac_frame.length;
        bytes.extend_from_slice(mac_frame.received(received.whole));
        self.capture.add(sent.ends, bytes, length)
    }
}

impl<C: Contents> Captures<C> {
    pub fn create(
        folder: &Path,
        spec: &PcapSpec,
        plan: &Plan,
        seed: u64,
        contents: C,
    ) -> Result<Captures<C>, TraceError> {
        let file = |name: &str, link| Capture::create(folder, name, link, seed);
        let obss = plan.obss_spec();
        let has_several = !plan.neighbours.is_empty();
        let (mut writers, mut firsts, mut places) = (vec![], vec![], vec![]);
        let mut first = 0;
        for (number, bss) in plan.bsss().enumerate() {
            let addresses = match has_several {
                true => BssAddresses::new(number, first, bss.name),
                false => BssAddresses::of_only(),
            };
            writers.push(Dot11Writer::new(&obss.spec(number), addresses)?);
            firsts.push(first);
            places.push(usize::from(first) + number);
            first += bss.stations.len() as u16;
        }
        let bss_of = |station: StationId| firsts.partition_point(|&first| first <= station.0) - 1;
        let radio =
            |number: usize, node: Node, place: usize, name: &str| -> Result<CapturedRadio, TraceError> {
                let radiotap = Radiotap::new(&plan.bss.phy, obss.primary_mhz(number)?);
                Ok(CapturedRadio {
                    node,
                    place,
                    radiotap,
                    capture: file(&format!("{name}-air"), LinkType::Radio)?,
                })
            };
        let (mut radios, mut wires, mut hosts) = (vec![], vec![], vec![]);
        for number in access_points(&spec.aps, plan)? {
            let name = match plan.bsss().nth(number) {
                Some(bss) if number > 0 => file_name("ap", bss.name, number),
                _ => "ap".to_string(),
            };
            radios.push(radio(number, Node::Ap, places[number], &name)?);
            wires.push((number, file(&format!("{name}-wire"), LinkType::Ethernet)?));
        }
        let ids = plan.station_ids();
        for label in &spec.stations {
            let Some(&station) = ids.get(label.as_str()) else {
                let labels: Vec<&str> = plan.stations().map(|station| station.label.as_str()).collect();
                return Err(SpecError::new("trace.pcap.stations", label, labels.join(", ")).into());
            };
            let name = file_name("station", label, station.index());
            let number = bss_of(station);
            let own = station.0 - firsts[number];
            let place = places[number] + 1 + usize::from(own);
            radios.push(radio(number, Node::Station(StationId(own)), place, &name)?);
            hosts.push((station, file(&format!("{name}-host"), LinkType::Ethernet)?));
        }
        let has_edca = plan.bss.mac.edca.is_some();
        let listeners = || radios.iter().map(|radio| radio.place).collect::<Vec<_>>();
        Ok(Captures {
            field: plan.bss.field.is_some().then(|| FieldAir::new(&listeners(), places)),
            radios,
            wires,
            servers: spec.servers.then(|| file("servers", LinkType::Ethernet)).transpose()?,
            hosts,
            full_frames: spec.full_frames,
            contents,
            exchanges: (0..writers.len()).map(|number| TracedExchanges::new(number, has_edca)).collect(),
            writers,
            firsts,
            bytes: Vec::with_capacity(2_048),
            mac_frame: MacFrame::default(),
        })
    }

    /// Called with each BSS before the first event.
    pub fn begin(&mut self, bss: &mut Bss) {
        if let Some(field) = &self.field {
            FieldJournal::keep(Some(field.journal()), bss);
        }
    }

    pub fn finish(&mut self) -> Result<(), TraceError> {
        if let Some(field) = &mut self.field {
            field.end();
        }
        self.write_known()?;
        let radios = self.radios.iter_mut().map(|radio| &mut radio.capture);
        let wires = self.wires.iter_mut().map(|(_, capture)| capture);
        let hosts = self.hosts.iter_mut().map(|(_, capture)| capture);
        radios.chain(hosts).chain(wires).chain(&mut self.servers).try_for_each(Capture::finish)
    }

    /// Writes what each radio receives of the exchange that has begun in the BSS of this number; in a field what is known now
    /// that a sender knows the outcome of its exchange.
    pub fn on_air(&mut self, number: usize, bss: &Bss) -> Result<(), TraceError> {
        let full = self.full_frames;
        let Captures { radios, exchanges, writers, contents, bytes, mac_frame, .. } = self;
        let (exchanges, writer) = (&mut exchanges[number], &writers[number]);
        bss.transmissions().for_each(|ppdu| exchanges.begin(&ppdu));
        if let Some(field) = &mut self.field {
            field.know(number, bss, |frame| {
                let mut written = vec![];
                exchanges.each_body(frame, |frame, body| {
                    let mut mac_frame = MacFrame::default();
                    writer.write(frame, body, full, contents, &mut mac_frame);
                    written.push((Transmitted::new(frame, &body), mac_frame));
                });
                written
            });
            return self.write_known();
        }
        let mut result = Ok(());
        bss.frames(|frame| {
            exchanges.each_body(frame, |frame, body| {
                writer.write(frame, body, full, contents, mac_frame);
                let sent = Transmitted::new(frame, &body);
                for radio in radios.iter_mut() {
                    let Some(whole) = receives(radio.node, frame, bss) else { continue };
                    let received = RadioReception { whole, signal_dbm: None, puncturing: 0 };
                    if result.is_ok() {
                        result = radio.write(&sent, mac_frame, received, bytes);
                    }
                }
            });
        });
        result
    }

    /// Writes the frames of a field of which everything is known, stamped with the end of each.
    fn write_known(&mut self) -> Result<(), TraceError> {
        let Captures { field, radios, bytes, .. } = self;
        let Some(field) = field else { return Ok(()) };
        while let Some(known) = field.next_known() {
            for radio in radios.iter_mut() {
                for (index, (sent, mac_frame)) in known.frames.iter().enumerate() {
                    if let Some(received) = known.received(radio.place, index) {
                        radio.write(sent, mac_frame, received, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A packet passes the wire of its access point.
    pub fn on_wire(&mut self, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let number = match self.firsts.len() {
            1 => 0,
            _ => {
                let station = address::station_of(&packet.tuple);
                self.firsts.partition_point(|&first| first <= station.0) - 1
            }
        };
        let Some((_, wire)) = self.wires.iter_mut().find(|(bss, _)| *bss == number) else { return Ok(()) };
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        wire.add(now, &self.bytes, length)
    }

    pub fn at_servers(&mut self, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let Some(servers) = &mut self.servers else { return Ok(()) };
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        servers.add(now, &self.bytes, length)
    }

    pub fn at_host(&mut self, station: StationId, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let Some((_, host)) = self.hosts.iter_mut().find(|(id, _)| *id == station) else { return Ok(()) };
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        host.add(now, &self.bytes, length)
    }
}

/// The numbers of the BSSs whose access points are captured: the first, and those with these names.
fn access_points(names: &[String], plan: &Plan) -> Result<Vec<usize>, SpecError> {
    let mut numbers = vec![0];
    for name in names {
        let Some(number) = plan.bsss().position(|bss| bss.name == name) else {
            let allowed: Vec<&str> = plan.bsss().map(|bss| bss.name).collect();
            return Err(SpecError::new("trace.pcap.aps", name, allowed.join(", ")));
        };
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// Returns `None` if the radio of `node` does not receive the frame, else whether it can decode it. Frames damaged by a
/// collision or by noise cannot be decoded. A radio receives nothing while it transmits.
fn receives(node: Node, frame: &AirFrame, bss: &Bss) -> Option<bool> {
    if frame.from == node {
        return Some(true);
    }
    match frame.decoded {
        Decoded::ByAll => Some(true),
        Decoded::ByBystanders => Some(frame.to != node),
        Decoded::ByAddressee if frame.to == node => Some(true),
        Decoded::ByAddressee | Decoded::ByNobody => {
            // A node that is being answered, even in vain, has finished its own frame.
            let is_answered = matches!(frame.kind, FrameKind::Ack | FrameKind::Cts) && frame.to == node;
            let transmits = || bss.transmits_until(node).is_some_and(|until| frame.begins < until);
            (is_answered || !transmits()).then_some(false)
        }
    }
}

/// Writes a packet as an Ethernet frame without FCS into `bytes`, as much of it as is captured; returns its real length.
fn ethernet(packet: &Packet, contents: &impl Contents, full: bool, bytes: &mut Vec<u8>) -> usize {
    bytes.clear();
    bytes.extend_from_slice(&contents.link_address(packet.tuple.destination));
    bytes.extend_from_slice(&contents.link_address(packet.tuple.source));
    bytes.extend_from_slice(&contents.ether_type(packet));
    let length = bytes.len() + contents.write(packet, full, bytes);
    if full {
        bytes.resize(length, 0);
    }
    length
}

/// A label of a kind of node as part of a file name: characters that file systems may reject are replaced, and the node's
/// number is added to keep names distinct.
fn file_name(kind: &str, label: &str, number: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if label.chars().all(is_plain) && !label.starts_with('.') {
        return format!("{kind}-{label}");
    }
    let plain: String = label.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    format!("{kind}-{plain}-{}", number + 1)
}
