//! JSON parsing in two steps, first to a tree, then by type. Duplicate keys and trailing data are refused; numbers are read
//! exactly.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use wifair_core::SpecError;

/// Parses `json` as a `T`.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, SpecError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let Tree(tree) = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| misread(&Value::Null, error.path(), error.inner()))?;
    deserializer.end().map_err(|_| SpecError::new(".", "what stands behind the plan", "nothing"))?;
    serde_path_to_error::deserialize(&tree).map_err(|error| misread(&tree, error.path(), error.inner()))
}

/// Any JSON without duplicate keys in a table.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Tree)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        while let Some(Tree(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if table.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
            let Tree(value) = entries.next_value()?;
            table.insert(key, value);
        }
        Ok(table.into())
    }
}

/// Keys that had other names: old and new.
const RENAMED: [(&str, &str); 4] = [
    ("cell", "bss"),
    ("port", "tx_queue"),
    ("share_port", "share_tx_queue"),
    ("server_hears_link_rate", "server_notified_of_link_rate"),
];

/// Converts an error of serde: `error` is its message, `path` the place in `tree`.
fn misread(tree: &Value, path: &Path, error: &serde_json::Error) -> SpecError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let (found, path) = (found(tree, path), shown(path));
    let quoted = |prefix: &str| message.strip_prefix(prefix)?.split('`').next();
    let inside = |field: &str| if path == "." { field.to_string() } else { format!("{path}.{field}") };
    if let Some(field) = quoted("missing field `") {
        SpecError::new(inside(field), "nothing", "a value: the key must be there")
    } else if let Some(field) = quoted("duplicate field `") {
        let key = inside(if field.is_empty() { "\"\"" } else { field });
        SpecError::new(key, "a key that is there twice", "each key once")
    } else if let Some(field) = quoted("unknown field `") {
        let expected = message.split_once(", ").map_or("no such key", |(_, expected)| expected);
        let is_now = |new: &str| expected.contains(&format!("`{new}`"));
        let renamed = RENAMED.iter().find(|(old, new)| *old == field && is_now(new));
        let expected = renamed.map_or_else(|| expected.into(), |(_, new)| format!("`{new}`, its name now"));
        let key = if path.ends_with(field) { path } else { inside(field) };
        SpecError::new(key, "an unknown key", expected)
    } else {
        SpecError::new(path, found.unwrap_or_else(|| "what stands there".into()), expected(message))
    }
}

/// What serde's message says is expected, without Rust's names of types.
fn expected(message: &str) -> String {
    let wanted = message.rsplit_once("expected ").map_or(message, |(_, wanted)| wanted);
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    match wanted {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number from 0 on".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text".into(),
        "a sequence" => "a list".into(),
        _ if wanted.starts_with("struct ") || wanted.starts_with("internally tagged enum ") => {
            "a table".into()
        }
        _ => wanted.into(),
    }
}

/// The path with an empty last key in quotes.
fn shown(path: &Path) -> String {
    let empty = path
        .iter()
        .next_back()
        .is_some_and(|segment| matches!(segment, Segment::Map { key } if key.is_empty()));
    format!("{path}{}", if empty { "\"\"" } else { "" })
}

/// The value at `path`, unless it is a table or a list.
fn found(tree: &Value, path: &Path) -> Option<String> {
    let value = path.iter().try_fold(tree, |value, segment| match segment {
        Segment::Seq { index } => value.get(index),
        Segment::Map { key } => value.get(key),
        Segment::Enum { .. } => Some(value),
        Segment::Unknown => None,
    })?;
    (!value.is_null() && !value.is_object() && !value.is_array()).then(|| value.to_string())
}
