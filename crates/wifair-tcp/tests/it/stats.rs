//! The counters' arithmetic, field by field: two connections side by side, and a measurement between two snapshots.

use wifair_core::{Counters, LogHistogram, Time};
use wifair_tcp::{ReceiverStats, SenderStats};

/// Every field another number; without `..`, so that a new field has to be added here.
fn sender(k: u64) -> SenderStats {
    let mut rtt = LogHistogram::new();
    for n in 0..k {
        rtt.record(1_000 * (n + k));
    }
    SenderStats {
        segments_sent: 2 * k,
        payload_bytes_sent: 3 * k,
        segments_retransmitted: 5 * k,
        payload_bytes_retransmitted: 7 * k,
        control_packets_sent: 11 * k,
        payload_bytes_acked: 13 * k,
        timeouts: 17 * k,
        fast_retransmits: 19 * k,
        ecn_reductions: 23 * k,
        duplicates_told: 29 * k,
        rtt,
        srtt_sum_ns: 31 * k,
        srtt_max: Time::from_ns(37 * k),
    }
}

fn receiver(k: u64) -> ReceiverStats {
    ReceiverStats {
        segments_received: 2 * k,
        duplicate_segments_received: 3 * k,
        ip_bytes_received: 5 * k,
        payload_bytes_delivered: 7 * k,
        ce_segments_received: 11 * k,
        packets_sent: 13 * k,
        timeouts: 17 * k,
    }
}

#[test]
fn the_counters_of_two_connections_add_up() {
    let mut both = sender(4);
    both.add(&sender(3));
    let mut rtt = sender(4).rtt;
    rtt.add(&sender(3).rtt);
    assert_eq!(both, SenderStats { rtt, srtt_max: Time::from_ns(37 * 4), ..sender(7) });
    let mut both = receiver(4);
    both.add(&receiver(3));
    assert_eq!(both, receiver(7));
}

#[test]
fn a_measurement_is_the_difference_of_two_snapshots() {
    let mut later = sender(4);
    later.add(&sender(3));
    // A greatest value cannot be computed from two snapshots: it stays.
    assert_eq!(later.since(&sender(4)), SenderStats { srtt_max: Time::from_ns(37 * 4), ..sender(3) });
    let mut later = receiver(4);
    later.add(&receiver(3));
    assert_eq!(later.since(&receiver(4)), receiver(3));
}

#[test]
fn the_mean_of_the_smoothed_round_trips_is_over_the_samples() {
    assert_eq!(sender(4).srtt_mean_ns(), Some(31.0));
    assert_eq!(SenderStats::default().srtt_mean_ns(), None);
}
