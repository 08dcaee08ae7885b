//! Aggregation: A-MPDUs and Block Ack (802.11-2020, 9.7, 10.12 and 10.25; `docs/medium.md`, section 12).
//!
//! Nothing here depends on the medium. The originator determines the content of a PPDU and is given its outcome; the recipient
//! determines what is passed on.

mod accounts;
mod airtime_estimate;
mod amsdu;
mod hardware;
mod originator;
mod psdu;
mod recipient;
mod spec;
mod tries;

use std::collections::VecDeque;

use wifair_core::{Packet, Time};

pub(crate) use accounts::{Account, AirtimeShare};
pub use airtime_estimate::{Kernel, expected_airtime};
pub(crate) use amsdu::Amsdu;
pub use hardware::{Ath9kSpec, Ath10kSpec, FirmwareSpec, HardwareSpec, HwsimSpec, IdealSpec};
pub(crate) use hardware::{Backlog, Feed, Hardware, Occasion};
pub(crate) use originator::{Formed, LinkQueueEntry, Mpdu, Originator};
use psdu::Shares;
pub(crate) use psdu::{Limits, Psdu};
pub(crate) use recipient::Recipient;
pub(crate) use spec::{AggregationRules, Attempts};
pub use spec::{AggregationSpec, Fill, MpduDelivery, Requests};
pub(crate) use tries::{Tries, TriesInService};

use crate::node::{EdcafId, LinkId, Node, Numbering};
use crate::ppdu::Ppdu;

/// A packet that has crossed the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub packet: Packet,
    /// Its share of the airtime of the exchange that delivered it.
    pub airtime: Time,
}

/// Both ends of a Block Ack agreement.
#[derive(Debug)]
pub(crate) struct Agreement {
    pub originator: Originator,
    pub recipient: Recipient<Received>,
    /// Block Ack window in MPDUs.
    pub window: u32,
}

impl Agreement {
    fn new(window: u32, amsdu: Amsdu) -> Agreement {
        Agreement {
            originator: Originator::new(window.into(), amsdu),
            recipient: Recipient::new(window.into()),
            window,
        }
    }

    /// The PPDU on the air has ended at `now`: the packets that the recipient passes on go to `up`, `each` receives for every
    /// packet decoded from it whether it is a duplicate. If all are decoded and in order, and nothing has failed, their number
    /// is returned instead: the caller takes them one by one from the head of the link queue ([`Originator::take_received`]).
    fn receive(&mut self, now: Time, each: impl FnMut(bool), up: impl FnMut(Received)) -> Option<usize> {
        if let Some((sequence, mpdus, packets)) = self.originator.end_ordinary()
            && self.recipient.receive_run(sequence, mpdus)
        {
            return Some(packets);
        }
        let mut airtimes = self.originator.airtimes();
        self.receive_from(0, &mut airtimes, now, each, up);
        None
    }

    /// The same for the MPDUs from a place of the link queue on, where those before it were received on their own.
    fn receive_from(
        &mut self,
        place: usize,
        airtimes: &mut Shares,
        now: Time,
        mut each: impl FnMut(bool),
        mut up: impl FnMut(Received),
    ) {
        let Agreement { originator, recipient, .. } = self;
        originator.end(place, airtimes, |mpdu, share| recipient.accept(mpdu, share, now, &mut each, &mut up));
    }

    /// The same for the MPDU at a place.
    fn receive_mpdu(
        &mut self,
        place: usize,
        airtimes: &mut Shares,
        now: Time,
        mut each: impl FnMut(bool),
        mut up: impl FnMut(Received),
    ) {
        let Agreement { originator, recipient, .. } = self;
        let accept = |mpdu: &Mpdu, share| recipient.accept(mpdu, share, now, &mut each, &mut up);
        originator.end_mpdu(place, airtimes, accept);
    }
}

impl Recipient<Received> {
    /// Handles a decoded packet with its share of the airtime; `each` receives whether it is a duplicate. Returns whether it is
    /// not.
    fn accept(
        &mut self,
        mpdu: &Mpdu,
        airtime: Time,
        now: Time,
        each: &mut impl FnMut(bool),
        up: &mut impl FnMut(Received),
    ) -> bool {
        let received = Received { packet: mpdu.departure.packet, airtime };
        let new = match mpdu.continues_amsdu() {
            true => self.join(mpdu.sequence, received),
            false => self.receive(mpdu.sequence, received, now, up),
        };
        each(!new);
        new
    }
}

/// A PPDU on the air whose MPDUs are received one by one.
#[derive(Debug)]
struct Arriving {
    /// The places in the link queue at which MPDUs begin, and when these end; the last MPDU ends with the PPDU.
    ends: VecDeque<(usize, Time)>,
    last: usize,
    airtimes: Shares,
}

/// A formed PPDU, or a Block Ack Request.
#[derive(Debug)]
pub(crate) struct QueuedPpdu {
    pub link: LinkId,
    /// Its number within the link.
    pub number: u32,
    pub ppdu: Ppdu,
    /// Its tries, if it has several and is not in service.
    pub tries: Option<Tries>,
    /// Whether it samples a mode.
    pub samples: bool,
}

impl QueuedPpdu {
    /// Whether it counts towards the length of a hardware queue.
    pub fn counts(&self) -> bool {
        !self.samples && !self.ppdu.is_request()
    }
}

/// Packets in a row in a link queue, passed on by its recipient.
#[derive(Debug)]
struct Run {
    link: LinkId,
    rank: usize,
    /// The place of the first that has not been taken yet.
    next: usize,
    end: usize,
    airtimes: Shares,
}

/// The agreements of a BSS, and which links wait to be served.
#[derive(Debug)]
pub(crate) struct Aggregation {
    pub rules: AggregationRules,
    /// By link and rank of the access category.
    agreements: Vec<Option<Agreement>>,
    /// By channel access function: its pending links, in the order in which they became pending.
    pending: Vec<VecDeque<LinkId>>,
    /// By node: the layer below its transmit queues.
    hardware: Vec<Hardware>,
    /// By node: content of its link queues; only if packets leave its transmit queues ahead of PPDUs.
    backlogs: Vec<Backlog>,
    /// By channel access function: the PPDUs formed ahead, with the one in service at the head.
    pub built: Vec<VecDeque<QueuedPpdu>>,
    /// By channel access function.
    pub tries: Vec<TriesInService>,
    /// The PPDU on the air, if its MPDUs are received one by one.
    arriving: Option<Arriving>,
    /// Packets that recipients have passed on and that have not been taken yet, with their links and ranks.
    passed: VecDeque<(LinkId, usize, Received)>,
    /// Packets at the head of a link queue that its recipient has passed on as they came.
    run: Run,
    /// The packet that was taken last, with its link and the rank of its category.
    taken: (LinkId, usize, Packet),
    /// Recipients that hold MPDUs, and when their reorder timeouts expire.
    waits: Vec<(Time, usize)>,
}

impl Aggregation {
    /// `hardware` is by node, of which each has four channel access functions. `links`: windows in MPDUs, 0 without an
    /// agreement, and A-MSDUs.
    pub fn new(rules: AggregationRules, hardware: Vec<Hardware>, links: &[(u32, Amsdu)]) -> Aggregation {
        let functions = Numbering::EDCA.after(hardware.len()).index();
        let backlog = |(node, hardware): (usize, &Hardware)| {
            let stations = if Node::at(node).is_ap() { links.len() / 2 } else { 1 };
            Backlog::new(if hardware.prefetches() { stations } else { 0 })
        };
        let agreement = |&(window, amsdu): &(u32, Amsdu)| {
            (window > 0).then(|| Agreement::new(window.min(rules.window), amsdu))
        };
        Aggregation {
            rules,
            agreements: links
                .iter()
                .flat_map(|link| std::array::from_fn::<_, 4, _>(|_| agreement(link)))
                .collect(),
            pending: vec![VecDeque::new(); functions],
            backlogs: hardware.iter().enumerate().map(backlog).collect(),
            hardware,
            built: (0..functions).map(|_| VecDeque::new()).collect(),
            tries: (0..functions).map(|_| TriesInService::default()).collect(),
            arriving: None,
            passed: VecDeque::new(),
            run: Run { link: LinkId::at(0), rank: 0, next: 0, end: 0, airtimes: Shares::of(0, 0) },
            taken: (LinkId::at(0), 0, Packet::default()),
            waits: Vec::new(),
        }
    }

    /// Whether a FIFO releases the first packet that may be sent, wherever it is queued.
    pub fn gathers(&self) -> bool {
        self.rules.fill == Fill::Gather
    }

    /// The layer below the transmit queue of a channel access function.
    pub fn hardware_of(&self, function: EdcafId) -> &Hardware {
        &self.hardware[Numbering::EDCA.node_index(function)]
    }

    /// What counts towards the limits of the layer below the transmit queue of a channel access function.
    pub fn backlog_of(&self, function: EdcafId) -> &Backlog {
        &self.backlogs[Numbering::EDCA.node_index(function)]
    }

    /// The limits of attempts of a channel access function.
    pub fn attempts_of(&self, function: EdcafId) -> Attempts {
        self.rules.attempts(self.hardware_of(function))
    }

    /// Whether the hardware queue of a channel access function has room for another PPDU.
    pub fn has_room_ahead(&self, function: EdcafId) -> bool {
        let built = &self.built[function.index()];
        built.iter().filter(|built| built.counts()).count() < self.hardware_of(function).ahead
    }

    fn index(link: LinkId, rank: usize) -> usize {
        4 * link.index() + rank
    }

    /// The agreement of a link and category, if both ends are 802.11n or later.
    pub fn of(&self, link: LinkId, rank: usize) -> Option<&Agreement> {
        self.agreements[Aggregation::index(link, rank)].as_ref()
    }

    /// The agreement of a link and category, mutable.
    pub fn of_mut(&mut self, link: LinkId, rank: usize) -> Option<&mut Agreement> {
        self.agreements[Aggregation::index(link, rank)].as_mut()
    }

    /// The agreement of a link of a channel access function, with the backlog of its node.
    pub fn with_backlog(
        &mut self,
        function: EdcafId,
        link: LinkId,
        rank: usize,
    ) -> (&mut Agreement, &mut Backlog) {
        let agreement = self.agreements[Aggregation::index(link, rank)].as_mut();
        let backlog = &mut self.backlogs[Numbering::EDCA.node_index(function)];
        (agreement.expect("a link with an agreement is in service"), backlog)
    }

    /// Takes the pending link that a channel access function serves before it asks its transmit queue; `last` was in service
    /// last.
    pub fn take_pending(&mut self, function: EdcafId, last: LinkId) -> Option<LinkId> {
        let pending = &mut self.pending[function.index()];
        if *pending.front()? == last { None } else { pending.pop_front() }
    }

    /// Takes the pending link that it serves if its transmit queue releases nothing.
    pub fn take_last(&mut self, function: EdcafId) -> Option<LinkId> {
        self.pending[function.index()].pop_front()
    }

    /// Removes a link that is now in service from the pending ones.
    pub fn unlist(&mut self, function: EdcafId, link: LinkId) {
        self.pending[function.index()].retain(|other| *other != link);
    }

    /// Makes a link that is not in service, or whose PPDU is formed or dissolved, pending if it has anything left to send:
    /// before all others if firmware serves it and its last PPDU was a sample. Returns whether it became pending.
    pub fn release(&mut self, function: EdcafId, link: LinkId, rank: usize) -> bool {
        let Some(Agreement { originator, .. }) = self.of(link, rank) else { return false };
        let (is_pending, is_full) = (originator.is_pending(), originator.is_full());
        let Hardware { ahead, feed, .. } = *self.hardware_of(function);
        if ahead > 0 && feed == Feed::OnDemand {
            self.backlogs[Numbering::EDCA.node_index(function)].set_full(rank, link.station(), is_full);
        }
        match (is_pending, self.is_pending(function, link)) {
            (true, false)
                if self.hardware_of(function).prefetches()
                    && self.tries[function.index()].has_sampled(link) =>
            {
                self.pending[function.index()].push_front(link);
            }
            (true, false) => self.pending[function.index()].push_back(link),
            (false, true) => self.unlist(function, link),
            _ => return false,
        }
        is_pending
    }

    /// The links that wait to be served.
    pub fn pending_of(&self, function: EdcafId) -> impl Iterator<Item = LinkId> {
        self.pending[function.index()].iter().copied()
    }

    /// Whether a link waits to be served.
    pub fn is_pending(&self, function: EdcafId, link: LinkId) -> bool {
        self.pending[function.index()].contains(&link)
    }

    /// The PPDU on the air has ended at `now`. `each` receives for every packet decoded from it whether it is a duplicate. When
    /// the earliest reorder timeout expires now.
    pub fn receive(&mut self, link: LinkId, rank: usize, now: Time, each: impl FnMut(bool)) {
        let index = Aggregation::index(link, rank);
        let Some(agreement) = &mut self.agreements[index] else { return };
        let passed = &mut self.passed;
        let up = |received| passed.push_back((link, rank, received));
        if let Some(Arriving { last, mut airtimes, .. }) = self.arriving.take() {
            agreement.receive_from(last, &mut airtimes, now, each, up);
            return self.review(index);
        }
        match agreement.receive(now, each, up) {
            Some(end) => {
                self.run = Run { link, rank, next: 0, end, airtimes: agreement.originator.airtimes() }
            }
            None => self.review(index),
        }
    }

    /// The MPDUs of the PPDU that has begun are received one by one: each but the last when `end` says, given how many bytes
    /// of a PSDU with so much spacing end with it.
    pub fn expect_mpdus(&mut self, link: LinkId, rank: usize, spacing_bytes: u32, end: impl Fn(u32) -> Time) {
        let Some(Agreement { originator, .. }) = self.of(link, rank) else { return };
        let mut ends: VecDeque<_> =
            originator.mpdu_ends(spacing_bytes).map(|(place, bytes)| (place, end(bytes))).collect();
        let (last, _) = ends.pop_back().expect("a PPDU is not empty");
        self.arriving = Some(Arriving { ends, last, airtimes: originator.airtimes() });
    }

    /// When the next MPDU ends that is received on its own.
    pub fn next_mpdu_end(&self) -> Time {
        self.arriving.as_ref().and_then(|arriving| arriving.ends.front()).map_or(Time::MAX, |(_, at)| *at)
    }

    /// An MPDU of the PPDU on the air has ended at `now`. `each` as in [`Aggregation::receive`].
    pub fn receive_mpdu(&mut self, link: LinkId, rank: usize, now: Time, each: impl FnMut(bool)) {
        let index = Aggregation::index(link, rank);
        let (Some(agreement), Some(arriving)) = (&mut self.agreements[index], &mut self.arriving) else {
            return;
        };
        let Some((place, _)) = arriving.ends.pop_front() else { return };
        let passed = &mut self.passed;
        let up = |received| passed.push_back((link, rank, received));
        agreement.receive_mpdu(place, &mut arriving.airtimes, now, each, up);
        self.review(index);
    }

    /// Handles a Block Ack Request that has reached the recipient.
    pub fn request(&mut self, link: LinkId, rank: usize) {
        let index = Aggregation::index(link, rank);
        let Some(Agreement { originator, recipient, .. }) = &mut self.agreements[index] else { return };
        let passed = &mut self.passed;
        recipient.request(originator.window_start(), |received| passed.push_back((link, rank, received)));
        self.review(index);
    }

    /// Time of the next reorder timeout.
    pub fn next_wait(&self) -> Time {
        self.waits.iter().map(|(at, _)| *at).min().unwrap_or(Time::MAX)
    }

    /// Handles an expired reorder timeout.
    pub fn expire(&mut self, now: Time) {
        // AP, station 0, station 1, ...; at the AP by station, from voice down: the recipient of an uplink is the AP.
        let order = |index: usize| {
            let link = index / 4;
            (link % 2, link, index % 4)
        };
        let due = self.waits.iter().filter(|(at, _)| *at <= now).map(|(_, index)| *index);
        let Some(index) = due.min_by_key(|&index| order(index)) else { return };
        let (link, rank) = (LinkId::at(index / 4), index % 4);
        let since = now - self.rules.reorder_timeout;
        if let Some(agreement) = &mut self.agreements[index] {
            let passed = &mut self.passed;
            agreement.recipient.give_up_waiting(since, |received| passed.push_back((link, rank, received)));
        }
        self.review(index);
    }

    fn review(&mut self, index: usize) {
        self.waits.retain(|(_, other)| *other != index);
        let deadline =
            self.agreements[index].as_ref().and_then(|a| a.recipient.deadline(self.rules.reorder_timeout));
        self.waits.extend(deadline.map(|at| (at, index)));
    }

    /// Whether packets that were passed on have not been taken.
    pub fn has_released(&self) -> bool {
        self.run.next < self.run.end || !self.passed.is_empty()
    }

    /// Takes the next packet that was passed on; returns its link, the packet and, if it `is_watched`, its share of the
    /// airtime.
    #[inline]
    pub fn take_released(&mut self, is_watched: bool) -> Option<(LinkId, &Packet, Time)> {
        let Run { link, rank, next, end, ref mut airtimes } = self.run;
        let airtime = if next < end {
            let agreement = self.agreements[Aggregation::index(link, rank)].as_mut();
            let mpdu = agreement.expect("it has passed on packets").originator.take_received(next);
            let airtime = if is_watched { airtimes.next(mpdu.bytes) } else { 0 };
            self.run.next += 1;
            self.taken = (link, rank, mpdu.departure.packet);
            Time::from_ns(airtime)
        } else {
            let (link, rank, Received { packet, airtime }) = self.passed.pop_front()?;
            self.taken = (link, rank, packet);
            airtime
        };
        let (link, _, packet) = &self.taken;
        Some((*link, packet, airtime))
    }

    /// The packet that was taken last, with its link and the rank of its category.
    #[inline]
    pub fn taken(&self) -> (LinkId, usize, &Packet) {
        let (link, rank, packet) = &self.taken;
        (*link, *rank, packet)
    }

    /// Packets that originators have and recipients do not, or that recipients hold; and whether they go down.
    pub fn packets_under_way(&self) -> impl Iterator<Item = (bool, &Packet)> {
        self.agreements.iter().enumerate().flat_map(|(index, agreement)| {
            let down = !(index / 4).is_multiple_of(2);
            let packets = agreement.iter().flat_map(|agreement| {
                let held = agreement.recipient.held().map(|received| &received.packet);
                agreement.originator.packets_not_received().chain(held)
            });
            packets.map(move |packet| (down, packet))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::{Ac, FlowId, Rate, StationId};
    use wifair_queue::{DequeuedPacket, Flows, FlowsSpec, Grant, TxQueue, TxQueueSpec, View};

    use super::*;

    /// Both ends of an agreement, the transmit queue above, and what has come of it.
    struct Side {
        tx_queue: TxQueue,
        agreement: Agreement,
        passed: Vec<(u32, Time)>,
        finished: Vec<String>,
        is_general: bool,
    }

    const MAX: Attempts = Attempts { mpdu: 3, tries: 1, request: 2, requests: Requests::Missed };

    impl Side {
        fn new(is_general: bool, amsdu: Amsdu) -> Side {
            let tx_queue =
                TxQueue::new(&TxQueueSpec { limit_packets: 1_000, ..TxQueueSpec::default() }, 1, "ap");
            let (passed, finished) = (vec![], vec![]);
            Side { tx_queue, agreement: Agreement::new(8, amsdu), passed, finished, is_general }
        }

        /// Sends a PPDU, or a Block Ack Request; `lost` has the bits of the MPDUs that the channel loses.
        fn exchange(&mut self, fate: u8, lost: u32, is_watched: bool, limits: &Limits, now: Time) {
            let Side { tx_queue, agreement, passed, finished, is_general } = self;
            agreement.originator.take_general_path(*is_general);
            let flows = Flows::new(&FlowsSpec::default());
            let view = View { flows: &flows, links: &[] };
            agreement.originator.dissolve();
            let formed = agreement.originator.form(limits, now, |max_bytes| {
                tx_queue
                    .dequeue(&Grant { max_bytes, gathers: true, ..Grant::ANY }, now, || view)
                    .map(DequeuedPacket::from)
            });
            agreement.originator.serve(formed.ppdu);
            let mut bit = 0;
            let any = formed.psdu.is_none()
                || lost == 0
                || agreement.originator.draw(|_| {
                    bit += 1;
                    lost >> (bit % 32) & 1 == 0
                });
            let ns = |factor: u64| Time::from_ns(1_000_000 + 12_345 * factor);
            let spent = AirtimeShare { airtime: ns(1), overhead: ns(2), service: ns(3) };
            let is_requested = formed.psdu.is_some_and(|psdu| psdu.mpdus() > 1);
            agreement.originator.attempt(spent, Rate::from_kbps(6_000), is_requested, |since, packets| {
                finished.push(format!("{packets} since {since}"));
            });
            let reaches = fate > 1 && any;
            if reaches && formed.psdu.is_none() {
                let start = agreement.originator.window_start();
                agreement
                    .recipient
                    .request(start, |received| passed.push((received.packet.seq, received.airtime)));
            } else if reaches {
                let mut up = |received: Received| passed.push((received.packet.seq, received.airtime));
                let mut each = |again| finished.push(format!("again: {again}"));
                let places = agreement.originator.mpdu_ends(limits.spacing_bytes).map(|(place, _)| place);
                let places: Vec<usize> = places.collect();
                let run = if let (true, Some((last, before))) = (*is_general, places.split_last()) {
                    let mut airtimes = agreement.originator.airtimes();
                    for place in before {
                        agreement.receive_mpdu(*place, &mut airtimes, now, &mut each, &mut up);
                    }
                    agreement.receive_from(*last, &mut airtimes, now, &mut each, &mut up);
                    None
                } else {
                    agreement.receive(now, each, up)
                };
                let mut airtimes = agreement.originator.airtimes();
                for at in 0..run.unwrap_or(0) {
                    finished.push("again: false".into());
                    let mpdu = agreement.originator.take_received(at);
                    passed.push((mpdu.departure.packet.seq, Time::from_ns(airtimes.next(mpdu.bytes))));
                }
            }
            if reaches && fate > 3 {
                finished.push(format!(
                    "{:?}",
                    agreement.originator.transmitted(true, true, &MAX).collect::<Vec<_>>()
                ));
                let ordinary =
                    |departure: &DequeuedPacket| finished.push(format!("done {}", departure.packet.seq));
                if is_watched || !agreement.originator.acknowledge_ordinary(ordinary) {
                    agreement.originator.acknowledge(is_watched, |mpdu, account| {
                        finished.push(format!("done {}", mpdu.departure.packet.seq));
                        if is_watched {
                            finished.push(format!("{:?}", account.spent));
                        }
                    });
                }
            } else {
                agreement.originator.fail(Time::from_us(9));
                finished.push(format!(
                    "{:?}",
                    agreement.originator.transmitted(false, true, &MAX).collect::<Vec<_>>()
                ));
            }
            let all = agreement.originator.is_exhausted(&MAX);
            agreement.originator.give_up(&MAX, |mpdu, account| {
                finished.push(format!("lost {} {all} {account:?}", mpdu.departure.packet.seq));
            });
        }
    }

    proptest! {
        /// The general side also receives each MPDU on its own.
        #[test]
        fn the_short_paths_do_what_the_general_ones_do(
            amsdu_bytes in prop::sample::select(vec![0u32, 3_000]),
            max_psdu_bytes in 500u32..20_000,
            steps in prop::collection::vec((0u8..16, 0u32..4, any::<u32>(), any::<bool>(), 0u64..500), 1..120),
        ) {
            let mut sides = [false, true].map(|is_general| Side::new(is_general, Amsdu::new(amsdu_bytes, 30, 8)));
            let limits = Limits { max_mpdus: 8, max_psdu_bytes, spacing_bytes: 40, mac_bytes: 38 };
            let flows = Flows::new(&FlowsSpec::default());
            let view = View { flows: &flows, links: &[] };
            let (mut now, mut seq) = (Time::ZERO, 0);
            for (fate, packets, noise, is_watched, us) in steps {
                now += Time::from_us(us);
                for _ in 0..packets * packets {
                    seq += 1;
                    let packet = Packet { seq, payload_bytes: seq * 7_919 % 1_461, header_bytes: 40, ..Packet::default() };
                    for Side { tx_queue, .. } in &mut sides {
                        tx_queue.enqueue(Ac::BestEffort, &packet, FlowId(0), StationId(0), now, || view);
                    }
                }
                let [short, _] = &sides;
                if short.tx_queue.is_empty() && !short.agreement.originator.is_pending() {
                    continue;
                }
                let lost = if fate % 3 == 0 { noise } else { 0 };
                sides.iter_mut().for_each(|side| side.exchange(fate, lost, is_watched, &limits, now));
                let [short, general] = &mut sides;
                prop_assert_eq!(&short.passed, &general.passed);
                prop_assert_eq!(&short.finished, &general.finished);
                general.agreement.originator.take_general_path(false);
                let [short, general] = [short, general].map(|side| format!("{:?}", side.agreement));
                prop_assert_eq!(short, general);
            }
        }
    }
}
