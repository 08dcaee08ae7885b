//! Drives the engine through its public interface with the traffic of a scenario.

use super::frame::{Kind, NodeId, Packet, Tally};
use super::radio::TX_POWER_DBM;
use super::rate::Adaptation;
use super::record::{
    Aired, Airtime, Attempt, Decoded, Delivery, NewRate, Outcome, Record, Sent, Transmission,
};
use super::scenario::{Change, Errors, Offer, Outside, Scenario, Traffic};
use super::timing::{self, Ht, Phy, Rules, Tenths};
use wifair_core::{Ac, FiveTuple, Rate, SackBlocks, StationId, TcpFlags, Time};
use wifair_queue::{Direction, PortSpec};
use wifair_wlan::{
    AggregationSpec, ApSpec, ArrivalWithinIfs, AttemptOutcome, BackoffRange, BandKeys, Bss, BssKeys, BssSpec,
    Categories, CategorySpec, ChannelSpec, Classify, Countdown, EdcaSpec, ErpProtection, Fill,
    FrameErrorRate, FrameKind, LinkKeys, LinkRateChange, MacSpec, Node, Output, PhySpec, Preamble,
    ProtectionKeys, RateErrors, RateSpec, Requests, SharePort, StationChange, StationSpec, Usage, aarf, arf,
    dsss, erp, ht, ofdm,
};

/// A DSCP of each category: user priorities 6, 4, 0 and 1.
const CODE_POINTS: [u8; 4] = [48, 32, 0, 8];

/// The categories, the highest first.
const RANKS: [Ac; 4] = [Ac::Voice, Ac::Video, Ac::BestEffort, Ac::Background];

/// IP protocol number of UDP.
const UDP: u32 = 17;

pub struct Engine {
    bss: Bss,
    traffic: Traffic,
    log: Log,
    /// By station.
    has_agreements: Vec<bool>,
}

/// What the engine said, in steps of the clock.
struct Log {
    /// Length of a step.
    step: Time,
    deliveries: Vec<Delivery>,
    attempts: Vec<Attempt>,
    transmissions: Vec<Transmission>,
    frames: Vec<Aired>,
    rates: Vec<NewRate>,
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in steps.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut engine = Engine::new(scenario);
    engine.run_until(from);
    let warm_up = engine.record(from);
    engine.run_until(until);
    engine.record(until).since(&warm_up)
}

impl Engine {
    pub fn new(scenario: &Scenario) -> Engine {
        let bss = Bss::new(&spec(scenario), scenario.seed).expect("the scenario is valid");
        for (_, change) in &scenario.changes {
            if let Change::Station { station, .. } = change {
                let station = StationId((station % scenario.stations.len()) as u16);
                bss.check_change(station, &station_change(change), "").expect("the change is valid");
            }
        }
        let log = Log {
            step: Time::from_ns(1_000 / u64::from(scenario.rules.steps)),
            deliveries: Vec::new(),
            attempts: Vec::new(),
            transmissions: Vec::new(),
            frames: Vec::new(),
            rates: Vec::new(),
        };
        let has_agreements = scenario.stations.iter().map(|station| station.ht.is_some()).collect();
        Engine { bss, traffic: Traffic::new(scenario), log, has_agreements }
    }

    /// Nothing will happen any more.
    pub fn is_at_rest(&self) -> bool {
        self.traffic.next_time().is_none() && self.bss.next_event() == Time::MAX
    }

    /// Handles all that happens before `until`.
    pub fn run_until(&mut self, until: u64) {
        let until = self.log.step * until;
        loop {
            let event = self.bss.next_event();
            let outside = self.traffic.next_time().map_or(Time::MAX, |at| self.log.step * at);
            let now = event.min(outside);
            if now >= until {
                return;
            }
            if outside <= event {
                match self.traffic.next().expect("something is due") {
                    Outside::Offer(offer) => self.hand_down(offer, now),
                    Outside::Change(change) => self.change(&change, now),
                }
                continue;
            }
            let log = &mut self.log;
            let told = self.bss.advance_watched(outside.min(until), |bss| log.exchange(bss));
            match told {
                Some((now, Output::Delivery(wifair_wlan::Delivery { packet, to }))) => {
                    let packet = *packet;
                    self.deliver(&packet, to, now);
                }
                Some((now, Output::LinkRate(change))) => log.link_rate(change, now),
                None => {}
            }
        }
    }

    fn hand_down(&mut self, offer: Offer, now: Time) {
        let packet = to_wire(&offer);
        match offer.node {
            0 => self.bss.send_down(StationId((offer.packet.to - 1) as u16), &packet, now),
            node => self.bss.send_up(StationId((node - 1) as u16), &packet, now),
        }
    }

    fn change(&mut self, change: &Change, now: Time) {
        match change {
            Change::Modes { station, modes } => {
                let stations = self.bss.snapshot(now).stations.len();
                let station = station % stations;
                if self.has_agreements[station] {
                    let change = StationChange {
                        mcs: Some(modes.up.mcs as u8),
                        mcs_down: Some(modes.down.mcs as u8),
                        ..StationChange::new("")
                    };
                    self.bss.change_station(StationId(station as u16), &change, now);
                }
            }
            Change::ApLimit(packets) => self.bss.set_ap_limit(*packets as u32, now),
            Change::Station { station, .. } => {
                let stations = self.bss.snapshot(now).stations.len();
                let station = StationId((station % stations) as u16);
                self.bss.change_station(station, &station_change(change), now);
            }
        }
    }

    fn deliver(&mut self, wire: &wifair_core::Packet, to: Node, now: Time) {
        let to = node_id(to);
        let stream = usize::from(wire.tuple.source_port);
        let packet =
            Packet { id: wire.seq, stream, to, ip_bytes: wire.ip_bytes(), category: category_of(wire) };
        let at = self.log.steps(now);
        self.log.deliveries.push(Delivery { at, id: packet.id, to });
        for answer in self.traffic.delivered(&packet, at) {
            self.hand_down(answer, now);
        }
    }

    /// All that happened before `now`.
    pub fn record(&self, now: u64) -> Record {
        let Log { step, deliveries, attempts, transmissions, frames, rates } = &self.log;
        let snapshot = self.bss.snapshot(*step * now);
        let steps = |time| self.log.steps(time);
        let airtime = Airtime {
            up: snapshot.stations.iter().map(|s| steps(s.up.airtime)).collect(),
            down: snapshot.stations.iter().map(|s| steps(s.down.airtime)).collect(),
            collisions: steps(snapshot.collision_airtime),
            idle: steps(snapshot.idle),
        };
        let aggregates = self.has_agreements.iter().any(|has| *has);
        let tally = |usage: &Usage| match aggregates {
            false => tally(usage, *step),
            true => Tally { attempts: 0, failures: 0, ..tally(&Usage { rate_integral: 0, ..*usage }, *step) },
        };
        // The engine knows all of an exchange at its start.
        let mut frames: Vec<_> =
            frames.iter().filter(|frame| frame.at < now && !aggregates).copied().collect();
        frames.sort_by_key(|frame| (frame.at, frame.from));
        let mut attempts = attempts.clone();
        attempts.sort_by_key(|attempt| (attempt.at, attempt.from));
        let mut rates = if aggregates { vec![] } else { rates.clone() };
        rates.sort();
        Record {
            deliveries: deliveries.clone(),
            attempts,
            transmissions: transmissions.clone(),
            frames,
            rates,
            up: snapshot.stations.iter().map(|s| tally(&s.up)).collect(),
            down: snapshot.stations.iter().map(|s| tally(&s.down)).collect(),
            airtime,
            exchanges: snapshot.exchanges,
            collisions: snapshot.collisions,
            end: now,
            ..Record::default()
        }
    }
}

impl Log {
    /// Whole steps: everything in the slow model is, so a fraction is already a difference.
    fn steps(&self, time: Time) -> u64 {
        let (time, step) = (time.as_ns(), self.step.as_ns());
        assert_eq!(time % step, 0, "{time} ns is not a whole number of steps of {step} ns");
        time / step
    }

    /// The exchange that has just begun.
    fn exchange(&mut self, bss: &Bss) {
        for attempt in bss.attempts() {
            let from = node_id(bss.node_of_port(attempt.what.sender));
            let at = self.steps(attempt.begins);
            self.attempts.push(Attempt {
                at,
                from,
                to: if from == 0 { usize::from(attempt.what.station.0) + 1 } else { 0 },
                packet: attempt.what.packet.seq,
                category: attempt.what.ac.map_or(0, |_| category_of(attempt.what.packet)),
                number: attempt.what.number,
                rate: tenths(attempt.mode.rate),
                outcome: Some(outcome(attempt.outcome)),
                ended: Some(at + self.steps(attempt.airtime)),
            });
        }
        for transmission in bss.transmissions() {
            let at = self.steps(transmission.begins);
            let category = RANKS.iter().position(|&ac| ac == transmission.ac).expect("one of four");
            self.transmissions.push(Transmission {
                at,
                from: node_id(transmission.from),
                to: node_id(transmission.to),
                category,
                rate: tenths(transmission.mode.rate),
                mpdus: (transmission.mpdus.iter())
                    .map(|mpdu| Sent {
                        seq: mpdu.sequence,
                        packet: mpdu.packet.seq,
                        number: mpdu.number,
                        decoded: Some(mpdu.decoded),
                        acknowledged: None,
                    })
                    .collect(),
                request: None,
                outcome: Some(outcome(transmission.outcome)),
                ended: Some(at + self.steps(transmission.airtime)),
            });
        }
        bss.frames(|frame| {
            self.frames.push(Aired {
                at: self.steps(frame.begins),
                ends: self.steps(frame.ends),
                kind: match frame.kind {
                    FrameKind::Rts => Kind::Rts,
                    FrameKind::Cts => Kind::Cts,
                    FrameKind::Data => Kind::Data,
                    FrameKind::Ack => Kind::Ack,
                },
                from: node_id(frame.from),
                to: node_id(frame.to),
                packet: Some(frame.attempt.packet.seq),
                rate: tenths(frame.mode.rate),
                duration_field: self.steps(frame.duration),
                decoded: Some(match frame.decoded {
                    wifair_wlan::Decoded::ByAll => Decoded::Everybody,
                    wifair_wlan::Decoded::ByBystanders => Decoded::Bystanders,
                    wifair_wlan::Decoded::ByNobody => Decoded::Nobody,
                    wifair_wlan::Decoded::ByAddressee => Decoded::Addressee,
                }),
            });
        });
    }

    fn link_rate(&mut self, change: LinkRateChange, now: Time) {
        let station = usize::from(change.station.0) + 1;
        let (from, to) = if change.direction == Direction::Up { (station, 0) } else { (0, station) };
        self.rates.push(NewRate { at: self.steps(now), from, to, rate: tenths(change.rate) });
    }
}

fn outcome(outcome: AttemptOutcome) -> Outcome {
    match outcome {
        AttemptOutcome::Acknowledged => Outcome::Acknowledged,
        AttemptOutcome::Collided => Outcome::Collided,
        AttemptOutcome::DataLost => Outcome::DataLost,
        AttemptOutcome::AckLost => Outcome::AckLost,
    }
}

fn node_id(node: Node) -> NodeId {
    match node {
        Node::Ap => 0,
        Node::Station(station) => usize::from(station.0) + 1,
    }
}

fn category_of(wire: &wifair_core::Packet) -> usize {
    CODE_POINTS.iter().position(|&dscp| dscp == wire.dscp()).expect("one of ours")
}

fn tenths(rate: Rate) -> Tenths {
    rate.as_kbps() / 100
}

fn tally(usage: &Usage, step: Time) -> Tally {
    // The engine's are kbit/s · ns.
    let unit = u128::from(100 * step.as_ns());
    assert_eq!(usage.rate_integral % unit, 0, "the integral of the rate is off the steps");
    Tally {
        attempts: usage.attempts,
        failures: usage.retries + usage.lost_at_retry_limit - usage.lost_internally,
        lost: usage.lost_at_retry_limit,
        lost_after_delivery: usage.lost_after_delivery,
        delivered: usage.delivered,
        duplicates: usage.duplicates,
        internal: usage.internal_collisions,
        rate_integral: (usage.rate_integral / unit) as u64,
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

fn spec(scenario: &Scenario) -> BssSpec {
    let port = PortSpec {
        limit_packets: scenario.port_limit as u32,
        limit_counts_in_service: scenario.limit_counts_in_service,
        ..PortSpec::default()
    };
    let station = |(index, s): (usize, &super::scenario::Station)| StationSpec {
        frame_error_rate: error_rates(&s.errors),
        position_m: s.track.map(|track| track.position_m),
        velocity_m_per_s: s.track.map(|track| track.velocity_m_per_s),
        port: port.clone(),
        ..mode_of(index, s, &scenario.rules)
    };
    let (ap_m, channel) = scenario.rules.capture.map_or(Default::default(), |capture| {
        let channel = ChannelSpec {
            tx_power_dbm: TX_POWER_DBM,
            path_loss_exponent: capture.path_loss_exponent,
            update_interval_s: f64::from(capture.update_interval_ms) / 1e3,
            ..ChannelSpec::default()
        };
        (capture.ap_m, channel)
    });
    BssSpec {
        phy: phy(&scenario.rules),
        mac: mac(&scenario.rules),
        ap: ApSpec { port: port.clone(), position_m: ap_m, ..ApSpec::default() },
        channel,
        ..BssSpec::new(scenario.stations.iter().enumerate().map(station).collect())
    }
}

/// A station with its PHY and modes.
fn mode_of(index: usize, station: &super::scenario::Station, rules: &Rules) -> StationSpec {
    let label = Scenario::label(index + 1);
    let plain = StationSpec {
        rate_down_mbps: Some(mbps(station.rate_down)),
        ..StationSpec::new(label.clone(), mbps(station.rate_up))
    };
    match (station.ht, rules.aggregation) {
        (_, None) => plain,
        (None, Some(_)) => StationSpec {
            phy: Some(match rules.phy {
                Phy::Ofdm { extension: 6 } => PhySpec::Erp(Default::default()),
                _ => PhySpec::Ofdm(Default::default()),
            }),
            ..plain
        },
        (Some(modes), Some(_)) => StationSpec {
            phy: Some(PhySpec::Ht(ht::Spec { link: link_keys(modes.up), ..Default::default() })),
            rate_mbps: None,
            rate_down_mbps: None,
            mcs: Some(modes.up.mcs as u8),
            mcs_down: Some(modes.down.mcs as u8),
            ..StationSpec::new(label, 6.0)
        },
    }
}

fn link_keys(mode: Ht) -> LinkKeys {
    LinkKeys {
        width_mhz: Some(if mode.forty_mhz { 40 } else { 20 }),
        streams: Some((mode.mcs / 8 + 1) as u8),
        guard_interval_ns: Some(if mode.short_gi { 400 } else { 800 }),
        ..LinkKeys::default()
    }
}

fn band_keys(rules: &Rules) -> BandKeys {
    let band_ghz = if matches!(rules.phy, Phy::Ofdm { extension: 6 }) { 2.4 } else { 5.0 };
    BandKeys { band_ghz: Some(band_ghz), ..BandKeys::default() }
}

/// What the engine can do of a scenario with aggregation: the links of a station differ in their MCSs alone, of as many streams.
pub fn like_the_engine(mut scenario: Scenario) -> Scenario {
    let stations = scenario.stations.len();
    for station in &mut scenario.stations {
        if let Some(modes) = &mut station.ht {
            modes.down = Ht { mcs: modes.up.mcs / 8 * 8 + modes.down.mcs % 8, ..modes.up };
        }
    }
    for (_, change) in &mut scenario.changes {
        if let Change::Modes { station, modes } = change
            && let Some(now) = scenario.stations[*station % stations].ht
        {
            let with = |mode: Ht| Ht { mcs: now.up.mcs / 8 * 8 + mode.mcs % 8, ..now.up };
            *modes = super::scenario::Modes { up: with(modes.up), down: with(modes.down) };
        }
        if let Change::Station { station, rate, rate_down, .. } = change
            && scenario.stations[*station % stations].ht.is_some()
        {
            (*rate, *rate_down) = (None, None);
        }
    }
    let changes_nothing = |change: &Change| {
        matches!(change, Change::Station { rate: None, rate_down: None, errors: None, track: None, .. })
    };
    scenario.changes.retain(|(_, change)| !changes_nothing(change));
    scenario
}

fn aggregation(rules: &Rules) -> Option<AggregationSpec> {
    rules.aggregation.map(|given| AggregationSpec {
        window: Some(given.window),
        max_mpdus: given.max_mpdus,
        max_ampdu_bytes: Some(given.max_ampdu_bytes),
        max_ppdu_us: micros(given.max_ppdu, rules),
        min_mpdu_spacing_us: f64::from(given.min_spacing_quarters) / 4.0,
        max_attempts: Some(given.max_attempts),
        reorder_timeout_ms: micros(given.reorder_timeout, rules) / 1e3,
        fill: if given.head_run { Fill::HeadRun } else { Fill::Gather },
        driver_queue_packets: None,
        bar: if given.requests { Requests::GivenUp } else { Requests::Never },
    })
}

fn error_rates(errors: &Errors) -> FrameErrorRate {
    let by_rate = errors.by_rate.iter().map(|&(rate, data)| RateErrors::at_rate(mbps(rate), data));
    FrameErrorRate {
        data_up: errors.data_up,
        data_down: errors.data_down,
        ack_up: errors.ack_up,
        ack_down: errors.ack_down,
        by_rate: by_rate.collect(),
    }
}

fn station_change(change: &Change) -> StationChange {
    let Change::Station { rate, rate_down, errors, track, .. } = change else {
        unreachable!("not a station's")
    };
    StationChange {
        rate_mbps: rate.map(mbps),
        rate_down_mbps: rate_down.map(mbps),
        frame_error_rate: errors.as_ref().map(error_rates),
        position_m: track.map(|track| track.position_m),
        velocity_m_per_s: track.map(|track| track.velocity_m_per_s),
        ..StationChange::new("")
    }
}

fn phy(rules: &Rules) -> PhySpec {
    let standard = match rules.phy {
        Phy::Dsss { .. } => Rules::dot11b(true),
        Phy::Ofdm { extension: 6 } => Rules::dot11g(),
        Phy::Ofdm { .. } => Rules::dot11a(),
    };
    let standard = standard.in_steps(rules.steps);
    let is_erp = matches!(rules.phy, Phy::Ofdm { extension: 6 });
    let long_slot = is_erp && rules.slot == 20 * rules.steps;
    let given = |own, standard| (own != standard).then_some(micros(own, rules));
    let bss = BssKeys {
        slot_us: if long_slot { None } else { given(rules.slot, standard.slot) },
        sifs_us: given(rules.sifs, standard.sifs),
        mac_header_bytes: Some(
            rules.overhead_bytes - 12 + if rules.aggregation.is_some_and(|a| a.ccmp) { 16 } else { 0 },
        ),
        control_rate_mbps: Some(mbps(rules.control_rate)),
        cw_min: Some(rules.cw_min as u16),
        cw_max: Some(rules.cw_max as u16),
        ..BssKeys::default()
    };
    let preamble = |plcp| if plcp == 192 { Preamble::Long } else { Preamble::Short };
    let protection = || ProtectionKeys {
        erp_protection: rules.protection.map(|p| match p.self_addressed {
            true => ErpProtection::CtsToSelf,
            false => ErpProtection::RtsCts,
        }),
        protection_rate_mbps: rules.protection.map(|p| mbps(p.rate)),
        preamble: rules.protection.map(|p| preamble(p.plcp)),
    };
    if rules.aggregation.is_some() {
        let slot_us = given(rules.slot, Rules::dot11a().in_steps(rules.steps).slot);
        return PhySpec::Ht(ht::Spec {
            link: LinkKeys { width_mhz: Some(40), streams: Some(4), ..LinkKeys::default() },
            band: band_keys(rules),
            protection: protection(),
            bss: BssKeys { slot_us, ..bss },
        });
    }
    match rules.phy {
        Phy::Dsss { plcp } => {
            PhySpec::Dsss(dsss::Spec { preamble: preamble(plcp), bss, ..Default::default() })
        }
        Phy::Ofdm { .. } if is_erp => PhySpec::Erp(erp::Spec {
            short_slot: !long_slot,
            protection: protection(),
            bss,
            ..Default::default()
        }),
        Phy::Ofdm { .. } => PhySpec::Ofdm(ofdm::Spec { bss, ..Default::default() }),
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
        colliders_wait_eifs: rules.colliders_wait_eifs,
        capture_db: rules.capture.map(|capture| capture.db),
        immediate_access: rules.immediate_access,
        arrival_within_ifs: match rules.backoff_within_ifs {
            true => ArrivalWithinIfs::Backoff,
            false => ArrivalWithinIfs::Transmit,
        },
        backoff_range: match rules.exclusive_backoff {
            true => BackoffRange::Exclusive,
            false => BackoffRange::Inclusive,
        },
        ack_timeout_us: rules.ack_timeout.map(|steps| micros(steps, rules)),
        cts_timeout_us: rules.cts_timeout.map(|steps| micros(steps, rules)),
        rate_adaptation: rules.adaptation.map_or(RateSpec::default(), adaptation),
        edca: rules.edca.as_ref().map(|table| edca(table, rules)),
        aggregation: aggregation(rules),
    }
}

fn adaptation(rules: Adaptation) -> RateSpec {
    let Adaptation { successes: success_threshold, timer: timer_frames, adaptive } = rules;
    match adaptive {
        None => RateSpec::Arf(arf::Spec { success_threshold, timer_frames }),
        Some((factor, success_threshold_max)) => {
            RateSpec::Aarf(aarf::Spec { success_threshold, success_threshold_max, timer_frames, factor })
        }
    }
}

/// µs.
fn micros(steps: u32, rules: &Rules) -> f64 {
    f64::from(steps) / f64::from(rules.steps)
}

fn edca(edca: &timing::Edca, rules: &Rules) -> EdcaSpec {
    EdcaSpec {
        ap: categories(&edca.ap, rules),
        stations: categories(&edca.stations, rules),
        share_port: match (edca.ap_shares_port, edca.stations_share_port) {
            (true, true) => SharePort::All,
            (true, false) => SharePort::Ap,
            (false, _) => SharePort::None,
        },
        classify: Classify::Dscp,
        countdown: if edca.dcf_countdown { Countdown::Dcf } else { Countdown::Edca },
        internal_collision_retry: edca.internal_collision_retry,
        ..EdcaSpec::default()
    }
}

fn categories(all: &[timing::Category; 4], rules: &Rules) -> Categories<CategorySpec> {
    let [voice, video, best_effort, background] = all.map(|c| CategorySpec {
        aifsn: Some(c.aifsn as u8),
        cw_min: Some(c.cw_min as u16),
        cw_max: Some(c.cw_max as u16),
        txop_limit_us: Some(micros(c.txop_limit, rules)),
    });
    Categories { voice, video, best_effort, background }
}
