//! Traces of one replication: captures of interfaces, and the log of events. What they hold and how to read them is in
//! `docs/traces.md`.

mod capture;
mod contents;
mod dot11;
mod events;
mod headers;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wifair_core::{Packet, SpecError, StationId, Time};
use wifair_wlan::{AirFrame, Attempt, Bss, Decoded, FrameKind, Node};

use crate::plan::Plan;
use crate::tap::Tap;
use crate::wire::Way;
use capture::{Capture, Link};
pub use contents::Contents;
use dot11::{Heard, Radio, Sequences};
use events::EventLog;
pub use events::{EventRow, EventSink};
use headers::Headers;

/// What to write down of one replication, and where. It is no part of the plan: the course of things is the same with it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// An existing folder for the files.
    pub folder: PathBuf,
    /// Captures of the AP's interfaces, and of those named here.
    pub pcap: Option<PcapSpec>,
    /// Whether to log events.
    pub events: bool,
}

/// Which interfaces to capture beside the AP's two, and how much of each packet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcapSpec {
    /// Labels of stations: what their radios hear, and what their hosts send and get.
    pub stations: Vec<String>,
    /// What the servers send and get.
    pub servers: bool,
    /// Payload and FCS, too; headers alone otherwise.
    pub full_frames: bool,
}

/// Why a trace could not be written.
#[derive(Debug)]
pub enum TraceError {
    /// Something that is not in the plan, or a plan that cannot be run.
    Spec(SpecError),
    /// A file that could not be written.
    File(PathBuf, std::io::Error),
}

impl TraceError {
    fn at(path: &Path, error: std::io::Error) -> TraceError {
        TraceError::File(path.into(), error)
    }
}

impl From<SpecError> for TraceError {
    fn from(error: SpecError) -> TraceError {
        TraceError::Spec(error)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Spec(error) => error.fmt(f),
            TraceError::File(path, error) => write!(f, "{}: cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for TraceError {}

/// Writes down what it sees: of simulated packets, or of others whose contents are given.
pub struct Trace<C: Contents = Headers> {
    captures: Option<Captures<C>>,
    events: Option<EventLog>,
    error: Option<TraceError>,
}

impl Trace {
    /// Opens the files. Events go to `sink`.
    ///
    /// # Errors
    /// A file that cannot be written; a BSS with aggregation, whose frames are not traced.
    pub fn new(spec: &TraceSpec, plan: &Plan, seed: u64, sink: EventSink) -> Result<Trace, TraceError> {
        let contents = || Headers::new(plan);
        let captures = captures(spec.pcap.as_ref(), &spec.folder, plan, seed, contents)?;
        Ok(Trace { captures, events: spec.events.then(|| EventLog::new(plan, sink)), error: None })
    }
}

impl<C: Contents> Trace<C> {
    /// Opens the files of captures alone, of packets with these contents.
    ///
    /// # Errors
    /// As [`Trace::new`].
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

    /// What it knows of packets, if it writes captures.
    pub fn contents_mut(&mut self) -> Option<&mut C> {
        self.captures.as_mut().map(|captures| &mut captures.contents)
    }

    /// The end: all is written out. What went wrong on the way is told here.
    pub fn finish(mut self) -> Result<(), TraceError> {
        if let Some(events) = &mut self.events {
            events.catch_up();
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

/// The files of captures, if there are to be any.
fn captures<C: Contents>(
    pcap: Option<&PcapSpec>,
    folder: &Path,
    plan: &Plan,
    seed: u64,
    contents: impl FnOnce() -> C,
) -> Result<Option<Captures<C>>, TraceError> {
    if plan.bss.aggregates() {
        let allowed = "no trace: frames of aggregated cells are not written yet";
        return Err(SpecError::new("trace", "a trace", allowed).into());
    }
    pcap.map(|pcap| Captures::create(folder, pcap, plan, seed, contents())).transpose()
}

impl<C: Contents> Tap for Trace<C> {
    fn is_watching(&self) -> bool {
        true
    }

    fn begin(&mut self, bss: &mut Bss) {
        if let Some(events) = &mut self.events {
            events.begin(bss);
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

    fn exchange(&mut self, bss: &Bss) {
        if let Some(events) = &mut self.events {
            events.exchange(bss);
        }
        self.note(|captures| captures.on_air(bss));
    }

    fn wants_more(&mut self) -> bool {
        if let Some(events) = &mut self.events {
            events.catch_up();
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
    radio: Radio,
    contents: C,
    sequences: Sequences,
    /// The packet that is being written.
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
        let file = |name: &str, link| Capture::create(folder, name, link, seed);
        let ids = plan.station_ids();
        let mut air = vec![(Node::Ap, file("ap-air", Link::Radio)?)];
        let mut hosts = vec![];
        for label in &spec.stations {
            let Some(&station) = ids.get(label.as_str()) else {
                let labels: Vec<&str> = plan.bss.stations.iter().map(|s| s.label.as_str()).collect();
                return Err(SpecError::new("trace.pcap.stations", label, labels.join(", ")).into());
            };
            let name = file_name(label, station);
            air.push((Node::Station(station), file(&format!("{name}-air"), Link::Radio)?));
            hosts.push((station, file(&format!("{name}-host"), Link::Ethernet)?));
        }
        Ok(Captures {
            air,
            wire: file("ap-wire", Link::Ethernet)?,
            servers: spec.servers.then(|| file("servers", Link::Ethernet)).transpose()?,
            hosts,
            full_frames: spec.full_frames,
            radio: Radio::new(&plan.bss.phy),
            contents,
            sequences: Sequences::default(),
            bytes: Vec::with_capacity(2_048),
        })
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        let air = self.air.iter_mut().map(|(_, capture)| capture);
        let hosts = self.hosts.iter_mut().map(|(_, capture)| capture);
        let all = air.chain(hosts).chain([&mut self.wire]).chain(&mut self.servers);
        all.into_iter().try_for_each(Capture::finish)
    }

    /// What each radio hears of the exchange that has begun, stamped with the end of each frame.
    fn on_air(&mut self, bss: &Bss) -> Result<(), TraceError> {
        let Captures { air, sequences, radio, contents, bytes, full_frames, .. } = self;
        bss.attempts().for_each(|attempt| sequences.begin(&attempt.what));
        let mut written = Ok(());
        bss.frames(|frame| {
            let stamp = sequences.stamp(frame);
            for (node, capture) in air.iter_mut() {
                let Some(whole) = hears(*node, frame, bss) else { continue };
                let length = radio.write(frame, stamp, Heard { whole, full: *full_frames }, contents, bytes);
                if written.is_ok() {
                    written = capture.add(frame.ends, bytes, length);
                }
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

/// Whether the radio of `node` hears a frame, and if so, whether it can decode it: not what is damaged by a collision or by
/// noise; and nothing at all while it transmits itself.
fn hears(node: Node, frame: &AirFrame, bss: &Bss) -> Option<bool> {
    if frame.from == node {
        return Some(true);
    }
    match frame.decoded {
        Decoded::ByAll => Some(true),
        Decoded::ByBystanders => Some(frame.to != node),
        Decoded::ByAddressee if frame.to == node => Some(true),
        Decoded::ByAddressee | Decoded::ByNobody => {
            // Who is answered, though in vain, has ended his own frame.
            let is_answered = matches!(frame.kind, FrameKind::Ack | FrameKind::Cts) && frame.to == node;
            let transmits = |attempt: Attempt| {
                let while_heard = frame.begins < attempt.begins + attempt.airtime;
                while_heard && bss.node_of_port(attempt.what.sender) == node
            };
            (is_answered || !bss.attempts().any(transmits)).then_some(false)
        }
    }
}

/// Puts a packet as an Ethernet frame without FCS into `bytes`, as much of it as is captured, and says how long it really is.
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

/// A station's label as part of a file's name: what systems may not like in one is replaced, and the station's number added
/// to keep it apart from others.
fn file_name(label: &str, station: StationId) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if label.chars().all(is_plain) && !label.starts_with('.') {
        return format!("station-{label}");
    }
    let plain: String = label.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    format!("station-{plain}-{}", station.0 + 1)
}
