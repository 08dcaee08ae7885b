//! Tells senders at stations when their packets are gone from the station's queue, as a driver tells its host.

use wifair_queue::TxCompletion;
use wifair_tcp::Sender;

use super::Network;
use crate::plan::FlowDirection;
use crate::tap::Tap;

impl<T: Tap> Network<T> {
    /// Tells a sender; it may send.
    #[cold]
    pub(super) fn on_completion(&mut self, completion: TxCompletion) {
        let slot = completion.connection.slot();
        let connection = &mut self.connections[slot];
        if connection.id == completion.connection
            && connection.direction == FlowDirection::Up
            && connection.sender.on_freed(completion.packets, completion.ip_bytes)
        {
            self.pump::<Sender>(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wifair_core::{StationId, Time};

    use super::*;
    use crate::Plan;

    /// Two stations with an upload and a download each; `bytes`: their size, if they end.
    fn network(phy: &str, small_queue: Value, bytes: Option<u64>, edit: impl Fn(&mut Value)) -> Network {
        let application = match bytes {
            Some(bytes) => json!({"name": "transfers", "transfer_bytes": bytes, "count": 5}),
            None => json!({"name": "bulk"}),
        };
        let flow = |station: &str, direction: &str| {
            json!({
                "label": format!("{station}-{direction}"), "station": station, "direction": direction,
                "application": application,
                "tcp": {
                    "congestion_control": {"name": "cubic"}, "sack": {}, "receiver_window_segments": 1_000,
                    "initial_ssthresh_segments": 20, "small_queue": small_queue,
                },
            })
        };
        let link = match phy {
            "802.11b" => json!({"rate_mbps": 11.0}),
            _ => json!({"mcs": 7}),
        };
        let station = |label: &str| {
            let mut station = link.clone();
            station["label"] = json!(label);
            station
        };
        let mut plan = json!({
            "bss": {"phy": {"name": phy}, "stations": [station("a"), station("b")]},
            "flows": [flow("a", "up"), flow("b", "up"), flow("a", "down"), flow("b", "down")],
        });
        edit(&mut plan);
        let plan = Plan::from_json(&plan.to_string()).unwrap_or_else(|error| panic!("{error}"));
        Network::new(&plan, 1).unwrap()
    }

    fn few_frames(plan: &mut Value) {
        for station in plan["bss"]["stations"].as_array_mut().unwrap() {
            station["tx_queue"] = json!({"limit_packets": 3});
            station["frame_error_rate"] = json!({"data_up": 0.25, "data_down": 0.25});
        }
        plan["bss"]["mac"] = json!({"retry_limit_short": 2, "retry_limit_long": 2});
    }

    /// A sender counts the packets that its station holds, and none at the end: with drops at a short queue, retry limits,
    /// A-MPDUs and consecutive connections.
    #[test]
    fn every_packet_is_reported_once() {
        let limit = json!({"limit_us": 50_000});
        for phy in ["802.11b", "802.11ax"] {
            for edit in [few_frames as fn(&mut Value), |_| ()] {
                let mut network = network(phy, limit.clone(), Some(100_000), edit);
                let mut most = 0;
                for step in 1..1_000_000 {
                    network.run_until(Time::from_us(200 * step));
                    for connection in &network.connections[..2] {
                        let queued = connection.sender.queued_bytes();
                        let own = |packet: &&wifair_core::Packet| packet.connection == connection.id;
                        let under_way = network
                            .bss()
                            .packets_under_way()
                            .filter(|(is_ap, _)| !is_ap)
                            .map(|(_, packet)| packet);
                        let held: u64 =
                            under_way.filter(own).map(|packet| u64::from(packet.ip_bytes())).sum();
                        assert!(queued >= held, "{phy}: {queued} bytes counted, {held} in the queue");
                        most = most.max(queued);
                    }
                    if network.next_event() == Time::MAX {
                        break;
                    }
                }
                assert_eq!(network.finished.len(), 20, "{phy}: all transfers end");
                assert!(most > 3_000, "{phy}: {most} bytes at most");
                for connection in &network.connections {
                    assert_eq!(connection.sender.queued_bytes(), 0, "{phy}");
                }
            }
        }
    }

    /// The queue moves from the station's transmit queue to the network, at the same goodput.
    #[test]
    fn a_station_holds_little_and_is_as_fast() {
        let run = |small_queue: Value| {
            let mut network = network("802.11b", small_queue, None, |plan| {
                plan["flows"].as_array_mut().unwrap().truncate(1);
                plan["bss"]["stations"][0]["tx_queue"] = json!({"limit_packets": 1_000});
            });
            let mut most = 0;
            for step in 1..3_000 {
                network.run_until(Time::from_ms(10 * step));
                most = most.max(network.bss().station_tx_queue(StationId(0)).len());
            }
            (network.connections[0].receiver.stats().payload_bytes_delivered as f64, most)
        };
        let ((plain, plain_most), (small, small_most)) = (run(Value::Null), run(json!({})));
        assert!(plain_most > 500 && small_most < 40, "{plain_most} and {small_most} packets");
        assert!(small > 0.98 * plain, "{small} and {plain} bytes");
    }
}
