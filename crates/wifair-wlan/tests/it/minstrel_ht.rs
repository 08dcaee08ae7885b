//! `minstrel-ht` on made-up channels, step by step; and, in a BSS, against `ideal` over distance.

use crate::support;

use proptest::prelude::*;
use support::{Peer, modes_of, packet};
use wifair_core::{Rng, StationId, Time};
use wifair_queue::Direction;
use wifair_wlan::{
    Bss, BssSpec, EdcaSpec, Format, Modes, PhySpec, RateIndex, RateSpec, Start, StationChange, StationPhy,
    StationSpec, ideal, minstrel_ht,
};

fn minstrel() -> RateSpec {
    RateSpec::MinstrelHt(minstrel_ht::Spec::default())
}

fn modes_with(phy: serde_json::Value) -> Modes {
    let phy: PhySpec = serde_json::from_value(phy).unwrap();
    phy.modes(&StationPhy::default(), "phy").unwrap()
}

/// A link on which a mode with MCS `m` loses all but a share `shares[m]` of each A-MPDU, a transmission every ms.
struct Link {
    peer: Peer,
    modes: Modes,
    shares: Vec<f64>,
    mpdus: u32,
    /// Modes of all transmissions.
    sent: Vec<u16>,
    /// When which modes were sampled, in ms.
    samples: Vec<(u64, u16)>,
    /// MPDUs sent, by mode.
    mpdus_in: Vec<u64>,
}

impl Link {
    fn new(phy: &str, first: u16, mpdus: u32, shares: &[f64]) -> Link {
        Link::with_modes(modes_of(phy), first, mpdus, shares)
    }

    /// The links of these modes: in a width of 20 MHz with one stream and a long guard interval there is one group.
    fn narrow(phy: &str, first: u16, mpdus: u32, shares: &[f64]) -> Link {
        let phy = serde_json::json!({"name": phy, "width_mhz": 20});
        Link::with_modes(modes_with(phy), first, mpdus, shares)
    }

    fn with_modes(modes: Modes, first: u16, mpdus: u32, shares: &[f64]) -> Link {
        let peer = Peer::new(&minstrel(), &modes, first, 1);
        let mpdus_in = vec![0; modes.groups().concat().len()];
        Link { peer, modes, shares: shares.to_vec(), mpdus, sent: vec![], samples: vec![], mpdus_in }
    }

    /// The share of MPDUs that arrive in a mode.
    fn share(&self, mode: u16) -> f64 {
        let on_air = self.modes.on_air(RateIndex(mode));
        match on_air.mode.format {
            Format::Dsss | Format::Ofdm => self.shares[usize::from(mode)],
            Format::Ht => self.shares[usize::from(on_air.mode.mcs % 8)],
            _ => self.shares[usize::from(on_air.mode.mcs)],
        }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.peer.now += Time::from_ms(1);
            let mode = self.peer.next.0;
            let mpdus = if self.peer.samples { 1 } else { self.mpdus };
            self.sent.push(mode);
            if self.peer.samples && !self.peer.rts {
                self.samples.push((self.peer.now.as_ns() / 1_000_000, mode));
            }
            // Which of the MPDUs arrive is no matter of chance.
            let share = self.share(mode);
            let arrived = |mpdus: u64| (mpdus as f64 * share) as u64;
            let before = std::mem::replace(&mut self.mpdus_in[usize::from(mode)], 0);
            let after = before + u64::from(mpdus);
            self.mpdus_in[usize::from(mode)] = after;
            self.peer.attempt(mpdus, (arrived(after) - arrived(before)) as u32);
        }
    }

    /// The next transmission is answered, and begins the chain.
    fn begin_chain(&mut self) {
        self.peer.attempt(0, 1);
        if self.peer.samples {
            self.peer.attempt(0, 1); // a sample that is answered
        }
    }

    /// The modes of the next transmissions, none of which is answered and between which no time passes.
    fn chain(&mut self, count: usize) -> Vec<u16> {
        let next = |link: &mut Link| {
            let mode = link.peer.next.0;
            link.peer.attempt(0, 0);
            mode
        };
        (0..count).map(|_| next(self)).collect()
    }
}

/// Shares of MCS 0 to 7 of 802.11n.
const STEEP: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

#[test]
fn the_retry_chain_has_the_best_three_modes_and_the_most_probable() {
    // Of 1,200 bytes: 246 µs in MCS 4, and more in slower ones: 16 MPDUs take 4 ms, and two attempts are all that fits.
    let mut link = Link::new("802.11n", 7, 16, &STEEP);
    link.run(3_000);
    assert_eq!(link.peer.link, RateIndex(4));
    link.begin_chain();
    assert_eq!(link.chain(10), [4, 4, 3, 3, 2, 2, 4, 4, 4, 4]);
    // One MPDU takes 293 µs with overhead in MCS 5: with contention before each, 67, 139, 283, 571, 1147 and 2299 µs, five
    // attempts fit in 6 ms. In MCS 4 and 3, 354 and 477 µs: five, too.
    let mut link = Link::new("802.11n", 7, 1, &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    link.run(3_000);
    link.begin_chain();
    assert_eq!(
        link.chain(21),
        [[5; 5], [4; 5], [3; 5], [5; 5]].concat().into_iter().chain([5]).collect::<Vec<u16>>()
    );
}

#[test]
fn a_shorter_chain_keeps_the_most_probable_mode() {
    for (chain, expected) in [(1, [4; 6]), (2, [4, 4, 4, 4, 4, 4]), (3, [4, 4, 3, 3, 4, 4])] {
        let mut link = Link::new("802.11n", 7, 16, &STEEP);
        let spec = RateSpec::MinstrelHt(minstrel_ht::Spec { chain, ..Default::default() });
        link.peer = Peer::new(&spec, &modes_of("802.11n"), 7, 1);
        link.run(3_000);
        link.begin_chain();
        assert_eq!(link.chain(6), expected, "{chain}");
    }
}

#[test]
fn throughput_decides_not_the_share_or_the_rate() {
    // 65 Mbps: 148 µs per MPDU of 1,200 bytes and 7 of overhead; 52 Mbps: 185; 39: 246. A share above 90 % counts as 90 %.
    let best_with = |share_of_7: f64, share_of_5: f64| {
        let mut link = Link::new("802.11n", 0, 16, &[1.0, 1.0, 1.0, 1.0, 1.0, share_of_5, 0.0, share_of_7]);
        link.run(5_000);
        link.peer.link.0
    };
    assert_eq!(best_with(0.8125, 1.0), 7); // .8125 / 155 against .9 / 192
    assert_eq!(best_with(0.25, 1.0), 5);
    assert_eq!(best_with(0.0, 0.5), 4); // .5 / 192 against .9 / 253
    assert_eq!(best_with(0.0, 0.75), 5);
}

#[test]
fn it_finds_the_best_mode_from_either_end() {
    for first in [0, 3, 7] {
        let mut link = Link::new("802.11n", first, 16, &STEEP);
        link.run(45);
        assert!(link.sent.iter().filter(|&&mode| mode == first).count() > 40, "{:?}", link.sent);
        link.run(955);
        assert_eq!(link.peer.link, RateIndex(4), "from {first}");
    }
    // Where nothing arrives, the slowest is all that is left.
    let mut link = Link::narrow("802.11ax", 11, 16, &[0.0; 12]);
    link.run(200);
    assert_eq!((link.peer.link.0, link.peer.next.0), (0, 0));
}

/// A link of a BSS begins with its slowest mode, whatever the scenario's, and again after a change of that
/// (`docs/medium.md`, sections 2.1 and 8). So a distant station's first packet arrives, at which no MPDU of the scenario's
/// mode would.
#[test]
fn a_link_begins_with_its_slowest_mode() {
    let mut station = StationSpec::with_mcs("sta", 7);
    station.position_m = Some([45.0, 0.0]);
    let mut spec = BssSpec::new(vec![station]);
    spec.phy = serde_json::from_value(serde_json::json!({"name": "802.11ac"})).unwrap();
    spec.mac.edca = Some(EdcaSpec::default());
    spec.mac.rate_adaptation = minstrel();
    let mut bss = Bss::new(&spec, 1).unwrap();
    let directions = [Direction::Up, Direction::Down];
    let modes = |bss: &Bss| {
        let mode = |direction| bss.link_mode(StationId(0), direction);
        directions.map(mode).map(|mode| (mode.width_mhz, mode.mcs, mode.rate.as_kbps()))
    };
    let rates = |bss: &Bss| directions.map(|direction| bss.link_rate(StationId(0), direction).as_kbps());
    assert_eq!((modes(&bss), rates(&bss)), ([(20, 0, 6_500); 2], [6_500; 2]));
    bss.send_up(StationId(0), &packet(0, 0, 1_500), Time::ZERO);
    while bss.next_event() < Time::from_ms(10) {
        bss.advance(bss.next_event());
    }
    assert_eq!(bss.snapshot(Time::from_ms(10)).stations[0].up.delivered, 1);
    let mut now = Time::from_ms(10);
    while modes(&bss)[0].2 == 6_500 {
        bss.send_up(StationId(0), &packet(0, 0, 1_500), now);
        now += Time::from_ms(1);
        while bss.next_event() < now {
            bss.advance(bss.next_event());
        }
    }
    assert!(now < Time::from_s(1), "it climbs");
    bss.change_station(StationId(0), &StationChange { mcs: Some(5), ..StationChange::new("sta") }, now);
    assert_eq!((modes(&bss), rates(&bss)), ([(20, 0, 6_500); 2], [6_500; 2]));
}

#[test]
fn few_transmissions_sample_and_they_sample_every_faster_mode() {
    let mut shares = [1.0; 12];
    shares[9..].fill(0.0);
    let mut link = Link::narrow("802.11ax", 0, 16, &shares);
    link.run(1_000);
    assert_eq!(link.peer.link, RateIndex(8));
    link.samples.clear();
    link.run(10_000);
    let share = link.samples.len() as f64 / 10_000.0;
    assert!((0.02..=0.06).contains(&share), "{share}"); // at most three in 50 ms
    for faster in 9..12 {
        assert!(link.samples.iter().filter(|(_, mode)| *mode == faster).count() > 20, "{faster}");
    }
    let gaps = link.samples.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let close = gaps.filter(|&gap| gap < 20).count() as f64 / link.samples.len() as f64;
    assert!(close < 0.5, "only an update of the statistics brings the next sample forward: {close}");
    // At the fastest mode there is nothing to sample.
    let mut link = Link::narrow("802.11ax", 0, 16, &[1.0; 12]);
    link.run(1_000);
    assert_eq!(link.peer.link, RateIndex(11));
    link.samples.clear();
    link.run(2_000);
    assert_eq!(link.samples, []);
}

#[test]
fn it_follows_a_channel_that_changes() {
    let mut link = Link::narrow("802.11ac", 8, 16, &[1.0; 9]);
    link.run(1_000);
    assert_eq!(link.peer.link, RateIndex(8));
    link.shares[4..].fill(0.0);
    link.run(400);
    assert_eq!(link.peer.link, RateIndex(3));
    link.shares.fill(1.0);
    link.run(3_000);
    assert_eq!(link.peer.link, RateIndex(8));
}

#[test]
fn rates_before_802_11n_have_a_chain_too() {
    let mut link = Link::new("802.11g", 7, 1, &STEEP);
    link.run(3_000);
    assert_eq!(link.peer.link, RateIndex(4));
}

/// Width in MHz, guard interval in ns and streams of a mode.
fn group_of(modes: &Modes, index: RateIndex) -> (u16, u16, u8) {
    let mode = modes.on_air(index).mode;
    (mode.width_mhz, mode.guard_interval_ns, mode.streams)
}

fn wide(streams: u8) -> Modes {
    let phy = serde_json::json!({
        "name": "802.11n", "width_mhz": 40, "streams": streams, "guard_interval_ns": 400,
    });
    modes_with(phy)
}

/// Nothing arrives any more: the best mode is replaced by the best of one lower group after the other, of those with at
/// most as many streams, long before the statistics are updated.
#[test]
fn it_descends_through_the_groups() {
    let mut link = Link::with_modes(wide(2), 7, 16, &[1.0; 8]);
    let spec = minstrel_ht::Spec { update_interval_ms: 1_000.0, ..Default::default() };
    link.peer = Peer::new(&RateSpec::MinstrelHt(spec), &wide(2), 7, 1);
    link.run(10_010); // the tenth update is at its end
    assert_eq!(link.modes.on_air(link.peer.link).mode.mcs, 15);
    link.shares.fill(0.0);
    let mut visited = vec![group_of(&link.modes, link.peer.link)];
    for _ in 0..500 {
        link.run(1);
        let group = group_of(&link.modes, link.peer.link);
        if visited.last() != Some(&group) {
            visited.push(group);
        }
    }
    assert_eq!(visited, [(40, 400, 2), (40, 400, 1), (40, 800, 1), (20, 400, 1), (20, 800, 1)]);
}

/// The descent takes more than 30 MPDUs of which less than a quarter, rounded down, arrives.
#[test]
fn a_quarter_of_the_mpdus_is_enough() {
    for (sent, acknowledged, descends) in [(30, 1, false), (31, 6, true), (31, 7, false), (39, 9, false)] {
        let spec = minstrel_ht::Spec { update_interval_ms: 1_000.0, ..Default::default() };
        let mut peer = Peer::new(&RateSpec::MinstrelHt(spec), &wide(1), 7, 1);
        peer.attempt(sent, acknowledged);
        let expected = if descends { (40, 800, 1) } else { (40, 400, 1) };
        assert_eq!(group_of(&wide(1), peer.link), expected, "{acknowledged} of {sent}");
    }
}

/// Where the best mode has several streams, the last mode of the chain is the best known with fewer streams. An RTS
/// precedes all modes but the first.
#[test]
fn the_most_probable_mode_has_fewer_streams() {
    let modes = wide(3);
    let slowest = modes.groups()[0][0].0; // it climbs from there, so that modes with fewer streams are known
    let mut link = Link::with_modes(wide(3), slowest, 16, &[1.0; 8]);
    link.run(20_000);
    link.begin_chain();
    let mut chain: Vec<(u8, (u16, u16, u8), bool)> = vec![];
    for _ in 0..20 {
        let of_mode = modes.on_air(link.peer.next).mode;
        let attempt = (of_mode.mcs % 8, group_of(&modes, link.peer.next), link.peer.rts);
        if !chain.contains(&attempt) {
            chain.push(attempt);
        }
        link.peer.attempt(16, 0);
    }
    let groups: Vec<_> = chain.iter().map(|&(_, group, rts)| (group, rts)).collect();
    assert_eq!(groups[..3], [((40, 400, 3), false), ((40, 800, 3), true), ((40, 400, 3), true)], "{chain:?}");
    let (mcs, group, rts) = chain[3];
    assert!(group.2 < 3 && rts && mcs >= 6, "{chain:?}");
}

proptest! {
    /// Where in each group all MPDUs arrive up to some MCS and none beyond, the link ends up with the fastest mode in which
    /// they arrive.
    #[test]
    fn it_converges_across_groups(
        phy in prop::sample::select(vec![("802.11n", 40, 400), ("802.11ac", 80, 400), ("802.11ax", 80, 800)]),
        streams in 1u8..=2,
        limits in prop::collection::vec(0usize..12, 12),
        seed: u64,
    ) {
        let (name, width_mhz, guard_interval_ns) = phy;
        let modes = modes_with(serde_json::json!({
            "name": name, "width_mhz": width_mhz, "streams": streams, "guard_interval_ns": guard_interval_ns,
        }));
        let groups = modes.groups();
        let works = |index: RateIndex| {
            let group = groups.iter().position(|group| group.contains(&index)).unwrap();
            index == groups[0][0] || groups[group].iter().position(|&mode| mode == index).unwrap() < limits[group]
        };
        let mut peer = Peer::new(&minstrel(), &modes, 0, seed);
        for _ in 0..30_000 {
            peer.now += Time::from_ms(1);
            let sent = if peer.samples { 1 } else { 16 };
            peer.attempt(sent, if works(peer.next) { sent } else { 0 });
        }
        let kbps = |index: RateIndex| modes.on_air(index).rate().as_kbps();
        let fastest = groups.concat().into_iter().filter(|&index| works(index)).map(kbps).max().unwrap();
        prop_assert!(works(peer.link));
        // The kernel's durations have 16 bits, and its throughputs fewer.
        prop_assert!(f64::from(kbps(peer.link)) > 0.98 * f64::from(fastest), "{} of {fastest}", kbps(peer.link));
    }

    /// The random orders are all that is drawn: ten of ten MCSs, or of as many as the PHY has; by no other adaptation any
    /// (docs/determinism.md).
    #[test]
    fn random_draws(
        seed: u64,
        phy in prop::sample::select(vec!["802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax", "802.11be"]),
        name in prop::sample::select(RateSpec::all().iter().map(RateSpec::name).collect::<Vec<_>>()),
    ) {
        let spec: RateSpec = serde_json::from_value(serde_json::json!({"name": name})).unwrap();
        let modes = modes_of(phy);
        let mut rng = Rng::stream(seed, "sta", "rate-up");
        let mut expected = rng.clone();
        drop(spec.build(Start { first: RateIndex(0), modes: &modes, rng: &mut rng }));
        let draws = if name == "minstrel-ht" { 10 * modes.count().max(10) } else { 0 };
        (0..draws).for_each(|_| { expected.unit(); });
        prop_assert_eq!(rng.unit(), expected.unit());
    }

    /// Whatever is acknowledged, modes exist; a sample that is not answered is followed by the second mode of the chain.
    #[test]
    fn any_outcomes(
        phy in prop::sample::select(vec!["802.11b", "802.11n", "802.11ac", "802.11be"]),
        outcomes in prop::collection::vec((1u32..64, 0u32..=64, 0u64..30_000), 1..400),
    ) {
        let modes = modes_of(phy);
        let count = modes.groups().concat().len();
        let mut peer = Peer::new(&minstrel(), &modes, 0, 1);
        for (sent, acknowledged, us) in outcomes {
            peer.now += Time::from_us(us);
            let sampled = peer.samples;
            peer.attempt(sent, acknowledged.min(sent));
            prop_assert!(usize::from(peer.next.0.max(peer.link.0)) < count);
            prop_assert!(!peer.samples || acknowledged > 0 || sampled);
            prop_assert!(!sampled || acknowledged > 0 || peer.rts == peer.samples, "the chain goes on, or begins again");
        }
    }
}

/// Goodput of a saturated uplink in Mbps, from the end of the first second on.
fn goodput(phy: &str, adaptation: &RateSpec, distance_m: f64, seed: u64) -> f64 {
    let phy: PhySpec = serde_json::from_value(serde_json::json!({"name": phy})).unwrap();
    let modes = phy.modes(&Default::default(), "phy").unwrap();
    let mcs = modes.iter().last().unwrap().mode.mcs;
    let mut station = StationSpec::with_mcs("sta", mcs);
    station.position_m = Some([distance_m, 0.0]);
    station.tx_queue.limit_packets = 2_000;
    let mut spec = BssSpec::new(vec![station]);
    spec.phy = phy;
    spec.mac.edca = Some(EdcaSpec::default());
    spec.mac.rate_adaptation = adaptation.clone();
    let mut bss = Bss::new(&spec, seed).unwrap();
    let (mut begin, mut delivered) = (Time::ZERO, 0);
    let (warmup, end) = (Time::from_ms(1_000), Time::from_ms(2_000));
    let mut now = Time::ZERO;
    while now < end {
        while bss.station_tx_queue(StationId(0)).len() < 1_000 {
            bss.send_up(StationId(0), &packet(0, 0, 1_500), now);
        }
        for _ in 0..100 {
            now = bss.next_event();
            bss.advance(now);
        }
        if now < warmup {
            (begin, delivered) = (now, bss.snapshot(now).stations[0].up.delivered);
        }
    }
    let all = bss.snapshot(now).stations[0].up.delivered;
    (all - delivered) as f64 * 12e-3 / (now - begin).as_secs_f64()
}

/// Over distance it has nearly the goodput of a sender that knows the channel.
#[test]
fn it_converges_to_the_best_mode() {
    let distances = [5.0, 9.0, 14.0, 20.0, 28.0, 40.0, 55.0];
    for phy in ["802.11n", "802.11ac", "802.11ax"] {
        let mut ratios = vec![];
        for distance in distances {
            let bound = goodput(phy, &RateSpec::Ideal(ideal::Spec::default()), distance, 1);
            let reached = goodput(phy, &minstrel(), distance, 1);
            println!("{phy} {distance} {bound} {reached}");
            ratios.push(reached / bound);
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean > 0.95, "{phy}: {mean}, {ratios:?}");
        assert!(ratios.iter().all(|&ratio| ratio > 0.85), "{phy}: {ratios:?}");
    }
}
