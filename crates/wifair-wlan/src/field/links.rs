//! Which nodes of a field receive which others, for each pair: with which power, and what a receiver tolerates.

use super::frame::FieldFrame;
use super::power::{Power, PowerRatio, SinrThreshold};
use super::rules::FieldRules;
use super::spec::Rows;

/// What a node receives of another's frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldLink {
    pub power: Power,
    /// The greatest sum of noise and interference in which it detects their preambles; zero if their power is too low for that.
    pub tolerance: Power,
}

/// See the module documentation.
pub(super) struct Links {
    nodes: usize,
    /// Power from which a preamble is detected, and SINR at which it is.
    detection: Power,
    preamble: SinrThreshold,
    /// By transmitter and receiver.
    links: Vec<FieldLink>,
    /// By transmitter: a bit per receiver.
    reached: Vec<u64>,
}

/// Number of words with a bit per node.
pub(super) fn words(nodes: usize) -> usize {
    nodes.div_ceil(64)
}

impl Links {
    /// Those of the `rows` that say who receives a node with which power.
    pub(super) fn new(rows: &Rows, rules: &FieldRules) -> Links {
        let nodes = rows.len();
        let none = FieldLink { power: Power::ZERO, tolerance: Power::ZERO };
        let mut of = Links {
            nodes,
            detection: rules.preamble_detection,
            preamble: rules.preamble,
            links: vec![none; nodes * nodes],
            reached: vec![0; nodes * words(nodes)],
        };
        for (from, row) in rows.iter().enumerate() {
            for &(to, power) in row {
                of.links[from * nodes + to] = of.with(power);
                of.reached[from * words(nodes) + to / 64] |= 1 << (to % 64);
            }
        }
        of
    }

    /// What a node receives with that power.
    fn with(&self, power: Power) -> FieldLink {
        let tolerance = match power >= self.detection {
            true => self.preamble.tolerance(power),
            false => Power::ZERO,
        };
        FieldLink { power, tolerance }
    }

    /// What `to` receives of a frame.
    #[inline]
    pub(super) fn link(&self, frame: &FieldFrame, to: usize) -> FieldLink {
        let link = self.links[frame.from * self.nodes + to];
        if frame.ratio == PowerRatio::WHOLE { link } else { self.with(frame.ratio.of(link.power)) }
    }

    /// Whether `to` receives `from` at all.
    #[inline]
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        self.reached[from * words(self.nodes) + to / 64] >> (to % 64) & 1 == 1
    }

    /// Calls `receive` with the nodes of `among`, a bit per node, that a frame reaches, in order, and what they receive.
    #[inline]
    pub(super) fn reach_among(
        &self,
        frame: &FieldFrame,
        among: &[u64],
        mut receive: impl FnMut(usize, FieldLink),
    ) {
        let reached = self.reached_among(frame.from, among);
        match frame.ratio {
            PowerRatio::WHOLE => reached.for_each(|(node, link)| receive(node, link)),
            ratio => reached.for_each(|(node, link)| receive(node, self.with(ratio.of(link.power)))),
        }
    }

    /// The nodes of `among` that receive `from` at its transmit power.
    #[inline]
    fn reached_among<'a>(
        &'a self,
        from: usize,
        among: &'a [u64],
    ) -> impl Iterator<Item = (usize, FieldLink)> + 'a {
        let reached = &self.reached[from * words(self.nodes)..][..words(self.nodes)];
        let links = &self.links[from * self.nodes..][..self.nodes];
        let both = reached.iter().zip(among).map(|(reached, among)| reached & among).enumerate();
        both.flat_map(|(word, bits)| Bits(bits).map(move |bit| word * 64 + bit))
            .map(|node| (node, links[node]))
    }
}

/// The places of the bits of a word that are set, in order.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (place < 64).then_some(place as usize)
    }
}
