// A worker that draws the buffer and the air, so that the page's main thread is free of it.
//
// It gets every picture as the server has sent it, and what decides how it is drawn; it says how many pictures it has drawn, and how
// high the air's lines need to be.

import { AirPicture } from "./air-picture.js";
import { BufferPicture } from "./buffer-picture.js";
import { colours } from "./colours.js";
import { History } from "./history.js";
import { Store } from "./store.js";

/** A canvas of a size in CSS pixels. */
class Surface {
  constructor(canvas) {
    this.canvas = canvas;
    this.size = { width: 0, height: 0, ratio: 1 };
  }

  /** Its context in CSS pixels, and its size. */
  fit() {
    const { width, height, ratio } = this.size;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    const cx = this.canvas.getContext("2d");
    cx.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { cx, width, height };
  }
}

let surfaces = null;
let buffer = null;
let air = null;
let store = null;
let history = null;
const look = { selected: 0, span: 1e8, still: false };
let tall = 0;
let drawing = false;
/** Pictures taken and not yet drawn. */
let owed = 0;

const handlers = {
  canvases(message) {
    surfaces = { buffer: new Surface(message.buffer), air: new Surface(message.air) };
    buffer = new BufferPicture(surfaces.buffer);
    air = new AirPicture(surfaces.air);
  },
  scene(message) {
    store = new Store(message.scene);
    history = new History();
    buffer.clear();
    air.clear();
  },
  picture(message) {
    const picture = JSON.parse(message.text);
    store.take(picture);
    history.take(picture);
    buffer.take(store, performance.now(), look.still);
    owed += 1;
  },
  size(message) {
    surfaces[message.name].size = message.size;
  },
  look(message) {
    Object.assign(colours, message.colours);
    Object.assign(look, message.look);
  },
};

onmessage = ({ data }) => {
  handlers[data.type](data);
  schedule();
};

function schedule() {
  if (!drawing) {
    drawing = true;
    requestAnimationFrame(draw);
  }
}

function draw(now) {
  drawing = false;
  if (store?.state) {
    const moving = buffer.draw(store, look.selected, now);
    const wanted = air.draw(store, history, look.selected, look.span);
    if (wanted !== tall) {
      tall = wanted;
      postMessage({ type: "tall", tall });
    }
    if (moving) schedule();
  }
  // Drawn or not: an acknowledgement that is missing is a picture that never comes.
  if (owed > 0) postMessage({ type: "drawn", pictures: owed });
  owed = 0;
}
