//! The field: a medium on which each frame reaches each node with a power, and each node senses, receives and keeps a NAV for
//! itself (`docs/medium.md`, section 16). DCF or EDCA, with or without RTS.
//!
//! A frame has four steps, each at its time: start, end, response due, outcome known. Under the shared medium
//! ([`crate::medium`]) the first decides all four. The field knows nodes, of one BSS or of several, by their place and frames
//! by their durations; what they carry is their owner's, which passes on what happened ([`FieldEvent`]).

mod access;
mod beaconing;
pub(crate) mod beacons;
mod ends;
mod frame;
mod interference;
mod journal;
mod links;
pub(crate) mod medium;
mod meter;
mod node;
mod nodes;
mod noting;
mod occupancy;
mod past;
mod power;
mod propagation;
mod receiver;
mod receivers;
pub(crate) mod reuse;
mod rules;
mod shadowing;
pub(crate) mod share;
mod spec;
mod starts;
mod subchannels;
#[cfg(test)]
pub(crate) mod tests;

use wifair_core::{Rng, Time};

use crate::contention::Access;
use crate::mac::{Mac, Waits};
use crate::node::{EdcafId, Numbering};
use crate::phy::Mode;
use crate::phy::timing::{BssTiming, ControlFrame};
use crate::ppdu::Ppdu;
use access::Backoff;
use beacons::{BeaconsInField, BeaconsOfAp, SentBeacon};
use frame::{Disturbance, ExchangeStep, FieldFrame, FrameId, FramesOnAir};
pub(crate) use frame::{FieldExchange, Outgoing};
pub use journal::{FieldJournal, FieldJournalEntry, FieldReception, HeardFrame};
use meter::FieldMeter;
use node::FieldNode;
use nodes::FieldNodes;
pub(crate) use occupancy::AirOccupancy;
use power::{Power, PowerRatio};
pub use propagation::{FloorsSpec, WallSpec};
use receivers::Receivers;
use reuse::SpatialReuse;
pub(crate) use rules::FieldRules;
pub use spec::{EifsAfter, FieldSpec, PairGain};
pub(crate) use spec::{NodeOfField, Rows};
pub(crate) use subchannels::{LinkWidth, OperatingChannel, SecondaryRules};
use subchannels::{SubchannelReceiver, width_mhz_of};

/// What has happened to what a node sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldEvent {
    /// It has won access.
    Started(EdcafId),
    /// The addressee has decoded its data frame.
    Received(FieldExchange),
    /// A beacon of an access point has ended.
    Beacon(SentBeacon),
    /// An exchange that `node` began with `to` has no further frame; for `alone` no other exchange was on the air. Its sender
    /// may know the outcome already.
    Ended { node: usize, to: usize, alone: Time },
    /// Its sender has decoded a CTS that is narrower than the RTS. [`Field::narrow`] must follow.
    Narrowed(FieldExchange),
    /// Its sender has decoded the ACK. [`Field::set_window`], and [`Field::go_on`] or [`Field::follow`], must follow.
    Acknowledged(FieldExchange),
    /// Its sender knows that no response came. [`Field::set_window`] and [`Field::go_on`] must follow.
    Failed(FieldExchange),
}

/// The nodes of a field.
pub(crate) struct Surroundings {
    /// By transmitter: the nodes that hear it, with the power, in order.
    pub rows: Rows,
    /// By node: the number of its BSS.
    pub bss_of: Vec<usize>,
    /// Which nodes have an OBSS PD level.
    pub reuse: SpatialReuse,
    pub channels: Option<Channels>,
    /// By BSS, if its access point sends beacons.
    pub beacons: Vec<BeaconsOfAp>,
}

/// The channels of a field with subchannels.
pub(crate) struct Channels {
    /// By BSS.
    pub of_bss: Vec<OperatingChannel>,
    /// By node: its width, in MHz.
    pub widths_mhz: Vec<u16>,
    pub secondary: SecondaryRules,
}

/// See the module documentation. Nodes are numbered through.
pub(crate) struct Field {
    rules: FieldRules,
    numbering: Numbering,
    phy: BssTiming,
    waits: Vec<Waits>,
    nodes: FieldNodes,
    receivers: Receivers,
    /// By transmitter: the nodes that hear it, with the power, in order.
    rows: Rows,
    /// By node: the number of its BSS.
    bss_of: Vec<usize>,
    frames: FramesOnAir,
    /// Nodes that have won access at this instant, in order.
    winners: Vec<usize>,
    /// By BSS.
    occupancies: Vec<AirOccupancy>,
    meters: Vec<FieldMeter>,
    /// By BSS; none, if they send no beacons.
    beacons: Vec<BeaconsInField>,
    /// Where its frames are written, if an observer wants them.
    journal: Option<FieldJournal>,
    /// By BSS, in a field with subchannels: its channel.
    channels: Option<Vec<OperatingChannel>>,
    /// Buffers for the frames that end or start at an instant, and for the nodes that are due.
    ended: Vec<(FrameId, FieldFrame)>,
    begun: Vec<FieldFrame>,
    started: Vec<FrameId>,
    due_nodes: Vec<usize>,
}

impl Field {
    /// A silent field of these nodes. Their channel access functions come in the order of `numbering`.
    pub(crate) fn new(
        rules: FieldRules,
        numbering: Numbering,
        phy: BssTiming,
        mac: &Mac,
        mut functions: impl Iterator<Item = (Access, Rng)>,
        surroundings: Surroundings,
    ) -> Field {
        let Surroundings { rows, bss_of, reuse, channels, beacons } = surroundings;
        let own = |_: &_| FieldNode::new(functions.by_ref().take(numbering.per_node()));
        let mut nodes: Vec<FieldNode> = rows.iter().map(own).collect();
        let beacons = beacons.into_iter().enumerate().map(|(bss, beacons)| {
            let ap = bss_of.partition_point(|of| *of < bss);
            BeaconsInField::new(beacons, ap, &mut nodes[ap].backoffs)
        });
        let beacons = beacons.collect();
        let nodes = FieldNodes::new(nodes);
        let waits = mac.waits.clone();
        let bsss = bss_of.last().map_or(0, |last| last + 1);
        let mut receivers = Receivers::new(&rows, &bss_of, reuse, &rules);
        if let Some(Channels { of_bss, widths_mhz, secondary }) = &channels {
            let own = |(bss, width_mhz): (&usize, &u16)| {
                SubchannelReceiver::new(&of_bss[*bss], FieldRules::width(*width_mhz), secondary)
            };
            receivers.split(*secondary, bss_of.iter().zip(widths_mhz).map(own).collect());
        }
        Field {
            rules,
            numbering,
            phy,
            waits,
            nodes,
            receivers,
            channels: channels.map(|channels| channels.of_bss),
            rows,
            bss_of,
            frames: FramesOnAir::new(),
            winners: Vec::new(),
            occupancies: (0..bsss).map(|_| AirOccupancy::default()).collect(),
            meters: (0..bsss).map(|_| FieldMeter::default()).collect(),
            beacons,
            journal: None,
            ended: Vec::new(),
            begun: Vec::new(),
            started: Vec::new(),
            due_nodes: Vec::new(),
        }
    }

    /// Makes it write its frames in `journal` from now on, or in none.
    pub(crate) fn keep_journal(&mut self, journal: Option<&FieldJournal>) {
        self.journal = journal.cloned();
        let listeners = journal.map_or(&[][..], FieldJournal::listeners);
        self.receivers.listen_to(listeners, &self.frames, &self.rules);
    }

    /// When [`Field::advance`] is due; [`Time::MAX`] if nothing is under way.
    pub(crate) fn due(&self) -> Time {
        self.frames.next_change().min(self.nodes.due())
    }

    /// Handles a packet that has arrived at `sender`, which has nothing in service.
    pub(crate) fn arrive(&mut self, sender: EdcafId, now: Time) {
        let (node, function) = self.place(sender);
        self.arrive_at(node, function, now);
        self.settle();
    }

    /// The same at a node, whose function at that place it is. [`Field::settle`] must follow.
    fn arrive_at(&mut self, node: usize, function: usize, now: Time) {
        self.receivers.follow_counters(node, &self.frames, &mut self.nodes, &self.rules);
        let is_physically_busy = self.receivers.is_physically_busy(node);
        let waits = self.receivers.waits_until(node).is_some_and(|until| now <= until);
        let has_nav = self.receivers.has_nav(node, now);
        let FieldNode { backoffs, owes, .. } = &mut self.nodes[node];
        let is_busy = is_physically_busy || has_nav || owes.is_some() || waits;
        backoffs[function].arrive(&self.rules.contention, is_physically_busy, is_busy, now);
    }

    /// Sets the CW for the next backoff of `sender`: CWmin, or a doubled window.
    pub(crate) fn set_window(&mut self, sender: EdcafId, resets: bool) {
        self.backoff_mut(sender).set_window(resets);
    }

    /// Sets CWmin of a channel access function: a smaller CW is raised to it.
    pub(crate) fn set_cw_min(&mut self, sender: EdcafId, cw_min: u16) {
        self.backoff_mut(sender).set_cw_min(cw_min);
    }

    /// Lets `sender`, which knows the outcome of its exchange, contend with what it sends next, if there is `more`.
    pub(crate) fn go_on(&mut self, sender: EdcafId, more: bool) {
        let rules = self.rules.contention;
        self.receivers.follow_counters(self.place(sender).0, &self.frames, &mut self.nodes, &self.rules);
        self.backoff_mut(sender).go_on(&rules, more);
        self.settle();
    }

    /// Lets `sender`, whose exchange has succeeded, continue its TXOP, which began at `txop_began`.
    pub(crate) fn follow(&mut self, sender: EdcafId, outgoing: Outgoing, txop_began: Time, now: Time) {
        self.receivers.wake(self.place(sender).0, &self.frames, &self.rules);
        let exchange = self.open(sender, outgoing, txop_began, now);
        let begins = now + self.rules.sifs;
        let (node, _) = self.place(sender);
        self.nodes[node].owes = Some((begins, self.data(&exchange, begins)));
        self.settle();
    }

    /// Gives the exchange of `sender`, which has decoded a narrower CTS than its RTS, the content that follows a SIFS after the
    /// CTS, in a mode of the CTS's width.
    pub(crate) fn narrow(&mut self, sender: EdcafId, outgoing: Outgoing) {
        let (node, _) = self.place(sender);
        let FieldNode { exchange, mpdus, owes, .. } = &mut self.nodes[node];
        let (Some(exchange), Some((begins, _))) = (exchange, owes) else {
            unreachable!("the sender has decoded the CTS")
        };
        exchange.ppdu = Ppdu { with_rts: true, ..outgoing.ppdu };
        *mpdus = outgoing.mpdus;
        let (exchange, begins) = (*exchange, *begins);
        self.nodes[node].owes = Some((begins, self.data(&exchange, begins)));
    }

    /// Which MPDUs of its PPDU the addressee of `sender` has decoded.
    pub(crate) fn decoded(&self, sender: EdcafId) -> &[bool] {
        &self.nodes[self.place(sender).0].decoded
    }

    /// Duration of a wait of `sender` for access that begins now: its IFS and its remaining whole slots.
    pub(crate) fn wait(&self, sender: EdcafId, now: Time) -> Time {
        let (node, function) = self.place(sender);
        let is_physically_busy = self.receivers.is_physically_busy(node);
        self.nodes[node].backoffs[function].wait(&self.rules.contention, is_physically_busy, now)
    }

    /// Returns slots of `sender` that were drawn after its wait began.
    pub(crate) fn take_drawn_late(&mut self, sender: EdcafId) -> Time {
        let rules = self.rules.contention;
        self.backoff_mut(sender).take_drawn_late(&rules)
    }

    /// The node of a channel access function, and its place among those of the node.
    fn place(&self, sender: EdcafId) -> (usize, usize) {
        (self.numbering.node(sender).index(), self.numbering.place(sender))
    }

    fn backoff_mut(&mut self, sender: EdcafId) -> &mut Backoff {
        let (node, function) = self.place(sender);
        &mut self.nodes[node].backoffs[function]
    }

    /// The number of the BSS that a channel access function belongs to.
    pub(crate) fn bss_of(&self, sender: EdcafId) -> usize {
        self.bss_of[self.place(sender).0]
    }

    /// Whether it has subchannels.
    pub(crate) fn has_subchannels(&self) -> bool {
        self.channels.is_some()
    }

    /// In a field with subchannels: how wide, in MHz, an exchange of a link is that follows the last of `sender` in its TXOP.
    /// It occupies no subchannel that that has not occupied.
    pub(crate) fn width_in_txop(&mut self, sender: EdcafId, link: LinkWidth) -> u16 {
        let (node, _) = self.place(sender);
        let subchannels = self.receivers.following(node, link, self.nodes[node].subchannels);
        self.nodes[node].subchannels = subchannels;
        width_mhz_of(subchannels)
    }

    /// The exchanges of a BSS.
    pub(crate) fn occupancy(&self, bss: usize) -> &AirOccupancy {
        &self.occupancies[bss]
    }

    /// The power with which `from` reaches `to`.
    fn power(&self, from: usize, to: usize) -> Power {
        let row = &self.rows[from];
        row.binary_search_by_key(&to, |&(node, _)| node).map_or(Power::ZERO, |at| row[at].1)
    }

    /// By transmitter: the nodes that receive it, with the power in dBm.
    pub(crate) fn received_dbm(&self) -> Vec<Vec<(usize, f64)>> {
        let of = |&(to, power): &(usize, Power)| (to, power.as_dbm());
        self.rows.iter().map(|row| row.iter().map(of).collect()).collect()
    }

    /// Whether the medium is physically busy at `to` while `from` alone transmits a control frame; in a field with subchannels,
    /// or a secondary channel is busy there while the frame occupies all of the channel of `from`.
    pub(crate) fn senses(&self, from: usize, to: usize) -> bool {
        let mode = &self.phy.slowest.mode;
        let frame = self.sent_by((from, to), mode, mode, self.receivers.channel(from));
        let power = frame.ratio.of(self.power(from, to));
        let is_detected = self.rules.preamble.is_reached(power, frame.noise, Power::ZERO);
        let is_busy =
            power >= self.rules.energy_detection || is_detected && power >= self.rules.preamble_detection;
        is_busy && self.receivers.has_primary(to, &frame) || self.receivers.senses_in_secondaries(to, &frame)
    }

    /// Whether `from` reaches `to` with a frame in `mode`, of an exchange whose data frame is in `of_data`, while no other node
    /// transmits.
    pub(crate) fn reaches(&self, from: usize, to: usize, mode: &Mode, of_data: &Mode) -> bool {
        let of_width = |channels: &Vec<OperatingChannel>| {
            channels[self.bss_of[from]].of_width(FieldRules::width(of_data.width_mhz))
        };
        let frame = self.sent_by((from, to), mode, of_data, self.channels.as_ref().map(of_width));
        let power = frame.ratio.of(self.power(from, to));
        let threshold = self.rules.preamble.max(frame.threshold);
        power >= self.rules.preamble_detection && threshold.is_reached(power, frame.noise, Power::ZERO)
    }

    /// A frame in `mode`, of an exchange whose data frame is in `of_data`; in a field with subchannels it occupies these.
    fn sent_by(
        &self,
        nodes: (usize, usize),
        mode: &Mode,
        of_data: &Mode,
        subchannels: Option<u64>,
    ) -> FieldFrame {
        let frame = self.frame(ExchangeStep::Data, nodes, Time::ZERO, mode, of_data, Time::ZERO);
        match subchannels {
            Some(mask) => FieldFrame { mask, ratio: PowerRatio::WHOLE.among(mask.count_ones()), ..frame },
            None => frame,
        }
    }

    /// Handles the first of what is due at `now == due()`: the ends of frames and colours that are read, timeouts, starts.
    /// [`Field::contend`] must have said who wins access; `outgoing` says what a channel access function of a BSS sends that
    /// does, in a field with subchannels in an exchange of at most so many MHz.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        outgoing: impl FnMut(usize, EdcafId, Option<u16>) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        if self.frames.next_change() == now {
            self.end_frames(now, events);
        } else if !self.time_out(now, events) {
            self.start_frames(now, outgoing, events);
        }
        self.settle();
    }

    /// `node` answers `frame` by a frame of a kind, a SIFS after its end; whether there is an exchange to answer, and `node`
    /// does not owe the next data frame of its TXOP.
    fn owe(&mut self, node: usize, frame: &FieldFrame, kind: ExchangeStep, now: Time) -> bool {
        let begins = now + self.rules.sifs;
        let exchange = self.nodes[frame.sender()].exchange.filter(|exchange| exchange.began == frame.began);
        let Some(exchange) = exchange.filter(|_| self.nodes[node].owes.is_none()) else { return false };
        let ppdu = exchange.ppdu;
        let control = &self.phy.control_frames[usize::from(ppdu.control)];
        let answer = match kind {
            ExchangeStep::Data => self.data(&exchange, begins),
            ExchangeStep::Cts => self.control(kind, (node, frame.from), &control.cts, &exchange, begins),
            ExchangeStep::Rts | ExchangeStep::Ack | ExchangeStep::Beacon => {
                let airtime = ppdu.response - self.rules.sifs;
                self.frame(kind, (node, frame.from), airtime, &control.ack.mode, &exchange.mode(), begins)
            }
        };
        let duration = frame.duration.saturating_sub(answer.ends - now);
        self.nodes[node].owes = Some((begins, FieldFrame { duration, began: frame.began, ..answer }));
        true
    }

    /// The data frame, PPDU or Block Ack Request of an exchange.
    fn data(&self, exchange: &FieldExchange, begins: Time) -> FieldFrame {
        let &FieldExchange { sender, to, ppdu, began, .. } = exchange;
        let (node, _) = self.place(sender);
        let mode = match ppdu.is_request() {
            true => &self.phy.control_frames[usize::from(ppdu.control)].ack.mode,
            false => &ppdu.mode,
        };
        let header_ends = self.nodes[node].mpdus.first().map(|(psdu, _)| begins + *psdu);
        let frame = self.frame(ExchangeStep::Data, (node, to), ppdu.airtime, mode, &ppdu.mode, begins);
        let colour_read_at = self.receivers.reuse().colour_read_at(mode, begins);
        FieldFrame { duration: ppdu.response, began, header_ends, colour_read_at, ..frame }
    }

    fn control(
        &self,
        kind: ExchangeStep,
        nodes: (usize, usize),
        control: &ControlFrame,
        exchange: &FieldExchange,
        begins: Time,
    ) -> FieldFrame {
        self.frame(kind, nodes, control.duration, &control.mode, &exchange.mode(), begins)
    }

    /// A frame in `mode` from one node to another, of an exchange whose data frame is in `of_data`.
    fn frame(
        &self,
        kind: ExchangeStep,
        (from, to): (usize, usize),
        airtime: Time,
        mode: &Mode,
        of_data: &Mode,
        begins: Time,
    ) -> FieldFrame {
        let (mut width, mut mask, mut ratio) =
            (FieldRules::width(mode.width_mhz), u64::MAX, PowerRatio::WHOLE);
        if let Some(channels) = &self.channels {
            mask = match kind {
                ExchangeStep::Beacon => channels[self.bss_of[from]].of_width(0),
                ExchangeStep::Cts | ExchangeStep::Ack => self.nodes[to].subchannels,
                ExchangeStep::Rts | ExchangeStep::Data => self.nodes[from].subchannels,
            };
            ratio = ratio.among(mask.count_ones());
            width = 0; // each subchannel is judged by itself
        }
        let (noise, threshold) = (self.rules.noise(width), self.rules.threshold(mode));
        FieldFrame {
            kind,
            width,
            ratio,
            is_duplicate: mode != of_data,
            mask,
            from,
            to,
            begins,
            ends: begins + airtime,
            header_ends: None,
            colour_read_at: Time::ZERO,
            duration: Time::ZERO,
            began: begins,
            noise,
            threshold,
            disturbed: Disturbance::default(),
        }
    }

    /// Works out when the nodes are due that have changed.
    fn settle(&mut self) {
        let Field { nodes, receivers, rules, .. } = self;
        nodes.settle(rules, |node| (receivers.waits_until(node), receivers.is_physically_busy(node)));
    }

    /// When the wait of a node for a response ends, if it waits for one.
    fn times_out_at(&self, node: usize) -> Option<Time> {
        self.receivers.waits_until(node).filter(|_| self.nodes[node].exchange.is_some())
    }

    /// Handles timeouts; whether there were any.
    fn time_out(&mut self, now: Time, events: &mut Vec<FieldEvent>) -> bool {
        let mut is_any = false;
        let mut due = std::mem::take(&mut self.due_nodes);
        due.clear();
        self.nodes.first_due(&mut due);
        for &index in &due {
            if self.times_out_at(index) != Some(now) {
                continue;
            }
            is_any = true;
            let received = self.receivers.locked_to(index).map(|frame| self.frames[frame]);
            let node = &mut self.nodes[index];
            if let Some(response) = received.filter(|frame| frame.to == index && frame.is_response()) {
                *self.receivers.waits_until_mut(index) = Some(response.ends);
                continue;
            }
            events.extend(node.exchange.take().map(FieldEvent::Failed));
        }
        self.due_nodes = due;
        is_any
    }
}
