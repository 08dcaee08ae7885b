//! CUBIC's window against the formulas of RFC 9438, evaluated here from the RFC and not from the sender.

use crate::network;

use network::{Arrivals, End, Network, Path};
use wifair_core::{Packet, Time};
use wifair_tcp::TcpSpec;

const MSS: f64 = 1000.0;
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// A fixed delay each way; one data segment is lost at each of the given times, or every so many.
struct Losing {
    delay: Time,
    at: Vec<Time>,
    every: u64,
    sent: u64,
}

impl Path for Losing {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        let mut lost = false;
        if from == End::Sender && packet.payload_bytes > 0 {
            self.sent += 1;
            lost = self.sent.is_multiple_of(self.every);
            if self.at.first().is_some_and(|&at| now >= at) {
                self.at.remove(0);
                lost = true;
            }
        }
        [(!lost).then(|| now + self.delay), None]
    }
}

/// What a run is about.
#[derive(Clone)]
struct Setting {
    control: serde_json::Value,
    rtt_ms: u64,
    ssthresh_segments: u32,
    losses_s: Vec<u64>,
    lost_every: u64,
    /// Segments an ACK.
    ack_every: u8,
    byte_counting: bool,
}

impl Setting {
    fn new(control: serde_json::Value, rtt_ms: u64, ssthresh_segments: u32) -> Setting {
        Setting {
            control,
            rtt_ms,
            ssthresh_segments,
            losses_s: Vec::new(),
            lost_every: u64::MAX,
            ack_every: 1,
            byte_counting: false,
        }
    }

    fn network(&self) -> Network<Losing> {
        let spec: TcpSpec = serde_json::from_value(serde_json::json!({
            "congestion_control": self.control,
            "mss_bytes": MSS as u32,
            "receiver_window_segments": 10_000,
            "initial_window_segments": 10,
            "initial_ssthresh_segments": self.ssthresh_segments,
            "delayed_ack": { "segments": self.ack_every },
            "byte_counting": self.byte_counting.then(|| serde_json::json!({})),
            "sack": {},
        }))
        .unwrap();
        let at = self.losses_s.iter().map(|&s| Time::from_s(s)).collect();
        let path = Losing { delay: Time::from_ms(self.rtt_ms / 2), at, every: self.lost_every, sent: 0 };
        let mut network = Network::new(&spec, 1, path);
        network.start(0, u64::MAX);
        network
    }
}

/// One stage of congestion avoidance as RFC 9438 describes it: 4.2 (equations 1 and 2) and 4.3, with an ACK a segment and
/// a fixed round-trip time.
struct Stage {
    began_s: f64,
    cwnd_epoch: f64,
    w_max: f64,
    cwnd_prior: f64,
}

impl Stage {
    /// `counted`: what counts of the segments that are acknowledged.
    fn window(&self, now_s: f64, rtt_s: f64, counted: f64, reno_friendly: bool) -> f64 {
        let t = now_s - self.began_s;
        let k = ((self.w_max - self.cwnd_epoch).max(0.0) / C).cbrt();
        let cubic = C * (t - k).powi(3) + self.w_max.max(self.cwnd_epoch);
        // α a round trip up to the window at the last loss, one segment beyond.
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        let rounds = t / rtt_s * counted;
        let slow = ((self.cwnd_prior - self.cwnd_epoch) / alpha).clamp(0.0, rounds);
        let reno = self.cwnd_epoch + alpha * slow + (rounds - slow);
        if reno_friendly { cubic.max(reno) } else { cubic }
    }
}

/// Runs for a minute and holds the window against the RFC's every 100 ms; returns how many stages it saw.
fn follow(setting: &Setting) -> usize {
    let fast_convergence = setting.control["fast_convergence"].as_bool().unwrap_or(true);
    let reno_friendly = setting.control["reno_friendly"].as_bool().unwrap_or(true);
    let counted = if setting.byte_counting { 1.0 } else { 1.0 / f64::from(setting.ack_every) };
    let mut network = setting.network();
    let rtt_s = setting.rtt_ms as f64 * 1e-3;
    let (mut stage, mut stages, mut last_w_max): (Option<Stage>, usize, Option<f64>) = (None, 0, None);
    let (mut before, mut cwnd_prior) = (0.0, f64::INFINITY);
    for ms in 0..60_000 {
        network.run(Time::from_ms(ms));
        let sender = &network.connections[0].sender;
        let (cwnd, now_s) = (f64::from(sender.cwnd_bytes()) / MSS, ms as f64 * 1e-3);
        if sender.is_in_recovery() {
            if stage.take().is_some() {
                // 4.6 and 4.7, of the window that the last look saw.
                let gives_way = fast_convergence && last_w_max.is_some_and(|w_max| before < w_max);
                last_w_max = Some(if gives_way { before * (1.0 + BETA) / 2.0 } else { before });
                cwnd_prior = before;
                assert!((cwnd / before - BETA).abs() < 0.02, "{now_s} s: {before} to {cwnd}");
            }
        } else if cwnd >= f64::from(sender.ssthresh_bytes()) / MSS {
            let current = stage.get_or_insert_with(|| {
                stages += 1;
                Stage { began_s: now_s, cwnd_epoch: cwnd, w_max: last_w_max.unwrap_or(cwnd), cwnd_prior }
            });
            let expected = current.window(now_s, rtt_s, counted, reno_friendly);
            if ms % 100 == 0 {
                let off = (cwnd - expected).abs();
                assert!(
                    off < 1.0 + 0.01 * expected,
                    "{}, {now_s} s: {cwnd}, RFC {expected}",
                    setting.control
                );
            }
        }
        before = cwnd;
    }
    assert_eq!(network.connections[0].sender.stats().timeouts, 0);
    stages
}

#[test]
fn the_window_follows_the_formula_for_a_minute() {
    // Concave and convex, above and below the window of the loss before: fast convergence at 24 s.
    for control in [
        serde_json::json!({ "name": "cubic" }),
        serde_json::json!({ "name": "cubic", "fast_convergence": false }),
    ] {
        let losses_s = vec![5, 12, 20, 24, 35, 48];
        assert_eq!(follow(&Setting { losses_s, ..Setting::new(control, 100, 100) }), 7);
    }
}

#[test]
fn where_reno_is_faster_the_window_is_renos() {
    // 20 segments and 20 ms: Reno gains half a segment each 20 ms, up to the window at the last loss, and a whole one then;
    // half as much with an ACK for every second segment, unless bytes are counted.
    let cubic = serde_json::json!({ "name": "cubic" });
    let losses_s: Vec<u64> = (1..20).map(|i| 3 * i).collect();
    let usual = Setting { losses_s, ..Setting::new(cubic, 20, 20) };
    assert_eq!(follow(&usual), 20);
    assert_eq!(follow(&Setting { ack_every: 2, ..usual.clone() }), 20);
    assert_eq!(follow(&Setting { ack_every: 2, byte_counting: true, ..usual.clone() }), 20);
    let control = serde_json::json!({ "name": "cubic", "reno_friendly": false });
    assert_eq!(follow(&Setting { control, ..usual }), 20);
}

/// RFC 9438, 5.1: with one loss in 1/p segments the mean window is 1.054 (RTT / p)^(3/4), in segments and seconds. The
/// first loss comes near the window of that balance: CUBIC's way there is a matter of minutes.
#[test]
fn periodic_loss_gives_the_rfcs_mean_window() {
    for (rtt_ms, every) in [(50, 10_000), (100, 10_000)] {
        // Fast convergence would answer to windows that differ by rounding alone.
        let control =
            serde_json::json!({ "name": "cubic", "reno_friendly": false, "fast_convergence": false });
        let rtt_s = rtt_ms as f64 * 1e-3;
        let law = 1.054 * (rtt_s * every as f64).powf(0.75);
        let setting = Setting::new(control, rtt_ms, (1.05 * law) as u32);
        let mut network = Setting { losses_s: vec![2], lost_every: every, ..setting }.network();
        let delivered = |network: &Network<Losing>| {
            network.connections[0].receiver.stats().payload_bytes_delivered as f64 / MSS
        };
        network.run(Time::from_s(20));
        let before = delivered(&network);
        network.run(Time::from_s(120));
        let window = (delivered(&network) - before) / 100.0 * rtt_s;
        eprintln!("RTT {rtt_ms} ms, one in {every}: {window:.1}, law {law:.1}");
        // The law knows no recovery: one round trip of 50 to 90 at 0.7 of the window.
        assert!((0.95..1.02).contains(&(window / law)), "{window} segments, law {law}");
    }
}

/// `arf-aware` hands on all that CUBIC has to hear, the round-trip time too.
#[test]
fn under_a_control_that_divides_nothing_the_window_is_the_same() {
    let cubic = serde_json::json!({ "name": "cubic" });
    let above = serde_json::json!({ "name": "arf-aware", "over": cubic });
    let windows = |control| {
        let mut network = Setting { losses_s: vec![5, 12], ..Setting::new(control, 100, 100) }.network();
        let look = |s| {
            network.run(Time::from_s(s));
            network.connections[0].sender.cwnd_bytes()
        };
        (0..20).map(look).collect::<Vec<_>>()
    };
    assert_eq!(windows(above), windows(cubic));
}
