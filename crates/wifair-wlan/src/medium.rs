//! What happens on the medium: starts, deliveries, ends and failures of exchanges (`docs/medium.md`, sections 3, 4
//! and 7).

use wifair_core::{StationId, Time};
use wifair_queue::{Direction, Outcome};

use crate::cell::{AP, Cell, Delivery, Loss, Node};
use crate::exchange::{Collider, Fate, Phase, Single};

impl Cell {
    /// Somebody, or several, start to transmit.
    #[inline]
    pub(crate) fn start(&mut self, now: Time) {
        self.exchanges += 1;
        if self.contention.begin(now) == 1 {
            self.start_single(self.contention.transmitter(0), now);
        } else {
            self.start_collision(now);
        }
    }

    #[inline]
    fn start_single(&mut self, sender: u32, now: Time) {
        let (station, direction) = self.link_of(sender);
        let fate = if self.channel.is_some() { self.fate(sender, station, direction) } else { Fate::Decoded };
        let rate = match direction {
            Direction::Up => self.up[station.index()].rate,
            Direction::Down => self.down[station.index()].rate,
        };
        let frame = self.nodes[sender as usize].frame.as_mut().expect("a transmitter has a frame");
        let mut data_end = now + self.phy.duration(rate, frame.psdu_bytes);
        if frame.with_rts(&self.mac) {
            data_end += self.mac.reservation;
        }
        let end = if fate == Fate::DataLost { data_end } else { data_end + self.mac.acknowledgement };
        frame.attempt(rate, end - now);
        self.usage[station.index()].of(direction).attempts += 1;
        self.single = Single { sender, station, direction, fate, end };
        self.phase = if fate == Fate::DataLost { Phase::Ending } else { Phase::Data };
        self.phase_began = now;
        self.phase_ends = data_end;
    }

    /// Draws what the channel does to a data frame and its MAC ACK.
    #[cold]
    fn fate(&mut self, sender: u32, station: StationId, direction: Direction) -> Fate {
        let channel = self.channel.as_mut().expect("called only where there are errors");
        let rates = &channel.rates[station.index()];
        let (data, ack, receiver) = match direction {
            Direction::Up => (rates.data_up, rates.ack_down, AP),
            Direction::Down => (rates.data_down, rates.ack_up, crate::cell::node_of(station)),
        };
        if data > 0.0 && channel.streams[receiver as usize].chance(data) {
            Fate::DataLost
        } else if ack > 0.0 && channel.streams[sender as usize].chance(ack) {
            Fate::AckLost
        } else {
            Fate::Decoded
        }
    }

    fn start_collision(&mut self, now: Time) {
        self.collisions += 1;
        self.colliders.clear();
        let mut end = now;
        for index in 0..self.contention.transmitters() {
            let sender = self.contention.transmitter(index);
            let (station, direction) = self.link_of(sender);
            let rate = match direction {
                Direction::Up => self.up[station.index()].rate,
                Direction::Down => self.down[station.index()].rate,
            };
            let frame = self.nodes[sender as usize].frame.as_mut().expect("a transmitter has a frame");
            let with_rts = frame.with_rts(&self.mac);
            let (airtime, wait) = if with_rts {
                (self.phy.rts, self.mac.cts_timeout)
            } else {
                (self.phy.duration(rate, frame.psdu_bytes), self.mac.ack_timeout)
            };
            frame.attempt(rate, airtime);
            let timeout = now + airtime + wait;
            let lost = frame.fail(false, &self.mac);
            end = end.max(now + airtime);
            self.usage[station.index()].of(direction).attempts += 1;
            self.colliders.push(Collider { sender, timeout, lost, with_rts });
            if lost {
                if !with_rts {
                    self.adapt(station, direction, false);
                }
                self.lose_later(sender, timeout);
            }
        }
        self.phase = Phase::Collision;
        self.phase_began = now;
        self.phase_ends = end;
    }

    /// A data frame, an exchange or a collision ends.
    #[inline]
    pub(crate) fn end_phase(&mut self, now: Time) -> Option<Delivery> {
        match self.phase {
            Phase::Data => {
                self.phase = Phase::Ending;
                self.phase_ends = self.single.end;
                return self.deliver(now);
            }
            Phase::Ending => self.end_single(now),
            Phase::Collision => self.end_collision(now),
            Phase::Idle => unreachable!("an idle medium has no end"),
        }
        None
    }

    /// The receiver has the data frame; it passes on the first copy.
    #[inline]
    fn deliver(&mut self, now: Time) -> Option<Delivery> {
        let single = self.single;
        let usage = self.usage[single.station.index()].of(single.direction);
        let frame = self.nodes[single.sender as usize].frame.as_mut().expect("in service until its end");
        if frame.delivered {
            usage.duplicates += 1;
            return None;
        }
        frame.delivered = true;
        usage.delivered += 1;
        let packet = frame.departure.packet;
        let to = match single.direction {
            Direction::Up => {
                self.observe(&packet, Direction::Up, now);
                Node::Ap
            }
            Direction::Down => Node::Station(single.station),
        };
        Some(Delivery { packet, to })
    }

    #[inline]
    fn end_single(&mut self, now: Time) {
        let Single { sender, station, direction, fate, .. } = self.single;
        self.usage[station.index()].of(direction).airtime += now - self.phase_began;
        self.phase = Phase::Idle;
        self.phase_ends = Time::MAX;
        if fate != Fate::Decoded {
            return self.end_failure(now);
        }
        self.contention.rejoin(sender);
        self.adapt(station, direction, true);
        self.finish(sender, Outcome::Delivered, now);
        self.contention.resume(now, now + self.phy.difs, None);
    }

    /// Section 4, the rows of undecodable data and of an undecodable MAC ACK.
    #[cold]
    fn end_failure(&mut self, now: Time) {
        let single = self.single;
        let Single { sender, .. } = single;
        let frame = self.nodes[sender as usize].frame.as_mut().expect("in service until its end");
        let lost = frame.fail(frame.with_rts(&self.mac), &self.mac);
        let (known, resumes) = match single.fate {
            Fate::DataLost => (now + self.mac.ack_timeout, now + self.mac.ack_timeout + self.phy.difs),
            _ => (now, now + self.mac.eifs),
        };
        self.adapt(single.station, single.direction, false);
        if lost {
            self.lose_later(sender, known);
        } else {
            self.retry(sender, single.station, single.direction);
        }
        self.contention.set_aside(sender, resumes, known);
        if single.fate == Fate::DataLost {
            self.contention.divert(single.receiver(), now + self.mac.eifs, now);
            let nav = now + self.mac.acknowledgement;
            self.contention.resume(now, nav + self.phy.difs, Some(nav));
        } else {
            self.contention.resume(now, now + self.phy.difs, None);
        }
    }

    /// Section 4, the rows of a collision.
    fn end_collision(&mut self, now: Time) {
        self.collision_airtime += now - self.phase_began;
        self.phase = Phase::Idle;
        self.phase_ends = Time::MAX;
        for index in 0..self.colliders.len() {
            let Collider { sender, timeout, lost, with_rts } = self.colliders[index];
            // What is lost may have been given up by now, and the next frame have taken its place.
            if !lost {
                let (station, direction) = self.link_of(sender);
                if !with_rts {
                    self.adapt(station, direction, false);
                }
                self.retry(sender, station, direction);
            }
            self.contention.set_aside(sender, timeout.max(now) + self.phy.difs, timeout);
        }
        self.contention.resume(now, now + self.mac.eifs, None);
    }

    /// The frame in service of `sender` is to be sent again.
    fn retry(&mut self, sender: u32, station: StationId, direction: Direction) {
        self.usage[station.index()].of(direction).retries += 1;
        self.contention.widen_window(sender);
        self.contention.draw(sender);
    }

    /// The frame in service of `sender` has reached a retry limit; it is given up at `at`, when the sender knows.
    fn lose_later(&mut self, sender: u32, at: Time) {
        self.contention.withdraw(sender);
        self.losses.push(Loss { at, sender });
        self.next_loss = self.next_loss.min(at);
    }

    /// Gives up the frame whose time has come.
    #[cold]
    pub(crate) fn lose(&mut self, now: Time) {
        let first = (0..self.losses.len()).min_by_key(|&index| self.losses[index]).expect("a loss is due");
        let Loss { sender, .. } = self.losses.swap_remove(first);
        self.next_loss = self.losses.iter().map(|loss| loss.at).min().unwrap_or(Time::MAX);
        let (station, direction) = self.link_of(sender);
        let frame = self.nodes[sender as usize].frame.as_ref().expect("in service until it is given up");
        let usage = self.usage[station.index()].of(direction);
        usage.lost_at_retry_limit += 1;
        usage.lost_after_delivery += u64::from(frame.delivered);
        self.finish(sender, Outcome::LostAtRetryLimit, now);
    }

    /// Tells the sender's rate adaptation the outcome of a data frame.
    #[inline]
    fn adapt(&mut self, station: StationId, direction: Direction, acknowledged: bool) {
        let (peer, link) = match direction {
            Direction::Up => (&mut self.up[station.index()], &mut self.surroundings.up[station.index()]),
            Direction::Down => {
                (&mut self.down[station.index()], &mut self.surroundings.down[station.index()])
            }
        };
        let rate = peer.adaptation.on_attempt(acknowledged);
        if rate != peer.rate {
            peer.rate = rate;
            link.rate = self.phy.rate(rate);
        }
    }

    /// The station at the other end of `sender`'s frame in service, or the sender itself, and the frame's direction.
    #[inline]
    fn link_of(&self, sender: u32) -> (StationId, Direction) {
        if sender == AP {
            let frame = self.nodes[AP as usize].frame.as_ref().expect("the AP has a frame in service");
            (frame.departure.station, Direction::Down)
        } else {
            (StationId((sender - 1) as u16), Direction::Up)
        }
    }
}
