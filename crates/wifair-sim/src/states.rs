//! Periodic samples of the state of TCP senders and of what limits them.

use wifair_core::Time;
use wifair_tcp::{LimitedBy, Sender, SenderPhase};

use crate::application::Transport;
use crate::parts::Parts;
use crate::plan::Plan;
use crate::table::row;
use crate::tap::Tap;

row! {
    /// States of the senders of a flow over TCP in the measurement, as numbers of samples of its connections.
    StateRow in "states" {
        /// Index of the flow in the plan.
        flow: u64,
        /// Label of the plan.
        label: String,
        /// Samples: one per connection every `run.state_interval_s`.
        looks: u64,
        /// Samples with nothing to send and nothing outstanding, or without a connection.
        idle: u64,
        /// Samples in slow start, or while a connection is opening.
        slow_start: u64,
        /// Samples in congestion avoidance.
        avoidance: u64,
        /// Samples in fast recovery.
        recovery: u64,
        /// Samples after a retransmission timeout, before new data was acknowledged.
        timed_out: u64,
        /// Of the samples that were not idle, those in which the sender had nothing more to send.
        limited_by_application: u64,
        /// Those in which the receive window was full and the congestion window would have allowed more.
        limited_by_receiver_window: u64,
        /// Those in which the congestion window was full, or a loss was being repaired.
        limited_by_congestion_window: u64,
    }
}

/// Counts of samples.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    phases: [u64; 5],
    limits: [u64; 3],
}

impl Looks {
    fn at(&mut self, sender: &Sender) {
        let phase = sender.phase();
        self.phases[phase as usize] += 1;
        if phase != SenderPhase::Idle {
            self.limits[sender.limited_by() as usize] += 1;
        }
    }
}

/// Samples every sender at a fixed interval, from the end of the warm-up on. It only reads.
pub(crate) struct States {
    interval: Time,
    next: Time,
    looks: Vec<Looks>,
}

impl States {
    /// Creates the sampler that `plan` asks for, possibly none.
    pub fn new(plan: &Plan) -> States {
        let interval = plan.run.state_interval_s.map_or(Time::MAX, Time::from_secs_f64);
        let warmup = Time::from_secs_f64(plan.run.warmup_s);
        let next = if interval == Time::MAX { Time::MAX } else { warmup + interval };
        States { interval, next, looks: vec![Looks::default(); plan.flows.len()] }
    }

    /// When the next sample is due; [`Time::MAX`] if none is.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Samples every sender.
    pub fn sample<T: Tap>(&mut self, network: &Parts<T>) {
        for (looks, (_, connections)) in self.looks.iter_mut().zip(network.flows()) {
            connections.iter().for_each(|connection| looks.at(&connection.sender));
        }
        self.next += self.interval;
    }

    /// Returns a row per flow over TCP; none if no samples were taken.
    pub fn into_rows(self, plan: &Plan) -> Vec<StateRow> {
        let flows = plan.flows.iter().zip(&self.looks).enumerate();
        let over_tcp = flows.filter(|(_, (flow, _))| flow.application.transport() == Transport::Tcp);
        over_tcp
            .map(|(index, (flow, Looks { phases, limits }))| StateRow {
                flow: index as u64,
                label: flow.label.clone(),
                looks: phases.iter().sum(),
                idle: phases[SenderPhase::Idle as usize],
                slow_start: phases[SenderPhase::SlowStart as usize],
                avoidance: phases[SenderPhase::Avoidance as usize],
                recovery: phases[SenderPhase::Recovery as usize],
                timed_out: phases[SenderPhase::TimedOut as usize],
                limited_by_application: limits[LimitedBy::Application as usize],
                limited_by_receiver_window: limits[LimitedBy::ReceiverWindow as usize],
                limited_by_congestion_window: limits[LimitedBy::CongestionWindow as usize],
            })
            .filter(|row| row.looks > 0)
            .collect()
    }
}
