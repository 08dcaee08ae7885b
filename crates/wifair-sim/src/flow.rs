//! A flow: its application and its connections. A flow over TCP is a sequence of transfers, each over separate connections.
//!
//! All of this is used only when a transfer begins or ends; per-packet state is in
//! [`Connection`](crate::connection::Connection).

use std::ops::Range;

use wifair_core::{Counters, Rng, Time, counters};

use crate::application::{Application, Transfer};
use crate::connection::Connection;
use crate::datagram_session::DatagramSession;
use crate::plan::Plan;
use crate::transfer::{TransferEnd, TransferRecord};

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlowPhase {
    /// It has not started, or waits to open the next connection.
    Waiting(Transfer),
    /// A transfer is under way.
    Active(Under),
    /// There will be no more.
    Ended,
}

/// A transfer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Under {
    bytes: Option<u64>,
    start: Time,
    completed: Option<Time>,
    /// The counters of both ends when it began.
    before: TransferCounters,
    /// Counters at the last progress, and its time.
    mark: (TransferCounters, Time),
}

counters! {
    /// Counters of the ends of a flow's connections, all transfers together.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct TransferCounters {
        /// Without retransmissions.
        sent_bytes: u64,
        delivered_bytes: u64,
        acked_bytes: u64,
        retransmissions: u64,
        timeouts: u64,
    }
}

impl TransferCounters {
    fn of(connections: &[Connection]) -> TransferCounters {
        // Usually there is one connection, which needs no sum.
        let [first, others @ ..] = connections else { return TransferCounters::default() };
        let mut sum = TransferCounters::of_one(first);
        others.iter().for_each(|other| sum.add(&TransferCounters::of_one(other)));
        sum
    }

    fn of_one(connection: &Connection) -> TransferCounters {
        let sender = connection.sender.stats();
        TransferCounters {
            sent_bytes: sender.payload_bytes_sent - sender.payload_bytes_retransmitted,
            delivered_bytes: connection.receiver.stats().payload_bytes_delivered,
            acked_bytes: sender.payload_bytes_acked,
            retransmissions: sender.segments_retransmitted,
            timeouts: sender.timeouts,
        }
    }

    /// Whether payload has moved or been acknowledged since `earlier`.
    fn moved_since(&self, earlier: &TransferCounters) -> bool {
        (self.delivered_bytes, self.acked_bytes) != (earlier.delivered_bytes, earlier.acked_bytes)
    }
}

/// See the module documentation.
pub(crate) struct Flow {
    pub(crate) carries: Carries,
    group: u32,
    first: u32,
    count: u32,
    /// Whether it does not start by itself.
    pub(crate) waits: bool,
    pub(crate) has_started: bool,
    /// Whether no event has stopped it.
    pub(crate) is_open: bool,
}

/// Traffic of a flow.
pub(crate) enum Carries {
    /// Transfers over TCP.
    Transfers(TransferSequence),
    /// Datagrams.
    Datagrams(Box<DatagramSession>),
}

impl Flow {
    /// Creates a flow before its start, with these slots. One that `waits` is opened by an event.
    pub fn new(carries: Carries, group: u32, slots: Range<usize>, waits: bool) -> Flow {
        let (first, count) = (slots.start as u32, slots.len() as u32);
        Flow { carries, group, first, count, waits, has_started: false, is_open: !waits }
    }

    /// Index of its group.
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// Its slots, one per connection.
    pub fn slots(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.count as usize
    }

    /// Its sequence of transfers, if it has one.
    pub fn sequence(&mut self) -> Option<&mut TransferSequence> {
        match &mut self.carries {
            Carries::Transfers(sequence) => Some(sequence),
            Carries::Datagrams(_) => None,
        }
    }

    /// Its datagrams, if it has any.
    pub fn session(&self) -> Option<&DatagramSession> {
        match &self.carries {
            Carries::Transfers(_) => None,
            Carries::Datagrams(session) => Some(session),
        }
    }
}

/// The sequence of a flow's transfers.
pub(crate) struct TransferSequence {
    application: Box<dyn Application>,
    rng: Rng,
    phase: FlowPhase,
    /// Transfers begun.
    begun: u32,
    stopped: bool,
    /// Maximum number of connections of a transfer, and the number of the present one.
    connections: u16,
    width: u16,
    user_timeout: Time,
}

impl TransferSequence {
    /// The transfers of an application before its start. `rng` is the flow's own stream.
    pub fn new(application: Box<dyn Application>, rng: Rng, user_timeout: Time) -> TransferSequence {
        let phase = FlowPhase::Waiting(Transfer { at: Time::MAX, bytes: Some(0) });
        let connections = application.connections();
        TransferSequence {
            application,
            rng,
            phase,
            begun: 0,
            stopped: false,
            connections,
            width: 1,
            user_timeout,
        }
    }

    /// Asks the application for the next transfer; returns when it starts. [`Time::MAX`] means that the flow has ended.
    pub fn next(&mut self, now: Time) -> Time {
        let next = if self.stopped { None } else { self.application.next(now, &mut self.rng) };
        let bytes = next.and_then(|transfer| transfer.bytes);
        self.width = bytes.map_or(1, |bytes| bytes.clamp(1, self.connections.into()) as u16);
        self.phase = next.map_or(FlowPhase::Ended, FlowPhase::Waiting);
        next.map_or(Time::MAX, |transfer| transfer.at)
    }

    /// Allows new transfers after a stop, those of `application` from its beginning.
    pub fn reopen(&mut self, application: Box<dyn Application>) {
        self.application = application;
        self.stopped = false;
    }

    /// Whether there will be no more transfers.
    pub fn has_ended(&self) -> bool {
        self.phase == FlowPhase::Ended
    }

    /// Number of transfers begun, each over separate connections.
    pub fn generation(&self) -> u32 {
        self.begun
    }

    /// Number of connections of the transfer that waits or is under way: at most one per byte.
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Begins the transfer that it waited for: opens `connections`, which are new, and writes each one's share.
    pub fn begin(&mut self, connections: &mut [Connection], now: Time) {
        let FlowPhase::Waiting(Transfer { bytes, .. }) = self.phase else {
            unreachable!("nothing waits to begin")
        };
        let before = TransferCounters::of(connections);
        self.phase =
            FlowPhase::Active(Under { bytes, start: now, completed: None, before, mark: (before, now) });
        self.begun += 1;
        let width = connections.len() as u64;
        for (index, connection) in (0..).zip(connections) {
            connection.sender.open(now);
            connection.goal_bytes = match bytes {
                Some(bytes) => {
                    let share = bytes / width + u64::from(index < bytes % width);
                    connection.sender.write(share);
                    connection.sender.close();
                    connection.receiver.stats().payload_bytes_delivered + share
                }
                None => {
                    connection.sender.write_unlimited();
                    u64::MAX
                }
            };
            connection.is_closing = false;
        }
    }

    /// Stops the sequence. An endless transfer is ended now; a flow that waits has ended.
    pub fn stop(&mut self, connections: &mut [Connection]) {
        self.stopped = true;
        match &self.phase {
            FlowPhase::Waiting(Transfer { at, .. }) if *at < Time::MAX => self.phase = FlowPhase::Ended,
            FlowPhase::Waiting(_) | FlowPhase::Ended => {} // not started: its start finds it stopped
            FlowPhase::Active(Under { bytes: Some(_), .. }) => {}
            FlowPhase::Active(Under { bytes: None, before, .. }) => {
                let connection = &mut connections[0]; // an endless transfer has one connection
                connection.sender.close();
                let sent_bytes =
                    TransferCounters::of(std::slice::from_ref(connection)).sent_bytes - before.sent_bytes;
                connection.goal_bytes = before.delivered_bytes + sent_bytes;
            }
        }
    }

    /// Records that the last byte has been delivered.
    pub fn complete(&mut self, now: Time) {
        if let FlowPhase::Active(under) = &mut self.phase {
            under.completed.get_or_insert(now);
        }
    }

    /// Handles an expired TCP timer: returns whether the transfer under way is given up.
    pub fn gives_up(&mut self, connections: &[Connection], now: Time) -> bool {
        let FlowPhase::Active(under @ Under { bytes: Some(_), .. }) = &mut self.phase else { return false };
        let counters = TransferCounters::of(connections);
        if counters.moved_since(&under.mark.0) {
            under.mark = (counters, now);
        }
        now - under.mark.1 >= self.user_timeout
    }

    /// The current record of the transfer under way, which is `closed` or still open; `None` without one of known size.
    pub fn record(
        &self,
        flow: usize,
        connections: &[Connection],
        end: TransferEnd,
        closed: Option<Time>,
    ) -> Option<TransferRecord> {
        let FlowPhase::Active(Under { bytes: Some(bytes), start, completed, before, .. }) = self.phase else {
            return None;
        };
        let counters = TransferCounters::of(connections);
        Some(TransferRecord {
            flow: flow as u32,
            index: self.begun - 1,
            start,
            completed,
            closed,
            bytes,
            delivered_bytes: counters.delivered_bytes - before.delivered_bytes,
            retransmissions: (counters.retransmissions - before.retransmissions) as u32,
            timeouts: (counters.timeouts - before.timeouts) as u32,
            // All data has arrived, even if the connection is still closing or its FIN was lost.
            end: if completed.is_some() { TransferEnd::Complete } else { end },
        })
    }
}

/// The groups of a plan's flows, and which flows stop after which group.
pub(crate) struct Groups {
    /// By group: number of flows that have not ended, and the flows that stop when there are none left.
    groups: Vec<(u32, Vec<usize>)>,
}

impl Groups {
    /// The groups of `plan`, and each flow's group by its index.
    pub fn new(plan: &Plan) -> (Groups, Vec<u32>) {
        let (indexes, group_of) = plan.groups();
        let mut groups = vec![(0, vec![]); indexes.len()];
        for (index, (flow, &group)) in plan.flows.iter().zip(&group_of).enumerate() {
            groups[group as usize].0 += u32::from(!flow.waits);
            if let Some(awaited) = &flow.stop_after_group {
                groups[indexes[awaited.as_str()] as usize].1.push(index);
            }
        }
        (Groups { groups }, group_of)
    }

    /// Counts a flow of `group` that is open again after it had ended or waited.
    pub fn reopened(&mut self, group: usize) {
        self.groups[group].0 += 1;
    }

    /// Counts a flow of `group` that has ended; returns the flows that stop with it, in the order of the plan.
    pub fn ended(&mut self, group: usize) -> Vec<usize> {
        let (left, waiting) = &mut self.groups[group];
        *left -= 1;
        if *left == 0 { std::mem::take(waiting) } else { vec![] }
    }
}
