//! Channel errors of frames that do not collide: by given error rates, and by positions (`docs/medium.md`, sections 3 and 9).

mod coded;
mod error_rate;
mod given;
mod radio;

pub use given::{FrameErrorRate, RateErrors};
pub(crate) use radio::normal;
pub use radio::{ChannelSpec, FadingSpec};

use wifair_core::{Rng, StationId, Time};

use crate::exchange::Collider;
use crate::node::{LinkId, Node};
use crate::phy::Mode;
use crate::phy::timing::{ACK_BYTES, BssTiming};
use radio::{Radio, Track};

/// Channel errors of a BSS that has any.
pub(crate) struct Channel {
    spec: ChannelSpec,
    ap_m: [f64; 2],
    /// By station.
    given: Vec<FrameErrorRate>,
    /// By station: those that have a position.
    radios: Vec<Option<Radio>>,
    /// By node.
    streams: Vec<Rng>,
    /// By station.
    fading_streams: Vec<Rng>,
}

/// A data frame whose transmission starts.
pub(crate) struct Attempt {
    pub link: LinkId,
    /// The node that sends it.
    pub node: Node,
    pub mode: Mode,
    /// Control frames of the MAC ACK.
    pub control: u8,
    pub psdu_bytes: u32,
    pub now: Time,
}

/// Parameters for the creation of a channel.
pub(crate) struct ChannelRecipe {
    pub spec: ChannelSpec,
    pub ap_m: [f64; 2],
    /// By node.
    pub labels: Vec<String>,
    pub seed: u64,
}

impl Channel {
    /// A channel without errors yet. Streams: (`seed`, node's label, `"channel"`), (`seed`, station's label, `"fading"`).
    pub(crate) fn new(recipe: &ChannelRecipe) -> Channel {
        let ChannelRecipe { spec, ap_m, labels, seed } = recipe;
        let stations = labels.len() - 1;
        Channel {
            spec: spec.clone(),
            ap_m: *ap_m,
            given: vec![FrameErrorRate::default(); stations],
            radios: (0..stations).map(|_| None).collect(),
            streams: labels.iter().map(|label| Rng::stream(*seed, label, "channel")).collect(),
            fading_streams: labels[1..].iter().map(|label| Rng::stream(*seed, label, "fading")).collect(),
        }
    }

    /// Whether the station has a position.
    pub(crate) fn has_position(&self, station: StationId) -> bool {
        self.radios[station.index()].is_some()
    }

    /// Sets the station's error rates from now on.
    pub(crate) fn set_error_rates(&mut self, station: StationId, rates: &FrameErrorRate) {
        self.given[station.index()] = rates.clone();
    }

    /// Sets the station's position to `position_m` and its velocity to `velocity_m_per_s`; a missing value is kept. With
    /// neither the track is kept, and the position is not sampled again.
    pub(crate) fn set_track(
        &mut self,
        station: StationId,
        position_m: Option<[f64; 2]>,
        velocity_m_per_s: Option<[f64; 2]>,
        now: Time,
    ) {
        if position_m.is_none() && velocity_m_per_s.is_none() {
            return;
        }
        let radio = &mut self.radios[station.index()];
        let before = radio.as_ref().map(|radio| radio.track);
        let from_m = position_m.or(before.map(|track| track.at(now)));
        let Some(from_m) = from_m else { return };
        let velocity_m_per_s =
            velocity_m_per_s.or(before.map(|track| track.velocity_m_per_s)).unwrap_or_default();
        let track = Track { from_m, since: now, velocity_m_per_s };
        match radio {
            Some(radio) => radio.set_track(track),
            None => {
                let rng = self.fading_streams[station.index()].clone();
                *radio = Some(Radio::new(track, self.ap_m, &self.spec, rng));
            }
        }
    }

    /// Draws whether the receiver of a data frame cannot decode it, if no node will decode its MAC ACK.
    pub(crate) fn loses_data(&mut self, attempt: &Attempt, phy: &BssTiming) -> bool {
        let (data, _) = self.error_rates(attempt, phy);
        data > 0.0 && self.streams[attempt.link.receiver().index()].chance(data)
    }

    /// Draws whether the sender of a data frame cannot decode the response.
    pub(crate) fn loses_ack(&mut self, attempt: &Attempt, phy: &BssTiming) -> bool {
        let (_, ack) = self.error_rates(attempt, phy);
        ack > 0.0 && self.streams[attempt.node.index()].chance(ack)
    }

    /// Error rate of a data frame of `bytes` in `mode` across `link`.
    pub(crate) fn data_error_rate(&mut self, link: LinkId, mode: &Mode, bytes: u32, now: Time) -> f64 {
        let station = link.station().index();
        let (data, _) = self.given[station].of(link.direction(), mode);
        match &mut self.radios[station] {
            Some(radio) => either(data, radio.frame_error_rate(mode, bytes, now, &self.spec)),
            None => data,
        }
    }

    /// Error rates of a data frame and its MAC ACK.
    #[inline]
    fn error_rates(&mut self, attempt: &Attempt, phy: &BssTiming) -> (f64, f64) {
        let station = attempt.link.station();
        let (mut data, mut ack) = self.given[station.index()].of(attempt.link.direction(), &attempt.mode);
        if let Some(radio) = &mut self.radios[station.index()] {
            let mut of = |mode: &Mode, bytes| radio.frame_error_rate(mode, bytes, attempt.now, &self.spec);
            data = either(data, of(&attempt.mode, attempt.psdu_bytes));
            let response = phy.control_frames[usize::from(attempt.control)].ack.mode;
            ack = either(ack, of(&response, ACK_BYTES));
        }
        (data, ack)
    }

    /// Of several frames that start at `now`, returns the one that its addressee captures, because it is received `margin_db`
    /// stronger than each of the others (section 11). There is at most one.
    pub(crate) fn captured(&mut self, colliders: &[Collider], margin_db: f64, now: Time) -> Option<usize> {
        let node = |collider: &Collider| collider.link.sender();
        for collider in colliders {
            if let Some(radio) = &mut self.radios[collider.link.station().index()] {
                radio.look(now, &self.spec);
            }
        }
        let radio = |station: StationId| self.radios[station.index()].as_ref();
        let from_ap = colliders.iter().position(|collider| node(collider) == Node::Ap);
        let to = from_ap.map_or(Node::Ap, |index| colliders[index].link.receiver());
        if colliders.iter().any(|collider| node(collider) == to) {
            return None;
        }
        // The power at which each frame is received there.
        let power_db = |collider: &Collider| match (node(collider), to) {
            (Node::Ap, Node::Ap) => None,
            (Node::Ap, Node::Station(station)) | (Node::Station(station), Node::Ap) => {
                Some(radio(station)?.snr_db())
            }
            (Node::Station(from), Node::Station(to)) => Some(radio(from)?.snr_db_at(radio(to)?, &self.spec)),
        };
        let powers_db: Option<Vec<f64>> = colliders.iter().map(power_db).collect();
        let powers_db = powers_db?;
        let stands_out = |index: usize| {
            let mut others = powers_db.iter().enumerate().filter(|(other, _)| *other != index);
            others.all(|(_, other)| powers_db[index] >= other + margin_db)
        };
        match from_ap {
            Some(index) => stands_out(index).then_some(index),
            None => (0..colliders.len()).find(|&index| stands_out(index)),
        }
    }
}

/// Probability of one of two independent events.
fn either(a: f64, b: f64) -> f64 {
    a + b - a * b
}
