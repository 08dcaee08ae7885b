//! Every scheme by name: one line each.

use crate::external::{ExternalScheme, Maker};
use crate::scheme::Scheme;

wifair_core::registry! {
    /// A scheme by name, with its parameters: `{"name": "droptail"}`.
    SchemeSpec, matched by each, and unlisted "external" as External(ExternalScheme);
    Droptail => droptail,
    AckFiltering => ack_filtering,
    SpmAf => spm_af,
    AckPushout => ack_pushout,
    AdaptivePushout => adaptive_pushout,
    Las => las,
    TLas => t_las,
    Red => red,
    Pi => pi,
    Dqm => dqm,
    Codel => codel,
    FqCodel => fq_codel,
    Pie => pie,
    Mac80211 => mac80211,
    AirShare => air_share,
}

impl SchemeSpec {
    /// Creates the scheme in its initial state.
    pub fn build(&self) -> Box<dyn Scheme> {
        each!(SchemeSpec: self, spec => Box::new(spec.build()), SchemeSpec::External(spec) => spec.build())
    }

    /// Lets `find` supply this scheme if it is external. A scheme that `find` does not know is refused when the plan is
    /// checked.
    pub fn supply(&mut self, find: &mut dyn FnMut(&ExternalScheme) -> Option<Maker>) {
        if let SchemeSpec::External(external) = self {
            external.maker = find(external);
        }
    }
}

impl Default for SchemeSpec {
    fn default() -> SchemeSpec {
        SchemeSpec::Droptail(Default::default())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use wifair_core::{Ac, FlowId, Packet, Rate, Rng, StationId, Time};

    use super::*;
    use crate::buffer::Buffer;
    use crate::flows::{Flows, FlowsSpec};
    use crate::scheme::{Cx, Hooks};
    use crate::words::{Direction, Exchange, Grant, Link, Outcome, Reception, Transmission};

    /// A method that [`Hooks`] declares, and whether it does.
    type Method = (&'static str, fn(&Hooks) -> bool, fn(&mut dyn Scheme, &mut Buffer, &mut Cx));

    const STATION: StationId = StationId(0);

    fn packet() -> Packet {
        Packet { payload_bytes: 1460, header_bytes: 40, ..Packet::default() }
    }

    fn reception(packet: &Packet) -> Reception<'_> {
        let (airtime, overhead) = (Time::from_us(300), Time::from_us(100));
        Reception { packet, flow: FlowId(0), station: STATION, ac: Ac::BestEffort, airtime, overhead }
    }

    const METHODS: [Method; 11] = [
        (
            "choose_station",
            |hooks| hooks.choose_station,
            |scheme, buffer, cx| {
                scheme.choose_station(&Grant::ANY, &|_| false, buffer, cx);
            },
        ),
        (
            "on_pending",
            |hooks| hooks.choose_station,
            |scheme, _, cx| {
                scheme.on_pending(STATION, Ac::BestEffort, cx);
            },
        ),
        (
            "on_exchange",
            |hooks| hooks.exchange,
            |scheme, buffer, cx| {
                let exchange = Exchange {
                    outcome: Outcome::Delivered,
                    packets: &[packet()],
                    flow: FlowId(0),
                    station: STATION,
                    ac: Ac::BestEffort,
                    rate: Rate::from_mbps(54.0),
                    attempts: 1,
                    airtime: Time::from_us(300),
                    overhead: Time::from_us(100),
                    service: Time::from_us(400),
                };
                scheme.on_exchange(&exchange, buffer, cx);
            },
        ),
        (
            "on_transmission",
            |hooks| hooks.transmission,
            |scheme, buffer, cx| {
                let transmission = Transmission {
                    station: STATION,
                    ac: Ac::BestEffort,
                    rate: Rate::from_mbps(54.0),
                    mpdus: vec![],
                    airtime: Time::from_us(300),
                    overhead: Time::from_us(100),
                };
                scheme.on_transmission(&transmission, buffer, cx);
            },
        ),
        (
            "on_reception",
            |hooks| hooks.reception,
            |scheme, buffer, cx| {
                scheme.on_reception(&reception(&packet()), buffer, cx);
            },
        ),
        (
            "police",
            |hooks| hooks.police,
            |scheme, buffer, cx| {
                scheme.police(&reception(&packet()), buffer, cx);
            },
        ),
        (
            "on_queue_size",
            |hooks| hooks.queue_size,
            |scheme, buffer, cx| scheme.on_queue_size(STATION, Ac::BestEffort, buffer, cx),
        ),
        (
            "on_link_rate",
            |hooks| hooks.link_rate,
            |scheme, buffer, cx| {
                scheme.on_link_rate(STATION, buffer, cx);
            },
        ),
        (
            "next_tick",
            |hooks| hooks.tick,
            |scheme, _, _| {
                scheme.next_tick();
            },
        ),
        ("on_tick", |hooks| hooks.tick, |scheme, buffer, cx| scheme.on_tick(buffer, cx)),
        ("on_forgotten", |hooks| hooks.forgotten, |scheme, _, _| scheme.on_forgotten(FlowId(0))),
    ];

    /// A method that is declared without being there panics ([`Scheme::hooks`]); one that is there without being declared would
    /// never be called.
    #[test]
    fn every_scheme_declares_the_hooks_that_it_has() {
        for component in SchemeSpec::components() {
            let name = component.info.name;
            for (method, is_declared, call) in METHODS {
                let spec: SchemeSpec = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
                let mut scheme = spec.build();
                let mut flows = Flows::new(&FlowsSpec::default());
                let flow = flows.observe(&packet(), Direction::Down, Time::ZERO, |_| true);
                let (links, mut rng) = ([Link::new(Rate::from_mbps(54.0))], Rng::stream(1, "ap", "scheme"));
                let mut cx = Cx { now: Time::ZERO, rng: &mut rng, flows: &flows, links: &links };
                let mut buffer = Buffer::new(10, false, scheme.needs());
                buffer.fifo_mut().advance(Time::ZERO);
                let packet = packet();
                let arrival = buffer.arrival(&packet, flow, STATION, Ac::BestEffort);
                let _placed = scheme.enqueue(arrival, &mut buffer, &mut cx);
                let called = catch_unwind(AssertUnwindSafe(|| call(&mut *scheme, &mut buffer, &mut cx)));
                let expected = is_declared(&scheme.hooks()).then_some(());
                assert_eq!(called.ok(), expected, "{name}: {method} is there (left), and declared (right)");
            }
        }
    }
}
