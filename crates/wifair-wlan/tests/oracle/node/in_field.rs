//! What a node of a field learns about the medium (docs/medium.md, section 16).

use super::Node;
use crate::oracle::frame::{Content, Frame, Heard, Kind, NodeId};
use crate::oracle::mode::Generation;

impl Node {
    /// The medium becomes physically busy here, as I transmit or sense others; `uncounted`: the boundary at this instant does
    /// not count.
    pub fn becomes_busy(&mut self, transmits: bool, uncounted: bool) {
        self.energy_on_air = true;
        self.noise_left = 0;
        for contender in &mut self.contenders {
            if uncounted && contender.is_at_boundary() {
                contender.counter = contender.counter.map(|slots| slots + 1);
            }
            contender.slot_elapsed = 0;
        }
        if !transmits && self.expected.is_none() && self.response.is_none() {
            for c in 0..self.contenders.len() {
                if self.contenders[c].is_waiting() {
                    self.draw(c); // section 5, rule 4: the medium did not stay idle until the origin
                }
            }
        }
    }

    /// The medium becomes physically idle here; `eifs`: and I wait an EIFS.
    pub fn becomes_idle(&mut self, eifs: bool) {
        self.energy_on_air = false;
        self.wait();
        if eifs {
            self.noise_left = self.rules.eifs_lead();
        }
    }

    /// All categories wait a DIFS.
    pub fn wait_difs(&mut self) {
        for contender in &mut self.contenders {
            contender.ifs_left = self.rules.difs();
        }
    }

    /// Nothing came back until the timeout, which only the category waited for that has sent.
    pub fn stop_waiting_alone(&mut self) {
        let waits = |node: &Node| node.contenders.iter().map(|c| (c.ifs_left, c.slot_elapsed)).collect();
        let before: Vec<(u32, u32)> = waits(self);
        self.stop_waiting();
        for (c, (contender, before)) in self.contenders.iter_mut().zip(before).enumerate() {
            if c != self.sender {
                (contender.ifs_left, contender.slot_elapsed) = before;
            }
        }
    }

    /// What begins now is a beacon of mine.
    pub fn sends_beacon(&self) -> bool {
        self.response.is_none() && self.beacons == Some(self.sender)
    }

    /// Whom I have won access to, if what begins now is no response.
    pub fn has_won_access_to(&self) -> Option<NodeId> {
        let owes = self.response.is_some();
        (!owes).then(|| self.contenders[self.sender].receiver())
    }

    /// The width of my frames to a peer if nothing narrows them.
    pub fn width_to(&self, peer: NodeId) -> u32 {
        self.peers[peer].like.map_or(20, |mode| mode.width_mhz)
    }

    /// What frames to a peer are of, from 802.11n on.
    pub fn generation_to(&self, peer: NodeId) -> Option<Generation> {
        self.peers[peer].like.map(|mode| mode.generation)
    }

    /// The width of what I send to a peer now.
    pub fn present_width_to(&self, peer: NodeId) -> u32 {
        self.mode_to(peer).map_or(20, |mode| mode.width_mhz)
    }

    /// The CTS that I have decoded is narrower than my RTS: my frame that follows it. It keeps as many MPDUs as end in time, or
    /// `all`; the others may have `failed`.
    pub fn narrows(&mut self, width_mhz: u32, all: bool, failed: bool) -> Frame {
        let wide = self.settled_data();
        let until = wide.length + wide.duration_field;
        self.held_mhz = Some(vec![width_mhz; self.peers.len()]);
        let narrow = match &wide.content {
            &Content::Single { packet, number } => self.single_frame(packet, number),
            Content::Mpdus(mpdus) => {
                let mut kept = mpdus.len();
                loop {
                    let (frame, psdu_bytes) = self.ppdu_of(&mpdus[..kept]);
                    if all || kept == 1 || frame.length + frame.duration_field <= until {
                        self.puts_back(&mpdus[..kept], psdu_bytes, if failed { &mpdus[kept..] } else { &[] });
                        break frame;
                    }
                    kept -= 1;
                }
            }
            _ => self.request(),
        };
        self.data = Some(Frame { queued: wide.queued, ..narrow });
        self.response = Some((self.settled_data(), self.rules.sifs));
        self.settled_data()
    }

    /// I do not transmit, although I have won access: a new backoff, from the next boundary on, or from this one `at_once`.
    pub fn backs_off_again(&mut self, at_once: bool) {
        self.draw(self.sender);
        let lost = std::mem::take(&mut self.lost);
        for c in lost.into_iter().chain([self.sender]) {
            self.contenders[c].ifs_left = if at_once { 0 } else { self.rules.slot };
            self.contenders[c].slot_elapsed = 0;
        }
    }

    /// My CW doubles.
    pub fn widens(&mut self) {
        self.contenders[self.sender].widen();
    }

    /// What I owe is due now.
    pub fn owes_now(&self) -> bool {
        self.response.as_ref().is_some_and(|(_, left)| *left == 0)
    }

    /// I owe it a step later.
    pub fn puts_off(&mut self) {
        if let Some((_, left)) = &mut self.response {
            *left += 1;
        }
    }

    /// A frame for me has ended, of a PPDU with these MPDUs spoilt.
    pub fn hear_in_field(&mut self, frame: &Frame, spoilt_mpdus: Vec<bool>) -> Heard {
        self.spoilt_mpdus = spoilt_mpdus;
        let heard = self.hear(frame, 0.0);
        self.spoilt_mpdus.clear();
        heard
    }

    /// My NAV is set for so long.
    pub fn set_nav(&mut self, left: u32) {
        self.nav_left = left;
    }

    /// My frame has ended.
    pub fn has_sent_in_field(&mut self, frame: &Frame) {
        if frame.kind != Kind::Cts {
            self.sent(frame, false);
        }
    }

    /// I am receiving the answer when the timeout comes.
    pub fn waits_on(&mut self) {
        if let Some(expected) = &mut self.expected {
            expected.begun = true;
        }
    }
}
