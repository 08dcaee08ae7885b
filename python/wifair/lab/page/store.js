// What the pictures have shown so far: the present one, rates over a window of simulated time, series, frames on the air.

/** Rates are taken over about this much simulated time, in ns, or between two pictures where these lie further apart. */
const WINDOW_NS = 1.5e9;
const MOST_FRAMES = 24000;
const MOST_POINTS = 600;
/** What a port counts, in the order of its counters. */
export const FATES = ["offered", "tail_dropped", "aqm_refused", "evicted", "aqm_evicted", "filtered", "dequeued", "delivered",
  "lost_at_retry_limit", "ce_marked", "ece_marked"];

export class Store {
  /** `scene`: names and groups; `values`: where the controls stand. */
  constructor(scene, values) {
    this.scene = scene;
    this.values = values;
    this.state = null;
    this.past = [];
    /** Frames on the air in the order of their beginnings: objects with absolute times. */
    this.frames = [];
    /** Events at ports of the last picture. */
    this.events = [];
    /** Stretches of time in which frames were not gathered: [from, to], in ns. */
    this.unseen = [];
    this.rates = null;
    this.series = { t: [], goodput: scene.flows.map(() => []), cwnd: scene.flows.map(() => []), rtt: scene.flows.map(() => []),
      retransmitted: scene.flows.map(() => []), timeouts: scene.flows.map(() => []) };
    this.lastPoint = null;
    this.pointEveryNs = 1e8;
  }

  /** Takes a picture over. */
  take(message) {
    const state = message.state;
    const t = state.time_ns;
    const before = this.state?.time_ns ?? 0;
    this.message = message;
    this.state = state;
    this.takeFrames(state, t, before);
    this.events = state.events;
    const entry = this.entry(state, t);
    const last = this.past[this.past.length - 1];
    if (!last || t > last.t) {
      this.past.push(entry);
    }
    const span = Math.max(WINDOW_NS, last ? t - last.t : 0);
    while (this.past.length > 2 && this.past[1].t <= t - span) this.past.shift();
    this.thin(span);
    const first = this.past[0];
    if (first && t > first.t) this.rates = this.rate(first, entry);
    this.addPoint(entry);
  }

  takeFrames(state, t, before) {
    const rows = state.frames;
    let from = t;
    for (const row of rows) {
      const frame = { begins: t - row[0], ends: t - row[1], node: row[2], kind: row[3], outcome: row[4], flow: row[5],
        cls: row[6], attempt: row[7], rate: row[8], waits: t - row[9], mpdus: row[10] };
      from = Math.min(from, frame.begins);
      this.frames.push(frame);
    }
    const seen = !this.message.every_event || state.frames_omitted > 0 ? from : before;
    if (seen > before) this.unseen.push([before, seen]);
    if (this.frames.length > MOST_FRAMES) this.frames.splice(0, this.frames.length - MOST_FRAMES * 0.8);
    if (this.unseen.length > 200) this.unseen.splice(0, 50);
  }

  entry(state, t) {
    const flows = state.flows;
    const stations = state.stations;
    const counters = state.ports.map((port) => port.counters.map((row) => row.slice()));
    return { t, delivered: flows.delivered_bytes, rttCount: flows.rtt_count, rttSum: flows.rtt_sum_ns,
      retransmitted: flows.retransmitted, timeouts: flows.timeouts, up: stations.airtime_up_ns, down: stations.airtime_down_ns,
      cwnd: flows.cwnd_bytes, counters, air: state.air,
      sojournCount: sum(state.ports, (p) => p.sojourn_count), sojournSum: sum(state.ports, (p) => p.sojourn_sum_ns) };
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

  /** Rates between two entries, per simulated second. */
  rate(a, b) {
    const s = (b.t - a.t) / 1e9;
    const each = (key) => b[key].map((value, i) => (value - a[key][i]) / s);
    const fates = [0, 1, 2].map((cls) => Object.fromEntries(FATES.map((fate, f) =>
      [fate, sum(b.counters, (port, p) => port[cls][f] - (a.counters[p]?.[cls][f] ?? 0)) / s])));
    const up = each("up").map((x) => x / 1e9);
    const down = each("down").map((x) => x / 1e9);
    const left = b.sojournCount - a.sojournCount;
    return { seconds: s, goodput: each("delivered").map((x) => x * 8e-6), rtt: this.rtt(a, b), fates, up, down,
      collisions: (b.air.collision_ns - a.air.collision_ns) / 1e9 / s, idle: (b.air.idle_ns - a.air.idle_ns) / 1e9 / s,
      exchanges: (b.air.exchanges - a.air.exchanges) / s, retransmitted: each("retransmitted"), timeouts: each("timeouts"),
      sojourn: left > 0 ? (b.sojournSum - a.sojournSum) / left / 1e6 : null };
  }

  rtt(a, b) {
    return b.rttCount.map((count, i) => {
      const n = count - a.rttCount[i];
      return n > 0 ? (b.rttSum[i] - a.rttSum[i]) / n / 1e6 : null;
    });
  }

  addPoint(entry) {
    const last = this.lastPoint;
    if (!last) {
      this.lastPoint = entry;
      return;
    }
    if (entry.t - last.t < this.pointEveryNs) return;
    const series = this.series;
    const s = (entry.t - last.t) / 1e9;
    const rtt = this.rtt(last, entry);
    series.t.push(entry.t / 1e9);
    this.scene.flows.forEach((flow, i) => {
      const open = this.state.flows.open[i] || entry.delivered[i] > last.delivered[i];
      series.goodput[i].push(open ? ((entry.delivered[i] - last.delivered[i]) * 8e-6) / s : null);
      series.cwnd[i].push(open && flow.over_tcp ? entry.cwnd[i] / flow.mss_bytes : null);
      series.rtt[i].push(rtt[i]);
      series.retransmitted[i].push(entry.retransmitted[i] - last.retransmitted[i]);
      series.timeouts[i].push(entry.timeouts[i] - last.timeouts[i]);
    });
    this.lastPoint = entry;
    if (series.t.length >= MOST_POINTS) this.halve();
  }

  /** Half as many points, twice as far apart: the whole session stays in view. */
  halve() {
    const series = this.series;
    const mean = (a, b) => (a === null ? b : b === null ? a : (a + b) / 2);
    const pairs = (list, join) => Array.from({ length: Math.floor(list.length / 2) }, (_, i) => join(list[2 * i], list[2 * i + 1]));
    series.t = pairs(series.t, (_, b) => b);
    for (const key of ["goodput", "cwnd", "rtt"]) series[key] = series[key].map((list) => pairs(list, mean));
    for (const key of ["retransmitted", "timeouts"]) series[key] = series[key].map((list) => pairs(list, (a, b) => a + b));
    this.pointEveryNs *= 2;
  }

  /** Indexes of the flows that are open, or still deliver. */
  open() {
    const flags = this.state.flows.open;
    return this.scene.flows.map((_, i) => i).filter((i) => flags[i] || (this.rates?.goodput[i] ?? 0) > 0);
  }

  /** Jain's index of the goodput of the open flows over TCP; null without goodput. */
  jain() {
    if (!this.rates) return null;
    const flags = this.state.flows.open;
    const x = this.rates.goodput.filter((_, i) => flags[i] && this.scene.flows[i].over_tcp);
    const squares = x.reduce((a, b) => a + b * b, 0);
    return squares > 0 ? x.reduce((a, b) => a + b, 0) ** 2 / (x.length * squares) : null;
  }
}

export function sum(list, of) {
  return list.reduce((total, item, i) => total + of(item, i), 0);
}
