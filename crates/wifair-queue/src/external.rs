//! A scheme that is not in the registry: the program that runs a plan brings it along.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wifair_core::SpecError;

use crate::{Scheme, SchemeSpec};

/// A scheme that the program which runs the plan supplies, as a plan names it.
///
/// It must be supplied ([`SchemeSpec::supply`]) before the plan is checked or run. Two of them are the same scheme if
/// `id` and `parameters` are the same: `id` stands for everything else that decides what the scheme does, its source
/// included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalScheme {
    /// The name by which that program knows it.
    pub id: String,
    /// Its parameters, which are a matter between the plan and that program.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    #[serde(skip)]
    maker: Option<Maker>,
}

/// Makes a scheme at its beginning, once for each port of each replication (and to check the plan).
#[derive(Clone)]
pub struct Maker(Arc<dyn Fn() -> Box<dyn Scheme> + Send + Sync>);

impl Maker {
    /// The maker that calls `make`.
    pub fn new(make: impl Fn() -> Box<dyn Scheme> + Send + Sync + 'static) -> Maker {
        Maker(Arc::new(make))
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// All makers are alike: what they make is named by the scheme's id.
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

impl SchemeSpec {
    /// Lets `find` supply this scheme if it is an external one. What `find` does not know is refused when the plan is
    /// checked.
    pub fn supply(&mut self, find: &mut dyn FnMut(&ExternalScheme) -> Option<Maker>) {
        if let SchemeSpec::External(external) = self {
            external.maker = find(external);
        }
    }
}
