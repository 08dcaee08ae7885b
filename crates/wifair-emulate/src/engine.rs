//! The real-time loop: model time follows `CLOCK_MONOTONIC`. A single thread does everything, so packets from devices and
//! events of the BSS have one order, and no time is spent on hand-over between threads. It sleeps in `epoll_wait`, woken by
//! devices and by a timer for the next event.
//!
//! An event is due at its model time and is handled as soon afterwards as the machine allows. Its consequences are computed
//! from model time, so lateness does not accumulate. A packet enters at the time at which it is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::time::{ClockId as Clock, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wifair_core::{StationId, Time};
use wifair_sim::table::Column;
use wifair_sim::{Plan, RunRecord, TraceSpec};

use crate::address::Host;
use crate::conversations::FlowRow;
use crate::guest::{Guest, QUEUE};
use crate::lateness::{Lateness, LatenessReport, Tolerance};
use crate::netlink::Metric;
use crate::network::{Counted, Network, Outlet, Uncarried};
use crate::processors::Processors;

/// Maximum number of packets read from one device before events and other devices are handled.
const BURST: usize = 64;
/// Maximum length of a packet that is read, in bytes: more than the devices' MTU.
const LONGEST: usize = 4096;

/// Options of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Seed of backoff, errors and losses.
    pub seed: u64,
    /// End of the run, in seconds; `None` for no end.
    pub duration_s: Option<f64>,
    /// Start of the measurement, in seconds.
    pub warmup_s: f64,
    /// When a run is invalid.
    pub tolerance: Tolerance,
    /// How long to busy-wait before an event, in microseconds; 0 disables it.
    pub spin_us: f64,
    /// Sysctls of every namespace.
    pub sysctls: Vec<(String, String)>,
    /// Metrics of every route, by their names in ip-route(8); `rto_min` in milliseconds.
    pub route: Vec<(String, String)>,
    /// Names of the stations by number, as in the hosts file.
    pub names: Vec<String>,
    /// Numbers of downlink data packets to lose: see [`Network::drop_data`].
    #[serde(default)]
    pub drops: Vec<u64>,
    /// Captures to write, if any.
    pub trace: Option<TraceSpec>,
    /// Programs that run throughout: host, and the program with its arguments.
    pub services: Vec<(String, Vec<String>)>,
    /// The program whose end ends the run, with its arguments; empty for none.
    pub command: Vec<String>,
    /// The host on which it runs.
    pub host: String,
    /// Additions to its environment.
    pub environment: BTreeMap<String, String>,
    /// A file to write, which becomes `/etc/hosts`.
    pub hosts_file: String,
    /// Output of messages, one JSON object per line: `hosts` first, then `at_s` every second.
    pub messages: String,
    /// Input of commands: the first byte starts the run, another byte or the end of the file ends it.
    pub orders: String,
}

/// A host and how to access it.
#[derive(Clone, Debug, Serialize)]
pub struct HostInfo {
    /// Its name in the emulated network.
    pub name: String,
    /// Its IPv4 address.
    pub ipv4: String,
    /// Its IPv6 address.
    pub ipv6: String,
    /// The thread that is in its network namespace, as an id in the PID namespace of the engine.
    pub tid: i32,
}

/// Result of a run.
#[derive(Serialize)]
pub struct Report {
    /// Seconds measured.
    pub measured_s: f64,
    /// Why it ended: `command`, `duration` or `order`.
    pub end: &'static str,
    /// Exit status of the command; 128 plus the signal's number for a command ended by a signal.
    pub status: Option<i32>,
    /// Lateness of exchanges.
    pub lateness: LatenessReport,
    /// A row per direction of each conversation.
    pub flows: Vec<FlowRow>,
    /// Packets that were not carried, from the beginning.
    pub uncarried: Uncarried,
    /// Packets that a host's network stack discarded, from the beginning: its processor was busy.
    pub refused: u64,
    /// Packets under way at the end.
    pub under_way: usize,
    /// Share of one processor that the engine's thread used.
    pub processor_share: f64,
    /// The tables of BSS and buffers.
    pub tables: BTreeMap<&'static str, BTreeMap<&'static str, Value>>,
}

/// Runs the cell and the wire of a plan with real hosts until its command, its duration or an order ends it.
///
/// The calling process must be process 1 of a PID namespace, have its own mount namespace, and be allowed to create network
/// namespaces.
///
/// # Errors
/// Returns what failed, for the user.
pub fn run(plan: &Plan, options: &Options) -> Result<Report, String> {
    let mut network = Network::new(plan, options.seed).map_err(|error| error.to_string())?;
    network.drop_data(&options.drops);
    if let Some(trace) = &options.trace {
        network.keep_trace(trace, options.seed).map_err(|error| error.to_string())?;
    }
    let name = |host: Host| match host {
        Host::Server => "server".to_owned(),
        Host::Station(id) => options.names[id.index()].clone(),
    };
    let metrics: Vec<Metric> =
        options.route.iter().map(|(name, value)| Metric::parse(name, value)).collect::<Result<_, _>>()?;
    let hosts = (0..plan.bss.stations.len() as u16).map(|id| Host::Station(StationId(id)));
    let processors = Processors::divide();
    let mask = processors.as_ref().map(Processors::mask);
    let mut guests = vec![];
    for host in hosts.chain([Host::Server]) {
        let guest = Guest::start(host, mask.as_deref(), &options.sysctls, &metrics);
        guests.push(guest.map_err(|error| format!("{}: {error}", name(host)))?);
    }
    let opened = |path: &str, file: io::Result<File>| file.map_err(|error| format!("{path}: {error}"));
    let mut messages = opened(&options.messages, File::options().write(true).open(&options.messages))?;
    let mut orders = opened(&options.orders, File::open(&options.orders))?;
    let infos: Vec<HostInfo> = guests.iter().map(|guest| info(guest, name(guest.host))).collect();
    mount_hosts(&options.hosts_file, &infos)?;
    say(&mut messages, &serde_json::json!({ "hosts": infos }));
    if !matches!(orders.read(&mut [0]), Ok(1)) {
        return Err("stopped before the start".to_owned());
    }
    let find = |wanted: &str| {
        let found = guests.iter().find(|guest| name(guest.host) == wanted);
        found.ok_or_else(|| format!("no host has the name {wanted}"))
    };
    for (host, argv) in &options.services {
        start(find(host)?, argv, &BTreeMap::new())?;
    }
    let command = match options.command.is_empty() {
        true => None,
        false => Some(start(find(&options.host)?, &options.command, &options.environment)?),
    };
    let (ended, ends) = io::pipe().map_err(|error| format!("pipe: {error}"))?;
    thread::spawn(move || reap(command, ends));

    let fault = |what: &'static str| move |error: Errno| format!("{what}: {}", error.desc());
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(fault("epoll_create1"))?;
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
        .map_err(fault("timerfd_create"))?;
    let watch = |fd: std::os::fd::BorrowedFd, data: u64| {
        epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, data)).map_err(fault("epoll_ctl"))
    };
    for (number, guest) in (0..).zip(&guests) {
        watch(guest.device.as_fd(), number)?;
    }
    watch(timer.as_fd(), TIMER)?;
    watch(ended.as_fd(), ENDED)?;
    watch(orders.as_fd(), ORDERS)?;
    set_timerslack(1).map_err(fault("timer slack"))?;

    if let Some(processors) = &processors {
        processors.keep().map_err(fault("sched_setaffinity"))?;
    }

    let watches = Watches { epoll, timer, armed: Time::MAX, spin: micros(options.spin_us) };
    let mut live = Live { clock: RealTime::start(), guests: &guests, lateness: None };
    let end = live.run(&mut network, watches, options, &mut messages)?;
    network.end_trace().map_err(|error| error.to_string())?;
    let (before, processor) = end.before;
    let after = network.counted();
    let (record, flows) = network.report(&before, &after, name);
    let measured_s = (after.at() - before.at()).as_secs_f64();
    let used = thread_time() - processor;
    let refused = guests.iter().map(Guest::refused).sum();
    let status = match end.reason {
        "command" => exit_status(ended),
        _ => None,
    };
    Ok(Report {
        measured_s,
        end: end.reason,
        status,
        lateness: live.lateness.take().unwrap_or_else(|| Lateness::new(options.tolerance)).report(),
        flows,
        uncarried: network.uncarried(),
        refused,
        under_way: network.under_way(),
        processor_share: used.as_secs_f64() / measured_s.max(1e-9),
        tables: tables(options.seed, record),
    })
}

/// The tables of a run by name, each by column.
fn tables(seed: u64, record: RunRecord) -> BTreeMap<&'static str, BTreeMap<&'static str, Value>> {
    let values = |column| match column {
        Column::Float(values) => Value::from(values),
        Column::Count(values) => Value::from(values),
        Column::OptionalCount(values) => Value::from(values),
        Column::Text(values) => Value::from(values),
        Column::Name(values) => values.iter().map(|name| Value::from(&**name)).collect(),
        Column::Word(values) => Value::from(values),
    };
    let columns =
        |columns: Vec<_>| columns.into_iter().map(|(name, column)| (name, values(column))).collect();
    wifair_sim::tables(&[(0, seed, record)]).into_iter().map(|(name, of)| (name, columns(of))).collect()
}

/// Marks the timer among the files of `epoll`.
const TIMER: u64 = u64::MAX;
const ENDED: u64 = u64::MAX - 1;
const ORDERS: u64 = u64::MAX - 2;

/// Nanoseconds since the start of a run.
struct RealTime(Duration);

fn clock() -> Duration {
    Duration::from(clock_gettime(Clock::CLOCK_MONOTONIC).expect("every Linux has this clock"))
}

fn thread_time() -> Time {
    let used = clock_gettime(Clock::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    Time::from_ns(Duration::from(used).as_nanos() as u64)
}

fn micros(us: f64) -> Time {
    Time::from_secs_f64(us * 1e-6)
}

impl RealTime {
    fn start() -> RealTime {
        RealTime(clock())
    }

    fn now(&self) -> Time {
        Time::from_ns((clock() - self.0).as_nanos() as u64)
    }

    /// Converts `at` to the machine's clock.
    fn absolute(&self, at: Time) -> TimeSpec {
        TimeSpec::from_duration(self.0 + Duration::from_nanos(at.as_ns()))
    }
}

/// What the loop waits for.
struct Watches {
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer expires.
    armed: Time,
    spin: Time,
}

impl Watches {
    /// Waits until `until`, or until a file is ready; returns the number of ready files.
    fn wait(&mut self, until: Time, clock: &RealTime, ready: &mut [EpollEvent]) -> Result<usize, String> {
        let wake = Time::from_ns(until.as_ns().saturating_sub(self.spin.as_ns()));
        let timeout = if wake > clock.now() { EpollTimeout::NONE } else { EpollTimeout::ZERO };
        if timeout.is_none() && wake != self.armed {
            let fault = |error: Errno| format!("timerfd_settime: {}", error.desc());
            match until == Time::MAX {
                true => self.timer.unset().map_err(fault)?,
                false => self
                    .timer
                    .set(Expiration::OneShot(clock.absolute(wake)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
                    .map_err(fault)?,
            }
            self.armed = wake;
        }
        match self.epoll.wait(ready, timeout) {
            Ok(count) => Ok(count),
            Err(Errno::EINTR) => Ok(0),
            Err(error) => Err(format!("epoll_wait: {}", error.desc())),
        }
    }

    /// Handles the expired timer.
    fn expired(&mut self) {
        self.armed = Time::MAX;
        let _none_yet = self.timer.wait();
    }
}

/// End of a run, and the counters at the start of the measurement.
struct End {
    reason: &'static str,
    before: (Counted, Time),
}

/// The engine's side of the hosts' devices.
struct Live<'a> {
    clock: RealTime,
    guests: &'a [Guest],
    /// Recorded from the start of the measurement on.
    lateness: Option<Lateness>,
}

impl Outlet for Live<'_> {
    fn exchange(&mut self, due: Time) {
        if let Some(lateness) = &mut self.lateness {
            lateness.record(due, self.clock.now());
        }
    }

    fn hand_over(&mut self, to: Host, bytes: &[u8], _due: Time) {
        // If the host cannot take the packet (its device is down), it is lost, as from any other network.
        let _sent = self.guests[number(to, self.guests.len())].device.send(bytes);
    }
}

/// Index of a host's guest.
fn number(host: Host, guests: usize) -> usize {
    match host {
        Host::Server => guests - 1,
        Host::Station(id) => id.index(),
    }
}

impl Live<'_> {
    fn run(
        &mut self,
        network: &mut Network,
        mut watches: Watches,
        options: &Options,
        messages: &mut File,
    ) -> Result<End, String> {
        let warmup = Time::from_secs_f64(options.warmup_s);
        let duration = options.duration_s.map_or(Time::MAX, Time::from_secs_f64);
        let mut ready = [EpollEvent::empty(); 32];
        let mut next_message = Time::from_s(1);
        let mut before = None;
        let reason = 'run: loop {
            network.advance(self.clock.now().min(duration), self);
            let now = self.clock.now();
            if before.is_none() && now >= warmup {
                before = Some((network.counted(), thread_time()));
                self.lateness = Some(Lateness::new(options.tolerance));
            }
            if now >= duration {
                break "duration";
            }
            if now >= next_message {
                say(messages, &serde_json::json!({ "at_s": now.as_secs_f64() }));
                next_message = now + Time::from_s(1);
            }
            let warmup = if before.is_none() { warmup } else { Time::MAX };
            let until = network.next_event().min(next_message).min(duration).min(warmup);
            let count = watches.wait(until, &self.clock, &mut ready)?;
            for event in &ready[..count] {
                match event.data() {
                    TIMER => watches.expired(),
                    ENDED => break 'run "command",
                    ORDERS => break 'run "order",
                    guest => {
                        self.read(network, guest as usize, duration);
                    }
                }
            }
        };
        // What hosts had sent when the run ended.
        for guest in 0..self.guests.len() {
            let mut bursts = 0..=QUEUE as usize / BURST; // other programs may be sending still
            while bursts.next().is_some() && self.read(network, guest, duration) {}
        }
        network.advance(self.clock.now().min(duration), self);
        let before = before.unwrap_or_else(|| (network.counted(), thread_time()));
        Ok(End { reason, before })
    }

    /// Reads packets that a host has sent; returns whether there may be more.
    fn read(&mut self, network: &mut Network, guest: usize, end: Time) -> bool {
        let mut bytes = [0; LONGEST];
        for _ in 0..BURST {
            let Guest { host, device, .. } = &self.guests[guest];
            let Ok(length) = device.recv(&mut bytes) else { return false };
            let now = self.clock.now();
            if now >= end {
                return false;
            }
            let host = *host;
            network.advance(now, self);
            network.send(host, &bytes[..length]);
        }
        true
    }
}

/// Writes `file` and mounts it as `/etc/hosts` in the mount namespace of this process.
fn mount_hosts(file: &str, hosts: &[HostInfo]) -> Result<(), String> {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for HostInfo { name, ipv4, ipv6, .. } in hosts {
        text += &format!("{ipv4} {name}\n{ipv6} {name}\n");
    }
    std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))?;
    let none: Option<&str> = None;
    let fault = |error: Errno| format!("cannot put {file} over /etc/hosts: {}", error.desc());
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(fault)?;
    mount(Some(file), "/etc/hosts", none, MsFlags::MS_BIND, none).map_err(fault)
}

fn info(guest: &Guest, name: String) -> HostInfo {
    let (ipv4, ipv6) = (guest.host.ipv4().to_string(), guest.host.ipv6().to_string());
    HostInfo { name, ipv4, ipv6, tid: guest.tid }
}

/// Writes a message. Errors are ignored, since the run does not depend on messages.
fn say(messages: &mut File, message: &serde_json::Value) {
    let _reader_gone = writeln!(messages, "{message}");
}

fn start(guest: &Guest, argv: &[String], environment: &BTreeMap<String, String>) -> Result<u32, String> {
    let (program, arguments) = argv.split_first().ok_or("a command without a program")?;
    let mut command = Command::new(program);
    command.args(arguments).envs(environment);
    match guest.spawn(command) {
        Ok(child) => Ok(child.id()),
        Err(error) => Err(format!("cannot start {program}: {error}")),
    }
}

/// Reaps all processes of the namespace as process 1; writes the exit status of `command` to `ends`.
fn reap(command: Option<u32>, mut ends: PipeWriter) {
    loop {
        let (pid, status) = match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) => (pid, code),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as i32),
            Ok(_) => continue,
            Err(_) => {
                thread::sleep(Duration::from_millis(200)); // no child to wait for yet
                continue;
            }
        };
        if command == Some(pid.as_raw() as u32) && ends.write_all(&status.to_ne_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the exit status written by [`reap`].
fn exit_status(mut ended: io::PipeReader) -> Option<i32> {
    let mut status = [0; 4];
    ended.read_exact(&mut status).ok()?;
    Some(i32::from_ne_bytes(status))
}
