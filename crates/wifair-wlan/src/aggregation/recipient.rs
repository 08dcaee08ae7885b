//! The recipient of a Block Ack agreement: reorders MPDUs (802.11-2020, 10.25.6.6; `docs/medium.md`, section 12).
//!
//! Sequence numbers do not wrap here. On the air they are modulo 4096, which is equivalent for windows of at most 1,024.

use std::collections::{BTreeMap, VecDeque};

use wifair_core::Time;

/// Reorders the MPDUs of one link. `T` is the content of an MPDU.
#[derive(Clone, Debug)]
pub(crate) struct Recipient<T> {
    window: u64,
    /// WinStartB: the first sequence number that has not been passed on.
    first: u64,
    /// MPDUs received out of order with their times, by sequence number from `first` on. The last entry is never vacant.
    held: VecDeque<Option<(T, Time)>>,
    /// What is passed on right after the content of an MPDU, by sequence number: further packets of an A-MSDU.
    joined: BTreeMap<u64, Vec<T>>,
}

impl<T> Recipient<T> {
    /// Creates an empty reorder buffer. `window` is in MPDUs.
    pub fn new(window: u64) -> Recipient<T> {
        Recipient { window, first: 0, held: VecDeque::new(), joined: BTreeMap::new() }
    }

    #[inline]
    fn is_held(&self, sequence: u64) -> bool {
        let place = (sequence - self.first) as usize;
        self.held.get(place).is_some_and(Option::is_some)
    }

    /// Handles an MPDU decoded at `now`; passes what is in order to `up`. Returns false for a duplicate.
    pub fn receive(&mut self, sequence: u64, content: T, now: Time, mut up: impl FnMut(T)) -> bool {
        if sequence < self.first || self.is_held(sequence) {
            return false;
        }
        if sequence == self.first && self.held.is_empty() {
            self.pass(content, &mut up);
            return true;
        }
        if sequence >= self.first + self.window {
            self.release_before(sequence + 1 - self.window, &mut up);
        }
        let place = (sequence - self.first) as usize;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, || None);
        }
        self.held[place] = Some((content, now));
        self.release_run(&mut up);
        true
    }

    /// Adds `content` to an MPDU that [`Recipient::receive`] handles next. Returns false for a duplicate.
    pub fn join(&mut self, sequence: u64, content: T) -> bool {
        if sequence < self.first || self.is_held(sequence) {
            return false;
        }
        self.joined.entry(sequence).or_default().push(content);
        true
    }

    /// Passes on the content of the MPDU at the start of the window.
    #[inline]
    fn pass(&mut self, content: T, up: &mut impl FnMut(T)) {
        up(content);
        if !self.joined.is_empty() {
            self.joined.remove(&self.first).into_iter().flatten().for_each(&mut *up);
        }
        self.first += 1;
    }

    /// Handles `count` MPDUs from this sequence number on if they are in order, and nothing is held: all are passed on. Returns
    /// whether they are; nothing has happened otherwise.
    pub fn receive_run(&mut self, sequence: u64, count: u64) -> bool {
        let in_order = sequence == self.first && self.held.is_empty();
        self.first += if in_order { count } else { 0 };
        in_order
    }

    /// Handles a Block Ack Request with this starting sequence number.
    pub fn request(&mut self, starting: u64, mut up: impl FnMut(T)) {
        if starting > self.first {
            self.release_before(starting, &mut up);
            self.release_run(&mut up);
        }
    }

    /// The contents of the held MPDUs.
    pub fn held(&self) -> impl Iterator<Item = &T> {
        let first = self.held.iter().flatten().map(|(content, _)| content);
        first.chain(self.joined.values().flatten())
    }

    /// When the reorder timeout of the MPDU that has been held longest expires.
    pub fn deadline(&self, timeout: Time) -> Option<Time> {
        let held = self.held.iter().flatten();
        held.map(|&(_, since)| since + timeout).min()
    }

    /// Handles the reorder timeout of MPDUs received at or before `since`: missing MPDUs before them are skipped.
    pub fn give_up_waiting(&mut self, since: Time, mut up: impl FnMut(T)) {
        let expired = |entry: &Option<(T, Time)>| matches!(entry, Some((_, at)) if *at <= since);
        if let Some(place) = self.held.iter().position(expired) {
            self.release_before(self.first + place as u64, &mut up);
            self.release_run(&mut up);
        }
    }

    /// Moves the window to `first`.
    fn release_before(&mut self, first: u64, up: &mut impl FnMut(T)) {
        while self.first < first
            && let Some(entry) = self.held.pop_front()
        {
            match entry {
                Some((content, _)) => self.pass(content, up),
                None => self.first += 1,
            }
        }
        self.first = self.first.max(first);
    }

    /// Passes on the MPDUs at the start of the window up to the first gap.
    fn release_run(&mut self, up: &mut impl FnMut(T)) {
        while let Some((content, _)) = self.held.front_mut().and_then(Option::take) {
            self.held.pop_front();
            self.pass(content, up);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: Time = Time::from_ms(100);

    /// The rules of the page, implemented with sets.
    struct Plain {
        window: u64,
        first: u64,
        held: BTreeMap<u64, Time>,
        up: Vec<u64>,
    }

    impl Plain {
        fn move_to(&mut self, first: u64) {
            let later = self.held.split_off(&first);
            self.up.extend(self.held.keys());
            self.held = later;
            self.first = self.first.max(first);
        }

        fn run(&mut self) {
            while self.held.remove(&self.first).is_some() {
                self.up.push(self.first);
                self.first += 1;
            }
        }

        fn receive(&mut self, sequence: u64, now: Time) -> bool {
            if sequence < self.first || self.held.contains_key(&sequence) {
                return false;
            }
            if sequence > self.first + self.window - 1 {
                self.move_to(sequence + 1 - self.window);
            }
            self.held.insert(sequence, now);
            self.run();
            true
        }
    }

    proptest! {
        #[test]
        fn agrees_with_sets(
            window in 1u64..20,
            steps in prop::collection::vec((0u8..10, 0u64..30, 0u64..40), 1..300),
        ) {
            let mut recipient = Recipient::new(window);
            let mut plain = Plain { window, first: 0, held: BTreeMap::new(), up: vec![] };
            let (mut up, mut now) = (vec![], Time::ZERO);
            for (what, ahead, ms) in steps {
                now += Time::from_ms(ms);
                let sequence = (plain.first + ahead).saturating_sub(4);
                match what {
                    0 => {
                        recipient.request(sequence, |content| up.push(content));
                        if sequence > plain.first {
                            plain.move_to(sequence);
                            plain.run();
                        }
                    }
                    1 => {
                        let due = plain.held.values().map(|&at| at + TIMEOUT).min();
                        prop_assert_eq!(recipient.deadline(TIMEOUT), due);
                        if now >= TIMEOUT {
                            let since = now - TIMEOUT;
                            recipient.give_up_waiting(since, |content| up.push(content));
                            if let Some((&expired, _)) = plain.held.iter().find(|(_, at)| **at <= since) {
                                plain.move_to(expired);
                                plain.run();
                            }
                        }
                    }
                    _ => {
                        let new = recipient.receive(sequence, sequence, now, |content| up.push(content));
                        prop_assert_eq!(new, plain.receive(sequence, now));
                    }
                }
                prop_assert_eq!(&up, &plain.up);
                prop_assert!(up.is_sorted_by(|a, b| a < b), "passed on in order, once");
                prop_assert!(recipient.held.back().is_none_or(Option::is_some));
                prop_assert!((recipient.held.len() as u64) <= window);
            }
        }
    }
}
