//! A mutation of a plan that leaves it a plan most of the time: a place of it is drawn anew from the schema of what may stand
//! there, goes, comes, or comes twice. Now and then what stands there is nonsense, the text is damaged where it hurts a reader
//! of JSON, or it is any bytes that change.

use std::sync::OnceLock;

use arbitrary::Unstructured;
use serde_json::{Value, json};
use wifair_core::Rng;

use crate::given::{Schema, chance, one_of};

/// The size of the mutated plan, which is in `data` then.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let tree = serde_json::from_slice::<Value>(&data[..size]).ok();
    let Some(mut tree) = tree.filter(|_| !seed.is_multiple_of(16)) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let root = SCHEMA.get_or_init(|| wifair_sim::schema()["plan"].clone());
    let schema = Schema::new(root);
    let mut rng = Rng::stream(u64::from(seed), "plan", "mutation");
    let noise: Vec<u8> = (0..2_000).map(|_| (rng.unit() * 256.0) as u8).collect();
    let mut u = Unstructured::new(&noise);
    let text = if seed % 16 < 4 {
        damaged(&data[..size], &mut u)
    } else {
        for _ in 0..1 + seed % 3 {
            change(&schema, root, &mut tree, &mut u);
        }
        tree.to_string().into_bytes()
    };
    if text.len() > max_size {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    data[..text.len()].copy_from_slice(&text);
    text.len()
}

/// What a reader of JSON has to look out for.
const DAMAGE: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "-",
    ".5",
    "0",
    "00",
    "e9",
    "E400",
    "1e-400",
    "123456789012345678901",
    "true",
    "nul",
    " ",
    "\n",
    "\\u0061",
    "\\x",
    "\u{1}",
    "\u{e4}",
    "{\"\":0}",
];

/// The text, cut off at some place, or with something there that does not belong there, or with something there twice.
fn damaged(text: &[u8], u: &mut Unstructured) -> Vec<u8> {
    let at = u.int_in_range(0..=text.len()).unwrap_or(0);
    let (before, behind) = text.split_at(at);
    let length = u.int_in_range(0..=40).unwrap_or(0).min(behind.len());
    match u.int_in_range(0..=4).unwrap_or(0u8) {
        0 => before.to_vec(),
        1 => [before, &behind[length..]].concat(),
        2 => [before, &behind[..length], behind].concat(),
        kind => {
            let replaced = usize::from(kind == 3).min(behind.len());
            [before, one_of(u, &DAMAGE).as_bytes(), &behind[replaced..]].concat()
        }
    }
}

/// Goes down to some place and changes it.
fn change<'a>(schema: &Schema<'a>, node: &'a Value, tree: &mut Value, u: &mut Unstructured) {
    let node = alternative(schema, node, tree);
    if !chance(u, 50) {
        match tree {
            Value::Object(table) if !table.is_empty() => {
                let keys: Vec<String> = table.keys().cloned().collect();
                let key = one_of(u, &keys);
                return change(schema, &node["properties"][key], table.get_mut(key).expect("listed"), u);
            }
            Value::Array(items) if !items.is_empty() => {
                let index = u.choose_index(items.len()).unwrap_or(0);
                return change(schema, &node["items"], &mut items[index], u);
            }
            _ => {}
        }
    }
    if chance(u, 30) {
        *tree = match tree {
            // serde takes a list of a table's values for the table.
            Value::Object(table) if chance(u, 100) => table.values().cloned().collect(),
            _ => one_of(u, &nonsense()).clone(),
        };
        return;
    }
    match tree {
        Value::Object(table) if !chance(u, 60) => {
            let known: Vec<&String> =
                node["properties"].as_object().into_iter().flat_map(|all| all.keys()).collect();
            if known.is_empty() {
                return;
            }
            let key = *one_of(u, &known);
            if chance(u, 60) {
                table.remove(key);
            } else {
                table.insert(key.clone(), schema.value(&node["properties"][key], u));
            }
        }
        Value::Array(items) if !chance(u, 60) => match u.int_in_range(0..=2).unwrap_or(0u8) {
            0 if !items.is_empty() => {
                items.remove(u.choose_index(items.len()).unwrap_or(0));
            }
            1 if !items.is_empty() => {
                let twice = one_of(u, items).clone();
                items.push(twice);
            }
            _ => items.push(schema.value(&node["items"], u)),
        },
        _ => *tree = schema.value(node, u),
    }
}

/// A value of every kind.
fn nonsense() -> [Value; 12] {
    let nested = json!({"name": {"name": []}});
    let [least, most] = [json!(i64::MIN), json!(u64::MAX)];
    [
        json!(null),
        json!(true),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"x": 1}),
        json!("x"),
        json!(-1),
        json!(1e300),
        nested,
        least,
        most,
    ]
}

/// The alternative of `node` that `tree` is one of: by its tag, or the first that is no null.
fn alternative<'a>(schema: &Schema<'a>, node: &'a Value, tree: &Value) -> &'a Value {
    let node = schema.resolved(node);
    let Some(all) = schema.alternatives(node) else { return node };
    let named = |one: &&Value| one["properties"]["name"]["const"] == tree["name"] && tree["name"].is_string();
    let all = || all.iter().map(|one| schema.resolved(one));
    match all().find(named).or_else(|| all().find(|one| one["type"] != "null")) {
        Some(one) if one.get("oneOf").is_some() || one.get("anyOf").is_some() => {
            alternative(schema, one, tree)
        }
        Some(one) => one,
        None => node,
    }
}
