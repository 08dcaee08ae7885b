use std::sync::Arc;

use wifair_core::{ConnectionId, FiveTuple, Packet, StationId, Time};
use wifair_queue::Direction;
use wifair_tcp::{Receiver, Sender, SenderState, TcpSpec};

use crate::address;
use crate::application::Transport;
use crate::plan::FlowDirection;
use crate::wire::Lines;

/// Both ends of a flow's TCP connection, and their state. Successive connections reuse the same ends, whose counters continue.
#[repr(C)] // next to its deadlines are those of the sender
pub(crate) struct Connection {
    /// When the flow is to be woken: to open its next connections, or to send its next datagram; [`Time::MAX`] if nothing is
    /// scheduled. Only in a flow's first slot.
    pub(crate) wakes_at: Time,
    /// By [`EndPoint::INDEX`]: what the network's timers have for each end.
    pub(crate) alarms: [Time; 2],
    /// Total bytes that the receiver will have delivered, over all connections, when this one is complete; `u64::MAX` if it is
    /// endless or not open.
    pub(crate) goal_bytes: u64,
    pub(crate) lines: Lines,
    /// Short name, which distinguishes its packets from those of earlier connections. [`ConnectionId::NONE`] if only datagrams
    /// arrive: no connection takes them.
    pub(crate) id: ConnectionId,
    pub(crate) station: StationId,
    pub(crate) direction: FlowDirection,
    /// The direction of the link whose rate the sender is notified of.
    pub(crate) notified_of: Option<Direction>,
    /// Whether everything has been delivered.
    pub(crate) is_closing: bool,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// The slot and the station that its addresses are made of: those of the plan, of which the network may be a part.
    pub(crate) addressed: (u32, StationId),
}

impl Connection {
    /// Resets the ends for connection number `generation` of the flow in `slot`.
    pub(crate) fn renew(&mut self, slot: usize, generation: u32) {
        let tuple = self.tuple(generation);
        self.sender.renew(tuple);
        self.receiver.renew(tuple);
        self.name(ConnectionId::new(slot, generation));
    }

    fn tuple(&self, generation: u32) -> FiveTuple {
        let (slot, station) = self.addressed;
        address::tuple(self.direction, slot, station, generation, Transport::Tcp)
    }

    /// Sets the short name that packets of the connection carry.
    pub(crate) fn name(&mut self, id: ConnectionId) {
        self.id = id;
        self.sender.set_connection(id);
        self.receiver.set_connection(id);
    }

    /// Like [`Connection::renew`], with new TCP parameters from now on.
    pub(crate) fn renew_with(&mut self, spec: &Arc<TcpSpec>, slot: usize, generation: u32) {
        let tuple = self.tuple(generation);
        self.sender.renew_with(spec, tuple);
        self.receiver.renew_with(spec, tuple);
        self.renew(slot, generation);
    }

    /// When an end is to be woken, or the flow in place of its sender.
    pub(crate) fn due<E: EndPoint>(&mut self) -> Time {
        let wakes_at = if E::INDEX == Sender::INDEX { self.wakes_at } else { Time::MAX };
        E::of(self).deadline().min(wakes_at)
    }

    /// Whether both ends have closed the connection; without a handshake only the sender knows.
    pub(crate) fn is_over(&self) -> bool {
        match self.sender.state() {
            SenderState::Closed => true,
            SenderState::TimeWait => self.receiver.is_closed(),
            _ => false,
        }
    }
}

/// An end of a connection, as the event loop drives it.
pub(crate) trait EndPoint {
    /// Index among the timers of a connection: sender or receiver.
    const INDEX: usize;
    /// This end of a connection.
    fn of(connection: &mut Connection) -> &mut Self;
    /// See [`Sender::on_timer`].
    fn on_timer(&mut self, now: Time);
    /// See [`Sender::poll_transmit`].
    fn poll_transmit(&mut self, now: Time) -> Option<&Packet>;
    /// See [`Sender::deadline`].
    fn deadline(&self) -> Time;
}

macro_rules! end_point {
    ($end:ident, $field:ident, $index:literal) => {
        impl EndPoint for $end {
            const INDEX: usize = $index;

            fn of(connection: &mut Connection) -> &mut $end {
                &mut connection.$field
            }

            fn on_timer(&mut self, now: Time) {
                self.on_timer(now);
            }

            fn poll_transmit(&mut self, now: Time) -> Option<&Packet> {
                self.poll_transmit(now)
            }

            fn deadline(&self) -> Time {
                self.deadline()
            }
        }
    };
}

end_point!(Sender, sender, 0);
end_point!(Receiver, receiver, 1);
