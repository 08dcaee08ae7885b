//! Channel times of the flows of each direction: the AP's estimate, and the actual values.
//!
//! Only a BSS whose AP's scheme asks for exchanges, transmissions, receptions or queue sizes, or polices, has a meter; other
//! BSSs pay one test.

use wifair_core::{Ac, Class, Time};
use wifair_queue::{Direction, TxQueue};

use crate::records::{ChannelTime, ChannelTimes};

#[derive(Debug, Default)]
pub(crate) struct Meter {
    channel_times: ChannelTimes,
}

impl Meter {
    /// Creates the meter, if the scheme of one of the AP's transmit queues uses channel times.
    pub(crate) fn wanted_by<'a>(mut ap: impl Iterator<Item = (Option<Ac>, &'a TxQueue)>) -> Option<Meter> {
        let wanted = ap.any(|(_, tx_queue)| {
            let hooks = tx_queue.hooks();
            hooks.exchange || hooks.transmission || hooks.reception || hooks.police || hooks.queue_size
        });
        wanted.then(Meter::default)
    }

    pub(crate) fn channel_times(&self) -> ChannelTimes {
        self.channel_times
    }

    /// Counts `time` taken by a frame of the AP or of a station.
    pub(crate) fn count(&mut self, class: Class, is_ap: bool, time: Time) {
        let direction = if is_ap { Direction::Down } else { Direction::Up };
        add(&mut self.channel_times.actual, class, direction, time);
        if is_ap {
            self.believe(class, direction, time);
        }
    }

    /// Counts `time` taken by a frame according to the AP.
    pub(crate) fn believe(&mut self, class: Class, direction: Direction, time: Time) {
        add(&mut self.channel_times.believed, class, direction, time);
    }
}

/// Adds to the flows of a packet of `class` that travels in `direction`.
fn add(channel_time: &mut ChannelTime, class: Class, direction: Direction, time: Time) {
    match (class, direction) {
        (Class::Data, Direction::Up) | (Class::Ack, Direction::Down) => channel_time.up += time,
        (Class::Data, Direction::Down) | (Class::Ack, Direction::Up) => channel_time.down += time,
        (Class::Other, _) => {}
    }
}
