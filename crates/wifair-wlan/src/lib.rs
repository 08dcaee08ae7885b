//! 802.11: PHY timing, contention, frame exchanges, rate adaptation, channel errors, and the transmit queues of an access point
//! and its stations. `docs/medium.md` specifies the model exactly.
//!
//! Read first: [`BssSpec`] (the scenario of a cell), [`Bss`] (the polled state machine: packets in, packets out), then
//! `contention` (which contender transmits when). [`BssTiming`] and [`Modes`] compute durations; [`BssSnapshot`] has the
//! counters.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod access_point;
mod aggregation;
mod beacons;
mod bss;
mod channel;
mod check;
mod contention;
mod deadlines;
mod edca;
mod edca_controller;
mod edcaf;
mod exchange;
mod field;
mod link;
mod mac;
mod medium;
mod meter;
mod neighbours;
mod node;
mod nodes;
mod obss;
mod phy;
mod ppdu;
mod queue_size;
mod rate;
mod records;
mod spec;
mod transmission;
mod wheel;

pub use aggregation::{
    AggregationSpec, Ath9kSpec, Ath10kSpec, Fill, FirmwareSpec, HardwareSpec, HwsimSpec, IdealSpec, Kernel,
    MpduDelivery, Requests, expected_airtime,
};
pub use beacons::BeaconsSpec;
pub use bss::access::{ChannelAccess, Turn};
pub use bss::{Bss, Delivery, Output};
pub use channel::{ChannelSpec, FadingSpec, FrameErrorRate, RateErrors};
pub use contention::{ArrivalWithinIfs, BackoffRange};
pub use deadlines::LinkRateChange;
pub use edca::{Categories, CategorySpec, Classify, Countdown, EdcaSpec, ParameterSet, ShareTxQueue};
pub use edca_controller::EdcaControllerSpec;
pub use field::{
    EifsAfter, FieldJournal, FieldJournalEntry, FieldReception, FieldSpec, FloorsSpec, HeardFrame, PairGain,
    WallSpec,
};
pub use mac::{MacSpec, WidthUse};
pub use neighbours::{NeighbourSpec, ObssSpec};
pub use node::Node;
pub use obss::{BssTurn, Obss};
pub use phy::he::HeLtf;
pub use phy::timing::{BssTiming, ControlFrame, ControlFrames};
pub use phy::{
    Band, BandKeys, BssKeys, Coding, ErpProtection, Format, LinkKeys, MAX_PPDU_DURATION, Mode, Modes, OnAir,
    PhySpec, Preamble, ProtectionKeys, RateIndex, StationPhy, channel_numbers, dsss, eht, erp, he, ht, ofdm,
    vht,
};
pub use rate::{
    ChainOutcome, ChainSegment, Choice, Feedback, RateAdaptation, RateSpec, RetryChains, Start, TakenChain,
    aarf, arf, fixed, ideal, minstrel_ht,
};
pub use records::{BeaconUsage, BssSnapshot, ChannelTime, ChannelTimes, FieldUsage, StationUsage, Usage};
pub use spec::{ApSpec, BssSpec, CategoryTxQueueSpec, MAX_STATIONS, StationChange, StationSpec};
pub use transmission::{AirFrame, Beacon, Decoded, FrameKind, SentPpdu, TransmissionOutcome};
