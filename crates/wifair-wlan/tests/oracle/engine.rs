//! Drives the engine through its public interface with the traffic of a scenario.

use super::air::{Airtime, Delivery, Record};
use super::node::{Packet, Tally};
use super::scenario::{Offer, Scenario, Traffic};
use super::timing::{self, Phy, Rules, Tenths};
use wifair_core::{FiveTuple, SackBlocks, StationId, TcpFlags, Time};
use wifair_queue::PortSpec;
use wifair_wlan::{
    ApSpec, ArrivalWithinIfs, BackoffRange, Categories, CategorySpec, Cell, CellSpec, Classify, Countdown,
    EdcaSpec, ErpProtection, FrameErrorRate, MacSpec, Node, Output, PhyName, PhySpec, Preamble, StationSpec,
    Usage,
};

/// A DSCP of each category: user priorities 6, 4, 0 and 1.
const CODE_POINTS: [u8; 4] = [48, 32, 0, 8];

/// IP protocol number of UDP.
const UDP: u32 = 17;

pub struct Engine {
    cell: Cell,
    traffic: Traffic,
    deliveries: Vec<Delivery>,
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in µs.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut engine = Engine::new(scenario);
    engine.run_until(from);
    let warm_up = engine.record(from);
    engine.run_until(until);
    engine.record(until).since(&warm_up)
}

impl Engine {
    pub fn new(scenario: &Scenario) -> Engine {
        let cell = Cell::new(&spec(scenario), scenario.seed).expect("the scenario is valid");
        Engine { cell, traffic: Traffic::new(scenario), deliveries: Vec::new() }
    }

    /// Nothing will happen any more.
    pub fn is_at_rest(&self) -> bool {
        self.traffic.next_time().is_none() && self.cell.next_event() == Time::MAX
    }

    /// Handles all that happens before `until` µs.
    pub fn run_until(&mut self, until: u64) {
        let until = Time::from_us(until);
        loop {
            let event = self.cell.next_event();
            let outside = self.traffic.next_time().map_or(Time::MAX, Time::from_us);
            let now = event.min(outside);
            if now >= until {
                return;
            }
            if outside <= event {
                let offer = self.traffic.next_offer().expect("a packet is due");
                self.hand_down(offer, now);
            } else if let Some(Output::Delivery(wifair_wlan::Delivery { packet, to })) =
                self.cell.advance(now)
            {
                let packet = *packet;
                self.deliver(&packet, to, now);
            }
        }
    }

    fn hand_down(&mut self, offer: Offer, now: Time) {
        let packet = to_wire(&offer);
        match offer.node {
            0 => self.cell.send_down(StationId((offer.packet.to - 1) as u16), &packet, now),
            node => self.cell.send_up(StationId((node - 1) as u16), &packet, now),
        }
    }

    fn deliver(&mut self, wire: &wifair_core::Packet, to: Node, now: Time) {
        let to = match to {
            Node::Ap => 0,
            Node::Station(station) => usize::from(station.0) + 1,
        };
        let stream = usize::from(wire.tuple.source_port);
        let category = CODE_POINTS.iter().position(|&dscp| dscp == wire.dscp()).expect("one of ours");
        let packet = Packet { id: wire.seq, stream, to, ip_bytes: wire.ip_bytes(), category };
        let at = micros(now);
        self.deliveries.push(Delivery { at, id: packet.id, to });
        for answer in self.traffic.delivered(&packet, at) {
            self.hand_down(answer, now);
        }
    }

    /// All that happened before `now` µs.
    pub fn record(&self, now: u64) -> Record {
        let snapshot = self.cell.snapshot(Time::from_us(now));
        let airtime = Airtime {
            up: snapshot.stations.iter().map(|s| micros(s.up.airtime)).collect(),
            down: snapshot.stations.iter().map(|s| micros(s.down.airtime)).collect(),
            collisions: micros(snapshot.collision_airtime),
            idle: micros(snapshot.idle),
        };
        Record {
            deliveries: self.deliveries.clone(),
            up: snapshot.stations.iter().map(|s| tally(&s.up)).collect(),
            down: snapshot.stations.iter().map(|s| tally(&s.down)).collect(),
            airtime,
            exchanges: snapshot.exchanges,
            collisions: snapshot.collisions,
            end: now,
        }
    }
}

/// Whole µs: everything in the slow model is, so a fraction is already a difference.
fn micros(time: Time) -> u64 {
    assert_eq!(time.as_ns() % 1_000, 0, "{time} is not a whole number of microseconds");
    time.as_ns() / 1_000
}

fn tally(usage: &Usage) -> Tally {
    Tally {
        attempts: usage.attempts,
        failures: usage.retries + usage.lost_at_retry_limit - usage.lost_internally,
        lost: usage.lost_at_retry_limit,
        delivered: usage.delivered,
        duplicates: usage.duplicates,
        internal: usage.internal_collisions,
    }
}

fn to_wire(offer: &Offer) -> wifair_core::Packet {
    let Packet { id, stream, ip_bytes, category, .. } = offer.packet;
    wifair_core::Packet {
        tuple: FiveTuple {
            source: offer.node as u32,
            destination: offer.packet.to as u32,
            source_port: stream as u16,
            destination_port: 9,
            protocol: UDP,
        },
        seq: id,
        ack: 0,
        window_bytes: 0,
        payload_bytes: ip_bytes - 28,
        header_bytes: 28,
        flags: TcpFlags::NONE,
        ds_field: CODE_POINTS[category] << 2,
        sack: SackBlocks::NONE,
    }
}

fn mbps(rate: Tenths) -> f64 {
    f64::from(rate) / 10.0
}

fn spec(scenario: &Scenario) -> CellSpec {
    let port = PortSpec {
        limit_packets: scenario.port_limit as u32,
        limit_counts_in_service: scenario.limit_counts_in_service,
        ..PortSpec::default()
    };
    let station = |(index, s): (usize, &super::scenario::Station)| StationSpec {
        rate_down_mbps: Some(mbps(s.rate_down)),
        frame_error_rate: FrameErrorRate {
            data_up: s.data_error_up,
            data_down: s.data_error_down,
            ack_up: s.ack_error_up,
            ack_down: s.ack_error_down,
            ..FrameErrorRate::default()
        },
        port: port.clone(),
        ..StationSpec::new(Scenario::label(index + 1), mbps(s.rate_up))
    };
    CellSpec {
        phy: phy(&scenario.rules),
        mac: mac(&scenario.rules),
        ap: ApSpec { port: port.clone(), ..ApSpec::default() },
        ..CellSpec::new(scenario.stations.iter().enumerate().map(station).collect())
    }
}

fn phy(rules: &Rules) -> PhySpec {
    let (name, preamble) = match rules.phy {
        Phy::Dsss { plcp: 192 } => (PhyName::B, Some(Preamble::Long)),
        Phy::Dsss { .. } => (PhyName::B, Some(Preamble::Short)),
        Phy::Ofdm { extension: 6 } => (PhyName::G, None),
        Phy::Ofdm { .. } => (PhyName::A, None),
    };
    let protection = rules.protection.map(|p| match p.self_addressed {
        true => ErpProtection::CtsToSelf,
        false => ErpProtection::RtsCts,
    });
    let preamble = match rules.protection {
        Some(timing::Protection { plcp: 192, .. }) => Some(Preamble::Long),
        Some(_) => Some(Preamble::Short),
        None => preamble,
    };
    PhySpec {
        name,
        preamble,
        erp_protection: protection,
        protection_rate_mbps: rules.protection.map(|p| mbps(p.rate)),
        mac_header_bytes: Some(rules.overhead_bytes - 12),
        control_rate_mbps: Some(mbps(rules.control_rate)),
        cw_min: Some(rules.cw_min as u16),
        cw_max: Some(rules.cw_max as u16),
        ..PhySpec::default()
    }
}

fn mac(rules: &Rules) -> MacSpec {
    MacSpec {
        retry_limit_short: rules.short_limit,
        retry_limit_long: rules.long_limit,
        rts_threshold_bytes: (rules.rts_threshold_bytes < u32::MAX && rules.protection.is_none())
            .then_some(rules.rts_threshold_bytes),
        eifs: rules.eifs,
        eifs_plus_difs: rules.eifs_plus_difs,
        immediate_access: rules.immediate_access,
        arrival_within_ifs: match rules.backoff_within_ifs {
            true => ArrivalWithinIfs::Backoff,
            false => ArrivalWithinIfs::Transmit,
        },
        backoff_range: match rules.exclusive_backoff {
            true => BackoffRange::Exclusive,
            false => BackoffRange::Inclusive,
        },
        ack_timeout_us: rules.ack_timeout.map(f64::from),
        cts_timeout_us: rules.cts_timeout.map(f64::from),
        edca: rules.edca.as_ref().map(edca),
        ..MacSpec::default()
    }
}

fn edca(edca: &timing::Edca) -> EdcaSpec {
    EdcaSpec {
        ap: categories(&edca.ap),
        stations: categories(&edca.stations),
        classify: Classify::Dscp,
        countdown: if edca.dcf_countdown { Countdown::Dcf } else { Countdown::Edca },
        internal_collision_retry: edca.internal_collision_retry,
        ..EdcaSpec::default()
    }
}

fn categories(all: &[timing::Category; 4]) -> Categories<CategorySpec> {
    let [voice, video, best_effort, background] = all.map(|c| CategorySpec {
        aifsn: Some(c.aifsn as u8),
        cw_min: Some(c.cw_min as u16),
        cw_max: Some(c.cw_max as u16),
        txop_limit_us: Some(f64::from(c.txop_limit)),
    });
    Categories { voice, video, best_effort, background }
}
