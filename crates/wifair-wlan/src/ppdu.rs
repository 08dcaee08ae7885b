//! PPDUs: content and durations.

use wifair_core::Time;

use crate::phy::{Mode, OnAir};

/// A PPDU and its exchange. A single frame is a PPDU of one MPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ppdu {
    /// Mode of the data rate, also for a Block Ack Request.
    pub mode: Mode,
    /// The control frames of the exchange: an index into those of the BSS.
    pub control: u8,
    /// Whether RTS and CTS precede it, unless it follows another in its TXOP.
    pub with_rts: bool,
    pub psdu_bytes: u32,
    /// Minimum distance between the starts of two subframes of an A-MPDU.
    pub spacing_bytes: u32,
    /// Number of MPDUs; 0 for a Block Ack Request.
    pub mpdus: u32,
    /// Airtime of the PPDU, including a CTS-to-self.
    pub airtime: Time,
    /// Duration of a SIFS and the response.
    pub response: Time,
}

impl Ppdu {
    /// A PPDU of `mpdus` MPDUs to which a response of that duration is given, with its SIFS.
    #[inline(always)] // into the usual exchange
    pub(crate) fn new(on_air: &OnAir, psdu_bytes: u32, mpdus: u32, response: Time) -> Ppdu {
        Ppdu {
            mode: on_air.mode,
            control: on_air.control,
            with_rts: psdu_bytes > on_air.rts_threshold,
            psdu_bytes,
            spacing_bytes: 0,
            mpdus,
            airtime: on_air.duration(psdu_bytes),
            response,
        }
    }

    /// A single frame.
    #[inline(always)] // into the usual exchange
    pub(crate) fn of_frame(on_air: &OnAir, psdu_bytes: u32) -> Ppdu {
        Ppdu::new(on_air, psdu_bytes, 1, on_air.acknowledgement)
    }

    /// A PPDU of so many bytes and MPDUs, with so much spacing, that was formed before, perhaps in another mode. An ACK answers
    /// it if it has one MPDU.
    pub(crate) fn in_mode(
        on_air: &OnAir,
        (psdu_bytes, mpdus): (u32, u32),
        spacing_bytes: u32,
        block_ack: Time,
    ) -> Ppdu {
        let response = if mpdus == 1 { on_air.acknowledgement } else { block_ack };
        Ppdu { spacing_bytes, ..Ppdu::new(on_air, psdu_bytes, mpdus, response) }
    }

    /// Placeholder before the first PPDU.
    pub(crate) fn none() -> Ppdu {
        Ppdu {
            mode: Mode::none(),
            control: 0,
            with_rts: false,
            psdu_bytes: 0,
            spacing_bytes: 0,
            mpdus: 0,
            airtime: Time::ZERO,
            response: Time::ZERO,
        }
    }

    /// Whether it is a Block Ack Request.
    pub(crate) fn is_request(&self) -> bool {
        self.mpdus == 0
    }
}
