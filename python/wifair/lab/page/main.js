// The page: pictures come in, a worker draws them, texts and charts follow; what is turned goes out.

import { AirTexts } from "./air.js";
import { BsssView } from "./bsss.js";
import { BufferTexts } from "./buffer.js";
import { colours, readColours } from "./colours.js";
import { Courses } from "./courses.js";
import { FlowsView } from "./flows.js";
import { clock, speed as speedText } from "./format.js";
import { Forms } from "./forms.js";
import { LessonView } from "./lessons.js";
import { Socket } from "./socket.js";
import { Store } from "./store.js";

const $ = (id) => document.getElementById(id);
// Simulated seconds per second, by the slider's place; null is as fast as the engine runs.
const SPEEDS = [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, null];
const SUMMARY_MS = 6000;
/** Time between two turns of what need not be new in every picture: texts and charts, one at a time. */
const TURN_MS = 40;

let store = null;
let courses = null;
let scene = null;
let generation = -1;
let selected = 0;
let writing = false;
let summarised = -Infinity;
let turn = 0;
let turned = -Infinity;
let lastClock = "";

// For whoever measures: how long the script of each picture and of each writing took, in ms, and what has been shown.
const lab = { takes: [], writes: [], pictures: 0, ready: false };
globalThis.lab = lab;

const problem = (text) => {
  $("problem").textContent = text;
  $("problem").hidden = !text;
};

const socket = new Socket({ scene: begin, state: take, values: setValues, progress: setProgress,
  pauses: ({ on }) => { $("pauses").checked = on; }, failed: (message) => { socket.seen(); problem(message.message); } },
  (code) => {
    problem(code === 4401 ? "Refused: open the address that `wifair lab` has printed, token included."
      : "The lab has ended, or the connection is lost. Start `wifair lab` again.");
    for (const button of document.querySelectorAll("header button")) button.disabled = true;
  });

const ask = async (message) => {
  try {
    const answer = await socket.ask(message);
    problem("");
    return answer;
  } catch (error) {
    problem(error.message);
    throw error;
  }
};
const change = (what) => ask({ type: "change", change: what });

const buffer = new BufferTexts($("buffer-said"), document.querySelector(".rates"), $("gauges"));
const air = new AirTexts($("air-said"), $("zoom-said"));
const flows = new FlowsView({ bars: $("bars"), jain: $("jain"), jainOf: $("jain-of"), said: $("flows-said"),
  boxes: { goodput: $("chart-goodput"), cwnd: $("chart-cwnd"), rtt: $("chart-rtt") } }, select);
const bsss = new BsssView($("field"), $("bsss"));
const forms = new Forms($("controls"), change, () => store && rebuild(),
  (keys) => beginAgain({ lesson: named(), set: { ...scene.set, ...keys } }).catch(() => {}));
const lesson = new LessonView({ section: $("story"), title: $("story-title"), captions: $("captions"), waiting: $("waiting"), next: $("next") }, {
  appear: (caption) => ask({ type: "caption", caption, generation }).catch(() => {}),
  apply: (what) => change(what).then(() => isHeld() && play()).catch(() => {}),
  restart: (caption) => beginAgain({ lesson: named(), caption }).catch(() => {}),
  play: () => play().catch(() => {}),
});
lab.lesson = lesson;

const painter = new Worker("painter.js", { type: "module" });
const canvases = { buffer: $("buffer").transferControlToOffscreen(), air: $("air").transferControlToOffscreen() };
painter.postMessage({ type: "canvases", ...canvases }, Object.values(canvases));
painter.onmessage = ({ data }) => {
  if (data.type === "tall") $("air").style.height = `${data.tall}px`;
  else drawn(data.pictures);
};
painter.onerror = (event) => problem(`The pictures cannot be drawn: ${event.message}`);

function drawn(pictures) {
  for (let i = 0; i < pictures; i += 1) socket.seen();
  lab.pictures += pictures;
  settle();
}

/** Drawn and written once, in either order. */
function settle() {
  lab.ready ||= lab.pictures > 0 && lab.writes.length > 0;
}

function sayTheSize(canvas) {
  const size = { width: canvas.clientWidth, height: canvas.clientHeight, ratio: devicePixelRatio || 1 };
  painter.postMessage({ type: "size", name: canvas.id, size });
}
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => sayTheSize(entry.target)));
for (const id of Object.keys(canvases)) sizes.observe($(id));

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
reduced.addEventListener("change", look);
/** Tells the painter what decides how it draws. */
function look() {
  painter.postMessage({ type: "look", colours, look: { selected, span: air.shown(), still: reduced.matches } });
}

function begin(message) {
  const first = !scene;
  scene = { ...message.scene, set: message.set };
  generation = message.generation;
  store = new Store(scene);
  store.values = message.values;
  courses = new Courses(scene);
  lab.store = store;
  selected = 0;
  flows.selected = 0;
  $("title").textContent = scene.title;
  document.title = scene.title ? `${scene.title} – wifair lab` : "wifair lab";
  const chooser = $("lesson");
  chooser.replaceChildren(new Option("none", ""), ...message.lessons.map((one) => new Option(one.title, one.name)));
  chooser.value = message.lesson?.name ?? "";
  readColours();
  buffer.clear();
  bsss.clear(scene);
  $("bss").replaceChildren(...scene.bsss.map(({ name }) => new Option(name, name)));
  $("bss-choice").hidden = scene.bsss.length < 2;
  painter.postMessage({ type: "scene", scene });
  look();
  flows.clear(store, courses);
  lesson.load(message.lesson);
  $("pauses").checked = message.pauses;
  // A restart within a lesson keeps the speed.
  if (message.lesson && (first || message.lesson.progress.times.length === 0)) setSpeed(SPEEDS.indexOf(message.lesson.speed));
  forms.state = null;
  rebuild();
}

function rebuild() {
  $("bss").value = store.values.bss;
  // A form that is in use keeps the focus: the element at the same place gets it.
  const inputs = () => [...$("controls").querySelectorAll("input, select, button, summary")];
  const place = inputs().indexOf(document.activeElement);
  forms.build(scene, store.values, store.state);
  if (place >= 0) inputs()[place]?.focus();
}

function setProgress(message) {
  if (message.generation === generation && message.progress) lesson.update(message.progress);
}

function setValues(message) {
  store.values = message.values;
  rebuild();
}

function take(message, text) {
  const start = performance.now();
  if (!store || message.generation !== generation) {
    socket.seen();
    return;
  }
  painter.postMessage({ type: "picture", text });
  const first = !store.state;
  courses.take(store, store.take(message));
  forms.state = message.state;
  if (first) rebuild();
  const span = air.shown();
  air.speed = message.speed ?? 1;
  if (air.shown() !== span) look();
  lesson.take(store);
  note(lab.takes, start);
  if (!message.playing || start - turned > TURN_MS) schedule();
}

function note(list, start) {
  list.push(performance.now() - start);
  if (list.length > 4000) list.splice(0, 2000);
}

function schedule() {
  if (!writing) {
    writing = true;
    requestAnimationFrame(write);
  }
}

/** Texts and charts in turns, since all at once take longer than a frame has; while nothing runs, all. */
function write() {
  const start = performance.now();
  writing = false;
  if (!store?.state) return; // another scene came between the picture and its writing
  const { message } = store;
  header(message);
  turned = start;
  if (message.playing) {
    TURNS[turn % TURNS.length]();
    turn += 1;
    if (start - summarised > SUMMARY_MS) summarise(start);
  } else {
    for (const one of TURNS) one();
  }
  note(lab.writes, start);
  settle();
}

const chart = () => flows.drawChart(store);
const TURNS = [() => buffer.write(store), chart, () => { air.write(store); bsss.write(store); }, chart, () => flows.write(store), chart];

function header(message) {
  const text = clock(message.state.time_ns);
  if (text !== lastClock) {
    lastClock = text;
    $("clock").textContent = text;
  }
  const wanted = message.playing ? "Pause" : "Play";
  if ($("play").textContent !== wanted) $("play").textContent = wanted;
  const achieved = message.playing && message.achieved > 0 ? `${Number(message.achieved.toPrecision(2))}× real time` : message.playing ? "" : "paused";
  if ($("achieved").textContent !== achieved) $("achieved").textContent = achieved;
}

/** For those who hear the page. */
function summarise(now) {
  summarised = now;
  const jain = store.jain();
  $("summary").textContent = `${(store.state.time_ns / 1e9).toFixed(2)} seconds. Buffer: ${$("buffer-said").textContent}. ` +
    `Air: ${$("air-said").textContent}. Flows: ${$("flows-said").textContent}. ` +
    (jain === null ? "" : `Jain's index ${jain.toFixed(2)}.`);
}

function select(flow) {
  selected = flow;
  look();
  flows.selected = flow;
  if (store?.state) {
    flows.write(store);
    for (let i = 0; i < 3; i += 1) flows.drawChart(store);
  }
}

function selectNext(step) {
  const open = store?.state ? store.open() : [];
  if (!open.length) return;
  const place = open.indexOf(selected);
  select(open[(place + step + open.length) % open.length]);
}

const chosenSpeed = () => SPEEDS[Number($("speed").value)];
const sayTheSpeed = () => { $("speed-said").textContent = speedText(chosenSpeed()); };
const play = () => ask({ type: "play", speed: chosenSpeed() });

async function toggle() {
  if (store?.message?.playing) {
    await ask({ type: "pause" });
    setTimeout(() => store?.state && summarise(performance.now()), 150);
  } else await play();
}

async function step() {
  await ask({ type: "step" });
  setTimeout(() => store?.state && summarise(performance.now()), 150);
}

function setSpeed(place) {
  $("speed").value = String(place);
  sayTheSpeed();
  if (store?.message?.playing) play();
}

async function save() {
  const { text } = await ask({ type: "save" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  link.download = "session.toml";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function zoom(factor) {
  air.zoom(factor);
  look();
  schedule();
}

/** The lesson that is chosen, if any. */
const named = () => $("lesson").value || null;

/** Whether the session is paused at a caption of a lesson. */
const isHeld = () => store?.message?.held;

/** Starts from time zero; a run that is under way, or paused at a caption, continues so. */
async function beginAgain(what) {
  const playing = store?.message?.playing || isHeld();
  await ask({ type: "load", ...what });
  if (playing) await play();
}

const quietly = (action) => () => { action().catch(() => {}); };
$("play").addEventListener("click", quietly(toggle));
$("step").addEventListener("click", quietly(step));
$("save").addEventListener("click", quietly(save));
$("restart").addEventListener("click", quietly(() => ask({ type: "load", lesson: named(), set: named() ? {} : scene.set })));
$("lesson").addEventListener("change", quietly(async () => {
  await ask({ type: "load", lesson: named() });
}));
$("bss").addEventListener("change", quietly(() => ask({ type: "show", bss: $("bss").value })));
$("pauses").addEventListener("change", quietly(() => ask({ type: "pauses", on: $("pauses").checked })));
$("speed").addEventListener("input", () => setSpeed(Number($("speed").value)));
$("zoom-in").addEventListener("click", () => zoom(0.5));
$("zoom-out").addEventListener("click", () => zoom(2));
$("air").addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8);
}, { passive: false });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox]), select, textarea, summary, a")) return;
  if (event.key === " " && event.target.closest("button, input")) return; // presses that button, or ticks that box
  const place = Number($("speed").value);
  const keys = { " ": quietly(toggle), s: quietly(step), "+": () => setSpeed(Math.min(SPEEDS.length - 1, place + 1)),
    "-": () => setSpeed(Math.max(0, place - 1)), "[": () => zoom(2), "]": () => zoom(0.5), j: () => selectNext(1), k: () => selectNext(-1),
    ArrowRight: lesson.held ? () => lesson.continue() : null };
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (!store) return;
    flows.resize();
    for (const id of Object.keys(canvases)) sayTheSize($(id));
  }, 120);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  look();
  if (store) flows.makeCharts(store);
  schedule();
});
sayTheSpeed();
