// The air in words, and how much of it is shown.

import { duration } from "./format.js";
import { sum } from "./store.js";

const SHORTEST_NS = 2e4;
const LONGEST_NS = 1e10;

export class AirTexts {
  constructor(said, zoomSaid) {
    this.said = said;
    this.zoomSaid = zoomSaid;
    /** Time shown, in ns; by itself it follows the speed until somebody zooms. */
    this.span = null;
    this.speed = 1;
  }

  zoom(factor) {
    this.span = Math.min(LONGEST_NS, Math.max(SHORTEST_NS, this.shown() * factor));
  }

  shown() {
    return this.span ?? Math.min(1e8, Math.max(2e6, this.speed * 1e8));
  }

  write(store) {
    this.zoomSaid.textContent = duration(this.shown());
    const rates = store.rates;
    if (!rates) {
      this.said.textContent = "";
      return;
    }
    const percent = (share) => `${(100 * share).toFixed(0)} %`;
    if (store.scene.in_field) {
      this.said.textContent = inField(store, rates, percent) + perPpdu(rates.perPpdu);
      return;
    }
    const used = sum(rates.up, (x) => x) + sum(rates.down, (x) => x);
    const beacons = rates.beacons > 0 ? `, beacons ${(100 * rates.beacons).toFixed(1)} %` : "";
    this.said.textContent = `exchanges ${percent(used)}, collisions ${percent(rates.collisions)}${beacons}, idle, spaces and backoff ` +
      `${percent(rates.idle)}; ${Math.round(rates.exchanges)} exchanges per second${perPpdu(rates.perPpdu)}`;
  }
}

/** Of the BSS that is shown, if the nodes do not all hear each other. */
function inField({ scene, state }, { field, exchanges }, percent) {
  const of = scene.bsss.length > 1 ? `${scene.bsss[state.bss].name}: ` : "";
  const others = scene.bsss.length > 1 ? `, others' for further ${percent(field.busy_others_ns[state.bss] / 1e9)}` : "";
  return `${of}own frames are on the air for ${percent(field.busy_own_ns[state.bss] / 1e9)} of the time${others}` +
    (exchanges === null ? "" : `; ${Math.round(exchanges)} exchanges per second`);
}

/** Where there are A-MPDUs, how long they are. */
function perPpdu({ ap, stations }) {
  const parts = [["AP", ap], ["stations", stations]].filter(([, mean]) => mean !== null);
  return parts.length ? `; packets per PPDU: ${parts.map(([who, mean]) => `${who} ${mean.toFixed(1)}`).join(", ")}` : "";
}
