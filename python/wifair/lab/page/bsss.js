// The BSSs of a field side by side.

import { number } from "./format.js";
import { sum } from "./store.js";

const COLUMNS = [["channel"], ["down [Mbps]"], ["up [Mbps]"], ["own frames", "Time in which a frame of the BSS is on the air"],
  ["others' frames", "Further time in which its access point senses others"],
  ["same start", "Frames lost while another began at the same instant"], ["hidden", "Frames lost to hidden senders"],
  ["RTS not answered", "RTS that were received and not answered, since the NAV was set or a secondary channel was busy"]];

export class BsssView {
  constructor(box, table) {
    this.box = box;
    this.table = table;
    const head = table.tHead.insertRow();
    for (const [name, title] of [["BSS"], ...COLUMNS]) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = name;
      if (title) th.title = title;
      head.append(th);
    }
  }

  /** A new scene. */
  clear(scene) {
    this.box.hidden = !scene.in_field;
    this.rows = scene.bsss.map(({ name, channel, width_mhz: width, punctured }) => {
      const row = document.createElement("tr");
      const th = document.createElement("th");
      th.scope = "row";
      th.textContent = name;
      row.append(th);
      const cells = COLUMNS.map(() => row.insertCell());
      const without = punctured.length ? ` without ${punctured.join(", ")}` : "";
      cells[0].textContent = channel === null ? "–" : `${channel}, ${width} MHz${without}`;
      return { row, cells: cells.slice(1) };
    });
    this.table.tBodies[0].replaceChildren(...this.rows.map(({ row }) => row));
  }

  write(store) {
    const { scene, rates, state } = store;
    if (!scene.in_field) return;
    this.rows.forEach(({ row, cells }, bss) => {
      if (scene.bsss.length > 1) row.setAttribute("aria-current", String(bss === state.bss));
      const texts = rates ? this.texts(scene, rates, bss) : cells.map(() => "–");
      cells.forEach((cell, i) => {
        if (cell.textContent !== texts[i]) cell.textContent = texts[i];
      });
      cells[4].classList.toggle("lost", rates?.field.lost_same_start[bss] > 0);
      cells[5].classList.toggle("hidden", rates?.field.lost_hidden[bss] > 0);
    });
  }

  texts(scene, rates, bss) {
    const own = new Set(scene.bsss[bss].stations);
    const goodput = (way) => sum(scene.flows, (flow, i) =>
      (flow.direction === way && own.has(flow.station) ? rates.goodput[i] : 0));
    const percent = (ns) => `${(ns / 1e7).toFixed(1)} %`;
    const { field } = rates;
    return [number(goodput("down")), number(goodput("up")), percent(field.busy_own_ns[bss]), percent(field.busy_others_ns[bss]),
      ...["lost_same_start", "lost_hidden", "unanswered_rts"].map((key) => (field[key][bss] === 0 ? "0" : number(field[key][bss])))];
  }
}
