// A lesson: captions in their order, each when what it says is measured.

import { holds } from "./measures.js";

export class LessonView {
  constructor(elements, apply) {
    Object.assign(this, elements);
    this.apply = apply;
    this.lesson = null;
  }

  load(lesson) {
    this.lesson = lesson;
    this.next = 0;
    this.since = null;
    this.asked = false;
    this.from = null;
    this.captions.replaceChildren();
    this.section.hidden = !lesson;
    if (!lesson) return;
    this.title.textContent = lesson.title;
    this.wait(lesson.about);
  }

  wait(text) {
    if (this.waiting.textContent !== text) this.waiting.textContent = text;
  }

  /** How many captions have appeared, and whether that is all. */
  get progress() {
    return { shown: this.next, ended: Boolean(this.lesson) && this.next >= this.lesson.caption.length && !this.asked };
  }

  take(store) {
    if (!this.lesson || this.asked) return;
    const caption = this.lesson.caption[this.next];
    if (!caption) return;
    const t = store.state.time_ns / 1e9;
    // What was measured before the last change says nothing about what follows it.
    const window = store.rates?.seconds ?? 0;
    if (this.from !== null && t - window < this.from) return;
    if (!caption.when.every((condition) => holds(store, condition))) {
      this.since = null;
      return;
    }
    this.since ??= t;
    if (t - this.since >= (caption.for_s ?? 2)) this.show(caption, t);
  }

  show(caption, t) {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = `${t.toFixed(1)} s`;
    item.append(time, caption.text);
    this.next += 1;
    this.since = null;
    if (caption.change) {
      const button = document.createElement("button");
      button.textContent = caption.button;
      button.addEventListener("click", async () => {
        button.disabled = true;
        const done = await this.apply(caption.change);
        this.asked = false;
        this.from = done.at_s;
        this.wait("Go on and watch.");
      });
      item.append(button);
      this.asked = true;
    }
    this.captions.append(item);
    const last = this.next >= this.lesson.caption.length;
    this.wait(this.asked ? "" : last ? "That is the end of the lesson; go on and try something yourself." : "Go on and watch.");
    item.scrollIntoView?.({ block: "nearest" });
  }
}
