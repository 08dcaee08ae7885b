//! What both ends are fuzzed with.

use std::sync::{Arc, OnceLock};

use arbitrary::{Result, Unstructured};
use serde_json::Value;
use wifair_core::{ConnectionId, Ecn, FiveTuple, Packet, SackBlocks, TcpFlags, Time};
use wifair_tcp::TcpSpec;

use crate::given::{self, Schema, chance, one_of, repaired};

/// The most steps of a case.
pub const MOST_STEPS: usize = 300;

/// Any valid parameters, with windows of at most a few hundred segments so that a case is short.
pub fn spec(u: &mut Unstructured) -> Option<Arc<TcpSpec>> {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let root = SCHEMA.get_or_init(|| serde_json::to_value(schemars::schema_for!(TcpSpec)).unwrap());
    let mut given = Schema::new(root).document(u);
    for key in ["receiver_window_segments", "initial_window_segments"] {
        if given[key].as_u64().is_some_and(|segments| segments > 500) {
            given.as_object_mut()?.remove(key);
        }
    }
    let read = |given: &Value| {
        let spec: TcpSpec = given::parsed(given)?;
        spec.validate("").map(|()| spec)
    };
    repaired(given, read).map(Arc::new)
}

/// How far a number of a segment is from where it is expected: nearly always near.
pub fn distance(u: &mut Unstructured, mss: u32, window: u32) -> Result<u32> {
    let mss = mss.min(window.max(1));
    Ok(match u.int_in_range(0..=9u8)? {
        0..=2 => 0,
        3..=5 => mss.wrapping_mul(u.int_in_range(0..=20)?),
        6 => u.int_in_range(0..=window)?,
        7 => 0u32.wrapping_sub(u.int_in_range(0..=3 * mss)?),
        8 => window.wrapping_add(u.int_in_range(0..=2)?),
        _ => u.arbitrary()?,
    })
}

/// A segment with the flags that are usual at this end, or any, and marks.
pub fn segment(u: &mut Unstructured, usual: &[TcpFlags], seq: u32, ack: u32, payload: u32) -> Result<Packet> {
    let mut flags = *one_of(u, usual);
    if chance(u, 20) {
        flags = TcpFlags::from_bits(u.arbitrary()?);
    }
    if chance(u, 20) {
        flags |= *one_of(u, &[TcpFlags::ECE, TcpFlags::CWR]);
    }
    Ok(Packet {
        tuple: FiveTuple::default(),
        connection: ConnectionId::NONE,
        seq,
        ack,
        window_bytes: 65_535,
        payload_bytes: payload,
        header_bytes: 40,
        flags,
        ds_field: *one_of(u, &[0, Ecn::Ect0 as u8, Ecn::Ce as u8]),
        sack: SackBlocks::NONE,
    })
}

/// Some time passes: none, a little, up to the deadline, or much.
pub fn pass_time(u: &mut Unstructured, now: &mut Time, deadline: Time) -> Result<()> {
    *now = match u.int_in_range(0..=7u8)? {
        0..=3 => *now,
        4 => *now + Time::from_us(u64::from(u.arbitrary::<u16>()?)),
        5 => *now + Time::from_ms(u64::from(u.arbitrary::<u16>()?)),
        _ if deadline != Time::MAX => deadline.max(*now),
        _ => *now + Time::from_ms(1),
    };
    Ok(())
}
