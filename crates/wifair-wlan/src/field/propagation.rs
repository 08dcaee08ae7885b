//! The gain between two nodes that have positions: by distance, walls and floors (`docs/medium.md`, section 16).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

use crate::channel::ChannelSpec;
use crate::check;

/// Path loss exponent up to the breakpoint: free space.
const NEAR_EXPONENT: f64 = 2.0;

/// Exponent of the loss of several floors, from their number: COST 231 and IEEE 802.11-14/0980.
fn floors_exponent(floors: f64) -> f64 {
    (floors + 2.0) / (floors + 1.0) - 0.46
}

/// Maximum number of walls.
const MAX_WALLS: usize = 10_000;

/// A straight wall, through all floors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WallSpec {
    /// Its one end, in metres: `[x, y]`.
    pub from_m: [f64; 2],
    /// Its other end, in metres: `[x, y]`.
    pub to_m: [f64; 2],
    /// Loss, in dB, of a frame that crosses it.
    pub loss_db: f64,
}

/// Floors, one above the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FloorsSpec {
    /// Height of a floor, in metres.
    pub height_m: f64,
    /// Loss, in dB, of a frame to the next floor. `F` floors lose `loss_db` times `F^((F + 2) / (F + 1) - 0.46)`.
    pub loss_db: f64,
}

impl Default for FloorsSpec {
    fn default() -> FloorsSpec {
        FloorsSpec { height_m: 3.0, loss_db: 18.3 }
    }
}

/// How much a frame loses between two positions.
pub(super) struct Propagation<'a> {
    pub channel: &'a ChannelSpec,
    pub breakpoint_m: Option<f64>,
    pub walls: &'a [WallSpec],
    pub floors: Option<&'a FloorsSpec>,
}

impl Propagation<'_> {
    /// Checks the keys of the field at `path`.
    pub(super) fn check(&self, path: &str) -> Result<(), SpecError> {
        if let Some(breakpoint_m) = self.breakpoint_m {
            check::number(path, "breakpoint_m", breakpoint_m, 1.0..=1e6, "m")?;
        }
        if self.walls.len() > MAX_WALLS {
            let allowed = format!("0 to {MAX_WALLS} walls");
            return Err(SpecError::new(format!("{path}.walls"), self.walls.len(), allowed));
        }
        for (index, wall) in self.walls.iter().enumerate() {
            let path = format!("{path}.walls[{index}]");
            for (key, end_m) in [("from_m", wall.from_m), ("to_m", wall.to_m)] {
                for (axis, value) in end_m.into_iter().enumerate() {
                    check::number(&path, &format!("{key}[{axis}]"), value, -1e6..=1e6, "m")?;
                }
            }
            check::number(&path, "loss_db", wall.loss_db, 0.0..=300.0, "dB")?;
        }
        if let Some(floors) = self.floors {
            let path = format!("{path}.floors");
            check::number(&path, "height_m", floors.height_m, 0.1..=1e3, "m")?;
            check::number(&path, "loss_db", floors.loss_db, 0.0..=300.0, "dB")?;
        }
        Ok(())
    }

    /// The gain between two nodes at these positions, in dB; the same both ways, to the last bit, if nodes come in one order.
    pub(super) fn gain_db(&self, (a_m, a_floor): ([f64; 2], i32), (b_m, b_floor): ([f64; 2], i32)) -> f64 {
        let floors = f64::from(a_floor.abs_diff(b_floor));
        let across_m = libm::hypot(a_m[0] - b_m[0], a_m[1] - b_m[1]);
        let up_m = self.floors.map_or(0.0, |of| of.height_m * floors);
        let walls_db: f64 =
            self.walls.iter().filter(|wall| crosses(a_m, b_m, wall)).map(|wall| wall.loss_db).sum();
        let floors_db = match self.floors {
            Some(of) if floors > 0.0 => of.loss_db * libm::pow(floors, floors_exponent(floors)),
            _ => 0.0,
        };
        -self.path_loss_db(libm::hypot(across_m, up_m)) - walls_db - floors_db
    }

    fn path_loss_db(&self, distance_m: f64) -> f64 {
        let Some(breakpoint_m) = self.breakpoint_m else { return self.channel.path_loss_db(distance_m) };
        let near_m = distance_m.clamp(1.0, breakpoint_m);
        10.0 * NEAR_EXPONENT * libm::log10(near_m) + self.channel.path_loss_db(distance_m / breakpoint_m)
    }
}

/// Whether the straight line between two nodes crosses a wall: they are on different sides of it, and its ends are on
/// different sides of the line or on that.
fn crosses(a: [f64; 2], b: [f64; 2], wall: &WallSpec) -> bool {
    let (from, to) = (wall.from_m, wall.to_m);
    let differ = |x: f64, y: f64| (x < 0.0 && y > 0.0) || (x > 0.0 && y < 0.0);
    let same = |x: f64, y: f64| (x < 0.0 && y < 0.0) || (x > 0.0 && y > 0.0);
    differ(side(a, from, to), side(b, from, to)) && !same(side(from, a, b), side(to, a, b))
}

/// On which side of the line from `from` to `to` a point is, by the sign.
fn side(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    (to[0] - from[0]) * (point[1] - from[1]) - (to[1] - from[1]) * (point[0] - from[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(from_m: [f64; 2], to_m: [f64; 2]) -> WallSpec {
        WallSpec { from_m, to_m, loss_db: 5.0 }
    }

    #[test]
    fn a_line_crosses_a_wall_between_its_ends() {
        let of = wall([10.0, 0.0], [10.0, 20.0]);
        assert!(crosses([5.0, 5.0], [15.0, 5.0], &of));
        assert!(crosses([15.0, 19.0], [5.0, 19.0], &of));
        assert!(crosses([5.0, 0.0], [15.0, 0.0], &of), "at its end");
        assert!(!crosses([5.0, 21.0], [15.0, 21.0], &of), "beyond its end");
        assert!(!crosses([5.0, 5.0], [9.0, 5.0], &of), "on one side");
        assert!(!crosses([10.0, 5.0], [15.0, 5.0], &of), "from the wall itself");
        assert!(!crosses([10.0, 5.0], [10.0, 9.0], &of), "along it");
    }

    /// The residential scenario of IEEE 802.11-14/0980 at 5.25 GHz, computed by hand: flats of 10 m by 10 m, 5 dB per wall.
    #[test]
    fn the_residential_path_loss_is_that_of_its_formula() {
        let channel =
            ChannelSpec { reference_loss_db: 46.85, path_loss_exponent: 3.5, ..ChannelSpec::default() };
        let walls = [
            wall([10.0, 0.0], [10.0, 20.0]),
            wall([20.0, 0.0], [20.0, 20.0]),
            wall([0.0, 10.0], [30.0, 10.0]),
        ];
        let floors = FloorsSpec::default();
        let of =
            Propagation { channel: &channel, breakpoint_m: Some(5.0), walls: &walls, floors: Some(&floors) };
        let loss_db = |a, b| -of.gain_db(a, b);
        let is =
            |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
        is(loss_db(([2.0, 5.0], 0), ([4.0, 5.0], 0)), 46.85 + 6.02);
        is(loss_db(([1.0, 5.0], 0), ([9.0, 5.0], 0)), 46.85 + 13.98 + 7.14); // 35 log10(8 / 5)
        is(loss_db(([5.0, 5.0], 0), ([25.0, 5.0], 0)), 46.85 + 13.98 + 21.07 + 10.0); // two walls
        is(loss_db(([5.0, 5.0], 0), ([15.0, 15.0], 0)), 46.85 + 13.98 + 15.80 + 10.0); // diagonally: one in x, one in y
        is(loss_db(([5.0, 5.0], 1), ([5.0, 5.0], 0)), 46.85 + 9.54 + 18.3); // 3 m, one floor
        is(loss_db(([5.0, 5.0], 3), ([5.0, 5.0], 1)), 46.85 + 13.98 + 2.77 + 18.3 * 1.832); // 2^(4/3 - 0.46)
    }
}
