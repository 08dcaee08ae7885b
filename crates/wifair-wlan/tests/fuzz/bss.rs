//! Any small BSS with whatever parameters it accepts, under arbitrary offers and changes: time is occupied once or idle, a
//! packet is delivered once to its addressee, and the counters agree with the events.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use wifair_core::{StationId, TcpFlags, Time};
use wifair_queue::{Ledger, MpduOutcome, TxQueue};
use wifair_wlan::{Bss, BssSnapshot, BssSpec, Node, Output, StationChange, TransmissionOutcome};

use crate::given::{self, Schema, chance, one_of, repaired};
use crate::support::{packet, packet_down};

/// Header and packet of the shortest subframe of an A-MSDU (`docs/medium.md`, section 12).
const SHORTEST_SUBFRAME_BYTES: u32 = 14 + 40;
const MOST_STATIONS: usize = 5;
const MOST_OFFERS: u32 = 200;
/// Limit of a case: ticks of schemes and unlimited retries have no end.
const MOST_EVENTS: usize = 6_000;

/// A BSS, then what is offered to it and when.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    static SCHEMA: OnceLock<[Value; 2]> = OnceLock::new();
    let [cells, changes] = SCHEMA.get_or_init(|| {
        [schemars::schema_for!(BssSpec), schemars::schema_for!(StationChange)]
            .map(|schema| serde_json::to_value(schema).unwrap())
    });
    let mut given = Schema::new(cells).document(&mut u);
    let count = u.int_in_range(1..=MOST_STATIONS).unwrap_or(1);
    let station = |(index, mut station): (usize, Value)| {
        station["label"] = json!(format!("sta-{index}"));
        station
    };
    let node = &cells["$defs"]["StationSpec"];
    let drawn: Vec<Value> = (0..count).map(|_| Schema::new(cells).value(node, &mut u)).collect();
    given["stations"] = drawn.into_iter().enumerate().map(station).collect();
    let read = |given: &Value| {
        let spec: BssSpec = given::parsed(given)?;
        let queues = if spec.mac.edca.is_some() { 4 } else { 1 };
        let longest = spec.mac.aggregation.as_ref().map_or(0, |aggregation| aggregation.max_amsdu_bytes);
        let in_mpdu = u64::from(longest / SHORTEST_SUBFRAME_BYTES).max(1);
        let waits_ms =
            spec.mac.aggregation.as_ref().map_or(0.0, |aggregation| aggregation.reorder_timeout_ms);
        let in_field = spec.field.is_some();
        Bss::new(&spec, 1).map(|bss| (spec.stations.len() as u16, queues, in_mpdu, waits_ms, in_field, bss))
    };
    let Some((stations, queues, in_mpdu, waits_ms, in_field, bss)) = repaired(given, read) else { return };
    let mut watched = Watched {
        before: bss.snapshot(Time::ZERO),
        bss,
        stations,
        queues,
        in_mpdu,
        now: Time::ZERO,
        events: 0,
        offered: vec![],
        delivered: BTreeSet::new(),
        in_field,
        begun: vec![[[0; 3]; 2]; usize::from(stations)],
    };
    let _ = watched.play(&mut u, changes); // bytes that end in the midst of an offer end the input there
    watched.run_before(watched.now + Time::from_s(2));
    watched.balance();
    watched.run_before(watched.now + Time::from_s(60)); // retries take seconds
    if waits_ms < 1_000.0 && watched.events < MOST_EVENTS {
        watched.nothing_is_held();
    }
}

struct Watched {
    bss: Bss,
    stations: u16,
    /// Of a node, each with a frame in service.
    queues: u64,
    /// Most packets of an MPDU.
    in_mpdu: u64,
    now: Time,
    events: usize,
    /// By number: whose packet, and whether it goes up.
    offered: Vec<(u16, bool)>,
    delivered: BTreeSet<u32>,
    /// Whether it is a field, in which a transmission is seen only once its outcome is known.
    in_field: bool,
    /// By station: PPDUs with MPDUs, their MPDUs and Block Ack Requests that were begun, up and down.
    begun: Vec<[[u64; 3]; 2]>,
    before: BssSnapshot,
}

impl Watched {
    fn play(&mut self, u: &mut Unstructured, changes: &Value) -> Result<()> {
        for number in 0..MOST_OFFERS {
            if u.is_empty() {
                break;
            }
            // Nothing, less than a slot, a few frames, silence.
            let gap_ns = match u.int_in_range(0..=7u8)? {
                0..=2 => 0,
                3 => u.int_in_range(0..=20_000)?,
                4..=6 => u.int_in_range(0..=5_000_000)?,
                _ => 100_000_000,
            };
            let at = self.now + Time::from_ns(gap_ns);
            self.run_before(at);
            if self.events >= MOST_EVENTS {
                return Ok(());
            }
            self.now = at;
            let station = StationId(u.int_in_range(0..=self.stations - 1)?);
            match u.int_in_range(0..=15u8)? {
                0 => self.change(station, u, changes),
                1 if !self.bss.ap_limit_is_controlled() => {
                    self.bss.set_ap_limit(u.int_in_range(1..=200)?, at);
                }
                kind => self.offer(number, station, kind % 2 == 0, u)?,
            }
        }
        Ok(())
    }

    fn offer(&mut self, number: u32, station: StationId, up: bool, u: &mut Unstructured) -> Result<()> {
        let ip_bytes = *one_of(u, &[1_500, 40, 41, 256, 65_535]);
        let make = if up { packet } else { packet_down };
        let mut packet = make(station.0, self.offered.len() as u32, ip_bytes);
        packet.tuple.destination_port ^= u.int_in_range(0..=3)?;
        packet.ack = number * 100;
        if chance(u, 60) {
            packet.ds_field = u.arbitrary()?;
            packet.flags = TcpFlags::from_bits(u.arbitrary()?);
            packet.tuple.protocol = *one_of(u, &[17, 6]);
        }
        self.offered.push((station.0, up));
        if up {
            self.bss.send_up(station, &packet, self.now);
        } else {
            self.bss.send_down(station, &packet, self.now);
        }
        Ok(())
    }

    fn change(&mut self, station: StationId, u: &mut Unstructured, changes: &Value) {
        let mut given = Schema::new(changes).document(u);
        given["label"] = json!("sta-0");
        let read = |given: &Value| {
            let change: StationChange = given::parsed(given)?;
            self.bss.check_change(station, &change, "").map(|()| change)
        };
        if let Some(change) = repaired(given, read) {
            self.bss.change_station(station, &change, self.now);
        }
    }

    fn run_before(&mut self, end: Time) {
        while self.bss.next_event() < end && self.events < MOST_EVENTS {
            self.events += 1;
            let now = self.bss.next_event();
            assert!(now >= self.now, "time runs backwards");
            self.now = now;
            if let Some(Output::Delivery(delivery)) = self.bss.advance(now) {
                let (to, number) = (delivery.to, delivery.packet.seq);
                let (station, up) = self.offered[number as usize];
                let expected = if up { Node::Ap } else { Node::Station(StationId(station)) };
                assert_eq!(to, expected);
                assert!(self.delivered.insert(number), "delivered twice");
            }
            self.look(now);
        }
    }

    /// Time is occupied once or idle.
    fn look(&mut self, now: Time) {
        let snapshot = self.bss.snapshot(now);
        let passed = snapshot.since(&self.before);
        for snapshot in [&snapshot, &passed] {
            let airtimes = snapshot.stations.iter().map(|s| s.up.airtime + s.down.airtime);
            let of_no_station = snapshot.collision_airtime + snapshot.beacons.airtime;
            let occupied = airtimes.fold(of_no_station, |sum, airtime| sum + airtime);
            assert_eq!(snapshot.elapsed, snapshot.idle + occupied);
        }
        assert!(passed.exchanges <= 1);
        if passed.exchanges == 1 {
            self.look_at_frames();
        }
        self.before = snapshot;
    }

    /// The frames of the exchange that has just begun are what it is, in its order.
    fn look_at_frames(&mut self) {
        let (mut ends, mut succeeds, mut senders) = (Time::ZERO, true, 0);
        for ppdu in self.bss.transmissions() {
            ends = ends.max(ppdu.begins + ppdu.transmission.airtime);
            succeeds &= ppdu.outcome == TransmissionOutcome::Acknowledged;
            senders += 1;
            if !ppdu.has_agreement {
                continue;
            }
            let mpdus = u64::from(ppdu.transmission.sent());
            let begun =
                &mut self.begun[ppdu.transmission.station.index()][usize::from(ppdu.from == Node::Ap)];
            for (count, new) in begun.iter_mut().zip([u64::from(mpdus > 0), mpdus, u64::from(mpdus == 0)]) {
                *count += new;
            }
            let mut next = 0;
            let mut airtime = Time::ZERO;
            for (mpdu, &decoded) in ppdu.transmission.mpdus.iter().zip(&ppdu.decoded) {
                let ahead = (mpdu.sequence.expect("it has an agreement") + 4_096 - ppdu.window_start) % 4_096;
                let ahead = u32::from(ahead);
                let in_order = if mpdu.continues_amsdu { ahead + 1 == next } else { ahead >= next };
                assert!(in_order && ahead < ppdu.window, "{ppdu:?}");
                next = ahead + 1;
                airtime += mpdu.airtime;
                assert!(mpdu.outcome != MpduOutcome::Delivered || decoded || mpdu.attempts > 1, "{ppdu:?}");
            }
            let transmission = &ppdu.transmission;
            assert!(transmission.mpdus.is_empty() || airtime == transmission.airtime, "{ppdu:?}");
        }
        if let Some(beacon) = self.bss.beacon() {
            ends = ends.max(beacon.ends);
            senders += 1;
            assert_eq!(beacon.collides, senders > 1, "{beacon:?}");
        }
        let (mut last, mut count) = (Time::ZERO, 0);
        self.bss.frames(|frame| {
            assert!(frame.begins <= frame.psdu_begins && frame.psdu_begins <= frame.ends, "{frame:?}");
            assert!(frame.ends >= last && frame.ends <= ends, "{frame:?}");
            if succeeds && senders == 1 {
                assert!(frame.begins >= last, "{frame:?}");
                assert_eq!(frame.ends + frame.duration, ends, "{frame:?}");
            }
            (last, count) = (frame.ends, count + 1);
        });
        assert!(last == ends && count >= senders, "{last} {ends} {count}");
    }

    /// The reorder timeouts of all recipients have passed.
    fn nothing_is_held(&self) {
        for usage in self.before.stations.iter().flat_map(|station| [&station.up, &station.down]) {
            assert!(usage.delivered >= usage.lost_after_delivery, "{usage:?}");
        }
    }

    fn balance(&self) {
        let at = self.now.max(self.before.at);
        let snapshot = self.bss.snapshot(at);
        let mut delivered = 0;
        let mut offered_up = 0;
        for (index, usage) in snapshot.stations.iter().enumerate() {
            delivered += usage.up.delivered + usage.down.delivered;
            for (_, tx_queue) in self.bss.station_tx_queues(StationId(index as u16)) {
                offered_up += total(tx_queue, at, |ledger| ledger.offered.packets);
            }
            for (usage, begun) in [&usage.up, &usage.down].into_iter().zip(&self.begun[index]) {
                if !self.in_field {
                    assert_eq!([usage.ppdus, usage.mpdus, usage.block_ack_requests], *begun);
                }
                assert!(usage.lost_at_retry_limit >= usage.lost_after_delivery);
                let lost_on_air = usage.lost_at_retry_limit - usage.lost_internally;
                if usage.ppdus + usage.block_ack_requests > 0 {
                    // Attempts are PPDUs, losses and deliveries packets.
                    let mpdus = usage.attempts - usage.ppdus - usage.block_ack_requests + usage.mpdus;
                    let sent = mpdus * self.in_mpdu;
                    assert!(usage.ppdus <= usage.mpdus && usage.retries <= usage.attempts, "{usage:?}");
                    assert!(usage.delivered <= sent && lost_on_air <= sent, "{usage:?}");
                    continue;
                }
                // Only a recipient with an agreement holds what it has received, until its reorder timeout at the latest.
                assert!(usage.delivered >= usage.lost_after_delivery);
                // A frame whose last retry was an internal collision had no attempt for it.
                let ended = usage.delivered - usage.lost_after_delivery + usage.retries + lost_on_air;
                // The one that is on the air has not ended; those delivered may yet be repeated for their ACKs.
                assert!(ended <= usage.attempts + self.queues && usage.attempts <= ended + 1, "{usage:?}");
            }
        }
        let policed = self
            .bss
            .ap_tx_queues()
            .map(|(_, tx_queue)| total(tx_queue, at, |ledger| ledger.police_dropped.packets));
        assert_eq!(delivered, self.delivered.len() as u64 + policed.sum::<u64>());
        assert_eq!(offered_up, self.offered.iter().filter(|(_, up)| *up).count() as u64);
        let offered_down =
            self.bss.ap_tx_queues().map(|(_, tx_queue)| total(tx_queue, at, |ledger| ledger.offered.packets));
        assert_eq!(offered_up + offered_down.sum::<u64>(), self.offered.len() as u64);
    }
}

fn total(tx_queue: &TxQueue, at: Time, count: impl Fn(&Ledger) -> u64) -> u64 {
    tx_queue.snapshot(at).classes.iter().map(count).sum()
}
