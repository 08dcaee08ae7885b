//! What moves a buffer's limit, beside any scheme.

use std::ops::RangeInclusive;

use wifair_core::Time;

use crate::limits::LimitSpec;
use crate::{Buffer, Exchange};

/// A controller of a buffer's limit. It knows nothing of the scheme: that asks the buffer for its limit as ever.
///
/// It works on a clock of its own, at the end of frame exchanges, or both. The [`Port`](crate::Port) calls it and moves
/// the limit after each call.
pub trait LimitController: Send {
    /// Between what it moves the limit, in packets.
    fn bounds(&self) -> RangeInclusive<u32>;

    /// The limit to begin with, within the bounds.
    fn start(&mut self, limit_packets: u32);

    /// The limit from now on, in packets, within the bounds. A fraction is kept here and counts for nothing in the
    /// buffer: a packet fits if no more than so many are there then.
    fn limit_packets(&self) -> f64;

    /// What the port is to tell it beside the ticks. Asked once.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// When [`LimitController::on_tick`] is to be called next. Asked at the start and after each such call.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time given by [`LimitController::next_tick`] has come.
    fn on_tick(&mut self, _occupancy: &Occupancy) {}

    /// A frame exchange of a packet from the buffer is over.
    fn on_exchange(&mut self, _exchange: &Exchange) {}

    /// Names and current values of inner quantities worth recording. The limit itself is recorded anyway.
    fn gauges(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a [`LimitController`] is to be told; what it does not want costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`LimitController::on_exchange`].
    pub exchange: bool,
    /// [`Occupancy::idle`].
    pub idle: bool,
}

/// How long a buffer has stood empty since time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// With no packet queued, whether or not one was in service.
    pub empty: Time,
    /// With no packet queued and none in service; zero unless [`Wants::idle`].
    pub idle: Time,
}

/// A port's controller and what the port keeps for it.
pub(crate) struct LimitControl {
    controller: Box<dyn LimitController>,
    wants: Wants,
    idle: Time,
    idle_since: Option<Time>,
}

impl LimitControl {
    /// The controller of `spec` at the start of a buffer with `limit_packets`.
    pub fn new(spec: &LimitSpec, limit_packets: u32) -> LimitControl {
        let mut controller = spec.build();
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
        self.controller.on_tick(&Occupancy { empty: buffer.empty_time(now), idle });
    }

    pub fn on_exchange(&mut self, exchange: &Exchange) {
        self.controller.on_exchange(exchange);
    }

    /// Something has come or gone; looks whether anything is left to do.
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
