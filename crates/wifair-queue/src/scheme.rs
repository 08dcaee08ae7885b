use wifair_core::{Ac, Class, FlowId, Rng, StationId, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::flows::Flows;
use crate::words::{Eviction, Exchange, Grant, Link, PoliceAction, Reception, Transmission};

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
    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<DequeuedPacket> {
        buffer.release_head(grant)
    }

    /// Decisions that are always the same, so that the transmit queue need not ask for them. Called once.
    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::default()
    }

    /// The methods below that the scheme has, up to [`Scheme::on_forgotten`]. The others are never called. Called once.
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }

    /// Returns the station to send to next: one with packets queued that the grant admits, or one with retransmissions at the
    /// MAC (`is_pending`). Called on links that aggregate.
    fn choose_station(
        &mut self,
        _grant: &Grant,
        _is_pending: &dyn Fn(StationId) -> bool,
        _buffer: &mut Buffer,
        _cx: &mut Cx,
    ) -> Option<StationId> {
        is_missing("choose_station")
    }

    /// The MAC has retransmissions for the station: MPDUs that were not acknowledged.
    fn on_pending(&mut self, _station: StationId, _ac: Ac, _cx: &mut Cx) {
        is_missing("on_pending")
    }

    /// A frame exchange of a packet from this buffer is over.
    fn on_exchange(&mut self, _exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_exchange")
    }

    /// A transmission of packets from this buffer is over and its outcome known. The end of a packet's service is reported by
    /// [`Scheme::on_exchange`] afterwards.
    fn on_transmission(&mut self, _transmission: &Transmission, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_transmission")
    }

    /// A data frame from a station has been received.
    fn on_reception(&mut self, _reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_reception")
    }

    /// Decides whether a packet received from a station is forwarded, marked or dropped. The scheme of the packet's access
    /// category decides, after all schemes were notified by [`Scheme::on_reception`].
    fn police(&mut self, _reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) -> PoliceAction {
        is_missing("police")
    }

    /// The access point has read how much a station has to send in an access category; `cx.links` has the size
    /// ([`Link::queue_bytes`]). Comes before [`Scheme::on_reception`] of the packets of the same frame.
    fn on_queue_size(&mut self, _station: StationId, _ac: Ac, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_queue_size")
    }

    /// The data rate towards a station has changed; `cx.links` has the new one. A PPDU on the air keeps its rate.
    fn on_link_rate(&mut self, _station: StationId, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_link_rate")
    }

    /// When [`Scheme::on_tick`] is to be called next. The caller keeps the clock.
    fn next_tick(&self) -> Option<Time> {
        is_missing("next_tick")
    }

    /// The time returned by [`Scheme::next_tick`] has been reached.
    fn on_tick(&mut self, _buffer: &mut Buffer, _cx: &mut Cx) {
        is_missing("on_tick")
    }

    /// The flow monitor has forgotten a flow, which has no packet left. Its id may be reused for another flow.
    fn on_forgotten(&mut self, _flow: FlowId) {
        is_missing("on_forgotten")
    }

    /// Evicts the packets above a limit that has been lowered ([`LoweredLimit::Evict`](crate::LoweredLimit)): as many as
    /// [`Buffer::excess`] returns. By default the newest.
    fn evict_excess(&mut self, buffer: &mut Buffer) {
        for _ in 0..buffer.excess() {
            let newest = buffer.tail().expect("the excess is queued");
            buffer.evict(newest, Eviction::Victim);
        }
    }

    /// The scheme takes over a transmit queue at `now`, before its first packet there. Without this call the scheme starts at
    /// time zero. A scheme with a clock starts it here.
    fn begin(&mut self, _now: Time) {}

    /// Reports names and current values of internal quantities worth recording, such as a marking probability.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Decisions that a [`Scheme`] always takes in the same way. The transmit queue takes them itself, which avoids an indirect
/// call for most packets of most schemes. The scheme's methods must decide the same. By default it is always asked.
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
    /// The scheme is never asked.
    pub const ALL: Shortcuts = Shortcuts { append: true, tail_drop: true, release_head: true };
}

/// A hook is declared without its method.
#[cold]
fn is_missing(method: &str) -> ! {
    panic!("a scheme whose hooks() declares {method} has that method")
}

/// Optional methods of a [`Scheme`]. A scheme declares those that it has: only they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// [`Scheme::choose_station`] and [`Scheme::on_pending`]: the scheme selects the station to which the MAC sends next,
    /// retransmissions included.
    pub choose_station: bool,
    /// [`Scheme::on_exchange`].
    pub exchange: bool,
    /// [`Scheme::on_transmission`].
    pub transmission: bool,
    /// [`Scheme::on_reception`]; at an access point alone.
    pub reception: bool,
    /// [`Scheme::police`]; at an access point alone.
    pub police: bool,
    /// [`Scheme::on_queue_size`], and queue sizes in [`Cx::links`]; at an access point alone.
    pub queue_size: bool,
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

/// Inputs of a decision in addition to the buffer.
pub struct Cx<'a> {
    /// The current time.
    pub now: Time,
    /// The transmit queue's random stream. A scheme documents how many draws each of its operations takes.
    pub rng: &'a mut Rng,
    /// The flow monitor.
    pub flows: &'a Flows,
    /// The links to the stations, by [`StationId::index`].
    pub links: &'a [Link],
}

/// State that the owner of a transmit queue makes visible to its scheme.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The flow monitor.
    pub flows: &'a Flows,
    /// The links to the stations, by [`StationId::index`].
    pub links: &'a [Link],
}
