//! What the tests of this crate share: packets, BSSs, a saturated driver and a log of what the medium did.

#![allow(dead_code)] // Each test file uses its part.

mod packets;

pub use packets::packet;
use wifair_core::{Packet, Rng, StationId, Time};
use wifair_queue::{Maker, Scheme, SchemeSpec};
use wifair_wlan::{
    Bss, BssSnapshot, BssSpec, ChainOutcome, ChainSegment, ChannelAccess, Choice, Feedback, Modes, Node,
    Output, PhySpec, RateAdaptation, RateIndex, RateSpec, Start, StationPhy, StationSpec, TakenChain,
};

/// How many times larger than usual the long tests are: 10 under `WIFAIR_VALIDATE`.
pub fn effort() -> u64 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some() { 10 } else { 1 }
}

pub fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// IFS and mean backoff at CWmin.
pub fn mean_wait(access: &ChannelAccess) -> Time {
    let values = u64::from(access.backoffs[0]);
    access.ifs + Time::from_ns(access.slot.as_ns() * (values - 1) / 2)
}

/// [`packet`] towards the station.
pub fn packet_down(station: u16, seq: u32, ip_bytes: u32) -> Packet {
    let mut packet = packet(station, seq, ip_bytes);
    packet.tuple = packet.tuple.reversed();
    packet
}

/// 802.11b with Table I of `adaptive-pushout`: long preamble, MAC ACK at 1 Mbps, 42 bytes of overhead.
pub fn table_one() -> PhySpec {
    let mut spec = PhySpec::default();
    spec.bss_mut().mac_header_bytes = Some(30);
    spec
}

/// `n` stations at `mbps`.
pub fn stations(n: usize, mbps: f64) -> Vec<StationSpec> {
    (0..n).map(|i| StationSpec::new(format!("sta-{i}"), mbps)).collect()
}

/// `n` stations of 802.11b at 11 Mbps.
pub fn cell_b(n: usize) -> BssSpec {
    BssSpec::new(stations(n, 11.0))
}

/// `n` stations of 802.11g at 54 Mbps.
pub fn cell_g(n: usize) -> BssSpec {
    let mut spec = BssSpec::new(stations(n, 54.0));
    spec.phy = PhySpec::Erp(Default::default());
    spec
}

/// The modes of a link of a BSS with a PHY, by its name, with that PHY's defaults.
pub fn modes_of(phy: &str) -> Modes {
    let phy: PhySpec = serde_json::from_value(serde_json::json!({"name": phy})).unwrap();
    phy.modes(&StationPhy::default(), "phy").unwrap()
}

/// A rate adaptation towards one peer, and a clock.
pub struct Peer {
    adaptation: Box<dyn RateAdaptation>,
    /// The mode of the next attempt.
    pub next: RateIndex,
    pub link: RateIndex,
    /// Whether that samples its mode, and whether an RTS precedes it.
    pub samples: bool,
    pub rts: bool,
    pub now: Time,
}

impl Peer {
    pub fn new(spec: &RateSpec, modes: &Modes, first: u16, seed: u64) -> Peer {
        let rng = &mut Rng::stream(seed, "sta", "rate-up");
        let first = RateIndex(first);
        Peer {
            adaptation: spec.build(Start { first, modes, rng }),
            next: first,
            link: first,
            samples: false,
            rts: false,
            now: Time::ZERO,
        }
    }

    /// An attempt with so many MPDUs; time does not pass.
    pub fn attempt(&mut self, sent: u32, acknowledged: u32) {
        self.attempt_on(sent, acknowledged, |_, _| 0.0);
    }

    /// The same on a channel.
    pub fn attempt_on(
        &mut self,
        sent: u32,
        acknowledged: u32,
        mut error_rate: impl FnMut(RateIndex, u32) -> f64,
    ) {
        let (mode, now) = (self.next, self.now);
        let feedback = &mut Feedback { mode, sent, acknowledged, now, error_rate: &mut error_rate };
        let choice = self.adaptation.on_attempt(feedback);
        self.choose(choice);
    }
}

impl Peer {
    /// Takes the retry chain of the next PPDU.
    pub fn take_chain(&mut self) -> Vec<ChainSegment> {
        let TakenChain { segments, next, .. } = self.adaptation.retry_chains().expect("a chain").take();
        self.choose(next);
        segments
    }

    /// A PPDU with a chain has ended.
    pub fn end_chain(&mut self, tries: Vec<(RateIndex, u32)>, sent: u32, acknowledged: u32) {
        let outcome = ChainOutcome { tries, sent, acknowledged, now: self.now };
        let chains = self.adaptation.retry_chains().expect("a chain");
        let mut choice = chains.on_end(&outcome);
        if acknowledged > 0 && !choice.samples {
            choice = chains.ask(self.now);
        }
        self.choose(choice);
    }

    fn choose(&mut self, Choice { link, next, samples, rts }: Choice) {
        (self.link, self.next, self.samples, self.rts) = (link, next, samples, rts);
    }
}

/// A scheme of a test's own, as a plan has it.
pub fn external<S: Scheme + 'static>(make: impl Fn() -> S + Clone + Send + Sync + 'static) -> SchemeSpec {
    let mut spec: SchemeSpec = serde_json::from_str(r#"{"name": "external", "id": "a test's"}"#).unwrap();
    spec.supply(&mut |_| {
        let make = make.clone();
        Some(Maker::new(move || Box::new(make())))
    });
    spec
}

/// What a saturated uplink did.
pub struct Saturated {
    pub measured: BssSnapshot,
    pub ip_bytes: u64,
}

impl Saturated {
    pub fn mbps(&self) -> f64 {
        let delivered: u64 = self.measured.stations.iter().map(|s| s.up.delivered).sum();
        (delivered * self.ip_bytes * 8) as f64 / self.measured.elapsed.as_secs_f64() * 1e-6
    }

    /// Share of transmissions that failed.
    pub fn failures(&self) -> f64 {
        let attempts: u64 = self.measured.stations.iter().map(|s| s.up.attempts).sum();
        let failed: u64 =
            self.measured.stations.iter().map(|s| s.up.retries + s.up.lost_at_retry_limit).sum();
        failed as f64 / attempts as f64
    }
}

/// Runs all stations with something to send, always, until `exchanges` have begun after a warm-up of a tenth.
pub fn saturate(spec: &BssSpec, seed: u64, exchanges: u64, ip_bytes: u32) -> Saturated {
    let mut bss = Bss::new(spec, seed).unwrap();
    let n = spec.stations.len() as u16;
    let fill = |bss: &mut Bss, now: Time| {
        for station in (0..n).map(StationId) {
            while bss.station_tx_queue(station).len() < 60 {
                bss.send_up(station, &packet(station.0, 0, ip_bytes), now);
            }
        }
    };
    let mut begin = None;
    let mut now = Time::ZERO;
    fill(&mut bss, now);
    loop {
        // 50 exchanges lose or deliver at most 50 frames of a station.
        for _ in 0..100 {
            now = bss.next_event();
            bss.advance(now);
        }
        let snapshot = bss.snapshot(now);
        match &begin {
            None if snapshot.exchanges >= exchanges / 10 => begin = Some(snapshot),
            Some(begin) if snapshot.exchanges - begin.exchanges >= exchanges => {
                return Saturated { measured: snapshot.since(begin), ip_bytes: u64::from(ip_bytes) };
            }
            _ => {}
        }
        fill(&mut bss, now);
    }
}

/// What the medium did and when, in microseconds where whole: for tests that read like a script.
pub struct Logged {
    pub bss: Bss,
    before: BssSnapshot,
    pub log: Vec<(Time, String)>,
}

impl Logged {
    pub fn new(spec: &BssSpec, seed: u64) -> Logged {
        let bss = Bss::new(spec, seed).unwrap();
        let before = bss.snapshot(Time::ZERO);
        Logged { bss, before, log: Vec::new() }
    }

    /// Hands packets of 1500 bytes to a transmit queue.
    pub fn up(&mut self, station: u16, packets: u32, now: Time) {
        for seq in 0..packets {
            self.bss.send_up(StationId(station), &packet(station, seq, 1_500), now);
        }
    }

    pub fn down(&mut self, station: u16, packets: u32, now: Time) {
        for seq in 0..packets {
            self.bss.send_down(StationId(station), &packet_down(station, seq, 1_500), now);
        }
    }

    /// One event.
    pub fn step(&mut self) {
        let now = self.bss.next_event();
        let delivered = match self.bss.advance(now) {
            Some(Output::Delivery(delivery)) => Some(delivery.to),
            _ => None,
        };
        let after = self.bss.snapshot(now);
        for (index, (new, old)) in after.stations.iter().zip(&self.before.stations).enumerate() {
            for (way, new, old) in [("down", &new.down, &old.down), ("up", &new.up, &old.up)] {
                let mut note = |word: &str, count: u64| {
                    for _ in 0..count {
                        self.log.push((now, format!("{word} {way} {index}")));
                    }
                };
                note("start", new.attempts - old.attempts);
                note("lost", new.lost_at_retry_limit - old.lost_at_retry_limit);
                note("retry", new.retries - old.retries);
                note("duplicate", new.duplicates - old.duplicates);
            }
        }
        if let Some(to) = delivered {
            let to = match to {
                Node::Ap => "ap".to_owned(),
                Node::Station(station) => station.0.to_string(),
            };
            self.log.push((now, format!("delivered to {to}")));
        }
        self.before = after;
    }

    /// All events before `end`.
    pub fn run_before(&mut self, end: Time) {
        while self.bss.next_event() < end {
            self.step();
        }
    }

    /// All events there are.
    pub fn run(&mut self) {
        self.run_before(Time::MAX);
    }

    /// When things of that name happened.
    pub fn times(&self, what: &str) -> Vec<Time> {
        self.log.iter().filter(|(_, name)| name == what).map(|(at, _)| *at).collect()
    }
}
