//! DQM: dual queue management.
//!
//! Source: `dqm` III-B and Algorithm 1.
//!
//! Idea: ACKs and data wait in two queues under one limit. A PI controller updates a marking probability so that the length of
//! both together keeps the queueing delay at its reference. Marked is the head of the queue whose flows have used more channel
//! time each, with CE on data and ECE on an ACK. The queue below its fair share of the channel is served; if both are below,
//! the head with the higher data rate.
//!
//! Interpretations:
//! - Equation (1) is q_ref = D_ref divided by the mean of T_pkt; the root sign in some copies of the text is a lost
//!   overbar.
//! - `packet_time`: what T_pkt means in it. `service`, from head of line to the end of service, with the time for which
//!   the backoff is frozen: q packets that take T_pkt each wait for q T_pkt, so the delay can settle at D_ref. `channel-time`
//!   leaves the frozen time out, as the paper's list of parts may be read; the delay is then longer than D_ref by as
//!   much as others use the channel. What adds up to T_up and T_dn is channel time in either case: the time of others
//!   is not a flow's own.
//! - `packet_time_weight`: of the newest sample in the moving average of T_pkt. 0.01 averages over some hundred packets,
//!   a fraction of a second under load: enough to even out ACKs, data and backoffs, and still fast compared
//!   with the controller, which takes seconds.
//! - `window`: what happens to T_up and T_dn at the end of an observation window. `carry`: each direction's share, N T_fair, is
//!   subtracted, and what it used beyond that is carried over. The text wants no direction to use more than its share "in each
//!   observation window", and the frame that crosses a window's end, or a station's own frame, which the AP cannot hold back,
//!   breaks that bound unless the next window pays for it. An unused share is not carried over. `clock`: both start at 0, so
//!   that nothing is paid back. `used`: as `clock`, but a window ends when both together have reached T_w. `carry-used`: as
//!   `carry`, with the windows of `used`; then the shares that are subtracted are as much as was used, where channel times may
//!   add up to more than the clock, since backoffs overlap. `none`: windows do not end, as in Algorithm 1, which has no reset;
//!   uplinks that begin late then have the channel until they have caught up. A window's length and shares are set when it
//!   begins, from the numbers of active flows; it is at least one T_fair long.
//! - `no_active_flows`: how T / N compares where N is 0. `unbounded`, the quotient's limit: a direction without flows has no
//!   share, so any time used exceeds it; without time used, 0. `zero`: the direction has had nothing. `infinite`: as
//!   `unbounded`, but 0 / 0 is infinite, too.
//! - `empty_turn`: what is sent if the chosen queue is empty and the other is not. `other`: the head of the other, so that the
//!   scheme is work conserving. `wait`, as printed: nothing, until the next arrival or the end of the AP's next exchange, when
//!   a queue of ns-2 is asked again. `poll`: as `wait`, and it is also asked at every tick of the controller. The case is
//!   frequent when only one direction has flows: T / N of the other is then 0, so with `unbounded` and `zero` its empty queue
//!   is chosen whenever the first direction has used its share. Data rates are compared only where there are two heads.
//! - `opportunistic`: whether data rates decide while both directions are below their shares, as printed. Without, every
//!   two heads count as equally fast, which shows what the rule is worth.
//! - `equal_rates`: which queue is served when both are below their shares and both heads have the same data rate. `ack`
//!   as printed; `less-time`, the one whose flows have had less of the channel each (then ACKs on a tie).
//! - `unmarkable`: what happens to a packet that should be marked but is not ECN-capable (SYN, a transport without ECN, a
//!   retransmission). `leave`: nothing, since the algorithm drops at the limit alone, and losses are what it wants to
//!   avoid. `drop`: it is dropped, as routers do by RFC 3168.
//! - `empty_pick`: when the queue to mark from is empty, the algorithm returns the arrival, whatever direction it is of:
//!   `arrival` as printed, `nothing`.
//!
//! Aggregates: the packet whose turn it is names the station of a PPDU, which is filled by the same rule from both queues'
//! packets for that station; their data rates are equal. Each packet is charged its share of the PPDU's channel time, which is
//! T_pkt, too, with `channel-time`. With `mac.aggregation.fill = "head-run"` a PPDU ends at the first packet that would leave
//! for another station.
//!
//! Deviations: the marking probability is clamped to 0 … 1. `drop_tgt`, which Algorithm 1 reads and never sets, is taken as
//! never set. Marking precedes the placement of the arrival, as in Algorithm 1; the text has it after. The controller waits for
//! the first T_pkt. Packets that are neither data nor ACKs wait with the data, as printed, and count to no direction.
//!
//! Random draws: one for each arrival that finds room.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info, SpecError, StationId, Time};

use crate::buffer::Lists;
use crate::buffer::{Arrival, Buffer, DequeuedPacket, Placed, SlotId};
use crate::check;
use crate::flows::Flows;
use crate::pi::PiController;
use crate::scheme::{Cx, Hooks, Scheme, Shortcuts};
use crate::words::{Eviction, Exchange, Grant, Reception, Refusal};

pub const INFO: Info = Info {
    name: "dqm",
    source: "dqm III-B and Algorithm 1",
    idea: "Separate ACK and data queues, marked by a PI controller; it holds the queueing delay by marking the direction that has had more of the channel, which is also served last.",
};

/// Parameters of DQM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// d_ref: target queueing delay, in ms.
    pub delay_ref_ms: f64,
    /// a: weight of the present deviation from the reference length, per packet.
    pub a: f64,
    /// b: weight of the deviation at the previous update, per packet; at most `a`.
    pub b: f64,
    /// Sampling frequency of the controller, in Hz.
    pub frequency_hz: f64,
    /// T_fair: a flow's fair share of an observation window, in ms of channel time.
    pub fair_share_ms: f64,
    /// The time that T_pkt averages, from which the reference length is computed.
    pub packet_time: PacketTime,
    /// Weight of the newest sample in the moving average of T_pkt.
    pub packet_time_weight: f64,
    /// What happens to the channel times at the end of an observation window.
    pub window: ObservationWindow,
    /// Channel time per flow of a direction without active flows.
    pub no_active_flows: IdleDirection,
    /// What is sent if the queue selected for service is empty and the other is not.
    pub empty_turn: EmptyTurn,
    /// Whether, with both directions below their shares, the head at the higher data rate is served; if false, `equal_rates`
    /// decides at any data rates.
    pub opportunistic: bool,
    /// What is served if both directions are below their shares and their heads have the same data rate.
    pub equal_rates: EqualRates,
    /// What happens to a packet that should be marked but is not ECN-capable.
    pub unmarkable: Unmarkable,
    /// What is marked if the queue selected for marking is empty.
    pub empty_pick: EmptyPick,
}

/// The time that T_pkt averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketTime {
    /// From head of line to the end of service.
    #[default]
    Service,
    /// Without the time for which the backoff is frozen.
    ChannelTime,
}

/// What happens to the channel times at the end of an observation window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObservationWindow {
    /// Each direction's fair share is subtracted and the rest carried over. A window ends when as much time has passed as
    /// the fair shares of all flows together.
    #[default]
    Carry,
    /// As `carry`, but a window ends when as much channel time has been used as the fair shares of all flows together.
    CarryUsed,
    /// Both start at 0. A window ends as under `carry`.
    Clock,
    /// Both start at 0. A window ends as under `carry-used`.
    Used,
    /// Windows do not end.
    None,
}

/// The channel time for each flow of a direction without active flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleDirection {
    /// Greater than any other if any was used, else nothing.
    #[default]
    Unbounded,
    /// Nothing.
    Zero,
    /// Greater than any other, also if none was used.
    Infinite,
}

/// What is sent if the queue that is to be served is empty and the other is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyTurn {
    /// The head of the other: the scheme is work conserving.
    #[default]
    Other,
    /// Nothing until the next arrival or the end of the AP's next exchange: the printed rule.
    Wait,
    /// As `wait`, but the rule is also applied again at every tick of the controller.
    Poll,
}

/// What is served when both directions are below their shares and their heads go at the same bit rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EqualRates {
    /// ACKs: the printed rule.
    #[default]
    Ack,
    /// The direction whose flows have had less of the channel each.
    LessTime,
}

/// What becomes of a packet that is to be marked but cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unmarkable {
    /// Nothing.
    #[default]
    Leave,
    /// It is dropped.
    Drop,
}

/// What is marked when the queue to mark from is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyPick {
    /// The arrival: the printed rule.
    #[default]
    Arrival,
    /// Nothing.
    Nothing,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            delay_ref_ms: 50.0,
            a: 1.822e-5,
            b: 1.816e-5,
            frequency_hz: 160.0,
            fair_share_ms: 5.0,
            packet_time: PacketTime::default(),
            packet_time_weight: 0.01,
            window: ObservationWindow::default(),
            no_active_flows: IdleDirection::default(),
            empty_turn: EmptyTurn::default(),
            opportunistic: true,
            equal_rates: EqualRates::default(),
            unmarkable: Unmarkable::default(),
            empty_pick: EmptyPick::default(),
        }
    }
}

impl Spec {
    pub fn build(&self) -> Dqm {
        Dqm {
            controller: PiController::new(self.a, self.b, self.frequency_hz),
            fair_share: Time::from_secs_f64(self.fair_share_ms * 1e-3),
            queues: Lists::default(),
            lengths: [0; 2],
            by_station: None,
            used: [Time::ZERO; 2],
            window_since: Time::ZERO,
            window_length: Time::from_secs_f64(self.fair_share_ms * 1e-3),
            shares: [Time::ZERO; 2],
            packet_time_s: None,
            flows: [0; 2],
            waits: false,
            spec: self.clone(),
        }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "delay_ref_ms", self.delay_ref_ms, 0.001..=100_000.0, "ms")?;
        PiController::validate(path, self.a, self.b, self.frequency_hz)?;
        check::within(path, "fair_share_ms", self.fair_share_ms, 0.001..=100_000.0, "ms")?;
        if self.packet_time_weight == 0.0 {
            let key = format!("{path}.packet_time_weight");
            return Err(SpecError::new(key, self.packet_time_weight, "more than 0, at most 1"));
        }
        check::within(path, "packet_time_weight", self.packet_time_weight, 0.0..=1.0, "")
    }
}

/// One of the two queues, and the direction of its flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// ACKs, of uplink flows.
    Up,
    /// All other packets, of downlink flows.
    Down,
}

impl Side {
    /// The queue of packets of `class`.
    fn of_queued(class: Class) -> Side {
        if class == Class::Ack { Side::Up } else { Side::Down }
    }

    /// The number of its list of packets for a station.
    fn of_station(self, station: StationId) -> usize {
        2 * station.index() + self as usize
    }

    fn other(self) -> Side {
        match self {
            Side::Up => Side::Down,
            Side::Down => Side::Up,
        }
    }
}

pub struct Dqm {
    spec: Spec,
    controller: PiController,
    fair_share: Time,
    /// The packets of the buffer by [`Side`], each in its order.
    queues: Lists,
    lengths: [usize; 2],
    /// The same by side and station; kept from the first request of an aggregate on.
    by_station: Option<Lists>,
    /// T_up and T_dn in the current window.
    used: [Time; 2],
    window_since: Time,
    window_length: Time,
    /// N_up T_fair and N_dn T_fair of the current window.
    shares: [Time; 2],
    /// Moving average of T_pkt.
    packet_time_s: Option<f64>,
    /// N_up and N_dn at the last tick, for output.
    flows: [u32; 2],
    /// Nothing is sent until the next arrival or the end of the next exchange, since the turn was an empty queue's.
    waits: bool,
}

impl Dqm {
    fn active(flows: &Flows) -> [u32; 2] {
        [flows.up(), flows.down()]
    }

    /// Ends the current window if it is over, and begins the next.
    fn turn_window(&mut self, cx: &Cx) {
        let passed = cx.now - self.window_since;
        let over = match self.spec.window {
            ObservationWindow::Carry | ObservationWindow::Clock => passed >= self.window_length,
            ObservationWindow::Used | ObservationWindow::CarryUsed => {
                self.used[0] + self.used[1] >= self.window_length
            }
            ObservationWindow::None => false,
        };
        if !over {
            return;
        }
        match self.spec.window {
            ObservationWindow::Carry => {
                // Windows follow each other without a gap; those in which nothing happened are settled with the same shares.
                let windows = passed / self.window_length;
                self.settle(windows);
                self.window_since += self.window_length * windows;
            }
            ObservationWindow::CarryUsed => self.settle(1),
            ObservationWindow::Clock | ObservationWindow::Used | ObservationWindow::None => {
                self.used = [Time::ZERO; 2];
                self.window_since = cx.now;
            }
        }
        let flows = Self::active(cx.flows);
        self.shares = flows.map(|flows| self.fair_share * u64::from(flows));
        self.window_length = (self.shares[0] + self.shares[1]).max(self.fair_share);
    }

    /// Subtracts the shares of this number of windows.
    fn settle(&mut self, windows: u64) {
        self.used = [0, 1].map(|side| self.used[side].saturating_sub(self.shares[side] * windows));
    }

    fn charge(&mut self, side: Side, time: Time, cx: &Cx) {
        self.turn_window(cx);
        self.used[side as usize] += time;
    }

    /// Channel time per flow, as a fraction whose denominator may be 0 (unbounded), but not together with the numerator.
    fn per_flow(&self, side: Side, flows: [u32; 2]) -> [u64; 2] {
        let used = self.used[side as usize].as_ns();
        match (used, flows[side as usize], self.spec.no_active_flows) {
            (_, 0, IdleDirection::Infinite) => [1, 0],
            (0, _, _) | (_, 0, IdleDirection::Zero) => [0, 1],
            (_, 0, IdleDirection::Unbounded) => [1, 0],
            (used, flows, _) => [used, flows.into()],
        }
    }

    /// Compares T_up / N_up with T_dn / N_dn, without division.
    fn compare(&self, flows: [u32; 2]) -> Ordering {
        let [up, down] = [Side::Up, Side::Down].map(|side| self.per_flow(side, flows).map(u128::from));
        (up[0] * down[1]).cmp(&(down[0] * up[1]))
    }

    /// Adds an admitted packet to its queue.
    fn join(&mut self, slot: SlotId, buffer: &Buffer) {
        let side = Side::of_queued(buffer[slot].class);
        self.queues.push(side as usize, slot);
        self.lengths[side as usize] += 1;
        if let Some(lists) = &mut self.by_station {
            lists.push(side.of_station(buffer[slot].station), slot);
        }
    }

    /// Removes a packet that is about to leave from its queue.
    fn part(&mut self, slot: SlotId, buffer: &Buffer) {
        let side = Side::of_queued(buffer[slot].class);
        self.queues.remove(side as usize, slot);
        self.lengths[side as usize] -= 1;
        if let Some(lists) = &mut self.by_station {
            lists.remove(side.of_station(buffer[slot].station), slot);
        }
    }

    fn queued(&self, side: Side) -> impl Iterator<Item = SlotId> + '_ {
        std::iter::successors(self.queues.first(side as usize), |&slot| self.queues.after(slot))
    }

    /// The head of a queue or, if the grant gathers, the first packet that it admits.
    fn first(&mut self, side: Side, grant: &Grant, buffer: &Buffer) -> Option<SlotId> {
        let head = self.queues.first(side as usize)?;
        if !grant.gathers || buffer.admits(head, grant) {
            return Some(head);
        }
        let Some(station) = grant.station else {
            return self.queued(side).find(|&slot| buffer.admits(slot, grant));
        };
        let lists = match self.by_station.take() {
            Some(lists) => lists,
            None => {
                let mut lists = Lists::default();
                for side in [Side::Up, Side::Down] {
                    self.queued(side)
                        .for_each(|slot| lists.push(side.of_station(buffer[slot].station), slot));
                }
                lists
            }
        };
        self.by_station.insert(lists).first(side.of_station(station))
    }

    /// Algorithm 1, lines 15 to 29, for the heads of both queues.
    fn next_side(&self, heads: [Option<SlotId>; 2], buffer: &Buffer, cx: &Cx) -> Side {
        let flows = Self::active(cx.flows);
        let below = [0, 1].map(|side| self.used[side] < self.fair_share * u64::from(flows[side]));
        let less_time = || if self.compare(flows).is_le() { Side::Up } else { Side::Down };
        match below {
            [true, true] => {
                let rate = |head| cx.links[buffer[head].station.index()].rate;
                // No rate is less than any, and all are equal unless they decide.
                let [up, down] =
                    heads.map(|head| head.map(|head| self.spec.opportunistic.then(|| rate(head))));
                match down.cmp(&up) {
                    Ordering::Greater => Side::Down,
                    Ordering::Less => Side::Up,
                    Ordering::Equal => match self.spec.equal_rates {
                        EqualRates::Ack => Side::Up,
                        EqualRates::LessTime => less_time(),
                    },
                }
            }
            [true, false] => Side::Up,
            [false, true] => Side::Down,
            [false, false] if self.compare(flows).is_lt() => Side::Up,
            [false, false] => Side::Down,
        }
    }

    /// Algorithm 1, lines 31 to 38: returns the head to mark; `None` means the arrival.
    fn pick(&self, cx: &Cx) -> Option<SlotId> {
        let side = if self.compare(Self::active(cx.flows)).is_gt() { Side::Up } else { Side::Down };
        self.queues.first(side as usize)
    }

    /// Marks a queued packet, CE on data and ECE on an ACK; false if it cannot be marked.
    fn mark(slot: SlotId, buffer: &mut Buffer) -> bool {
        match buffer[slot].class {
            Class::Ack => buffer.set_ece(slot),
            _ => buffer.mark(slot),
        }
    }

    fn append(&mut self, arrival: Arrival, buffer: &mut Buffer) -> Placed {
        let placed = buffer.append(arrival);
        self.join(buffer.tail().expect("it has just been appended"), buffer);
        placed
    }

    /// Marks a queued packet; drops it if it cannot be marked and `unmarkable` is `drop`.
    fn mark_or_drop(&mut self, slot: SlotId, buffer: &mut Buffer) {
        if !Self::mark(slot, buffer) && self.spec.unmarkable == Unmarkable::Drop {
            self.part(slot, buffer);
            buffer.evict(slot, Eviction::Aqm);
        }
    }
}

impl Scheme for Dqm {
    fn shortcuts(&self) -> Shortcuts {
        // An arrival ends a wait even if it is dropped.
        Shortcuts { tail_drop: self.spec.empty_turn != EmptyTurn::Wait, ..Shortcuts::default() }
    }

    fn decides_on(&self) -> &'static [Class] {
        &[Class::Ack, Class::Data]
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, reception: true, tick: true, ..Hooks::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        self.waits = false;
        if buffer.is_full() {
            return buffer.refuse(arrival, Refusal::TailDrop);
        }
        if !cx.rng.chance(self.controller.probability()) {
            return self.append(arrival, buffer);
        }
        self.turn_window(cx);
        let Some(head) = self.pick(cx) else {
            let placed = self.append(arrival, buffer);
            if self.spec.empty_pick == EmptyPick::Arrival {
                self.mark_or_drop(buffer.tail().expect("it has just been appended"), buffer);
            }
            return placed;
        };
        self.mark_or_drop(head, buffer);
        self.append(arrival, buffer)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        if self.waits {
            return None;
        }
        self.turn_window(cx);
        let heads = [Side::Up, Side::Down].map(|side| self.first(side, grant, buffer));
        let chosen = self.next_side(heads, buffer, cx);
        let admitted = |side: Side| heads[side as usize].filter(|&head| buffer.admits(head, grant));
        let Some(head) = admitted(chosen).or_else(|| match self.spec.empty_turn {
            EmptyTurn::Other => admitted(chosen.other()),
            EmptyTurn::Wait | EmptyTurn::Poll => None,
        }) else {
            // The end of an aggregate is no turn.
            self.waits = self.spec.empty_turn == EmptyTurn::Wait && grant.station.is_none();
            return None;
        };
        if !buffer.may_go(head, grant) {
            return None;
        }
        self.part(head, buffer);
        Some(buffer.release(head))
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, cx: &mut Cx) {
        self.waits = false;
        let sample = match self.spec.packet_time {
            PacketTime::Service => exchange.service,
            PacketTime::ChannelTime => exchange.channel_time(),
        };
        let sample = sample.as_secs_f64();
        let average = self.packet_time_s.get_or_insert(sample);
        *average += self.spec.packet_time_weight * (sample - *average);
        match exchange.packets[0].class() {
            Class::Data => self.charge(Side::Down, exchange.channel_time(), cx),
            Class::Ack => self.charge(Side::Up, exchange.channel_time(), cx),
            Class::Other => {}
        }
    }

    fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) {
        match reception.packet.class() {
            Class::Data => self.charge(Side::Up, reception.channel_time(), cx),
            Class::Ack => self.charge(Side::Down, reception.channel_time(), cx),
            Class::Other => {}
        }
    }

    fn begin(&mut self, now: Time) {
        self.controller.begin(now);
        self.window_since = now;
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.controller.due())
    }

    fn on_tick(&mut self, buffer: &mut Buffer, cx: &mut Cx) {
        self.flows = Self::active(cx.flows);
        let reference = self.packet_time_s.map(|packet_time_s| self.spec.delay_ref_ms * 1e-3 / packet_time_s);
        self.controller.update(buffer.len() as f64, reference);
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        for _ in 0..buffer.excess() {
            let newest = buffer.tail().expect("the excess is queued");
            self.part(newest, buffer);
            buffer.evict(newest, Eviction::Victim);
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mark_probability", self.controller.probability());
        if let Some(packet_time_s) = self.packet_time_s {
            out("queue_ref_packets", self.spec.delay_ref_ms * 1e-3 / packet_time_s);
            out("packet_time_ms", packet_time_s * 1e3);
        }
        out("ack_queue_packets", self.lengths[Side::Up as usize] as f64);
        out("data_queue_packets", self.lengths[Side::Down as usize] as f64);
        out("flows_up", f64::from(self.flows[0]));
        out("flows_down", f64::from(self.flows[1]));
    }
}
