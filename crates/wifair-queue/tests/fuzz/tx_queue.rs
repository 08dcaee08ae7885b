//! Every scheme with random valid parameters, under random events at a transmit queue: no packet is lost, invented or counted
//! twice, ticks advance, and no packet is held back for ever. Schemes that have a model are compared with it, too.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use wifair_core::{
    Ac, Class, Counters, Ecn, FiveTuple, FlowId, Packet, Rate, SackBlocks, StationId, TcpFlags, Time,
};
use wifair_queue::{
    Count, DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Ledger, Link, Outcome, PoliceAction,
    Reception, TxQueue, TxQueueSpec, View,
};

use crate::given::{self, Schema, chance, one_of, repaired};
use crate::{naive, plain};

const STATIONS: u16 = 4;
const MOST_STEPS: usize = 300;

/// A transmit queue and what happens to it; or the steps of a model's own test.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    // Bytes that end in the midst of something end the input there.
    let _ = match u.arbitrary::<u8>().unwrap_or(0) % 8 {
        0 => against_the_list(&mut u),
        1 => against_plain_lists(&mut u),
        _ => any_tx_queue(&mut u),
    };
}

fn against_the_list(u: &mut Unstructured) -> Result<()> {
    use naive::against::{SCHEMES, Step, run};
    let scheme = *one_of(u, SCHEMES);
    let limit = u.int_in_range(1..=11)?;
    let [in_service, shrink, collect, shortcuts] = u.arbitrary::<[bool; 4]>()?;
    let mut steps = vec![];
    while !u.is_empty() && steps.len() < MOST_STEPS {
        let connection = u.int_in_range(0..=5)?;
        steps.push(match u.int_in_range(0..=11u8)? {
            0..=1 => Step::Data { connection, marked: u.arbitrary()? },
            2..=4 => Step::Ack { connection, more: u.int_in_range(0..=2)? * 1460, echo: chance(u, 50) },
            5 => Step::Syn { connection },
            6 => Step::UplinkData { connection },
            7 => Step::Reset { connection },
            8 => Step::Finish { delivered: u.arbitrary()? },
            9 => Step::Limit { packets: u.int_in_range(1..=13)? },
            10 => Step::Silence,
            _ => Step::Take,
        });
    }
    run(scheme, limit, in_service, shrink, steps, collect, shortcuts).unwrap();
    Ok(())
}

fn against_plain_lists(u: &mut Unstructured) -> Result<()> {
    use plain::against::{Step, run, uplink};
    let name = *one_of(u, &["codel", "fq-codel", "mac80211", "air-share"]);
    let signal = *one_of(u, &["drop", "mark", "mark-and-echo"]);
    let mut spec = json!({
        "name": name, "target_ms": u.int_in_range(1..=20)?, "interval_ms": u.int_in_range(5..=60)?,
    });
    if name == "air-share" {
        spec["debt_ms"] = json!(u.int_in_range(1..=40)?);
        spec["memory_ms"] = json!(u.int_in_range(20..=900)?);
        spec["ack_filter_below_mbps"] = json!(one_of(u, &[0, 20, 100]));
    } else {
        spec["signal"] = json!(signal);
    }
    if name == "fq-codel" || name == "mac80211" {
        spec["ack_filter"] = json!(one_of(u, &["off", "conservative", "aggressive"]));
        spec["queues"] = json!(one_of(u, &[1, 65_536]));
        spec["quantum_bytes"] = json!(u.int_in_range(100..=3_000)?);
        spec["limit_bytes"] = json!(u.int_in_range(65_535..=100_000)?);
        spec["drop_batch_packets"] = json!(u.int_in_range(1..=20)?);
    }
    if name == "mac80211" {
        spec["slow_station_rule"] = json!(u.arbitrary::<bool>()?);
        spec["active_for_ms"] = json!(30);
    }
    let limit = u.int_in_range(1..=60)?;
    let shrink = u.arbitrary()?;
    let mut steps = vec![];
    while !u.is_empty() && steps.len() < MOST_STEPS {
        let connection = u.int_in_range(0..=7)?;
        steps.push(match u.int_in_range(0..=12u8)? {
            0..=1 => Step::Data { connection, packets: u.int_in_range(1..=5)?, capable: u.arbitrary()? },
            2..=3 => Step::Ack { connection, more: u.int_in_range(0..=2)? * 1460, echo: chance(u, 25) },
            4..=6 => Step::Finish { airtime_us: u.int_in_range(100..=15_000)? },
            7 => Step::Receive {
                station: connection % 4,
                airtime_us: u.int_in_range(100..=15_000)?,
                packet: u.int_in_range(0..=uplink().len() - 1)?,
            },
            8 => Step::Wait { ms: u.int_in_range(1..=255)? },
            9 => Step::Limit { packets: u.int_in_range(1..=40)? },
            10 => Step::Gather {
                station: connection % 4,
                packets: u.int_in_range(1..=9)?,
                max_bytes: *one_of(u, &[u32::MAX, 1_500, 100]),
            },
            _ => Step::Take,
        });
    }
    run(&spec, limit, shrink, steps).unwrap();
    Ok(())
}

/// Where a packet is that was offered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Queued,
    InService,
    Delivered,
    LostOnAir,
    Gone,
}

/// A transmit queue, and the list of all that it was ever offered.
struct Watched {
    tx_queue: TxQueue,
    spec: TxQueueSpec,
    flows: Flows,
    links: Vec<Link>,
    now: Time,
    by_category: bool,
    /// By serial number, which a packet has as its window.
    offered: BTreeMap<u32, (Packet, Place)>,
    /// By class: what was kept out, and what went from the queue otherwise than to the MAC.
    refused: [Count; 3],
    removed: [Count; 3],
    /// By class: what the scheme was asked about, what it marked and what it dropped of the packets from stations.
    policed: [[Count; 3]; 3],
    in_service: Vec<DequeuedPacket>,
}

fn any_tx_queue(u: &mut Unstructured) -> Result<()> {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let root = SCHEMA.get_or_init(|| serde_json::to_value(schemars::schema_for!(TxQueueSpec)).unwrap());
    let schemes = Schema::new(root).alternatives(&root["$defs"]["SchemeSpec"]).unwrap();
    let mut given = Schema::new(root).document(u);
    if !chance(u, 20) {
        given["scheme"] = Schema::new(root).value(one_of(u, schemes), u);
        given["limit_packets"] = json!(u.int_in_range(1..=40)?);
    }
    let read = |given: &Value| {
        let spec: TxQueueSpec = given::parsed(given)?;
        spec.validate("").map(|()| spec)
    };
    let Some(spec) = repaired(given, read) else { return Ok(()) };
    let by_category = spec.scheme.build().serves_categories() && u.arbitrary()?;
    let tx_queue =
        if by_category { TxQueue::for_categories(&spec, 7, "ap") } else { TxQueue::new(&spec, 7, "ap") };
    let flows = FlowsSpec { idle_timeout_s: 1.0, ..FlowsSpec::default() };
    let mut watched = Watched {
        tx_queue,
        spec,
        flows: Flows::new(&flows),
        links: vec![Link::new(Rate::from_mbps(11.0)); usize::from(STATIONS)],
        now: Time::from_ms(1),
        by_category,
        offered: BTreeMap::new(),
        refused: Default::default(),
        removed: Default::default(),
        policed: Default::default(),
        in_service: vec![],
    };
    let result = watched.play(u);
    watched.drain();
    result
}

/// A packet of a few connections; its header is likely or unlikely.
fn packet(u: &mut Unstructured, serial: u32) -> Result<Packet> {
    let connection = u.int_in_range(0..=7)?;
    let likely = [TcpFlags::ACK, TcpFlags::ACK, TcpFlags::SYN, TcpFlags::FIN | TcpFlags::ACK, TcpFlags::RST];
    let ack = 1460 * u.int_in_range(0..=20)?;
    let mut packet = Packet {
        connection: Default::default(),
        tuple: FiveTuple {
            source: 80,
            destination: connection,
            source_port: 80,
            destination_port: 5_000,
            protocol: *one_of(u, &[6, 6, 6, 17, 1]),
        },
        seq: 1460 * u.int_in_range(0..=20)?,
        ack,
        window_bytes: serial,
        payload_bytes: *one_of(u, &[1460, 0, 0, 1, 65_495]),
        header_bytes: 40,
        flags: *one_of(u, &likely),
        ds_field: *one_of(u, &[0, Ecn::Ect0 as u8, Ecn::Ce as u8, 3 << 2]),
        sack: SackBlocks::NONE,
    };
    if chance(u, 40) {
        let start = ack + 1460 * (1 + u.int_in_range(0..=5)?);
        packet.sack = SackBlocks::new(ack, &[(start, start + 1460)]);
    }
    if chance(u, 20) {
        packet.flags = TcpFlags::from_bits(u.arbitrary()?);
        packet.ds_field = u.arbitrary()?;
        packet.seq = u.arbitrary()?;
        packet.ack = u.arbitrary()?;
    }
    Ok(packet)
}

impl Watched {
    fn play(&mut self, u: &mut Unstructured) -> Result<()> {
        for serial in 0..MOST_STEPS as u32 {
            if u.is_empty() {
                break;
            }
            self.now += Time::from_us(*one_of(u, &[10, 0, 1_000, 50_000]));
            self.tick();
            match u.int_in_range(0..=15u8)? {
                0..=5 => self.offer(packet(u, serial)?, u)?,
                6..=7 => self.take(&Grant { ac: self.category(u), ..Grant::ANY }),
                8 => {
                    let station = Some(StationId(u.int_in_range(0..=STATIONS - 1)?));
                    let (ac, gathers) = (self.category(u), u.arbitrary()?);
                    let max_bytes = *one_of(u, &[u32::MAX, 1_500, 100]);
                    for _ in 0..u.int_in_range(1..=8)? {
                        self.take(&Grant { ac, station, max_bytes, gathers, ..Grant::ANY });
                    }
                }
                9..=11 => {
                    let outcome = *one_of(u, &[Outcome::Delivered, Outcome::LostAtRetryLimit]);
                    self.finish(outcome, Time::from_us(u64::from(u.arbitrary::<u16>()?)));
                }
                12 => {
                    let up = packet(u, serial)?;
                    let up = Packet { tuple: up.tuple.reversed(), ..up };
                    let Watched { flows, tx_queue, now, .. } = self;
                    let flow = flows.observe(&up, Direction::Up, *now, |flow| tx_queue.holds(flow));
                    self.receive(&up, flow, Time::from_us(u64::from(u.arbitrary::<u16>()?)));
                }
                13 if !self.tx_queue.has_limit_controller() => {
                    self.tx_queue.set_limit(u.int_in_range(1..=40)?, self.now);
                }
                14 => {
                    let station = u.int_in_range(0..=STATIONS - 1)?;
                    self.links[usize::from(station)].rate = Rate::from_mbps(*one_of(u, &[1.0, 11.0, 54.0]));
                    if self.tx_queue.hooks().link_rate {
                        let view = View { flows: &self.flows, links: &self.links };
                        self.tx_queue.link_rate(StationId(station), self.now, view);
                    }
                }
                _ => self.now += Time::from_ms(u64::from(u.arbitrary::<u16>()?)),
            }
            self.compare(None);
        }
        Ok(())
    }

    fn category(&self, u: &mut Unstructured) -> Ac {
        if self.by_category { *one_of(u, &Ac::ALL) } else { Ac::BestEffort }
    }

    /// All ticks that are due, or the latest of them where they are many: a caller's clock does not stand still.
    fn tick(&mut self) {
        for _ in 0..100 {
            let Some(at) = self.tx_queue.next_tick().filter(|at| *at <= self.now) else { return };
            let view = View { flows: &self.flows, links: &self.links };
            self.tx_queue.tick(self.now, view);
            let next = self.tx_queue.next_tick();
            assert!(next.is_none_or(|next| next > at), "a tick at {at} is followed by one at {next:?}");
        }
    }

    fn offer(&mut self, packet: Packet, u: &mut Unstructured) -> Result<()> {
        let station = StationId((packet.tuple.destination % u32::from(STATIONS)) as u16);
        let ac = self.category(u);
        let Watched { flows, tx_queue, now, .. } = self;
        let flow = flows.observe(&packet, Direction::Down, *now, |flow| tx_queue.holds(flow));
        while let Some((gone, _)) = flows.pop_forgotten() {
            tx_queue.retire(gone);
        }
        let view = View { flows, links: &self.links };
        tx_queue.enqueue(ac, &packet, flow, station, *now, || view);
        self.offered.insert(packet.window_bytes, (packet, Place::Queued));
        self.compare(Some(packet.window_bytes));
        Ok(())
    }

    fn take(&mut self, grant: &Grant) {
        let before = self.queue();
        let view = View { flows: &self.flows, links: &self.links };
        if let Some(departure) = self.tx_queue.dequeue(grant, self.now, || view).map(DequeuedPacket::from) {
            let serial = departure.packet.window_bytes;
            assert!(before.contains(&serial), "{serial} leaves and was not queued");
            self.offered.get_mut(&serial).expect("queued").1 = Place::InService;
            self.in_service.push(departure);
        }
    }

    fn finish(&mut self, outcome: Outcome, airtime: Time) {
        let Some(departure) = self.in_service.pop() else { return };
        let place = match outcome {
            Outcome::Delivered => Place::Delivered,
            Outcome::LostAtRetryLimit => Place::LostOnAir,
        };
        self.offered.get_mut(&departure.packet.window_bytes).expect("in service").1 = place;
        let exchange = Exchange {
            outcome,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: Ac::BestEffort,
            rate: Rate::from_mbps(11.0),
            attempts: 1,
            airtime,
            overhead: Time::from_us(300),
            service: airtime + Time::from_us(300),
        };
        let view = View { flows: &self.flows, links: &self.links };
        self.tx_queue.complete(&departure, outcome, self.now, || view, || exchange);
    }

    fn receive(&mut self, packet: &Packet, flow: FlowId, airtime: Time) {
        if self.tx_queue.hooks().reception {
            let station = StationId((packet.tuple.source % u32::from(STATIONS)) as u16);
            let (ac, overhead) = (Ac::BestEffort, Time::from_us(300));
            let view = View { flows: &self.flows, links: &self.links };
            let reception = Reception { packet, flow, station, ac, airtime, overhead };
            self.tx_queue.receive(&reception, self.now, view);
            if self.tx_queue.hooks().police {
                let action = self.tx_queue.police(&reception, self.now, view);
                self.police(packet, action);
            }
        }
    }

    /// Counts what became of a packet from a station. What is not TCP data is only forwarded.
    fn police(&mut self, packet: &Packet, action: PoliceAction) {
        let counts = &mut self.policed[packet.class() as usize];
        let one = Count { packets: 1, bytes: u64::from(packet.ip_bytes()) };
        counts[0].add(&one);
        match action {
            PoliceAction::Forward => return,
            PoliceAction::Mark => assert!(matches!(packet.ecn(), Ecn::Ect0 | Ecn::Ect1)),
            PoliceAction::Drop => assert_eq!(packet.ecn(), Ecn::NotEct),
        }
        assert_eq!(packet.class(), Class::Data);
        counts[if action == PoliceAction::Mark { 1 } else { 2 }].add(&one);
    }

    fn queue(&self) -> Vec<u32> {
        self.tx_queue.packets().map(|packet| packet.window_bytes).collect()
    }

    /// Holds the transmit queue against the list. `arrived` was offered since the last time, everything else before.
    fn compare(&mut self, arrived: Option<u32>) {
        let queued: BTreeMap<u32, &Packet> =
            self.tx_queue.packets().map(|packet| (packet.window_bytes, packet)).collect();
        assert_eq!(queued.len(), self.tx_queue.len(), "a packet is queued twice");
        for (serial, packet) in &queued {
            let (original, place) = self.offered[serial];
            assert_eq!(place, Place::Queued, "{serial} is queued");
            assert_eq!(**packet, with_marks_of(original, packet), "nothing but marks changes");
        }
        let count = |packet: &Packet| Count { packets: 1, bytes: u64::from(packet.ip_bytes()) };
        for (serial, (packet, place)) in &mut self.offered {
            if *place == Place::Queued && !queued.contains_key(serial) {
                *place = Place::Gone;
                let lists = if arrived == Some(*serial) { &mut self.refused } else { &mut self.removed };
                lists[packet.class() as usize].add(&count(packet));
            }
        }
        let mut expected = [Ledger::default(); 3];
        for (packet, place) in self.offered.values() {
            let ledger = &mut expected[packet.class() as usize];
            ledger.offered.add(&count(packet));
            match place {
                Place::Queued => ledger.queued.add(&count(packet)),
                Place::InService => ledger.in_service.add(&count(packet)),
                Place::Delivered => ledger.delivered.add(&count(packet)),
                Place::LostOnAir => ledger.lost_at_retry_limit.add(&count(packet)),
                Place::Gone => {}
            }
        }
        let snapshot = self.tx_queue.snapshot(self.now);
        for (class, (ledger, expected)) in snapshot.classes.iter().zip(expected).enumerate() {
            let seen = |l: &Ledger| [l.offered, l.queued, l.in_service, l.delivered, l.lost_at_retry_limit];
            assert_eq!(seen(ledger), seen(&expected), "{:?}", Class::ALL[class]);
            naive::check_identities(ledger).unwrap();
            let policed = [ledger.policed, ledger.police_marked, ledger.police_dropped];
            assert_eq!(policed, self.policed[class], "{:?}", Class::ALL[class]);
            // An arrival may be admitted and evicted at once: then it is not refused.
            let sum = |counts: &[Count]| counts.iter().fold(Count::default(), |sum, c| plus(sum, *c));
            let out = sum(&[ledger.evicted, ledger.aqm_evicted, ledger.filtered]);
            let kept_out = sum(&[ledger.tail_dropped, ledger.aqm_refused]);
            assert_eq!(plus(out, kept_out), plus(self.removed[class], self.refused[class]));
        }
    }

    /// Whether the scheme may wait for an arrival with packets queued, for ever if none comes: `dqm` as printed.
    fn may_keep_back(&self) -> bool {
        let scheme = serde_json::to_value(&self.spec.scheme).unwrap();
        scheme.get("empty_turn").is_some_and(|turn| turn != "other")
    }

    /// What is queued can all be had in the end, unless the scheme may keep it back.
    fn drain(&mut self) {
        while !self.in_service.is_empty() {
            self.finish(Outcome::Delivered, Time::from_us(1_000));
        }
        let mut patience = 50 * self.tx_queue.len() + 1_000;
        while !self.tx_queue.is_empty() {
            if patience == 0 && self.may_keep_back() {
                break;
            }
            assert!(patience > 0, "{:?} keeps {} packets back", self.spec.scheme, self.tx_queue.len());
            patience -= 1;
            self.now += Time::from_us(1_500);
            self.tick();
            let categories = if self.by_category { &Ac::ALL[..] } else { &[Ac::BestEffort] };
            for &ac in categories {
                self.take(&Grant { ac, ..Grant::ANY });
                self.finish(Outcome::Delivered, Time::from_us(1_000));
            }
        }
        self.compare(None);
    }
}

/// The packet as it was offered, with the marks that it has now.
fn with_marks_of(original: Packet, now: &Packet) -> Packet {
    let mut packet = original.with_ecn(now.ecn());
    if now.flags.contains(TcpFlags::ECE) {
        packet.flags |= TcpFlags::ECE;
    }
    packet
}

fn plus(mut a: Count, b: Count) -> Count {
    a.add(&b);
    a
}
