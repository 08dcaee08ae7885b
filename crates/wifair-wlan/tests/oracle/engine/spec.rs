//! A scenario as the engine reads it.

use crate::oracle::mode::{Generation, Mode};
use crate::oracle::radio::TX_POWER_DBM;
use crate::oracle::rate::Adaptation;
use crate::oracle::scenario::{Change, Errors, Modes, Scenario, Station, Verdict, verdict};
use crate::oracle::timing::{self, Beacons, Modern, Phy, Protection, Rules, Tenths};
use crate::support::external;
use std::sync::{Arc, Mutex};
use wifair_core::{Ac, StationId, Time};
use wifair_queue::{Arrival, Buffer, Cx, Hooks, Placed, Reception, Scheme, Shortcuts, TxQueueSpec};
use wifair_wlan::{
    AggregationSpec, ApSpec, ArrivalWithinIfs, BackoffRange, BandKeys, BeaconsSpec, BssKeys, BssSpec,
    Categories, CategorySpec, ChannelSpec, Classify, Coding, Countdown, EdcaControllerSpec, EdcaSpec,
    ErpProtection, Fill, FrameErrorRate, HeLtf, LinkKeys, MacSpec, MpduDelivery, PhySpec, Preamble,
    ProtectionKeys, RateErrors, RateSpec, Requests, ShareTxQueue, StationChange, StationSpec, WidthUse, aarf,
    arf, dsss, eht, erp, he, ht, ofdm, vht,
};

/// The queue sizes of which the AP's transmit queues are notified.
pub type QueueSizes = Arc<Mutex<Vec<(Time, StationId, Ac, u32)>>>;

/// Tail drop that decides about what comes from stations, and notes queue sizes.
struct Policing {
    before: u32,
    queue_sizes: QueueSizes,
}

impl Scheme for Policing {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::ALL
    }

    fn hooks(&self) -> Hooks {
        Hooks { police: true, queue_size: true, ..Hooks::default() }
    }

    fn on_queue_size(&mut self, station: StationId, ac: Ac, _buffer: &mut Buffer, cx: &mut Cx) {
        let bytes = cx.links[station.index()].queue_bytes(ac).expect("the transmit queue is notified of it");
        self.queue_sizes.lock().unwrap().push((cx.now, station, ac, bytes));
    }

    fn police(
        &mut self,
        reception: &Reception,
        _buffer: &mut Buffer,
        _cx: &mut Cx,
    ) -> wifair_queue::PoliceAction {
        self.before += 1;
        match verdict(self.before - 1, reception.packet.seq) {
            Verdict::Forward => wifair_queue::PoliceAction::Forward,
            Verdict::Mark => wifair_queue::PoliceAction::Mark,
            Verdict::Drop => wifair_queue::PoliceAction::Drop,
        }
    }
}

fn mbps(rate: Tenths) -> f64 {
    f64::from(rate) / 10.0
}

pub fn spec(scenario: &Scenario, queue_sizes: &QueueSizes) -> BssSpec {
    let tx_queue = TxQueueSpec {
        limit_packets: scenario.tx_queue_limit as u32,
        limit_counts_in_service: scenario.limit_counts_in_service,
        ..TxQueueSpec::default()
    };
    let mut ap_tx_queue = tx_queue.clone();
    if scenario.rules.polices {
        let queue_sizes = queue_sizes.clone();
        ap_tx_queue.scheme = external(move || Policing { before: 0, queue_sizes: queue_sizes.clone() });
    }
    let station = |(index, s): (usize, &Station)| StationSpec {
        frame_error_rate: error_rates(&s.errors),
        position_m: s.track.map(|track| track.position_m),
        velocity_m_per_s: s.track.map(|track| track.velocity_m_per_s),
        tx_queue: tx_queue.clone(),
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
        ap: ApSpec { tx_queue: ap_tx_queue, position_m: ap_m, ..ApSpec::default() },
        channel,
        ..BssSpec::new(scenario.stations.iter().enumerate().map(station).collect())
    }
}

/// A station with its PHY and modes.
fn mode_of(index: usize, station: &Station, rules: &Rules) -> StationSpec {
    let label = Scenario::label(index + 1);
    let plain = StationSpec {
        rate_down_mbps: Some(mbps(station.rate_down)),
        ..StationSpec::new(label.clone(), mbps(station.rate_up))
    };
    match (station.modes, station.phy.unwrap_or(rules.phy)) {
        _ if rules.modern.is_none() => plain,
        (None, Phy::Dsss { .. }) => StationSpec { phy: Some(PhySpec::Dsss(Default::default())), ..plain },
        (None, Phy::Ofdm { extension: 6 }) => {
            StationSpec { phy: Some(PhySpec::Erp(Default::default())), ..plain }
        }
        (None, Phy::Ofdm { .. }) => StationSpec { phy: Some(PhySpec::Ofdm(Default::default())), ..plain },
        (Some(Modes { up, down }), _) => StationSpec {
            phy: Some(phy_of(up, BandKeys::default(), ProtectionKeys::default(), BssKeys::default())),
            rate_mbps: None,
            rate_down_mbps: None,
            mcs: Some(up.named_mcs() as u8),
            mcs_down: Some(down.named_mcs() as u8),
            ..StationSpec::new(label, 6.0)
        },
    }
}

/// The PHY that has a mode, whatever its MCS.
fn phy_of(mode: Mode, band: BandKeys, protection: ProtectionKeys, bss: BssKeys) -> PhySpec {
    let link = LinkKeys {
        width_mhz: Some(mode.width_mhz as u16),
        streams: Some(mode.streams as u8),
        guard_interval_ns: Some(mode.guard_ns as u16),
        coding: mode.ldpc.then_some(Coding::Ldpc),
    };
    let he_ltf = Some(match mode.ltf {
        1 => HeLtf::Quarter,
        2 => HeLtf::Half,
        _ => HeLtf::Whole,
    });
    let packet_extension_us = mode.padding_us as u8;
    match mode.generation {
        Generation::Ht => PhySpec::Ht(ht::Spec { link, band, protection, bss }),
        Generation::Vht => PhySpec::Vht(vht::Spec { link, band, bss }),
        Generation::He => PhySpec::He(he::Spec { he_ltf, packet_extension_us, link, band, protection, bss }),
        Generation::Eht => {
            PhySpec::Eht(eht::Spec { he_ltf, packet_extension_us, link, band, protection, bss })
        }
    }
}

fn aggregation(rules: &Rules) -> Option<AggregationSpec> {
    rules.aggregation.map(|given| AggregationSpec {
        window: Some(given.window),
        max_mpdus: given.max_mpdus,
        max_ampdu_bytes: Some(given.max_ampdu_bytes),
        max_amsdu_bytes: given.max_amsdu_bytes,
        max_ppdu_us: micros(given.max_ppdu, rules),
        min_mpdu_spacing_us: f64::from(given.min_spacing_quarters) / 4.0,
        max_attempts: Some(given.max_attempts),
        tries: Some(given.tries),
        reorder_timeout_ms: micros(given.reorder_timeout, rules) / 1e3,
        fill: if given.head_run { Fill::HeadRun } else { Fill::Gather },
        driver_queue_packets: None,
        delivery: if given.delivers_mpdus { MpduDelivery::Mpdu } else { MpduDelivery::Ppdu },
        bar: match given.requests {
            timing::Requests::Never => Requests::Never,
            timing::Requests::GivenUp => Requests::GivenUp,
            timing::Requests::Missed => Requests::Missed,
        },
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

pub fn station_change(change: &Change) -> StationChange {
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
    let given = |own, standard| (own != standard).then(|| micros(own, rules));
    let bss = BssKeys {
        slot_us: if long_slot { None } else { given(rules.slot, standard.slot) },
        sifs_us: given(rules.sifs, standard.sifs),
        mac_header_bytes: Some(rules.overhead_bytes - 12),
        ccmp: rules.aggregation.is_some_and(|aggregation| aggregation.ccmp),
        control_rate_mbps: match rules.modern {
            Some(Modern { basic_rates: Some(_), .. }) => None,
            _ => Some(mbps(rules.control_rate)),
        },
        cw_min: Some(rules.cw_min as u16),
        cw_max: Some(rules.cw_max as u16),
        ..BssKeys::default()
    };
    // A CTS-to-self at 1 Mbps with a long preamble is what a BSS with 802.11b stations does by itself.
    let by_itself = Protection { self_addressed: true, plcp: 192, rate: 10 };
    let has_dot11b = rules.modern.is_some_and(|modern| modern.has_dot11b);
    let told = rules.protection.filter(|&protection| !has_dot11b || protection != by_itself);
    let protection = ProtectionKeys {
        erp_protection: told.map(|p| match p.self_addressed {
            true => ErpProtection::CtsToSelf,
            false => ErpProtection::RtsCts,
        }),
        protection_rate_mbps: told.map(|p| mbps(p.rate)),
        preamble: told.map(|p| preamble(p.plcp)),
    };
    if let Some(modern) = rules.modern {
        let slot = if modern.has_dot11b { 20 } else { 9 };
        let slot_us = given(rules.slot, slot * rules.steps);
        let band = BandKeys {
            band_ghz: Some(modern.band_ghz),
            basic_rates_mbps: modern.basic_rates.map(|rates| rates.iter().copied().map(mbps).collect()),
        };
        let streams = modern.generation.most_streams();
        let widest = Mode { width_mhz: modern.width_mhz, ..Mode::plain(modern.generation, streams, 0) };
        return phy_of(widest, band, protection, BssKeys { slot_us, ..bss });
    }
    match rules.phy {
        Phy::Dsss { plcp } => {
            PhySpec::Dsss(dsss::Spec { preamble: preamble(plcp), bss, ..Default::default() })
        }
        Phy::Ofdm { .. } if is_erp => {
            PhySpec::Erp(erp::Spec { short_slot: !long_slot, protection, bss, ..Default::default() })
        }
        Phy::Ofdm { .. } => PhySpec::Ofdm(ofdm::Spec { bss, ..Default::default() }),
    }
}

fn preamble(plcp: u32) -> Preamble {
    if plcp == 192 { Preamble::Long } else { Preamble::Short }
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
        width: WidthUse::Static,
        rate_adaptation: rules.adaptation.map_or(RateSpec::default(), adaptation),
        edca: rules.edca.as_ref().map(|table| edca(table, rules)),
        aggregation: aggregation(rules),
        beacons: rules.beacons.map(|Beacons { interval_tu, bytes, rate }| {
            let rate_mbps = rate.map(|tenths| f64::from(tenths) / 10.0);
            BeaconsSpec { interval_tu, bytes, rate_mbps }
        }),
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
        share_tx_queue: match (edca.ap_shares_tx_queue, edca.stations_share_tx_queue) {
            (true, true) => ShareTxQueue::All,
            (true, false) => ShareTxQueue::Ap,
            (false, _) => ShareTxQueue::None,
        },
        classify: Classify::Dscp,
        countdown: if edca.dcf_countdown { Countdown::Dcf } else { Countdown::Edca },
        internal_collision_retry: edca.internal_collision_retry,
        controller: edca.controller.map(|c| EdcaControllerSpec {
            interval_tu: c.interval_tu,
            samples: c.samples,
            max_cw_min: c.max_cw_min as u16,
        }),
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
