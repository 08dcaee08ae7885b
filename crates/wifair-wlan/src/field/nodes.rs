//! The nodes of a field, and when each next does something by itself. What is asked of all nodes is asked of those alone that
//! are due, so its cost grows with them and not with the field.

use std::ops::{Index, IndexMut};

use wifair_core::{MinTree, Time};

use super::node::FieldNode;
use super::rules::FieldRules;

/// See the module documentation. [`FieldNodes::settle`] must follow changes before it is asked who is due.
pub(super) struct FieldNodes {
    nodes: Vec<FieldNode>,
    /// By node, as of the last [`FieldNodes::settle`].
    dues: MinTree,
    /// Nodes that may have changed since, once each.
    changed: Vec<usize>,
    has_changed: Vec<bool>,
}

impl FieldNodes {
    pub(super) fn new(nodes: Vec<FieldNode>) -> FieldNodes {
        let (dues, has_changed) = (MinTree::new(nodes.len()), vec![false; nodes.len()]);
        FieldNodes { nodes, dues, changed: Vec::new(), has_changed }
    }

    /// Works out when the nodes are due that may have changed. `sensed` says of a node what [`FieldNode::due`] asks.
    pub(super) fn settle(&mut self, rules: &FieldRules, sensed: impl Fn(usize) -> (Option<Time>, bool)) {
        for node in self.changed.drain(..) {
            self.has_changed[node] = false;
            let (waits_until, is_physically_busy) = sensed(node);
            let due = self.nodes[node].due(waits_until, is_physically_busy, rules);
            if due != self.dues.at(node) {
                self.dues.set(node, due);
            }
        }
    }

    /// When a node is next due; [`Time::MAX`] if none is.
    pub(super) fn due(&self) -> Time {
        self.dues.earliest()
    }

    /// Adds the nodes that are due then to `found`, in order.
    pub(super) fn first_due(&self, found: &mut Vec<usize>) {
        self.dues.earliest_indexes(found);
    }

    /// The medium becomes physically busy at `node`. Returns whether a backoff counter may still run.
    pub(super) fn freeze(&mut self, node: usize, rules: &FieldRules, now: Time) -> bool {
        self[node].freeze(rules, now)
    }

    /// The medium becomes physically idle at `node`, and its IFSs begin at `from`.
    pub(super) fn resume(&mut self, node: usize, from: Time) {
        self[node].resume(from);
    }
}

impl Index<usize> for FieldNodes {
    type Output = FieldNode;

    fn index(&self, node: usize) -> &FieldNode {
        &self.nodes[node]
    }
}

impl IndexMut<usize> for FieldNodes {
    fn index_mut(&mut self, node: usize) -> &mut FieldNode {
        if !std::mem::replace(&mut self.has_changed[node], true) {
            self.changed.push(node);
        }
        &mut self.nodes[node]
    }
}
