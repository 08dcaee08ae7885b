//! Traces of one replication: captures of interfaces, and the event log. `docs/traces.md` describes their contents and how to
//! read them.

mod capture;
mod contents;
mod dot11;
mod error;
mod events;
mod headers;
mod radiotap;
mod scoreboard;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wifair_core::{Packet, SpecError, StationId, Time};
use wifair_wlan::{AirFrame, Bss, Decoded, Format, FrameKind, Node, SentPpdu};

use crate::plan::Plan;
use crate::tap::Tap;
use crate::wire::Way;
use capture::{Capture, LinkType};
pub use contents::Contents;
use dot11::{Body, Dot11Writer, Heard, Sequences, Stamp};
pub use error::TraceError;
use events::EventLog;
pub use events::{EventRow, EventSink};
use headers::Headers;
use radiotap::Subframe;
use scoreboard::{BlockAckScoreboard, SequenceSet};

/// Traces of one replication and their files. It is not part of the plan: traces do not change the trajectory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// An existing folder for the files.
    pub folder: PathBuf,
    /// Captures of the AP's interfaces, and of those named in `PcapSpec`.
    pub pcap: Option<PcapSpec>,
    /// Whether to log events.
    pub events: bool,
}

/// The interfaces to capture in addition to the AP's two, and how much of each packet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcapSpec {
    /// Labels of stations: captures what their radios receive, and what their hosts send and receive.
    pub stations: Vec<String>,
    /// Whether to capture what the servers send and receive.
    pub servers: bool,
    /// Whether to capture payload and FCS; otherwise headers only.
    pub full_frames: bool,
}

/// Records what it observes: simulated packets, or other packets with the given contents.
pub struct Trace<C: Contents = Headers> {
    captures: Option<Captures<C>>,
    events: Option<EventLog>,
    error: Option<TraceError>,
}

impl Trace {
    /// Opens the files. Events go to `sink`.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn new(spec: &TraceSpec, plan: &Plan, seed: u64, sink: EventSink) -> Result<Trace, TraceError> {
        let contents = || Headers::new(plan);
        let captures = captures(spec.pcap.as_ref(), &spec.folder, plan, seed, contents)?;
        Ok(Trace { captures, events: spec.events.then(|| EventLog::new(plan, sink)), error: None })
    }
}

impl<C: Contents> Trace<C> {
    /// Opens capture files only, for packets with these contents.
    ///
    /// # Errors
    /// See [`Trace::new`].
    pub fn of_contents(
        pcap: &PcapSpec,
        folder: &Path,
        plan: &Plan,
        seed: u64,
        contents: C,
    ) -> Result<Trace<C>, TraceError> {
        let captures = captures(Some(pcap), folder, plan, seed, || contents)?;
        Ok(Trace { captures, events: None, error: None })
    }

    /// The contents of packets, if captures are written.
    pub fn contents_mut(&mut self) -> Option<&mut C> {
        self.captures.as_mut().map(|captures| &mut captures.contents)
    }

    /// Writes out everything. Returns the first error that occurred.
    pub fn finish(mut self) -> Result<(), TraceError> {
        if let Some(events) = &mut self.events {
            events.log_queue_events();
            events.hand_over();
        }
        self.note(Captures::finish);
        self.error.map_or(Ok(()), Err)
    }

    fn note(&mut self, write: impl FnOnce(&mut Captures<C>) -> Result<(), TraceError>) {
        if let Some(captures) = &mut self.captures
            && self.error.is_none()
        {
            self.error = write(captures).err();
        }
    }
}

/// Opens the capture files, if any are wanted.
fn captures<C: Contents>(
    pcap: Option<&PcapSpec>,
    folder: &Path,
    plan: &Plan,
    seed: u64,
    contents: impl FnOnce() -> C,
) -> Result<Option<Captures<C>>, TraceError> {
    pcap.map(|pcap| Captures::create(folder, pcap, plan, seed, contents())).transpose()
}

impl<C: Contents> Tap for Trace<C> {
    fn is_watching(&self) -> bool {
        true
    }

    fn begin(&mut self, number: usize, bss: &mut Bss) {
        if let Some(events) = &mut self.events {
            events.begin(number, bss);
        }
    }

    fn sent(&mut self, now: Time, packet: &Packet, station: Option<StationId>) {
        self.note(|captures| match station {
            Some(station) => captures.at_host(station, now, packet),
            None => captures.at_servers(now, packet),
        });
    }

    fn crossed_air(&mut self, now: Time, packet: &Packet, to: Node) {
        self.note(|captures| match to {
            Node::Ap => captures.on_wire(now, packet),
            Node::Station(station) => captures.at_host(station, now, packet),
        });
    }

    fn crossed_wire(&mut self, now: Time, packet: &Packet, way: Way) {
        self.note(|captures| match way {
            Way::ToAp => captures.on_wire(now, packet),
            Way::ToServer => captures.at_servers(now, packet),
        });
    }

    fn exchange(&mut self, number: usize, bss: &Bss) {
        if let Some(events) = &mut self.events {
            events.exchange(number, bss);
        }
        self.note(|captures| captures.on_air(bss));
    }

    fn wants_more(&mut self) -> bool {
        if let Some(events) = &mut self.events {
            events.log_queue_events();
        }
        self.error.is_none() && self.events.as_ref().is_none_or(|events| events.wanted)
    }
}

/// The files of captures.
struct Captures<C> {
    air: Vec<(Node, Capture)>,
    wire: Capture,
    servers: Option<Capture>,
    hosts: Vec<(StationId, Capture)>,
    full_frames: bool,
    radio: Dot11Writer,
    contents: C,
    sequences: Sequences,
    has_edca: bool,
    /// By sender and station.
    agreements: BTreeMap<(u32, StationId), TracedAgreement>,
    /// Number of A-MPDUs so far.
    a_mpdus: u32,
    /// The bitmap of the Block Ack being written.
    bitmap: Vec<u8>,
    /// Buffer for the packet being written.
    bytes: Vec<u8>,
}

impl<C: Contents> Captures<C> {
    fn create(
        folder: &Path,
        spec: &PcapSpec,
        plan: &Plan,
        seed: u64,
        contents: C,
    ) -> Result<Captures<C>, TraceError> {
        if plan.bss.field.is_some() {
            let allowed = "events: with the table field each radio receives other frames";
            return Err(SpecError::new("trace.pcap", "a capture", allowed).into());
        }
        let file = |name: &str, link| Capture::create(folder, name, link, seed);
        let ids = plan.station_ids();
        let mut air = vec![(Node::Ap, file("ap-air", LinkType::Radio)?)];
        let mut hosts = vec![];
        for label in &spec.stations {
            let Some(&station) = ids.get(label.as_str()) else {
                let labels: Vec<&str> = plan.bss.stations.iter().map(|s| s.label.as_str()).collect();
                return Err(SpecError::new("trace.pcap.stations", label, labels.join(", ")).into());
            };
            let name = file_name(label, station);
            air.push((Node::Station(station), file(&format!("{name}-air"), LinkType::Radio)?));
            hosts.push((station, file(&format!("{name}-host"), LinkType::Ethernet)?));
        }
        Ok(Captures {
            air,
            wire: file("ap-wire", LinkType::Ethernet)?,
            servers: spec.servers.then(|| file("servers", LinkType::Ethernet)).transpose()?,
            hosts,
            full_frames: spec.full_frames,
            radio: Dot11Writer::new(&plan.bss)?,
            has_edca: plan.bss.mac.edca.is_some(),
            contents,
            sequences: Sequences::default(),
            agreements: BTreeMap::new(),
            a_mpdus: 0,
            bitmap: vec![],
            bytes: Vec::with_capacity(2_048),
        })
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        let air = self.air.iter_mut().map(|(_, capture)| capture);
        let hosts = self.hosts.iter_mut().map(|(_, capture)| capture);
        let all = air.chain(hosts).chain([&mut self.wire]).chain(&mut self.servers);
        all.into_iter().try_for_each(Capture::finish)
    }

    /// Writes what each radio receives of the exchange that has begun, stamped with the end of each frame.
    fn on_air(&mut self, bss: &Bss) -> Result<(), TraceError> {
        let Captures { air, sequences, agreements, a_mpdus, bitmap, radio, contents, bytes, .. } = self;
        let (full, has_edca) = (self.full_frames, self.has_edca);
        bss.transmissions().filter(|ppdu| !ppdu.has_agreement).for_each(|ppdu| sequences.begin(&ppdu));
        let mut written = Ok(());
        bss.frames(|frame| {
            let mut write = |frame: &AirFrame, body: Body| {
                for (node, capture) in air.iter_mut() {
                    let Some(whole) = receives(*node, frame, bss) else { continue };
                    let length = radio.write(frame, body, Heard { whole, full }, contents, bytes);
                    if written.is_ok() {
                        written = capture.add(frame.ends, bytes, length);
                    }
                }
            };
            let Some(ppdu) = frame.part_of else {
                let sequence = sequences.beacon(has_edca);
                return write(frame, Body::Beacon { sequence });
            };
            if !ppdu.has_agreement {
                let body = match frame.kind {
                    FrameKind::Data => {
                        let (packets, stamp) = (&[ppdu.transmission.mpdus[0].packet], sequences.stamp(ppdu));
                        return write(
                            frame,
                            Body::Data { packets, ac: ppdu.category, stamp, subframe: None },
                        );
                    }
                    _ => Body::None,
                };
                return write(frame, body);
            }
            let ac = ppdu.category.expect("links with an agreement have categories");
            let new = || TracedAgreement::new(ppdu.window);
            let agreement = agreements.entry((ppdu.sender, ppdu.transmission.station)).or_insert_with(new);
            match frame.kind {
                FrameKind::Data => {
                    agreement.begin(ppdu);
                    let count = ppdu.by_mpdu().count();
                    let has_delimiters = count > 1 || frame.mode.format >= Format::Vht;
                    *a_mpdus = a_mpdus.wrapping_add(u32::from(has_delimiters));
                    for (index, (packets, is_decoded)) in ppdu.by_mpdu().enumerate() {
                        let lost = frame.decoded == Decoded::ByAll && !is_decoded;
                        let decoded = if lost { Decoded::ByBystanders } else { frame.decoded };
                        let subframe = has_delimiters.then(|| Subframe {
                            reference: *a_mpdus,
                            is_last: index + 1 == count,
                            eof: (frame.mode.format >= Format::Vht).then_some(count == 1),
                        });
                        let stamp = agreement.send(packets[0].sequence.unwrap_or_default(), is_decoded);
                        let packets: Vec<&Packet> = packets.iter().map(|sent| sent.packet).collect();
                        let body = Body::Data { packets: &packets, ac: Some(ac), stamp, subframe };
                        write(&AirFrame { decoded, ..*frame }, body);
                    }
                }
                FrameKind::BlockAckRequest => {
                    if frame.decoded == Decoded::ByAll {
                        agreement.scoreboard.request(ppdu.window_start);
                    }
                    write(frame, Body::Request { ac, start: ppdu.window_start });
                }
                FrameKind::BlockAck => {
                    bitmap.clear();
                    let fragment = agreement.scoreboard.write(bitmap);
                    let start = agreement.scoreboard.start();
                    write(frame, Body::BlockAck { ac, start, fragment, bitmap });
                }
                FrameKind::Rts => {
                    agreement.begin(ppdu);
                    write(frame, Body::None);
                }
                FrameKind::Cts | FrameKind::Ack | FrameKind::Beacon => write(frame, Body::None),
            }
        });
        written
    }

    fn on_wire(&mut self, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        self.wire.add(now, &self.bytes, length)
    }

    fn at_servers(&mut self, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let Some(servers) = &mut self.servers else { return Ok(()) };
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        servers.add(now, &self.bytes, length)
    }

    fn at_host(&mut self, station: StationId, now: Time, packet: &Packet) -> Result<(), TraceError> {
        let Some((_, host)) = self.hosts.iter_mut().find(|(id, _)| *id == station) else { return Ok(()) };
        let length = ethernet(packet, &self.contents, self.full_frames, &mut self.bytes);
        host.add(now, &self.bytes, length)
    }
}

/// Both ends of a Block Ack agreement.
struct TracedAgreement {
    scoreboard: BlockAckScoreboard,
    /// Which of the MPDUs not yet acknowledged or given up have been on the air.
    sent: SequenceSet,
}

impl TracedAgreement {
    fn new(window: u32) -> TracedAgreement {
        TracedAgreement { scoreboard: BlockAckScoreboard::new(window as u16), sent: SequenceSet::default() }
    }

    /// Starts a transmission: numbers come again after 4,096 MPDUs.
    fn begin(&mut self, ppdu: &SentPpdu) {
        let new = ppdu.transmission.mpdus.iter().filter(|mpdu| mpdu.attempts == 1);
        new.filter_map(|mpdu| mpdu.sequence).for_each(|sequence| self.sent.clear(sequence));
    }

    /// Sends an MPDU, which the recipient may decode.
    fn send(&mut self, sequence: u16, decoded: bool) -> Stamp {
        let is_retry = self.sent.has(sequence);
        self.sent.set(sequence);
        if decoded {
            self.scoreboard.receive(sequence);
        }
        Stamp { sequence, is_retry }
    }
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

/// A station's label as part of a file name: characters that file systems may reject are replaced, and the station's number is
/// added to keep names distinct.
fn file_name(label: &str, station: StationId) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if label.chars().all(is_plain) && !label.starts_with('.') {
        return format!("station-{label}");
    }
    let plain: String = label.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    format!("station-{plain}-{}", station.0 + 1)
}
