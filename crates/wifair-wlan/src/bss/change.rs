//! Changes of a running BSS: by the scenario, or by rate adaptation.

use wifair_core::{Rng, SpecError, StationId, Time};
use wifair_queue::Direction;

use super::build::RATE_PURPOSES;
use super::{Bss, field};
use crate::channel::{Channel, ChannelRecipe};
use crate::node::{LinkId, Node};
use crate::phy::RateIndex;
use crate::rate::{RateAdaptation, Start};
use crate::spec::{DOWN_KEYS, StationChange, UP_KEYS};

/// What `build` gives for a link that starts with a mode, with the link's random stream from its beginning.
fn built_for<T>(bss: &Bss, link: LinkId, first: RateIndex, build: impl FnOnce(Start) -> T) -> T {
    let ChannelRecipe { labels, seed, .. } = &bss.channel_recipe;
    let label = &labels[Node::Station(link.station()).index()];
    let mut rng = Rng::stream(*seed, label, RATE_PURPOSES[link.direction() as usize]);
    build(Start { first, modes: bss.exchanges.modes.of(link.station()), rng: &mut rng })
}

impl Bss {
    /// Checks a change of the station in the current state of the BSS. `path` is its key in the plan.
    ///
    /// # Errors
    /// Returns the first value that is not allowed or has no effect.
    pub fn check_change(
        &self,
        station: StationId,
        change: &StationChange,
        path: &str,
    ) -> Result<(), SpecError> {
        change.validate(self.exchanges.modes.of(station), path)?;
        if self.exchanges.field.is_some() {
            field::check_change(change, path)?;
        }
        let has_position =
            self.exchanges.medium.channel().is_some_and(|channel| channel.has_position(station));
        if change.velocity_m_per_s.is_some() && change.position_m.is_none() && !has_position {
            let allowed = "a position_m beside it, or one from the start";
            return Err(SpecError::new(format!("{path}.velocity_m_per_s"), "this key alone", allowed));
        }
        let modes = self.exchanges.modes.of(station);
        modes.chosen(change.rate_mbps, change.mcs, path, UP_KEYS)?;
        modes.chosen(change.rate_down_mbps, change.mcs_down, path, DOWN_KEYS)?;
        Ok(())
    }

    /// Changes a station's links from `now` on. A frame on the air keeps its rate and its fate; the next attempt, also of the
    /// same frame, uses the new values. A rate adaptation restarts, at the given rate unless it begins with a mode of its own.
    ///
    /// `change` has passed [`Bss::check_change`]; `now` is not after [`Bss::next_event`].
    pub fn change_station(&mut self, station: StationId, change: &StationChange, now: Time) {
        self.come_from_outside(now);
        let modes = self.exchanges.modes.of(station);
        let chosen = |mbps: Option<f64>, mcs: Option<u8>| {
            (mbps.is_some() || mcs.is_some())
                .then(|| modes.chosen(mbps, mcs, "", UP_KEYS).expect("the change has been checked"))
        };
        let up = chosen(change.rate_mbps, change.mcs);
        let down = chosen(change.rate_down_mbps, change.mcs_down).or(up);
        for (down, first) in [(false, up), (true, down)] {
            if let Some(given) = first {
                let link = LinkId::of(down, station);
                let first = self.rate_adaptation.first(given, self.exchanges.modes.of(station));
                let adaptation = built_for(self, link, first, |start| self.rate_adaptation.build(start));
                self.exchanges.links[link.index()].adaptation = adaptation;
                self.exchanges.set_rate(link, first.into(), now);
            }
        }
        self.set_channel(station, change, now);
    }

    /// Gives one direction of a station's link another rate adaptation, which begins with the link's present mode. For what
    /// embeds a BSS and has a rate control of its own; a later [`Bss::change_station`] of the rate takes the plan's again.
    pub fn set_rate_adaptation(
        &mut self,
        station: StationId,
        direction: Direction,
        build: impl FnOnce(Start) -> Box<dyn RateAdaptation>,
    ) {
        let link = LinkId::of(direction == Direction::Down, station);
        let first = self.exchanges.modes.of(station).index_of(&self.link_mode(station, direction));
        let adaptation = built_for(self, link, first, build);
        let row = &mut self.exchanges.links[link.index()];
        (row.adapts, row.adaptation) = (adaptation.adapts(), adaptation);
    }

    /// Sets the limit of the AP's buffer at `now`, which is not after [`Bss::next_event`]; under EDCA that of each category
    /// without a separate limit.
    pub fn set_ap_limit(&mut self, packets: u32, now: Time) {
        self.come_from_outside(now);
        self.exchanges.nodes.set_ap_limit(packets, now);
    }

    /// Whether a limit controller controls the limit that [`Bss::set_ap_limit`] would set.
    pub fn ap_limit_is_controlled(&self) -> bool {
        self.exchanges.nodes.ap_limit_is_controlled()
    }

    /// Applies a change to the channel. The channel is created when errors first become possible.
    pub(super) fn set_channel(&mut self, station: StationId, change: &StationChange, now: Time) {
        let StationChange { frame_error_rate, position_m, velocity_m_per_s, .. } = change;
        if frame_error_rate.is_none() && position_m.is_none() && velocity_m_per_s.is_none() {
            return;
        }
        let channel = self.exchanges.medium.channel_or_else(|| Channel::new(&self.channel_recipe));
        if let Some(rates) = frame_error_rate {
            channel.set_error_rates(station, rates);
        }
        channel.set_track(station, *position_m, *velocity_m_per_s, now);
        self.exchanges.review();
    }
}
