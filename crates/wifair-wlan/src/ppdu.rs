//! What a link with a Block Ack agreement has on the air, seen from outside: its length and its times.

use wifair_core::Time;

use crate::phy::Mode;

/// What a link with a Block Ack agreement sends in an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ppdu {
    /// The data rate's, of a Block Ack Request too.
    pub mode: Mode,
    /// The control frames that go with it: an index into those of the BSS.
    pub handshake: u8,
    /// Whether RTS and CTS go before it, unless it follows another of its TXOP.
    pub with_rts: bool,
    pub psdu_bytes: u32,
    /// 0: it is a Block Ack Request.
    pub mpdus: u32,
    /// Of the PPDU, with the CTS-to-self that may go before it.
    pub airtime: Time,
    /// A SIFS and what answers it.
    pub response: Time,
    /// What its exchange occupies, from RTS to response.
    pub occupied: Time,
    /// What it took in addition, as far as known.
    pub overhead: Time,
}

impl Ppdu {
    /// Of `mode`, yet without anything.
    pub(crate) fn of(mode: Mode) -> Ppdu {
        Ppdu {
            mode,
            handshake: 0,
            with_rts: false,
            psdu_bytes: 0,
            mpdus: 0,
            airtime: Time::ZERO,
            response: Time::ZERO,
            occupied: Time::ZERO,
            overhead: Time::ZERO,
        }
    }

    /// Whether it is a Block Ack Request.
    pub(crate) fn is_request(&self) -> bool {
        self.mpdus == 0
    }
}
