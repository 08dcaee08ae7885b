//! A flow's course: one transfer of its application after the other, each over a connection of its own.
//!
//! All that is looked at only when a transfer begins or ends; what every packet needs is in
//! [`Connection`](crate::connection::Connection).

use wifair_core::{Rng, Time};

use crate::application::{Application, Transfer};
use crate::connection::Connection;
use crate::plan::{FlowSpec, Plan};
use crate::transfer::{TransferEnd, TransferRecord};

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
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
    before: Counters,
    /// What last moved, and when.
    mark: (Counters, Time),
}

/// What the ends of a flow's connections have counted, all transfers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// For the first time.
    sent_bytes: u64,
    delivered_bytes: u64,
    acked_bytes: u64,
    retransmissions: u64,
    timeouts: u64,
}

impl Counters {
    fn of(connection: &Connection) -> Counters {
        let sender = connection.sender.stats();
        Counters {
            sent_bytes: sender.payload_bytes_sent - sender.payload_bytes_retransmitted,
            delivered_bytes: connection.receiver.stats().payload_bytes_delivered,
            acked_bytes: sender.payload_bytes_acked,
            retransmissions: sender.segments_retransmitted,
            timeouts: sender.timeouts,
        }
    }

    /// Whether payload has moved or been acknowledged since `earlier`.
    fn moved_since(&self, earlier: &Counters) -> bool {
        (self.delivered_bytes, self.acked_bytes) != (earlier.delivered_bytes, earlier.acked_bytes)
    }
}

/// See the module.
pub(crate) struct Flow {
    application: Box<dyn Application>,
    rng: Rng,
    phase: Phase,
    /// Transfers begun.
    begun: u32,
    stopped: bool,
    user_timeout: Time,
    group: u32,
}

impl Flow {
    /// The flow of `spec` before its start.
    pub fn new(spec: &FlowSpec, seed: u64, group: u32) -> Flow {
        Flow {
            application: spec.application.build(),
            rng: Rng::stream(seed, &spec.label, "application"),
            phase: Phase::Waiting(Transfer { at: Time::MAX, bytes: Some(0) }),
            begun: 0,
            stopped: false,
            user_timeout: Time::from_secs_f64(spec.user_timeout_s),
            group,
        }
    }

    /// Asks the application what comes next and says when: [`Time::MAX`] for never, which ends the flow.
    pub fn next(&mut self, now: Time) -> Time {
        let next = if self.stopped { None } else { self.application.next(now, &mut self.rng) };
        self.phase = next.map_or(Phase::Ended, Phase::Waiting);
        next.map_or(Time::MAX, |transfer| transfer.at)
    }

    /// Whether there will be no more transfers.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Index of its group.
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// How many connections it has had.
    pub fn generation(&self) -> u32 {
        self.begun
    }

    /// Begins the transfer that it waited for: opens the connection, which is fresh, and writes.
    pub fn begin(&mut self, connection: &mut Connection, now: Time) {
        let Phase::Waiting(Transfer { bytes, .. }) = self.phase else {
            unreachable!("nothing waits to begin")
        };
        let before = Counters::of(connection);
        self.phase = Phase::Active(Under { bytes, start: now, completed: None, before, mark: (before, now) });
        self.begun += 1;
        connection.sender.open(now);
        connection.goal_bytes = match bytes {
            Some(bytes) => {
                connection.sender.write(bytes);
                connection.sender.close();
                before.delivered_bytes + bytes
            }
            None => {
                connection.sender.write_unlimited();
                u64::MAX
            }
        };
        connection.is_closing = false;
    }

    /// No more transfers. One without end is ended here; a flow that waits has ended.
    pub fn stop(&mut self, connection: &mut Connection) {
        self.stopped = true;
        match &self.phase {
            Phase::Waiting(Transfer { at, .. }) if *at < Time::MAX => self.phase = Phase::Ended,
            Phase::Waiting(_) | Phase::Ended => {} // not started: its start finds it stopped
            Phase::Active(Under { bytes: Some(_), .. }) => {}
            Phase::Active(Under { bytes: None, before, .. }) => {
                connection.sender.close();
                let sent_bytes = Counters::of(connection).sent_bytes - before.sent_bytes;
                connection.goal_bytes = before.delivered_bytes + sent_bytes;
            }
        }
    }

    /// The last byte has been delivered.
    pub fn complete(&mut self, now: Time) {
        if let Phase::Active(under) = &mut self.phase {
            under.completed.get_or_insert(now);
        }
    }

    /// A timer of TCP has expired: whether the transfer under way is given up.
    pub fn gives_up(&mut self, connection: &Connection, now: Time) -> bool {
        let Phase::Active(under @ Under { bytes: Some(_), .. }) = &mut self.phase else { return false };
        let counters = Counters::of(connection);
        if counters.moved_since(&under.mark.0) {
            under.mark = (counters, now);
        }
        now - under.mark.1 >= self.user_timeout
    }

    /// The record of the transfer under way, as it stands: `None` without one of known size.
    pub fn record(&self, slot: usize, connection: &Connection, end: TransferEnd) -> Option<TransferRecord> {
        let Phase::Active(Under { bytes: Some(bytes), start, completed, before, .. }) = self.phase else {
            return None;
        };
        let counters = Counters::of(connection);
        Some(TransferRecord {
            flow: slot as u32,
            index: self.begun - 1,
            start,
            completed,
            bytes,
            delivered_bytes: counters.delivered_bytes - before.delivered_bytes,
            retransmissions: (counters.retransmissions - before.retransmissions) as u32,
            timeouts: (counters.timeouts - before.timeouts) as u32,
            // All is there, though the connection may still be closing, or its end got lost.
            end: if completed.is_some() { TransferEnd::Complete } else { end },
        })
    }
}

/// The groups of a plan's flows, and who stops after whom.
pub(crate) struct Groups {
    /// By group: flows that have not ended, and the flows that stop when there are none left.
    groups: Vec<(u32, Vec<usize>)>,
}

impl Groups {
    /// The groups of `plan`, and each flow's group by its index.
    pub fn new(plan: &Plan) -> (Groups, Vec<u32>) {
        let mut names: Vec<&str> = vec![];
        let mut index_of = |name| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let indexes: Vec<usize> = plan.flows.iter().map(|flow| index_of(flow.group.as_str())).collect();
        let awaited: Vec<Option<usize>> =
            plan.flows.iter().map(|flow| flow.stop_after_group.as_deref().map(&mut index_of)).collect();
        let mut groups = vec![(0, vec![]); names.len()];
        for (slot, (&group, awaited)) in indexes.iter().zip(awaited).enumerate() {
            groups[group].0 += 1;
            if let Some(awaited) = awaited {
                groups[awaited].1.push(slot);
            }
        }
        (Groups { groups }, indexes.into_iter().map(|group| group as u32).collect())
    }

    /// A flow of `group` has ended: the flows that stop with it, in the order of the plan.
    pub fn ended(&mut self, group: usize) -> Vec<usize> {
        let (left, waiting) = &mut self.groups[group];
        *left -= 1;
        if *left == 0 { std::mem::take(waiting) } else { vec![] }
    }
}
