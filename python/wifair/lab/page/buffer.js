// The AP's buffer in words and numbers.

import { number } from "./format.js";
import { sum } from "./store.js";

export class BufferTexts {
  constructor(said, table, gauges) {
    this.said = said;
    this.table = table;
    this.gauges = gauges;
    this.build();
  }

  build() {
    const columns = ["arrive", "leave", "tail drop", "refused", "evicted", "filtered", "marked"];
    const head = this.table.tHead.insertRow();
    head.insertCell();
    for (const name of columns) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = name;
      head.append(th);
    }
    this.cells = ["data", "TCP ACKs"].map((name) => {
      const row = this.table.tBodies[0].insertRow();
      const th = document.createElement("th");
      th.scope = "row";
      th.textContent = name;
      row.append(th);
      return columns.map(() => row.insertCell());
    });
  }

  /** A new scene. */
  clear() {
    this.gauges.replaceChildren();
    this.shownGauges = "";
  }

  write(store) {
    const txQueues = store.state.tx_queues;
    const queued = sum(txQueues, (txQueue) => txQueue.queued_packets);
    let acks = 0;
    for (const txQueue of txQueues) for (let i = 1; i < txQueue.packets.length; i += 5) acks += txQueue.packets[i] === 1 ? 1 : 0;
    const wait = store.rates?.sojourn;
    const fates = store.rates?.fates;
    const left = wait === null || wait === undefined ? "; nothing has left lately" : `; mean wait ${number(wait)} ms`;
    this.said.textContent = `${queued} queued, ${acks} of them TCP ACKs${fates === null ? "" : left}`;
    this.cells.forEach((cells, cls) => {
      const f = fates?.[cls];
      const found = f ? [f.offered, f.dequeued, f.tail_dropped, f.aqm_refused, f.evicted + f.aqm_evicted, f.filtered,
        f.ce_marked + f.ece_marked] : [];
      cells.forEach((cell, i) => {
        const text = found[i] === undefined ? "–" : found[i] === 0 ? "0" : number(found[i]);
        if (cell.textContent !== text) cell.textContent = text;
        cell.classList.toggle("lost", (i === 2 || i === 3 || i === 4) && found[i] > 0);
      });
    });
    const gauges = txQueues.flatMap((txQueue) => Object.entries(txQueue.gauges).map(([name, value]) =>
      [`${txQueue.category ? `${txQueue.category} ` : ""}${name.replaceAll("_", " ")}`, value]));
    const names = gauges.map(([name]) => name).join("\n");
    if (names !== this.shownGauges) {
      this.shownGauges = names;
      this.gauges.replaceChildren(...gauges.flatMap(([name]) => {
        const dt = document.createElement("dt");
        dt.textContent = name;
        return [dt, document.createElement("dd")];
      }));
    }
    gauges.forEach(([, value], i) => {
      this.gauges.children[2 * i + 1].textContent = number(value);
    });
  }
}
