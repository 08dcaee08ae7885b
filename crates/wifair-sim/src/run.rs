use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wifair_core::{SpecError, Time};

use crate::fingerprint::Fingerprint;
use crate::network::Network;
use crate::parts::Parts;
use crate::plan::Plan;
use crate::record::{Probes, RunRecord};
use crate::snapshot::Snapshot;
use crate::tap::Tap;
use crate::trace::{EventSink, Trace, TraceError, TraceSpec};

/// Progress and cancellation of a running replication, for another thread.
pub struct Progress<'a> {
    /// Set to stop the replication; it ends within about a simulated second.
    pub cancelled: &'a AtomicBool,
    /// Simulated milliseconds are added here as they pass.
    pub simulated_ms: &'a AtomicU64,
}

impl Progress<'_> {
    /// Adds the simulated milliseconds that have passed; returns whether to continue.
    pub(crate) fn go_on(&self, ms: u64) -> bool {
        self.simulated_ms.fetch_add(ms, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

/// Runs one replication: warm-up, measurement, record. `None` if it was cancelled.
///
/// A measurement is the difference of two snapshots, at the end of the warm-up and at the horizon. Recording schedules no
/// events: recording does not change the trajectory.
pub fn run(plan: &Plan, seed: u64, progress: &Progress<'_>) -> Result<Option<RunRecord>, SpecError> {
    run_watched(plan, seed, &mut |ms| progress.go_on(ms))
}

/// Like [`run`], with progress on the same thread: `go_on` is called with the simulated milliseconds that have passed, before
/// the start (0) and then about every simulated second. It returns whether to continue.
pub fn run_watched(
    plan: &Plan,
    seed: u64,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<RunRecord>, SpecError> {
    run_on(1, plan, seed, go_on)
}

/// Like [`run_watched`], on up to so many threads. A network of several BSSs may fall into parts that have nothing in common:
/// each is run by one thread at a time. The record is the same on any number of threads.
pub fn run_on(
    threads: usize,
    plan: &Plan,
    seed: u64,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<RunRecord>, SpecError> {
    Ok(measure(&mut Parts::new(plan, seed, threads)?, plan, go_on))
}

/// Like [`run_watched`], with traces; rows of the event log are passed to `events`.
///
/// # Errors
/// Fails if the plan cannot be run, if a traced item is not in the plan, or if a file cannot be written.
pub fn run_traced(
    plan: &Plan,
    seed: u64,
    spec: &TraceSpec,
    events: EventSink,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<RunRecord>, TraceError> {
    let mut trace = Trace::new(spec, plan, seed, events)?;
    let network = Network::tapped(plan, seed, &mut trace as &mut dyn Tap)?;
    let record = measure(&mut Parts::whole(network, plan), plan, go_on);
    trace.finish()?;
    Ok(record)
}

/// Runs a new network to its horizon; `None` if it was cancelled, or if its tap ended the run.
fn measure<T: Tap>(
    network: &mut Parts<T>,
    plan: &Plan,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Option<RunRecord> {
    let mut probes = Probes::new(plan);
    let warmup = Time::from_secs_f64(plan.run.warmup_s);
    let horizon = warmup + Time::from_secs_f64(plan.run.duration_s);
    if !go_on(0) || !advance(network, &mut probes, warmup, go_on) {
        return None;
    }
    network.begin_measurement();
    let before = Snapshot::take(network);
    if !advance(network, &mut probes, horizon, go_on) {
        return None;
    }
    let after = Snapshot::take(network);
    probes.transfers.take(network.transfers_under_way().into_iter());
    Some(RunRecord::new(plan, &before, &after, probes))
}

/// Runs up to `end`, calling `go_on` every simulated second; false if it was cancelled.
fn advance<T: Tap>(
    network: &mut Parts<T>,
    probes: &mut Probes,
    end: Time,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> bool {
    while network.now() < end {
        let from = network.now();
        let to = end.min(from + Time::from_s(1)).min(probes.sampler.next()).min(probes.states.next());
        network.run_until(to);
        probes.transfers.take(network.finished_transfers().into_iter());
        if to == probes.sampler.next() {
            probes.sampler.sample(network);
        }
        if to == probes.states.next() {
            probes.states.sample(network);
        }
        let ms = to.as_ns() / 1_000_000 - from.as_ns() / 1_000_000;
        if !go_on(ms) || !network.want_more() {
            return false;
        }
    }
    true
}

/// The trajectory's hash over the whole run: see [`Fingerprint`].
pub fn fingerprint(plan: &Plan, seed: u64) -> Result<u64, SpecError> {
    let mut hash = Fingerprint::new();
    let mut network = Network::tapped(plan, seed, &mut hash as &mut dyn Tap)?;
    network.run_until(Time::from_secs_f64(plan.run.warmup_s) + Time::from_secs_f64(plan.run.duration_s));
    drop(network);
    Ok(hash.value())
}
