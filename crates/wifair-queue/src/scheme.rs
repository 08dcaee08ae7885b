use wifair_core::{Ac, Class, FlowId, Packet, Rate, Rng, StationId, Time};

use crate::{Arrival, Buffer, Departure, Eviction, Flows, Indexes, Placed};

/// A queue management scheme at a transmission buffer.
///
/// It decides; the [`Buffer`] acts and keeps the books. An arrival is handed over by value and only the buffer makes
/// the [`Placed`] that `enqueue` must give back, so an arrival is placed or refused, once. Packets that are already
/// queued can be evicted or released, nothing else.
pub trait Scheme: Send {
    /// The indexes that the buffer must keep for this scheme. Asked once, before the first packet.
    fn needs(&self) -> Indexes {
        Indexes::NONE
    }

    /// The classes of packets that it must see to have any effect. A plan whose buffer never gets one of them is
    /// refused.
    fn decides_on(&self) -> &'static [Class] {
        &[]
    }

    /// Whether it may stand behind several access categories at once, each of which asks for packets of its own
    /// ([`Grant::ac`]). By default if its packets leave from the head.
    fn serves_categories(&self) -> bool {
        self.shortcuts().release_head
    }

    /// The limit in packets of a buffer whose owner does not name one.
    fn usual_limit_packets(&self) -> u32 {
        100
    }

    /// Places or refuses an arriving packet; may evict others first.
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed;

    /// The packet to send now, or `None` to send nothing under this grant. The default is first in, first out. A series of grants for
    /// one station fills an aggregate ([`Grant::gathers`]).
    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<Departure> {
        buffer.release_head(grant)
    }

    /// Whether it decides to which station the MAC sends next, also what the MAC has to send again: then
    /// [`Scheme::choose_station`] is asked where links aggregate.
    fn arbitrates(&self) -> bool {
        false
    }

    /// The station to send to next: one with packets queued that the grant admits, or one for which the MAC holds something, which
    /// `is_pending` says.
    fn choose_station(
        &mut self,
        _grant: &Grant,
        _is_pending: &dyn Fn(StationId) -> bool,
        _buffer: &mut Buffer,
        _cx: &mut Cx,
    ) -> Option<StationId> {
        None
    }

    /// The MAC holds something for the station again: MPDUs that were not acknowledged. For a scheme that arbitrates.
    fn on_pending(&mut self, _station: StationId, _ac: Ac, _cx: &mut Cx) {}

    /// Which of its decisions are always the same, so that the port need not ask for them. Asked once.
    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::NONE
    }

    /// The optional methods below that this scheme wants called. Asked once; the others are never called.
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    /// A frame exchange of a packet from this buffer is over.
    fn on_exchange(&mut self, _exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// A transmission of packets from this buffer is over and its outcome known. What ends a packet's stay at the MAC is reported by
    /// [`Scheme::on_exchange`] afterwards.
    fn on_transmission(&mut self, _transmission: &Transmission, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// A data frame from a station has been received.
    fn on_reception(&mut self, _reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// The data rate towards a station has changed; `cx.links` has the new one. A packet in service keeps the rate that it
    /// has on the air.
    fn on_link_rate(&mut self, _station: StationId, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// When [`Scheme::on_tick`] wants to be called next. The caller keeps the clock.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time given by [`Scheme::next_tick`] has come.
    fn on_tick(&mut self, _buffer: &mut Buffer, _cx: &mut Cx) {}

    /// The limit has been lowered and what is queued above it is to go ([`LoweredLimit::Evict`](crate::LoweredLimit)): as
    /// many packets as [`Buffer::excess`] says. By default the newest.
    fn evict_excess(&mut self, buffer: &mut Buffer) {
        for _ in 0..buffer.excess() {
            let newest = buffer.tail().expect("the excess is queued");
            buffer.evict(newest, Eviction::Victim);
        }
    }

    /// The flow monitor has forgotten a flow, of which no packet is left: its id may be another flow's next.
    fn on_forgotten(&mut self, _flow: FlowId) {}

    /// The scheme takes over a port at `now`, before its first packet there. Without this call it begins at time zero: a
    /// scheme that keeps a clock starts it here.
    fn begin(&mut self, _now: Time) {}

    /// The scheme to which this one passes every call on, taken out of it; `None` unless this is such a scheme.
    fn take_inner(&mut self) -> Option<Box<dyn Scheme>> {
        None
    }

    /// Names and current values of inner quantities worth recording, as a marking probability.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Decisions that a [`Scheme`] always takes in the same way. The port takes them itself, which spares it an indirect
/// call for most packets of most schemes; the scheme's own methods must say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortcuts {
    /// An arrival that finds room joins at the tail.
    pub append: bool,
    /// An arrival that finds no room is dropped.
    pub tail_drop: bool,
    /// The packet at the head leaves first, or none.
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
    /// [`Scheme::next_tick`] after every call, not after [`Scheme::on_tick`] and [`Scheme::begin`] alone: others move the tick, too.
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

/// What a decision may look at beside the buffer.
pub struct Cx<'a> {
    /// The current time.
    pub now: Time,
    /// The port's random stream; a scheme writes down how many draws each of its operations takes.
    pub rng: &'a mut Rng,
    /// The flow monitor.
    pub flows: &'a Flows,
    /// What is known of each station, by [`StationId::index`].
    pub links: &'a [Link],
}

/// What the owner of a port lets its scheme look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The flow monitor.
    pub flows: &'a Flows,
    /// What is known of each station, by [`StationId::index`].
    pub links: &'a [Link],
}

/// What an access point knows about the link to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Data rate now used towards the station.
    pub rate: Rate,
}

/// Leave to send one packet. An aggregate is a series of grants for one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The access category that won access.
    pub ac: Ac,
    /// The only station to which the packet may go; any if `None`.
    pub station: Option<StationId>,
    /// Greatest IP length in bytes.
    pub max_bytes: u32,
    /// Whether the packet may be the first that the grant admits in the order of the scheme, wherever it is, and not only that whose
    /// turn it is. The packets that a station gets then are those that it would get in its turns, in that order.
    pub gathers: bool,
    /// Which stations have so much pending below the buffer that they may get no more for now.
    pub station_limit: Option<StationLimit<'a>>,
}

impl Grant<'_> {
    /// Leave to send anything in best effort.
    pub const ANY: Grant<'static> =
        Grant { ac: Ac::BestEffort, station: None, max_bytes: u32::MAX, gathers: false, station_limit: None };

    /// Whether a packet may go to the station.
    #[inline]
    pub fn admits(&self, station: StationId) -> bool {
        self.station.is_none_or(|only| only == station)
            && self.station_limit.is_none_or(|limit| limit.admits(station))
    }
}

/// What each station has pending below the buffer, and what it may: airtime, where airtime queue limits (AQL) hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationLimit<'a> {
    /// By [`StationId::index`]; [`Time::MAX`] where the Block Ack window is full.
    pub pending: &'a [Time],
    /// A station with less pending may get a packet.
    pub below: Time,
}

impl StationLimit<'_> {
    fn admits(&self, station: StationId) -> bool {
        self.pending.get(station.index()).is_none_or(|pending| *pending < self.below)
    }
}

/// How a packet's stay at the MAC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A MAC ACK came.
    Delivered,
    /// The retry limit was reached.
    LostAtRetryLimit,
}

/// The end of a packet's stay at the MAC: all its attempts together.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// How it ended, for all `packets`.
    pub outcome: Outcome,
    /// The packets of the frame; one without aggregation. All of `flow`.
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
    /// How long these occupied the medium.
    pub airtime: Time,
    /// What they took in addition: a DIFS and the slots of backoff that it counted itself before each, the timeout after
    /// each that failed. Complete only where a scheme of the access point has one of the hooks [`Hooks::exchange`],
    /// [`Hooks::transmission`] and [`Hooks::reception`].
    pub overhead: Time,
    /// From head of line to the end: `airtime` and `overhead`, and as long as its counter stood frozen because others
    /// transmitted.
    pub service: Time,
}

impl Exchange<'_> {
    /// How long these packets kept the channel for themselves: interframe spaces, own backoff, every attempt, timeouts,
    /// MAC ACK.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// What became of an MPDU of a [`Transmission`], as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpduOutcome {
    /// It is acknowledged.
    Delivered,
    /// It is not, and will be sent again.
    ToRetry,
    /// It is not, and has reached its retry limit.
    GivenUp,
}

/// An MPDU of a [`Transmission`].
#[derive(Clone, Copy, Debug)]
pub struct TransmittedMpdu<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its flow.
    pub flow: FlowId,
    /// What became of it.
    pub outcome: MpduOutcome,
    /// Its transmissions so far, this one included.
    pub attempts: u32,
    /// Its share of the transmission's airtime, by length. The shares of all MPDUs add up to the airtime.
    pub airtime: Time,
    /// Its share of the overhead, likewise.
    pub overhead: Time,
}

/// A PPDU that was sent, or an RTS that no CTS answered, and what became of it (`docs/medium.md`, section 12).
#[derive(Clone, Copy, Debug)]
pub struct Transmission<'a> {
    /// The station at the other end.
    pub station: StationId,
    /// Access category.
    pub ac: Ac,
    /// Data rate.
    pub rate: Rate,
    /// Its MPDUs, in order: one without aggregation, none in a Block Ack Request.
    pub mpdus: &'a [TransmittedMpdu<'a>],
    /// How long it occupied the medium, with what preceded and answered it.
    pub airtime: Time,
    /// What it took in addition, as [`Exchange::overhead`].
    pub overhead: Time,
}

impl Transmission<'_> {
    /// Number of MPDUs.
    pub fn sent(&self) -> u32 {
        self.mpdus.len() as u32
    }

    /// MPDUs that are acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.mpdus.iter().filter(|mpdu| mpdu.outcome == MpduOutcome::Delivered).count() as u32
    }

    /// As [`Exchange::channel_time`].
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// A data frame that the access point has received from a station; copies of what it has already are not reported.
#[derive(Clone, Copy, Debug)]
pub struct Reception<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its flow.
    pub flow: FlowId,
    /// The station that it comes from.
    pub station: StationId,
    /// Its access category there.
    pub ac: Ac,
    /// How long the frame and its MAC ACK occupy the medium, with the RTS and CTS if there were any.
    pub airtime: Time,
    /// What the frame took beside, for all that the access point can know: a DIFS and the mean backoff at CWmin.
    pub overhead: Time,
}

impl Reception<'_> {
    /// As [`Exchange::channel_time`], if this was the only attempt.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}
