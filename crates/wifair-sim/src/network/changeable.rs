//! Parts of the plan that changes of flows and of the wire need.

use std::sync::Arc;

use wifair_tcp::TcpSpec;

use crate::application::ApplicationSpec;
use crate::plan::Plan;

/// See the module documentation.
pub(super) struct Changes {
    /// By group: its flows, in the order of the plan.
    pub(super) members: Vec<Vec<u32>>,
    /// By flow: its application, to start again.
    pub(super) applications: Vec<ApplicationSpec>,
    /// By flow: the parameters of its next connections, and whether they differ from those of the last.
    pub(super) tcp: Vec<(Arc<TcpSpec>, bool)>,
    /// By flow: whether it has the wire's delay.
    pub(super) follows_wire: Vec<bool>,
}

impl Changes {
    pub(super) fn new(plan: &Plan) -> Changes {
        let (indexes, group_of) = plan.groups();
        let mut members = vec![vec![]; indexes.len()];
        (0..).zip(&group_of).for_each(|(flow, &group)| members[group as usize].push(flow));
        Changes {
            members,
            applications: plan.flows.iter().map(|flow| flow.application.clone()).collect(),
            tcp: plan.flows.iter().map(|flow| (Arc::new(flow.tcp_of_ends()), false)).collect(),
            follows_wire: plan.flows.iter().map(|flow| flow.one_way_delay_ms.is_none()).collect(),
        }
    }
}
