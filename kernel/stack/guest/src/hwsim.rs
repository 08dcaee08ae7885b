//! The messages of `mac80211_hwsim` (`mac80211_hwsim.h`), with what `linux.patch`, `survey.patch` and `one-stream.patch` add.

use std::fmt;

use wifair_core::Time;
use wifair_wlan::{Format, Mode};

use crate::netlink::{Attributes, Batch};

/// The name of the family.
pub const FAMILY: &str = "MAC80211_HWSIM";
const REGISTER: u8 = 1;
/// The command of a frame, in both directions.
pub const FRAME: u8 = 2;
const TX_INFO_FRAME: u8 = 3;
const SURVEY_OF: u8 = 12;

const ADDR_RECEIVER: u16 = 1;
const ADDR_TRANSMITTER: u16 = 2;
const ATTR_FRAME: u16 = 3;
const FLAGS: u16 = 4;
const RX_RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TX_INFO: u16 = 7;
const COOKIE: u16 = 8;
const FREQ: u16 = 19;
const TX_INFO_FLAGS: u16 = 21;
const AIRTIME: u16 = 30;
const AMPDU_LEN: u16 = 31;
const AMPDU_ACK_LEN: u16 = 32;
const MORE: u16 = 33;
const SURVEY: u16 = 34;

const STAT_ACK: u32 = 4;
const CTL_PROBE: u32 = 8;
/// Flags of a rate (`enum hwsim_tx_rate_flags`).
const RC_RTS: u16 = 1 << 0;
const RC_MCS: u16 = 1 << 3;
const RC_40_MHZ: u16 = 1 << 5;
const RC_SHORT_GI: u16 = 1 << 7;
const RC_VHT_MCS: u16 = 1 << 8;
const RC_80_MHZ: u16 = 1 << 9;
const RC_160_MHZ: u16 = 1 << 10;
/// The signal of every frame, in dBm.
const SIGNAL_DBM: i32 = -40;
/// Bytes of the header of QoS data and of LLC/SNAP before the packet.
const OVERHEAD_BYTES: usize = 34;

/// A frame that a radio sends.
pub struct Frame {
    /// The radio that sends it, by number.
    pub from: usize,
    cookie: [u8; 8],
    flags: u32,
    freq: [u8; 4],
    bytes: Vec<u8>,
    /// Rates and tries that the rate control asks for.
    rates: [u8; 8],
    /// Flags of each rate.
    rate_flags: [u16; 4],
    /// Rates and tries that are reported, with the rates' flags, unless they are the first rate and all tries.
    tried: Option<([u8; 8], [u8; 12])>,
    /// Airtime of its transmissions so far.
    pub airtime: Time,
    /// Its transmissions so far.
    pub tries: u8,
    /// Whether its receiver has it.
    pub is_delivered: bool,
    /// Whether its sender knows what has become of it.
    pub is_reported: bool,
}

/// The two addresses of a radio differ in the first byte. The rest holds its number.
fn radio(address: &[u8]) -> Option<usize> {
    match *address {
        [0x02 | 0x42, 0, 0, high, low, 0] => Some(usize::from(high) << 8 | usize::from(low)),
        _ => None,
    }
}

fn address(radio: usize) -> [u8; 6] {
    [0x42, 0, 0, (radio >> 8) as u8, radio as u8, 0]
}

/// A rate as mac80211 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    index: u8,
    /// Those of its flags that say of what kind it is, with width and guard interval.
    kind: u16,
}

/// One of the rates that rate control asks for.
pub struct Asked {
    /// The rate.
    pub rate: Rate,
    /// How often the frame may be sent at it.
    pub tries: u8,
    /// Whether an RTS precedes each.
    pub rts: bool,
}

/// A mode's rate.
pub fn rate_of(mode: &Mode) -> Rate {
    let (index, kind) = match mode.format {
        Format::Ht => (mode.mcs, RC_MCS),
        Format::Vht => ((mode.streams - 1) << 4 | mode.mcs, RC_VHT_MCS),
        _ => (u8::MAX, 0),
    };
    let width = match mode.width_mhz {
        20 => 0,
        40 => RC_40_MHZ,
        80 => RC_80_MHZ,
        _ => RC_160_MHZ,
    };
    let short = if mode.guard_interval_ns == 400 { RC_SHORT_GI } else { 0 };
    Rate { index, kind: kind | width | short }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "index {}, flags {:#x}", self.index, self.kind)
    }
}

impl Frame {
    /// The frame of a message, if it has all that it needs.
    pub fn read(attributes: Attributes) -> Option<Frame> {
        let (mut from, mut cookie, mut flags, mut freq, mut bytes, mut rates) =
            (None, None, None, None, None, None);
        let mut rate_flags = [0; 4];
        for (kind, value) in attributes.iter() {
            match kind {
                ADDR_TRANSMITTER => from = radio(value),
                ATTR_FRAME => bytes = Some(value.to_vec()),
                FLAGS => flags = Some(u32::from_ne_bytes(value.try_into().ok()?)),
                TX_INFO => rates = value.try_into().ok(),
                COOKIE => cookie = value.try_into().ok(),
                FREQ => freq = value.try_into().ok(),
                TX_INFO_FLAGS => {
                    for (flags, of_rate) in rate_flags.iter_mut().zip(value.chunks_exact(3)) {
                        *flags = u16::from_ne_bytes([of_rate[1], of_rate[2]]);
                    }
                }
                _ => {}
            }
        }
        let bytes = bytes.filter(|bytes: &Vec<u8>| bytes.len() >= 16)?;
        Some(Frame {
            from: from?,
            cookie: cookie?,
            flags: flags?,
            freq: freq?,
            bytes,
            rates: rates?,
            rate_flags,
            tried: None,
            airtime: Time::ZERO,
            tries: 0,
            is_delivered: false,
            is_reported: false,
        })
    }

    /// The radio that it is addressed to; `None` for a group address.
    pub fn to(&self) -> Option<usize> {
        radio(&self.bytes[4..10])
    }

    /// Length of the packet that it carries, if it is QoS data to a single receiver.
    pub fn ip_bytes(&self) -> Option<u32> {
        let is_qos_data = self.bytes[0] & 0xfc == 0x88 && self.bytes[4] & 1 == 0;
        (is_qos_data && self.bytes.len() > OVERHEAD_BYTES).then(|| (self.bytes.len() - OVERHEAD_BYTES) as u32)
    }

    /// Makes a mode the one that is reported as its first rate. Width and guard interval remain those that were asked for.
    pub fn set_rate(&mut self, mode: &Mode) {
        self.rates[0] = rate_of(mode).index;
    }

    /// Makes these the rates and tries that are reported.
    pub fn set_tried(&mut self, tried: &[(Rate, u8)]) {
        let (mut tries, mut flags) = ([0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0], [0; 12]);
        for (place, (Rate { index, kind }, count)) in tried.iter().take(4).enumerate() {
            tries[2 * place..][..2].copy_from_slice(&[*index, *count]);
            flags[3 * place] = *index;
            flags[3 * place + 1..][..2].copy_from_slice(&kind.to_ne_bytes());
        }
        self.tried = Some((tries, flags));
    }

    /// Whether rate control probes with the frame.
    pub fn probes(&self) -> bool {
        self.flags & CTL_PROBE != 0
    }

    /// The rates that rate control asks for, in their order.
    pub fn asked(&self) -> Vec<Asked> {
        let looked_at = RC_MCS | RC_VHT_MCS | RC_40_MHZ | RC_80_MHZ | RC_160_MHZ | RC_SHORT_GI;
        let all = self.rates.chunks_exact(2).zip(self.rate_flags);
        all.take_while(|(of_rate, _)| of_rate[0] < 0x80 && of_rate[1] > 0)
            .map(|(of_rate, flags)| Asked {
                rate: Rate { index: of_rate[0], kind: flags & looked_at },
                tries: of_rate[1],
                rts: flags & RC_RTS != 0,
            })
            .collect()
    }

    /// Delivers the frame to a radio. `airtime` is charged to the station by an access point.
    pub fn deliver(&self, family: u16, to: usize, airtime: Option<Time>, batch: &mut Batch) {
        batch.begin(family, FRAME);
        batch.put(ADDR_RECEIVER, &address(to));
        batch.put(ATTR_FRAME, &self.bytes);
        batch.put(RX_RATE, &0_u32.to_ne_bytes());
        batch.put(SIGNAL, &SIGNAL_DBM.to_ne_bytes());
        batch.put(FREQ, &self.freq);
        if let Some(airtime) = airtime {
            batch.put(AIRTIME, &us(airtime).to_ne_bytes());
        }
        batch.end();
    }

    /// Reports to the sender what became of the frame.
    pub fn report(&self, family: u16, outcome: &Outcome, batch: &mut Batch) {
        let all_tries = [self.rates[0], self.tries.max(1), 0xff, 0, 0xff, 0, 0xff, 0];
        batch.begin(family, TX_INFO_FRAME);
        batch.put(ADDR_TRANSMITTER, &address(self.from));
        let flags = if outcome.acknowledged { self.flags | STAT_ACK } else { self.flags };
        batch.put(FLAGS, &flags.to_ne_bytes());
        batch.put(COOKIE, &self.cookie);
        batch.put(SIGNAL, &SIGNAL_DBM.to_ne_bytes());
        batch.put(TX_INFO, &self.tried.map_or(all_tries, |(tries, _)| tries));
        if let Some((_, flags)) = &self.tried {
            batch.put(TX_INFO_FLAGS, flags);
        }
        if self.tries > 0 {
            batch.put(AIRTIME, &us(self.airtime).to_ne_bytes());
        }
        if let Some([length, acknowledged]) = outcome.ampdu {
            batch.put(AMPDU_LEN, &[length]);
            batch.put(AMPDU_ACK_LEN, &[acknowledged]);
        }
        if outcome.more {
            batch.put(MORE, &[]);
        }
        batch.end();
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// MPDUs of the A-MPDU whose outcome is reported with this frame, and how many of them were acknowledged.
    pub ampdu: Option<[u8; 2]>,
    /// Whether outcomes of other frames of the same PPDU follow.
    pub more: bool,
}

fn us(time: Time) -> u32 {
    ((time.as_ns() + 500) / 1000) as u32
}

/// Asks for the frames of all radios.
pub fn register(family: u16, batch: &mut Batch) {
    batch.begin(family, REGISTER);
    batch.end();
}

/// Says what a radio has counted on its channel: all the time, when it was busy, what it has received and sent.
pub fn survey(family: u16, radio: usize, times: [Time; 4], batch: &mut Batch) {
    batch.begin(family, SURVEY_OF);
    batch.put(ADDR_TRANSMITTER, &address(radio));
    batch.put(SURVEY, &times.map(|time| (time.as_ns() / 1_000_000).to_ne_bytes()).concat());
    batch.end();
}
