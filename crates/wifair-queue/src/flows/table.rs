const EMPTY: u32 = u32::MAX;

/// Where a flow's entry lies: an open-addressing hash table from keys to dense ids.
///
/// Linear probing in a table that is at most a quarter full, so that most flows lie in the first cell of their hash; a
/// removal moves later entries of the run back, so there are no tombstones and look-ups do not decay with the number
/// of flows that have come and gone. The keys themselves live with the caller, which is asked for them by id.
#[derive(Clone, Debug)]
pub(super) struct Table {
    cells: Vec<Cell>,
    len: usize,
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    id: u32,
    hash: u32,
}

impl Table {
    const VACANT: Cell = Cell { id: EMPTY, hash: 0 };

    pub fn new() -> Table {
        Table { cells: vec![Self::VACANT; 16], len: 0, shift: 32 - 4 }
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    /// The id to try first under `hash`; no flow's if there is none.
    #[inline]
    pub fn first(&self, hash: u32) -> u32 {
        self.cells[self.home(hash)].id
    }

    /// The id under `hash` for which `is_it` holds.
    #[inline]
    pub fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.cells.len() - 1;
        let mut at = self.home(hash);
        loop {
            let cell = self.cells[at & mask];
            if cell.id == EMPTY {
                return None;
            }
            if cell.hash == hash && is_it(cell.id) {
                return Some(cell.id);
            }
            at += 1;
        }
    }

    /// Adds an id that is not there yet.
    pub fn insert(&mut self, hash: u32, id: u32) {
        if (self.len + 1) * 4 > self.cells.len() {
            self.grow();
        }
        self.put(Cell { id, hash });
        self.len += 1;
    }

    fn put(&mut self, cell: Cell) {
        let mask = self.cells.len() - 1;
        let mut at = self.home(cell.hash);
        while self.cells[at].id != EMPTY {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell;
    }

    fn grow(&mut self) {
        let doubled = self.cells.len() * 2;
        self.shift -= 1;
        for cell in std::mem::replace(&mut self.cells, vec![Self::VACANT; doubled]) {
            if cell.id != EMPTY {
                self.put(cell);
            }
        }
    }

    /// Takes an id out and closes the gap (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
    pub fn remove(&mut self, hash: u32, id: u32) {
        let mask = self.cells.len() - 1;
        let mut gap = self.home(hash);
        while self.cells[gap].id != id {
            assert!(self.cells[gap].id != EMPTY, "the id is in the table");
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let cell = self.cells[at];
            if cell.id == EMPTY {
                break;
            }
            // A cell may move back into the gap unless its home lies behind the gap.
            let displacement = at.wrapping_sub(self.home(cell.hash)) & mask;
            if displacement >= (at.wrapping_sub(gap) & mask) {
                self.cells[gap] = cell;
                gap = at;
            }
        }
        self.cells[gap] = Self::VACANT;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_at_most_a_quarter_full() {
        let mut table = Table::new();
        for id in 0..100u32 {
            table.insert(id.wrapping_mul(0x9E37_79B1), id);
            assert!(table.len * 4 <= table.cells.len(), "{} flows in {} cells", table.len, table.cells.len());
        }
    }
}
