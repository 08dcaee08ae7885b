//! A-MSDUs: several packets in one MPDU (802.11-2020, 9.3.2.2 and 10.11; `docs/medium.md`, section 12).

use crate::phy::{Band, Format};

/// DA, SA and length before each MSDU (9.3.2.2.2).
const SUBFRAME_HEADER_BYTES: u32 = 14;
/// Subframes but the last are padded to multiples of this.
const PADDING: u32 = 4;
/// Maximum length of an MPDU of VHT and later (Table 9-34).
const MAX_MPDU_BYTES: u32 = 11_454;
/// Maximum length of an MPDU of HT in an A-MPDU, whose delimiter has 12 bits for it (9.7.1).
const MAX_HT_MPDU_BYTES: u32 = 4_095;
/// Maximum length of an A-MSDU where the HT Capabilities element limits it.
const MAX_HT_BYTES: u32 = 7_935;

/// Lengths and limits of a link's A-MSDUs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amsdu {
    /// Maximum length; 0 where packets are not joined.
    max_bytes: u32,
    /// Bytes of an MPDU in addition to its body: MAC header, FCS and CCMP.
    frame_bytes: u32,
    /// Bytes of LLC and SNAP before each packet.
    llc_bytes: u32,
}

impl Amsdu {
    /// Of MPDUs with `frame_bytes` around a body and `llc_bytes` before each packet.
    pub fn new(max_bytes: u32, frame_bytes: u32, llc_bytes: u32) -> Amsdu {
        Amsdu { max_bytes, frame_bytes, llc_bytes }
    }

    /// The same for a link whose older end has PPDUs of `format`; `in_ampdus`: whether its MPDUs may be in A-MPDUs.
    pub fn of(self, format: Format, band: Band, in_ampdus: bool) -> Amsdu {
        let of_mpdu = |bytes: u32| bytes.saturating_sub(self.frame_bytes);
        let limit = match format {
            Format::Dsss | Format::Ofdm => 0,
            Format::Ht if in_ampdus => of_mpdu(MAX_HT_MPDU_BYTES),
            Format::Ht => MAX_HT_BYTES,
            Format::He if band == Band::Ghz2_4 => MAX_HT_BYTES,
            Format::Vht | Format::He | Format::Eht => of_mpdu(MAX_MPDU_BYTES),
        };
        Amsdu { max_bytes: self.max_bytes.min(limit), ..self }
    }

    /// Maximum length.
    pub fn max_bytes(&self) -> u32 {
        self.max_bytes
    }

    /// Whether packets are joined.
    pub fn joins(&self) -> bool {
        self.max_bytes > 0
    }

    /// Bytes before the next packet in the A-MSDU of an MPDU of `mpdu_bytes`, which is one if it `is_amsdu`.
    fn before_next(&self, mpdu_bytes: u32, is_amsdu: bool) -> u32 {
        let first_header = if is_amsdu { 0 } else { SUBFRAME_HEADER_BYTES };
        let so_far = mpdu_bytes - self.frame_bytes + first_header;
        so_far.next_multiple_of(PADDING) + SUBFRAME_HEADER_BYTES + self.llc_bytes
    }

    /// IP bytes of the longest packet that can join that MPDU, which may then have `max_mpdu_bytes`.
    pub fn room(&self, mpdu_bytes: u32, is_amsdu: bool, max_mpdu_bytes: u32) -> u32 {
        let max_bytes = self.max_bytes.min(max_mpdu_bytes.saturating_sub(self.frame_bytes));
        max_bytes.saturating_sub(self.before_next(mpdu_bytes, is_amsdu))
    }

    /// Length of that MPDU with another packet.
    pub fn with(&self, mpdu_bytes: u32, is_amsdu: bool, ip_bytes: u32) -> u32 {
        self.frame_bytes + self.before_next(mpdu_bytes, is_amsdu) + ip_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Subframe by subframe, as 9.3.2.2.2 draws it.
    fn plainly(packets: &[u32], frame_bytes: u32, llc_bytes: u32) -> u32 {
        if let [packet] = packets {
            return frame_bytes + llc_bytes + packet;
        }
        let mut body = 0;
        for (index, packet) in packets.iter().enumerate() {
            body += 14 + llc_bytes + packet;
            while index + 1 < packets.len() && body % 4 != 0 {
                body += 1;
            }
        }
        frame_bytes + body
    }

    proptest! {
        #[test]
        fn lengths_and_room(
            packets in prop::collection::vec(20u32..1_600, 1..40),
            frame_bytes in 20u32..60,
            llc_bytes in 0u32..10,
            max_bytes in 100u32..12_000,
            max_mpdu_bytes in 0u32..12_000,
        ) {
            let amsdu = Amsdu::new(max_bytes, frame_bytes, llc_bytes);
            let mut bytes = frame_bytes + llc_bytes + packets[0];
            for (joined, packet) in packets[1..].iter().enumerate() {
                bytes = amsdu.with(bytes, joined > 0, *packet);
            }
            prop_assert_eq!(bytes, plainly(&packets, frame_bytes, llc_bytes));
            let is_amsdu = packets.len() > 1;
            let room = amsdu.room(bytes, is_amsdu, max_mpdu_bytes);
            let limit = max_mpdu_bytes.min(frame_bytes + max_bytes);
            if room > 0 {
                prop_assert_eq!(amsdu.with(bytes, is_amsdu, room), limit);
            }
            prop_assert!(amsdu.with(bytes, is_amsdu, room + 1) > limit);
        }
    }

    #[test]
    fn limits_by_generation_and_band() {
        let amsdu = Amsdu::new(u32::MAX, 30, 8);
        let of = |format, band, in_ampdus| amsdu.of(format, band, in_ampdus).max_bytes();
        assert_eq!(of(Format::Ht, Band::Ghz5, true), 4_065);
        assert_eq!(of(Format::Ht, Band::Ghz2_4, false), 7_935);
        assert_eq!(of(Format::Vht, Band::Ghz5, true), 11_424);
        assert_eq!(of(Format::He, Band::Ghz2_4, true), 7_935);
        assert_eq!(of(Format::He, Band::Ghz6, true), 11_424);
        assert_eq!(of(Format::Eht, Band::Ghz2_4, true), 11_424);
        assert_eq!(of(Format::Ofdm, Band::Ghz5, true), 0);
        assert_eq!(Amsdu::new(3_000, 30, 8).of(Format::Eht, Band::Ghz5, true).max_bytes(), 3_000);
        assert!(!Amsdu::new(0, 30, 8).of(Format::Eht, Band::Ghz5, true).joins());
    }
}
