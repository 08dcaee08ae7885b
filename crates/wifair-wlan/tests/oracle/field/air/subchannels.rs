//! What a node makes of the channels of 20 MHz.

use super::{Exchange, Field, Idle, OnAir};
use crate::oracle::field::flaw::Flaw;
use crate::oracle::field::powers::{Units, units};
use crate::oracle::frame::{Content, Kind, NodeId};
use crate::oracle::mode::Generation;

const WIDTHS_MHZ: [u32; 5] = [20, 40, 80, 160, 320];

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
        let own_mhz = self.receivers[node].width_mhz;
        let is_its = |width_mhz: &u32| {
            let patterns = split.patterns(bss, *width_mhz, self.flaw);
            let any = self.has(Flaw::DecodesAllPatterns) && on_air.subchannels.len().count_ones() > 1;
            let unused = self.has(Flaw::DecodesTheUnused)
                && split.whole_primary(bss, *width_mhz) == on_air.subchannels;
            split.primary(bss, *width_mhz) == on_air.subchannels
                || any
                || unused
                || patterns.contains(&on_air.subchannels)
        };
        let mut widths_mhz = WIDTHS_MHZ.into_iter().filter(|&width_mhz| width_mhz <= own_mhz);
        on_air.frame.kind != Kind::Data
            || self.has(Flaw::DecodesAllWidths)
            || widths_mhz.any(|width| is_its(&width))
    }

    /// Whether the secondary channel of a node is busy that has 20 MHz, so often doubled.
    fn is_busy_in(&self, node: NodeId, doublings: usize) -> bool {
        let split = self.keys.split.as_ref().expect("it has secondary channels");
        let secondary = &self.receivers[node].secondaries[doublings].0;
        if secondary.is_empty() {
            return false;
        }
        let doublings = doublings as f64;
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
                1..=3 => 0.0,
                4..=7 => 3.0,
                _ => 6.0,
            };
            counts && sum(on_air) >= units(split.secondary_detection_dbm + more) && sum(on_air) > 0
        };
        is_loud || (!self.has(Flaw::SecondaryEnergyAlone) && self.on_air.iter().any(is_detected))
    }

    /// Whether a channel of 20 MHz of a node is busy by itself, which is not its primary channel.
    fn is_busy_alone(&self, node: NodeId, subchannel: u16) -> bool {
        let split = self.keys.split.as_ref().expect("it has such channels");
        let primary = self.receivers[node].channel[0];
        let others = || self.on_air.iter().filter(|on_air| on_air.from != node);
        let power = |on_air: &OnAir| self.power_in(on_air, node, subchannel);
        let energy: Units = others().map(power).sum();
        let less = |on_air: &OnAir| match on_air.subchannels.len() {
            1 => 0.0,
            _ if self.has(Flaw::OneThresholdOfSubchannels) => 0.0,
            _ => 3.0,
        };
        let is_detected = |on_air: &OnAir| {
            let threshold = units(split.secondary_detection_dbm - less(on_air));
            !on_air.subchannels.contains(&primary) && power(on_air) >= threshold.max(1)
        };
        let by_frames = !self.has(Flaw::SubchannelEnergyAlone) && others().any(is_detected);
        by_frames || (energy >= units(self.keys.energy_detection_dbm) && !self.has(Flaw::NoSubchannelEnergy))
    }

    /// So many steps have passed in the secondary channels of all nodes.
    pub(super) fn count_idle_secondaries(&mut self, steps: u32) {
        for node in 0..self.receivers.len() {
            for i in 0..self.receivers[node].secondaries.len() {
                let is_busy = self.is_busy_in(node, i);
                let (_, idle) = &mut self.receivers[node].secondaries[i];
                *idle = if is_busy { 0 } else { idle.saturating_add(steps) };
            }
            for i in 0..self.receivers[node].alone.len() {
                let is_busy = self.is_busy_alone(node, self.receivers[node].alone[i].0);
                let (_, idle) = &mut self.receivers[node].alone[i];
                *idle = if is_busy { 0 } else { idle.saturating_add(steps) };
            }
        }
    }

    /// Whether frames of a node to a peer, by its number in the BSS, may leave out channels of 20 MHz.
    fn punctures(&mut self, node: NodeId, peer: NodeId) -> bool {
        let is_punctured = self.keys.split.as_ref().is_some_and(|split| split.is_punctured);
        let is_eht = self.node(node).generation_to(peer) == Some(Generation::Eht);
        is_punctured && (is_eht || self.has(Flaw::AllPuncture)) && !self.has(Flaw::NothingIsPunctured)
    }

    /// The most that a punctured frame of a node to a peer may occupy of these channels of 20 MHz.
    fn most_punctured(&mut self, node: NodeId, peer: NodeId, among: &[u16]) -> Option<Vec<u16>> {
        let split = self.keys.split.clone()?;
        let (bss, _) = self.homes[node];
        let widest = self.node(node).width_to(peer);
        let mut best: Option<Vec<u16>> = None;
        for width_mhz in WIDTHS_MHZ.into_iter().filter(|&width_mhz| width_mhz <= widest) {
            let mut patterns = split.patterns(bss, width_mhz, self.flaw);
            if self.has(Flaw::LeavesOutTheHighest) {
                patterns.reverse();
            }
            for pattern in patterns {
                let fits = pattern.iter().all(|subchannel| among.contains(subchannel));
                if fits && best.as_ref().is_none_or(|best| pattern.len() > best.len()) {
                    best = Some(pattern);
                }
            }
        }
        best
    }

    /// The most that a frame of a node to a peer may occupy of these channels of 20 MHz.
    pub(super) fn most(&mut self, node: NodeId, peer: NodeId, among: &[u16]) -> Vec<u16> {
        let Some(split) = self.keys.split.clone() else { return vec![0] };
        let (bss, widest) = (self.homes[node].0, self.node(node).width_to(peer));
        let parts = WIDTHS_MHZ.into_iter().take_while(|&width_mhz| width_mhz <= widest);
        let parts = parts.map(|width_mhz| split.primary(bss, width_mhz));
        let whole = parts.take_while(|part| part.iter().all(|subchannel| among.contains(subchannel))).last();
        let whole = whole.expect("they have the primary channel");
        if !self.punctures(node, peer) || self.has(Flaw::FollowsUnpunctured) {
            return whole;
        }
        self.most_punctured(node, peer, among).filter(|most| most.len() > whole.len()).unwrap_or(whole)
    }

    /// Whether these channels of 20 MHz are a primary channel of a node's BSS.
    fn is_primary(&self, node: NodeId, subchannels: &[u16]) -> bool {
        let (split, (bss, _)) = (self.keys.split.as_ref().expect("it has some"), self.homes[node]);
        let mut widths_mhz = WIDTHS_MHZ.into_iter().filter(|&width_mhz| width_mhz <= split.bsss[bss].1);
        widths_mhz.any(|width_mhz| split.primary(bss, width_mhz) == subchannels)
    }

    /// What a node sends from now on occupies these channels of 20 MHz, or some of them.
    pub(super) fn hold(&mut self, node: NodeId, subchannels: &[u16]) {
        let peers = 0..self.node(node).peers.len();
        let widths = peers.map(|peer| self.most(node, peer, subchannels).len() as u32 * 20).collect();
        self.node(node).held_mhz = Some(widths);
        self.held[node] = subchannels.to_vec();
    }

    /// The greatest width, up to that one, whose secondary channels have been idle for so many steps each.
    fn idle_width(&self, idle: &[u32], width_mhz: u32) -> u32 {
        let rules = &self.cells[0].rules;
        let pifs = if self.has(Flaw::NoPifs) { 1 } else { rules.sifs + rules.slot };
        let all = self.has(Flaw::NoSecondaryCca);
        let wanted = (width_mhz / 20).ilog2() as usize;
        20 << idle.iter().take(wanted).take_while(|&&steps| steps >= pifs || all).count()
    }

    /// The primary channel of a node, and of these channels of 20 MHz those that have been idle for long enough.
    fn idle_alone(&self, node: NodeId, alone: &[(u16, u32)]) -> Vec<u16> {
        let rules = &self.cells[0].rules;
        let pifs = if self.has(Flaw::NoPifsOfSubchannels) { 1 } else { rules.sifs + rules.slot };
        let idle = alone.iter().filter(|(_, steps)| *steps >= pifs).map(|(subchannel, _)| *subchannel);
        idle.chain([self.receivers[node].channel[0]]).collect()
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
            let mut subchannels = split.primary(self.homes[node].0, found);
            if found < wanted && self.punctures(node, to) {
                let among = self.idle_alone(node, &self.receivers[node].alone);
                let punctured = self.most_punctured(node, to, &among);
                subchannels = punctured.filter(|most| most.len() > subchannels.len()).unwrap_or(subchannels);
            }
            let is_punctured = !self.is_primary(node, &subchannels);
            self.cells[self.homes[node].0].record.punctured += u64::from(is_punctured);
            self.hold(node, &subchannels);
            return true;
        }
        if self.has(Flaw::WidensWindow) {
            self.node(node).widens();
        }
        let at_once = self.has(Flaw::BacksOffAtOnce);
        self.node(node).backs_off_again(at_once);
        false
    }

    /// What the CTS occupies by which the addressee of an RTS, which it has decoded, may answer it for its secondary channels;
    /// none, if it may not. `lock` is what had been idle when it locked to the RTS.
    pub(super) fn channels_of_cts(&self, node: NodeId, rts: &OnAir, lock: &Idle) -> Option<Vec<u16>> {
        let of_rts = rts.subchannels.clone();
        let Some(split) = &self.keys.split else { return Some(of_rts) };
        let tells = |generation| generation > Generation::Ht || self.has(Flaw::HtTellsWidth);
        let is_told = self.exchanges[rts.exchange].generation.is_some_and(tells);
        if !is_told || self.has(Flaw::CtsDespiteSecondaries) {
            return Some(of_rts);
        }
        let now = self.receivers[node].idle();
        let Idle { secondaries, alone } = if self.has(Flaw::SecondariesAtEndOfRts) { &now } else { lock };
        let each = self.idle_alone(node, alone);
        let is_idle = |subchannel: &u16| each.contains(subchannel);
        let is_punctured = !self.is_primary(node, &of_rts) && !self.has(Flaw::CtsNeedsSecondaries);
        if is_punctured && of_rts.iter().all(is_idle) {
            return Some(of_rts);
        }
        let (bss, _) = self.homes[node];
        let own_mhz = self.receivers[node].width_mhz;
        let whole = split.primary(bss, self.idle_width(secondaries, own_mhz));
        let widths_mhz = WIDTHS_MHZ.into_iter().filter(|&width_mhz| width_mhz <= own_mhz);
        let parts = widths_mhz.clone().map(|width_mhz| split.primary(bss, width_mhz));
        let of_both = |part: &Vec<u16>| part.iter().all(|one| of_rts.contains(one) && whole.contains(one));
        let found = parts.rev().find(of_both).expect("the primary channel is idle");
        if self.has(Flaw::CtsPunctures) && split.is_punctured && found.len() < of_rts.len() {
            let mut patterns = widths_mhz.flat_map(|width_mhz| split.patterns(bss, width_mhz, None));
            let is_such = |pattern: &Vec<u16>| pattern.iter().all(|one| of_rts.contains(one) && is_idle(one));
            let punctured = patterns.find(is_such).filter(|pattern| pattern.len() > found.len());
            return Some(punctured.unwrap_or(found));
        }
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
            self.exchanges[exchange].subchannels = self.held[node].clone();
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
