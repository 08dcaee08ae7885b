//! Structure from bytes: a value that fits a JSON schema. The engine exports the schemas of all that it reads, so what is
//! drawn here knows every scheme, congestion control and key there is, and nobody has to keep a list.
//!
//! A schema does not say which numbers are allowed. What is refused for a value goes back to its default ([`repaired`]), so
//! that most of what is drawn is accepted in the end and most of it is unusual.

#![allow(dead_code)] // each user takes its part

use arbitrary::Unstructured;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wifair_core::SpecError;

/// Yes with `share` 256ths of all bytes, the highest; no where there are no bytes left.
pub fn chance(u: &mut Unstructured, share: u8) -> bool {
    u.arbitrary::<u8>().unwrap_or(0) > u8::MAX - share
}

/// One of `all`; the first where there are no bytes left.
pub fn one_of<'a, T>(u: &mut Unstructured, all: &'a [T]) -> &'a T {
    &all[u.int_in_range(0..=all.len() - 1).unwrap_or(0)]
}

/// Words for strings: labels that can meet each other.
const WORDS: [&str; 5] = ["a", "b", "up-1", "", "ä\u{0}"];

/// A schema with the definitions that it refers to.
pub struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// Of a document with `$defs`.
    pub fn new(root: &'a Value) -> Schema<'a> {
        Schema { root }
    }

    /// What a node refers to, or the node.
    pub fn resolved(&self, node: &'a Value) -> &'a Value {
        let reference = node["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        reference.map_or(node, |name| &self.root["$defs"][name])
    }

    /// The alternatives of a node, if it has any.
    pub fn alternatives(&self, node: &'a Value) -> Option<&'a [Value]> {
        ["oneOf", "anyOf"].into_iter().find_map(|key| node[key].as_array()).map(Vec::as_slice)
    }

    /// A value for the whole document.
    pub fn document(&self, u: &mut Unstructured) -> Value {
        self.value(self.root, u)
    }

    /// A value for `node`.
    pub fn value(&self, node: &'a Value, u: &mut Unstructured) -> Value {
        let default = node.get("default");
        let node = self.resolved(node);
        if let Some(fixed) = node.get("const") {
            return fixed.clone();
        }
        if let Some(words) = node["enum"].as_array() {
            return one_of(u, words).clone();
        }
        if let Some(all) = self.alternatives(node) {
            return self.value(one_of(u, all), u);
        }
        let kind = match &node["type"] {
            Value::Array(kinds) => one_of(u, kinds).as_str(),
            kind => kind.as_str(),
        };
        match kind.unwrap_or("null") {
            "object" => self.object(node, u),
            "array" => self.array(node, u),
            "string" => Value::from(*one_of(u, &WORDS)),
            "boolean" => Value::from(u.arbitrary::<bool>().unwrap_or(false)),
            "integer" => integer(node, default, u),
            "number" => number(default, u),
            _ => Value::Null,
        }
    }

    /// Keys that must be there, and a few others.
    fn object(&self, node: &'a Value, u: &mut Unstructured) -> Value {
        let mut table = Map::new();
        let is_required =
            |key: &str| node["required"].as_array().is_some_and(|all| all.iter().any(|k| k == key));
        // Few or many of the others are given, by one byte, so that large tables are not always far from their defaults.
        let share = *one_of(u, &[30, 0, 100, 220]);
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            if is_required(key) || chance(u, share) {
                table.insert(key.clone(), self.value(property, u));
            }
        }
        Value::Object(table)
    }

    fn array(&self, node: &'a Value, u: &mut Unstructured) -> Value {
        let bound = |key: &str| node[key].as_u64().map(|n| n as usize);
        let (least, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(4));
        let count = u.int_in_range(least..=most.max(least)).unwrap_or(least);
        (0..count).map(|_| self.value(&node["items"], u)).collect()
    }
}

/// Small ones, the default and what lies about it, the bounds of the type.
fn integer(node: &Value, default: Option<&Value>, u: &mut Unstructured) -> Value {
    let bound = |key: &str, otherwise: i128| node[key].as_i64().map_or(otherwise, i128::from);
    let most = match node["format"].as_str() {
        Some("uint8") => 255,
        Some("uint16") => 65_535,
        Some("uint32") => i128::from(u32::MAX),
        _ => i128::from(u64::MAX),
    };
    let (least, most) = (bound("minimum", 0), bound("maximum", most));
    let usual = default.and_then(Value::as_i64).map_or(1, i128::from);
    let small = i128::from(u.arbitrary::<u8>().unwrap_or(0));
    let number = match u.int_in_range(0..=9).unwrap_or(0u8) {
        0..=3 => small % 20,
        4 => small * small,
        5 => usual * (1 + small) / 32,
        6 => usual + small - 128,
        7 => 1 << (small % 65),
        8 => i128::from(u.arbitrary::<u32>().unwrap_or(0)),
        _ => most - small,
    };
    match number.clamp(least, most) {
        number if number < 0 => Value::from(number as i64),
        number => Value::from(number as u64),
    }
}

/// What lies about the default, rates of 802.11, shares, whole numbers, and what no quantity is.
fn number(default: Option<&Value>, u: &mut Unstructured) -> Value {
    let usual = default.and_then(Value::as_f64).unwrap_or(1.0);
    let small = f64::from(u.arbitrary::<u8>().unwrap_or(0));
    Value::from(match u.int_in_range(0..=9).unwrap_or(0u8) {
        0..=1 => *one_of(u, &[11.0, 1.0, 2.0, 5.5, 6.0, 24.0, 54.0]),
        2..=3 => usual * (1.0 + small) / 32.0,
        4 => small / 255.0,
        5 => small,
        6 => -small,
        7 => *one_of(u, &[0.0, -0.0, 1e-9, 5e-324, 1e6, 1e9, 1e300, f64::MAX]),
        8 => 10f64.powf(small / 16.0 - 8.0),
        _ => f64::from_bits(u.arbitrary().unwrap_or(0)),
    })
}

/// How often a value is taken back before what was drawn is given up.
const REPAIRS: usize = 12;

/// What `read` makes of `given`, where each value that it refuses goes back to its default; nothing if that does not help.
pub fn repaired<T>(mut given: Value, read: impl Fn(&Value) -> Result<T, SpecError>) -> Option<T> {
    for _ in 0..REPAIRS {
        match read(&given) {
            Ok(taken) => return Some(taken),
            Err(error) if remove(&mut given, &error.key) => {}
            Err(_) => return None,
        }
    }
    None
}

/// The value as what it is to be. What has lost a key that it needs is refused as a whole.
pub fn parsed<T: DeserializeOwned>(given: &Value) -> Result<T, SpecError> {
    serde_json::from_value(given.clone()).map_err(|error| SpecError::new("", error, "what the schema says"))
}

/// Takes the entry at `path` (`flows[0].tcp.dscp`) out of `tree`, or the innermost table of it that there is; whether
/// something went.
pub fn remove(tree: &mut Value, path: &str) -> bool {
    let path = path.replace('[', ".").replace(']', "");
    let mut steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    while let Some(last) = steps.pop() {
        let parent = steps.iter().try_fold(&mut *tree, |node, step| match node {
            Value::Object(table) => table.get_mut(*step),
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        });
        let gone = match parent {
            Some(Value::Object(table)) => table.remove(last),
            Some(Value::Array(items)) => {
                let index = last.parse().ok().filter(|index| *index < items.len());
                index.map(|index: usize| items.remove(index))
            }
            _ => None,
        };
        if gone.is_some() {
            return true;
        }
    }
    false
}
