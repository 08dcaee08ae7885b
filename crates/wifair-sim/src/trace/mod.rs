//! Traces of one replication: captures of interfaces, and the event log. `docs/traces.md` describes their contents and how to
//! read them.

mod capture;
mod captures;
mod contents;
mod dot11;
mod error;
mod events;
mod exchanges;
mod field;
mod headers;
mod radiotap;
mod scoreboard;
mod spec;

use std::path::Path;

use wifair_core::{Packet, SpecError, StationId, Time};
use wifair_wlan::{Bss, Node};

use crate::plan::Plan;
use crate::tap::Tap;
use crate::wire::Way;
use captures::Captures;
pub use contents::Contents;
pub use error::TraceError;
use events::EventLog;
pub use events::{EventRow, EventSink};
use headers::Headers;
pub use spec::{PcapSpec, TraceSpec};

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
        if plan.bss.field.is_some() {
            let allowed = "no capture of real packets with the table field";
            return Err(SpecError::new("trace.pcap", "a capture", allowed).into());
        }
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
        if let Some(captures) = &mut self.captures {
            captures.begin(bss);
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
        self.note(|captures| captures.on_air(number, bss));
    }

    fn wants_more(&mut self) -> bool {
        if let Some(events) = &mut self.events {
            events.log_queue_events();
        }
        self.error.is_none() && self.events.as_ref().is_none_or(|events| events.wanted)
    }
}
