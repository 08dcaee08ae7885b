/// A queue in a ring whose size is a power of two, so indexes are masked.
#[derive(Clone, Debug, Default)]
pub struct Ring<T> {
    /// Empty, or a power of two long.
    places: Vec<T>,
    /// Number of items taken and appended so far: masked, the places of the first item and after the last.
    taken: usize,
    appended: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.appended - self.taken
    }

    /// Number of items appended so far.
    pub fn appended(&self) -> u64 {
        self.appended as u64
    }

    /// Appends an item and returns it, to be written.
    pub fn append(&mut self) -> &mut T {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.appended & (self.places.len() - 1);
        self.appended += 1;
        &mut self.places[place]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = (2 * self.places.len()).max(16);
        let mut places = vec![T::default(); size];
        for (at, item) in (self.taken..).zip(self.iter()) {
            places[at & (size - 1)] = *item;
        }
        self.places = places;
    }

    /// Removes the first item. Returns it, still readable in place, and the one after it. The ring must not be empty.
    pub fn take(&mut self) -> (&T, Option<&T>) {
        debug_assert!(self.len() > 0, "there is a first item");
        let mask = self.places.len() - 1;
        let place = self.taken & mask;
        self.taken += 1;
        (&self.places[place], if self.len() > 0 { self.places.get(self.taken & mask) } else { None })
    }

    /// The items from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (self.taken..self.appended).map(|at| &self.places[at & (self.places.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_deque(steps in prop::collection::vec(prop::option::weighted(0.6, 0u32..1000), 1..400)) {
            let mut ring = Ring::default();
            let mut plain = VecDeque::new();
            let mut appended = 0;
            for step in steps {
                match step {
                    Some(item) => {
                        *ring.append() = item;
                        plain.push_back(item);
                        appended += 1;
                    }
                    None if !plain.is_empty() => {
                        let (first, next) = ring.take();
                        prop_assert_eq!((Some(*first), next), (plain.pop_front(), plain.front()));
                    }
                    None => {}
                }
                prop_assert_eq!(ring.len(), plain.len());
                prop_assert_eq!(ring.appended(), appended);
                prop_assert!(ring.iter().eq(&plain));
            }
        }
    }
}
