// The present picture, and rates over a window of simulated time.

/** Rates are taken over about this much simulated time, in ns, or between two pictures where these lie further apart. */
const WINDOW_NS = 1.5e9;
/** What a transmit queue counts, in the order of its counters. */
export const FATES = ["offered", "tail_dropped", "aqm_refused", "evicted", "aqm_evicted", "filtered", "dequeued", "delivered",
  "lost_at_retry_limit", "ce_marked", "ece_marked", "policed", "police_marked", "police_dropped"];

export class Store {
  /** `scene`: names and groups. */
  constructor(scene) {
    this.scene = scene;
    /** By node: the number of its BSS. Nodes are the AP of the first BSS, all stations, then the other APs. */
    this.bssOf = bssOfNodes(scene);
    this.state = null;
    this.past = [];
    this.rates = null;
    /** PPDUs on the air that list their packets, and these packets: of the AP and of the stations. */
    this.ppdus = { ap: { count: 0, packets: 0 }, stations: { count: 0, packets: 0 } };
  }

  /** Takes a picture over; gives what it says of the flows, stations and transmit queues, to be compared with later ones. */
  take(message) {
    const state = message.state;
    const t = state.time_ns;
    this.message = message;
    this.state = state;
    this.countPpdus(state.frames);
    const entry = this.entry(state, t);
    const last = this.past[this.past.length - 1];
    if (!last || t > last.t) {
      this.past.push(entry);
    } else if (entry.bss !== last.bss) {
      this.past[this.past.length - 1] = entry;
    }
    const span = Math.max(WINDOW_NS, last ? t - last.t : 0);
    while (this.past.length > 2 && this.past[1].t <= t - span) this.past.shift();
    this.thin(span);
    const first = this.past[0];
    if (first && t > first.t) this.rates = { ...this.rate(first, entry), ...this.ofShown(entry) };
    return entry;
  }

  countPpdus(frames) {
    for (const frame of frames) {
      const [node, packets] = [frame[2], frame[10].length / 4];
      if (packets === 0) continue;
      if (this.bssOf[node] !== this.state.bss) continue;
      const of = isAp(this.scene, node) ? this.ppdus.ap : this.ppdus.stations;
      of.count += 1;
      of.packets += packets;
    }
  }

  entry(state, t) {
    const flows = state.flows;
    const stations = state.stations;
    const attempts = stations.attempts_up.map((count, i) => count + stations.attempts_down[i]);
    const counters = state.tx_queues.map((txQueue) => txQueue.counters.map((row) => row.slice()));
    return { t, bss: state.bss, delivered: flows.delivered_bytes, rttCount: flows.rtt_count, rttSum: flows.rtt_sum_ns,
      retransmitted: flows.retransmitted, timeouts: flows.timeouts, up: stations.airtime_up_ns, down: stations.airtime_down_ns,
      cwnd: flows.cwnd_bytes, counters, air: state.air, field: state.field, attempts, ppdus: structuredClone(this.ppdus),
      sojournCount: sum(state.tx_queues, (p) => p.sojourn_count), sojournSum: sum(state.tx_queues, (p) => p.sojourn_sum_ns) };
  }

  /** Keeps the window's entries few. */
  thin(span) {
    if (this.past.length < 48) return;
    const kept = [];
    for (const entry of this.past) {
      const last = kept[kept.length - 1];
      if (!last || entry.t - last.t >= span / 24 || entry === this.past[this.past.length - 1]) kept.push(entry);
    }
    this.past = kept;
  }

  /** Rates of what pictures have of the BSS that is shown alone; null where another was shown before. */
  ofShown(b) {
    const a = this.past.find(({ t, bss }) => bss === b.bss && t < b.t);
    if (!a) return { fates: null, collisions: null, beacons: null, idle: null, exchanges: null, perPpdu: { ap: null, stations: null }, sojourn: null };
    const s = (b.t - a.t) / 1e9;
    const fates = [0, 1, 2].map((cls) => Object.fromEntries(FATES.map((fate, f) =>
      [fate, sum(b.counters, (txQueue, p) => txQueue[cls][f] - (a.counters[p]?.[cls][f] ?? 0)) / s])));
    const left = b.sojournCount - a.sojournCount;
    return { fates, collisions: (b.air.collision_ns - a.air.collision_ns) / 1e9 / s,
      beacons: (b.air.beacon_ns - a.air.beacon_ns) / 1e9 / s, idle: (b.air.idle_ns - a.air.idle_ns) / 1e9 / s,
      exchanges: (b.air.exchanges - a.air.exchanges) / s,
      perPpdu: { ap: perPpdu(a.ppdus.ap, b.ppdus.ap), stations: perPpdu(a.ppdus.stations, b.ppdus.stations) },
      sojourn: left > 0 ? (b.sojournSum - a.sojournSum) / left / 1e6 : null };
  }

  /** Rates between two entries, per simulated second. */
  rate(a, b) {
    const s = (b.t - a.t) / 1e9;
    const each = (key) => b[key].map((value, i) => (value - a[key][i]) / s);
    return { seconds: s, goodput: each("delivered").map((x) => x * 8e-6), rtt: meanRtt(a, b), up: each("up").map((x) => x / 1e9),
      down: each("down").map((x) => x / 1e9), attempts: each("attempts"), retransmitted: each("retransmitted"), timeouts: each("timeouts"),
      field: Object.fromEntries(Object.entries(b.field).map(([key, values]) =>
        [key, values.map((value, i) => (value - a.field[key][i]) / s)])) };
  }

  /** Indexes of the flows that are open, or still deliver. */
  open() {
    const flags = this.state.flows.open;
    return this.scene.flows.map((_, i) => i).filter((i) => flags[i] || (this.rates?.goodput[i] ?? 0) > 0);
  }

  /** Whether an open flow sends datagrams at a rate of its choice. They take air as bulk flows do, and belong to no index. */
  hasLoads() {
    const loads = this.scene.groups.filter((group) => group.application === "udp").map((group) => group.name);
    return this.open().some((i) => loads.includes(this.scene.flows[i].group));
  }

  /** Jain's index of the goodput of the open flows over TCP; null without goodput, and next to loads of datagrams. */
  jain() {
    if (!this.rates || this.hasLoads()) return null;
    const flags = this.state.flows.open;
    const x = this.rates.goodput.filter((_, i) => flags[i] && this.scene.flows[i].over_tcp);
    const squares = x.reduce((a, b) => a + b * b, 0);
    return squares > 0 ? x.reduce((a, b) => a + b, 0) ** 2 / (x.length * squares) : null;
  }
}

/** Whether a node is an access point. */
export function isAp(scene, node) {
  return node === 0 || node > scene.stations.length;
}

/** The node that is the access point of a BSS. */
export function apOf(scene, bss) {
  return bss === 0 ? 0 : scene.stations.length + bss;
}

function bssOfNodes(scene) {
  const found = [];
  scene.bsss.forEach(({ stations }, bss) => {
    found[apOf(scene, bss)] = bss;
    for (const station of stations) found[station + 1] = bss;
  });
  return found;
}

/** Mean number of packets of the PPDUs counted between; null where there are none. */
function perPpdu(a, b) {
  return b.count > a.count ? (b.packets - a.packets) / (b.count - a.count) : null;
}

export function sum(list, of) {
  return list.reduce((total, item, i) => total + of(item, i), 0);
}

/** Mean round-trip time of each flow's samples between two entries, in ms. */
export function meanRtt(a, b) {
  return b.rttCount.map((count, i) => {
    const n = count - a.rttCount[i];
    return n > 0 ? (b.rttSum[i] - a.rttSum[i]) / n / 1e6 : null;
  });
}
