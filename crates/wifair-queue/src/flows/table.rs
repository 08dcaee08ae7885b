const EMPTY: u32 = u32::MAX;

/// An index of flow entries: an open-addressing hash table from keys to dense ids.
///
/// Linear probing in a table that is at most a quarter full, so most flows are in the first bucket of their hash. A removal
/// moves later entries of the run back, so there are no tombstones, and look-ups do not slow down as flows come and go. The
/// caller stores the keys and is asked for them by id.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    buckets: Vec<Bucket>,
    len: usize,
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    id: u32,
    hash: u32,
}

impl FlowTable {
    const VACANT: Bucket = Bucket { id: EMPTY, hash: 0 };

    pub fn new() -> FlowTable {
        FlowTable { buckets: vec![Self::VACANT; 16], len: 0, shift: 32 - 4 }
    }

    fn home(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    /// Returns the id under `hash` for which `is_it` holds.
    pub fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut at = self.home(hash);
        loop {
            let bucket = self.buckets[at & mask];
            if bucket.id == EMPTY {
                return None;
            }
            if bucket.hash == hash && is_it(bucket.id) {
                return Some(bucket.id);
            }
            at += 1;
        }
    }

    /// Adds an id that is not in the table.
    pub fn insert(&mut self, hash: u32, id: u32) {
        if (self.len + 1) * 4 > self.buckets.len() {
            self.grow();
        }
        self.put(Bucket { id, hash });
        self.len += 1;
    }

    fn put(&mut self, bucket: Bucket) {
        let mask = self.buckets.len() - 1;
        let mut at = self.home(bucket.hash);
        while self.buckets[at].id != EMPTY {
            at = (at + 1) & mask;
        }
        self.buckets[at] = bucket;
    }

    fn grow(&mut self) {
        let doubled = self.buckets.len() * 2;
        self.shift -= 1;
        for bucket in std::mem::replace(&mut self.buckets, vec![Self::VACANT; doubled]) {
            if bucket.id != EMPTY {
                self.put(bucket);
            }
        }
    }

    /// Removes an id and closes the gap (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
    pub fn remove(&mut self, hash: u32, id: u32) {
        let mask = self.buckets.len() - 1;
        let mut gap = self.home(hash);
        while self.buckets[gap].id != id {
            assert!(self.buckets[gap].id != EMPTY, "the id is in the table");
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let bucket = self.buckets[at];
            if bucket.id == EMPTY {
                break;
            }
            // A bucket may move back into the gap unless its home is after the gap.
            let displacement = at.wrapping_sub(self.home(bucket.hash)) & mask;
            if displacement >= (at.wrapping_sub(gap) & mask) {
                self.buckets[gap] = bucket;
                gap = at;
            }
        }
        self.buckets[gap] = Self::VACANT;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_at_most_a_quarter_full() {
        let mut table = FlowTable::new();
        for id in 0..100u32 {
            table.insert(id.wrapping_mul(0x9E37_79B1), id);
            assert!(
                table.len * 4 <= table.buckets.len(),
                "{} flows in {} buckets",
                table.len,
                table.buckets.len()
            );
        }
    }
}
