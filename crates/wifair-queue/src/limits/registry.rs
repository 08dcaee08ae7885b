//! Every limit controller by name: one line each.

use crate::limit::LimitController;

wifair_core::registry! {
    /// A limit controller by name, with its parameters: `{"name": "alt"}`.
    LimitSpec, matched by each;
    Alt => alt,
    Ebdp => ebdp,
}

impl LimitSpec {
    /// Creates the controller in its initial state.
    pub fn build(&self) -> Box<dyn LimitController> {
        each!(LimitSpec: self, spec => Box::new(spec.build()))
    }
}
