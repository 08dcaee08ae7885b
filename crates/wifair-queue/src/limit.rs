//! Limit controllers, which move a buffer's limit independently of the scheme.

use std::ops::RangeInclusive;

use wifair_core::Time;

use crate::buffer::Buffer;
use crate::words::Exchange;

/// A controller of a buffer's limit. It is independent of the scheme, which reads the limit from the buffer as usual.
///
/// It acts on its own clock, at the end of frame exchanges, or both. The [`TxQueue`](crate::TxQueue) calls it and applies the
/// limit after each call.
pub trait LimitController: Send {
    /// The range of the limit, in packets.
    fn bounds(&self) -> RangeInclusive<u32>;

    /// Sets the initial limit, which is within the bounds.
    fn start(&mut self, limit_packets: u32);

    /// The current limit in packets, within the bounds. May be fractional; the transmit queue truncates it.
    fn limit_packets(&self) -> f64;

    /// What the transmit queue reports to the controller in addition to ticks. Called once.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// When [`LimitController::on_tick`] is to be called next. Called at the start and after each tick.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time returned by [`LimitController::next_tick`] has been reached.
    fn on_tick(&mut self, _occupancy: &Occupancy) {}

    /// A frame exchange of a packet from the buffer is over.
    fn on_exchange(&mut self, _exchange: &Exchange) {}

    /// Reports names and current values of internal quantities worth recording. The limit itself is always recorded.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a [`LimitController`] asks to be notified of. Anything else has no overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`LimitController::on_exchange`].
    pub exchange: bool,
    /// [`Occupancy::idle`].
    pub idle: bool,
}

/// Total time for which a buffer has been empty, since time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// With no packet queued, whether or not one was in service.
    pub empty: Time,
    /// With no packet queued and none in service; zero unless [`Wants::idle`].
    pub idle: Time,
}

/// A transmit queue's controller and its state in the transmit queue.
pub(crate) struct LimitControl {
    controller: Box<dyn LimitController>,
    wants: Wants,
    idle: Time,
    idle_since: Option<Time>,
}

impl LimitControl {
    /// Starts `controller` for a buffer that starts with `limit_packets`.
    pub fn new(mut controller: Box<dyn LimitController>, limit_packets: u32) -> LimitControl {
        controller.start(limit_packets);
        LimitControl { wants: controller.wants(), controller, idle: Time::ZERO, idle_since: Some(Time::ZERO) }
    }

    pub fn wants(&self) -> Wants {
        self.wants
    }

    /// The limit in whole packets.
    pub fn limit_packets(&self) -> u32 {
        self.controller.limit_packets() as u32
    }

    pub fn next_tick(&self) -> Option<Time> {
        self.controller.next_tick()
    }

    pub fn on_tick(&mut self, buffer: &Buffer, now: Time) {
        let idle_now = self.idle_since.map_or(Time::ZERO, |since| now - since);
        let idle = if self.wants.idle { self.idle + idle_now } else { Time::ZERO };
        self.controller.on_tick(&Occupancy { empty: buffer.fifo().empty_time(now), idle });
    }

    pub fn on_exchange(&mut self, exchange: &Exchange) {
        self.controller.on_exchange(exchange);
    }

    /// Updates the idle time after a packet has arrived or left.
    pub fn watch(&mut self, buffer: &Buffer, now: Time) {
        let is_idle = buffer.is_idle();
        match self.idle_since {
            Some(since) if !is_idle => {
                self.idle += now - since;
                self.idle_since = None;
            }
            None if is_idle => self.idle_since = Some(now),
            _ => {}
        }
    }

    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.controller.gauges(out);
    }
}
