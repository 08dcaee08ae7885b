//! Read access to a BSS: counters, transmit queues, rates, flows.

use wifair_core::{Ac, FiveTuple, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{Direction, Flows, Ledger, TxQueue};

use super::Bss;
use super::exchanges::field::link_between;
use crate::edca_controller::EdcaController;
use crate::exchange::Phase;
use crate::field::Field;
use crate::field::share::FieldShare;
use crate::link::LinkRow;
use crate::meter::Meter;
use crate::node::{LinkId, Node};
use crate::phy::{Mode, Modes};
use crate::records::{BssSnapshot, StationUsage, Usage};

impl Bss {
    /// All counters of the medium up to `now`, which is not after [`Bss::next_event`].
    pub fn snapshot(&self, now: Time) -> BssSnapshot {
        snapshot(self, self.exchanges.field.as_deref().map(FieldShare::field), now)
    }

    /// The AP's transmit queue; under EDCA that of best effort.
    pub fn ap_tx_queue(&self) -> &TxQueue {
        self.exchanges.nodes.usual_tx_queue(Node::Ap)
    }

    /// A station's transmit queue; under EDCA that of best effort.
    pub fn station_tx_queue(&self, station: StationId) -> &TxQueue {
        self.exchanges.nodes.usual_tx_queue(Node::Station(station))
    }

    /// The AP's transmit queues: one under DCF, or if the categories share it; else those of the categories that can get
    /// packets, the highest first.
    pub fn ap_tx_queues(&self) -> impl Iterator<Item = (Option<Ac>, &TxQueue)> {
        self.exchanges.nodes.tx_queues_of(Node::Ap)
    }

    /// A station's transmit queues, see [`Bss::ap_tx_queues`].
    pub fn station_tx_queues(&self, station: StationId) -> impl Iterator<Item = (Option<Ac>, &TxQueue)> {
        self.exchanges.nodes.tx_queues_of(Node::Station(station))
    }

    /// All packets that wait in a transmit queue, or are in service and have not reached their receiver, and whether each goes
    /// to a station.
    pub fn packets_under_way(&self) -> impl Iterator<Item = (bool, &Packet)> {
        self.exchanges.nodes.packets_under_way()
    }

    /// The rate of the link from the station (up) or to it (down).
    pub fn link_rate(&self, station: StationId, direction: Direction) -> Rate {
        self.exchanges.links[LinkId::of(direction == Direction::Down, station).index()].rate
    }

    /// The mode of that link's next attempt.
    pub fn link_mode(&self, station: StationId, direction: Direction) -> Mode {
        self.exchanges.links[LinkId::of(direction == Direction::Down, station).index()].on_air.mode
    }

    /// The modes that a station's links can have, the slowest first.
    pub fn modes(&self, station: StationId) -> &Modes {
        self.exchanges.modes.of(station)
    }

    /// Whether the medium is busy at `to` while `from` alone transmits: always, unless the BSS is in a field.
    pub fn senses(&self, from: Node, to: Node) -> bool {
        self.exchanges.field.as_deref().is_none_or(|share| share.senses(from.index(), to.index()))
    }

    /// The AP's flow monitor.
    pub fn flows(&self) -> &Flows {
        self.exchanges.nodes.flows()
    }

    /// Outputs from now on when packets of the station's host are gone from the station, as a driver's completions tell its
    /// host. Results do not change.
    pub fn report_completions(&mut self, station: StationId) {
        self.exchanges.nodes.report_completions(Node::Station(station));
    }

    /// Returns the next flow that the AP's monitor has forgotten, with the 5-tuple of its uplink packets and its ledger at the
    /// AP's transmit queues by class. Its id may be reused from now on.
    #[inline]
    pub fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple, [Ledger; 3])> {
        self.exchanges.nodes.pop_forgotten()
    }
}

/// Like [`Bss::snapshot`], of a BSS in `field`, if it is in one.
pub(crate) fn snapshot(bss: &Bss, field: Option<&Field>, now: Time) -> BssSnapshot {
    assert!(bss.is_in_turn(now), "{now} is before the BSS's last event or after its next");
    let of_link = |row: &LinkRow| Usage {
        rate_integral: row.rate_integral_at(now),
        rate_kbps: row.rate.as_kbps().into(),
        ..row.usage
    };
    let of_station = |rows: &[LinkRow]| StationUsage { up: of_link(&rows[0]), down: of_link(&rows[1]) };
    let mut stations: Vec<_> = bss.exchanges.links.chunks_exact(2).map(of_station).collect();
    let counts = bss.exchanges.medium.counts();
    let mut collision_airtime = counts.collision_airtime;
    let occupied = now - bss.exchanges.medium.began();
    let mut beacons = counts.beacons;
    let (mut exchanges, mut collisions) = (counts.exchanges, counts.collisions);
    if let (Some(share), Some(field)) = (bss.exchanges.field.as_deref(), field) {
        (exchanges, collisions) = share.begun(field);
        let (overlapping, alone) = share.occupied_until(field, now);
        (collision_airtime, beacons) = (overlapping, share.beacon_usage(field));
        for (from, to, airtime) in alone {
            if from == to {
                beacons.airtime += airtime;
                continue;
            }
            let link = link_between(from, to);
            stations[link.station().index()].of(link.direction()).airtime += airtime;
        }
    } else if bss.exchanges.medium.phase() == Phase::Beacon {
        beacons.airtime += occupied;
    } else if bss.exchanges.medium.is_collision() && bss.exchanges.medium.is_lost() {
        collision_airtime += occupied;
    } else if bss.exchanges.medium.phase() != Phase::Idle {
        let link = bss.exchanges.medium.exchange().link;
        stations[link.station().index()].of(link.direction()).airtime += occupied;
    }
    let of_no_station = collision_airtime + beacons.airtime;
    let occupied = stations.iter().fold(of_no_station, |sum, s| sum + s.up.airtime + s.down.airtime);
    BssSnapshot {
        at: now,
        elapsed: now,
        stations,
        exchanges,
        collisions,
        collision_airtime,
        beacons,
        channel_time: bss.exchanges.meter.as_ref().map(Meter::channel_times),
        idle: now - occupied,
        controlled_cw_min: bss.edca_controller.as_ref().map(EdcaController::cw_min),
    }
}
