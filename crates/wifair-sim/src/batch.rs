use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use wifair_core::SpecError;

use crate::plan::Plan;
use crate::record::RunRecord;
use crate::run::{Progress, run_on, run_traced};
use crate::trace::{EventRow, EventSink, TraceError, TraceSpec};

/// Replications on native threads. They start at once. Results can be taken while others still run; finished results remain
/// when the rest is cancelled.
///
/// Each thread takes jobs in order, one at a time; if there are fewer jobs than threads, a job whose network falls into parts
/// is run on several. A replication's result depends only on its plan and seed.
pub struct Batch {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// Number of rows from which on no further job is taken by the same call.
const ROWS_AT_ONCE: usize = 500_000;

/// Maximum number of batches of rows waiting to be taken, over all jobs. A job that would exceed it waits.
const WAITING_EVENTS: usize = 4;

struct Shared {
    jobs: Vec<Job>,
    /// Threads of each job.
    threads_each: usize,
    next: AtomicUsize,
    cancelled: AtomicBool,
    simulated_ms: AtomicU64,
    results: Mutex<Results>,
    finished: Condvar,
    /// Signals that rows of events have been taken, or that the batch is cancelled.
    drained: Condvar,
}

struct Job {
    plan: Arc<Plan>,
    seed: u64,
    trace: Option<TraceSpec>,
}

#[derive(Default)]
struct Results {
    done: usize,
    /// Rows of event logs with the index of their job, in order.
    events: VecDeque<(usize, Vec<EventRow>)>,
    /// Finished jobs not yet taken, in any order.
    finished: Vec<FinishedJob>,
    /// The failed job of the lowest index, and its message.
    failure: Option<(usize, String)>,
}

/// A finished job: its index, its seed, its record.
pub type FinishedJob = (usize, u64, RunRecord);

impl Batch {
    /// Starts `jobs`, pairs of plan (JSON) and seed, on `threads` threads (at least one).
    pub fn start(jobs: &[(String, u64)], threads: usize) -> Result<Batch, SpecError> {
        Batch::start_traced(jobs, &[], threads)
    }

    /// Like [`Batch::start`], with traces: job i has `traces[i]`, or none beyond the end. If events are traced,
    /// [`Batch::take_events`] must be called regularly.
    pub fn start_traced(
        jobs: &[(String, u64)],
        traces: &[TraceSpec],
        threads: usize,
    ) -> Result<Batch, SpecError> {
        let mut plans: BTreeMap<&str, Arc<Plan>> = BTreeMap::new();
        let mut parsed = Vec::with_capacity(jobs.len());
        for (index, (json, seed)) in jobs.iter().enumerate() {
            let plan = match plans.get(json.as_str()) {
                Some(plan) => plan.clone(),
                None => {
                    let plan = Arc::new(Plan::from_json(json)?);
                    plans.insert(json, plan.clone());
                    plan
                }
            };
            parsed.push(Job { plan, seed: *seed, trace: traces.get(index).cloned() });
        }
        let shared = Arc::new(Shared {
            results: Mutex::new(Results::default()),
            threads_each: (threads / jobs.len().max(1)).max(1),
            jobs: parsed,
            next: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            simulated_ms: AtomicU64::new(0),
            finished: Condvar::new(),
            drained: Condvar::new(),
        });
        let workers = (0..threads.clamp(1, jobs.len().max(1)))
            .map(|_| {
                let shared = shared.clone();
                std::thread::spawn(move || shared.work())
            })
            .collect();
        Ok(Batch { shared, workers })
    }

    /// Number of jobs.
    pub fn total(&self) -> usize {
        self.shared.jobs.len()
    }

    /// Simulated seconds so far, of finished and running jobs.
    pub fn simulated_s(&self) -> f64 {
        self.shared.simulated_ms.load(Ordering::Relaxed) as f64 * 1e-3
    }

    /// Simulated seconds of all jobs in total.
    pub fn total_s(&self) -> f64 {
        self.shared.jobs.iter().map(|job| job.plan.horizon_s()).sum()
    }

    /// Waits until another job or all jobs are finished, rows of events can be taken, or `timeout` expires; returns the number
    /// of finished jobs.
    pub fn wait(&self, timeout: Duration) -> usize {
        let results = self.shared.results.lock().expect("workers catch their panics");
        let before = results.done;
        let total = self.total();
        let (results, _) = self
            .shared
            .finished
            .wait_timeout_while(results, timeout, |results| {
                results.done == before && results.done < total && results.events.is_empty()
            })
            .expect("workers catch their panics");
        results.done
    }

    /// Tells the threads to stop. Finished jobs remain.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        self.shared.drained.notify_all();
    }

    /// Takes the next rows of an event log, with the index of their job.
    pub fn take_events(&self) -> Option<(usize, Vec<EventRow>)> {
        let events = self.shared.results.lock().expect("workers catch their panics").events.pop_front();
        self.shared.drained.notify_all();
        events
    }

    /// Takes jobs that have finished and have not been taken, in order: as many as together have [`ROWS_AT_ONCE`] rows, and
    /// none if all have been taken. A long batch need not hold them all, and its tables need not be built at once.
    pub fn take(&self) -> Vec<FinishedJob> {
        let mut results = self.shared.results.lock().expect("workers catch their panics");
        results.finished.sort_unstable_by_key(|(job, _, _)| *job);
        let mut rows = 0;
        let under = |(_, _, record): &&FinishedJob| {
            let goes = rows < ROWS_AT_ONCE;
            rows += record.series.len() + record.transfers.len() + record.flows.len();
            goes
        };
        let end = results.finished.iter().take_while(under).count();
        results.finished.drain(..end).collect()
    }

    /// Why a job failed, if one did: the message of the failed job with the lowest index so far.
    pub fn failure(&self) -> Option<String> {
        let results = self.shared.results.lock().expect("workers catch their panics");
        results.failure.as_ref().map(|(job, message)| format!("job {job}: {message}"))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.cancel();
        for worker in self.workers.drain(..) {
            let _ = worker.join(); // a worker catches its panics; there is nothing left to report
        }
    }
}

impl Shared {
    fn work(self: &Arc<Shared>) {
        while !self.cancelled.load(Ordering::Relaxed) {
            let job = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(Job { plan, seed, trace }) = self.jobs.get(job) else { return };
            let progress = Progress { cancelled: &self.cancelled, simulated_ms: &self.simulated_ms };
            let outcome = catch_unwind(AssertUnwindSafe(|| match trace {
                None => Ok(run_on(self.threads_each, plan, *seed, &mut |ms| progress.go_on(ms))?),
                Some(trace) => {
                    run_traced(plan, *seed, trace, self.event_sink(job), &mut |ms| progress.go_on(ms))
                }
            }));
            let record = match outcome {
                Ok(Ok(Some(record))) => Ok(record),
                Ok(Ok(None)) => return, // cancelled
                Ok(Err(error)) => Err(TraceError::to_string(&error)),
                Err(panic) => Err(panic_message(panic.as_ref())),
            };
            let mut results = self.results.lock().expect("no panic while this is held");
            match record {
                Ok(record) => results.finished.push((job, *seed, record)),
                Err(message) if results.failure.as_ref().is_none_or(|(first, _)| job < *first) => {
                    results.failure = Some((job, message));
                }
                Err(_) => {}
            }
            results.done += 1;
            self.finished.notify_all();
        }
    }

    /// Takes a job's rows; waits if too many are waiting already.
    fn event_sink(self: &Arc<Shared>, job: usize) -> EventSink {
        let shared = Arc::clone(self);
        Box::new(move |rows| {
            let mut results = shared.results.lock().expect("no panic while this is held");
            while results.events.len() >= WAITING_EVENTS && !shared.cancelled.load(Ordering::Relaxed) {
                let timeout = Duration::from_millis(100); // a cancellation may slip past
                let woken = shared.drained.wait_timeout(results, timeout);
                results = woken.expect("no panic while this is held").0;
            }
            results.events.push_back((job, rows));
            shared.finished.notify_all();
            !shared.cancelled.load(Ordering::Relaxed)
        })
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    format!("the simulator failed: {text}")
}
