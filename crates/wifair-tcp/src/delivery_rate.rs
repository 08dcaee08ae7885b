//! Delivery rate estimation: draft-ietf-ccwg-bbr-06, section 4.1 (from draft-cheng-iccrg-delivery-rate-estimation). Its names
//! are in brackets.
//!
//! The idea: each packet remembers how much had been delivered when it was sent, and when. Its ACK then shows how much the
//! network has delivered in between, at the lower of the rates at which that was sent and acknowledged.
//!
//! Interpretations: the order of transmissions is exact; a packet counts whole when the last of it is acknowledged; a segment
//! that was sent more than once gives no RTT, since an ACK does not say which transmission it answers.

use std::collections::VecDeque;

use wifair_core::Time;

use crate::seq;

/// State of the latest transmission of an outstanding segment [P].
#[derive(Clone, Copy, Debug)]
struct SentPacket {
    size: u32,
    delivered: u64,
    lost: u64,
    delivered_at: Time,
    first_sent_at: Time,
    sent_at: Time,
    is_app_limited: bool,
    in_flight: u32,
}

/// What an ACK that has delivered something says about the path, and the state of the connection then [RS, C]. Volumes are in
/// bytes.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes per second; 0 if there is no reliable rate [RS.delivery_rate].
    pub delivery_rate: f64,
    /// Delivered between the transmission of the newest packet of this ACK and now [RS.delivered].
    pub delivered: u64,
    /// Delivered when that packet was sent [RS.prior_delivered].
    pub prior_delivered: u64,
    /// Found to be lost between its transmission and now [RS.lost].
    pub lost: u64,
    /// In flight right after its transmission [RS.tx_in_flight].
    pub tx_in_flight: u32,
    /// Whether the application limited the sending in that time [RS.is_app_limited].
    pub is_app_limited: bool,
    /// Delivered by this ACK [RS.newly_acked].
    pub newly_acked: u32,
    /// RTT of the newest packet of this ACK that was sent once [RS.rtt].
    pub rtt: Option<Time>,
    /// Delivered in all [C.delivered].
    pub total_delivered: u64,
    /// In flight now [C.inflight].
    pub in_flight: u32,
    /// Whether cwnd was used up within the last round trip [C.is_cwnd_limited].
    pub is_cwnd_limited: bool,
    /// During fast recovery, and after a timeout until what was outstanding then is acknowledged.
    pub is_repairing: bool,
}

/// A packet that was found to be lost, and the state of the connection then.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// Its length [P.size].
    pub size: u32,
    /// Its first sequence number.
    pub start: u32,
    /// In flight right after its transmission [P.tx_in_flight].
    pub tx_in_flight: u32,
    /// Found to be lost since its transmission, itself included [C.lost − P.lost].
    pub lost: u64,
    /// Whether the application limited the sending then [P.is_app_limited].
    pub is_app_limited: bool,
    /// Delivered in all [C.delivered].
    pub total_delivered: u64,
}

/// The newest packet that an ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: SentPacket,
    transmission: u32,
}

/// The estimator of a connection. It follows the list of outstanding segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRateEstimator {
    packets: VecDeque<SentPacket>,
    /// [C.delivered], [C.lost]
    delivered: u64,
    lost: u64,
    /// [C.delivered_time], [C.first_send_time]
    delivered_at: Time,
    first_sent_at: Time,
    /// [C.app_limited]
    app_limited: u64,
    /// [C.min_rtt]
    min_rtt: Option<Time>,
    /// Of the ACK that is being handled: its time, what it delivers, its newest packet, and the newest RTT with its
    /// transmission.
    now: Time,
    newly_acked: u32,
    newest: Option<Newest>,
    rtt: Option<(u32, Time)>,
    /// Found to be lost and not taken.
    losses: Vec<LostPacket>,
}

impl DeliveryRateEstimator {
    /// An ACK or a timer is handled at `now` [InitRateSample].
    pub(crate) fn begin(&mut self, now: Time) {
        self.now = now;
        (self.newly_acked, self.newest, self.rtt) = (0, None, None);
    }

    /// A new segment of `size` is sent; `before` and `after`: what is in flight [OnPacketSent].
    pub(crate) fn sent(&mut self, size: u32, before: u32, after: u32, now: Time) {
        let sent = self.state_of(size, before, after, now);
        self.packets.push_back(sent);
    }

    /// The segment at `index` is sent again.
    pub(crate) fn sent_again(&mut self, index: usize, before: u32, after: u32, now: Time) {
        let size = self.packets[index].size;
        self.packets[index] = self.state_of(size, before, after, now);
    }

    fn state_of(&mut self, size: u32, before: u32, after: u32, now: Time) -> SentPacket {
        if before == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        SentPacket {
            size,
            delivered: self.delivered,
            lost: self.lost,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
            is_app_limited: self.app_limited != 0,
            in_flight: after,
        }
    }

    /// The segment at `index` is delivered by the ACK that is being handled [UpdateRateSample].
    pub(crate) fn deliver(&mut self, index: usize, transmission: u32, retransmitted: bool) {
        let sent = self.packets[index];
        self.delivered += u64::from(sent.size);
        self.newly_acked += sent.size;
        self.delivered_at = self.now;
        if self.newest.is_none_or(|newest| seq::after(transmission, newest.transmission)) {
            self.newest = Some(Newest { sent, transmission });
            self.first_sent_at = sent.sent_at;
        }
        if !retransmitted && self.rtt.is_none_or(|(other, _)| seq::after(transmission, other)) {
            self.rtt = Some((transmission, self.now - sent.sent_at));
        }
    }

    /// The first segment is acknowledged.
    pub(crate) fn forget_first(&mut self) {
        self.packets.pop_front();
    }

    /// The segment at `index`, which starts at `start`, is found to be lost.
    pub(crate) fn lose(&mut self, index: usize, start: u32) {
        let SentPacket { size, lost, in_flight, is_app_limited, .. } = self.packets[index];
        self.lost += u64::from(size);
        self.losses.push(LostPacket {
            size,
            start,
            tx_in_flight: in_flight,
            lost: self.lost - lost,
            is_app_limited,
            total_delivered: self.delivered,
        });
    }

    /// The losses that have not been taken.
    pub(crate) fn take_losses(&mut self) -> Vec<LostPacket> {
        std::mem::take(&mut self.losses)
    }

    /// Whether the application limits the sending, or has within the last round trip.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// Bytes delivered so far.
    pub(crate) fn total_delivered(&self) -> u64 {
        self.delivered
    }

    /// The application has nothing to send [MarkConnectionAppLimited].
    pub(crate) fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// The sample of the ACK that has been handled, if it has delivered anything [GenerateRateSample].
    pub(crate) fn sample(
        &mut self,
        in_flight: u32,
        is_cwnd_limited: bool,
        is_repairing: bool,
    ) -> Option<RateSample> {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Newest { sent, .. } = self.newest.take()?;
        let rtt = self.rtt.take().map(|(_, rtt)| rtt);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        let interval = (sent.sent_at - sent.first_sent_at).max(self.delivered_at - sent.delivered_at);
        let delivered = self.delivered - sent.delivered;
        let reliable = interval > Time::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
        Some(RateSample {
            delivery_rate: if reliable { delivered as f64 / interval.as_secs_f64() } else { 0.0 },
            delivered,
            prior_delivered: sent.delivered,
            lost: self.lost - sent.lost,
            tx_in_flight: sent.in_flight,
            is_app_limited: sent.is_app_limited,
            newly_acked: self.newly_acked,
            rtt,
            total_delivered: self.delivered,
            in_flight,
            is_cwnd_limited,
            is_repairing,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::segments::Segments;

    use super::*;

    const MSS: u32 = 1_000;

    /// A packet as the pseudocode of the draft has it.
    #[derive(Clone, Copy, Debug)]
    struct Plain {
        end: u32,
        sent_before: bool,
        send_time: Time,
        order: usize,
        delivered: u64,
        delivered_time: Time,
        first_send_time: Time,
        is_app_limited: bool,
        tx_in_flight: u32,
        lost_before: u64,
        is_lost: bool,
        is_delivered: bool,
    }

    /// The pseudocode of 4.1.2, packet by packet.
    #[derive(Default)]
    struct Pseudocode {
        packets: Vec<Plain>,
        delivered: u64,
        delivered_time: Time,
        first_send_time: Time,
        app_limited: u64,
        lost: u64,
        orders: usize,
        min_rtt: Option<Time>,
    }

    impl Pseudocode {
        fn inflight(&self) -> u32 {
            self.packets.iter().filter(|p| !p.is_lost && !p.is_delivered).count() as u32 * MSS
        }

        /// OnPacketSent(P); `again`: the index of a packet that is sent again.
        fn on_packet_sent(&mut self, again: Option<usize>, now: Time) {
            if self.inflight() == 0 {
                (self.first_send_time, self.delivered_time) = (now, now);
            }
            let end =
                again.map_or(1 + (self.packets.len() as u32 + 1) * MSS, |index| self.packets[index].end);
            let packet = Plain {
                end,
                sent_before: again.is_some(),
                send_time: now,
                order: self.orders,
                delivered: self.delivered,
                delivered_time: self.delivered_time,
                first_send_time: self.first_send_time,
                is_app_limited: self.app_limited != 0,
                tx_in_flight: 0,
                lost_before: self.lost,
                is_lost: false,
                is_delivered: false,
            };
            self.orders += 1;
            let index = again.unwrap_or(self.packets.len());
            match again {
                Some(index) => self.packets[index] = packet,
                None => self.packets.push(packet),
            }
            self.packets[index].tx_in_flight = self.inflight();
        }

        /// UpdateRateSample(P) for all that are delivered, then GenerateRateSample(): rate, delivered, lost, in flight,
        /// app-limited, RTT.
        fn on_ack(&mut self, newly: &[usize], now: Time) -> Option<(f64, u64, u64, u32, bool, Option<Time>)> {
            for &index in newly {
                self.packets[index].is_delivered = true;
                self.packets[index].is_lost = false;
                self.delivered += u64::from(MSS);
                self.delivered_time = now;
            }
            if self.app_limited != 0 && self.delivered > self.app_limited {
                self.app_limited = 0;
            }
            let newest = newly.iter().map(|&index| self.packets[index]).max_by_key(|packet| packet.order)?;
            self.first_send_time = newest.send_time;
            let once = newly.iter().map(|&index| self.packets[index]).filter(|packet| !packet.sent_before);
            let rtt = once.max_by_key(|packet| packet.order).map(|packet| now - packet.send_time);
            self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
            let send_elapsed = newest.send_time - newest.first_send_time;
            let ack_elapsed = now - newest.delivered_time;
            let interval = send_elapsed.max(ack_elapsed);
            let delivered = self.delivered - newest.delivered;
            let unreliable = interval == Time::ZERO || self.min_rtt.is_some_and(|least| interval < least);
            let rate = if unreliable { 0.0 } else { delivered as f64 / interval.as_secs_f64() };
            let lost = self.lost - newest.lost_before;
            Some((rate, delivered, lost, newest.tx_in_flight, newest.is_app_limited, rtt))
        }
    }

    proptest! {
        /// Whatever is sent, acknowledged, lost and sent again.
        #[test]
        fn agrees_with_the_pseudocode_of_the_draft(
            steps in prop::collection::vec((0u8..12, 0usize..8, 0u64..40), 1..200),
        ) {
            let mut segments = Segments::new(1);
            segments.sampler = Some(Box::default());
            let mut plain = Pseudocode::default();
            let (mut una, mut now) = (0, Time::from_ms(1));
            for (what, number, ms) in steps {
                now += Time::from_ms(ms);
                match what {
                    0..=4 => for _ in 0..number {
                        plain.on_packet_sent(None, now);
                        segments.sent(plain.packets.last().unwrap().end, false, now);
                    },
                    5..=8 => {
                        // A cumulative ACK, or a block above a hole.
                        let all = plain.packets.len();
                        let (from, to) = match what {
                            8 => ((una + 1 + number).min(all), (una + 3 + number).min(all)),
                            _ => (una, (una + number).min(all)),
                        };
                        let newly: Vec<usize> = (from..to).filter(|&i| !plain.packets[i].is_delivered).collect();
                        let wanted = plain.on_ack(&newly, now);
                        segments.sampler.as_mut().unwrap().begin(now);
                        if what == 8 {
                            let start = 1 + from as u32 * MSS;
                            if from < to {
                                segments.select(start, 1 + to as u32 * MSS, |_| ());
                            }
                        } else {
                            una = to;
                            segments.acknowledge(1 + to as u32 * MSS, |_| ());
                        }
                        let pipe = segments.pipe();
                        prop_assert_eq!(pipe, plain.inflight());
                        let sample = segments.sampler.as_mut().unwrap().sample(pipe, false, false);
                        prop_assert_eq!(sample.map(|s| s.newly_acked), (!newly.is_empty()).then(|| newly.len() as u32 * MSS));
                        let sample = sample.map(|s| (s.delivery_rate, s.delivered, s.lost, s.tx_in_flight, s.is_app_limited, s.rtt));
                        prop_assert_eq!(sample, wanted);
                    }
                    9 if una < plain.packets.len() && !plain.packets[una].is_delivered => {
                        let patience = Time::from_ms(10 * number as u64);
                        let mut wanted = vec![];
                        for index in una..plain.packets.len() {
                            let packet = plain.packets[index];
                            let old = index == una || packet.send_time + patience <= now;
                            if !packet.is_delivered && !packet.is_lost && old {
                                plain.packets[index].is_lost = true;
                                plain.lost += u64::from(MSS);
                                wanted.push((packet.tx_in_flight, plain.lost - packet.lost_before));
                            }
                        }
                        segments.lose_on_timeout(patience, now);
                        let losses = segments.sampler.as_mut().unwrap().take_losses();
                        let losses: Vec<_> = losses.iter().map(|lost| (lost.tx_in_flight, lost.lost)).collect();
                        prop_assert_eq!(losses, wanted);
                    }
                    10 => if let Some(index) = segments.next_lost() {
                        plain.on_packet_sent(Some(una + index), now);
                        segments.sent_again(index, now);
                    },
                    11 => {
                        plain.app_limited = (plain.delivered + u64::from(plain.inflight())).max(1);
                        let pipe = segments.pipe();
                        segments.sampler.as_mut().unwrap().mark_app_limited(pipe);
                    }
                    _ => {}
                }
            }
        }
    }
}
