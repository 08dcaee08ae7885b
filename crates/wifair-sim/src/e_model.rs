//! The E-model (ITU-T G.107), which predicts voice quality, with the default values of its Table 2 for everything but delay and
//! loss.
//!
//! R = Ro − Is − Id − Ie,eff (equation 7-1 without an advantage factor), of which Ro − Is is a constant and about 93.36:
//!
//! - Id = Idte + Idle + Idd (7-18 to 7-28) grows with the mouth-to-ear delay Ta: T = Ta, Tr = 2 Ta, no echo but that of perfect
//!   equipment (TELR 65 dB, WEPL 110 dB).
//! - Ie,eff = Ie + (95 − Ie) Ppl / (Ppl / BurstR + Bpl) (7-29) grows with the packet loss Ppl in per cent. BurstR = 1: losses
//!   are assumed independent. In a full buffer they occur in bursts, which reduce the quality more.
//!
//! The rating R is converted to a mean opinion score from 1 to 4.5 by Annex B, equation B-4.

use wifair_core::LogHistogram;

/// Parameters of a codec and its packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Voice per packet in milliseconds, recorded before the packet is sent.
    pub packet_ms: f64,
    /// Equipment impairment factor Ie (ITU-T G.113).
    pub equipment_impairment: f64,
    /// Packet-loss robustness factor Bpl (ITU-T G.113).
    pub loss_robustness: f64,
    /// From sending a packet to playing it, in milliseconds; `None` for the best possible delay.
    pub playout_delay_ms: Option<f64>,
}

/// Voice quality of a call in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voice {
    /// Mouth-to-ear delay in milliseconds: packetisation, and from sending a packet to playing it.
    pub mouth_to_ear_ms: f64,
    /// Share of the packets that are not played: lost, or too late.
    pub loss_ratio: f64,
    /// The transmission rating R, at most about 93.2.
    pub rating: f64,
    /// The mean opinion score, 1 to 4.5.
    pub mos: f64,
}

// Values that the defaults of Table 2 give.
/// SLR, the sending loudness rating in dB.
const SENDING_LOUDNESS_DB: f64 = 8.0;
/// RLR, the receiving loudness rating in dB.
const RECEIVING_LOUDNESS_DB: f64 = 2.0;
/// TELR, the talker echo loudness rating in dB.
const TALKER_ECHO_DB: f64 = 65.0;
/// WEPL, the weighted echo path loss in dB.
const ECHO_PATH_LOSS_DB: f64 = 110.0;
/// No, the total noise in dBm0p (7-3).
const NOISE_DBM0P: f64 = -61.179_214_384_241_69;
/// Is, simultaneous impairment: loudness, side tone, quantisation (7-8).
const SIMULTANEOUS_IMPAIRMENT: f64 = 1.413_568_081_343_861_6;

/// Ro, the signal-to-noise ratio (7-2).
const SIGNAL_TO_NOISE: f64 = 15.0 - 1.5 * (SENDING_LOUDNESS_DB + NOISE_DBM0P);

/// Returns the transmission rating R for a mouth-to-ear delay and the share of packets that are not played.
pub fn rating(codec: &Codec, mouth_to_ear_ms: f64, loss_ratio: f64) -> f64 {
    let loss_percent = 100.0 * loss_ratio;
    let ie = codec.equipment_impairment;
    let equipment = ie + (95.0 - ie) * loss_percent / (loss_percent + codec.loss_robustness);
    SIGNAL_TO_NOISE - SIMULTANEOUS_IMPAIRMENT - delay_impairment(mouth_to_ear_ms) - equipment
}

/// Id (7-18).
fn delay_impairment(ms: f64) -> f64 {
    talker_echo(ms) + listener_echo(2.0 * ms) + absolute_delay(ms)
}

/// Idte (7-19 to 7-22); there is none below 1 ms (7.4).
fn talker_echo(ms: f64) -> f64 {
    if ms < 1.0 {
        return 0.0;
    }
    let loudness = TALKER_ECHO_DB - 40.0 * libm::log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0))
        + 6.0 * libm::exp(-0.3 * ms * ms);
    let echo = 80.0 + 2.5 * (loudness - 14.0);
    let noise = -1.5 * (NOISE_DBM0P - RECEIVING_LOUDNESS_DB);
    let half = (noise - echo) / 2.0;
    (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-ms))
}

/// Idle (7-25, 7-26), by the round-trip delay.
fn listener_echo(round_trip_ms: f64) -> f64 {
    let echo = 10.5 * (ECHO_PATH_LOSS_DB + 7.0) * libm::pow(round_trip_ms + 1.0, -0.25);
    let half = (SIGNAL_TO_NOISE - echo) / 2.0;
    half + libm::sqrt(half * half + 169.0)
}

/// Idd (7-27, 7-28): the effect of a long delay on a conversation.
fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(ms / 100.0);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The mean opinion score of a rating (Annex B, B-4).
pub fn mean_opinion_score(rating: f64) -> f64 {
    let r = rating.clamp(0.0, 100.0);
    // Between 0 and 6.5 the polynomial is below the minimum score.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

/// Returns the voice quality of a call whose packets had these one-way delays in nanoseconds, with `lost` further packets lost;
/// `None` without packets. If the codec sets no playout delay, the one with the best rating is used; the delays are known to
/// 1/32.
pub fn voice(codec: &Codec, delays: &LogHistogram, lost: u64) -> Option<Voice> {
    let received = delays.count();
    let all = received + lost;
    if all == 0 {
        return None;
    }
    let heard = |playout_ms: f64, in_time: u64| {
        let mouth_to_ear_ms = codec.packet_ms + playout_ms;
        let loss_ratio = (all - in_time) as f64 / all as f64;
        let rating = rating(codec, mouth_to_ear_ms, loss_ratio);
        Voice { mouth_to_ear_ms, loss_ratio, rating, mos: mean_opinion_score(rating) }
    };
    let mut in_time = 0;
    let by_delay = delays.iter().map(|(ns, count)| {
        in_time += count;
        (ns * 1e-6, in_time)
    });
    if let Some(playout_ms) = codec.playout_delay_ms {
        let in_time =
            by_delay.take_while(|(ms, _)| *ms <= playout_ms).last().map_or(0, |(_, in_time)| in_time);
        return Some(heard(playout_ms, in_time));
    }
    let choices = by_delay.map(|(ms, in_time)| heard(ms, in_time));
    // On a tie the first, which is the shortest.
    let best = choices.reduce(|best, next| if next.rating > best.rating { next } else { best });
    best.or_else(|| Some(heard(0.0, 0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const G711: Codec =
        Codec { packet_ms: 20.0, equipment_impairment: 0.0, loss_robustness: 25.1, playout_delay_ms: None };

    /// G.107, 7.7: all defaults together give R = 93.2.
    #[test]
    fn the_defaults_give_the_rating_that_the_recommendation_names() {
        assert!((rating(&G711, 0.0, 0.0) - 93.2).abs() < 0.05, "{}", rating(&G711, 0.0, 0.0));
    }

    /// By hand: without loss, B-4 at 93.2 is 1 + 3.262 + 93.2 · 33.2 · 6.8 · 7e-6; a loss of Bpl per cent costs 95 / 2.
    #[test]
    fn scores_by_hand() {
        assert!((mean_opinion_score(93.2) - (4.262 + 93.2 * 33.2 * 6.8 * 7e-6)).abs() < 1e-12);
        assert!((mean_opinion_score(93.2) - 4.41).abs() < 0.005);
        assert_eq!((mean_opinion_score(-3.0), mean_opinion_score(120.0)), (1.0, 4.5));
        assert!((mean_opinion_score(60.0) - 3.1).abs() < 1e-12);
        let half = rating(&G711, 0.0, 0.0) - rating(&G711, 0.0, 0.251);
        assert!((half - 47.5).abs() < 1e-9);
        // Ta = 200 ms: X = 1, Idd = 25 (2^(1/6) − 3 (1 + 3^−6)^(1/6) + 2).
        let idd = 25.0 * (2f64.powf(1.0 / 6.0) - 3.0 * (1.0 + 1.0 / 729.0f64).powf(1.0 / 6.0) + 2.0);
        assert!((absolute_delay(200.0) - idd).abs() < 1e-12);
        assert!((idd - 3.044).abs() < 1e-3);
    }

    /// The common linear approximation of Id (R. G. Cole and J. H. Rosenbluth, "Voice over IP performance monitoring", 2001:
    /// 0.024 d, and 0.11 (d − 177.3) more above 177.3 ms) is within two points up to 350 ms.
    #[test]
    fn delay_costs_what_the_usual_approximation_says() {
        for ms in (0..=350).map(f64::from) {
            let approximate = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
            assert!((delay_impairment(ms) - approximate).abs() < 2.0, "{ms} ms: {}", delay_impairment(ms));
        }
    }

    fn delays(ms: &[u64]) -> LogHistogram {
        let mut histogram = LogHistogram::new();
        ms.iter().for_each(|&ms| histogram.record(ms * 1_000_000));
        histogram
    }

    #[test]
    fn a_playout_buffer_trades_delay_for_loss() {
        // One packet in a hundred is a second late: losing it is better than waiting for it.
        let mut times = vec![10; 99];
        times.push(1_000);
        let patient = voice(&Codec { playout_delay_ms: Some(1_100.0), ..G711 }, &delays(&times), 0).unwrap();
        let best = voice(&G711, &delays(&times), 0).unwrap();
        assert_eq!((best.loss_ratio, patient.loss_ratio), (0.01, 0.0));
        assert!((best.mouth_to_ear_ms - 30.0).abs() < 1.0, "{}", best.mouth_to_ear_ms);
        assert!(best.mos > 4.2 && patient.mos < 3.0, "{} {}", best.mos, patient.mos);
        // Half of them are slightly late: waiting for them is better.
        let slow = voice(&G711, &delays(&[10, 60, 10, 60]), 0).unwrap();
        assert_eq!(slow.loss_ratio, 0.0);
    }

    #[test]
    fn silence() {
        assert_eq!(voice(&G711, &delays(&[]), 0), None);
        let dead = voice(&G711, &delays(&[]), 7).unwrap();
        assert_eq!((dead.loss_ratio, dead.mos < 1.5), (1.0, true));
    }

    proptest! {
        /// The best playout delay is no worse than any fixed one that plays something, and longer delays or more loss are never
        /// better.
        #[test]
        fn the_best_is_the_best(
            times in prop::collection::vec(1u64..2_000, 1..60), lost in 0u64..20, later in 0.0..500.0f64,
        ) {
            let histogram = delays(&times);
            let fixed = later + 1.04 * *times.iter().min().unwrap() as f64;
            let best = voice(&G711, &histogram, lost).unwrap();
            let given = voice(&Codec { playout_delay_ms: Some(fixed), ..G711 }, &histogram, lost).unwrap();
            prop_assert!(best.rating >= given.rating - 1e-9, "{best:?} {given:?}");
            prop_assert!((1.0..=4.5).contains(&best.mos));
            let later: Vec<u64> = times.iter().map(|ms| ms + 200).collect();
            prop_assert!(voice(&G711, &delays(&later), lost).unwrap().rating <= best.rating + 0.5);
            prop_assert!(voice(&G711, &histogram, lost + 5).unwrap().rating <= best.rating + 1e-9);
        }
    }
}
