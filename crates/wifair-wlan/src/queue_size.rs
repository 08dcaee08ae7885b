//! How much a station says that it has to send, in the QoS Control field of its data frames (`docs/medium.md`, section 15).

use crate::node::EdcafId;

/// The size in the Queue Size subfield as the AP reads it, in bytes, between stations up to 802.11ac and an AP (802.11-2020,
/// 9.2.4.5.6): `queued` bytes without the MSDUs of the frame itself.
pub(crate) fn in_units(queued: u32) -> u32 {
    const UNIT: u32 = 256;
    const MOST: u32 = 253 * UNIT;
    if queued > MOST { MOST + 1 } else { queued.next_multiple_of(UNIT) }
}

/// The same from 802.11ax on (802.11ax-2021, 9.2.4.5.6), where `queued` includes the MSDUs of the PPDU.
pub(crate) fn scaled(queued: u32) -> u32 {
    const MOST: u32 = 148_480 + 61 * 32_768;
    let (base, unit) = match queued {
        0..=1_008 => (0, 16),
        1_009..=17_152 => (1_024, 256),
        17_153..=146_432 => (17_408, 2_048),
        146_433..=MOST => (148_480, 32_768),
        _ => return MOST + 1,
    };
    base + queued.saturating_sub(base).next_multiple_of(unit)
}

/// What the frames on the air say; only if a scheme of the AP asks for queue sizes.
#[derive(Debug)]
pub(crate) struct QueueSizes {
    /// By channel access function: bytes of MSDUs when the content of its last PPDU was fixed.
    queued: Vec<Option<u32>>,
}

impl QueueSizes {
    /// Of so many channel access functions.
    pub(crate) fn new(functions: usize) -> QueueSizes {
        QueueSizes { queued: vec![None; functions] }
    }

    /// Fixes what the PPDU of a channel access function says.
    pub(crate) fn set(&mut self, sender: EdcafId, queued: u32) {
        self.queued[sender.index()] = Some(queued);
    }

    /// What it says, unless it was on the air before anybody asked.
    pub(crate) fn of(&self, sender: EdcafId) -> Option<u32> {
        self.queued[sender.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least size that a scaling factor and an unscaled value can say and that is enough, by trying all.
    fn least_scaled(queued: u32) -> u32 {
        let sizes = (0..4).flat_map(|factor| {
            let (base, unit) = [(0, 16), (1_024, 256), (17_408, 2_048), (148_480, 32_768)][factor];
            (0..64 - 2 * u32::from(factor == 3)).map(move |value| base + unit * value)
        });
        sizes.filter(|size| *size >= queued).min().unwrap_or(2_147_329)
    }

    #[test]
    fn sizes_are_the_next_that_the_field_can_say() {
        for queued in (0..200_000).chain((200_000..2_300_000).step_by(97)).chain(2_147_320..2_147_340) {
            assert_eq!(scaled(queued), least_scaled(queued), "{queued}");
            let expected = (0..=253).map(|value| 256 * value).find(|size| *size >= queued).unwrap_or(64_769);
            assert_eq!(in_units(queued), expected, "{queued}");
        }
    }
}
