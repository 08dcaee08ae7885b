//! A host of the emulated network: a network namespace with a TUN device.
//!
//! Network namespaces belong to threads. A guest is a thread that has entered a new namespace and waits there for programs to
//! start; the namespace lives as long as the thread does. Its device is read and written by the engine.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::address::{Host, IPV4_PREFIX, IPV6_PREFIX};
use crate::netlink::{Metric, raise_loopback, set_queue, set_route};
use crate::sysctl;

/// Name of the device in each namespace.
pub const DEVICE: &str = "wlan0";
const MTU: u16 = 1500;
/// Number of packets that a device holds until the engine reads them: large enough that no packet is lost here, unseen by any
/// scheme.
pub const QUEUE: u32 = 20_000;

type Order = Box<dyn FnOnce() + Send>;

/// See the module documentation.
pub struct Guest {
    /// The host that it implements.
    pub host: Host,
    /// Its name.
    pub name: String,
    /// Thread id in the PID namespace of the engine: `/proc/1/task/<tid>/ns/net` is its namespace.
    pub tid: i32,
    /// The engine's side of its device.
    pub device: SyncDevice,
    orders: Sender<Order>,
}

impl Guest {
    /// Creates the namespace, with these sysctls and these metrics of the route to the other hosts. `mask` are the processors
    /// on which it processes what it receives.
    ///
    /// # Errors
    /// Returns the step that failed, and why.
    pub fn start(
        host: Host,
        name: String,
        mask: Option<&str>,
        sysctls: &[(String, String)],
        metrics: &[Metric],
    ) -> Result<Guest, String> {
        let (ready, made) = channel();
        let (orders, mailbox): (Sender<Order>, Receiver<Order>) = channel();
        let (mask, sysctls, metrics) = (mask.map(str::to_owned), sysctls.to_vec(), metrics.to_vec());
        let inside = move || {
            let result =
                enter(host, mask.as_deref(), &sysctls, &metrics).map(|device| (gettid().as_raw(), device));
            let failed = result.is_err();
            if ready.send(result).is_err() || failed {
                return;
            }
            mailbox.into_iter().for_each(|order| order());
        };
        let thread = thread::Builder::new().name(format!("{host:?}")).stack_size(256 << 10).spawn(inside);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        let (tid, device) = made.recv().map_err(|_| "the thread of a host has ended".to_owned())??;
        Ok(Guest { host, name, tid, device, orders })
    }

    /// Packets that its network stack discarded before any protocol saw them.
    pub fn refused(&self) -> u64 {
        // proc_pid_net(5): after the name of the interface, received bytes, packets, errors, drops.
        let table =
            std::fs::read_to_string(format!("/proc/self/task/{}/net/dev", self.tid)).unwrap_or_default();
        let line = table.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok()).unwrap_or(0)
    }

    /// Starts a program in the namespace.
    ///
    /// # Errors
    /// See [`Command::spawn`].
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        let (reply, started) = channel();
        let order = move || {
            let _gone = reply.send(command.spawn());
        };
        let ended = |_| io::Error::other("the thread of the host has ended");
        self.orders
            .send(Box::new(order))
            .map_err(|_| io::Error::other("the thread of the host has ended"))?;
        started.recv().map_err(ended)?
    }
}

/// Moves this thread to a new namespace.
fn enter(
    host: Host,
    mask: Option<&str>,
    sysctls: &[(String, String)],
    metrics: &[Metric],
) -> Result<SyncDevice, String> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| format!("cannot make a network namespace: {}", error.desc()))?;
    if let Some(mask) = mask {
        // Kernels before 6.3 do not have it: the writing thread processes what it writes.
        let _too_old = std::fs::write("/proc/sys/net/core/rps_default_mask", mask);
    }
    for (key, value) in sysctls {
        sysctl::write(key, value)?;
    }
    let device = DeviceBuilder::new()
        .name(DEVICE)
        .ipv4(host.ipv4(), IPV4_PREFIX, None)
        .ipv6(host.ipv6(), IPV6_PREFIX)
        .mtu(MTU)
        .packet_information(false)
        .offload(false)
        .build_sync()
        .map_err(|error| format!("cannot make a TUN device from /dev/net/tun: {error}"))?;
    device.set_nonblocking(true).map_err(|error| format!("TUN device: {error}"))?;
    raise_loopback().map_err(|error| format!("cannot raise the loopback device: {}", error.desc()))?;
    let index = device.if_index().map_err(|error| format!("TUN device: {error}"))?;
    set_queue(index, QUEUE).map_err(|error| format!("cannot set the length of a queue: {}", error.desc()))?;
    if !metrics.is_empty() {
        for (own, prefix) in [(host.ipv4().into(), IPV4_PREFIX), (host.ipv6().into(), IPV6_PREFIX)] {
            set_route(own, prefix, index, metrics)
                .map_err(|error| format!("cannot set the metrics of a route: {}", error.desc()))?;
        }
    }
    Ok(device)
}
