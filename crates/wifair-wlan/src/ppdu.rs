//! PPDUs of links with a Block Ack agreement: length and durations.

use wifair_core::Time;

use crate::phy::Mode;

/// The content of an exchange of a link with a Block Ack agreement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ppdu {
    /// Mode of the data rate, also for a Block Ack Request.
    pub mode: Mode,
    /// The control frames of the exchange: an index into those of the BSS.
    pub handshake: u8,
    /// Whether RTS and CTS precede it, unless it follows another in its TXOP.
    pub with_rts: bool,
    pub psdu_bytes: u32,
    /// Number of MPDUs; 0 for a Block Ack Request.
    pub mpdus: u32,
    /// Airtime of the PPDU, including a CTS-to-self.
    pub airtime: Time,
    /// Duration of a SIFS and the response.
    pub response: Time,
    /// Time for which the exchange occupies the medium, from RTS to response.
    pub occupied: Time,
    /// Overhead in addition, as far as known.
    pub overhead: Time,
}

impl Ppdu {
    /// A PPDU in `mode` without content.
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
