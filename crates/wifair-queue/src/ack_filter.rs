use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::{Arrival, Buffer, Filter, Indexes, Placed, QueueId};
use crate::words::Eviction;

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

/// Performs ACK filtering for an arriving ACK: removes the earlier ACKs of its connection that it makes redundant, whether the
/// buffer is full or not, and admits the arrival if there is room.
///
/// Checking the newest of them is enough. Earlier ones were removed when the newest arrived or, under
/// [`Filter::Safe`](crate::Filter::Safe), carry information that no later ACK repeats.
pub(crate) fn filter_and_append(arrival: Arrival, place: Place, buffer: &mut Buffer) -> Placed {
    match (buffer.superseded_by(&arrival), place) {
        (Some(earlier), Place::OldestRemoved) => buffer.replace(earlier, Eviction::Redundant, arrival),
        (Some(earlier), Place::Tail) => buffer.push_out(earlier, Eviction::Redundant, arrival),
        (None, _) => buffer.append_or_drop(arrival),
    }
}

/// Whether redundant ACKs are taken out of a queue as further ones arrive, and how many are left. What is redundant is
/// [`Filter::Safe`]'s to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Thinning {
    /// They stay.
    #[default]
    Off,
    /// Of two redundant ACKs of a connection the earlier goes.
    Conservative,
    /// A single one goes as well if the arriving ACK stands directly behind it.
    Aggressive,
}

impl Thinning {
    /// Adds to `indexes` what the filter needs from the buffer.
    pub(crate) fn needs(self, indexes: Indexes) -> Indexes {
        if self == Thinning::Off { indexes } else { indexes.acks(Filter::Safe) }
    }
}

/// Runs CAKE's filter (Linux, `sch_cake.c`, `cake_ack_filter`) for an ACK that is about to join `queue`. Returns the queue from
/// which an ACK was removed, which differs if the connection's packets have changed queues.
///
/// CAKE walks the queue from its head. The buffer knows the oldest redundant ACK of a connection, so no walk is needed: an
/// arrival may make the connection's newest ACK redundant, and then the oldest redundant one is removed. There are several only
/// if an ACK was removed elsewhere.
pub(crate) fn thin(
    arrival: &Arrival,
    queue: QueueId,
    thinning: Thinning,
    buffer: &mut Buffer,
) -> Option<QueueId> {
    if thinning == Thinning::Off {
        return None;
    }
    let newest = buffer.superseded_by(arrival)?;
    let oldest = buffer.oldest_redundant(arrival.flow());
    let is_adjacent = oldest.is_none() && buffer.queues().last(queue) == Some(newest);
    let goes = oldest.or((thinning == Thinning::Aggressive && is_adjacent).then_some(newest))?;
    let left = buffer.queues().queue_of(goes);
    buffer.evict(goes, Eviction::Redundant);
    Some(left)
}
