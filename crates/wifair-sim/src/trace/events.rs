//! The event log: a row for each event of a packet at a transmit queue, and for each transmission.

use std::sync::Arc;

use wifair_core::{Ac, Packet, StationId, TCP, Time};
use wifair_queue::{
    Eviction, Journal, JournalEntry, MpduOutcome, Outcome, PoliceAction, Refusal, Transmission,
    TransmittedMpdu, TxQueueEvent,
};
use wifair_wlan::{Beacon, Bss, Node, SentPpdu, StationSpec, TransmissionOutcome};

use crate::address;
use crate::plan::Plan;
use crate::table::row;

/// Number of rows passed to the sink at once.
const BATCH_ROWS: usize = 1 << 16;

row! {
    /// An event. Values that do not apply are null.
    EventRow in "events" {
        /// Time in nanoseconds from the start of the run. An exchange is logged when it begins.
        time_ns: u64,
        /// `enqueue`, `refuse`, `evict`, `mark`, `dequeue` (at a transmit queue), `police` (a packet from a station about which
        /// the AP's scheme has decided), `exchange` (a transmission on the medium), `mpdu` (an MPDU of it; of an A-MSDU a row
        /// per packet), `finish` (the MAC is done with the packet), `beacon`.
        event: &'static str,
        /// Reason or result: of `refuse` `tail-drop` or `aqm`; of `evict` `redundant`, `victim` or `aqm`; of `mark` `ce` or
        /// `ece`; of `police` `forward`, `ce` or `drop`; of `exchange` and `mpdu` `acknowledged`, `collided`, `data-lost` or
        /// `ack-lost`; of `finish` `delivered` or `lost-at-retry-limit`; of `beacon` `sent` or `collided`.
        detail: &'static str,
        /// Owner of the transmit queue: `ap`, a neighbour's label for its access point, or the station's label.
        node: Arc<str>,
        /// Access category; empty under DCF, and at a transmit queue that several share.
        category: &'static str,
        /// Label of the station that the packet goes to or comes from; empty in `beacon`, as the next two.
        station: Arc<str>,
        /// Label of the flow; empty in the `exchange` of a PPDU or a Block Ack Request on a link that aggregates, as the next.
        flow: Arc<str>,
        /// `data`, `ack` or `other`.
        class: &'static str,
        /// TCP sequence number; a datagram's number.
        seq: Option<u64>,
        /// TCP acknowledgement number; null for datagrams.
        ack: Option<u64>,
        /// Bytes of payload.
        payload_bytes: Option<u64>,
        /// Length of the IP packet.
        ip_bytes: Option<u64>,
        /// Packets queued at the transmit queue after the decision.
        queued_packets: Option<u64>,
        /// Of `dequeue` and `evict`: sojourn time in the queue.
        sojourn_ns: Option<u64>,
        /// Of `exchange` and `mpdu`: number of this transmission of the packet, from 1. Of `finish`: number of transmissions.
        attempts: Option<u64>,
        /// Of `exchange`, `mpdu` and `finish`: data rate of the last attempt.
        rate_mbps: Option<f64>,
        /// Of `exchange`: time for which its frames occupy the medium. Of `mpdu`: the packet's share of that. Of `finish`: of
        /// all attempts together.
        airtime_ns: Option<u64>,
        /// Of `finish`: from head of line to the end.
        service_ns: Option<u64>,
        /// Of `exchange` on a link that aggregates, and of its MPDUs: number of the PPDU or Block Ack Request, from 1.
        ppdu: Option<u64>,
        /// Of such an `exchange`: number of MPDUs, 0 in a Block Ack Request.
        mpdus: Option<u64>,
        /// Of `mpdu`: sequence number; of a Block Ack Request: starting sequence number.
        sequence: Option<u64>,
    }
}

/// Receives rows of the event log; returns false if no more are wanted.
pub type EventSink = Box<dyn FnMut(Vec<EventRow>) -> bool + Send>;

/// What the log knows of a BSS.
struct LoggedBss {
    journal: Journal,
    ap: Arc<str>,
    stations: Vec<Arc<str>>,
    /// By transmit queue: its node and category.
    tx_queues: Vec<(Arc<str>, &'static str)>,
}

impl LoggedBss {
    fn new(ap: &str, stations: &[StationSpec]) -> LoggedBss {
        let stations = stations.iter().map(|station| station.label.as_str().into()).collect();
        LoggedBss { journal: Journal::new(), ap: ap.into(), stations, tx_queues: vec![] }
    }
}

pub(super) struct EventLog {
    bsss: Vec<LoggedBss>,
    /// By slot.
    flows: Vec<Arc<str>>,
    empty: Arc<str>,
    rows: Vec<EventRow>,
    /// Number of transmissions on links that aggregate.
    ppdus: u64,
    sink: EventSink,
    pub wanted: bool,
}

impl EventLog {
    pub fn new(plan: &Plan, sink: EventSink) -> EventLog {
        EventLog {
            bsss: plan.bsss().map(|bss| LoggedBss::new(bss.ap_label, bss.stations)).collect(),
            flows: plan.flows_by_slot().map(|flow| flow.label.as_str().into()).collect(),
            empty: "".into(),
            rows: vec![],
            ppdus: 0,
            sink,
            wanted: true,
        }
    }

    pub fn begin(&mut self, number: usize, bss: &mut Bss) {
        let logged = &mut self.bsss[number];
        bss.keep_journal(&logged.journal);
        let tx_queues = bss.tx_queues().map(|(node, ac)| {
            let label = match node {
                Node::Ap => &logged.ap,
                Node::Station(station) => &logged.stations[station.index()],
            };
            (Arc::clone(label), ac.map_or("", Ac::name))
        });
        logged.tx_queues = tx_queues.collect();
    }

    /// Logs the events at transmit queues up to now; those of one instant BSS by BSS.
    pub fn log_queue_events(&mut self) {
        let logged = self.rows.len();
        for bss in 0..self.bsss.len() {
            let journal = self.bsss[bss].journal.clone();
            journal.take(|entry| {
                let row = self.at_tx_queue(bss, entry);
                self.rows.push(row);
            });
        }
        if self.bsss.len() > 1 {
            self.rows[logged..].sort_by_key(|row| row.time_ns);
        }
        if self.rows.len() >= BATCH_ROWS {
            self.hand_over();
        }
    }

    /// Logs an exchange that has begun.
    pub fn exchange(&mut self, number: usize, bss: &Bss) {
        self.log_queue_events();
        if let Some(beacon) = bss.beacon() {
            let row = self.beacon(number, &beacon);
            self.rows.push(row);
        }
        for ppdu in bss.transmissions() {
            self.ppdus += u64::from(ppdu.has_agreement);
            let row = self.ppdu(number, &ppdu);
            self.rows.push(row);
            if ppdu.has_agreement {
                let mpdus = ppdu.transmission.mpdus.iter().zip(&ppdu.decoded);
                let rows = mpdus.map(|(mpdu, &is_decoded)| self.mpdu(number, &ppdu, mpdu, is_decoded));
                let rows: Vec<_> = rows.collect();
                self.rows.extend(rows);
            }
        }
    }

    pub fn hand_over(&mut self) {
        if !self.rows.is_empty() && self.wanted {
            let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(BATCH_ROWS + BATCH_ROWS / 8));
            self.wanted = (self.sink)(rows);
        }
        self.rows.clear();
    }

    /// A row without a packet.
    fn empty_row(&self, bss: usize, at: Time, tx_queue: u32, station: Option<StationId>) -> EventRow {
        let LoggedBss { tx_queues, stations, .. } = &self.bsss[bss];
        let (node, category) = &tx_queues[tx_queue as usize];
        EventRow {
            time_ns: at.as_ns(),
            event: "",
            detail: "",
            node: Arc::clone(node),
            category,
            station: station.map_or_else(|| Arc::clone(&self.empty), |id| Arc::clone(&stations[id.index()])),
            flow: Arc::clone(&self.empty),
            class: "",
            seq: None,
            ack: None,
            payload_bytes: None,
            ip_bytes: None,
            queued_packets: None,
            sojourn_ns: None,
            attempts: None,
            rate_mbps: None,
            airtime_ns: None,
            service_ns: None,
            ppdu: None,
            mpdus: None,
            sequence: None,
        }
    }

    fn row(&self, bss: usize, at: Time, tx_queue: u32, packet: &Packet, station: StationId) -> EventRow {
        EventRow {
            flow: Arc::clone(&self.flows[address::slot_of(&packet.tuple)]),
            class: packet.class().name(),
            seq: Some(packet.seq.into()),
            ack: (packet.tuple.protocol == TCP).then_some(packet.ack.into()),
            payload_bytes: Some(packet.payload_bytes.into()),
            ip_bytes: Some(packet.ip_bytes().into()),
            ..self.empty_row(bss, at, tx_queue, Some(station))
        }
    }

    fn at_tx_queue(&self, bss: usize, entry: &JournalEntry) -> EventRow {
        let queued_packets = Some(entry.queued_packets.into());
        let row = EventRow {
            queued_packets,
            ..self.row(bss, entry.at, entry.tx_queue, &entry.packet, entry.station)
        };
        let sojourn_ns = |enqueued_at| Some((entry.at - enqueued_at).as_ns());
        match entry.event {
            TxQueueEvent::Enqueued => EventRow { event: "enqueue", ..row },
            TxQueueEvent::Refused(reason) => {
                let detail = match reason {
                    Refusal::TailDrop => "tail-drop",
                    Refusal::Aqm => "aqm",
                };
                EventRow { event: "refuse", detail, ..row }
            }
            TxQueueEvent::Evicted { reason, enqueued_at } => {
                let detail = match reason {
                    Eviction::Redundant => "redundant",
                    Eviction::Victim => "victim",
                    Eviction::Aqm => "aqm",
                };
                EventRow { event: "evict", detail, sojourn_ns: sojourn_ns(enqueued_at), ..row }
            }
            TxQueueEvent::CeMarked => EventRow { event: "mark", detail: "ce", ..row },
            TxQueueEvent::EceMarked => EventRow { event: "mark", detail: "ece", ..row },
            TxQueueEvent::Policed(action) => {
                let detail = match action {
                    PoliceAction::Forward => "forward",
                    PoliceAction::Mark => "ce",
                    PoliceAction::Drop => "drop",
                };
                EventRow { event: "police", detail, ..row }
            }
            TxQueueEvent::Dequeued { enqueued_at } => {
                EventRow { event: "dequeue", sojourn_ns: sojourn_ns(enqueued_at), ..row }
            }
            TxQueueEvent::Finished { outcome, rate, attempts, airtime, service } => EventRow {
                event: "finish",
                detail: match outcome {
                    Outcome::Delivered => "delivered",
                    Outcome::LostAtRetryLimit => "lost-at-retry-limit",
                },
                attempts: Some(attempts.into()),
                rate_mbps: Some(rate.as_mbps()),
                airtime_ns: Some(airtime.as_ns()),
                service_ns: Some(service.as_ns()),
                ..row
            },
        }
    }

    fn beacon(&self, bss: usize, beacon: &Beacon) -> EventRow {
        EventRow {
            event: "beacon",
            detail: if beacon.collides { "collided" } else { "sent" },
            rate_mbps: Some(beacon.mode.rate.as_mbps()),
            airtime_ns: Some((beacon.ends - beacon.begins).as_ns()),
            category: "",
            ..self.empty_row(bss, beacon.begins, 0, None)
        }
    }

    /// A transmission: without an agreement, of one packet.
    fn ppdu(&self, bss: usize, ppdu: &SentPpdu) -> EventRow {
        let Transmission { station, rate, mpdus, airtime, .. } = &ppdu.transmission;
        let row = match mpdus.first() {
            Some(mpdu) if !ppdu.has_agreement => EventRow {
                attempts: Some(mpdu.attempts.into()),
                ..self.row(bss, ppdu.begins, ppdu.sender, mpdu.packet, *station)
            },
            _ => EventRow {
                ppdu: Some(self.ppdus),
                mpdus: Some(ppdu.transmission.sent().into()),
                sequence: mpdus.is_empty().then_some(ppdu.window_start.into()),
                ..self.empty_row(bss, ppdu.begins, ppdu.sender, Some(*station))
            },
        };
        EventRow {
            event: "exchange",
            detail: word(ppdu.outcome),
            rate_mbps: Some(rate.as_mbps()),
            airtime_ns: Some(airtime.as_ns()),
            category: ppdu.category.map_or("", Ac::name),
            ..row
        }
    }

    fn mpdu(&self, bss: usize, ppdu: &SentPpdu, mpdu: &TransmittedMpdu, is_decoded: bool) -> EventRow {
        let Transmission { station, rate, .. } = ppdu.transmission;
        let is_acknowledged = mpdu.outcome == MpduOutcome::Delivered;
        EventRow {
            event: "mpdu",
            detail: word(match ppdu.outcome {
                TransmissionOutcome::Acknowledged if !is_acknowledged => TransmissionOutcome::DataLost,
                TransmissionOutcome::AckLost if !is_decoded => TransmissionOutcome::DataLost,
                outcome => outcome,
            }),
            attempts: Some(mpdu.attempts.into()),
            rate_mbps: Some(rate.as_mbps()),
            airtime_ns: Some(mpdu.airtime.as_ns()),
            category: ppdu.category.map_or("", Ac::name),
            ppdu: Some(self.ppdus),
            sequence: mpdu.sequence.map(u64::from),
            ..self.row(bss, ppdu.begins, ppdu.sender, mpdu.packet, station)
        }
    }
}

fn word(outcome: TransmissionOutcome) -> &'static str {
    match outcome {
        TransmissionOutcome::Acknowledged => "acknowledged",
        TransmissionOutcome::Collided => "collided",
        TransmissionOutcome::DataLost => "data-lost",
        TransmissionOutcome::AckLost => "ack-lost",
    }
}
