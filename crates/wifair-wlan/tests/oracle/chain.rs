//! Two saturated stations as a Markov chain, enumerated: no clock, no listener, nothing in common with the model.

/// What two saturated stations do in the long run, by round (a round is one access, success or collision).
pub struct Rounds {
    /// Probability that a round is a collision.
    pub collision: f64,
    /// Idle slots before a round, on average.
    pub idle_slots: f64,
    /// Frames given up in a round, on average.
    pub lost: f64,
}

impl Rounds {
    /// Probability that an attempt collides.
    pub fn p(&self) -> f64 {
        2.0 * self.collision / (1.0 + self.collision)
    }
}

/// `windows[k]` is the CW of attempt `k`. After the last one the frame is lost (`limited`), or the window stays.
///
/// A state is the pair of (attempt, slots left) after the draws and before the idle slots. The smaller counter
/// wins and is drawn again; the other keeps the difference. Equal counters collide, and both are drawn again.
pub fn two_saturated_stations(windows: &[u32], limited: bool) -> Rounds {
    let last = windows.len() - 1;
    let width = *windows.iter().max().expect("at least one window") as usize + 1;
    let count = windows.len() * width;
    let draw = |attempt: usize| -> Vec<(usize, f64)> {
        let slots = windows[attempt] as usize + 1;
        (0..slots).map(|left| (attempt * width + left, 1.0 / slots as f64)).collect()
    };
    let after_collision = |attempt: usize| match attempt {
        _ if attempt < last => attempt + 1,
        _ if limited => 0,
        _ => last,
    };

    let mut weight = vec![0.0; count * count];
    weight[0] = 1.0;
    let mut rounds = Rounds { collision: 0.0, idle_slots: 0.0, lost: 0.0 };
    // The chain forgets its start geometrically; 500 rounds are far more than it needs.
    for _ in 0..500 {
        rounds = Rounds { collision: 0.0, idle_slots: 0.0, lost: 0.0 };
        let mut next = vec![0.0; count * count];
        for state in (0..count * count).filter(|&s| weight[s] > 0.0) {
            let w = weight[state];
            let (a, b) = (state / count, state % count);
            let (left_a, left_b) = (a % width, b % width);
            rounds.idle_slots += w * left_a.min(left_b) as f64;
            if left_a == left_b {
                rounds.collision += w;
                for attempt in [a / width, b / width] {
                    rounds.lost += if limited && attempt == last { w } else { 0.0 };
                }
                for (i, p) in draw(after_collision(a / width)) {
                    for (j, q) in draw(after_collision(b / width)) {
                        next[i * count + j] += w * p * q;
                    }
                }
            } else if left_a < left_b {
                for (i, p) in draw(0) {
                    next[i * count + b - left_a] += w * p;
                }
            } else {
                for (j, q) in draw(0) {
                    next[(a - left_b) * count + j] += w * q;
                }
            }
        }
        weight = next;
    }
    rounds
}
