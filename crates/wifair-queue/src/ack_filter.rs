use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::{Arrival, Buffer, Filter, Indexes, Placed, QueueId};
use crate::words::Eviction;

/// Where an arriving ACK is enqueued if ACK filtering has removed an earlier one for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At the tail, as any arrival.
    #[default]
    Tail,
    /// At the position of the removed one, so that the connection does not lose its turn.
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

/// ACK filter of CAKE (Linux, `sch_cake.c`): whether an arriving ACK removes redundant ACKs from its queue. [`Filter::Safe`]
/// defines which are redundant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None is removed.
    #[default]
    Off,
    /// The earlier of two redundant ACKs of a connection is removed.
    Conservative,
    /// A single redundant ACK is removed, too, if the arriving ACK is directly behind it.
    Aggressive,
}

impl AckFilter {
    /// Adds to `indexes` what the filter needs from the buffer.
    pub(crate) fn needs(self, indexes: Indexes) -> Indexes {
        if self == AckFilter::Off { indexes } else { indexes.acks(Filter::Safe) }
    }
}

/// Runs CAKE's filter (Linux, `sch_cake.c`, `cake_ack_filter`) for an ACK that is about to join `queue`. Returns the queue from
/// which an ACK was removed, which differs if the connection's packets have changed queues.
///
/// CAKE walks the queue from its head. The buffer knows the oldest redundant ACK of a connection, so no walk is needed: an
/// arrival may make the connection's newest ACK redundant, and then the oldest redundant one is removed. There are several only
/// if an ACK was removed elsewhere.
pub(crate) fn filter_queue(
    arrival: &Arrival,
    queue: QueueId,
    filter: AckFilter,
    buffer: &mut Buffer,
) -> Option<QueueId> {
    if filter == AckFilter::Off {
        return None;
    }
    let newest = buffer.announce(arrival)?;
    let goes = buffer.oldest_redundant(arrival.flow())?;
    if goes == newest && (filter != AckFilter::Aggressive || buffer.queues().last(queue) != Some(newest)) {
        return None;
    }
    let left = buffer.queues().queue_of(goes);
    buffer.evict(goes, Eviction::Redundant);
    Some(left)
}
