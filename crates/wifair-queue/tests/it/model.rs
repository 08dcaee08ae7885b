//! Every scheme against a list that is scanned: same decisions, same order, same counters, after every step.
//!
//! Where a scheme picks at random, the model says from which packets it may pick and how many numbers it draws; that
//! the pick is uniform is tested by itself. Everything else must agree to the packet.

use crate::common;
use crate::naive;

use common::{ack, cases, data, upward};
use naive::against::{SCHEMES, Step, queue, run};
use proptest::prelude::*;
use wifair_core::{Ac, Packet, StationId, Time};
use wifair_queue::{Direction, Flows, FlowsSpec, SchemeSpec, TxQueue, TxQueueSpec, View};

fn step() -> impl Strategy<Value = Step> {
    let connection = || 0u32..6;
    prop_oneof![
        8 => (connection(), any::<bool>()).prop_map(|(connection, marked)| Step::Data { connection, marked }),
        12 => (connection(), 0u32..3, prop::bool::weighted(0.2))
            .prop_map(|(connection, more, echo)| Step::Ack { connection, more: more * 1460, echo }),
        1 => connection().prop_map(|connection| Step::Syn { connection }),
        2 => connection().prop_map(|connection| Step::UplinkData { connection }),
        1 => connection().prop_map(|connection| Step::Reset { connection }),
        8 => Just(Step::Take),
        8 => any::<bool>().prop_map(|delivered| Step::Finish { delivered }),
        1 => (1u32..14).prop_map(|packets| Step::Limit { packets }),
        1 => Just(Step::Silence),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(1500)) })]
    #[test]
    fn agrees_with_a_list(
        scheme in prop::sample::select(SCHEMES),
        limit in 1u32..12,
        counts_in_service in prop::bool::weighted(0.2),
        shrink in prop::bool::weighted(0.3),
        collect in prop::bool::weighted(0.8),
        shortcuts in any::<bool>(),
        steps in prop::collection::vec(step(), 1..250),
    ) {
        run(scheme, limit, counts_in_service, shrink, steps, collect, shortcuts)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(20)) })]
    /// Long enough for positions to be renumbered, and for slots and flow ids to be reused many times.
    #[test]
    fn agrees_with_a_list_in_the_long_run(
        scheme in prop::sample::select(SCHEMES),
        limit in 20u32..100,
        steps in prop::collection::vec(step(), 3000..4000),
    ) {
        run(scheme, limit, false, false, steps, true, true)?;
    }
}

/// Which of the packets queued is evicted by an arrival, over many streams.
fn chi_square(scheme: &str, queued: &[Packet], arrival: Packet, candidates: &[Packet], uplink: u32) -> f64 {
    let runs = 20_000u64;
    let mut hits = vec![0u32; candidates.len()];
    for seed in 0..runs {
        let scheme: SchemeSpec = serde_json::from_str(scheme).unwrap();
        let spec = TxQueueSpec { limit_packets: queued.len() as u32, scheme, ..TxQueueSpec::default() };
        let mut tx_queue = TxQueue::new(&spec, seed, "ap");
        let mut flows = Flows::new(&FlowsSpec::default());
        for n in 0..uplink {
            flows.observe(&upward(data(n, 1)), Direction::Up, Time::ZERO, |_| false);
        }
        for &packet in queued.iter().chain([&arrival]) {
            let flow = flows.observe(&packet, Direction::Down, Time::ZERO, |_| false);
            tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), Time::ZERO, || View {
                flows: &flows,
                links: &[],
            });
        }
        let left = queue(&tx_queue);
        let gone = candidates.iter().position(|p| !left.contains(p)).expect("a candidate goes");
        hits[gone] += 1;
    }
    let expected = runs as f64 / candidates.len() as f64;
    hits.iter().map(|&hit| (f64::from(hit) - expected).powi(2) / expected).sum()
}

#[test]
fn random_picks_are_uniform() {
    // 4 degrees of freedom: 99.99 % of all sets of streams stay under 23.5.
    let acks: Vec<Packet> = (0..5).map(|n| ack(n, 10)).collect();
    let datas: Vec<Packet> = (10..15).map(|n| data(n, 1)).collect();
    let queued: Vec<Packet> = acks.iter().zip(&datas).flat_map(|(&a, &d)| [a, d]).collect();
    let spm_af = chi_square(r#"{"name": "spm-af"}"#, &queued, data(20, 1), &acks, 5);
    assert!(spm_af < 23.5, "{spm_af}");
    // 5 of 10 uplink and 5 of 5 downlink flows stored: data. 5 of 5 and 5 of 6 (the arrival's): an ACK.
    let adaptive = r#"{"name": "adaptive-pushout"}"#;
    for (uplink, candidates) in [(10, &datas), (5, &acks)] {
        let adaptive = chi_square(adaptive, &queued, data(20, 1), candidates, uplink);
        assert!(adaptive < 23.5, "{adaptive}");
    }
    let redundant: Vec<Packet> = (0..5).map(|i| ack(i % 2, 10 * (i + 1))).collect();
    let queued: Vec<Packet> = redundant.iter().copied().chain([ack(0, 90), ack(1, 90)]).collect();
    let pushout = r#"{"name": "ack-pushout", "redundant": "random"}"#;
    let pushout = chi_square(pushout, &queued, data(20, 1), &redundant, 2);
    assert!(pushout < 23.5, "{pushout}");
}
