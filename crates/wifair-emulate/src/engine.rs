//! A run from its options to its report: makes the hosts, starts their programs, runs the loop of [`Live`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::wait::{WaitStatus, waitpid};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wifair_core::{StationId, Time};
use wifair_sim::table::Column;
use wifair_sim::{Plan, RunRecord, TraceSpec};

use crate::address::Host;
use crate::conversations::ConversationRow;
use crate::guest::Guest;
use crate::lateness::{LatenessReport, Tolerance};
use crate::live::{Live, Mark, RunEnd, Span, Watches};
use crate::netlink::Metric;
use crate::network::{EmulatedNetwork, Uncarried};
use crate::processors::Processors;
use crate::sysctl::Machine;

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
    /// Numbers of downlink data packets to lose: see [`EmulatedNetwork::drop_data`].
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
    pub flows: Vec<ConversationRow>,
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
    let mut network = EmulatedNetwork::new(plan, options.seed).map_err(|error| error.to_string())?;
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
    let machine = Machine::read(&options.sysctls);
    let mut guests = vec![];
    for host in hosts.chain([Host::Server]) {
        let guest = Guest::start(host, name(host), mask.as_deref(), &options.sysctls, &metrics);
        machine.restore()?;
        guests.push(guest.map_err(|error| format!("{}: {error}", name(host)))?);
    }
    let opened = |path: &str, file: io::Result<File>| file.map_err(|error| format!("{path}: {error}"));
    let mut messages = opened(&options.messages, File::options().write(true).open(&options.messages))?;
    let mut orders = opened(&options.orders, File::open(&options.orders))?;
    let infos: Vec<HostInfo> = guests.iter().map(info).collect();
    mount_hosts(&options.hosts_file, &infos)?;
    say(&mut messages, &serde_json::json!({ "hosts": infos }));
    if !matches!(orders.read(&mut [0]), Ok(1)) {
        return Err("stopped before the start".to_owned());
    }
    let find = |wanted: &str| {
        let found = guests.iter().find(|guest| guest.name == wanted);
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

    if let Some(processors) = &processors {
        processors.keep().map_err(|error| format!("sched_setaffinity: {}", error.desc()))?;
    }
    let watches =
        Watches::new(&guests, ended.as_fd(), orders.as_fd(), Time::from_secs_f64(options.spin_us * 1e-6))?;
    let span = Span {
        warmup: Time::from_secs_f64(options.warmup_s),
        end: options.duration_s.map_or(Time::MAX, Time::from_secs_f64),
        tolerance: options.tolerance,
    };
    let each_second = |at: Time| say(&mut messages, &serde_json::json!({ "at_s": at.as_secs_f64() }));
    let end = Live::start(&guests, span).run(&mut network, watches, each_second);
    let captured = network.end_trace().map_err(|error| error.to_string());
    let RunEnd { reason, before, lateness } = end?;
    captured?;
    let after = Mark::now(&network);
    let (record, flows) = network.report(&before.counted, &after.counted, name);
    let measured_s = (after.counted.at() - before.counted.at()).as_secs_f64();
    let status = match reason {
        "command" => exit_status(ended),
        _ => None,
    };
    Ok(Report {
        measured_s,
        end: reason,
        status,
        lateness: lateness.report(after.counted.at()),
        flows,
        uncarried: network.uncarried(),
        refused: guests.iter().map(Guest::refused).sum(),
        under_way: network.under_way(),
        processor_share: (after.processor - before.processor).as_secs_f64() / measured_s.max(1e-9),
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

fn info(guest: &Guest) -> HostInfo {
    let (ipv4, ipv6) = (guest.host.ipv4().to_string(), guest.host.ipv6().to_string());
    HostInfo { name: guest.name.clone(), ipv4, ipv6, tid: guest.tid }
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
