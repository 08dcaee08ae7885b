//! A scheme that is not in the registry but supplied by the program that runs the plan.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wifair_core::SpecError;

use crate::scheme::Scheme;

/// A scheme that the program which runs the plan supplies, as named in the plan.
///
/// It must be supplied ([`SchemeSpec::supply`](crate::SchemeSpec::supply)) before the plan is checked or run. Two external
/// schemes are the same if `id` and `parameters` are equal: `id` identifies everything else that determines the scheme's
/// behaviour, its source included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalScheme {
    /// The scheme's name in that program.
    pub id: String,
    /// Its parameters, interpreted only by that program.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    #[serde(skip)]
    pub(crate) maker: Option<Maker>,
}

/// Creates a scheme in its initial state, once per transmit queue and replication (and to check the plan).
#[derive(Clone)]
pub struct Maker(Arc<dyn Fn() -> Box<dyn Scheme> + Send + Sync>);

impl Maker {
    /// Wraps `make`.
    pub fn new(make: impl Fn() -> Box<dyn Scheme> + Send + Sync + 'static) -> Maker {
        Maker(Arc::new(make))
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// All makers are equal: the scheme is identified by its id.
impl PartialEq for Maker {
    fn eq(&self, _other: &Maker) -> bool {
        true
    }
}

impl ExternalScheme {
    pub(crate) fn build(&self) -> Box<dyn Scheme> {
        let Maker(make) = self.maker.as_ref().expect("a plan is checked before it is run");
        make()
    }

    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        match self.maker {
            Some(_) => Ok(()),
            None => {
                Err(SpecError::new(path, &self.id, "a scheme that the program which runs the plan supplies"))
            }
        }
    }
}
