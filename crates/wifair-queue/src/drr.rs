//! Deficit round robin with a list of new and a list of old queues, as FQ-CoDel serves them (RFC 8290, 4.2).

const NONE: u32 = u32::MAX;
/// Marks the `next` link of a queue that is in no list.
const UNLISTED: u32 = u32::MAX - 1;

/// A set of queues served in turns: a pair of lists. A queue is in one list of one such pair, or in none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    new: TurnList,
    old: TurnList,
}

#[derive(Clone, Copy, Debug)]
struct TurnList {
    first: u32,
    last: u32,
}

impl Turns {
    /// Without queues.
    pub const EMPTY: Turns = Turns { new: TurnList::EMPTY, old: TurnList::EMPTY };
}

impl TurnList {
    const EMPTY: TurnList = TurnList { first: NONE, last: NONE };

    fn push(&mut self, rows: &mut [TurnState], queue: u32) {
        rows[queue as usize].next = NONE;
        match rows.get_mut(self.last as usize) {
            Some(last) => last.next = queue,
            None => self.first = queue,
        }
        self.last = queue;
    }

    fn pop(&mut self, rows: &mut [TurnState]) {
        let next = rows[self.first as usize].next;
        self.first = next;
        if next == NONE {
            self.last = NONE;
        }
    }
}

/// State of a queue.
#[derive(Clone, Copy, Debug)]
struct TurnState {
    next: u32,
    /// Bytes that the queue may still send in its turn. At zero or below, its turn is over.
    deficit: i32,
}

/// Deficits and list positions of all queues, by number.
#[derive(Clone, Debug)]
pub(crate) struct DeficitRoundRobin {
    quantum_bytes: i32,
    rows: Vec<TurnState>,
}

impl DeficitRoundRobin {
    /// Creates a round robin with `quantum_bytes` per turn.
    pub fn new(quantum_bytes: u32) -> DeficitRoundRobin {
        DeficitRoundRobin { quantum_bytes: quantum_bytes as i32, rows: Vec::new() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, queues: usize) {
        self.rows.resize(queues, TurnState { next: UNLISTED, deficit: 0 });
    }

    /// Notes that a packet has joined a queue. If the queue is in no list, it joins the new ones. Returns whether it was in
    /// none.
    pub fn arrive(&mut self, turns: &mut Turns, queue: u32) -> bool {
        if queue as usize >= self.rows.len() {
            self.grow(queue as usize + 1);
        }
        let row = &mut self.rows[queue as usize];
        let is_new = row.next == UNLISTED;
        if is_new {
            row.deficit = self.quantum_bytes;
            turns.new.push(&mut self.rows, queue);
        }
        is_new
    }

    /// Returns the queue whose turn it is, after moving queues whose turn is over to the end of the old ones, with another
    /// quantum.
    pub fn next(&mut self, turns: &mut Turns) -> Option<u32> {
        loop {
            let list = if turns.new.first == NONE { &mut turns.old } else { &mut turns.new };
            let queue = list.first;
            let row = self.rows.get_mut(queue as usize)?;
            if row.deficit > 0 {
                return Some(queue);
            }
            row.deficit += self.quantum_bytes;
            list.pop(&mut self.rows);
            turns.old.push(&mut self.rows, queue);
        }
    }

    /// Returns the queue that would be served first if all but the `wanted` ones were skipped. No queue is moved. If it sends
    /// before its turn, its next turns are charged. Walks over all queues of the lists.
    pub fn first_of(&self, turns: &Turns, mut wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut first: Option<((i32, bool), u32)> = None;
        for (list, is_new) in [(turns.new, true), (turns.old, false)] {
            let mut queue = list.first;
            while let Some(&TurnState { next, deficit }) = self.rows.get(queue as usize) {
                if wanted(queue) {
                    // Number of visits before it may send. A new queue in debt is visited once before the old ones and then
                    // becomes the last of them.
                    let visits = if deficit > 0 { 0 } else { 1 - deficit / self.quantum_bytes };
                    let place = match (is_new, deficit > 0) {
                        (true, true) => (-1, false),
                        (true, false) => (visits - 1, true),
                        (false, _) => (visits, false),
                    };
                    if place <= (0, false) {
                        return Some(queue);
                    }
                    if first.is_none_or(|(best, _)| place < best) {
                        first = Some((place, queue));
                    }
                }
                queue = next;
            }
        }
        first.map(|(_, queue)| queue)
    }

    /// Charges a queue for a packet that it has sent.
    pub fn charge(&mut self, queue: u32, bytes: u32) {
        self.rows[queue as usize].deficit -= bytes as i32;
    }

    /// Handles a queue whose turn it is and that has nothing to send. A new queue moves to the end of the old ones, if there
    /// are any, so that it cannot return as new before they have had their turns; otherwise it leaves. Returns whether it has
    /// left.
    pub fn end_turn(&mut self, turns: &mut Turns) -> bool {
        let is_new = turns.new.first != NONE;
        let list = if is_new { &mut turns.new } else { &mut turns.old };
        let queue = list.first;
        list.pop(&mut self.rows);
        let stays = is_new && turns.old.first != NONE;
        if stays {
            turns.old.push(&mut self.rows, queue);
        } else {
            self.rows[queue as usize].next = UNLISTED;
        }
        !stays
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Two lists, as in the RFC.
    #[derive(Clone, Default)]
    struct Plain {
        new: VecDeque<u32>,
        old: VecDeque<u32>,
        deficits: [i32; 8],
    }

    impl Plain {
        fn arrive(&mut self, queue: u32) -> bool {
            if self.new.contains(&queue) || self.old.contains(&queue) {
                return false;
            }
            self.deficits[queue as usize] = 300;
            self.new.push_back(queue);
            true
        }

        fn next(&mut self) -> Option<u32> {
            loop {
                let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
                let queue = *list.front()?;
                if self.deficits[queue as usize] > 0 {
                    return Some(queue);
                }
                self.deficits[queue as usize] += 300;
                list.pop_front();
                self.old.push_back(queue);
            }
        }

        fn pass(&mut self) -> bool {
            match self.new.pop_front() {
                Some(queue) if !self.old.is_empty() => {
                    self.old.push_back(queue);
                    false
                }
                Some(_) => true,
                None => self.old.pop_front().is_some(),
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_two_lists(steps in prop::collection::vec((0u32..8, 0u32..2_000, 0u8..8), 1..400)) {
            let mut robin = DeficitRoundRobin::new(300);
            let mut turns = Turns::EMPTY;
            let mut plain = Plain::default();
            for (queue, bytes, what) in steps {
                for wanted in [0b1010_1010u32, 0b0011_1100, 0b1000_0000, bytes] {
                    let is_wanted = |queue: u32| wanted >> queue & 1 == 1;
                    let mut others_gone = plain.clone();
                    others_gone.new.retain(|queue| is_wanted(*queue));
                    others_gone.old.retain(|queue| is_wanted(*queue));
                    prop_assert_eq!(robin.first_of(&turns, is_wanted), others_gone.next());
                }
                if what > 5 {
                    if let Some(queue) = robin.first_of(&turns, |other| (queue + other) % 3 == 0) {
                        robin.charge(queue, bytes); // before its turn
                        plain.deficits[queue as usize] -= bytes as i32;
                    }
                    continue;
                }
                if what < 3 {
                    prop_assert_eq!(robin.arrive(&mut turns, queue), plain.arrive(queue));
                    continue;
                }
                let next = robin.next(&mut turns);
                prop_assert_eq!(next, plain.next());
                let Some(queue) = next else { continue };
                if what < 5 {
                    robin.charge(queue, bytes);
                    plain.deficits[queue as usize] -= bytes as i32;
                } else {
                    prop_assert_eq!(robin.end_turn(&mut turns), plain.pass());
                }
            }
        }
    }

    /// Backlogged queues share the bytes equally, whatever their packet lengths.
    #[test]
    fn busy_queues_share_the_bytes() {
        let lengths = [40, 300, 576, 1500];
        let mut robin = DeficitRoundRobin::new(300);
        let mut turns = Turns::EMPTY;
        let mut sent = [0u32; 4];
        for queue in 0..4 {
            robin.arrive(&mut turns, queue);
        }
        for _ in 0..50_000 {
            let queue = robin.next(&mut turns).expect("all are busy");
            robin.charge(queue, lengths[queue as usize]);
            sent[queue as usize] += lengths[queue as usize];
        }
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 2 * (1500 + 300), "{sent:?}");
    }

    /// A queue that sends occasionally, and less than a quantum, is served before the busy ones each time.
    #[test]
    fn a_sparse_queue_goes_first() {
        let mut robin = DeficitRoundRobin::new(1514);
        let mut turns = Turns::EMPTY;
        for queue in 0..6 {
            robin.arrive(&mut turns, queue);
        }
        for step in 0..2_000 {
            if step % 50 == 49 {
                assert!(robin.arrive(&mut turns, 7), "it has left the lists meanwhile");
                assert_eq!(robin.next(&mut turns), Some(7));
                robin.charge(7, 200);
                assert_eq!(robin.next(&mut turns), Some(7));
                assert!(!robin.end_turn(&mut turns), "once through the old ones");
            }
            match robin.next(&mut turns) {
                Some(7) => assert!(robin.end_turn(&mut turns)),
                Some(queue) => robin.charge(queue, 1500),
                None => unreachable!("the others are always busy"),
            }
        }
    }
}
