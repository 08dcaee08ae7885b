//! Warnings about settings that only a run can show to be without effect.

use wifair_queue::Ledger;
use wifair_wlan::ApSpec;

use super::measured::{MeasuredBss, wire_rows};
use super::rows::WireRow;
use crate::figures::{ns_to_ms, ratio};
use crate::plan::{Plan, PlannedBss, WireSpec};

/// The mean wait before a wire, in milliseconds, from which the wire may be the bottleneck.
const LONG_WAIT_MS: f64 = 10.0;

/// The warnings about all BSSs; if there are several, each with the name of its BSS.
pub(super) fn of(plan: &Plan, measured: &[MeasuredBss]) -> String {
    let mut warnings = vec![];
    for (PlannedBss { name, ap, own_wire, .. }, bss) in plan.bsss().zip(measured) {
        let of_wire = own_wire.map_or(vec![], |wire| of_wire(wire, bss));
        let found = of_buffer(ap, bss).into_iter().chain(of_wire);
        let prefix = if measured.len() > 1 { format!("{name}: ") } else { String::new() };
        warnings.extend(found.map(|warning| prefix.clone() + &warning));
    }
    warnings.join("; ")
}

/// Whether the scheme of an access point and its limit had an effect.
fn of_buffer(spec: &ApSpec, MeasuredBss { ap, .. }: &MeasuredBss) -> Option<String> {
    let scheme = spec.tx_queue.scheme.name();
    let touched = |c: &Ledger| [c.lost_in_buffer(), c.filtered, c.ce_marked, c.ece_marked].map(|n| n.packets);
    let touched: u64 = ap.iter().flat_map(|(_, tx_queue)| tx_queue.classes.iter().flat_map(touched)).sum();
    if ap.iter().all(|(_, tx_queue)| tx_queue.length.quantile(1.0).unwrap_or(0.0) == 0.0) {
        return Some(format!("the AP's buffer never queued a packet: {scheme} had nothing to decide"));
    }
    let limit = spec.tx_queue.limit_packets;
    (touched == 0 && spec.tx_queue.scheme.build().shortcuts().release_head).then(|| {
        format!("the AP's limit of {limit} packets was never reached: {scheme} had nothing to decide")
    })
}

/// Whether a wire may have been the bottleneck.
fn of_wire(spec: &WireSpec, MeasuredBss { ap, wire, air, .. }: &MeasuredBss) -> Vec<String> {
    let (sojourns, sojourn_ns) = ap.iter().fold((0, 0.0), |(count, sum), (_, tx_queue)| {
        (count + tx_queue.sojourn.count(), sum + tx_queue.sojourn.sum() as f64)
    });
    let at_ap_ms = ratio(sojourn_ns as u64, sojourns).map_or(0.0, ns_to_ms);
    let warning = |row: WireRow| {
        let wait_ms = row.wait_mean_ms.unwrap_or(0.0);
        let is_down = row.direction == "down";
        let is_long = wait_ms >= LONG_WAIT_MS && (!is_down || wait_ms > at_ap_ms);
        let beside =
            if is_down { format!(", and {at_ap_ms:.3} ms in the AP's buffer") } else { String::new() };
        is_long.then(|| {
            format!(
                "the wire is a bottleneck {}: on the mean packets waited {wait_ms:.0} ms for its {} Mbps{beside}",
                row.direction,
                spec.rate_up_mbps.filter(|_| !is_down).unwrap_or(spec.rate_mbps)
            )
        })
    };
    wire_rows(wire, air.elapsed).into_iter().filter_map(warning).collect()
}
