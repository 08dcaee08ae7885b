// The air: a line of time per transmitter, and each station's share of it.

import { colours } from "./colours.js";
import { duration } from "./format.js";
import { apOf, isAp } from "./store.js";

const SHARES_PX = 150;
const AXIS_PX = 20;
/** With more nodes than this, each BSS but the one that is shown has one line for all of its nodes. */
const MOST_NODES = 16;
const COLLIDED = 1;
const HIDDEN = 4;
const UNANSWERED = 5;

export class AirPicture {
  /** `surface`: where it is drawn. */
  constructor(surface) {
    this.surface = surface;
    this.tall = 0;
  }

  /** A new scene. */
  clear() {
    this.tall = 0;
  }

  /** Draws `span` ns of the past; gives the height that its lines need, in pixels. */
  draw(store, history, selected, span) {
    const lanes = this.lanes(store);
    // As high as its lines need, within bounds; it never shrinks while a session goes on, so that nothing jumps.
    const wanted = Math.min(360, Math.max(this.tall, AXIS_PX + Math.max(4, lanes.length) * (lanes.length > 9 ? 15 : 28)));
    this.tall = wanted;
    const { cx, width, height } = this.surface.fit();
    cx.clearRect(0, 0, width, height);
    const t = store.state.time_ns;
    const shares = width > 560 ? SHARES_PX : 76;
    const left = width > 560 ? 86 : 62;
    const right = width - shares - 12;
    const perNs = (right - left) / span;
    const x = (at) => right - (t - at) * perNs;
    const lane = Math.min(30, (height - AXIS_PX) / lanes.length);
    this.grid(cx, lanes, lane, left, right, store);
    this.unseen(cx, history, t - span, x, lanes.length * lane, left, right);
    cx.save();
    cx.beginPath();
    cx.rect(left, 0, right - left, height);
    cx.clip();
    this.frames(cx, store, history, t - span, x, perNs, lanes, lane, selected);
    this.underWay(cx, history, x, perNs, lanes, lane);
    cx.restore();
    this.axis(cx, span, left, right, lanes.length * lane);
    this.shares(cx, store, lanes, lane, right + 12, shares, selected);
    return wanted;
  }

  /** A line per node: the APs and the stations of open flows. Of many BSSs only the one that is shown has a line per node. */
  lanes(store) {
    const { scene, state } = store;
    const open = new Set(store.open().map((flow) => scene.flows[flow].station));
    const several = scene.bsss.length > 1;
    const all = scene.bsss.length + open.size;
    return scene.bsss.flatMap(({ name, stations }, bss) => {
      const shown = stations.filter((station) => open.has(station));
      const of = (nodes, label, first) => ({ nodes, label, first: first && several, shown: several && bss === state.bss,
        stations: nodes.filter((node) => !isAp(scene, node)).map((node) => node - 1) });
      const ap = apOf(scene, bss);
      if (several && bss !== state.bss && all > MOST_NODES) return [of([ap, ...stations.map((station) => station + 1)], name, true)];
      return [of([ap], several ? name : "AP", true), ...shown.map((station) => of([station + 1], within(scene.stations[station], name), false))];
    });
  }

  grid(cx, lanes, lane, left, right, store) {
    cx.font = `${Math.min(13, Math.max(9, lane - 1))}px system-ui, sans-serif`;
    cx.textBaseline = "middle";
    cx.textAlign = "left";
    const skip = lane < 10 ? 2 : 1;
    lanes.forEach(({ label, first, shown }, i) => {
      cx.fillStyle = i % 2 ? colours.faint : colours.panel;
      cx.fillRect(left, i * lane, right - left, lane);
      if (first && i > 0) {
        cx.fillStyle = colours.muted;
        cx.fillRect(0, i * lane, right, 1);
      }
      if (shown) {
        cx.fillStyle = colours.ink;
        cx.fillRect(left - 3, i * lane + 1, 3, lane - 2);
      }
      if (i % skip === 0) {
        cx.fillStyle = colours.ink;
        cx.fillText(label.slice(0, 13), first ? 0 : 4, (i + 0.5) * lane, left - 10);
      }
    });
  }

  /** What nobody looked at: nothing is known of it here. */
  unseen(cx, history, from, x, height, left, right) {
    for (const [a, b] of history.unseen) {
      if (b <= from) continue;
      const x0 = Math.max(left, x(a));
      const x1 = Math.min(right, x(b));
      if (x1 - x0 < 1) continue;
      cx.fillStyle = colours.line;
      cx.globalAlpha = 0.6;
      cx.fillRect(x0, 0, x1 - x0, height);
      cx.globalAlpha = 1;
      if (x1 - x0 > 90) {
        cx.fillStyle = colours.muted;
        cx.textAlign = "center";
        cx.fillText("not recorded", (x0 + x1) / 2, height / 2);
      }
    }
  }

  frames(cx, store, history, from, x, perNs, lanes, lane, selected) {
    const row = rows(lanes);
    const last = new Int32Array(lanes.length).fill(-1);
    const { frames } = history;
    const details = perNs * 1e6 > 8; // a millisecond has at least 8 pixels
    for (let i = frames.length - 1; i >= 0; i -= 1) {
      const frame = frames[i];
      if (frame.ends < from) {
        if (frame.ends < from - 1e8) break;
        continue;
      }
      const place = row.get(frame.node);
      if (place === undefined) continue;
      const x0 = x(frame.begins);
      const wide = (frame.ends - frame.begins) * perNs;
      // Where a pixel holds several frames, the newest of a kind stands for all.
      const column = Math.round(x0) * 4 + (frame.outcome === HIDDEN ? 3 : frame.outcome === COLLIDED ? 2 : frame.kind === 0 ? 1 : 0);
      if (wide < 1) {
        if (last[place] === column) continue;
        last[place] = column;
      }
      const y = place * lane;
      this.frame(cx, store, frame, x0, Math.max(1, wide), y, lane, details, selected);
      if (details && frame.waits < frame.begins) {
        cx.strokeStyle = colours["ack-frame"];
        cx.lineWidth = 1.5;
        cx.setLineDash([2, 2]);
        cx.beginPath();
        cx.moveTo(x(frame.waits), y + lane / 2);
        cx.lineTo(x0, y + lane / 2);
        cx.stroke();
        cx.setLineDash([]);
      }
    }
  }

  /** The packets of a PPDU, side by side, each as wide as its share of the bytes; one that is not decoded is shown as lost. */
  mpdus(cx, store, frame, x, wide, y, lane, selected) {
    const { mpdus } = frame;
    let bytes = 0;
    for (let i = 2; i < mpdus.length; i += 4) bytes += mpdus[i];
    const inset = lane > 8 ? 1.5 : 0.5;
    let at = x;
    for (let i = 0; i < mpdus.length; i += 4) {
      const [flow, cls, size, fate] = [mpdus[i], mpdus[i + 1], mpdus[i + 2], mpdus[i + 3]];
      const part = (wide * size) / bytes;
      const tall = (lane - 2 * inset) * (cls === 1 ? 0.55 : 1);
      const [top, shown] = [y + lane - inset - tall, Math.max(0.5, part - (part > 3 ? 1 : 0))];
      if (fate === 2) striped(cx, at, top, shown, tall);
      else {
        cx.fillStyle = fate === 1 ? colours[store.scene.flows[flow].direction] : colours.lost;
        cx.fillRect(at, top, shown, tall);
        if (fate === 0 && store.scene.in_field) notch(cx, at, top, shown, tall);
      }
      if (flow === selected && part > 2) {
        cx.fillStyle = colours.ink;
        cx.fillRect(at, y + lane - inset - 2, Math.max(1, part - 1), 2);
      }
      at += part;
    }
  }

  frame(cx, store, frame, x, wide, y, lane, details, selected) {
    const count = frame.mpdus.length / 4;
    if (count > 0 && wide >= count) {
      this.mpdus(cx, store, frame, x, wide, y, lane, selected);
      return;
    }
    const inset = lane > 8 ? 1.5 : 0.5;
    const data = frame.kind === 0;
    // A MAC ACK, RTS or CTS is low and grey, a beacon high and grey; a frame that carries a TCP ACK is half as high as data.
    const tall = (lane - 2 * inset) * (data ? (frame.cls === 1 ? 0.55 : 1) : frame.kind === 4 ? 1 : 0.35);
    const top = y + lane - inset - tall;
    if (frame.outcome === UNANSWERED) {
      cx.strokeStyle = colours["ack-frame"];
      cx.lineWidth = 1;
      cx.strokeRect(x + 0.5, top + 0.5, Math.max(1, wide - 1), tall - 1);
      return;
    }
    if (frame.outcome === HIDDEN) {
      striped(cx, x, top, wide, tall);
      return;
    }
    cx.fillStyle = data ? colours[store.scene.flows[frame.flow].direction] : colours["ack-frame"];
    if (frame.outcome !== 0) cx.fillStyle = colours.lost;
    cx.fillRect(x, top, wide, tall);
    if (frame.outcome !== 0 && store.scene.in_field) notch(cx, x, top, wide, tall);
    else if (frame.outcome !== 0 && details && wide > 4) {
      cx.strokeStyle = colours.panel;
      cx.lineWidth = 1.5;
      cx.beginPath();
      for (let at = x + 3; at < x + wide + tall; at += 6) {
        cx.moveTo(Math.min(at, x + wide), Math.max(top, top + at - x - wide));
        cx.lineTo(Math.max(x, at - tall), Math.min(top + tall, top + at - x));
      }
      cx.stroke();
    }
    if (data && frame.flow === selected && wide > 2) {
      cx.strokeStyle = colours.ink;
      cx.lineWidth = 1.5;
      cx.strokeRect(x + 0.5, top + 0.5, wide - 1, tall - 1);
    }
    if (details && data && wide > 58 && lane > 14 && frame.cls === 0) {
      cx.fillStyle = colours.panel;
      cx.textAlign = "left";
      cx.fillText(`${frame.rate} Mbps`, x + 4, top + tall / 2 + 0.5);
    }
  }

  /** Frames whose outcome is not known yet. */
  underWay(cx, history, x, perNs, lanes, lane) {
    const row = rows(lanes);
    cx.strokeStyle = colours.muted;
    cx.lineWidth = 1;
    cx.setLineDash([3, 2]);
    for (const { begins, ends, node, kind } of history.underWay) {
      const place = row.get(node);
      if (place === undefined) continue;
      const tall = (lane - 3) * (kind === 0 ? 1 : 0.35);
      cx.strokeRect(x(begins) + 0.5, (place + 1) * lane - 1.5 - tall, Math.max(1, (ends - begins) * perNs - 1), tall);
    }
    cx.setLineDash([]);
  }

  axis(cx, span, left, right, y) {
    const step = [1, 2, 5].flatMap((n) => [3, 4, 5, 6, 7, 8, 9].map((e) => n * 10 ** e)).sort((a, b) => a - b)
      .find((size) => span / size <= (right - left) / 90) ?? span;
    cx.font = "12px system-ui, sans-serif";
    cx.fillStyle = colours.muted;
    cx.strokeStyle = colours.line;
    cx.lineWidth = 1;
    cx.textAlign = "center";
    for (let at = 0; at <= span; at += step) {
      const x = right - (at / span) * (right - left);
      cx.beginPath();
      cx.moveTo(x, 0);
      cx.lineTo(x, y + 3);
      cx.stroke();
      cx.textAlign = at === 0 ? "right" : x - left < 30 ? "left" : "center";
      cx.fillText(at === 0 ? "now" : `−${duration(at)}`, x, y + 12);
    }
  }

  /** Bars: each station's share of the air, what it sends and what is sent to it. */
  shares(cx, store, lanes, lane, x, width, selected) {
    const rates = store.rates;
    if (!rates) return;
    const widest = width - 58;
    const total = (list, stations) => stations.reduce((all, station) => all + list[station], 0);
    const most = Math.max(0.05, ...lanes.map(({ stations }) => total(rates.up, stations) + total(rates.down, stations)));
    const chosen = store.scene.flows[selected]?.station;
    cx.font = `${Math.min(13, Math.max(9, lane - 1))}px system-ui, sans-serif`;
    lanes.forEach(({ stations }, i) => {
      const y = i * lane;
      cx.textAlign = "left";
      if (!stations.length) {
        cx.fillStyle = colours.muted;
        if (i === 0) cx.fillText("share of the air", x, y + lane / 2, width);
        return;
      }
      const [up, down] = [total(rates.up, stations), total(rates.down, stations)];
      const tall = Math.max(3, lane - 5);
      cx.fillStyle = colours.down;
      cx.fillRect(x, y + (lane - tall) / 2, (widest * down) / most, tall);
      cx.fillStyle = colours.up;
      cx.fillRect(x + (widest * down) / most, y + (lane - tall) / 2, (widest * up) / most, tall);
      if (lane >= 10 || i % 2 === 0) {
        cx.fillStyle = stations.includes(chosen) ? colours.ink : colours.muted;
        cx.fillText(`${((up + down) * 100).toFixed(1)} %`, x + (widest * (up + down)) / most + 5, y + lane / 2);
      }
    });
  }
}

/** The name of a station below that of its BSS. */
function within(station, bss) {
  return station.startsWith(`${bss}-`) ? station.slice(bss.length + 1) : station;
}

/** The line of each node. */
function rows(lanes) {
  return new Map(lanes.flatMap(({ nodes }, i) => nodes.map((node) => [node, i])));
}

/** A frame that is lost to hidden ones: stripes along it. Like the gap below they differ from a solid bar at any width and without colours. */
function striped(cx, x, top, wide, tall) {
  cx.fillStyle = colours.panel;
  cx.fillRect(x, top, wide, tall);
  cx.fillStyle = colours.hidden;
  const step = tall > 9 ? 4 : 3;
  for (let at = 0; at < tall; at += step) cx.fillRect(x, top + at, wide, Math.min(step / 2, tall - at));
}

/** Marks a bar as lost to a frame of the same start: a gap in its middle. */
function notch(cx, x, top, wide, tall) {
  cx.fillStyle = colours.panel;
  cx.fillRect(x, top + tall * 0.4, wide, Math.max(1.5, tall * 0.2));
}
