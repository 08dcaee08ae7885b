//! wifair's BSS as the hardware of the guest's radios.
//!
//! Radio 0 is the access point, radio `n` the station `n` of the plan. Unicast QoS data enters the BSS ([`Bss::send_up`],
//! [`Bss::send_down`]), below queues that the kernel's limits keep short. The BSS decides which frames share a PPDU, when it is
//! sent and what becomes of it. Other frames (management, group addresses) pass at once and take no airtime.
//!
//! If the plan has a rate adaptation, the kernel's takes its place (`rates.rs`). Otherwise the kernel fixes one rate, that of
//! the first station. Where a link of the plan has another mode, the medium then reports that mode, as firmware does that
//! chooses rates itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use nix::poll::PollFlags;
use serde_json::{Value, json};
use wifair_core::{FiveTuple, Packet, StationId, Time};
use wifair_queue::{Direction, MpduOutcome};
use wifair_wlan::{Bss, BssSnapshot, BssSpec, Delivery, Node, Output, SentPpdu};

use crate::Fault;
use crate::clock::{Clock, wait};
use crate::hwsim::{self, Frame, Outcome};
use crate::netlink::{Batch, Message, Socket};
use crate::rates::Link;

/// Where the traffic says when the measurement begins and ends.
pub const MARKS: &str = "/run/air";
/// More than the kernel's limits let wait below mac80211.
const TX_QUEUE_PACKETS: u32 = 100_000;
/// A frame that its sender is rid of is delivered, if ever, before so many others enter the BSS.
const MOST_HELD: u32 = 100_000;
/// What the access point shows, by name, with the arguments of `iw`.
const SHOWN: [(&str, [&str; 4]); 3] = [
    ("station", ["dev", "wlan0", "station", "dump"]),
    ("survey", ["dev", "wlan0", "survey", "dump"]),
    ("info", ["dev", "wlan0", "info", ""]),
];

/// What becomes of frames when a PPDU's response has been received, or its end has come in vain.
type Report = Vec<(u32, Outcome)>;

/// See the module documentation.
pub struct Air {
    bss: Bss,
    stations: usize,
    socket: Socket,
    family: u16,
    marks: UnixDatagram,
    clock: Clock,
    batch: Batch,
    /// The frames in the BSS, by the number of their packet; also those that their sender is rid of, since the receiver may
    /// hold them until others arrive.
    frames: BTreeMap<u32, Frame>,
    entered: u32,
    reports: BTreeMap<(Time, u32), Report>,
    reported: u32,
    began: Option<BssSnapshot>,
    counts: Counts,
    /// By station and direction, if the kernel adapts rates.
    links: Option<Vec<[Link; 2]>>,
    /// What the access point shows when the measurement begins and when it ends, if that is asked for.
    shown: Option<Vec<Value>>,
}

/// What the medium counts beyond the BSS.
#[derive(Default)]
struct Counts {
    /// Frames in the measurement whose rate control asks for another rate than the plan has, by this rate; if the kernel adapts
    /// rates, rates that the link does not have, since the start.
    other_rates: BTreeMap<String, u64>,
    /// Frames that no station of the plan sends or receives.
    foreign: u64,
    /// Messages that the kernel refused.
    refused: u64,
    /// Packets that reached their receiver after their sender had given them up.
    late: u64,
}

/// The plan's BSS, as hardware: transmit queues that only pass packets on, and queues per link as in firmware. The kernel
/// limits both.
fn hardware(plan: &Value) -> Result<BssSpec, Fault> {
    let mut bss = plan["bss"].clone();
    let tx_queue = json!({ "limit_packets": TX_QUEUE_PACKETS, "scheme": { "name": "droptail" } });
    bss["ap"]["tx_queue"] = tx_queue.clone();
    bss["ap"]["hardware"] =
        json!({ "name": "firmware", "aql_low_us": 1e6, "aql_high_us": 1e6, "aql_total_us": 1e7 });
    let stations = bss["stations"].as_array_mut().ok_or("the plan has no stations")?;
    for station in stations {
        station["tx_queue"] = tx_queue.clone();
        station["hardware"] = json!({ "name": "ideal" });
    }
    bss["mac"]["rate_adaptation"] = json!({ "name": "fixed" });
    Ok(serde_json::from_value(bss)?)
}

/// Makes the kernel's rate control that of all links, which are returned by station, each as up and down.
fn links(bss: &mut Bss, stations: usize) -> Vec<[Link; 2]> {
    let mut link = |station, direction| {
        let mut made = None;
        bss.set_rate_adaptation(station, direction, |start| {
            let (link, in_bss) = Link::new(start);
            made = Some(link);
            in_bss
        });
        made.expect("it is built at once")
    };
    let stations = (0..stations as u16).map(StationId);
    stations
        .map(|station| [Direction::Up, Direction::Down].map(|direction| link(station, direction)))
        .collect()
}

impl Air {
    /// Registers as the medium of all radios. `shows` keeps what the access point shows.
    pub fn new(plan: &Value, seed: u64, shows: bool) -> Result<Air, Fault> {
        let spec = hardware(plan)?;
        if !spec.aggregates() {
            return Err(
                "the medium carries A-MPDUs alone: the plan needs mac.edca and 802.11n or later".into()
            );
        }
        let mut bss = Bss::new(&spec, seed)?;
        let is_adapted = plan["bss"]["mac"]["rate_adaptation"]["name"] != "fixed";
        let links = is_adapted.then(|| links(&mut bss, spec.stations.len()));
        let mut socket = Socket::open()?;
        let family = socket.family(hwsim::FAMILY)?;
        let mut batch = Batch::default();
        hwsim::register(family, &mut batch);
        socket.send(&mut batch)?;
        let _absent = fs::remove_file(MARKS);
        let marks = UnixDatagram::bind(MARKS)?;
        marks.set_nonblocking(true)?;
        Ok(Air {
            bss,
            stations: spec.stations.len(),
            socket,
            family,
            marks,
            clock: Clock::start()?,
            batch,
            frames: BTreeMap::new(),
            entered: 0,
            reports: BTreeMap::new(),
            reported: 0,
            began: None,
            counts: Counts::default(),
            links,
            shown: shows.then(Vec::new),
        })
    }

    /// Carries frames until the measurement has ended.
    pub fn run(mut self) -> Result<(), Fault> {
        let mut may_receive = true;
        loop {
            let now = self.clock.now()?;
            self.advance(now);
            if may_receive {
                self.receive(now)?;
            }
            self.advance(now + Time::from_ns(1));
            self.report(now);
            if !self.batch.is_empty() {
                self.socket.send(&mut self.batch)?;
                may_receive = true; // it may have made radios send
                continue;
            }
            let next = self.reports.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            let next = next.min(self.bss.next_event());
            let at_most = if next == Time::MAX { next } else { next - now };
            let both = [self.socket.as_fd(), self.marks.as_fd()];
            let ready = wait(both.into_iter().map(|fd| (fd, PollFlags::POLLIN)), at_most)?;
            may_receive = ready[0];
            if ready[1] && self.mark()? {
                return Ok(());
            }
        }
    }

    /// Lets the BSS handle its events before `limit`.
    fn advance(&mut self, limit: Time) {
        let mut begun = vec![];
        loop {
            let output = self.bss.advance_watched(limit, |bss| {
                begun.extend(bss.transmissions().map(|ppdu| Begun::of(&ppdu)));
            });
            let delivered = match output {
                Some((_, Output::Delivery(Delivery { packet, to }))) => Some((packet.seq, to)),
                Some(_) => None,
                None => break,
            };
            // A PPDU is delivered after it has begun.
            begun.drain(..).for_each(|begun| self.note(begun));
            if let Some((number, to)) = delivered {
                self.deliver(number, to);
            }
        }
        begun.into_iter().for_each(|begun| self.note(begun));
    }

    fn deliver(&mut self, number: u32, to: Node) {
        let Some(frame) = self.frames.get_mut(&number) else {
            self.counts.late += 1;
            return;
        };
        match to {
            Node::Ap => frame.deliver(self.family, 0, Some(frame.airtime), &mut self.batch),
            Node::Station(station) => frame.deliver(self.family, station.index() + 1, None, &mut self.batch),
        }
        frame.is_delivered = true;
        if frame.is_reported {
            self.frames.remove(&number);
        }
    }

    /// Reports the outcomes that are known by now.
    fn report(&mut self, now: Time) {
        while let Some(entry) = self.reports.first_entry().filter(|entry| entry.key().0 <= now) {
            for (number, outcome) in entry.remove() {
                let Some(frame) = self.frames.get_mut(&number) else { continue };
                frame.report(self.family, &outcome, &mut self.batch);
                frame.is_reported = true;
                if frame.is_delivered {
                    self.frames.remove(&number);
                }
            }
        }
    }

    /// Takes the frames that radios have sent.
    fn receive(&mut self, now: Time) -> Result<(), Fault> {
        let (mut arrived, mut refused) = (vec![], 0);
        self.socket.receive(|message| match message {
            Message::Command(hwsim::FRAME, attributes) => arrived.extend(Frame::read(attributes)),
            Message::Command(..) => {}
            Message::Refusal => refused += 1,
        })?;
        self.counts.refused += refused;
        for frame in arrived {
            match frame.ip_bytes() {
                Some(ip_bytes) => self.enter(frame, ip_bytes, now),
                None => self.pass(&frame),
            }
        }
        Ok(())
    }

    /// Puts a data frame into the BSS.
    fn enter(&mut self, mut frame: Frame, ip_bytes: u32, now: Time) {
        let stations = self.stations;
        let (station, down) = match (frame.from, frame.to()) {
            (0, Some(to)) if (1..=stations).contains(&to) => (to - 1, true),
            (from, Some(0)) if (1..=stations).contains(&from) => (from - 1, false),
            _ => {
                self.counts.foreign += 1;
                return self.pass(&frame);
            }
        };
        let station = StationId(station as u16);
        let direction = if down { Direction::Down } else { Direction::Up };
        self.entered = self.entered.wrapping_add(1);
        while let Some(oldest) = self.frames.first_entry()
            && oldest.get().is_reported
            && self.entered.wrapping_sub(*oldest.key()) > MOST_HELD
        {
            oldest.remove();
        }
        let packet = Packet {
            seq: self.entered,
            payload_bytes: ip_bytes.saturating_sub(28),
            header_bytes: ip_bytes.min(28) as u8,
            ..Packet::datagram(FiveTuple::default(), 0, 0, 0, now)
        };
        let mode = self.bss.link_mode(station, direction);
        if let Some(links) = &mut self.links {
            let link = &mut links[station.index()][direction as usize];
            for rate in link.enter(&frame.asked(), frame.probes()) {
                *self.counts.other_rates.entry(rate.to_string()).or_default() += 1;
            }
        } else if mode != self.bss.link_mode(StationId(0), direction) {
            frame.set_rate(&mode);
        } else if self.began.is_some()
            && let Some(asked) = frame.asked().first()
            && asked.rate != hwsim::rate_of(&mode)
        {
            *self.counts.other_rates.entry(asked.rate.to_string()).or_default() += 1;
        }
        self.frames.insert(self.entered, frame);
        match down {
            true => self.bss.send_down(station, &packet, now),
            false => self.bss.send_up(station, &packet, now),
        }
    }

    /// Passes a frame to all that it is addressed to, at once.
    fn pass(&mut self, frame: &Frame) {
        let to = frame.to();
        for radio in (0..=self.stations).filter(|radio| *radio != frame.from) {
            if to.is_none_or(|to| to == radio) {
                frame.deliver(self.family, radio, None, &mut self.batch);
            }
        }
        let outcome = Outcome { acknowledged: to.is_some(), ampdu: None, more: false };
        frame.report(self.family, &outcome, &mut self.batch);
    }

    /// Begins or ends the measurement; returns whether it has ended.
    fn mark(&mut self) -> Result<bool, Fault> {
        self.marks.recv(&mut [0; 8])?;
        let now = self.clock.now()?;
        self.advance(now);
        let snapshot = self.bss.snapshot(now);
        self.show(&snapshot)?;
        let Some(began) = self.began.replace(snapshot.clone()) else { return Ok(false) };
        println!("RESULT {}", self.result(&snapshot.since(&began)));
        Ok(true)
    }

    /// Keeps what the access point shows, if that is asked for. Its radio has counted on its channel what the BSS has counted
    /// since the start.
    fn show(&mut self, usage: &BssSnapshot) -> Result<(), Fault> {
        let Some(shown) = &mut self.shown else { return Ok(()) };
        let (mut received, mut sent) = (usage.collision_airtime, usage.beacons.airtime);
        for station in &usage.stations {
            received += station.up.airtime;
            sent += station.down.airtime;
        }
        let times = [usage.elapsed, usage.elapsed - usage.idle, received, sent];
        hwsim::survey(self.family, 0, times, &mut self.batch);
        self.socket.send(&mut self.batch)?;
        let mut found = serde_json::Map::new();
        for (name, arguments) in SHOWN {
            let arguments = arguments.into_iter().filter(|word| !word.is_empty());
            let done = Command::new("iw").args(arguments).output()?;
            if !done.status.success() {
                return Err(format!("iw, {name}: {}", String::from_utf8_lossy(&done.stderr)).into());
            }
            found.insert(name.to_owned(), String::from_utf8(done.stdout)?.into());
        }
        shown.push(found.into());
        Ok(())
    }

    fn result(&self, usage: &BssSnapshot) -> Value {
        let stations: Vec<Value> = usage
            .stations
            .iter()
            .map(|station| {
                json!({
                    "airtime_up_s": station.up.airtime.as_secs_f64(),
                    "airtime_down_s": station.down.airtime.as_secs_f64(),
                    "delivered_up": station.up.delivered,
                    "delivered_down": station.down.delivered,
                    "ppdus_up": station.up.ppdus,
                    "ppdus_down": station.down.ppdus,
                    "mpdus_up": station.up.mpdus,
                    "mpdus_down": station.down.mpdus,
                    "lost": station.up.lost_at_retry_limit + station.down.lost_at_retry_limit,
                })
            })
            .collect();
        json!({ "air": {
            "elapsed_s": usage.elapsed.as_secs_f64(),
            "exchanges": usage.exchanges,
            "collisions": usage.collisions,
            "collision_airtime_s": usage.collision_airtime.as_secs_f64(),
            "idle_s": usage.idle.as_secs_f64(),
            "stations": stations,
            "other_rates": self.counts.other_rates,
            "foreign": self.counts.foreign,
            "refused": self.counts.refused,
            "late": self.counts.late,
            "in_bss": self.frames.values().filter(|frame| !frame.is_reported).count(),
            "shown": self.shown,
        }})
    }
}

/// A PPDU whose transmission has begun, as far as its frames' outcomes go.
struct Begun {
    /// When its sender knows the outcome.
    known: Time,
    link: (StationId, Direction),
    /// Whether the PPDU itself is sent, not an RTS alone.
    is_sent: bool,
    mpdus: Vec<BegunMpdu>,
}

struct BegunMpdu {
    /// The number of its packet.
    number: u32,
    airtime: Time,
    outcome: MpduOutcome,
}

impl Begun {
    fn of(ppdu: &SentPpdu) -> Begun {
        let own_end = ppdu.begins + ppdu.transmission.airtime;
        let mpdus = ppdu.transmission.mpdus.iter().map(|mpdu| BegunMpdu {
            number: mpdu.packet.seq,
            airtime: mpdu.airtime,
            outcome: mpdu.outcome,
        });
        Begun {
            known: ppdu.response.map_or(own_end, |(_, ends)| ends),
            link: (
                ppdu.transmission.station,
                if ppdu.from == Node::Ap { Direction::Down } else { Direction::Up },
            ),
            is_sent: ppdu.ppdu.is_some(),
            mpdus: mpdus.collect(),
        }
    }
}

impl Air {
    /// Charges the frames of a PPDU, and schedules the report of those that leave the BSS with its outcome.
    fn note(&mut self, begun: Begun) {
        if begun.mpdus.is_empty() {
            return; // a Block Ack Request
        }
        let acknowledged = begun.mpdus.iter().filter(|mpdu| mpdu.outcome == MpduOutcome::Delivered).count();
        let mut ampdu =
            Some([begun.mpdus.len(), acknowledged].map(|count| u8::try_from(count).unwrap_or(u8::MAX)));
        let mut report = vec![];
        let (station, direction) = begun.link;
        let link = self.links.as_mut().map(|links| &mut links[station.index()][direction as usize]);
        let tried = link.map(|link| link.begin(begun.is_sent));
        for mpdu in begun.mpdus {
            let Some(frame) = self.frames.get_mut(&mpdu.number) else { continue };
            if let Some(tried) = &tried {
                frame.set_tried(tried);
            }
            frame.airtime += mpdu.airtime;
            frame.tries = frame.tries.saturating_add(1);
            if mpdu.outcome != MpduOutcome::ToRetry {
                let acknowledged = mpdu.outcome == MpduOutcome::Delivered;
                let outcome = Outcome { acknowledged, ampdu: ampdu.take(), more: true };
                report.push((mpdu.number, outcome));
            }
        }
        if let Some((_, last)) = report.last_mut() {
            last.more = false;
            self.reported = self.reported.wrapping_add(1);
            self.reports.insert((begun.known, self.reported), report);
        }
    }
}
