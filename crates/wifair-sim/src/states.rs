//! What the senders of TCP did and what held them back: looked at from time to time.

use wifair_core::Time;
use wifair_tcp::{Phase, Restraint, Sender};

use crate::application::Transport;
use crate::network::Network;
use crate::plan::Plan;
use crate::table::row;
use crate::tap::Tap;

row! {
    /// What the senders of a flow over TCP did in the measurement, in looks at each of its connections.
    StateRow in "states" {
        /// Index of the flow in the plan.
        flow: u64,
        /// Label of the plan.
        label: String,
        /// Looks, every `run.state_interval_s` and at each connection.
        looks: u64,
        /// Looks at which there was nothing to send and nothing outstanding, or no connection.
        idle: u64,
        /// Looks in slow start, or at the opening of a connection.
        slow_start: u64,
        /// Looks in congestion avoidance.
        avoidance: u64,
        /// Looks in fast recovery.
        recovery: u64,
        /// Looks after an expiry of the retransmission timer, before anything new was acknowledged.
        timed_out: u64,
        /// Of the looks that were not idle, those at which the sender had nothing more to send.
        held_by_application: u64,
        /// Those at which the receiver's window was full and the congestion window would have allowed more.
        held_by_receiver_window: u64,
        /// Those at which the congestion window was full, or a loss was being repaired.
        held_by_congestion_window: u64,
    }
}

/// Counts of looks.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    phases: [u64; 5],
    restraints: [u64; 3],
}

impl Looks {
    fn at(&mut self, sender: &Sender) {
        let phase = sender.phase();
        self.phases[phase as usize] += 1;
        if phase != Phase::Idle {
            self.restraints[sender.restraint() as usize] += 1;
        }
    }
}

/// Looks at every sender at a fixed interval, from the end of the warm-up on. It only reads.
pub(crate) struct States {
    interval: Time,
    next: Time,
    looks: Vec<Looks>,
}

impl States {
    /// For what `plan` asks for, which may be nothing.
    pub fn new(plan: &Plan) -> States {
        let interval = plan.run.state_interval_s.map_or(Time::MAX, Time::from_secs_f64);
        let warmup = Time::from_secs_f64(plan.run.warmup_s);
        let next = if interval == Time::MAX { Time::MAX } else { warmup + interval };
        States { interval, next, looks: vec![Looks::default(); plan.flows.len()] }
    }

    /// When the next look is due; [`Time::MAX`] if none is.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Looks at every sender.
    pub fn sample<T: Tap>(&mut self, network: &Network<T>) {
        for (looks, flow) in self.looks.iter_mut().zip(network.flows()) {
            network.connections_of(flow).iter().for_each(|connection| looks.at(&connection.sender));
        }
        self.next += self.interval;
    }

    /// A row a flow over TCP; none where nobody looked.
    pub fn into_rows(self, plan: &Plan) -> Vec<StateRow> {
        let flows = plan.flows.iter().zip(&self.looks).enumerate();
        let over_tcp = flows.filter(|(_, (flow, _))| flow.application.transport() == Transport::Tcp);
        over_tcp
            .map(|(index, (flow, Looks { phases, restraints }))| StateRow {
                flow: index as u64,
                label: flow.label.clone(),
                looks: phases.iter().sum(),
                idle: phases[Phase::Idle as usize],
                slow_start: phases[Phase::SlowStart as usize],
                avoidance: phases[Phase::Avoidance as usize],
                recovery: phases[Phase::Recovery as usize],
                timed_out: phases[Phase::TimedOut as usize],
                held_by_application: restraints[Restraint::Application as usize],
                held_by_receiver_window: restraints[Restraint::ReceiverWindow as usize],
                held_by_congestion_window: restraints[Restraint::CongestionWindow as usize],
            })
            .filter(|row| row.looks > 0)
            .collect()
    }
}
