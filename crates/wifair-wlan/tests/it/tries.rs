//! PPDUs that are sent again as they were formed, and ath9k's retries (`docs/medium.md`, section 12). The second engine has
//! tries of one mode (`oracle_exact`).

use crate::support;

use proptest::prelude::*;
use support::{Peer, modes_of, packet_down};
use wifair_core::{Rng, StationId, Time};
use wifair_queue::{Direction, MpduOutcome};
use wifair_wlan::{
    AggregationSpec, Ath9kSpec, Bss, BssSpec, ChainOutcome, ChainSegment, Choice, EdcaSpec, Feedback,
    FirmwareSpec, FrameErrorRate, HardwareSpec, HwsimSpec, LinkKeys, PhySpec, RateAdaptation, RateErrors,
    RateIndex, RateSpec, RetryChains, StationSpec, TakenChain, TransmissionOutcome, ht, minstrel_ht,
};

/// A station of 802.11n with one stream at 20 MHz, to which the AP loses these shares of the MPDUs.
fn cell(mcs: u8, hardware: HardwareSpec, aggregation: AggregationSpec, lost: FrameErrorRate) -> BssSpec {
    let station = StationSpec {
        rate_mbps: None,
        mcs: Some(mcs),
        frame_error_rate: lost,
        ..StationSpec::new("sta", 6.0)
    };
    let mut spec = BssSpec::new(vec![station]);
    spec.phy = PhySpec::Ht(Default::default());
    spec.mac.edca = Some(EdcaSpec::default());
    spec.mac.aggregation = Some(aggregation);
    spec.ap.hardware = hardware;
    spec.ap.tx_queue.limit_packets = 5_000;
    spec
}

fn ath9k() -> HardwareSpec {
    HardwareSpec::Ath9k(Ath9kSpec::default())
}

/// A transmission: sequence numbers, transmissions of the first MPDU so far, rate in kbit/s, duration, whether it is answered,
/// and whether the first MPDU is given up.
#[derive(Debug)]
struct Sent {
    sequences: Vec<u16>,
    attempts: u32,
    kbps: u32,
    lasts: Time,
    is_answered: bool,
    is_given_up: bool,
}

/// What the AP sends of `packets` packets that are there from the start on.
fn downlink(spec: &BssSpec, packets: u32, end: Time) -> (Vec<Sent>, Bss) {
    let (mut bss, mut sent) = (Bss::new(spec, 1).unwrap(), vec![]);
    for number in 0..packets {
        bss.send_down(StationId(0), &packet_down(0, number, 1_500), Time::ZERO);
    }
    let mut began = |bss: &Bss| {
        for ppdu in bss.transmissions().filter(|ppdu| !ppdu.transmission.mpdus.is_empty()) {
            let mpdus = &ppdu.transmission.mpdus;
            let (begins, ends) = ppdu.ppdu.expect("nothing collides");
            sent.push(Sent {
                sequences: mpdus.iter().map(|mpdu| mpdu.sequence.expect("an agreement")).collect(),
                attempts: mpdus[0].attempts,
                kbps: ppdu.transmission.rate.as_kbps(),
                lasts: ends - begins,
                is_answered: ppdu.outcome == TransmissionOutcome::Acknowledged,
                is_given_up: mpdus[0].outcome == MpduOutcome::GivenUp,
            });
        }
    };
    while bss.advance_watched(end, &mut began).is_some() {}
    (sent, bss)
}

/// Nothing arrives: an MPDU is given up at the end of the PPDU before which it had failed as often as the limit allows.
#[test]
fn what_never_arrives_is_given_up_at_the_end_of_a_ppdu() {
    let lost = || FrameErrorRate { data_down: 1.0, ..FrameErrorRate::default() };
    let keys = |tries, max_attempts| AggregationSpec { tries, max_attempts, ..AggregationSpec::default() };
    for (hardware, tries, max_attempts, attempts) in [
        (HardwareSpec::default(), None, None, 7),
        (HardwareSpec::default(), Some(3), None, 9), // of three PPDUs: before the third it had failed six times
        (HardwareSpec::default(), Some(3), Some(5), 9),
        (HardwareSpec::default(), Some(3), Some(4), 6),
        (ath9k(), Some(1), None, 31),
        (ath9k(), None, None, 40), // of four PPDUs with ten tries each: before the fourth it had failed 30 times
        (ath9k(), None, Some(30), 40),
        (ath9k(), None, Some(21), 30),
    ] {
        let spec = cell(7, hardware, keys(tries, max_attempts), lost());
        let (sent, bss) = downlink(&spec, 3, Time::from_s(10));
        let what = format!("{tries:?}, {max_attempts:?}: {sent:?}");
        assert_eq!(sent.iter().filter(|ppdu| ppdu.sequences[0] == 0).count(), attempts, "{what}");
        let given_up = sent.iter().filter(|ppdu| ppdu.is_given_up);
        let numbers: Vec<u32> = given_up.map(|ppdu| ppdu.attempts).collect();
        assert!(!numbers.is_empty() && numbers.iter().all(|&number| number == attempts as u32), "{what}");
        let usage = bss.snapshot(Time::from_s(10)).stations[0].down;
        assert_eq!((usage.lost_at_retry_limit, bss.packets_under_way().count()), (3, 0), "{what}");
    }
}

/// A PPDU has at most half the window: 32 MPDUs, where its length would allow 42. A window of one is not halved.
#[test]
fn ath9k_halves_the_window() {
    let longest = |window| {
        let aggregation = AggregationSpec { window, ..AggregationSpec::default() };
        let mut spec = cell(7, ath9k(), aggregation, FrameErrorRate::default());
        let link = LinkKeys { width_mhz: Some(40), streams: Some(2), ..LinkKeys::default() };
        spec.phy = PhySpec::Ht(ht::Spec { link, ..ht::Spec::default() });
        spec.stations[0].mcs = Some(15);
        let (sent, _) = downlink(&spec, 500, Time::from_s(2));
        sent.iter().map(|ppdu| ppdu.sequences.len()).max().unwrap()
    };
    assert_eq!([None, Some(33), Some(2), Some(1)].map(longest), [32, 16, 1, 1]);
}

/// MCS 5 and faster modes lose all, the slower ones a tenth: the chain has MCS 4, 3, 2 and 4. A PPDU is as long as MCS 2
/// allows: (1015 · 78 − 22) / 8 = 9,893 bytes are six MPDUs, where MCS 4 has room for twelve.
#[test]
fn a_chain_is_tried_in_order_and_bounds_its_ppdu() {
    let by_rate = (0..8).map(|mcs| RateErrors {
        rate_mbps: None,
        mcs: Some(mcs),
        data: if mcs > 4 { 1.0 } else { 0.1 },
    });
    let lost = FrameErrorRate {
        ack_down: 0.0,
        ack_up: 0.4,
        by_rate: by_rate.collect(),
        ..FrameErrorRate::default()
    };
    let run = |hardware| {
        let mut spec = cell(4, hardware, AggregationSpec::default(), lost.clone());
        spec.mac.rate_adaptation = RateSpec::MinstrelHt(minstrel_ht::Spec::default());
        let (sent, _) = downlink(&spec, 5_000, Time::from_s(3));
        sent
    };
    let sent = run(ath9k());
    let settled = &sent[sent.len() / 2..];
    let longest =
        |kbps| settled.iter().filter(|ppdu| ppdu.kbps == kbps).map(|ppdu| ppdu.sequences.len()).max();
    assert_eq!((longest(39_000), longest(26_000)), (Some(6), Some(6)));
    let ideal = run(HardwareSpec::default());
    assert!(ideal.iter().any(|ppdu| ppdu.kbps == 39_000 && ppdu.sequences.len() > 12));
    let (mut again, mut in_slower_modes) = (0, 0);
    for pair in settled.windows(2) {
        assert!(pair[0].sequences.len() == 1 || pair[0].lasts <= Time::from_us(4_096), "{pair:?}");
        if pair[0].is_answered {
            continue;
        }
        // What nobody answered is sent again next, as it was, but for the fourth try and more.
        if pair[1].attempts == pair[0].attempts + 1 && pair[1].sequences[0] == pair[0].sequences[0] {
            again += 1;
            in_slower_modes += usize::from(pair[1].kbps < pair[0].kbps);
            assert_eq!(pair[1].sequences, pair[0].sequences, "{pair:?}");
        }
    }
    assert!(again > 200 && in_slower_modes > 50, "{again} sent again, {in_slower_modes} in slower modes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// A link whose chains are taken learns the same as one that follows its chain itself, and chooses the same.
    #[test]
    fn a_chain_that_is_taken_is_the_one_that_would_be_followed(
        seed in any::<u64>(),
        first in 0u16..8,
        fails in 0.0..0.9f64,
        arrives in 0.05..1.0f64,
    ) {
        let modes = modes_of("802.11n");
        let spec = RateSpec::MinstrelHt(minstrel_ht::Spec::default());
        let [mut follows, mut taken] = [(), ()].map(|()| Peer::new(&spec, &modes, first, seed));
        let mut rng = Rng::stream(seed, "test", "outcomes");
        for _ in 0..600 {
            let mpdus = if follows.samples { 1 } else { 1 + rng.below(20) };
            let chain = taken.take_chain();
            let mut tries = vec![];
            let mut acknowledged = 0;
            'chain: for segment in &chain {
                tries.push((segment.mode, 0));
                for _ in 0..segment.attempts {
                    prop_assert_eq!((segment.mode, segment.rts), (follows.next, follows.rts));
                    tries.last_mut().unwrap().1 += 1;
                    if !rng.chance(fails) {
                        acknowledged = (0..mpdus).filter(|_| rng.chance(arrives)).count().max(1) as u32;
                    }
                    follows.attempt(mpdus, acknowledged);
                    if acknowledged > 0 {
                        break 'chain;
                    }
                }
            }
            taken.end_chain(tries, mpdus, acknowledged);
            prop_assert_eq!((follows.link, follows.next, follows.samples), (taken.link, taken.next, taken.samples));
            let passes = Time::from_us(u64::from(rng.below(9_000)));
            (follows.now, taken.now) = (follows.now + passes, taken.now + passes);
        }
    }
}

/// An AP with a queue of 1,000 packets for each of four stations that are too far away for the fastest modes. Links begin with
/// their slowest mode, with any rate adaptation.
fn far_stations(hardware: HardwareSpec, rate_adaptation: RateSpec) -> Bss {
    far_stations_with(4_000, hardware, rate_adaptation)
}

fn far_stations_with(packets: u32, hardware: HardwareSpec, rate_adaptation: RateSpec) -> Bss {
    let keys = AggregationSpec { tries: Some(11), ..AggregationSpec::default() };
    let mut spec = cell(0, hardware, keys, FrameErrorRate::default());
    let station = |n: u32| StationSpec {
        rate_mbps: None,
        mcs: Some(0),
        position_m: Some([38.0 + f64::from(n), 0.0]),
        ..StationSpec::new(format!("sta-{n}"), 6.0)
    };
    spec.stations = (0..4).map(station).collect();
    spec.mac.rate_adaptation = rate_adaptation;
    let mut bss = Bss::new(&spec, 1).unwrap();
    for number in 0..packets {
        bss.send_down(StationId(number as u16 % 4), &packet_down(0, number, 1_500), Time::ZERO);
    }
    bss
}

/// By PPDU: its station, and the sequence numbers of its MPDUs. Tries of one PPDU follow each other.
fn ppdus(bss: &mut Bss, end: Time) -> Vec<(StationId, Vec<u16>)> {
    let mut found = vec![];
    let mut began = |bss: &Bss| {
        for ppdu in bss.transmissions().filter(|ppdu| !ppdu.transmission.mpdus.is_empty()) {
            let mpdus = ppdu.transmission.mpdus.iter();
            let sequences: Vec<u16> = mpdus.map(|mpdu| mpdu.sequence.expect("an agreement")).collect();
            found.push((ppdu.transmission.station, sequences));
        }
    };
    while bss.advance_watched(end, &mut began).is_some() {}
    found.dedup();
    found
}

/// Firmware serves the station again of which a sample was sent, so that a station with samples gets as many other PPDUs.
#[test]
fn a_sample_does_not_end_a_turn_in_firmware() {
    let end = Time::from_s(3);
    let minstrel = || RateSpec::MinstrelHt(minstrel_ht::Spec::default());
    let followed = |hardware| {
        let sent = ppdus(&mut far_stations(hardware, minstrel()), end);
        let samples = sent.windows(2).filter(|pair| pair[0].1.len() == 1);
        let (all, same): (usize, usize) =
            samples.fold((0, 0), |(all, same), pair| (all + 1, same + usize::from(pair[0].0 == pair[1].0)));
        assert!(all > 40, "{all} samples");
        same as f64 / all as f64
    };
    let (firmware, ideal) =
        (followed(HardwareSpec::Hwsim(HwsimSpec::default())), followed(HardwareSpec::default()));
    assert!(firmware > 0.95, "{firmware}"); // unless nothing of the station is left below the scheme
    assert!(ideal < 0.5, "{ideal}");
}

/// Whether a sample is due is asked as packets leave the transmit queue: if all of them leave it at once, one is.
#[test]
fn packets_that_leave_the_transmit_queue_bring_samples() {
    let samples = |hardware| {
        let minstrel = RateSpec::MinstrelHt(minstrel_ht::Spec::default());
        let sent = ppdus(&mut far_stations_with(1_600, hardware, minstrel), Time::from_ms(500));
        assert!(sent.len() > 50, "{}", sent.len());
        sent.iter().filter(|(_, sequences)| sequences.len() == 1).count()
    };
    let unbounded = FirmwareSpec { aql_low_us: 1e6, aql_high_us: 1e6, aql_total_us: 1e7 };
    assert_eq!(samples(HardwareSpec::Firmware(unbounded)), 4, "one per station");
    assert!(samples(HardwareSpec::default()) > 20);
}

/// Each PPDU is tried once in a fast mode and then in a slow one.
struct FastThenSlow([RateIndex; 2]);

impl RateAdaptation for FastThenSlow {
    fn on_attempt(&mut self, _feedback: &mut Feedback) -> Choice {
        self.0[0].into()
    }

    fn retry_chains(&mut self) -> Option<&mut dyn RetryChains> {
        Some(self)
    }
}

impl RetryChains for FastThenSlow {
    fn take(&mut self) -> TakenChain {
        let segment = |mode| ChainSegment { mode, attempts: 1, rts: false };
        TakenChain { segments: self.0.map(segment).to_vec(), samples: false, next: self.0[0].into() }
    }

    fn on_end(&mut self, _outcome: &ChainOutcome) -> Choice {
        self.0[0].into()
    }

    fn ask(&mut self, _now: Time) -> Choice {
        self.0[0].into()
    }
}

/// The airtime of a packet is estimated at the rate of the last try: while MCS 0 alone arrives, seven packets have more than
/// 12 ms. At MCS 7, of the first tries, it would be sixty.
#[test]
fn airtime_is_estimated_at_the_rate_of_the_last_try() {
    let fast = RateErrors { rate_mbps: None, mcs: Some(7), data: 1.0 };
    let lost = FrameErrorRate { by_rate: vec![fast], ..FrameErrorRate::default() };
    let keys = AggregationSpec { tries: Some(2), ..AggregationSpec::default() };
    let mut bss = Bss::new(&cell(7, HardwareSpec::Hwsim(HwsimSpec::default()), keys, lost), 1).unwrap();
    bss.set_rate_adaptation(StationId(0), Direction::Down, |start| {
        Box::new(FastThenSlow([start.first, start.modes.groups()[0][0]]))
    });
    let sent = 600;
    for number in 0..sent {
        bss.send_down(StationId(0), &packet_down(0, number, 1_500), Time::ZERO);
    }
    let mut most = 0;
    let mut began = |bss: &Bss| {
        let now = bss.next_event();
        let delivered = bss.snapshot(now).stations[0].down.delivered;
        // What was estimated before the first outcome has left by then.
        if now > Time::from_ms(300) {
            most = most.max(sent as usize - bss.ap_tx_queue().len() - delivered as usize);
        }
    };
    while bss.advance_watched(Time::from_s(1), &mut began).is_some() {}
    assert!((6..=8).contains(&most), "{most}");
}

/// A rate adaptation from outside takes the place of the plan's, with the same modes, random stream and outcomes.
#[test]
fn a_rate_adaptation_from_outside_is_like_the_plans() {
    let minstrel = RateSpec::MinstrelHt(minstrel_ht::Spec::default());
    let end = Time::from_s(1);
    let mut outside = far_stations(HardwareSpec::default(), RateSpec::default());
    for station in (0..4).map(StationId) {
        for direction in [Direction::Up, Direction::Down] {
            outside.set_rate_adaptation(station, direction, |start| minstrel.build(start));
        }
    }
    let mut of_plan = far_stations(HardwareSpec::default(), minstrel);
    let sent = ppdus(&mut of_plan, end);
    assert!(sent.iter().any(|(_, sequences)| sequences.len() == 1), "there are samples");
    assert_eq!(ppdus(&mut outside, end), sent);
}
