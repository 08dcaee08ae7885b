// The AP's buffer, packet by packet: from the wire on the left, to the air on the right. A square is data, a circle a TCP ACK.

import { colours } from "./colours.js";

const LABELS = 17;
/** How long a packet takes to its place, or out of the picture, in ms. */
const GLIDE_MS = 260;
/** Above so many events per picture packets are not animated: rates say more. */
const MOST_ANIMATED = 24;
const OUT = { 2: "lost", 3: "lost", 4: "lost", 5: "filtered", 6: "lost" };

export class BufferPicture {
  /** `surface`: where it is drawn. */
  constructor(surface) {
    this.surface = surface;
    this.places = new Map();
    this.leaving = [];
  }

  /** A new scene: nothing of the old one moves on. */
  clear() {
    this.places.clear();
    this.leaving = [];
  }

  /** Takes a picture over: who has come, who has gone, and how. With `still` nothing is animated. */
  take(store, now, still) {
    const events = store.state.events;
    this.animated = !still && events.length <= MOST_ANIMATED && store.message.every_event;
    this.leaving = this.leaving.filter((ghost) => now - ghost.since < 2 * GLIDE_MS);
    if (!this.animated) {
      this.leaving = [];
      return;
    }
    const t = store.state.time_ns;
    for (const [, what, flow, cls, age] of events) {
      const fate = what === 1 ? "sent" : OUT[what];
      if (!fate) continue;
      const key = `${t - age}:${flow}`;
      const place = this.places.get(key) ?? { x: -12, y: this.entryY ?? 40 };
      this.leaving.push({ x: place.x, y: place.y, flow, cls, fate, since: now });
    }
  }

  /** Draws; true while something still moves. */
  draw(store, selected, now) {
    const { cx, width, height } = this.surface.fit();
    cx.clearRect(0, 0, width, height);
    const txQueues = store.state.tx_queues.filter((txQueue, i) => i === 0 || txQueue.queued_packets > 0 || store.state.tx_queues.length <= 4);
    const each = height / txQueues.length;
    const next = new Map();
    let moving = this.leaving.length > 0;
    txQueues.forEach((txQueue, p) => {
      cx.save();
      cx.translate(0, p * each);
      moving = this.drawTxQueue(cx, store, txQueue, width, each, selected, next, p * each, now) || moving;
      cx.restore();
    });
    this.places = next;
    this.drawLeaving(cx, store, width, now);
    return moving && this.animated;
  }

  drawTxQueue(cx, store, txQueue, width, height, selected, next, top, now) {
    const room = height - LABELS - 6;
    const limit = txQueue.limit_packets;
    const count = txQueue.packets.length / 5;
    const scale = Math.max(Math.min(limit, Math.max(60, count * 1.4)), count, 1);
    // The largest cell at which `scale` packets fit.
    let cell = 30;
    while (cell > 4 && Math.floor((width - 8) / cell) * Math.max(1, Math.floor(room / cell)) < scale + 1) cell -= 1;
    const columns = Math.max(1, Math.floor((width - 8) / cell));
    const rows = Math.max(1, Math.floor(room / cell));
    const drawn = Math.min(count, columns * rows);
    const used = Math.ceil(Math.min(Math.max(scale, count), columns * rows) / columns);
    const topOf = LABELS + Math.max(0, (room - used * cell) / 2);
    const at = (i) => ({ x: width - 4 - cell * ((i % columns) + 1), y: topOf + cell * Math.floor(i / columns) });
    this.entryY = top + topOf;
    // Free places, and the limit.
    const free = Math.min(limit, columns * rows);
    cx.fillStyle = colours.faint;
    for (let i = 0; i < free; i += 1) {
      const { x, y } = at(i);
      if (i >= count) cx.fillRect(x + cell * 0.38, y + cell * 0.38, cell * 0.24, cell * 0.24);
    }
    if (limit <= columns * rows) {
      const { x, y } = at(limit - 1);
      cx.strokeStyle = colours.lost;
      cx.lineWidth = 2;
      cx.beginPath();
      cx.moveTo(x - 1, y - 3);
      cx.lineTo(x - 1, y + cell + 3);
      cx.stroke();
    }
    const t = store.state.time_ns;
    let moving = false;
    const packets = txQueue.packets;
    for (let i = 0; i < drawn; i += 1) {
      const flow = packets[5 * i];
      const target = at(i);
      let { x, y } = target;
      if (this.animated) {
        const key = `${t - packets[5 * i + 3]}:${flow}`;
        const was = this.places.get(key);
        const from = was ? { x: was.x, y: was.y - top } : { x: -cell, y: topOf };
        const share = was ? 0.3 : 0.35;
        x = from.x + (target.x - from.x) * share;
        y = from.y + (target.y - from.y) * (was ? share : 1);
        if (Math.abs(x - target.x) + Math.abs(y - target.y) < 0.7) ({ x, y } = target);
        else moving = true;
        next.set(key, { x, y: y + top, cell });
      }
      this.packet(cx, store, x, y, cell, flow, packets[5 * i + 1], packets[5 * i + 4], selected);
    }
    cx.font = "13px system-ui, sans-serif";
    cx.textBaseline = "middle";
    cx.fillStyle = colours.muted;
    cx.textAlign = "left";
    cx.fillText(`from the wire →${txQueue.category ? ` ${txQueue.category}` : ""}`, 4, 8);
    cx.textAlign = "right";
    const more = count < txQueue.queued_packets || drawn < count ? `; ${drawn} of ${txQueue.queued_packets} shown, from the head` : "";
    cx.fillText(`head → to the air${more}`, width - 4, 8);
    cx.fillStyle = colours.lost;
    cx.textAlign = "center";
    cx.fillText(`limit ${limit}`, width / 2, 8);
    return moving;
  }

  packet(cx, store, x, y, cell, flow, cls, marked, selected) {
    const pad = cell > 9 ? 1.5 : 0.5;
    const size = cell - 2 * pad;
    const colour = colours[store.scene.flows[flow].direction];
    const middle = { x: x + cell / 2, y: y + cell / 2 };
    cx.fillStyle = colour;
    cx.beginPath();
    if (cls === 1) cx.arc(middle.x, middle.y, Math.max(1.4, size * 0.32), 0, 2 * Math.PI);
    else if (cls === 0) cx.rect(x + pad, y + pad, size, size);
    else {
      cx.moveTo(middle.x, y + pad);
      cx.lineTo(x + cell - pad, middle.y);
      cx.lineTo(middle.x, y + cell - pad);
      cx.lineTo(x + pad, middle.y);
    }
    cx.fill();
    if (flow === selected) {
      cx.strokeStyle = colours.ink;
      cx.lineWidth = cell > 9 ? 2.5 : 1.5;
      cx.stroke();
    }
    if (marked) {
      cx.fillStyle = colours.mark;
      cx.fillRect(x + pad, y + pad, size, Math.max(2, size * 0.25));
    }
  }

  /** Those that have left: to the air, or out. */
  drawLeaving(cx, store, width, now) {
    for (const ghost of this.leaving) {
      const share = Math.min(1, (now - ghost.since) / (ghost.fate === "sent" ? GLIDE_MS : 2 * GLIDE_MS));
      if (share >= 1) continue;
      cx.globalAlpha = 1 - share;
      const x = ghost.fate === "sent" ? ghost.x + (width + 20 - ghost.x) * share : Math.max(14, ghost.x);
      const y = ghost.fate === "sent" ? ghost.y : ghost.y + 46 * share;
      this.packet(cx, store, x, y, 20, ghost.flow, ghost.cls, 0, -1);
      if (ghost.fate === "lost") {
        cx.strokeStyle = colours.lost;
        cx.lineWidth = 3;
        cx.beginPath();
        cx.moveTo(x, y);
        cx.lineTo(x + 20, y + 20);
        cx.moveTo(x + 20, y);
        cx.lineTo(x, y + 20);
        cx.stroke();
      }
      cx.globalAlpha = 1;
    }
  }
}
