/// A queue in a ring whose size is a power of two, so indexes are masked.
#[derive(Clone, Debug, Default)]
pub struct Ring<T> {
    /// Empty, or a power of two long.
    places: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends an item and returns it, to be written.
    pub fn append(&mut self) -> &mut T {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = (self.first + self.len) & (self.places.len() - 1);
        self.len += 1;
        &mut self.places[place]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.rotate_left(self.first);
        self.first = 0;
        self.places.resize((2 * self.len).max(16), T::default());
    }

    /// Removes the first item. Returns it, still readable in place, and the one after it. Panics if the ring is empty.
    pub fn take(&mut self) -> (&T, Option<&T>) {
        assert!(self.len > 0, "there is a first item");
        let place = self.first;
        self.first = (place + 1) & (self.places.len() - 1);
        self.len -= 1;
        (&self.places[place], if self.len > 0 { self.places.get(self.first) } else { None })
    }

    /// The items from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|at| &self.places[(self.first + at) & (self.places.len() - 1)])
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
            for step in steps {
                match step {
                    Some(item) => {
                        *ring.append() = item;
                        plain.push_back(item);
                    }
                    None if !plain.is_empty() => {
                        let (first, next) = ring.take();
                        prop_assert_eq!((Some(*first), next), (plain.pop_front(), plain.front()));
                    }
                    None => {}
                }
                prop_assert_eq!(ring.len(), plain.len());
                prop_assert!(ring.iter().eq(&plain));
            }
        }
    }
}
