//! What access to the medium costs and brings, in closed form: for those who calculate, and for tests.

use wifair_core::{Ac, FiveTuple, Packet, StationId, Time};
use wifair_queue::Direction;

use super::Bss;
use crate::aggregation::{Agreement, Limits, Psdu};
use crate::node::{EdcafId, LinkId};

/// How a channel access function contends, and what it sends when it has won: packets of one size over one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelAccess {
    /// Its category; none under DCF.
    pub ac: Option<Ac>,
    /// DIFS or AIFS.
    pub ifs: Time,
    /// Slot time.
    pub slot: Time,
    /// Numbers of values that a backoff is drawn from, at CWmin and at CWmax.
    pub backoffs: [u32; 2],
    /// EIFS less DIFS, by which others wait longer after a collision.
    pub eifs_lead: Time,
    /// With one packet.
    pub one: Turn,
    /// With as many packets as the limits of PPDU and TXOP allow.
    pub full: Turn,
}

/// The exchanges of one access: one, or those of a TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Packets sent.
    pub packets: u32,
    /// From the start of the first frame to the end of the last.
    pub airtime: Time,
    /// Duration of what collides: the RTS, or the first PPDU with its announcement.
    pub exposed: Time,
}

impl Bss {
    /// What the station (up) or the access point (down) sends, at the present rate, of packets with `ip_bytes` and `dscp`.
    pub fn access(&self, station: StationId, direction: Direction, ip_bytes: u32, dscp: u8) -> ChannelAccess {
        let down = direction == Direction::Down;
        let packet = Packet::datagram(FiveTuple::default(), 0, 0, dscp, Time::ZERO);
        let link = LinkId::of(down, station);
        let sender = self.exchanges.nodes.classify(link.sender(), &packet);
        let one = self.exchange_of(sender, link, ip_bytes, None, true);
        let contention = self.exchanges.medium.contention();
        ChannelAccess {
            ac: self.exchanges.nodes.category_of(sender),
            ifs: contention.aifs(sender),
            slot: self.exchanges.phy.slot,
            backoffs: contention.backoffs(sender),
            eifs_lead: self.exchanges.mac.eifs_lead,
            one,
            full: self.full_turn(sender, link, ip_bytes),
        }
    }

    /// As many exchanges as a TXOP holds, each with as many packets as a PPDU.
    fn full_turn(&self, sender: EdcafId, link: LinkId, ip_bytes: u32) -> Turn {
        let limit = self.exchanges.nodes.edcaf(sender).role().txop_limit;
        if limit == Time::ZERO {
            return self.exchange_of(sender, link, ip_bytes, None, false);
        }
        let mut turn = self.exchange_of(sender, link, ip_bytes, Some((limit, false)), false);
        loop {
            let left = limit.saturating_sub(turn.airtime + self.exchanges.phy.sifs);
            let next = self.exchange_of(sender, link, ip_bytes, Some((left, true)), false);
            if next.airtime > left {
                return turn;
            }
            turn.packets += next.packets;
            turn.airtime += self.exchanges.phy.sifs + next.airtime;
        }
    }

    /// An exchange that starts when so much of a TXOP is left, and whether it follows another there: of one packet, or of as
    /// many as fit.
    fn exchange_of(
        &self,
        sender: EdcafId,
        link: LinkId,
        ip_bytes: u32,
        txop: Option<(Time, bool)>,
        is_lone: bool,
    ) -> Turn {
        let on_air = &self.exchanges.links[link.index()].on_air;
        let follows = txop.is_some_and(|(_, follows)| follows);
        let (mut psdu_bytes, mut packets) = (self.exchanges.phy.psdu_bytes(ip_bytes), 1);
        let mut response = on_air.acknowledgement;
        let ac = self.exchanges.nodes.edcaf(sender).role().ac;
        if let Some(Agreement { originator, window, .. }) = self.exchanges.nodes.agreement(link, ac) {
            let rules = self.exchanges.nodes.aggregation_rules();
            let limits = Limits {
                max_mpdus: rules.max_mpdus.min(self.exchanges.nodes.hardware(sender).max_mpdus(*window)),
                max_psdu_bytes: self.exchanges.max_psdu_bytes(
                    on_air,
                    sender,
                    link,
                    txop.map(|(left, _)| left),
                    follows,
                ),
                spacing_bytes: on_air.bytes_in(rules.spacing),
                mac_bytes: self.exchanges.phy.psdu_bytes(0),
            };
            let limits = if is_lone { Limits { max_psdu_bytes: 0, ..limits } } else { limits };
            let (psdu, count) = Psdu::full(ip_bytes, &limits, &originator.amsdu());
            (psdu_bytes, packets) = (psdu.bytes(on_air.mode.format.has_s_mpdus()), count);
            if psdu.mpdus() > 1 {
                response = self.exchanges.block_ack(on_air, sender, link);
            }
        }
        let has_rts = !follows && psdu_bytes > on_air.rts_threshold;
        let control = usize::from(on_air.control);
        let data = on_air.duration(psdu_bytes);
        match has_rts {
            true => Turn {
                packets,
                airtime: self.exchanges.mac.waits[control].reservation + data + response,
                exposed: self.exchanges.phy.control_frames[control].rts.duration,
            },
            false => Turn { packets, airtime: data + response, exposed: data },
        }
    }
}
