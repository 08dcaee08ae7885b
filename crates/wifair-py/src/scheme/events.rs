//! Arguments of a scheme's methods: plain values without references, which may be kept.

use pyo3::prelude::*;

use super::words::Kind;

/// Permission to send one packet.
#[pyclass(module = "wifair.scheme", frozen, get_all)]
pub struct Grant {
    /// Access category: "voice", "video", "best-effort" or "background"; under DCF best effort.
    category: &'static str,
    /// The only station to which the packet may go; any if None.
    station: Option<u16>,
    /// Greatest IP length in bytes.
    max_bytes: u32,
}

impl Grant {
    pub fn new(grant: &wifair_queue::Grant) -> Grant {
        let station = grant.station.map(|station| station.0);
        Grant { category: grant.ac.name(), station, max_bytes: grant.max_bytes }
    }
}

/// The end of a packet's service by the MAC, covering all its attempts.
#[pyclass(module = "wifair.scheme", frozen, get_all)]
pub struct Exchange {
    /// Whether a MAC ACK was received; otherwise the retry limit was reached.
    delivered: bool,
    /// Its flow.
    flow: u32,
    /// The station at the other end.
    station: u16,
    /// DATA, ACK or OTHER.
    kind: Kind,
    /// Length in bytes, IP header included.
    ip_bytes: u32,
    /// TCP payload in bytes.
    payload_bytes: u32,
    /// Access category: "voice", "video", "best-effort" or "background"; under DCF best effort.
    category: &'static str,
    /// Data rate of the last attempt, in Mbit/s.
    rate_mbps: f64,
    /// Number of transmissions.
    attempts: u8,
    /// Time for which the transmissions occupied the medium, in nanoseconds, preambles and MAC ACKs included.
    airtime_ns: u64,
    /// Airtime plus interframe spaces, backoff and timeouts of these transmissions, in nanoseconds.
    channel_time_ns: u64,
    /// From head of line to the end, in nanoseconds, including the time for which others transmitted.
    service_ns: u64,
}

impl Exchange {
    pub fn new(told: &wifair_queue::Exchange) -> Exchange {
        let class = told.packets.first().map_or(wifair_core::Class::Other, |packet| packet.class());
        Exchange {
            delivered: told.outcome == wifair_queue::Outcome::Delivered,
            flow: told.flow.0,
            station: told.station.0,
            kind: class.into(),
            ip_bytes: told.packets.iter().map(|packet| packet.ip_bytes()).sum(),
            payload_bytes: told.packets.iter().map(|packet| packet.payload_bytes).sum(),
            category: told.ac.name(),
            rate_mbps: told.rate.as_mbps(),
            attempts: told.attempts,
            airtime_ns: told.airtime.as_ns(),
            channel_time_ns: told.channel_time().as_ns(),
            service_ns: told.service.as_ns(),
        }
    }
}

/// A packet of a transmission, and its MPDU.
#[pyclass(module = "wifair.scheme", frozen, get_all)]
#[derive(Clone)]
pub struct Mpdu {
    /// "delivered" (acknowledged), "to-retry" or "given-up", as far as its sender knows.
    outcome: &'static str,
    /// Its flow.
    flow: u32,
    /// DATA, ACK or OTHER.
    kind: Kind,
    /// Length in bytes, IP header included.
    ip_bytes: u32,
    /// TCP payload in bytes.
    payload_bytes: u32,
    /// Whether it is in the MPDU of the packet before it: an A-MSDU.
    continues_amsdu: bool,
    /// Number of transmissions so far, this one included.
    attempts: u32,
    /// Its share of the transmission's airtime, in nanoseconds.
    airtime_ns: u64,
    /// Its share of the transmission's channel time, in nanoseconds.
    channel_time_ns: u64,
}

/// A transmitted PPDU, or an RTS without a CTS, and its outcome.
#[pyclass(module = "wifair.scheme", frozen, get_all)]
pub struct Transmission {
    /// The station at the other end.
    station: u16,
    /// Access category: "voice", "video", "best-effort" or "background"; under DCF best effort.
    category: &'static str,
    /// Data rate, in Mbit/s.
    rate_mbps: f64,
    /// The packets of its MPDUs, in order: one without aggregation, none in a Block Ack Request.
    mpdus: Vec<Mpdu>,
    /// Number of MPDUs.
    sent: u32,
    /// Number of acknowledged MPDUs.
    acknowledged: u32,
    /// Time for which it occupied the medium, in nanoseconds, with the frames that preceded and answered it.
    airtime_ns: u64,
    /// Airtime plus interframe spaces, backoff and timeout of this transmission, in nanoseconds.
    channel_time_ns: u64,
}

impl Transmission {
    pub fn new(told: &wifair_queue::Transmission) -> Transmission {
        let mpdu = |mpdu: &wifair_queue::TransmittedMpdu| Mpdu {
            outcome: match mpdu.outcome {
                wifair_queue::MpduOutcome::Delivered => "delivered",
                wifair_queue::MpduOutcome::ToRetry => "to-retry",
                wifair_queue::MpduOutcome::GivenUp => "given-up",
            },
            flow: mpdu.flow.0,
            kind: mpdu.packet.class().into(),
            ip_bytes: mpdu.packet.ip_bytes(),
            payload_bytes: mpdu.packet.payload_bytes,
            continues_amsdu: mpdu.continues_amsdu,
            attempts: mpdu.attempts,
            airtime_ns: mpdu.airtime.as_ns(),
            channel_time_ns: (mpdu.airtime + mpdu.overhead).as_ns(),
        };
        Transmission {
            station: told.station.0,
            category: told.ac.name(),
            rate_mbps: told.rate.as_mbps(),
            mpdus: told.mpdus.iter().map(mpdu).collect(),
            sent: told.sent(),
            acknowledged: told.acknowledged(),
            airtime_ns: told.airtime.as_ns(),
            channel_time_ns: told.channel_time().as_ns(),
        }
    }
}

/// A data frame that the access point has received from a station.
#[pyclass(module = "wifair.scheme", frozen, get_all)]
pub struct Reception {
    /// Its flow.
    flow: u32,
    /// The station at the other end.
    station: u16,
    /// DATA, ACK or OTHER.
    kind: Kind,
    /// Length in bytes, IP header included.
    ip_bytes: u32,
    /// TCP payload in bytes.
    payload_bytes: u32,
    /// The ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
    ecn: u8,
    /// Access category: "voice", "video", "best-effort" or "background"; under DCF best effort.
    category: &'static str,
    /// Time for which the frames occupied the medium, in nanoseconds, preambles and MAC ACKs included.
    airtime_ns: u64,
    /// Airtime plus interframe spaces, backoff and timeouts of these frames, in nanoseconds.
    channel_time_ns: u64,
}

impl Reception {
    pub fn new(told: &wifair_queue::Reception) -> Reception {
        Reception {
            flow: told.flow.0,
            station: told.station.0,
            kind: told.packet.class().into(),
            ip_bytes: told.packet.ip_bytes(),
            payload_bytes: told.packet.payload_bytes,
            ecn: told.packet.ecn() as u8,
            category: told.ac.name(),
            airtime_ns: told.airtime.as_ns(),
            channel_time_ns: told.channel_time().as_ns(),
        }
    }
}
