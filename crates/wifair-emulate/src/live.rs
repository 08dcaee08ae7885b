//! The real-time loop: model time follows `CLOCK_MONOTONIC`. A single thread does everything, so packets from devices and
//! events of the BSS have one order, and no time is spent on hand-over between threads. It sleeps in `epoll_wait`, woken by
//! devices and by a timer for the next event.
//!
//! An event is due at its model time and is handled as soon afterwards as the machine allows. Its consequences are computed
//! from model time, so lateness does not accumulate. A packet enters at the time at which it is read.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clock, clock_gettime};
use wifair_core::Time;

use crate::address::Host;
use crate::guest::{DEVICE, Guest, QUEUE};
use crate::lateness::{Lateness, Tolerance};
use crate::network::{CounterReading, EmulatedNetwork, Outlet};

/// Maximum number of packets read from one device before events and other devices are handled.
const BURST: usize = 64;
/// Maximum length of a packet that is read, in bytes: more than the devices' MTU.
const LONGEST: usize = 4096;
/// Longest sleep, so that a standstill is noticed if nothing else was due.
const BEAT: Time = Time::from_ms(10);

/// Marks the timer among the files of `epoll`.
const TIMER: u64 = u64::MAX;
const ENDED: u64 = u64::MAX - 1;
const ORDERS: u64 = u64::MAX - 2;

/// Nanoseconds since the start of a run.
struct RealTime(Duration);

fn clock() -> Duration {
    Duration::from(clock_gettime(Clock::CLOCK_MONOTONIC).expect("every Linux has this clock"))
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
pub struct Watches {
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer expires.
    armed: Time,
    spin: Time,
}

impl Watches {
    /// The devices of `guests`, a pipe that is readable when the command has `ended`, and one for `orders`. `spin` before an
    /// event is spent waiting actively.
    ///
    /// # Errors
    /// Returns the system call that failed.
    pub fn new(
        guests: &[Guest],
        ended: BorrowedFd,
        orders: BorrowedFd,
        spin: Time,
    ) -> Result<Watches, String> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(fault("epoll_create1"))?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).map_err(fault("timerfd_create"))?;
        let watch = |file: BorrowedFd, data: u64| {
            epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, data)).map_err(fault("epoll_ctl"))
        };
        for (number, guest) in (0..).zip(guests) {
            watch(guest.device.as_fd(), number)?;
        }
        watch(timer.as_fd(), TIMER)?;
        watch(ended, ENDED)?;
        watch(orders, ORDERS)?;
        set_timerslack(1).map_err(fault("timer slack"))?;
        Ok(Watches { epoll, timer, armed: Time::MAX, spin })
    }

    /// Waits until `until`, or until a file is ready; returns the number of ready files.
    fn wait(&mut self, until: Time, clock: &RealTime, ready: &mut [EpollEvent]) -> Result<usize, String> {
        let wake = Time::from_ns(until.as_ns().saturating_sub(self.spin.as_ns()));
        let timeout = if wake > clock.now() { EpollTimeout::NONE } else { EpollTimeout::ZERO };
        if timeout.is_none() && wake != self.armed {
            let at = Expiration::OneShot(clock.absolute(wake));
            self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME).map_err(fault("timerfd_settime"))?;
            self.armed = wake;
        }
        match self.epoll.wait(ready, timeout) {
            Ok(count) => Ok(count),
            Err(Errno::EINTR) => Ok(0),
            Err(error) => Err(fault("epoll_wait")(error)),
        }
    }

    /// Handles the expired timer.
    fn expired(&mut self) {
        self.armed = Time::MAX;
        let _none_yet = self.timer.wait();
    }
}

fn fault(what: &'static str) -> impl Fn(Errno) -> String {
    move |error| format!("{what}: {}", error.desc())
}

/// What is measured, and the length of the run.
#[derive(Clone, Copy)]
pub struct Span {
    /// Start of the measurement.
    pub warmup: Time,
    /// End of the run, unless it ends earlier.
    pub end: Time,
    /// When a run is invalid.
    pub tolerance: Tolerance,
}

/// The counters and this thread's processor time at an instant.
pub struct Mark {
    /// The network's counters.
    pub counted: CounterReading,
    /// The time for which this thread has had a processor.
    pub processor: Time,
}

impl Mark {
    /// Reads them now.
    pub fn now(network: &EmulatedNetwork) -> Mark {
        let used = clock_gettime(Clock::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
        Mark { counted: network.counted(), processor: Time::from_ns(Duration::from(used).as_nanos() as u64) }
    }
}

/// End of a run.
pub struct RunEnd {
    /// `command`, `duration` or `order`.
    pub reason: &'static str,
    /// The start of the measurement: the end of the run if it ended before the warm-up.
    pub before: Mark,
    /// Lateness of what was measured.
    pub lateness: Lateness,
}

/// The engine's side of the hosts' devices.
pub struct Live<'a> {
    clock: RealTime,
    guests: &'a [Guest],
    span: Span,
    /// Recorded from the start of the measurement on.
    measured: Option<(Mark, Lateness)>,
}

impl Outlet for Live<'_> {
    fn exchange(&mut self, due: Time) {
        if let Some((_, lateness)) = &mut self.measured {
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

impl<'a> Live<'a> {
    /// Real time starts now.
    pub fn start(guests: &'a [Guest], span: Span) -> Live<'a> {
        Live { clock: RealTime::start(), guests, span, measured: None }
    }

    /// Runs until the span's end, the end of the command or an order. `each_second` is called with the time.
    ///
    /// # Errors
    /// Returns the system call that failed, or the interface that has disappeared.
    pub fn run(
        mut self,
        network: &mut EmulatedNetwork,
        mut watches: Watches,
        mut each_second: impl FnMut(Time),
    ) -> Result<RunEnd, String> {
        let Span { warmup, end, tolerance } = self.span;
        let mut ready = [EpollEvent::empty(); 32];
        let (mut next_second, mut beat) = (Time::from_s(1), BEAT);
        let reason = 'run: loop {
            network.advance(self.clock.now().min(end), &mut self);
            let now = self.clock.now();
            if self.measured.is_none() && now >= warmup {
                self.measured = Some(begin(network, tolerance));
            }
            if now >= end {
                break "duration";
            }
            if now >= next_second {
                each_second(now);
                next_second = now + Time::from_s(1);
            }
            if now >= beat {
                beat = now + BEAT;
            }
            let warmup = if self.measured.is_none() { warmup } else { Time::MAX };
            let until = network.next_event().min(next_second).min(beat).min(end).min(warmup);
            let count = watches.wait(until, &self.clock, &mut ready)?;
            self.awake(until);
            for event in &ready[..count] {
                match event.data() {
                    TIMER => watches.expired(),
                    ENDED => break 'run "command",
                    ORDERS => break 'run "order",
                    guest => {
                        self.read(network, guest as usize)?;
                    }
                }
            }
        };
        // What hosts had sent when the run ended.
        for guest in 0..self.guests.len() {
            let mut bursts = 0..=QUEUE as usize / BURST; // other programs may be sending still
            while bursts.next().is_some() && self.read(network, guest)? {}
        }
        network.advance(self.clock.now().min(end), &mut self);
        let (before, lateness) = self.measured.unwrap_or_else(|| begin(network, tolerance));
        Ok(RunEnd { reason, before, lateness })
    }

    /// Records the time since `until`, at which the engine had to be awake.
    fn awake(&mut self, until: Time) {
        if let Some((_, lateness)) = &mut self.measured {
            lateness.handled(until, self.clock.now().min(self.span.end));
        }
    }

    /// Reads packets that a host has sent; returns whether there may be more.
    fn read(&mut self, network: &mut EmulatedNetwork, guest: usize) -> Result<bool, String> {
        let mut bytes = [0; LONGEST];
        for _ in 0..BURST {
            let Guest { host, name, device, .. } = &self.guests[guest];
            let length = match device.recv(&mut bytes) {
                Ok(length) => length,
                Err(error) => return unread(&error).map_or(Ok(false), |why| Err(format!("{name}: {why}"))),
            };
            let now = self.clock.now();
            if now >= self.span.end {
                return Ok(false);
            }
            let host = *host;
            network.advance(now, self);
            network.send(host, &bytes[..length]);
        }
        Ok(true)
    }
}

/// The start of a measurement.
fn begin(network: &EmulatedNetwork, tolerance: Tolerance) -> (Mark, Lateness) {
    let mark = Mark::now(network);
    let lateness = Lateness::new(tolerance, mark.counted.at());
    (mark, lateness)
}

/// Why no packet can be read from a device; `None` if there only is none.
fn unread(error: &io::Error) -> Option<String> {
    match (error.kind(), error.raw_os_error().map(Errno::from_raw)) {
        (io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted, _) => None,
        (_, Some(Errno::EBADFD)) => Some(format!("the interface {DEVICE} has disappeared")),
        _ => Some(format!("the interface {DEVICE} cannot be read: {error}")),
    }
}
