// SPDX-License-Identifier: GPL-2.0-only
//! Drives the kernel's minstrel_ht and wifair's rate adaptation `minstrel-ht` with the same outcomes of transmissions, and
//! compares the mode of each attempt.

use std::fmt::Write;

use wifair_core::{Rng, Time};
use wifair_wlan::{
    Choice, Feedback, Format, Modes, PhySpec, RateAdaptation, RateIndex, RateSpec, Start, StationPhy,
};

use crate::oracle::Kernel;

/// Random numbers of the kernel's ten orders of ten rates.
const RANDOM_NUMBERS: usize = 100;

/// A link, and what its driver gives mac80211.
struct Setting {
    /// The PHY's name in wifair and for the oracle.
    phy: [&'static str; 2],
    width_mhz: u16,
    streams: u8,
    short_guard_interval: bool,
    /// Rates per transmission, and tries per rate.
    chain: u32,
    max_attempts: u32,
}

impl Setting {
    fn name(&self) -> String {
        let Setting { phy: [phy, _], width_mhz, streams, short_guard_interval, chain, max_attempts } = self;
        let interval = if *short_guard_interval { ", short guard interval" } else { "" };
        format!("{phy}, {width_mhz} MHz, streams: {streams}{interval}; rates: {chain}, tries: {max_attempts}")
    }

    fn modes(&self) -> Modes {
        let mut phy = serde_json::json!({ "name": self.phy[0] });
        if self.has_groups() {
            phy["width_mhz"] = self.width_mhz.into();
            phy["streams"] = self.streams.into();
            phy["guard_interval_ns"] = if self.short_guard_interval { 400 } else { 800 }.into();
        }
        let phy: PhySpec = serde_json::from_value(phy).unwrap();
        phy.modes(&StationPhy::default(), "phy").unwrap()
    }

    fn has_groups(&self) -> bool {
        matches!(self.phy[1], "ht" | "vht")
    }

    fn spec(&self) -> RateSpec {
        let spec = serde_json::json!({
            "name": "minstrel-ht", "chain": self.chain, "max_attempts": self.max_attempts,
        });
        serde_json::from_value(spec).unwrap()
    }
}

/// A mode and its tries as the kernel's side says them.
#[derive(Debug)]
struct Rate {
    index: RateIndex,
    tries: u32,
    rts: bool,
}

/// The kernel's rates of a transmission.
#[derive(Debug)]
struct Rates {
    samples: bool,
    rates: Vec<Rate>,
}

fn ask(kernel: &mut Kernel, modes: &Modes, now: Time, is_new: bool) -> Rates {
    let answer = kernel.ask(&format!("f {} {}", now.as_ns(), u8::from(is_new)));
    let numbers: Vec<u32> = answer.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let all = modes.groups().concat();
    let rate = |rate: &[u32]| {
        let [mcs, streams, width_mhz, short, tries, rts] = *rate else { panic!("unknown answer {answer}") };
        let is_it = |index: &&RateIndex| {
            let mode = modes.on_air(**index).mode;
            let interval_ns = if short == 1 { 400 } else { 800 };
            match mode.format {
                Format::Dsss | Format::Ofdm => u32::from(index.0) == mcs,
                _ => {
                    (mode.mcs.into(), mode.streams.into(), mode.width_mhz.into(), mode.guard_interval_ns)
                        == (mcs, streams, width_mhz, interval_ns)
                }
            }
        };
        let index = *all.iter().find(is_it).unwrap_or_else(|| panic!("no mode {rate:?}"));
        Rate { index, tries, rts: rts == 1 }
    };
    Rates { samples: numbers[0] == 1, rates: numbers[1..].chunks(6).map(rate).collect() }
}

/// How often something happened, so that a comparison that compared nothing is seen.
#[derive(Default)]
struct Counts {
    attempts: u64,
    samples: u64,
    /// Transmissions that went beyond the chain's first mode, and those that nobody answered.
    advanced: u64,
    unanswered: u64,
    /// Changes of the first mode of the chain, and how many modes were tried.
    changes: u64,
    tried: usize,
}

/// Random shares of MPDUs that arrive: fewer in faster modes, in most groups none beyond some MCS.
fn random_channel(modes: &Modes, rng: &mut Rng) -> Vec<f64> {
    let groups = modes.groups();
    let mut shares = vec![0.0; groups.iter().map(Vec::len).sum()];
    for group in groups {
        let limit = rng.below(group.len() as u32 + 3);
        for (place, index) in group.into_iter().enumerate() {
            let is_good = (place as u32) < limit;
            shares[usize::from(index.0)] = if is_good { 1.0 - 0.4 * rng.unit() } else { 0.3 * rng.unit() };
        }
    }
    shares
}

/// Compares `steps` transmissions. The first that differs is described.
fn compare_one(oracle: &str, setting: &Setting, seed: u64, steps: u32) -> (Counts, Option<String>) {
    let modes = setting.modes();
    let slowest = modes.groups()[0][0];
    let mut draws = Rng::stream(seed, "sta", "rate-up");
    let numbers = {
        let mut draws = draws.clone();
        (0..RANDOM_NUMBERS).map(move |_| draws.below(10).to_string()).collect::<Vec<_>>()
    };
    let mut wifair = setting.spec().build(Start { first: slowest, modes: &modes, rng: &mut draws });
    let mut arguments = vec![setting.phy[1].to_owned()];
    let flags = [setting.width_mhz.into(), setting.streams.into(), setting.short_guard_interval.into()];
    arguments
        .extend(flags.into_iter().chain([setting.chain, setting.max_attempts]).map(|flag| flag.to_string()));
    arguments.extend(numbers);
    let mut kernel = Kernel::start_with(oracle, &arguments);
    let mut rng = Rng::stream(seed, "compare", "minstrel");
    let mut shares = random_channel(&modes, &mut rng);
    let mut now = Time::ZERO;
    let mut choice = Choice::from(slowest);
    let mut was_answered = false;
    let mut counts = Counts::default();
    let mut tried = vec![false; shares.len()];
    for step in 0..steps {
        if rng.chance(1e-3) {
            shares = random_channel(&modes, &mut rng);
        }
        let rates = ask(&mut kernel, &modes, now, was_answered);
        now += Time::from_ms(rng.below(8).into());
        let sent = if rates.samples || !setting.has_groups() { 1 } else { 1 + rng.below(32) };
        let silent = if rng.chance(0.05) { 0.0 } else { 1.0 };
        let (mut used, mut tries, mut acknowledged) = (0, 0, 0);
        'chain: for rate in &rates.rates {
            used += 1;
            for attempt in 1..=rate.tries {
                let expected = (rate.index, rates.samples, rate.rts);
                if (choice.next, choice.samples, choice.rts) != expected {
                    let mut said =
                        format!("step {step}, mode {used}, attempt {attempt}: {rates:?}, {choice:?}");
                    let _ = write!(said, " at {now}");
                    return (counts, Some(said));
                }
                tries = attempt;
                tried[usize::from(rate.index.0)] = true;
                let share = silent * shares[usize::from(rate.index.0)];
                acknowledged = (0..sent).filter(|_| rng.chance(share)).count() as u32;
                counts.attempts += 1;
                let link = choice.link;
                choice = attempt_on(wifair.as_mut(), rate.index, sent, acknowledged, now);
                counts.changes += u64::from(choice.link != link);
                if acknowledged > 0 {
                    break 'chain;
                }
            }
        }
        was_answered = acknowledged > 0;
        counts.samples += u64::from(rates.samples);
        counts.advanced += u64::from(used > 1);
        counts.unanswered += u64::from(!was_answered);
        kernel.ask(&format!("t {} {used} {tries} {sent} {acknowledged}", now.as_ns()));
    }
    counts.tried = tried.iter().filter(|&&tried| tried).count();
    (counts, None)
}

fn attempt_on(
    wifair: &mut dyn RateAdaptation,
    mode: RateIndex,
    sent: u32,
    acknowledged: u32,
    now: Time,
) -> Choice {
    let error_rate = &mut |_, _| panic!("no sender knows the error rates");
    wifair.on_attempt(&mut Feedback { mode, sent, acknowledged, now, error_rate })
}

const HT: [&str; 2] = ["802.11n", "ht"];
const VHT: [&str; 2] = ["802.11ac", "vht"];

const fn with(
    phy: [&'static str; 2],
    width_mhz: u16,
    streams: u8,
    short_guard_interval: bool,
    [chain, max_attempts]: [u32; 2],
) -> Setting {
    Setting { phy, width_mhz, streams, short_guard_interval, chain, max_attempts }
}

const SETTINGS: [Setting; 12] = [
    with(HT, 20, 1, false, [4, 10]),
    with(HT, 20, 2, true, [4, 10]),
    with(HT, 40, 2, true, [4, 10]),
    with(HT, 40, 4, true, [4, 7]),
    with(HT, 40, 3, false, [3, 11]),
    with(HT, 40, 3, true, [1, 1]),
    with(VHT, 20, 3, true, [4, 10]),
    with(VHT, 80, 1, false, [2, 7]),
    with(VHT, 80, 2, true, [4, 10]),
    with(VHT, 80, 4, true, [4, 10]),
    with(["802.11a", "ofdm"], 20, 1, false, [4, 10]),
    with(["802.11b", "cck"], 20, 1, false, [4, 10]),
];

/// Compares all settings, and says what it found. Returns whether any differs.
pub fn compare(oracle: &str, seed: u64, steps: u32) -> bool {
    let mut failed = false;
    for setting in SETTINGS {
        let (counts, parting) = compare_one(oracle, &setting, seed, steps);
        let found =
            parting.as_deref().map_or("equal at every attempt".into(), |at| format!("differs at {at}"));
        let Counts { attempts, samples, advanced, unanswered, changes, tried } = counts;
        println!(
            "minstrel_ht, {}: {found} ({attempts} attempts in {tried} modes, {samples} samples, {advanced} beyond the first mode, {unanswered} \
             unanswered, {changes} changes of the best)",
            setting.name()
        );
        failed |= parting.is_some();
    }
    failed
}
