use wifair_core::{Class, FlowId};

/// How many packets each flow has stored, and how many flows have any, by class.
#[derive(Clone, Debug, Default)]
pub struct StoredFlows {
    counts: Vec<[u32; 3]>,
    flows: [u32; 3],
}

impl StoredFlows {
    pub(super) fn grow_flows(&mut self, flows: usize) {
        self.counts.resize(flows, [0; 3]);
    }

    pub(super) fn insert(&mut self, flow: FlowId, class: Class) {
        let count = &mut self.counts[flow.index()][class as usize];
        self.flows[class as usize] += u32::from(*count == 0);
        *count += 1;
    }

    pub(super) fn remove(&mut self, flow: FlowId, class: Class) {
        let count = &mut self.counts[flow.index()][class as usize];
        *count -= 1;
        self.flows[class as usize] -= u32::from(*count == 0);
    }

    /// Queued packets of a flow and class; 0 for an unknown flow.
    pub fn packets(&self, flow: FlowId, class: Class) -> u32 {
        self.counts.get(flow.index()).map_or(0, |counts| counts[class as usize])
    }

    /// Number of flows with packets of a class queued.
    pub fn flows(&self, class: Class) -> u32 {
        self.flows[class as usize]
    }
}
