//! Beacons of the access points of a field (`docs/medium.md`, sections 13 and 16): when they wait, begin and end.

use wifair_core::Time;

use super::beacons::{BeaconsInField, SentBeacon};
use super::frame::{ExchangeStep, FieldFrame};
use super::journal::{FieldReception, HeardFrame};
use super::noting::note;
use super::{Field, FieldEvent};
use crate::records::BeaconUsage;

impl Field {
    /// The beacons of a BSS that have been sent, without the airtime of one on the air.
    pub(crate) fn beacon_usage(&self, bss: usize) -> BeaconUsage {
        self.beacons.get(bss).map_or_else(BeaconUsage::default, |beacons| beacons.usage)
    }

    /// A target time of a BSS has come: another beacon waits, in place of one that has waited until now.
    pub(crate) fn reach_target(&mut self, bss: usize, now: Time) {
        let BeaconsInField { ap, waits, is_on_air, .. } = &mut self.beacons[bss];
        let (ap, is_first) = (*ap, !std::mem::replace(waits, true) && !*is_on_air);
        if is_first {
            self.arrive_at(ap, self.numbering.per_node(), now);
            self.settle();
        }
    }

    /// The beacon of an access point that has won access for it.
    pub(super) fn send_beacon(&mut self, ap: usize, now: Time) -> FieldFrame {
        let bss = self.bss_of[ap];
        self.take_opportunity(ap, now);
        self.occupancies[bss].begin(ap, ap, now);
        let BeaconsInField { mode, duration, waits, is_on_air, usage, .. } = &mut self.beacons[bss];
        (*waits, *is_on_air) = (false, true);
        usage.sent += 1;
        let (mode, duration) = (*mode, *duration);
        self.frame(ExchangeStep::Beacon, (ap, ap), duration, &mode, &mode, now)
    }

    /// A beacon has ended, which nodes that are listened to have `heard`. Its sender contends with the next, if there is one.
    pub(super) fn end_beacon(
        &mut self,
        frame: &FieldFrame,
        heard: Vec<HeardFrame>,
        now: Time,
        events: &mut Vec<FieldEvent>,
    ) {
        let FieldFrame { from: ap, begins, ends, .. } = *frame;
        let bss = self.bss_of[ap];
        let missed = self.receivers.missed_beacon(frame);
        let alone = self.occupancies[bss].end(ap, begins, now).map_or(Time::ZERO, |occupied| occupied.alone);
        let BeaconsInField { waits, is_on_air, usage, .. } = &mut self.beacons[bss];
        *is_on_air = false;
        usage.airtime += alone;
        usage.collided += u64::from(missed > 0);
        let more = *waits;
        self.meters[bss].usage.beacons_missed += missed as u64;
        self.receivers.follow_counters(ap, &self.frames, &mut self.nodes, &self.rules);
        self.nodes[ap].backoffs[self.numbering.per_node()].go_on(&self.rules.contention, more);
        if self.journal.is_some() {
            let reception = FieldReception {
                is_decoded: missed == 0,
                is_unanswered: false,
                has_same_start: frame.disturbed.same_start,
            };
            note(self, frame, Some(reception), heard);
        }
        events.push(FieldEvent::Beacon(SentBeacon { ap, begins, ends, missed }));
    }
}
