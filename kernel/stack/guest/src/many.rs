//! Receiving many messages by one system call. A system call is what costs most in user-mode Linux.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};

/// Messages per system call: as many as an A-MPDU of 802.11n or ac has frames.
const MESSAGES: usize = 64;

/// Buffers for messages.
pub struct Many {
    bytes: Vec<u8>,
    each: usize,
}

impl Many {
    /// Buffers for messages of at most `each` bytes.
    pub fn of(each: usize) -> Many {
        Many { bytes: vec![0; each * MESSAGES], each }
    }

    /// Passes all messages that have arrived to `each`.
    pub fn receive(&mut self, from: &impl AsFd, mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
        loop {
            let mut headers = MultiHeaders::<()>::preallocate(MESSAGES, None);
            let mut slices: Vec<_> =
                self.bytes.chunks_mut(self.each).map(|chunk| [IoSliceMut::new(chunk)]).collect();
            let fd = from.as_fd().as_raw_fd();
            let received = match recvmmsg(fd, &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None) {
                Ok(received) => received,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            };
            let mut count = 0;
            for message in received {
                count += 1;
                message.iovs().for_each(&mut each);
            }
            if count < MESSAGES {
                return Ok(());
            }
        }
    }
}
