//! Where stations are, how strongly each hears the other, and which frame of a collision is captured (docs/medium.md,
//! sections 9 and 11). Nobody fades, and everybody is so strong that noise spoils nothing.

use super::frame::{Frame, Kind, NodeId};
use super::scenario::Station;
use super::timing::Rules;
use std::collections::BTreeMap;

/// Capture, and what decides about powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capture {
    pub db: f64,
    pub ap_m: [f64; 2],
    pub path_loss_exponent: f64,
    pub update_interval_ms: u32,
}

pub const TX_POWER_DBM: f64 = 100.0;
const REFERENCE_LOSS_DB: f64 = 40.05;
const NOISE_DBM: f64 = -93.6;

/// Where a station is when this begins to hold, in metres, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    pub position_m: [f64; 2],
    pub velocity_m_per_s: [f64; 2],
}

/// What happens to frames that may be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    DataAtAp,
    DataAtStation,
    RtsAtAp,
    RtsAtStation,
    /// Of these: others are still on the air when the answer begins (case 3).
    DataAnsweredInVain,
    RtsAnsweredInVain,
    /// Others end later, but in time (case 2).
    Outlasted,
    /// The others end before.
    Outlasting,
    /// Strong enough by less than 1 dB.
    Barely,
    /// Too weak by less than 1 dB.
    BarelyNot,
    /// Strong enough, but the channel spoils the data frame.
    Undecodable,
    /// Nobody knows where one of the nodes is.
    Unplaced,
}

/// How often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Captures(BTreeMap<Case, u64>);

impl Captures {
    pub fn note(&mut self, case: Case) {
        *self.0.entry(case).or_default() += 1;
    }

    /// Notes that `frame` is captured; the longest of the others is on the air for `others`.
    pub fn note_captured(&mut self, frame: &Frame, others: u32, sifs: u32) {
        let is_data = frame.kind == Kind::Data;
        self.note(match (is_data, frame.to) {
            (true, 0) => Case::DataAtAp,
            (true, _) => Case::DataAtStation,
            (false, 0) => Case::RtsAtAp,
            (false, _) => Case::RtsAtStation,
        });
        if others > frame.length + sifs {
            self.note(if is_data { Case::DataAnsweredInVain } else { Case::RtsAnsweredInVain });
        } else if others > frame.length {
            self.note(Case::Outlasted);
        } else if others < frame.length {
            self.note(Case::Outlasting);
        }
    }

    pub fn add(&mut self, more: &Captures) {
        for (case, count) in &more.0 {
            *self.0.entry(*case).or_default() += count;
        }
    }

    /// Whether there was each case.
    pub fn covers_all(&self) -> bool {
        self.0.len() == Case::Unplaced as usize + 1
    }
}

pub struct Radio {
    capture: Option<Capture>,
    steps_per_second: f64,
    /// Steps in which positions are looked at once.
    interval: u64,
    /// By station: its track, and since when it holds.
    tracks: Vec<Option<(Track, u64)>>,
    /// By station: the interval in which it was last looked at, and where it was.
    seen: Vec<Option<(u64, [f64; 2])>>,
}

impl Radio {
    pub fn new(rules: &Rules, stations: &[Station]) -> Radio {
        let interval =
            rules.capture.map_or(1, |capture| u64::from(1_000 * rules.steps * capture.update_interval_ms));
        Radio {
            capture: rules.capture,
            steps_per_second: 1e6 * f64::from(rules.steps),
            interval,
            tracks: stations.iter().map(|station| Some((station.track?, 0))).collect(),
            seen: vec![None; stations.len()],
        }
    }

    /// An event gives the station another track; the next attempt looks at it.
    pub fn set_track(&mut self, station: usize, track: Track, now: u64) {
        self.tracks[station] = Some((track, now));
        self.seen[station] = None;
    }

    /// An attempt between the AP and the station starts.
    pub fn look(&mut self, station: usize, now: u64) {
        let interval = now / self.interval;
        if let Some((track, since)) = self.tracks[station]
            && self.seen[station].is_none_or(|(before, _)| before != interval)
        {
            let seconds = (now - since) as f64 / self.steps_per_second;
            let along = |axis| track.position_m[axis] + seconds * track.velocity_m_per_s[axis];
            self.seen[station] = Some((interval, [along(0), along(1)]));
        }
    }

    /// Which of `frames`, that start together, its addressee decodes in spite of the others.
    pub fn captured(&self, frames: &[Frame], captures: &mut Captures) -> Option<usize> {
        let capture = self.capture?;
        let listens = |node: NodeId| frames.iter().all(|frame| frame.from != node);
        let mut winner = None;
        for (index, frame) in frames.iter().enumerate().filter(|(_, frame)| listens(frame.to)) {
            let powers: Option<Vec<f64>> =
                frames.iter().map(|other| self.power(&capture, other.from, frame.to)).collect();
            let Some(powers) = powers else {
                captures.note(Case::Unplaced);
                return None;
            };
            let others =
                || powers.iter().enumerate().filter(|&(other, _)| other != index).map(|(_, power)| power);
            let captured = others().all(|power| powers[index] >= power + capture.db);
            let lead = others().map(|power| powers[index] - power - capture.db).fold(f64::INFINITY, f64::min);
            if lead.abs() < 1.0 {
                captures.note(if captured { Case::Barely } else { Case::BarelyNot });
            }
            if captured {
                assert_eq!(winner, None, "at most one frame of a collision is captured");
                winner = Some(index);
            }
        }
        winner
    }

    /// How strongly `from` reaches `to`, in dB above the noise; unless one of them is nobody knows where.
    fn power(&self, capture: &Capture, from: NodeId, to: NodeId) -> Option<f64> {
        let place = |node: NodeId| match node {
            0 => Some(capture.ap_m),
            station => self.seen[station - 1].map(|(_, place)| place),
        };
        let ([x, y], [u, v]) = (place(from)?, place(to)?);
        let distance = ((x - u).powi(2) + (y - v).powi(2)).sqrt().max(1.0);
        let loss = REFERENCE_LOSS_DB + 10.0 * capture.path_loss_exponent * distance.log10();
        Some(TX_POWER_DBM - loss - NOISE_DBM)
    }
}
