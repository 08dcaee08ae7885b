//! Text to lines. Whatever is not understood is an error.

use wifair_core::{DSCP_HIGH_PRIORITY, Ecn, Packet, Rate, SackBlocks, TcpFlags, Time};
use wifair_tcp::TcpSpec;

/// Which end a script tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Sender,
    Receiver,
}

#[derive(Debug)]
pub struct Script {
    pub end: End,
    pub spec: TcpSpec,
    pub lines: Vec<Line>,
}

#[derive(Debug)]
pub struct Line {
    pub number: usize,
    /// `None`: at the time of the line before.
    pub time: Option<Time>,
    pub step: Step,
}

#[derive(Debug)]
pub enum Step {
    Open,
    Write(u64),
    Close,
    LinkRate(Rate),
    Freed(u32),
    In(Vec<Wire>),
    Out(Vec<Wire>),
    Assert(Vec<(String, String)>),
}

/// A packet as scripts write it: sequence numbers count from the initial one.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    pub flags: TcpFlags,
    pub seq: Option<u32>,
    pub payload: u32,
    pub ack: Option<u32>,
    pub window: Option<u32>,
    pub ip_bytes: Option<u32>,
    pub ds_field: u8,
    pub permits_sack: bool,
    pub sack: Vec<(u32, u32)>,
}

type Result<T> = std::result::Result<T, String>;

pub fn parse(text: &str) -> Result<Script> {
    let mut end = None;
    let mut options = serde_json::Map::new();
    let mut lines = Vec::new();
    let mut clock = Time::ZERO;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        let outcome = match words[..] {
            [] => Ok(()),
            ["end", which] => parse_end(which).map(|which| end = Some(which)),
            ["option", key, value] => set_option(&mut options, key, value),
            _ => parse_line(number, &words, &mut clock).map(|line| lines.push(line)),
        };
        outcome.map_err(|error| format!("line {number}: {error}"))?;
    }
    let end = end.ok_or("no line `end sender` or `end receiver`")?;
    let spec: TcpSpec = serde_json::from_value(options.into()).map_err(|error| format!("option: {error}"))?;
    spec.validate("option").map_err(|error| error.to_string())?;
    if lines.is_empty() {
        return Err("nothing happens".into());
    }
    Ok(Script { end, spec, lines })
}

fn parse_end(word: &str) -> Result<End> {
    match word {
        "sender" => Ok(End::Sender),
        "receiver" => Ok(End::Receiver),
        _ => Err(format!("`{word}` is no end")),
    }
}

/// Sets a dotted key; a value that is no JSON is a word.
fn set_option(
    options: &mut serde_json::Map<String, serde_json::Value>,
    key: &str,
    value: &str,
) -> Result<()> {
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    let mut map = options;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            map.insert(part.into(), value);
            break;
        }
        let inner = map.entry(part).or_insert_with(|| serde_json::Map::new().into());
        map = inner.as_object_mut().ok_or(format!("`{key}`: `{part}` has a value already"))?;
    }
    Ok(())
}

fn parse_line(number: usize, words: &[&str], clock: &mut Time) -> Result<Line> {
    if words[0] == "=" {
        return Ok(Line { number, time: None, step: Step::Assert(parse_pairs(&words[1..])?) });
    }
    let time = match words[0].strip_prefix('+') {
        Some(delta) => *clock + parse_time(delta)?,
        None => parse_time(words[0])?,
    };
    if time < *clock {
        return Err("time runs backwards".into());
    }
    *clock = time;
    let step = match words[1..] {
        ["open"] => Step::Open,
        ["close"] => Step::Close,
        ["rate", mbps] => {
            Step::LinkRate(Rate::from_mbps(mbps.parse().map_err(|_| format!("`{mbps}` is no rate"))?))
        }
        ["freed", segments] => {
            Step::Freed(segments.parse().map_err(|_| format!("`{segments}` is no number of segments"))?)
        }
        ["write", "unlimited"] => Step::Write(u64::MAX),
        ["write", bytes] => {
            Step::Write(bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?)
        }
        ["<", ref packet @ ..] => Step::In(parse_packets(packet)?),
        [">", ref packet @ ..] => Step::Out(parse_packets(packet)?),
        _ => return Err(format!("`{}` is no step", words[1..].join(" "))),
    };
    Ok(Line { number, time: Some(time), step })
}

pub fn parse_time(word: &str) -> Result<Time> {
    match word.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => Ok(Time::from_secs_f64(seconds)),
        _ => Err(format!("`{word}` is no time")),
    }
}

fn parse_pairs(words: &[&str]) -> Result<Vec<(String, String)>> {
    if words.is_empty() || words.len() % 2 == 1 {
        return Err("assertions are pairs of a name and a value".into());
    }
    Ok(words.chunks(2).map(|pair| (pair[0].into(), pair[1].into())).collect())
}

fn parse_packets(words: &[&str]) -> Result<Vec<Wire>> {
    let (mut words, blocks) = match words.iter().position(|&word| word == "sack") {
        Some(at) if at + 1 < words.len() => (&words[..at], &words[at + 1..]),
        _ => (words, &words[..0]),
    };
    let blocks = blocks.iter().map(|block| parse_range(block).map(|(start, length)| (start, start + length)));
    let sack = blocks.collect::<Result<Vec<_>>>()?;
    let (mut window, mut ip_bytes, mut permits_sack) = (None, None, false);
    let (mut ds_field, mut marks) = (0, TcpFlags::NONE);
    loop {
        words = match words {
            [rest @ .., "bytes", bytes] => {
                ip_bytes = Some(parse_number(bytes)?);
                rest
            }
            [rest @ .., "sackok"] => {
                permits_sack = true;
                rest
            }
            [rest @ .., "win", bytes] => {
                window = Some(parse_number(bytes)?);
                rest
            }
            [rest @ .., "dscp", point] => {
                ds_field |= (parse_number(point)? as u8) << 2;
                rest
            }
            [rest @ .., "high"] => {
                ds_field |= DSCP_HIGH_PRIORITY << 2;
                rest
            }
            [rest @ .., "ect"] => {
                ds_field |= Ecn::Ect0 as u8;
                rest
            }
            [rest @ .., "ce"] => {
                ds_field |= Ecn::Ce as u8;
                rest
            }
            [rest @ .., "ece"] => {
                marks |= TcpFlags::ECE;
                rest
            }
            [rest @ .., "cwr"] => {
                marks |= TcpFlags::CWR;
                rest
            }
            _ => break,
        };
    }
    let wire = |flags, seq, payload, ack| Wire {
        flags: flags | marks,
        seq,
        payload,
        ack,
        window,
        ip_bytes,
        ds_field,
        permits_sack,
        sack: sack.clone(),
    };
    const ACK: TcpFlags = TcpFlags::ACK;
    Ok(match words {
        ["opening", seq] => vec![wire(TcpFlags::NONE, Some(parse_number(seq)?), 0, None)],
        ["syn", seq] => vec![wire(TcpFlags::SYN, Some(parse_number(seq)?), 0, None)],
        ["syn-ack", seq, "ack", ack] => {
            vec![wire(TcpFlags::SYN | ACK, Some(parse_number(seq)?), 0, Some(parse_number(ack)?))]
        }
        ["fin", seq, "ack", ack] => {
            vec![wire(TcpFlags::FIN | ACK, Some(parse_number(seq)?), 0, Some(parse_number(ack)?))]
        }
        ["ack", ack] => vec![wire(ACK, None, 0, Some(parse_number(ack)?))],
        ["data", range, "fin"] => {
            let (seq, payload) = parse_range(range)?;
            vec![wire(TcpFlags::FIN | ACK, Some(seq), payload, None)]
        }
        ["data", ranges @ ..] if !ranges.is_empty() => {
            let ranges = ranges.iter().map(|range| parse_range(range));
            ranges
                .map(|range| range.map(|(seq, payload)| wire(ACK, Some(seq), payload, None)))
                .collect::<Result<_>>()?
        }
        _ => return Err(format!("`{}` is no packet", words.join(" "))),
    })
}

fn parse_number(word: &str) -> Result<u32> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn parse_range(word: &str) -> Result<(u32, u32)> {
    let (from, to) = word.split_once(':').ok_or(format!("`{word}` is no range"))?;
    let (from, to) = (parse_number(from)?, parse_number(to)?);
    if to <= from || to - from > 65_535 {
        return Err(format!("`{word}` is no range of a segment"));
    }
    Ok((from, to - from))
}

impl Wire {
    /// The selective part of a packet that acknowledges `ack`.
    pub fn sack_of(&self, ack: u32, initial: u32) -> SackBlocks {
        let at = |number: u32| number.wrapping_add(initial);
        let blocks: Vec<_> = self.sack.iter().map(|&(start, end)| (at(start), at(end))).collect();
        if self.permits_sack { SackBlocks::SYN_PERMITTED } else { SackBlocks::new(ack, &blocks) }
    }

    /// True where `packet` is what the script says. Numbers that the script does not say may be anything; flags and marks
    /// that it does not say must not be there.
    pub fn describes(&self, packet: &Packet, initial: u32) -> bool {
        packet.flags == self.flags
            && packet.ds_field == self.ds_field
            && packet.sack == self.sack_of(packet.ack, initial)
            && self.ip_bytes.is_none_or(|bytes| packet.ip_bytes() == bytes)
            && packet.payload_bytes == self.payload
            && self.seq.is_none_or(|seq| packet.seq == seq.wrapping_add(initial))
            && self.ack.is_none_or(|ack| packet.ack == ack.wrapping_add(initial))
            && self.window.is_none_or(|window| packet.window_bytes == window)
    }
}
