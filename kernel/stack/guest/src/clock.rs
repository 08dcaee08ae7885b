//! The guest's clock, and waiting on it. In virtual time neither system calls nor computing take any.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use wifair_core::Time;

/// A clock that starts at zero.
pub struct Clock {
    start: u64,
}

fn monotonic() -> Result<u64, Errno> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

impl Clock {
    /// Starts the clock, and turns off the slack of this thread's timers.
    pub fn start() -> Result<Clock, Errno> {
        set_timerslack(1)?;
        Ok(Clock { start: monotonic()? })
    }

    /// The time since the start.
    pub fn now(&self) -> Result<Time, Errno> {
        Ok(Time::from_ns(monotonic()? - self.start))
    }
}

/// Waits until a descriptor is ready, or for `at_most`; says which are ready.
pub fn wait<'a>(
    descriptors: impl Iterator<Item = (BorrowedFd<'a>, PollFlags)>,
    at_most: Time,
) -> Result<Vec<bool>, Errno> {
    let mut polled: Vec<_> = descriptors.map(|(fd, flags)| PollFd::new(fd, flags)).collect();
    let timeout = (at_most < Time::MAX).then(|| {
        let ns = at_most.as_ns();
        TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
    });
    match ppoll(&mut polled, timeout, None) {
        Ok(_) | Err(Errno::EINTR) => Ok(polled.iter().map(|fd| fd.any().unwrap_or(false)).collect()),
        Err(errno) => Err(errno),
    }
}
