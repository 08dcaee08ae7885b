//! Changes of the parameters of future connections.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::FiveTuple;

use crate::{CongestionControlSpec, Receiver, Sender, TcpSpec};

/// New values for some parameters of a flow's TCP. They hold for the connections that are opened from then on: what a
/// connection has agreed on stays. A key that is absent leaves its value as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpChange {
    /// Congestion control and loss recovery of the sender, by name.
    pub congestion_control: Option<CongestionControlSpec>,
    /// Receive window in segments.
    pub receiver_window_segments: Option<u32>,
    /// Whether both ends use ECN (RFC 3168).
    pub ecn: Option<bool>,
}

impl TcpSpec {
    /// Returns these parameters after `change`, not yet checked by [`TcpSpec::validate`].
    pub fn changed(&self, change: &TcpChange) -> TcpSpec {
        let TcpChange { congestion_control, receiver_window_segments, ecn } = change.clone();
        TcpSpec {
            congestion_control: congestion_control.unwrap_or_else(|| self.congestion_control.clone()),
            receiver_window_segments: receiver_window_segments.unwrap_or(self.receiver_window_segments),
            ecn: ecn.unwrap_or(self.ecn),
            ..self.clone()
        }
    }
}

impl Sender {
    /// Like [`Sender::renew`], with new parameters.
    pub fn renew_with(&mut self, spec: &Arc<TcpSpec>, tuple: FiveTuple) {
        self.set_spec(spec);
        self.renew(tuple);
    }
}

impl Receiver {
    /// Like [`Receiver::renew`], with new parameters.
    pub fn renew_with(&mut self, spec: &Arc<TcpSpec>, tuple: FiveTuple) {
        self.set_spec(spec);
        self.renew(tuple);
    }
}
