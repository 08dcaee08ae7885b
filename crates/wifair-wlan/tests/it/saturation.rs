//! Saturated DCF against published and independently computed tables.

use crate::support;

use support::{cell_b, effort, saturate, table_one};
use wifair_wlan::BssSpec;

fn table_one_cell(n: usize) -> BssSpec {
    BssSpec { phy: table_one(), ..cell_b(n) }
}

fn close(what: &str, got: f64, expected: f64, share: f64) {
    assert!(
        (got / expected - 1.0).abs() <= share,
        "{what}: {got:.4}, expected {expected:.4} ± {:.1} %",
        share * 1e2
    );
}

#[test]
fn one_station_is_the_closed_form() {
    // 1500 · 8 bit / (DIFS 50 + 15.5 slots 310 + data 192 + 1122 + SIFS 10 + ACK 304 µs) = 6.036 Mbps; the table
    // has 6.038, without the data's last 0.55 µs.
    let run = saturate(&table_one_cell(1), 1, 100_000 * effort(), 1_500);
    close("Mbps", run.mbps(), 12_000.0 / 1_988.0, 0.002);
    assert_eq!(run.failures(), 0.0);
}

/// A slotted Monte Carlo with 802.11's own counter rule, without a retry limit, in which all nodes wait a DIFS after a
/// collision.
#[test]
fn slotted_monte_carlo() {
    for (n, mbps, failures) in
        [(5, 6.253, 0.1789), (10, 5.973, 0.2863), (20, 5.607, 0.3910), (50, 5.031, 0.5224)]
    {
        let mut spec = table_one_cell(n);
        spec.mac.eifs = false;
        spec.mac.ack_timeout_us = Some(0.0);
        spec.mac.retry_limit_short = 1_000_000_000;
        let run = saturate(&spec, 2, 100_000 * effort(), 1_500);
        println!("DIFS N={n}: {:.4} Mbps, p {:.4}", run.mbps(), run.failures());
        close(&format!("Mbps at N = {n}"), run.mbps(), mbps, 0.005);
        close(&format!("p at N = {n}"), run.failures(), failures, 0.02);
    }
}

/// ns-3 3.44, bystanders wait EIFS; its overhead is 36 bytes, as the standard's.
#[test]
fn ns3_with_eifs() {
    for (n, mbps, failures) in [(5, 6.184, 0.177), (10, 5.827, 0.287), (20, 5.402, 0.391), (50, 4.754, 0.524)]
    {
        let run = saturate(&cell_b(n), 3, 100_000 * effort(), 1_500);
        println!("EIFS N={n}: {:.4} Mbps, p {:.4}", run.mbps(), run.failures());
        close(&format!("Mbps at N = {n}"), run.mbps(), mbps, 0.015);
        close(&format!("p at N = {n}"), run.failures(), failures, 0.05);
    }
}
