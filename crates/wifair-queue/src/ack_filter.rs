use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrival, Buffer, Eviction, Placed};

/// Where an arriving ACK stands in the queue when ACK filtering has removed an earlier one for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At the tail, as any arrival.
    #[default]
    Tail,
    /// Where the removed one stood, so that the connection does not lose its turn.
    OldestRemoved,
}

/// ACK filtering's step for an arriving ACK: takes out the earlier ACKs of its connection that it makes redundant,
/// whether the buffer is full or not, and lets it in if there is room.
///
/// Looking at the newest of them is enough: the ones before it went when it came itself or, under
/// [`Filter::Safe`](crate::Filter::Safe), carry information that no later ACK repeats.
pub(crate) fn filter_and_append(arrival: Arrival, place: Place, buffer: &mut Buffer) -> Placed {
    match (buffer.superseded_by(&arrival), place) {
        (Some(earlier), Place::OldestRemoved) => buffer.replace(earlier, Eviction::Redundant, arrival),
        (Some(earlier), Place::Tail) => buffer.push_out(earlier, Eviction::Redundant, arrival),
        (None, _) => buffer.append_or_drop(arrival),
    }
}
