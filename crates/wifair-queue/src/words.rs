//! What every module here builds on: what the MAC and its transmit queue tell each other, and why a packet leaves.

use wifair_core::{Ac, FlowId, Packet, Rate, StationId, Time};

/// Direction of a packet that passes the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// From a station.
    Up,
    /// To a station.
    Down,
}

/// Why an arriving packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The buffer was full and nothing was evicted for it.
    TailDrop,
    /// There was room, but the scheme signals congestion by the loss.
    Aqm,
}

/// Why a queued packet was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// A redundant ACK: a later one carries the same information. Counted as filtered, which is not a loss.
    Redundant,
    /// Evicted for an arrival, or above a limit that has been lowered: a loss.
    Victim,
    /// The scheme signals congestion by the loss.
    Aqm,
}

/// An access point's knowledge of the link to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Current data rate towards the station.
    pub rate: Rate,
    /// By [`Ac`].
    queue_bytes: [Option<u32>; 4],
}

impl Link {
    /// A link at that rate, of whose station no queue size is known.
    pub const fn new(rate: Rate) -> Link {
        Link { rate, queue_bytes: [None; 4] }
    }

    /// How much the station has to send in an access category, in bytes of MSDUs, by the last Queue Size subfield that the
    /// access point has read (802.11-2020, 9.2.4.5.6; `docs/medium.md`, section 15): rounded up as the field is, and 64,769 or
    /// 2,147,329 for more than the field can say. `None` before the first, under DCF, and unless a scheme of the access point
    /// has [`Hooks::queue_size`](crate::Hooks::queue_size).
    pub const fn queue_bytes(&self, ac: Ac) -> Option<u32> {
        self.queue_bytes[ac as usize]
    }

    /// Records a queue size that the access point has read.
    pub const fn set_queue_bytes(&mut self, ac: Ac, bytes: u32) {
        self.queue_bytes[ac as usize] = Some(bytes);
    }
}

/// Permission to send one packet. An aggregate is a series of grants for one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The access category that won access.
    pub ac: Ac,
    /// The only station to which the packet may go; any if `None`.
    pub station: Option<StationId>,
    /// Greatest IP length in bytes.
    pub max_bytes: u32,
    /// Whether the packet may be the first that the grant admits in the scheme's order, wherever it is queued, instead of only
    /// the packet whose turn it is. A station then gets the packets that it would get in its turns, in that order.
    pub gathers: bool,
    /// The stations that have so much pending below the buffer that they may get no more for now.
    pub station_limit: Option<StationLimit<'a>>,
    /// If the driver serves stations in rounds of turns, as drivers with airtime queue limits do: the limit under which a round
    /// may start. The driver asks until it gets nothing.
    pub rounds: Option<Rounds>,
}

impl Grant<'_> {
    /// Permission to send any best-effort packet.
    pub const ANY: Grant<'static> = Grant {
        ac: Ac::BestEffort,
        station: None,
        max_bytes: u32::MAX,
        gathers: false,
        station_limit: None,
        rounds: None,
    };

    /// Whether any packet may go.
    #[inline(always)]
    pub(crate) fn is_any(&self) -> bool {
        self.station.is_none() && self.max_bytes == u32::MAX && self.station_limit.is_none()
    }

    /// Whether a packet may go to the station.
    #[inline]
    pub fn admits(&self, station: StationId) -> bool {
        self.station.is_none_or(|only| only == station)
            && self.station_limit.is_none_or(|limit| limit.admits(station))
    }

    /// Airtime pending below the buffer for a station; zero without airtime queue limits.
    #[inline]
    pub fn pending(&self, station: StationId) -> Time {
        let of = |limit: StationLimit| limit.of(station);
        if self.rounds.is_some() { self.station_limit.and_then(of).unwrap_or(Time::ZERO) } else { Time::ZERO }
    }
}

/// The limit of an access category's pending airtime, over all stations, from which on no round of turns starts (Linux,
/// `ieee80211_txq_schedule_airtime_check`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The airtime pending in the category.
    pub pending: Time,
    /// Limit with one active station.
    pub first: Time,
    /// What each further active station adds.
    pub further: Time,
    /// How many turns the driver takes on this occasion.
    pub extent: Extent,
}

impl Rounds {
    /// Whether a round may start with that many active stations.
    pub fn may_start(&self, active: usize) -> bool {
        active == 0 || self.pending < self.first + self.further * (active as u64 - 1)
    }
}

/// How many turns a driver takes when it has an occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One turn.
    Turn,
    /// One round: a turn of each station that may get packets.
    Round,
    /// Rounds, until one brings nothing.
    Rounds,
}

/// Amount pending below the buffer per station, and its limit: airtime, under airtime queue limits (AQL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationLimit<'a> {
    /// By [`StationId::index`], or a single entry for all; [`Time::MAX`] if the Block Ack window is full.
    pub pending: &'a [Time],
    /// A station with less pending may get a packet.
    pub below: Time,
}

impl StationLimit<'_> {
    fn of(&self, station: StationId) -> Option<Time> {
        self.pending.get(station.index()).or(self.pending.first()).copied()
    }

    fn admits(&self, station: StationId) -> bool {
        self.of(station).is_none_or(|pending| pending < self.below)
    }
}

/// Outcome of a packet's service by the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A MAC ACK was received.
    Delivered,
    /// The retry limit was reached.
    LostAtRetryLimit,
}

/// The end of a packet's service by the MAC, covering all its attempts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The outcome, the same for all `packets`.
    pub outcome: Outcome,
    /// The packets of the frame: one without aggregation. All belong to `flow`.
    pub packets: &'a [Packet],
    /// Their flow.
    pub flow: FlowId,
    /// The station at the other end.
    pub station: StationId,
    /// Access category.
    pub ac: Ac,
    /// Data rate of the last attempt.
    pub rate: Rate,
    /// Number of transmissions.
    pub attempts: u8,
    /// Time for which the transmissions occupied the medium.
    pub airtime: Time,
    /// Overhead in addition to `airtime`: before each attempt a DIFS and the backoff slots that it counted down, after each
    /// failed one the timeout. Complete only if a scheme of the access point has the hook
    /// `exchange`, `transmission`, `reception`, `police` or
    /// `queue_size` ([`Hooks`](crate::Hooks)).
    pub overhead: Time,
    /// From head of line to the end: `airtime`, `overhead`, and the time for which the backoff was frozen because others
    /// transmitted.
    pub service: Time,
}

impl Exchange<'_> {
    /// Channel time used by these packets: interframe spaces, backoff, every attempt, timeouts, MAC ACK.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// Outcome of an MPDU of a [`Transmission`], as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpduOutcome {
    /// Acknowledged.
    Delivered,
    /// Not acknowledged; will be retransmitted.
    ToRetry,
    /// Not acknowledged, and at its retry limit.
    GivenUp,
}

/// A packet of a [`Transmission`], and its MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmittedMpdu<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Whether it is in the MPDU of the packet before it: an A-MSDU.
    pub continues_amsdu: bool,
    /// Its flow.
    pub flow: FlowId,
    /// The MPDU's sequence number in its Block Ack agreement, modulo 4096; `None` without an agreement.
    pub sequence: Option<u16>,
    /// The outcome.
    pub outcome: MpduOutcome,
    /// Number of transmissions so far, this one included.
    pub attempts: u32,
    /// Its share of the transmission's airtime, by length. The shares of all packets add up to the airtime.
    pub airtime: Time,
    /// Its share of the overhead, likewise.
    pub overhead: Time,
}

/// A transmitted PPDU, of a single frame, of one or more MPDUs or of a Block Ack Request; or an RTS without a CTS. With its
/// outcome (`docs/medium.md`, section 12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission<'a> {
    /// The station at the other end.
    pub station: StationId,
    /// Access category; best effort under DCF.
    pub ac: Ac,
    /// Data rate.
    pub rate: Rate,
    /// The packets of its MPDUs in order: one without aggregation, none in a Block Ack Request.
    pub mpdus: Vec<TransmittedMpdu<'a>>,
    /// Time for which it occupied the medium, with the frames that preceded and answered it.
    pub airtime: Time,
    /// Overhead in addition, see [`Exchange::overhead`].
    pub overhead: Time,
}

impl<'a> Transmission<'a> {
    /// Its MPDUs in order, each as its packets.
    pub fn by_mpdu(&self) -> impl Iterator<Item = &[TransmittedMpdu<'a>]> {
        self.mpdus.chunk_by(|_, next| next.continues_amsdu)
    }

    /// Number of MPDUs.
    pub fn sent(&self) -> u32 {
        self.by_mpdu().count() as u32
    }

    /// Number of acknowledged MPDUs.
    pub fn acknowledged(&self) -> u32 {
        self.by_mpdu().filter(|packets| packets[0].outcome == MpduOutcome::Delivered).count() as u32
    }

    /// See [`Exchange::channel_time`].
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}

/// What becomes of a packet that the access point has received from a station (`docs/medium.md`, section 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoliceAction {
    /// It is forwarded unchanged.
    Forward,
    /// It is forwarded with CE if its transport is ECN-capable (RFC 3168, section 5), else unchanged: a scheme that wants to
    /// drop it then reads [`Packet::ecn`].
    Mark,
    /// It is dropped.
    Drop,
}

/// A data frame that the access point has received from a station. Duplicates are not reported.
#[derive(Clone, Copy, Debug)]
pub struct Reception<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its flow.
    pub flow: FlowId,
    /// The station that sent it.
    pub station: StationId,
    /// Its access category there.
    pub ac: Ac,
    /// Time for which the frame and its MAC ACK occupy the medium, with RTS and CTS if there were any.
    pub airtime: Time,
    /// Overhead of the frame in addition, as the access point estimates it: a DIFS and the mean backoff at CWmin.
    pub overhead: Time,
}

impl Reception<'_> {
    /// See [`Exchange::channel_time`], assuming that this was the only attempt.
    pub fn channel_time(&self) -> Time {
        self.airtime + self.overhead
    }
}
