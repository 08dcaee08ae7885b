use wifair_core::{StationId, Time};
use wifair_queue::SchemeSpec;
use wifair_tcp::TcpChange;
use wifair_wlan::StationChange;

/// An action of a scenario at a given time.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduledEvent {
    /// The application of a flow starts.
    Start {
        /// Index of the flow.
        flow: usize,
    },
    /// The application of a flow stops writing.
    Stop {
        /// Index of the flow.
        flow: usize,
    },
    /// A station's links change.
    Station {
        /// The station.
        station: StationId,
        /// The change.
        change: StationChange,
    },
    /// The limit of the AP's buffer changes.
    ApLimit {
        /// Number of the BSS.
        bss: usize,
        /// The new limit.
        packets: u32,
    },
    /// The scheme of the AP's buffer is replaced.
    ApScheme {
        /// Number of the BSS.
        bss: usize,
        /// The new scheme.
        scheme: Box<SchemeSpec>,
    },
    /// The first `count` flows of a group are opened, the others stopped.
    Count {
        /// Index of the group.
        group: u32,
        /// Number of open flows.
        count: u32,
    },
    /// The parameters of new connections of a group's flows change.
    Tcp {
        /// Index of the group.
        group: u32,
        /// The changed parameters.
        change: Box<TcpChange>,
    },
    /// A wire's delay changes for flows that set no delay.
    WireDelay {
        /// Number of the BSS that has the wire.
        bss: usize,
        /// The new one-way delay.
        delay: Time,
    },
}

/// The scenario's own events, in order of time and, at one instant, in the order of the plan.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Sorted with the latest first, so that the next one is popped from the end.
    events: Vec<(Time, usize, ScheduledEvent)>,
    added: usize,
    sorted: bool,
    next: Time,
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Agenda {
        Agenda { events: Vec::new(), added: 0, sorted: false, next: Time::MAX }
    }

    /// Adds an event after those of the same instant.
    pub fn add(&mut self, time: Time, event: ScheduledEvent) {
        self.next = self.next.min(time);
        self.events.push((time, self.added, event));
        self.added += 1;
        self.sorted = false;
    }

    /// When the next event is due; [`Time::MAX`] if there is none.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Takes the next event.
    pub fn take(&mut self) -> ScheduledEvent {
        if !self.sorted {
            self.events.sort_unstable_by_key(|&(time, order, _)| std::cmp::Reverse((time, order)));
            self.sorted = true;
        }
        let (_, _, event) = self.events.pop().expect("an event is due");
        self.next = self.events.last().map_or(Time::MAX, |(time, _, _)| *time);
        event
    }
}

impl Default for Agenda {
    fn default() -> Self {
        Agenda::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_in_the_order_of_the_plan() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.next(), Time::MAX);
        agenda.add(Time::from_s(2), ScheduledEvent::Start { flow: 0 });
        agenda.add(Time::from_s(1), ScheduledEvent::Start { flow: 1 });
        agenda.add(Time::from_s(1), ScheduledEvent::Stop { flow: 2 });
        assert_eq!(agenda.next(), Time::from_s(1));
        assert_eq!(agenda.take(), ScheduledEvent::Start { flow: 1 });
        assert_eq!(agenda.take(), ScheduledEvent::Stop { flow: 2 });
        assert_eq!(agenda.next(), Time::from_s(2));
        agenda.add(Time::from_s(2), ScheduledEvent::Stop { flow: 3 });
        assert_eq!(agenda.take(), ScheduledEvent::Start { flow: 0 });
        assert_eq!(agenda.take(), ScheduledEvent::Stop { flow: 3 });
        assert_eq!(agenda.next(), Time::MAX);
    }
}
