//! What changes while a cell runs: by the scenario, or by rate adaptation.

use wifair_core::{Rng, SpecError, StationId, Time};
use wifair_queue::Direction;

use crate::cell::{AP, Cell, Channel, LinkRateChange, node_of};
use crate::link::LinkId;
use crate::phy::RateIndex;
use crate::spec::{FrameErrorRate, StationChange};

impl Cell {
    /// Checks `change` against the PHY's table; `path` is where it stands in the plan.
    ///
    /// # Errors
    /// The first value that is not allowed, or that nothing changes.
    pub fn check_change(&self, change: &StationChange, path: &str) -> Result<(), SpecError> {
        change.validate(path)?;
        let rates = [("rate_mbps", change.rate_mbps), ("rate_down_mbps", change.rate_down_mbps)];
        for (key, mbps) in rates {
            if let Some(mbps) = mbps {
                self.phy.rate_index(mbps, &format!("{path}.{key}"))?;
            }
        }
        Ok(())
    }

    /// Changes a station's links from `now` on. A frame on the air keeps its rate and its fate; the next attempt, of
    /// the same frame too, follows the new values. A rate adaptation begins anew at the rate given.
    ///
    /// `change` has passed [`Cell::check_change`]; `now` is not after [`Cell::next_event`].
    pub fn change_station(&mut self, station: StationId, change: &StationChange, now: Time) {
        self.come_from_outside(now);
        let rate = |mbps| self.phy.rate_index(mbps, "rate_mbps").expect("the change has been checked");
        let (up, down) = (change.rate_mbps.map(rate), change.rate_down_mbps.or(change.rate_mbps).map(rate));
        for (sender, rate) in [(node_of(station), up), (AP, down)] {
            if let Some(rate) = rate {
                let link = LinkId::of(sender, station);
                self.links[link.index()].adaptation = self.rate_adaptation.build(rate, self.phy.rate_count());
                self.set_rate(link, rate, now);
            }
        }
        if let Some(rates) = change.frame_error_rate {
            self.set_frame_error_rate(station, rates);
        }
    }

    /// Moves the limit of the AP's buffer. What is queued above a lowered limit stays; the buffer counts as full
    /// until it has drained ([`Port::set_limit`]).
    pub fn set_ap_limit(&mut self, packets: u32) {
        self.nodes[AP as usize].port.set_limit(packets);
    }

    /// The sender of `link` uses another rate from its next attempt on. Says so if it is another.
    pub(crate) fn set_rate(&mut self, link: LinkId, rate: RateIndex, now: Time) {
        let row = &mut self.links[link.index()];
        let on_air = self.phy.on_air(rate);
        if on_air.rate == row.on_air.rate {
            return;
        }
        row.set_rate(on_air, now);
        let (station, direction) = (link.station(), link.direction());
        let side = match direction {
            Direction::Up => &mut self.sides.stations,
            Direction::Down => &mut self.sides.ap,
        };
        side.links[station.index()].rate = on_air.rate;
        self.rate_changes.push_back(LinkRateChange { station, direction, rate: on_air.rate });
        self.rare = now;
    }

    pub(crate) fn set_frame_error_rate(&mut self, station: StationId, rates: FrameErrorRate) {
        if self.channel.is_none() && !rates.is_zero() {
            self.channel = Some(Channel {
                rates: vec![FrameErrorRate::default(); self.labels.len() - 1],
                streams: self.labels.iter().map(|label| Rng::stream(self.seed, label, "channel")).collect(),
            });
        }
        if let Some(channel) = &mut self.channel {
            channel.rates[station.index()] = rates;
        }
    }
}
