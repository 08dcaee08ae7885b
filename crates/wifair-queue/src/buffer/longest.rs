/// Which of many queues has most bytes: a tournament tree over their numbers.
///
/// A change costs O(log n) at most and a few steps as a rule, since it ends where the winner stays the same; the winner is
/// found in O(log n). A walk over all queues at each arrival that finds no room would make a full buffer of a thousand flows
/// five times as dear as one of a hundred.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// Most bytes. Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves are the queues.
    nodes: Vec<u32>,
}

impl Longest {
    /// Of queues with these bytes.
    pub fn new(bytes: impl ExactSizeIterator<Item = u32>) -> Longest {
        let leaves = bytes.len().next_power_of_two().max(2);
        let mut nodes = vec![0; 2 * leaves];
        for (leaf, bytes) in nodes[leaves..].iter_mut().zip(bytes) {
            *leaf = bytes;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Longest { nodes }
    }

    /// Numbers below this are those of queues.
    pub fn room(&self) -> usize {
        self.nodes.len() / 2
    }

    /// A queue has so many bytes from now on.
    pub fn set(&mut self, queue: usize, bytes: u32) {
        let mut node = self.nodes.len() / 2 + queue;
        self.nodes[node] = bytes;
        while node > 1 {
            let most = self.nodes[node].max(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == most {
                return;
            }
            self.nodes[node] = most;
        }
    }

    /// The queue with most bytes, of several the one with the smallest number; `None` while all are empty.
    pub fn queue(&self) -> Option<usize> {
        let (most, leaves) = (self.nodes[1], self.nodes.len() / 2);
        let mut node = 1;
        while node < leaves {
            node = 2 * node + usize::from(self.nodes[2 * node] != most);
        }
        (most > 0).then(|| node - leaves)
    }
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
