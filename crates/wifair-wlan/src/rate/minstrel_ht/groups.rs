//! Modes in groups of one width, guard interval and number of streams, and how long an MPDU of the reference length lasts
//! in each. All integers are rounded as in the kernel's table.

use crate::phy::{Format, Modes, OnAir, RateIndex};

/// MPDU of the reference length, without FCS.
const PACKET_BYTES: u32 = 1_200;
const FCS_BYTES: u32 = 4;
/// The kernel's durations are a sixteenth of those of so many MPDUs.
const TABLE_MPDUS: u32 = 16;

/// A mode by its group and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModePlace {
    pub group: u8,
    /// The MCS, in HT that with one stream; before 802.11n counted from the slowest rate.
    pub slot: u8,
}

impl ModePlace {
    /// The slowest mode of a group.
    pub(super) fn slowest(group: usize) -> ModePlace {
        ModePlace { group: group as u8, slot: 0 }
    }
}

/// What is fixed of a mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub index: RateIndex,
    /// Duration of an MPDU of the reference length within an A-MPDU, or before 802.11n of a frame with that much.
    pub duration_ns: u32,
}

/// Modes of one width, guard interval and number of streams.
#[derive(Debug)]
pub(super) struct Group {
    pub streams: u8,
    /// By slot; some MCSs of 802.11ac are excluded.
    pub modes: Vec<Option<Reference>>,
}

/// The groups of a link, in the order in which [`Modes::groups`] has them.
pub(super) fn groups(modes: &Modes) -> Vec<Group> {
    let of = |indices: &Vec<RateIndex>| {
        let on_air = indices.iter().map(|&index| (index, modes.on_air(index)));
        let durations: Vec<_> =
            on_air.map(|(index, on_air)| (index, slot(index, &on_air), exact_ns(&on_air))).collect();
        let longest = durations[0].2;
        let slots = durations.iter().map(|&(_, slot, _)| slot + 1).max().unwrap_or_default();
        let mut group = Group { streams: modes.on_air(indices[0]).mode.streams, modes: vec![None; slots] };
        // Durations are kept in 16 bits, scaled by the group's longest.
        let shift = 16u32.saturating_sub(longest.leading_zeros());
        for (index, slot, exact) in durations {
            group.modes[slot] = Some(Reference { index, duration_ns: exact >> shift << shift });
        }
        group
    };
    modes.groups().iter().map(of).collect()
}

fn slot(index: RateIndex, on_air: &OnAir) -> usize {
    match on_air.mode.format {
        Format::Dsss | Format::Ofdm => usize::from(index.0),
        Format::Ht => usize::from(on_air.mode.mcs % 8),
        _ => usize::from(on_air.mode.mcs),
    }
}

fn exact_ns(on_air: &OnAir) -> u32 {
    let mode = &on_air.mode;
    let kbps = mode.rate.as_kbps();
    let frame_bits = 8 * (PACKET_BYTES + FCS_BYTES);
    match mode.format {
        // SIFS, long preamble and header, data.
        Format::Dsss => 1_000 * (10 + 144 + 48 + frame_bits * 1_000 / kbps),
        // SIFS and signal extension, preamble, SIGNAL, data. The kernel counts a tenth of the SERVICE and tail bits.
        Format::Ofdm => 1_000 * (16 + 16 + 4 + 4 * ((16 + 10 * frame_bits + 6) / (kbps / 25))),
        _ => {
            let streams = u32::from(mode.streams);
            let data_bits = on_air.data_bits() / streams * streams;
            let symbols = (8 * PACKET_BYTES * TABLE_MPDUS).div_ceil(data_bits);
            let guard_interval_ns = u32::from(mode.guard_interval_ns);
            let of_symbols = match (mode.format, guard_interval_ns) {
                (Format::Ht | Format::Vht, 400) => symbols * 3_600 + 800,
                (Format::Ht | Format::Vht, _) => symbols * 4_000,
                _ => symbols * (12_800 + guard_interval_ns),
            };
            of_symbols / TABLE_MPDUS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{PhySpec, StationPhy};

    fn groups_of(phy: serde_json::Value) -> Vec<Group> {
        let phy: PhySpec = serde_json::from_value(phy).unwrap();
        groups(&phy.modes(&StationPhy::default(), "phy").unwrap())
    }

    fn durations(group: &Group) -> Vec<u32> {
        group.modes.iter().map(|mode| mode.map_or(0, |mode| mode.duration_ns)).collect()
    }

    /// The kernel's table, by hand: 16 · 9,600 bits at 26 bits per symbol of 4 µs are 5,908 symbols, a sixteenth of which
    /// is 1,477 µs; that has 21 bits, of which the upper 16 are kept.
    #[test]
    fn durations_by_hand() {
        let of_ht = groups_of(serde_json::json!({"name": "802.11n"}));
        assert_eq!(durations(&of_ht[0])[0], 1_477_000 / 32 * 32);
        assert_eq!(durations(&of_ht[0])[7], 147_750 / 32 * 32); // 591 symbols
        let of_a = groups_of(serde_json::json!({"name": "802.11a"}));
        assert_eq!(durations(&of_a[0])[0], 1_640_000 / 32 * 32); // 401 symbols
        assert_eq!(durations(&of_a[0])[7], 212_000 / 32 * 32); // 44 symbols
        let of_b = groups_of(serde_json::json!({"name": "802.11b"}));
        assert_eq!(
            durations(&of_b[0]),
            [9_834_000, 5_018_000, 1_953_000, 1_077_000].map(|ns| ns / 256 * 256)
        );
    }

    #[test]
    fn groups_in_the_kernels_order() {
        let wide =
            serde_json::json!({"name": "802.11n", "width_mhz": 40, "streams": 2, "guard_interval_ns": 400});
        let phy: PhySpec = serde_json::from_value(wide).unwrap();
        let modes = phy.modes(&StationPhy::default(), "phy").unwrap();
        let key = |group: &Vec<RateIndex>| {
            let mode = modes.on_air(group[0]).mode;
            (mode.width_mhz, mode.guard_interval_ns, mode.streams, mode.mcs)
        };
        let expected = [
            (20, 800, 1, 0),
            (20, 800, 2, 8),
            (20, 400, 1, 0),
            (20, 400, 2, 8),
            (40, 800, 1, 0),
            (40, 800, 2, 8),
            (40, 400, 1, 0),
            (40, 400, 2, 8),
        ];
        assert_eq!(modes.groups().iter().map(key).collect::<Vec<_>>(), expected);
        assert_eq!(modes.count(), 8, "the link's own are those of the last group");
        assert_eq!(modes.on_air(RateIndex(7)).mode.mcs, 15);
    }

    /// MCS 9 at 20 MHz is VHT's with three streams alone, MCS 6 at 80 MHz with any number but three.
    #[test]
    fn excluded_modes_leave_their_slot_empty() {
        let of_vht = groups_of(serde_json::json!({"name": "802.11ac", "streams": 3}));
        assert_eq!(of_vht.len(), 9);
        let has = |group: usize, slot: usize| of_vht[group].modes.get(slot).is_some_and(Option::is_some);
        assert_eq!([0, 1, 2].map(|group| has(group, 9)), [false, false, true]);
        assert_eq!([6, 7, 8].map(|group| has(group, 6)), [true, true, false]);
    }
}
