use wifair_core::{Ac, Class, FlowId, Packet, Rate, Rng, StationId, Time};

use crate::{Arrival, Buffer, Departure, Eviction, Flows, Indexes, Placed};

/// A queue management scheme of a transmission buffer.
///
/// The scheme decides; the [`Buffer`] acts and counts. An arrival is passed by value, and only the buffer can create the
/// [`Placed`] that `enqueue` must return, so each arrival is placed or refused exactly once. Queued packets can only be evicted
/// or released.
pub trait Scheme: Send {
    /// The indexes that the buffer must keep for this scheme. Called once, before the first packet.
    fn needs(&self) -> Indexes {
        Indexes::NONE
    }

    /// The packet classes that the scheme needs to have any effect. A plan whose buffer never gets one of them is refused.
    fn decides_on(&self) -> &'static [Class] {
        &[]
    }

    /// Whether the scheme can serve several access categories at once, each with its own grants ([`Grant::ac`]). By default
    /// true if packets leave from the head.
    fn serves_categories(&self) -> bool {
        self.shortcuts().release_head
    }

    /// The default limit in packets, for a buffer whose owner does not set one.
    fn usual_limit_packets(&self) -> u32 {
        100
    }

    /// Places or refuses an arriving packet; may evict others first.
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed;

    /// Returns the packet to send now, or `None` to send nothing under this grant. The default is first in, first out. A series
    /// of grants for one station fills an aggregate ([`Grant::gathers`]).
    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<Departure> {
        buffer.release_head(grant)
    }

    /// Whether the scheme selects the station to which the MAC sends next, retransmissions included. If so,
    /// [`Scheme::choose_station`] is called on links that aggregate.
    fn arbitrates(&self) -> bool {
        false
    }

    /// Returns the station to send to next: one with packets queued that the grant admits, or one with retransmissions at the
    /// MAC (`is_pending`).
    fn choose_station(
        &mut self,
        _grant: &Grant,
        _is_pending: &dyn Fn(StationId) -> bool,
        _buffer: &mut Buffer,
        _cx: &mut Cx,
    ) -> Option<StationId> {
        None
    }

    /// The MAC has retransmissions for the station: MPDUs that were not acknowledged. For schemes that arbitrate.
    fn on_pending(&mut self, _station: StationId, _ac: Ac, _cx: &mut Cx) {}

    /// Decisions that are always the same, so that the port need not ask for them. Called once.
    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::NONE
    }

    /// The optional methods below that are to be called. Called once; the other methods are never called.
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    /// A frame exchange of a packet from this buffer is over.
    fn on_exchange(&mut self, _exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// A transmission of packets from this buffer is over and its outcome known. The end of a packet's service is reported by
    /// [`Scheme::on_exchange`] afterwards.
    fn on_transmission(&mut self, _transmission: &Transmission, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// A data frame from a station has been received.
    fn on_reception(&mut self, _reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// The data rate towards a station has changed; `cx.links` has the new one. A PPDU on the air keeps its rate.
    fn on_link_rate(&mut self, _station: StationId, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// When [`Scheme::on_tick`] is to be called next. The caller keeps the clock.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time returned by [`Scheme::next_tick`] has been reached.
    fn on_tick(&mut self, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// Evicts the packets above a limit that has been lowered ([`LoweredLimit::Evict`](crate::LoweredLimit)): as many as
    /// [`Buffer::excess`] returns. By default the newest.
    fn evict_excess(&mut self, buffer: &mut Buffer) {
        for _ in 0..buffer.excess() {
            let newest = buffer.tail().expect("the excess is queued");
            buffer.evict(newest, Eviction::Victim);
        }
    }

    /// The flow monitor has forgotten a flow, which has no packet left. Its id may be reused for another flow.
    fn on_forgotten(&mut self, _flow: FlowId) {}

    /// The scheme takes over a port at `now`, before its first packet there. Without this call the scheme starts at time zero.
    /// A scheme with a clock starts it here.
    fn begin(&mut self, _now: Time) {}

    /// Takes the wrapped scheme out of a scheme that forwards every call to it; `None` for other schemes.
    fn take_inner(&mut self) -> Option<Box<dyn Scheme>> {
        None
    }

    /// Reports names and current values of internal quantities worth recording, such as a marking probability.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Decisions that a [`Scheme`] always takes in the same way. The port takes them itself, which avoids an indirect call for most
/// packets of most schemes. The scheme's own methods must decide the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortcuts {
    /// An arrival that finds room is appended at the tail.
    pub append: bool,
    /// An arrival that finds no room is dropped.
    pub tail_drop: bool,
    /// The packet at the head is the only candidate to leave.
    pub release_head: bool,
}

impl Shortcuts {
    /// The scheme is asked each time.
    pub const NONE: Shortcuts = Shortcuts { append: false, tail_drop: false, release_head: false };
    /// The scheme is never asked.
    pub const ALL: Shortcuts = Shortcuts { append: true, tail_drop: true, release_head: true };
}

/// Optional methods of a [`Scheme`] that are to be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// [`Scheme::on_exchange`].
    pub exchange: bool,
    /// [`Scheme::on_transmission`].
    pub transmission: bool,
    /// [`Scheme::on_reception`]; at an access point alone.
    pub reception: bool,
    /// [`Scheme::on_link_rate`].
    pub link_rate: bool,
    /// [`Scheme::next_tick`] and [`Scheme::on_tick`].
    pub tick: bool,
    /// [`Scheme::next_tick`] after every call, not only after [`Scheme::on_tick`] and [`Scheme::begin`]: other calls change the
    /// tick, too.
    pub moves_tick: bool,
    /// [`Scheme::on_forgotten`].
    pub forgotten: bool,
}

impl Hooks {
    /// Nothing.
    pub const NONE: Hooks = Hooks {
        exchange: false,
        transmission: false,
        reception: false,
        link_rate: false,
        tick: false,
        moves_tick: false,
        forgotten: false,
    };
}

/// Inputs of a decision in addition to the buffer.
pub struct Cx<'a> {
    /// The current time.
    pub now: Time,
    /// The port's random stream. A scheme documents how many draws each of its operations takes.
    pub rng: &'a mut Rng,
    /// The flow monitor.
    pub flows: &'a Flows,
    /// The links to the stations, by [`StationId::index`].
    pub links: &'a [Link],
}

/// State that the owner of a port makes visible to its scheme.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The flow monitor.
    pub flows: &'a Flows,
    /// The links to the stations, by [`StationId::index`].
    pub links: &'a [Link],
}

/// An access point's knowledge of the link to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Current data rate towards the station.
    pub rate: Rate,
}

/// Permission to send one packet. An aggregate is a series of grants for one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The access category that won access.
    pub ac: Ac,
    /// The only station to which the packet may go; any if `None`.
    pub station: Option<StationId>,
    /// Greatest IP length in bytes.
    pub max_bytes: u32,
    /// Whether the packet may be the first that the grant admits in the scheme's order, wherever it is queued, instead of only
    /// the packet whose turn it is. A station then gets the packets that it would get in its turns, in that order.
    pub gathers: bool,
    /// The stations that have so much pending below the buffer that they may get no more for now.
    pub station_limit: Option<StationLimit<'a>>,
}

impl Grant<'_> {
    /// Permission to send any best-effort packet.
    pub const ANY: Grant<'static> =
        Grant { ac: Ac::BestEffort, station: None, max_bytes: u32::MAX, gathers: false, station_limit: None };

    /// Whether a packet may go to the station.
    #[inline]
    pub fn admits(&self, station: StationId) -> bool {
        self.station.is_none_or(|only| only == station)
            && self.station_limit.is_none_or(|limit| limit.admits(station))
    }
}

/// Amount pending below the buffer per station, and its limit: airtime, under airtime queue limits (AQL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationLimit<'a> {
    /// By [`StationId::index`]; [`Time::MAX`] if the Block Ack window is full.
    pub pending: &'a [Time],
    /// A station with less pending may get a packet.
    pub below: Time,
}

impl StationLimit<'_> {
    fn admits(&self, station: StationId) -> bool {
        self.pending.get(station.index()).is_none_or(|pending| *pending < self.below)
    }
}

/// Outcome of a packet's service by the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A MAC ACK was received.
    Delivered,
    /// The retry limit was reached.
    LostAtRetryLimit,
}

/// The end of a packet's service by the MAC, covering all its attempts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The outcome, the same for all `packets`.
    pub outcome: Outcome,
    /// The packets of the frame: one without aggregation. All belong to `flow`.
    pub packets: &'a [Packet],
    /// Their flow.
    pub flow: FlowId,
    /// The station at the other end.
    pub station: StationId,
    /// Access category.
    pub ac: Ac,
    /// Data rate of the last attempt.
    pub rate: Rate,
    /// Number of transmissions.
    pub attempts: u8,
    /// Time for which the transmissions occupied the medium.
    pub airtime: Time,
    /// Overhead in addition to `airtime`: before each attempt a DIFS and the backoff slots that it counted down, after each
    /// failed one the timeout. Complete only if a scheme of the access point has one of the hooks [`Hooks::exchange`],
    /// [`Hooks::transmission`] and [`Hooks::reception`].
    pub overhead: Time,
    /// From head of line to the end: `airtime`, `overhead`, and the time for which the backoff was frozen because others
    /// transmitted.
    pub service: Time,
}

impl Exchange<'_> {
    /// Channel time used by these packets: interframe spaces, backoff, every attempt, timeouts, MAC ACK.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// Outcome of an MPDU of a [`Transmission`], as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpduOutcome {
    /// Acknowledged.
    Delivered,
    /// Not acknowledged; will be retransmitted.
    ToRetry,
    /// Not acknowledged, and at its retry limit.
    GivenUp,
}

/// A packet of a [`Transmission`], and its MPDU.
#[derive(Clone, Copy, Debug)]
pub struct TransmittedMpdu<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Whether it is in the MPDU of the packet before it: an A-MSDU.
    pub is_joined: bool,
    /// Its flow.
    pub flow: FlowId,
    /// The outcome.
    pub outcome: MpduOutcome,
    /// Number of transmissions so far, this one included.
    pub attempts: u32,
    /// Its share of the transmission's airtime, by length. The shares of all packets add up to the airtime.
    pub airtime: Time,
    /// Its share of the overhead, likewise.
    pub overhead: Time,
}

/// A transmitted PPDU, or an RTS without a CTS, and its outcome (`docs/medium.md`, section 12).
#[derive(Clone, Copy, Debug)]
pub struct Transmission<'a> {
    /// The station at the other end.
    pub station: StationId,
    /// Access category.
    pub ac: Ac,
    /// Data rate.
    pub rate: Rate,
    /// The packets of its MPDUs in order: one without aggregation, none in a Block Ack Request.
    pub mpdus: &'a [TransmittedMpdu<'a>],
    /// Time for which it occupied the medium, with the frames that preceded and answered it.
    pub airtime: Time,
    /// Overhead in addition, see [`Exchange::overhead`].
    pub overhead: Time,
}

impl Transmission<'_> {
    /// Number of MPDUs.
    pub fn sent(&self) -> u32 {
        self.mpdus.iter().filter(|mpdu| !mpdu.is_joined).count() as u32
    }

    /// Number of acknowledged MPDUs.
    pub fn acknowledged(&self) -> u32 {
        let delivered = |mpdu: &&TransmittedMpdu| mpdu.outcome == MpduOutcome::Delivered && !mpdu.is_joined;
        self.mpdus.iter().filter(delivered).count() as u32
    }

    /// See [`Exchange::channel_time`].
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// A data frame that the access point has received from a station. Duplicates are not reported.
#[derive(Clone, Copy, Debug)]
pub struct Reception<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its flow.
    pub flow: FlowId,
    /// The station that sent it.
    pub station: StationId,
    /// Its access category there.
    pub ac: Ac,
    /// Time for which the frame and its MAC ACK occupy the medium, with RTS and CTS if there were any.
    pub airtime: Time,
    /// Overhead of the frame in addition, as the access point estimates it: a DIFS and the mean backoff at CWmin.
    pub overhead: Time,
}

impl Reception<'_> {
    /// See [`Exchange::channel_time`], assuming that this was the only attempt.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}
