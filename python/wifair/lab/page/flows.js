// The flows: bars of goodput, one number for fairness, and courses over time.

import uPlot from "./vendor/uPlot.js";
import { colours } from "./colours.js";
import { number } from "./format.js";

/** Places of the samples between two gaps, which no line shows: it needs two points. */
const alone = (values) => [...values.keys()].filter((i) => values[i] !== null && (values[i - 1] ?? values[i + 1] ?? null) === null);

export class FlowsView {
  /** `select` is called with the index of a flow that is chosen. */
  constructor(elements, select) {
    Object.assign(this, elements);
    this.select = select;
    this.charts = {};
    this.turn = 0;
    this.rows = new Map();
  }

  /** A new scene. */
  clear(store, courses) {
    this.courses = courses;
    this.bars.replaceChildren();
    this.rows.clear();
    this.makeCharts(store);
  }

  makeCharts(store) {
    for (const chart of Object.values(this.charts)) chart.destroy();
    this.charts = {};
    for (const key of ["goodput", "cwnd", "rtt"]) {
      const box = this.boxes[key];
      const axis = { stroke: colours.muted, grid: { stroke: colours.line, width: 1 }, ticks: { stroke: colours.line, width: 1 },
        font: "12px system-ui" };
      const series = store.scene.flows.map((flow, i) => {
        const stroke = () => this.stroke(store, i);
        return { label: flow.label, spanGaps: false, stroke, width: 1, dash: flow.direction === "up" ? [6, 3] : [],
          points: { show: false, filter: (chart, one) => alone(chart.data[one]), size: 4, width: 0, fill: stroke } };
      });
      this.charts[key] = new uPlot({
        width: Math.max(200, box.clientWidth), height: box.clientHeight || 150, cursor: { show: false }, legend: { show: false },
        padding: [6, 10, 0, 0],
        scales: { x: { time: false }, y: { range: (_, low, high) => [0, (high || 1) * 1.08] } },
        axes: [{ ...axis, size: 26, values: (_, ticks) => ticks.map((v) => `${v} s`) }, { ...axis, size: 48 }],
        series: [{}, ...series],
        hooks: key === "cwnd" ? { draw: [(chart) => this.losses(chart)] } : {},
      }, [[], ...series.map(() => [])], box);
    }
  }

  stroke(store, flow) {
    const colour = colours[store.scene.flows[flow].direction];
    return flow === this.selected ? colours.ink : `color-mix(in srgb, ${colour} 62%, transparent)`;
  }

  /** Ticks along the foot of the chart where the selected flow sent again; a cross where its timer expired. */
  losses(chart) {
    const { courses } = this;
    const again = courses.retransmitted[this.selected];
    const expired = courses.timeouts[this.selected];
    if (!again) return;
    const { ctx, bbox } = chart;
    const foot = bbox.top + bbox.height;
    const unit = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = colours.lost;
    ctx.lineWidth = 1.5 * unit;
    courses.t.forEach((t, i) => {
      if (again[i] === 0 && expired[i] === 0) return;
      const x = chart.valToPos(t, "x", true);
      ctx.beginPath();
      if (expired[i] > 0) {
        ctx.moveTo(x - 4 * unit, foot - 9 * unit);
        ctx.lineTo(x + 4 * unit, foot - 1 * unit);
        ctx.moveTo(x + 4 * unit, foot - 9 * unit);
        ctx.lineTo(x - 4 * unit, foot - 1 * unit);
      } else {
        ctx.moveTo(x, foot - 7 * unit);
        ctx.lineTo(x, foot);
      }
      ctx.stroke();
    });
    ctx.restore();
  }

  resize() {
    for (const [key, chart] of Object.entries(this.charts)) {
      chart.setSize({ width: Math.max(200, this.boxes[key].clientWidth), height: this.boxes[key].clientHeight || 150 });
    }
  }

  /** Draws the next of the charts. */
  drawChart(store) {
    const key = ["goodput", "cwnd", "rtt"][this.turn % 3];
    this.turn += 1;
    const chart = this.charts[key];
    const { courses } = this;
    const stamp = `${courses.t.length}:${courses.pointEveryNs}:${this.selected}`;
    if (!chart || chart.stamp === stamp || courses.t.length < 2) return;
    chart.stamp = stamp;
    const open = new Set(store.open());
    const wide = 2.5;
    chart.series.forEach((series, i) => {
      if (i > 0) {
        series.show = open.has(i - 1) && (key !== "cwnd" || store.scene.flows[i - 1].over_tcp);
        series.width = i - 1 === this.selected ? wide : 1;
        series._stroke = undefined;
      }
    });
    chart.setData([courses.t, ...courses[key]], false);
    const { t } = courses;
    chart.setScale("x", { min: t[0], max: t[t.length - 1] });
  }

  write(store) {
    const jain = store.jain();
    this.jain.textContent = jain === null ? "–" : jain.toFixed(2);
    const open = store.open();
    const overTcp = open.filter((i) => store.scene.flows[i].over_tcp).length;
    this.jainOf.textContent = overTcp === open.length ? ""
      : store.hasLoads() ? " of flows over TCP (none next to datagrams sent at a rate)" : ` of ${overTcp} of ${open.length} flows, those over TCP`;
    const goodput = store.rates?.goodput ?? [];
    const most = Math.max(0.01, ...open.map((i) => goodput[i] ?? 0));
    const wanted = new Set(open);
    for (const [flow, row] of this.rows) {
      if (!wanted.has(flow)) {
        row.item.remove();
        this.rows.delete(flow);
      }
    }
    let before = null;
    for (const flow of open) {
      let row = this.rows.get(flow);
      if (!row) {
        row = this.row(store, flow);
        this.rows.set(flow, row);
        if (before) before.after(row.item);
        else this.bars.prepend(row.item);
      }
      before = row.item;
      const value = goodput[flow];
      const text = value === undefined ? "–" : number(value);
      if (row.value.textContent !== text) row.value.textContent = text;
      row.bar.style.transform = `scaleX(${(value ?? 0) / most})`;
      const pressed = String(flow === this.selected);
      if (row.button.getAttribute("aria-pressed") !== pressed) row.button.setAttribute("aria-pressed", pressed);
    }
    const total = goodput.reduce((a, b) => a + b, 0);
    const of = (way) => open.filter((i) => store.scene.flows[i].direction === way);
    const part = (way) => number(of(way).reduce((a, i) => a + (goodput[i] ?? 0), 0));
    this.said.textContent = `${open.length} open; ${number(total)} Mbps in all: ${part("down")} down (${of("down").length} flows), ` +
      `${part("up")} up (${of("up").length})`;
  }

  row(store, flow) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const [name, track, value] = ["name", "bar", "value"].map((kind) => {
      const span = document.createElement("span");
      span.className = kind;
      return span;
    });
    const bar = document.createElement("i");
    const { label, direction } = store.scene.flows[flow];
    name.textContent = label;
    track.append(bar);
    button.className = direction;
    button.title = `${label}, ${direction}link, goodput in Mbps`;
    button.append(name, track, value);
    button.addEventListener("click", () => this.select(flow));
    item.append(button);
    return { item, button, bar, value };
  }
}
