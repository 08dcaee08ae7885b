//! Every limit controller by name: one line each.

use crate::LimitController;

crate::registered::registry! {
    /// A limit controller by name, with its parameters: `{"name": "alt"}`.
    LimitSpec of dyn LimitController, listed by limit_controllers;
    Alt => alt,
    Ebdp => ebdp,
}
