//! Generic netlink: messages of attributes (`include/uapi/linux/{netlink,genetlink}.h`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, sendto, setsockopt, socket,
    sockopt,
};

use crate::many::Many;

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
/// `GENL_ID_CTRL`, the family that knows the others.
const CONTROL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// Length of `nlmsghdr` and of `genlmsghdr`.
const HEADERS: usize = 20;
/// Room for a message with a frame.
const MESSAGE_BYTES: usize = 8_192;
/// Buffers of the socket: what a burst of A-MPDUs needs at most.
const SOCKET_BYTES: usize = 64 << 20;

const fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

/// Messages to be sent together. The kernel handles them in their order.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    begun: usize,
}

impl Batch {
    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Begins a message; [`Batch::end`] ends it.
    pub fn begin(&mut self, family: u16, command: u8) {
        self.begun = self.bytes.len();
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(family.to_ne_bytes());
        self.bytes.extend(NLM_F_REQUEST.to_ne_bytes());
        self.bytes.extend([0; 8]);
        self.bytes.extend([command, 1, 0, 0]);
    }

    /// Adds an attribute.
    pub fn put(&mut self, attribute: u16, value: &[u8]) {
        self.bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        self.bytes.extend(attribute.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(aligned(self.bytes.len()), 0);
    }

    /// Ends a message.
    pub fn end(&mut self) {
        let length = (self.bytes.len() - self.begun) as u32;
        self.bytes[self.begun..self.begun + 4].copy_from_slice(&length.to_ne_bytes());
    }
}

/// A message that was received.
pub enum Message<'a> {
    /// A command with its attributes.
    Command(u8, Attributes<'a>),
    /// The kernel refuses a message that was sent.
    Refusal,
}

/// The attributes of a message.
#[derive(Clone, Copy)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// All attributes: type and value.
    pub fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let [low, high, kind_low, kind_high, ..] = *rest else { return None };
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let value = rest.get(4..length)?;
            rest = rest.get(aligned(length)..).unwrap_or_default();
            Some((u16::from_ne_bytes([kind_low, kind_high]) & 0x3fff, value))
        })
    }
}

/// A socket of generic netlink.
pub struct Socket {
    fd: OwnedFd,
    buffers: Many,
}

impl Socket {
    /// Opens a socket that does not block.
    pub fn open() -> Result<Socket, Errno> {
        let kind = (AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC);
        let fd = socket(kind.0, kind.1, kind.2, SockProtocol::NetlinkGeneric)?;
        setsockopt(&fd, sockopt::RcvBufForce, &SOCKET_BYTES)?;
        setsockopt(&fd, sockopt::SndBuf, &SOCKET_BYTES)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Socket { fd, buffers: Many::of(MESSAGE_BYTES) })
    }

    /// The number of the family `name`.
    pub fn family(&mut self, name: &str) -> Result<u16, String> {
        let mut batch = Batch::default();
        batch.begin(CONTROL, CTRL_CMD_GETFAMILY);
        batch.put(CTRL_ATTR_FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
        batch.end();
        self.send(&mut batch).map_err(|errno| errno.to_string())?;
        let mut family = None;
        self.receive(|message| match message {
            Message::Command(_, attributes) => {
                let id = attributes.iter().find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID);
                family = id.and_then(|(_, value)| Some(u16::from_ne_bytes(value.try_into().ok()?)));
            }
            Message::Refusal => {}
        })
        .map_err(|errno| errno.to_string())?;
        family.ok_or_else(|| format!("the kernel has no netlink family {name}"))
    }

    /// Sends the messages, and empties the batch. The kernel has handled them when this returns.
    pub fn send(&self, batch: &mut Batch) -> Result<(), Errno> {
        let sent = sendto(self.fd.as_raw_fd(), &batch.bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty());
        batch.bytes.clear();
        sent.map(drop)
    }

    /// Passes all messages that have arrived to `each`.
    pub fn receive(&mut self, mut each: impl FnMut(Message)) -> Result<(), Errno> {
        self.buffers.receive(&self.fd, |received| split(received, &mut each))
    }
}

/// Splits what was received into its messages.
fn split(received: &[u8], each: &mut impl FnMut(Message)) {
    let mut rest = received;
    while let Some(header) = rest.get(..16) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(message) = rest.get(..length) else { break };
        match u16::from_ne_bytes([header[4], header[5]]) {
            NLMSG_ERROR => {
                // Code 0 is an acknowledgement.
                if message.get(16..20).is_some_and(|code| code != [0; 4]) {
                    each(Message::Refusal);
                }
            }
            _ => {
                if let Some(attributes) = message.get(HEADERS..) {
                    each(Message::Command(message[16], Attributes(attributes)));
                }
            }
        }
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
