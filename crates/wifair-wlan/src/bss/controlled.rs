//! CWmin of best effort at the stations, where the access point controls it (`docs/medium.md`, section 10): samples, and how
//! the stations adopt what is announced.

use wifair_core::{Ac, StationId, Time};

use super::exchanges::Exchanges;
use crate::edca_controller::EdcaController;
use crate::node::{Node, Numbering};
use crate::records::AirtimeByDirection;

/// Schedules the next sample.
pub(super) fn schedule(controller: &EdcaController, exchanges: &mut Exchanges, now: Time) {
    exchanges.nodes.deadlines.set_sample(now + controller.interval(), now);
}

/// Lets the controller take a sample, and announces what it has decided. `airtime` is that since the start.
pub(super) fn sample(
    controller: &mut EdcaController,
    exchanges: &mut Exchanges,
    airtime: AirtimeByDirection,
    now: Time,
) {
    let holds = exchanges.nodes.usual_tx_queue(Node::Ap).queued(Ac::BestEffort).packets > 0;
    if let Some(cw_min) = controller.sample(holds, airtime) {
        exchanges.announced_cw_min = Some(cw_min);
        if exchanges.field.is_some() {
            adopt(exchanges);
        }
    }
    schedule(controller, exchanges, now);
}

/// Lets best effort at the stations have the CWmin that the AP has announced, if there is a new one.
pub(super) fn adopt(exchanges: &mut Exchanges) {
    let Some(cw_min) = exchanges.announced_cw_min.take() else { return };
    for station in 0..exchanges.links.len() / 2 {
        let sender = Numbering::EDCA.edcaf(Node::Station(StationId(station as u16)), Ac::BestEffort);
        match exchanges.field.as_deref_mut() {
            Some(share) => share.set_cw_min(sender, cw_min),
            None => exchanges.medium.set_cw_min(sender, cw_min),
        }
    }
}
