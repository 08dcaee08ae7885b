//! A small discrete-event network of TCP connections over one path, which a test gives as a function.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use wifair_core::{FiveTuple, Packet, Rate, TCP, Time};
use wifair_tcp::{Receiver, Sender, TcpSpec};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Sender,
    Receiver,
}

/// When copies of a packet arrive: none is a loss, two are a duplication.
pub type Arrivals = [Option<Time>; 2];

/// What a packet meets on its way.
pub trait Path {
    /// The fate of `packet` of connection `flow`, sent at `now` by `from`.
    fn send(&mut self, flow: usize, from: End, packet: &Packet, now: Time) -> Arrivals;

    /// What becomes of `packet` on the way: a place to mark it.
    fn pass(&mut self, packet: Packet) -> Packet {
        packet
    }

    /// Told of each packet that reaches `end`, before `end` is.
    fn arriving(&mut self, _end: End, _packet: &Packet) {}

    /// The rate of the senders' own link, where it changes at `now`.
    fn link_rate(&mut self, _now: Time) -> Option<Rate> {
        None
    }

    /// Told after everything that happens to an end.
    fn observe(&mut self, _sender: &Sender, _receiver: &Receiver) {}
}

pub struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Earliest pending wake-up of the sender and of the receiver.
    wake: [Time; 2],
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(Packet),
    Wake,
}

/// Time, order of scheduling, connection, end, slot of the event: a total order.
type Key = (Time, u64, usize, End, usize);

pub struct Network<P> {
    pub connections: Vec<Connection>,
    pub path: P,
    pub now: Time,
    queue: BinaryHeap<Reverse<Key>>,
    events: Vec<Event>,
    free: Vec<usize>,
    count: u64,
}

impl<P: Path> Network<P> {
    pub fn new(spec: &TcpSpec, flows: usize, path: P) -> Network<P> {
        spec.validate("tcp").unwrap();
        let spec = Arc::new(spec.clone());
        let connection = |flow: usize| {
            let tuple = FiveTuple {
                source: 1,
                destination: 2,
                source_port: flow as u16,
                destination_port: 80,
                protocol: TCP,
            };
            let (sender, receiver) = (Sender::new(&spec, tuple), Receiver::new(&spec, tuple));
            Connection { sender, receiver, wake: [Time::MAX; 2] }
        };
        Network {
            connections: (0..flows).map(connection).collect(),
            path,
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            count: 0,
        }
    }

    /// Opens a connection with `bytes` to send (`u64::MAX`: without end) and closes it behind them.
    pub fn start(&mut self, flow: usize, bytes: u64) {
        let sender = &mut self.connections[flow].sender;
        sender.open(self.now);
        sender.write(bytes);
        if bytes != u64::MAX {
            sender.close();
        }
        self.flush(flow, End::Sender);
    }

    /// Runs until `horizon` or until nothing is left to happen. True in the second case.
    pub fn run(&mut self, horizon: Time) -> bool {
        while let Some(&Reverse((time, _, flow, end, slot))) = self.queue.peek() {
            if time > horizon {
                self.now = horizon;
                return false;
            }
            self.queue.pop();
            self.free.push(slot);
            assert!(time >= self.now, "time runs backwards");
            self.now = time;
            self.handle(flow, end, self.events[slot]);
        }
        true
    }

    fn handle(&mut self, flow: usize, end: End, event: Event) {
        let now = self.now;
        if let Event::Arrival(packet) = &event {
            self.path.arriving(end, packet);
        }
        let Connection { sender, receiver, wake } = &mut self.connections[flow];
        if matches!(event, Event::Wake) && wake[end as usize] != now {
            return; // an earlier one has taken its place
        }
        match (event, end) {
            (Event::Arrival(packet), End::Sender) => sender.on_segment(&packet, now),
            (Event::Arrival(packet), End::Receiver) => receiver.on_segment(&packet, now),
            (Event::Wake, End::Sender) => sender.on_timer(now),
            (Event::Wake, End::Receiver) => receiver.on_timer(now),
        }
        if end == End::Sender
            && let Some(rate) = self.path.link_rate(now)
        {
            sender.on_link_rate(now, rate);
        }
        if matches!(event, Event::Wake) {
            wake[end as usize] = Time::MAX;
            let deadline = if end == End::Sender { sender.deadline() } else { receiver.deadline() };
            assert!(deadline > now, "{end:?} is still due after its timer");
        }
        self.flush(flow, end);
        let Connection { sender, receiver, .. } = &self.connections[flow];
        self.path.observe(sender, receiver);
    }

    /// Sends what an end has to send and sees that it is woken in time.
    fn flush(&mut self, flow: usize, end: End) {
        let now = self.now;
        let other = if end == End::Sender { End::Receiver } else { End::Sender };
        loop {
            let connection = &mut self.connections[flow];
            let packet = match end {
                End::Sender => connection.sender.poll_transmit(now).copied(),
                End::Receiver => connection.receiver.poll_transmit(now).copied(),
            };
            let Some(packet) = packet else { break };
            let arrivals = self.path.send(flow, end, &packet, now);
            let packet = self.path.pass(packet);
            for arrival in arrivals.into_iter().flatten() {
                self.schedule(arrival, flow, other, Event::Arrival(packet));
            }
        }
        let Connection { sender, receiver, wake } = &mut self.connections[flow];
        let deadline = if end == End::Sender { sender.deadline() } else { receiver.deadline() };
        assert!(deadline >= now, "{end:?} has a deadline in the past"); // now: its wake-up comes next
        if deadline < wake[end as usize] {
            wake[end as usize] = deadline;
            self.schedule(deadline, flow, end, Event::Wake);
        }
    }

    fn schedule(&mut self, time: Time, flow: usize, end: End, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(event);
            self.events.len() - 1
        });
        self.events[slot] = event;
        self.count += 1;
        self.queue.push(Reverse((time, self.count, flow, end, slot)));
    }
}
