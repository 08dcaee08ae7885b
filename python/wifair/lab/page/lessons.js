// A lesson: captions in their order, each when what it says is measured.

import { holds } from "./measures.js";

export class LessonView {
  /** `apply(change)` asks for a change; `restart(caption)` begins the scenario again with the keys of that caption. */
  constructor(elements, apply, restart) {
    Object.assign(this, elements);
    this.apply = apply;
    this.restart = restart;
    this.lesson = null;
  }

  load(lesson) {
    const kept = lesson !== null && lesson.name === this.lesson?.name && lesson.shown === this.next;
    this.lesson = lesson;
    this.next = lesson?.shown ?? 0;
    this.since = null;
    this.asked = false;
    this.from = null;
    this.section.hidden = !lesson;
    if (!lesson) return this.captions.replaceChildren();
    this.title.textContent = lesson.title;
    // The captions before a restart stay; a browser that has not seen them lists them without their times.
    if (!kept || this.next === 0) this.captions.replaceChildren(...lesson.caption.slice(0, this.next).map((one) => this.item(one, null)));
    for (const button of this.captions.querySelectorAll("button")) button.disabled = true;
    return this.wait(this.next > 0 ? "The run has begun again. Go on and watch." : lesson.about);
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

  /** A caption in the list, with the time at which it appeared. */
  item(caption, t) {
    const item = document.createElement("li");
    if (t !== null) {
      const time = document.createElement("time");
      time.textContent = `${t.toFixed(1)} s`;
      item.append(time);
    }
    item.append(caption.text);
    if (caption.button) {
      const button = document.createElement("button");
      button.textContent = caption.button;
      item.append(button);
    }
    return item;
  }

  async follow(caption, place, button) {
    button.disabled = true;
    if (caption.restart) return this.restart(place);
    const done = await this.apply(caption.change);
    this.asked = false;
    this.from = done.at_s;
    return this.wait("Go on and watch.");
  }

  show(caption, t) {
    const item = this.item(caption, t);
    const place = this.next;
    this.next += 1;
    this.since = null;
    const button = item.querySelector("button");
    button?.addEventListener("click", () => this.follow(caption, place, button));
    this.asked = Boolean(button);
    this.captions.append(item);
    const last = this.next >= this.lesson.caption.length;
    this.wait(this.asked ? "" : last ? "That is the end of the lesson; go on and try something yourself." : "Go on and watch.");
    item.scrollIntoView?.({ block: "nearest" });
  }
}
