// What the flows did over the whole session, in points that grow farther apart as it lasts.

import { meanRtt } from "./store.js";

const MOST_POINTS = 300;

export class Courses {
  constructor(scene) {
    const each = () => scene.flows.map(() => []);
    this.t = [];
    this.goodput = each();
    this.cwnd = each();
    this.rtt = each();
    this.retransmitted = each();
    this.timeouts = each();
    this.lastPoint = null;
    this.pointEveryNs = 1e8;
  }

  /** Takes over what `Store.take` gave. */
  take(store, entry) {
    const last = this.lastPoint;
    if (!last) {
      this.lastPoint = entry;
      return;
    }
    if (entry.t - last.t < this.pointEveryNs) return;
    const series = this;
    const s = (entry.t - last.t) / 1e9;
    const rtt = meanRtt(last, entry);
    series.t.push(entry.t / 1e9);
    store.scene.flows.forEach((flow, i) => {
      const open = store.state.flows.open[i] || entry.delivered[i] > last.delivered[i];
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
    const series = this;
    const mean = (a, b) => (a === null ? b : b === null ? a : (a + b) / 2);
    const pairs = (list, join) => Array.from({ length: Math.floor(list.length / 2) }, (_, i) => join(list[2 * i], list[2 * i + 1]));
    series.t = pairs(series.t, (_, b) => b);
    for (const key of ["goodput", "cwnd", "rtt"]) series[key] = series[key].map((list) => pairs(list, mean));
    for (const key of ["retransmitted", "timeouts"]) series[key] = series[key].map((list) => pairs(list, (a, b) => a + b));
    this.pointEveryNs *= 2;
  }
}
