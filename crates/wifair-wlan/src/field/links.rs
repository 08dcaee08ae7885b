//! Which nodes of a field receive which others, for each pair: with which power, and what a receiver tolerates.

use super::power::Power;
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
        let (mut links, mut reached) = (vec![none; nodes * nodes], vec![0; nodes * words(nodes)]);
        for (from, row) in rows.iter().enumerate() {
            for &(to, power) in row {
                let tolerance = match power >= rules.preamble_detection {
                    true => rules.preamble.tolerance(power),
                    false => Power::ZERO,
                };
                links[from * nodes + to] = FieldLink { power, tolerance };
                reached[from * words(nodes) + to / 64] |= 1 << (to % 64);
            }
        }
        Links { nodes, links, reached }
    }

    /// What `to` receives of `from`.
    #[inline]
    pub(super) fn link(&self, from: usize, to: usize) -> FieldLink {
        self.links[from * self.nodes + to]
    }

    /// Whether `to` receives `from` at all.
    #[inline]
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        self.reached[from * words(self.nodes) + to / 64] >> (to % 64) & 1 == 1
    }

    /// The nodes of `among`, a bit per node, that receive `from`, in order, with what they receive.
    #[inline]
    pub(super) fn reached_among<'a>(
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
