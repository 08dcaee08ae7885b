// What captions may wait for. Each measure is a number from the present rates, or null where there is nothing to measure.

import { FATES, sum } from "./store.js";

const LOSSES = ["tail_dropped", "aqm_refused", "evicted", "aqm_evicted"];

/** The flows of a group that are open. */
function members(store, group) {
  const flags = store.state.flows.open;
  return store.scene.flows.map((flow, i) => (flow.group === group && flags[i] ? i : -1)).filter((i) => i >= 0);
}

const mean = (list) => (list.length ? sum(list, (x) => x) / list.length : null);

const goodput = (store, group) => mean(members(store, group).map((i) => store.rates.goodput[i]));
const rtt = (store, group) => mean(members(store, group).map((i) => store.rates.rtt[i]).filter((x) => x !== null));
const airtime = (store, group) => mean([...new Set(members(store, group).map((i) => store.scene.flows[i].station))]
  .map((station) => store.rates.up[station] + store.rates.down[station]));
const fates = (store, names, cls) => store.rates.fates && sum(cls === undefined ? [0, 1, 2] : [cls],
  (c) => sum(names, (name) => store.rates.fates[c][name]));

const numberOf = (store, bss) => store.scene.bsss.findIndex(({ name }) => name === bss);
const share = (store, key, bss) => store.rates.field[key][numberOf(store, bss)] / 1e9;

const MEASURES = {
  /** Simulated seconds since the start. */
  time_s: (store) => store.state.time_ns / 1e9,
  /** Jain's index of the goodput of the open flows over TCP. */
  jain: (store) => store.jain(),
  /** Mean goodput of a group's open flows, in Mbps. */
  goodput_mbps: (store, { group }) => goodput(store, group),
  /** Mean goodput of a group's flows over that of another's. */
  goodput_ratio: (store, { group, over }) => {
    const below = goodput(store, over);
    return below > 0 ? goodput(store, group) / below : null;
  },
  /** Mean round-trip time of a group's samples, in ms. */
  rtt_ms: (store, { group }) => rtt(store, group),
  /** Mean share of the air of a group's stations over that of another's. */
  airtime_ratio: (store, { group, over }) => {
    const below = airtime(store, over);
    return below > 0 ? airtime(store, group) / below : null;
  },
  /** Packets queued at the AP. */
  queue_packets: (store) => sum(store.state.tx_queues, (txQueue) => txQueue.queued_packets),
  /** The limit of the AP's buffer. */
  limit_packets: (store) => sum(store.state.tx_queues, (txQueue) => txQueue.limit_packets),
  /** Mean wait of the packets that left the AP's buffer, in ms. */
  sojourn_ms: (store) => store.rates.sojourn,
  /** Data packets lost at the AP's buffer since the start. Downloads that starve send, and lose, only now and then. */
  data_drops: (store) => sum(store.state.tx_queues, (txQueue) => sum(LOSSES, (name) => txQueue.counters[0][FATES.indexOf(name)])),
  /** Data packets lost at the AP's buffer, per second. */
  data_drops_per_s: (store) => fates(store, LOSSES, 0),
  /** TCP ACKs lost at the AP's buffer, filtered ones not among them, per second. */
  ack_drops_per_s: (store) => fates(store, LOSSES, 1),
  /** Redundant ACKs taken out of the AP's buffer, per second. */
  acks_filtered_per_s: (store) => fates(store, ["filtered"], 1),
  /** Share of TCP ACKs among the packets queued. */
  ack_share: (store) => {
    let [acks, all] = [0, 0];
    for (const txQueue of store.state.tx_queues) {
      for (let i = 1; i < txQueue.packets.length; i += 5) {
        all += 1;
        acks += txQueue.packets[i] === 1 ? 1 : 0;
      }
    }
    return all ? acks / all : null;
  },
  /** Mean number of packets in a PPDU of the AP; null where there are no A-MPDUs. */
  ap_packets_per_ppdu: (store) => store.rates.perPpdu.ap,
  /** Mean number of packets in a PPDU of a station. */
  station_packets_per_ppdu: (store) => store.rates.perPpdu.stations,
  /** Goodput of all flows of a BSS, in Mbps. */
  bss_goodput_mbps: (store, { bss }) => {
    const { stations } = store.scene.bsss[numberOf(store, bss)];
    return sum(store.scene.flows, (flow, i) => (stations.includes(flow.station) ? store.rates.goodput[i] : 0));
  },
  /** Share of the time in which a frame of a BSS of a field is on the air. */
  busy_own: (store, { bss }) => share(store, "busy_own_ns", bss),
  /** Share of the time in which none is, and its AP senses the frames of others. */
  busy_others: (store, { bss }) => share(store, "busy_others_ns", bss),
  /** Frames of a BSS of a field that are lost to hidden ones, per attempt of its nodes. */
  lost_hidden_per_attempt: (store, { bss }) => {
    const number = numberOf(store, bss);
    const attempts = sum(store.scene.bsss[number].stations, (station) => store.rates.attempts[station]);
    return attempts > 0 ? store.rates.field.lost_hidden[number] / attempts : null;
  },
  /** Retransmission timeouts of a group's flows, per second. */
  timeouts_per_s: (store, { group }) => sum(members(store, group), (i) => store.rates.timeouts[i]),
};

/** Whether a condition holds now. */
export function holds(store, condition) {
  if (!store.rates) return false;
  const value = MEASURES[condition.measure](store, condition);
  if (value === null || !Number.isFinite(value)) return false;
  return (condition.above === undefined || value > condition.above) && (condition.below === undefined || value < condition.below);
}

export const names = Object.keys(MEASURES);
