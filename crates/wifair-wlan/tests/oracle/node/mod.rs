//! One listener: a MAC that knows only what it detects on the medium, step by step.

mod forming;
mod hearing;
mod in_field;
mod quiet;
mod sending;

use super::agreement::{Events, Recipient};
use super::contender::{Contender, Service};
use super::flaw::Flaw;
use super::frame::{Counts, Frame, Mpdu, NodeId, Packet};
use super::mode::Mode;
use super::rate::Ladder;
use super::timing::{Aggregation, Category, Form, NonHt, Phy, Rules, Tenths};
use wifair_core::Rng;

/// The answer that a sender waits for.
struct Expected {
    cts: bool,
    /// Steps until the timeout.
    left: u32,
    /// The answer has begun: no timeout any more.
    begun: bool,
}

/// How frames to a peer are sent.
pub struct Peer {
    /// From 802.11n on: the mode, whatever its MCS.
    pub like: Option<Mode>,
    /// Before: the PHY.
    pub phy: Phy,
    /// The choice of an MCS, or of a rate.
    pub ladder: Ladder,
}

impl Peer {
    /// From 802.11n on.
    fn mode(&self) -> Option<Mode> {
        self.like.map(|mode| Mode { mcs: self.ladder.rate(), ..mode })
    }
}

pub struct Node {
    id: NodeId,
    rules: Rules,
    /// By node for the AP (entry 0 unused), only the AP for a station.
    pub peers: Vec<Peer>,
    /// Categories that have lost an internal collision when this node last decided what to do.
    lost: Vec<usize>,
    /// By peer: the width of what this node sends, if that is less than that of its modes.
    pub held_mhz: Option<Vec<u32>>,
    channel: Rng,

    /// Packets that a transmit queue holds.
    pub queue_limit: usize,
    limit_counts_in_service: bool,
    /// The highest category first; beacons last, although they are higher still.
    pub contenders: Vec<Contender>,
    /// Which of them beacons are.
    beacons: Option<usize>,
    /// A beacon is on the air; and another has become due since.
    beacon_on_air: bool,
    beacon_follows: bool,

    nav_left: u32,
    /// What is left, since a frame that could not be decoded, of an EIFS before its DIFS. The next access ends it.
    noise_left: u32,
    energy_on_air: bool,

    /// Whose frame is or was last on the air.
    sender: usize,
    /// The data frame of that exchange, as it was settled at its start.
    data: Option<Frame>,
    /// That frame went after a CTS.
    after_cts: bool,
    /// My data frame to that peer has ended, but the exchange is still in progress.
    unanswered: Option<NodeId>,
    /// Steps left of the TXOP.
    txop_left: u32,
    expected: Option<Expected>,
    /// A response of mine, and the steps until it is due.
    response: Option<(Frame, u32)>,
    /// A frame of mine continues a TXOP: reported once.
    continuation: Option<Frame>,
    /// The last packet delivered from each peer, by category: what comes again is a duplicate.
    last_from: Vec<Vec<Option<u32>>>,
    /// By peer, then by category, where there are agreements.
    recipients: Vec<Vec<Recipient>>,
    /// Of a PPDU for me that is on the air: which of the MPDUs that have ended I have decoded.
    decoded_of_ppdu: Vec<bool>,
    /// Of a PPDU for me that has ended: which of its MPDUs other frames have spoilt.
    spoilt_mpdus: Vec<bool>,
    /// The next of their timeouts, by this node's clock.
    next_timeout: Option<u64>,
    /// Steps that have passed.
    clock: u64,
    /// By peer.
    pub counts: Vec<Counts>,
    events: Events,
    /// The queue size that has just been read: whose, of which category, in bytes.
    pub queue_size: Option<(NodeId, usize, u32)>,
    /// MPDUs given up, and their receivers: told once.
    given_up: Vec<(NodeId, Mpdu)>,
}

impl Node {
    pub fn new(
        id: NodeId,
        label: &str,
        seed: u64,
        rules: Rules,
        peers: Vec<Peer>,
        tx_queue: (usize, bool),
    ) -> Node {
        let count = peers.len();
        let agreed = rules.aggregation.filter(|_| rules.edca.is_some());
        let agreements: Vec<bool> =
            peers.iter().map(|peer| peer.like.is_some() && agreed.is_some()).collect();
        let recipients = |peer: &Peer| match (agreed, peer.like) {
            (Some(Aggregation { reorder_timeout, .. }), Some(mode)) => {
                (0..4).map(|_| Recipient::new(rules.window(mode), reorder_timeout, rules.flaw)).collect()
            }
            _ => Vec::new(),
        };
        let purposes = match rules.edca {
            None => &["backoff"][..],
            Some(_) => &["backoff-voice", "backoff-video", "backoff-best-effort", "backoff-background"],
        };
        let contender = |(parameters, purpose): (Category, &&str)| {
            Contender::new(parameters, Rng::stream(seed, label, purpose), &agreements, rules.flaw)
        };
        let mut contenders: Vec<Contender> =
            rules.categories(id).into_iter().zip(purposes).map(contender).collect();
        let beacons = rules.beacons.filter(|_| id == 0).map(|_| contenders.len());
        if beacons.is_some() {
            let aifsn = if rules.has(Flaw::BeaconsAfterDifs) { 2 } else { 1 };
            let parameters = Category { cw_min: 0, cw_max: 0, aifsn, txop_limit: 0 };
            contenders.push(contender((parameters, &"backoff-beacon")));
        }
        Node {
            id,
            rules,
            beacons,
            beacon_on_air: false,
            beacon_follows: false,
            recipients: peers.iter().map(recipients).collect(),
            decoded_of_ppdu: Vec::new(),
            spoilt_mpdus: Vec::new(),
            next_timeout: None,
            clock: 0,
            peers,
            held_mhz: None,
            lost: Vec::new(),
            channel: Rng::stream(seed, label, "channel"),
            queue_limit: tx_queue.0,
            limit_counts_in_service: tx_queue.1,
            contenders,
            nav_left: 0,
            noise_left: 0,
            energy_on_air: false,
            sender: 0,
            data: None,
            after_cts: false,
            unanswered: None,
            txop_left: 0,
            expected: None,
            response: None,
            continuation: None,
            last_from: vec![vec![None; 4]; count],
            counts: vec![Counts::default(); count],
            events: Events::default(),
            queue_size: None,
            given_up: Vec::new(),
        }
    }

    /// Nothing to send and nothing to wait for.
    pub fn is_at_rest(&self) -> bool {
        let idle = self.contenders.iter().all(|c| c.in_service.is_none());
        let holds_nothing = self.recipients.iter().flatten().all(Recipient::holds_nothing);
        idle && holds_nothing && self.response.is_none() && !self.energy_on_air
    }

    /// Of this node and its categories.
    pub fn add_events_to(&self, sum: &mut Events) {
        sum.add(&self.events);
        self.contenders.iter().for_each(|contender| sum.add(&contender.events));
    }

    pub fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// The MPDUs that this node has just given up, and their receivers.
    pub fn take_given_up(&mut self) -> Vec<(NodeId, Mpdu)> {
        std::mem::take(&mut self.given_up)
    }

    /// The mode of data frames to a peer now.
    fn mode_to(&self, peer: NodeId) -> Option<Mode> {
        let mode = self.peers[peer].mode()?;
        let held = self.held_mhz.as_ref().map(|held| held[peer]);
        let width_mhz = held.map_or(mode.width_mhz, |held| held.min(mode.width_mhz));
        Some(Mode { width_mhz, ..mode }.with_mcs(mode.mcs))
    }

    /// How data frames to a peer are sent now.
    fn form_to(&self, peer: NodeId) -> Form {
        match self.mode_to(peer) {
            Some(mode) => Form::Mode(mode),
            None => self.non_ht_to(peer),
        }
    }

    fn non_ht_to(&self, peer: NodeId) -> Form {
        Form::NonHt(NonHt { phy: self.peers[peer].phy, rate: self.peers[peer].ladder.rate() })
    }

    /// The rate of the link.
    pub fn rate_to(&self, peer: NodeId) -> Tenths {
        self.peers[peer].mode().map_or(self.non_ht_to(peer), Form::Mode).rate()
    }

    pub fn has_response_pending(&self) -> bool {
        self.response.is_some()
    }

    /// The medium is not free for this node: energy, its NAV, or a SIFS gap that it will end itself.
    fn is_busy(&self) -> bool {
        self.energy_on_air || self.nav_left > 0 || self.response.is_some()
    }

    /// Nothing counts: not even the DIFS of an EIFS.
    fn is_held(&self) -> bool {
        self.is_busy() || self.noise_left > 0
    }

    /// Access at slot boundaries only, at which counters step.
    fn goes_by_boundaries(&self) -> bool {
        self.rules.edca.is_some_and(|edca| !edca.dcf_countdown)
    }

    fn draw(&mut self, c: usize) {
        let contender = &mut self.contenders[c];
        let range = if self.rules.exclusive_backoff { contender.cw } else { contender.cw + 1 };
        contender.counter = Some(contender.backoff.below(range));
    }

    /// All categories must see their AIFS of idle medium before slots count.
    pub fn wait(&mut self) {
        for contender in &mut self.contenders {
            contender.ifs_left = self.rules.aifs(&contender.parameters);
            contender.slot_elapsed = 0;
        }
    }

    /// Section 10, the controller: CWmin of a category; while it waits for a response, after its next draw, or `at_once`.
    pub fn set_cw_min(&mut self, c: usize, cw_min: u32, at_once: bool) {
        let waits = self.expected.is_some() && self.sender == c;
        match waits && !at_once && !self.rules.has(Flaw::AdoptedWhileWaiting) {
            true => self.contenders[c].announced = Some(cw_min),
            false => self.contenders[c].set_cw_min(cw_min),
        }
    }

    // From above.

    /// The upper layer hands a packet to its category's transmit queue, or to the one that all share.
    pub fn offer(&mut self, packet: Packet) {
        let c = packet.category;
        let shares = self.rules.shares_tx_queue(self.id);
        let of_tx_queue = self.contenders.iter_mut().enumerate().filter(|(other, _)| shares || *other == c);
        let counted = of_tx_queue.map(|(_, contender)| {
            let taken = match self.limit_counts_in_service {
                true if self.rules.has(Flaw::UncountedLinkQueue) => usize::from(contender.single().is_some()),
                true => contender.taken(),
                false => 0,
            };
            contender.queue.len() + taken
        });
        if counted.sum::<usize>() >= self.queue_limit {
            return;
        }
        let contender = &mut self.contenders[c];
        contender.queue.push_back(packet);
        if contender.in_service.is_none() {
            contender.serve();
            self.contend_after_silence(c);
        }
    }

    /// Section 5: a packet has reached an empty MAC.
    fn contend_after_silence(&mut self, c: usize) {
        // Section 10: while the node waits for an answer, its other categories find a busy medium.
        let busy = self.is_busy() || self.expected.is_some();
        let contender = &mut self.contenders[c];
        if contender.counter.is_some() {
            // Rule 1: the post-backoff continues.
        } else if busy {
            self.draw(c); // rule 2
        } else if contender.ifs_left > 0 {
            if self.rules.backoff_within_ifs {
                self.draw(c); // rule 4, by option; else it starts at its origin without a counter
            }
        } else if !self.rules.immediate_access {
            contender.ifs_left = self.rules.aifs(&contender.parameters);
            contender.slot_elapsed = 0;
            self.draw(c); // rule 3, by option; else it starts now, or at its next boundary
        }
    }

    /// A beacon is due.
    pub fn reach_target(&mut self) {
        let c = self.beacons.expect("who has target times sends beacons");
        let queues = self.rules.has(Flaw::BeaconsQueue) && self.contenders[c].in_service.is_some();
        if self.beacon_on_air || queues {
            self.beacon_follows = true;
        } else if self.contenders[c].in_service.is_none() {
            self.contenders[c].in_service = Some(Service::Beacon);
            self.contend_after_silence(c);
        }
    }

    // The clock.

    /// One step of the clock has passed, in which the medium was as it is known to be.
    #[inline]
    pub fn count_idle_time(&mut self) {
        self.clock += 1;
        if self.is_held() {
            return;
        }
        let by_boundaries = self.goes_by_boundaries();
        let waits_for_answer = self.expected.is_some();
        for contender in &mut self.contenders {
            if contender.ifs_left > 0 {
                contender.ifs_left -= 1;
                contender.slot_elapsed = 0;
            } else if by_boundaries {
                contender.slot_elapsed = (contender.slot_elapsed + 1) % self.rules.slot;
            } else if let Some(slots) = contender.counter
                && slots > 0
                && !waits_for_answer
            {
                contender.slot_elapsed += 1;
                if contender.slot_elapsed == self.rules.slot {
                    contender.slot_elapsed = 0;
                    contender.counter = Some(slots - 1);
                }
            }
            let may_run_out = contender.ifs_left == 0
                && !waits_for_answer
                && (!by_boundaries || contender.is_at_boundary());
            if contender.in_service.is_none() && may_run_out && contender.counter == Some(0) {
                contender.counter = None;
            }
        }
    }

    /// What is passed on because something has been held for too long: by peer, then by category. To be asked in every step.
    #[inline]
    pub fn time_out(&mut self) -> Option<Vec<Packet>> {
        if self.next_timeout != Some(self.clock) {
            return None;
        }
        for (peer, recipients) in self.recipients.iter_mut().enumerate() {
            for recipient in recipients {
                let passed_on = recipient.time_out(self.clock, &mut self.events);
                if !passed_on.is_empty() {
                    self.counts[peer].receive(&passed_on);
                    return Some(passed_on);
                }
            }
        }
        self.note_next_timeout();
        None
    }

    /// After anything was decoded that may be held, or passed on.
    fn note_next_timeout(&mut self) {
        self.next_timeout = self.recipients.iter().flatten().filter_map(Recipient::next_timeout).min();
    }

    /// NAV, EIFS, timeout, TXOP and response timer run whatever the medium does.
    #[inline]
    pub fn count_timers(&mut self) {
        self.count_down();
        if self.has_waited() {
            self.stop_waiting();
        }
    }

    /// These timers, but for what follows from a timeout.
    #[inline]
    pub fn count_down(&mut self) {
        self.nav_left = self.nav_left.saturating_sub(1);
        self.noise_left = self.noise_left.saturating_sub(1);
        self.txop_left = self.txop_left.saturating_sub(1);
        if let Some((_, left)) = &mut self.response {
            *left -= 1;
        }
        if let Some(expected) = &mut self.expected
            && !expected.begun
        {
            expected.left -= 1;
        }
    }

    /// The timeout is now.
    pub fn has_waited(&self) -> bool {
        self.expected.as_ref().is_some_and(|expected| !expected.begun && expected.left == 0)
    }

    /// Nothing came back until the timeout.
    pub fn stop_waiting(&mut self) {
        for contender in &mut self.contenders {
            contender.ifs_left = contender.ifs_left.max(self.rules.aifs(&contender.parameters));
            contender.slot_elapsed = 0;
        }
        self.fail();
    }
}
