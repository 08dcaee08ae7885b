//! The exchanges of a BSS on the air of a field, and how long each has it for itself (`docs/medium.md`, section 16).

use wifair_core::Time;

/// An exchange on the air: its sender and its start name it.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    node: usize,
    to: usize,
    began: Time,
    /// Time during which no other exchange was on the air.
    alone: Time,
    /// Another exchange has been on the air at the same time.
    overlaps: bool,
}

/// What an exchange that is no longer on the air has been.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupied {
    pub to: usize,
    pub alone: Time,
    pub overlaps: bool,
}

#[derive(Debug, Default)]
pub(crate) struct AirOccupancy {
    under_way: Vec<UnderWay>,
    /// Until when time is counted.
    counted: Time,
    overlapping: Time,
    exchanges: u64,
    collisions: u64,
    /// When exchanges last began, and whether they count as a collision.
    last_began: Option<(Time, bool)>,
}

impl AirOccupancy {
    /// An exchange of `node` with `to` begins.
    pub(super) fn begin(&mut self, node: usize, to: usize, now: Time) {
        self.count(now);
        let is_counted = match self.last_began {
            Some((at, is_counted)) if at == now => is_counted,
            _ => {
                self.exchanges += 1;
                false
            }
        };
        self.under_way.push(UnderWay { node, to, began: now, alone: Time::ZERO, overlaps: false });
        let overlaps = self.under_way.len() > 1;
        if overlaps {
            self.collisions += u64::from(!is_counted);
            self.under_way.iter_mut().for_each(|exchange| exchange.overlaps = true);
        }
        self.last_began = Some((now, overlaps));
    }

    /// The exchange of `node` that began at `began` has no further frame; `None` if it is not on the air.
    pub(super) fn end(&mut self, node: usize, began: Time, now: Time) -> Option<Occupied> {
        self.count(now);
        let is_it = |exchange: &UnderWay| (exchange.node, exchange.began) == (node, began);
        let at = self.under_way.iter().position(is_it)?;
        let UnderWay { to, alone, overlaps, .. } = self.under_way.swap_remove(at);
        Some(Occupied { to, alone, overlaps })
    }

    fn count(&mut self, now: Time) {
        let passed = now - self.counted;
        self.counted = now;
        match self.under_way.as_mut_slice() {
            [] => {}
            [exchange] if !exchange.overlaps => exchange.alone += passed,
            _ => self.overlapping += passed,
        }
    }

    /// Exchanges begun, those of one instant as one, and how many of these overlapped an earlier one or each other.
    pub(crate) fn begun(&self) -> (u64, u64) {
        (self.exchanges, self.collisions)
    }

    /// Until `now`: the time of overlapping exchanges, and for each exchange on the air sender, receiver and the time that it
    /// had for itself.
    pub(crate) fn until(&self, now: Time) -> (Time, impl Iterator<Item = (usize, usize, Time)>) {
        let passed = now - self.counted;
        let is_alone = matches!(self.under_way.as_slice(), [exchange] if !exchange.overlaps);
        let overlaps = !is_alone && !self.under_way.is_empty();
        let of_exchange = move |exchange: &UnderWay| {
            (exchange.node, exchange.to, exchange.alone + if is_alone { passed } else { Time::ZERO })
        };
        let overlapping = self.overlapping + if overlaps { passed } else { Time::ZERO };
        (overlapping, self.under_way.iter().map(of_exchange))
    }
}
