//! The flows of a plan over the guest's TCP and UDP, between the network namespaces of the server and of the stations.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};
use serde_json::{Value, json};
use wifair_core::{Rng, Time};

use crate::Fault;
use crate::air::MARKS;
use crate::clock::{Clock, wait};
use crate::flows::{Flow, Kind};
use crate::many::Many;

/// The server's address; that of station `n` is 10.0.0.`n + 2`. `init` assigns them.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const FIRST_PORT: u16 = 5_000;
/// More than what a sender that is never held back has under way.
const DATAGRAM_BUFFER_BYTES: usize = 64 << 20;
/// Bytes of payload that say number and sending time.
const STAMP_BYTES: usize = 16;
/// Room for a datagram.
const DATAGRAM_BYTES: usize = 2_048;
/// Datagrams that are due within this time are sent together, except those that are sent back: waking up costs more than
/// sending.
const GRAIN: Time = Time::from_us(500);
const READ_BYTES: usize = 1 << 18;
const WRITE_BYTES: usize = 1 << 16;

/// See the module documentation.
pub struct Traffic {
    runs: Vec<Run>,
    clock: Clock,
    buffers: Buffers,
}

/// What is received in.
struct Buffers {
    stream: Vec<u8>,
    datagrams: Many,
}

/// A flow and its sockets.
struct Run {
    flow: Flow,
    start: Time,
    sockets: Sockets,
    counts: Counts,
}

enum Sockets {
    Bulk {
        listener: TcpListener,
        to: SocketAddrV4,
        namespace: String,
        sender: Option<TcpStream>,
        receiver: Option<TcpStream>,
    },
    Datagrams {
        sender: UdpSocket,
        receiver: UdpSocket,
        next: Time,
    },
}

/// What a flow has got in the measurement.
#[derive(Default)]
struct Counts {
    sent: u64,
    received: u64,
    /// Of TCP or UDP payload.
    bytes: u64,
    /// One way; of echoes, the round-trip time.
    delays: Vec<Time>,
}

fn station(index: usize) -> (String, Ipv4Addr) {
    (format!("s{}", index + 1), Ipv4Addr::new(10, 0, 0, index as u8 + 2))
}

/// Runs `make` in the network namespace `name`: the sockets that it opens stay there.
fn within<T>(name: &str, make: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let home = File::open("/proc/self/ns/net")?;
    let path = format!("/run/netns/{name}");
    setns(File::open(&path).map_err(|error| format!("{path}: {error}"))?, CloneFlags::CLONE_NEWNET)?;
    let made = make();
    setns(home, CloneFlags::CLONE_NEWNET)?;
    made
}

fn datagrams(at: SocketAddrV4) -> Result<UdpSocket, Fault> {
    let socket = UdpSocket::bind(at)?;
    socket.set_nonblocking(true)?;
    setsockopt(&socket, sockopt::SndBufForce, &DATAGRAM_BUFFER_BYTES)?;
    setsockopt(&socket, sockopt::RcvBufForce, &DATAGRAM_BUFFER_BYTES)?;
    Ok(socket)
}

/// Begins to connect; writing tells when it is done.
fn begin_connection(to: SocketAddrV4) -> Result<TcpStream, Fault> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    match connect(fd.as_raw_fd(), &SockaddrIn::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(errno) => Err(errno.into()),
    }
}

impl Traffic {
    /// Opens the sockets of all flows. They start at random times within their spans.
    pub fn open(flows: &[Flow], seed: u64) -> Result<Traffic, Fault> {
        let mut runs = vec![];
        for (number, flow) in flows.iter().enumerate() {
            let port = FIRST_PORT + number as u16;
            let (name, address) = station(flow.station);
            let (station, server) = ((name.as_str(), address), ("srv", SERVER));
            let (from, to) = if flow.down { (server, station) } else { (station, server) };
            let at = SocketAddrV4::new(to.1, port);
            let mut rng = Rng::stream(seed, &flow.label, "start");
            let start = flow.start.0 + Time::from_secs_f64(flow.start.1.as_secs_f64() * rng.unit());
            let sockets = match flow.kind {
                Kind::Bulk => Sockets::Bulk {
                    listener: within(to.0, || {
                        let listener = TcpListener::bind(at)?;
                        listener.set_nonblocking(true)?;
                        Ok(listener)
                    })?,
                    to: at,
                    namespace: from.0.to_owned(),
                    sender: None,
                    receiver: None,
                },
                Kind::Datagrams { .. } => {
                    let receiver = within(to.0, || datagrams(at))?;
                    let sender = within(from.0, || datagrams(SocketAddrV4::new(from.1, port)))?;
                    sender.connect(at)?;
                    receiver.connect(SocketAddrV4::new(from.1, port))?;
                    Sockets::Datagrams { sender, receiver, next: start }
                }
            };
            runs.push(Run { flow: flow.clone(), start, sockets, counts: Counts::default() });
        }
        Ok(Traffic {
            runs,
            clock: Clock::start()?,
            buffers: Buffers { stream: vec![0; READ_BYTES], datagrams: Many::of(DATAGRAM_BYTES) },
        })
    }

    /// Lets the flows send until the measurement, which follows the warm-up, has ended.
    pub fn run(mut self, warmup_s: f64, duration_s: f64) -> Result<(), Fault> {
        let begin = Time::from_secs_f64(warmup_s);
        let end = begin + Time::from_secs_f64(duration_s);
        let marks = UnixDatagram::unbound()?;
        let mut measured = false;
        loop {
            let now = self.clock.now()?;
            if !measured && now >= begin {
                measured = true;
                marks.send_to(b"begin", MARKS)?;
                self.runs.iter_mut().for_each(|run| run.counts = Counts::default());
            }
            if now >= end {
                marks.send_to(b"end", MARKS)?;
                println!("RESULT {}", self.result(duration_s));
                return Ok(());
            }
            let mut next = if measured { end } else { begin };
            for run in &mut self.runs {
                next = next.min(run.send_due(now)?);
            }
            let descriptors: Vec<_> = self.runs.iter().flat_map(Run::descriptors).collect();
            let ready = wait(descriptors.iter().map(|(fd, flags, _)| (*fd, *flags)), next - now)?;
            let ready: Vec<Side> = descriptors
                .iter()
                .zip(ready)
                .map(|((.., side), ready)| if ready { *side } else { Side::Neither })
                .collect();
            let counts: Vec<usize> = self.runs.iter().map(|run| run.descriptors().count()).collect();
            let now = self.clock.now()?;
            let mut ready = ready.into_iter();
            for (run, count) in self.runs.iter_mut().zip(counts) {
                for side in ready.by_ref().take(count) {
                    run.proceed(side, now, &mut self.buffers)?;
                }
            }
        }
    }

    fn result(&mut self, duration_s: f64) -> Value {
        let flows: Vec<Value> = self.runs.iter_mut().map(|run| run.result(duration_s)).collect();
        json!({ "flows": flows })
    }
}

/// Which socket of a flow is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Listener,
    Sender,
    Receiver,
    Neither,
}

impl Run {
    fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags, Side)> {
        let found = match &self.sockets {
            Sockets::Bulk { listener, sender, receiver, .. } => [
                receiver.is_none().then(|| (listener.as_fd(), PollFlags::POLLIN, Side::Listener)),
                sender.as_ref().map(|sender| (sender.as_fd(), PollFlags::POLLOUT, Side::Sender)),
                receiver.as_ref().map(|receiver| (receiver.as_fd(), PollFlags::POLLIN, Side::Receiver)),
            ],
            Sockets::Datagrams { sender, receiver, .. } => [
                Some((receiver.as_fd(), PollFlags::POLLIN, Side::Receiver)),
                matches!(self.flow.kind, Kind::Datagrams { echo: true, .. })
                    .then(|| (sender.as_fd(), PollFlags::POLLIN, Side::Sender)),
                None,
            ],
        };
        found.into_iter().flatten()
    }

    /// Sends or connects if it is time to; returns when it is next.
    fn send_due(&mut self, now: Time) -> Result<Time, Fault> {
        match (&mut self.sockets, self.flow.kind) {
            (Sockets::Bulk { sender, to, namespace, .. }, _) => {
                if sender.is_some() {
                    return Ok(Time::MAX);
                }
                if self.start > now {
                    return Ok(self.start);
                }
                *sender = Some(within(namespace, || begin_connection(*to))?);
                Ok(Time::MAX)
            }
            (Sockets::Datagrams { sender, next, .. }, Kind::Datagrams { payload, interval, echo }) => {
                let mut bytes = vec![0; payload.max(STAMP_BYTES)];
                while *next <= now {
                    bytes[..8].copy_from_slice(&now.as_ns().to_ne_bytes());
                    self.counts.sent += 1;
                    match sender.send(&bytes[..payload.max(STAMP_BYTES)]) {
                        Ok(_) => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) => return Err(format!("{}: {error}", self.flow.label).into()),
                    }
                    *next += interval;
                }
                Ok(if echo { *next } else { Time::from_ns(next.as_ns().next_multiple_of(GRAIN.as_ns())) })
            }
            (Sockets::Datagrams { .. }, Kind::Bulk) => unreachable!("bulk has no datagrams"),
        }
    }

    /// Does what a socket that is ready allows.
    fn proceed(&mut self, side: Side, now: Time, buffers: &mut Buffers) -> Result<(), Fault> {
        let label = &self.flow.label;
        let fault = |error: std::io::Error| -> Fault { format!("{label}: {error}").into() };
        match (&mut self.sockets, side) {
            (_, Side::Neither) => {}
            (Sockets::Bulk { listener, receiver, .. }, Side::Listener) => {
                let (stream, _) = listener.accept().map_err(fault)?;
                stream.set_nonblocking(true)?;
                *receiver = Some(stream);
            }
            (Sockets::Bulk { sender: Some(sender), .. }, Side::Sender) => loop {
                match sender.write(&buffers.stream[..WRITE_BYTES]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(fault(error)),
                }
            },
            (Sockets::Bulk { receiver: Some(receiver), .. }, Side::Receiver) => loop {
                match receiver.read(&mut buffers.stream) {
                    Ok(0) => return Err(format!("{label}: the connection has ended").into()),
                    Ok(bytes) => self.counts.bytes += bytes as u64,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(fault(error)),
                }
            },
            (Sockets::Bulk { .. }, _) => {}
            (Sockets::Datagrams { sender, receiver, .. }, side) => {
                let echo = matches!(self.flow.kind, Kind::Datagrams { echo: true, .. });
                let socket = if side == Side::Sender { &*sender } else { &*receiver };
                let mut failure = Ok(0);
                let counts = &mut self.counts;
                buffers.datagrams.receive(socket, |datagram| {
                    if echo && side == Side::Receiver {
                        let sent = socket.send(datagram);
                        if sent.is_err() {
                            failure = sent;
                        }
                    } else if let Some(stamp) = datagram.first_chunk() {
                        counts.received += 1;
                        counts.bytes += datagram.len() as u64;
                        counts.delays.push(now - Time::from_ns(u64::from_ne_bytes(*stamp)));
                    }
                })?;
                failure.map_err(fault)?;
            }
        }
        Ok(())
    }

    fn result(&mut self, duration_s: f64) -> Value {
        let counts = &mut self.counts;
        counts.delays.sort_unstable();
        let count = counts.delays.len();
        let ms = |time: Time| time.as_secs_f64() * 1e3;
        let quantile = |share: f64| {
            counts.delays.get(((count as f64 * share) as usize).min(count.max(1) - 1)).map(|delay| ms(*delay))
        };
        let sum: f64 = counts.delays.iter().map(|delay| ms(*delay)).sum();
        json!({
            "label": self.flow.label,
            "station": self.flow.station,
            "direction": if self.flow.down { "down" } else { "up" },
            "kind": match self.flow.kind { Kind::Bulk => "bulk", Kind::Datagrams { echo: true, .. } => "ping", _ => "udp" },
            "goodput_mbps": counts.bytes as f64 * 8e-6 / duration_s,
            "sent": counts.sent,
            "received": counts.received,
            "delay_mean_ms": (count > 0).then(|| sum / count as f64),
            "delay_p50_ms": quantile(0.5),
            "delay_p95_ms": quantile(0.95),
            "delay_p99_ms": quantile(0.99),
        })
    }
}
