//! What a node makes of the channels of 20 MHz.

use super::{Exchange, Field, OnAir};
use crate::oracle::field::flaw::Flaw;
use crate::oracle::field::powers::{Units, units};
use crate::oracle::frame::{Content, Kind, NodeId};
use crate::oracle::mode::Generation;

impl Field {
    /// The channels of 20 MHz in which a node must receive a frame to decode it.
    pub(super) fn judged(&self, OnAir { frame, subchannels, .. }: &OnAir, node: NodeId) -> Vec<u16> {
        let own = &self.receivers[node].channel;
        let is_one = match frame.kind {
            Kind::Data => self.has(Flaw::JudgedInPrimary),
            _ => !self.has(Flaw::DuplicatesInAll),
        };
        match is_one {
            true => vec![own[0]],
            false => own.iter().copied().filter(|subchannel| subchannels.contains(subchannel)).collect(),
        }
    }

    /// Whether a node can decode frames of the width of this one.
    pub(super) fn fits(&self, on_air: &OnAir, node: NodeId) -> bool {
        let Some(split) = &self.keys.split else { return true };
        let (bss, _) = self.homes[node];
        let own = &self.receivers[node].channel;
        let is_its = |width_mhz: &usize| {
            let part = split.primary(bss, *width_mhz as u32);
            part.len() <= own.len() && part == on_air.subchannels
        };
        let of_channel = split.channel(bss).len() * 20;
        let mut widths_mhz = [20, 40, 80, 160, 320].into_iter().filter(|&width_mhz| width_mhz <= of_channel);
        on_air.frame.kind != Kind::Data
            || self.has(Flaw::DecodesAllWidths)
            || widths_mhz.any(|width| is_its(&width))
    }

    /// Whether a secondary channel of a node is busy.
    fn is_busy_in(&self, node: NodeId, secondary: &[u16]) -> bool {
        let split = self.keys.split.as_ref().expect("it has secondary channels");
        let doublings = f64::from((secondary.len() as u32).ilog2());
        let primary = self.receivers[node].channel[0];
        let sum = |on_air: &OnAir| -> Units {
            secondary.iter().map(|&subchannel| self.power_in(on_air, node, subchannel)).sum()
        };
        let more = if self.has(Flaw::OneSecondaryEnergy) { 0.0 } else { 3.0 * doublings };
        let energy: Units = self.on_air.iter().filter(|on_air| on_air.from != node).map(sum).sum();
        let is_loud =
            energy >= units(self.keys.energy_detection_dbm + more) && !self.has(Flaw::NoSecondaryEnergy);
        let is_detected = |on_air: &OnAir| {
            let occupied =
                secondary.iter().filter(|subchannel| on_air.subchannels.contains(subchannel)).count();
            let counts = !on_air.subchannels.contains(&primary) || self.has(Flaw::PrimaryFramesDetected);
            let more = match occupied {
                0 => return false,
                1 | 2 => 0.0,
                4 => 3.0,
                _ => 6.0,
            };
            counts && sum(on_air) >= units(split.secondary_detection_dbm + more) && sum(on_air) > 0
        };
        is_loud || (!self.has(Flaw::SecondaryEnergyAlone) && self.on_air.iter().any(is_detected))
    }

    /// So many steps have passed in the secondary channels of all nodes.
    pub(super) fn count_idle_secondaries(&mut self, steps: u32) {
        for node in 0..self.receivers.len() {
            for i in 0..self.receivers[node].secondaries.len() {
                let is_busy = self.is_busy_in(node, &self.receivers[node].secondaries[i].0);
                let (_, idle) = &mut self.receivers[node].secondaries[i];
                *idle = if is_busy { 0 } else { idle.saturating_add(steps) };
            }
        }
    }

    /// The greatest width, up to that one, whose secondary channels have been idle for so many steps each.
    fn idle_width(&self, idle: &[u32], width_mhz: u32) -> u32 {
        let rules = &self.cells[0].rules;
        let pifs = if self.has(Flaw::NoPifs) { 1 } else { rules.sifs + rules.slot };
        let all = self.has(Flaw::NoSecondaryCca);
        let wanted = (width_mhz / 20).ilog2() as usize;
        20 << idle.iter().take(wanted).take_while(|&&steps| steps >= pifs || all).count()
    }

    /// Whether a node that has won access transmits: in a channel that is as wide as it may be.
    pub(super) fn finds_width(&mut self, node: NodeId) -> bool {
        let Some(split) = self.keys.split.clone() else { return true };
        if self.node(node).sends_beacon() {
            return true;
        }
        let Some(to) = self.node(node).has_won_access_to() else { return true };
        let wanted = self.node(node).width_to(to);
        let idle: Vec<u32> = self.receivers[node].secondaries.iter().map(|(_, steps)| *steps).collect();
        let found = self.idle_width(&idle, wanted);
        if found == wanted || split.is_dynamic {
            self.node(node).widest_mhz = Some(found);
            return true;
        }
        if self.has(Flaw::WidensWindow) {
            self.node(node).widens();
        }
        let at_once = self.has(Flaw::BacksOffAtOnce);
        self.node(node).backs_off_again(at_once);
        false
    }

    /// The width of the CTS by which the addressee of an RTS, which it has decoded, may answer it for its secondary channels;
    /// none, if it may not. When it locked to the RTS they had been idle for `lock` steps each.
    pub(super) fn width_of_cts(&self, node: NodeId, rts: &OnAir, lock: &[u32]) -> Option<u32> {
        let of_rts = self.exchanges[rts.exchange].width_mhz;
        let Some(split) = &self.keys.split else { return Some(of_rts) };
        let tells = |generation| generation > Generation::Ht || self.has(Flaw::HtTellsWidth);
        let is_told = self.exchanges[rts.exchange].generation.is_some_and(tells);
        if !is_told || self.has(Flaw::CtsDespiteSecondaries) {
            return Some(of_rts);
        }
        let now: Vec<u32> = self.receivers[node].secondaries.iter().map(|(_, steps)| *steps).collect();
        let idle = if self.has(Flaw::SecondariesAtEndOfRts) { &now } else { lock };
        let found = self.idle_width(idle, of_rts);
        let may_narrow = split.is_dynamic != self.has(Flaw::CtsOfOneWidth);
        (found == of_rts || may_narrow).then_some(found)
    }

    /// A sender has decoded the CTS of an exchange: what it sends is as wide as that.
    pub(super) fn follow_cts(&mut self, node: NodeId, exchange: usize) {
        let Exchange { bss, receiver, attempt, has_agreement, width_mhz, .. } = self.exchanges[exchange];
        if width_mhz >= self.node(node).present_width_to(receiver) {
            return;
        }
        if self.has(Flaw::WiderThanCts) {
            self.exchanges[exchange].width_mhz = self.node(node).present_width_to(receiver);
            return;
        }
        let [all, failed] = [Flaw::KeepsAllMpdus, Flaw::LeftOutFails].map(|flaw| self.has(flaw));
        let data = self.node(node).narrows(width_mhz, all, failed);
        let record = &mut self.cells[bss].record;
        if !has_agreement {
            record.attempts[attempt].rate = data.data_rate;
            return;
        }
        record.transmissions[attempt].rate = data.data_rate;
        if let Content::Mpdus(mpdus) = &data.content {
            record.transmissions[attempt].mpdus.truncate(mpdus.len());
        }
    }
}
