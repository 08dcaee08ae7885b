//! Today's schemes against plain lists: what leaves in which order, what is dropped, marked, filtered; and that they keep no
//! packet back, lose none uncounted, and starve nobody.

use crate::common;
use crate::plain;

use common::cases;
use plain::against::{Step, run, uplink};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    let connection = || 0usize..8;
    prop_oneof![
        8 => (connection(), 1usize..6, any::<bool>())
            .prop_map(|(connection, packets, capable)| Step::Data { connection, packets, capable }),
        8 => (connection(), 0u32..3, prop::bool::weighted(0.1))
            .prop_map(|(connection, more, echo)| Step::Ack { connection, more: more * 1460, echo }),
        14 => Just(Step::Take),
        6 => (0usize..4, 1usize..9, prop_oneof![Just(u32::MAX), 0u32..1_600])
            .prop_map(|(station, packets, max_bytes)| Step::Gather { station, packets, max_bytes }),
        12 => (100u64..15_000).prop_map(|airtime_us| Step::Finish { airtime_us }),
        8 => (0usize..4, 100u64..15_000, 0..uplink().len())
            .prop_map(|(station, airtime_us, packet)| Step::Receive { station, airtime_us, packet }),
        6 => (1u64..12).prop_map(|ms| Step::Wait { ms }),
        1 => (50u64..400).prop_map(|ms| Step::Wait { ms }),
        1 => (1u32..40).prop_map(|packets| Step::Limit { packets }),
    ]
}

fn spec() -> impl Strategy<Value = serde_json::Value> {
    let signal = prop::sample::select(vec!["drop", "mark", "mark-and-echo"]);
    let filter = prop::sample::select(vec!["off", "conservative", "aggressive"]);
    let queues = prop::sample::select(vec![1u32, 65_536]);
    let name = prop::sample::select(vec!["codel", "fq-codel", "mac80211"]);
    let delays = (1u32..20, 5u32..60, any::<bool>());
    let amounts = (100u32..3_000, 65_535u32..100_000, 1u32..20);
    (name, signal, filter, queues, delays, amounts).prop_map(
        |(name, signal, filter, queues, (target, interval, slow), (quantum, limit_bytes, batch))| {
            let mut spec = serde_json::json!({
                "name": name, "signal": signal, "target_ms": target, "interval_ms": interval,
            });
            let keys = spec.as_object_mut().unwrap();
            if name != "codel" {
                keys.extend([
                    ("ack_filter".into(), filter.into()),
                    ("queues".into(), queues.into()),
                    ("quantum_bytes".into(), quantum.into()),
                    ("limit_bytes".into(), limit_bytes.into()),
                    ("drop_batch_packets".into(), batch.into()),
                ]);
            }
            if name == "mac80211" {
                keys.extend([("slow_station_rule".into(), slow.into()), ("active_for_ms".into(), 30.into())]);
            }
            spec
        },
    )
}

fn air_share() -> impl Strategy<Value = serde_json::Value> {
    let below = prop::sample::select(vec![0u32, 20, 100]);
    (1u32..20, 1u32..40, 20u32..900, 5u32..60, below).prop_map(|(target, debt, memory, interval, below)| {
        serde_json::json!({
            "name": "air-share", "target_ms": target, "debt_ms": debt, "memory_ms": memory,
            "interval_ms": interval, "ack_filter_below_mbps": below,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(600)) })]
    #[test]
    fn agree_with_plain_lists(
        spec in spec(),
        limit in prop_oneof![1u32..12, 30u32..90],
        shrink in prop::bool::weighted(0.3),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        run(&spec, limit, shrink, steps)?;
    }

    #[test]
    fn air_share_agrees_with_plain_lists(
        spec in air_share(),
        limit in prop_oneof![1u32..12, 30u32..90],
        shrink in prop::bool::weighted(0.3),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        run(&spec, limit, shrink, steps)?;
    }
}
