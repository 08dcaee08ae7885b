//! Changes of the delay while packets are under way.

use wifair_core::Time;

use super::{Heads, Line, Lines, Wire};
use crate::ring::Ring;

impl Wire {
    /// Returns the lines over the link of `lines` at another `delay`, existing or new. Packets under way on `lines` arrive at
    /// their original time.
    pub fn lines_with_delay(&mut self, lines: Lines, delay: Time) -> Lines {
        let transmitters = self.lines[lines.0 as usize].each_ref().map(|line| line.transmitter);
        let same = |pair: &[Line; 2]| pair[0].delay == delay && pair[0].transmitter == transmitters[0];
        if let Some(index) = self.lines.iter().position(same) {
            return Lines(index as u32);
        }
        let line = |transmitter| Line { transmitter, delay, next: Time::MAX, in_flight: Ring::default() };
        self.lines.push(transmitters.map(line));
        self.heads = Heads::new(self.lines.len());
        for (pair, [to_server, to_ap]) in self.lines.iter().enumerate() {
            self.heads.set(pair, to_server.next.min(to_ap.next));
        }
        Lines(self.lines.len() as u32 - 1)
    }
}
