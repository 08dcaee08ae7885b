//! A network as the parts that have nothing in common: BSSs that receive each other, directly or through others, share a wire
//! or wait for each other's flows are in one part. Each part is a [`Network`], so several threads can run them; which thread
//! runs which, and when, makes no difference to any.

mod split;

use std::sync::Mutex;

use wifair_core::{SpecError, Time};
use wifair_queue::Ledger;
use wifair_wlan::{Bss, BssSnapshot, FieldUsage};

use crate::connection::Connection;
use crate::flow::Flow;
use crate::network::Network;
use crate::plan::Plan;
use crate::tap::Tap;
use crate::transfer::TransferRecord;
use crate::wire::WireCounters;

/// Simulated time that a thread runs a part for, before it takes the one that is the furthest behind.
const TURN: Time = Time::from_ms(20);

/// See the module documentation. BSSs and flows have the numbers of the plan.
pub(crate) struct Parts<T: Tap = ()> {
    parts: Vec<Part<T>>,
    /// By BSS: its part, and its number there.
    bsss: Vec<(usize, usize)>,
    /// By flow: its part, and its number there.
    flows: Vec<(usize, usize)>,
    run: fn(&mut [Part<T>], Time, usize),
    /// Threads to run on.
    threads: usize,
}

struct Part<T: Tap> {
    network: Network<T>,
    /// By flow of the network: its number in the plan.
    flows: Vec<u32>,
}

impl Parts {
    /// The network of `plan`, in parts, to be run on up to so many threads.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub(crate) fn new(plan: &Plan, seed: u64, threads: usize) -> Result<Parts, SpecError> {
        let plans = split::split(plan, seed)?;
        if plans.len() < 2 {
            return Ok(Parts::whole(Network::new(plan, seed)?, plan));
        }
        let (mut parts, mut bsss, mut flows) = (vec![], vec![(0, 0); 1 + plan.neighbours.len()], vec![]);
        flows.resize(plan.flows.len(), (0, 0));
        for (part, own) in plans.into_iter().enumerate() {
            own.bsss.iter().for_each(|&(bss, number)| bsss[bss] = (part, number));
            own.flows.iter().enumerate().for_each(|(number, &flow)| flows[flow as usize] = (part, number));
            let air = own.plan.air_of_part(seed)?;
            let network = Network::build(&own.plan, air, seed, Some(own.numbers), ())?;
            parts.push(Part { network, flows: own.flows });
        }
        Ok(Parts { parts, bsss, flows, run: run_side_by_side, threads })
    }
}

impl<T: Tap> Parts<T> {
    /// The network of `plan` as one part.
    pub(crate) fn whole(network: Network<T>, plan: &Plan) -> Parts<T> {
        let flows = plan.flows.len();
        Parts {
            bsss: (0..=plan.neighbours.len()).map(|bss| (0, bss)).collect(),
            flows: (0..flows).map(|flow| (0, flow)).collect(),
            parts: vec![Part { network, flows: (0..flows as u32).collect() }],
            run: |parts, end, _| parts.iter_mut().for_each(|part| part.network.run_until(end)),
            threads: 1,
        }
    }

    /// The current simulated time.
    pub(crate) fn now(&self) -> Time {
        self.parts[0].network.now()
    }

    /// As [`Network::run_until`].
    pub(crate) fn run_until(&mut self, end: Time) {
        (self.run)(&mut self.parts, end, self.threads);
    }

    /// As [`Network::begin_measurement`].
    pub(crate) fn begin_measurement(&mut self) {
        self.parts.iter_mut().for_each(|part| part.network.begin_measurement());
    }

    /// Whether the observers want more.
    pub(crate) fn want_more(&mut self) -> bool {
        self.parts.iter_mut().all(|part| part.network.tap_mut().wants_more())
    }

    /// The BSSs.
    pub(crate) fn bsss(&self) -> impl Iterator<Item = &Bss> {
        self.bsss.iter().map(|&(part, number)| self.parts[part].network.air().bss(number))
    }

    /// By BSS: all its counters.
    pub(crate) fn snapshots(&self) -> impl Iterator<Item = BssSnapshot> {
        let now = self.now();
        self.bsss.iter().map(move |&(part, number)| self.parts[part].network.air().snapshot(number, now))
    }

    /// By BSS: how its frames fare among those of others, if there are several.
    pub(crate) fn field_usages(&self) -> impl Iterator<Item = Option<FieldUsage>> {
        let now = self.now();
        self.bsss.iter().map(move |&(part, number)| self.parts[part].network.air().field_usage(number, now))
    }

    /// By BSS: the counters of its wire, which several may share.
    pub(crate) fn wire_counters(&self) -> impl Iterator<Item = WireCounters> {
        let now = self.now();
        self.bsss.iter().map(move |&(part, number)| {
            let network = &self.parts[part].network;
            network.wire().counters(network.wire_of(number), now)
        })
    }

    /// The flows, each with its connections.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (&Flow, &[Connection])> {
        self.flows.iter().map(|&(part, number)| {
            let network = &self.parts[part].network;
            let flow = &network.flows()[number];
            (flow, network.connections_of(flow))
        })
    }

    /// As [`Network::tallies`].
    pub(crate) fn tallies(&self) -> Vec<[Ledger; 3]> {
        let now = self.now();
        self.by_flow(|network| network.tallies(now))
    }

    /// As [`Network::datagrams_under_way`].
    pub(crate) fn datagrams_under_way(&self) -> Vec<[u64; 2]> {
        self.by_flow(Network::datagrams_under_way)
    }

    fn by_flow<V: Clone>(&self, of: impl Fn(&Network<T>) -> Vec<V>) -> Vec<V> {
        let of_parts: Vec<Vec<V>> = self.parts.iter().map(|part| of(&part.network)).collect();
        self.flows.iter().map(|&(part, number)| of_parts[part][number].clone()).collect()
    }

    /// Takes the records of the transfers that have ended since this was last called, in the order in which they have.
    pub(crate) fn finished_transfers(&mut self) -> Vec<TransferRecord> {
        let mut finished = vec![];
        for Part { network, flows } in &mut self.parts {
            let in_plan = |(at, record): (Time, TransferRecord)| {
                (at, TransferRecord { flow: flows[record.flow as usize], ..record })
            };
            finished.extend(network.take_finished().map(in_plan));
        }
        finished.sort_by_key(|(at, _)| *at);
        finished.into_iter().map(|(_, record)| record).collect()
    }

    /// The current records of the transfers under way.
    pub(crate) fn transfers_under_way(&self) -> Vec<TransferRecord> {
        let mut under_way = vec![];
        for Part { network, flows } in &self.parts {
            let in_plan =
                |record: TransferRecord| TransferRecord { flow: flows[record.flow as usize], ..record };
            under_way.extend(network.transfers_under_way().into_iter().map(in_plan));
        }
        under_way.sort_by_key(|record| record.flow);
        under_way
    }
}

/// Runs all parts up to `end` on so many threads: each takes the part that is the furthest behind and that no other has.
fn run_side_by_side(parts: &mut [Part<()>], end: Time, threads: usize) {
    let threads = threads.clamp(1, parts.len());
    if threads == 1 {
        return parts.iter_mut().for_each(|part| part.network.run_until(end));
    }
    let waiting = Mutex::new(parts.iter_mut().collect::<Vec<_>>());
    let take = || {
        let mut waiting = waiting.lock().expect("no panic while this is held");
        let behind = (0..waiting.len()).min_by_key(|&index| waiting[index].network.now())?;
        Some(waiting.swap_remove(behind))
    };
    let work = || {
        while let Some(part) = take() {
            part.network.run_until(end.min(part.network.now() + TURN));
            if part.network.now() < end {
                waiting.lock().expect("no panic while this is held").push(part);
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic); // it names what has failed
            }
        }
    });
}
