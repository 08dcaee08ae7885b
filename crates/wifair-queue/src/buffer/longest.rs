use super::slots::NONE;

/// The queue with the most bytes: a tournament among the queues that hold any.
///
/// An update takes O(log n) at most and usually a few steps, since it stops where the winner is unchanged. The winner is at the
/// root. A walk over all queues at each arrival that finds no room would make a full buffer of a thousand flows five times as
/// expensive as one of a hundred.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// The bytes in the high half, and the complement of the queue's number in the low half: on a tie the smallest number wins.
    /// 0 means no queue. Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the second half are the leaves.
    nodes: Vec<u64>,
    /// By queue: its leaf, or [`NONE`].
    leaves: Vec<u32>,
    /// Leaves without a queue.
    free: Vec<u32>,
}

impl Longest {
    /// Creates the tournament for queues with these bytes.
    pub fn new(bytes: impl ExactSizeIterator<Item = u32>) -> Longest {
        let mut longest = Longest { nodes: vec![0; 2], leaves: vec![NONE; bytes.len()], free: vec![0] };
        bytes.enumerate().for_each(|(queue, bytes)| longest.set(queue, bytes));
        longest
    }

    /// Sets the number of queues; new ones are empty.
    pub fn grow_queues(&mut self, queues: usize) {
        self.leaves.resize(queues, NONE);
    }

    /// Sets a queue's bytes.
    #[inline(always)] // into the moves of a packet
    pub fn set(&mut self, queue: usize, bytes: u32) {
        match self.leaves[queue] {
            leaf if leaf != NONE && bytes > 0 => self.set_leaf(leaf, ranked(queue, bytes)),
            _ => self.join_or_leave(queue, bytes),
        }
    }

    /// Sets the bytes of a queue that gets its first packet or loses its last.
    #[cold]
    #[inline(never)]
    fn join_or_leave(&mut self, queue: usize, bytes: u32) {
        if bytes > 0 {
            let leaf = self.free.pop().unwrap_or_else(|| self.grow());
            self.leaves[queue] = leaf;
            self.set_leaf(leaf, ranked(queue, bytes));
        } else if self.leaves[queue] != NONE {
            let leaf = std::mem::replace(&mut self.leaves[queue], NONE);
            self.free.push(leaf);
            self.set_leaf(leaf, 0);
        }
    }

    #[inline(always)] // into its two callers
    fn set_leaf(&mut self, leaf: u32, mut most: u64) {
        let mut node = self.nodes.len() / 2 + leaf as usize;
        self.nodes[node] = most;
        while node > 1 {
            most = most.max(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == most {
                return;
            }
            self.nodes[node] = most;
        }
    }

    /// Doubles the number of leaves; returns the first new one.
    #[cold]
    fn grow(&mut self) -> u32 {
        let leaves = self.nodes.len() / 2;
        self.nodes.splice(..leaves, vec![0; 2 * leaves]);
        self.nodes.resize(4 * leaves, 0);
        self.free.extend((leaves as u32 + 1..2 * leaves as u32).rev());
        for node in (1..2 * leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
        leaves as u32
    }

    /// The queue with the most bytes, on a tie the one with the smallest number; `None` while all are empty.
    pub fn queue(&self) -> Option<usize> {
        let most = self.nodes[1];
        (most > 0).then_some(!(most as u32) as usize)
    }
}

/// What a queue has in the tournament.
fn ranked(queue: usize, bytes: u32) -> u64 {
    u64::from(bytes) << 32 | u64::from(!(queue as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(
            mut plain in prop::collection::vec(0u32..4, 1..40),
            changes in prop::collection::vec((0usize..40, 0u32..4), 0..100),
        ) {
            let mut longest = Longest::new(plain.iter().copied());
            for (queue, bytes) in changes {
                let queue = queue % plain.len();
                plain[queue] = bytes;
                longest.set(queue, bytes);
                let most = *plain.iter().max().unwrap();
                let first = plain.iter().position(|bytes| *bytes == most);
                prop_assert_eq!(longest.queue(), first.filter(|_| most > 0));
            }
        }
    }
}
