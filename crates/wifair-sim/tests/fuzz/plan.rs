//! A plan of whatever bytes: refused with an error that says why, or accepted.

use serde_json::Value;
use wifair_sim::Plan;

use crate::given;

/// What is refused is taken out, so often, to see more of the rest.
const REPAIRS: usize = 8;

/// A plan as text: what is accepted after all.
pub fn check(data: &[u8]) -> Option<Plan> {
    let mut text = std::str::from_utf8(data).ok()?.to_owned();
    for _ in 0..REPAIRS {
        let error = match Plan::from_json(&text) {
            Ok(plan) => {
                assert!(serde_json::from_str::<Value>(&text).is_ok(), "what is accepted is JSON");
                return Some(again(&plan));
            }
            Err(error) => error,
        };
        assert!(!error.key.is_empty() && !error.allowed.is_empty(), "{error:?}");
        let mut tree = serde_json::from_str::<Value>(&text).ok()?;
        if !given::remove(&mut tree, &error.key) {
            return None;
        }
        text = tree.to_string();
    }
    None
}

/// What is accepted is accepted in its canonical form, too, and that is the same plan.
fn again(plan: &Plan) -> Plan {
    let canonical = plan.to_canonical_json();
    let again = Plan::from_json(&canonical).expect("the canonical form is accepted");
    assert_eq!(again.to_canonical_json(), canonical);
    again
}
