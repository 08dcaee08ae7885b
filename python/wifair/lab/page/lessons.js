// A lesson: captions in their order, each when what it says is measured.
//
// A browser that has measured it tells the server. All browsers then list the caption, and the session pauses unless they chose otherwise.

import { holds } from "./measures.js";

export class LessonView {
  /** `actions`: `appear(place)` says that a caption's figures are measured; `apply(change)` and `restart(place)` do what one offers; `play()` continues. */
  constructor(elements, actions) {
    Object.assign(this, elements);
    this.actions = actions;
    this.lesson = null;
    /** Whether the session is paused at a caption. */
    this.held = false;
    this.next.addEventListener("click", () => this.continue());
  }

  load(lesson) {
    this.lesson = lesson;
    this.held = false;
    this.reporting = false;
    this.section.hidden = !lesson;
    this.captions.replaceChildren();
    if (!lesson) return;
    this.title.textContent = lesson.title;
    this.update(lesson.progress);
  }

  /** Takes over how far the lesson has come: the times of its captions, whether the last one offers something, and since when measures count. */
  update(now) {
    this.now = now;
    this.since = null;
    const { captions } = this;
    while (captions.children.length < now.times.length) {
      const item = this.item(captions.children.length);
      captions.append(item);
      item.scrollIntoView?.({ block: "nearest" });
    }
    for (const button of captions.querySelectorAll("button")) button.disabled = button !== this.offer;
    this.write();
  }

  /** The button of the last caption, if it offers something that is not yet taken up. */
  get offer() {
    return this.now.asked ? this.captions.lastElementChild?.querySelector("button") : null;
  }

  /** How many captions have appeared, and whether that is all. */
  get progress() {
    const shown = this.now?.times.length ?? 0;
    return { shown, ended: Boolean(this.lesson) && shown >= this.lesson.caption.length && !this.now.asked };
  }

  /** What comes next: a button and a text below the captions. */
  write() {
    const { shown, ended } = this.progress;
    this.next.hidden = !this.held || ended || this.now.asked;
    const text = ended ? "That is the end of the lesson; go on and try something yourself."
      : this.now.asked ? (this.held ? "Paused. The key → presses that button; Space continues without it." : "")
        : this.held ? "Paused. The keys → and Space continue, too."
          : shown === 0 ? this.lesson.about
            : this.lesson.caption[shown - 1].restart ? "The run has begun again. Go on and watch." : "Go on and watch.";
    if (this.waiting.textContent !== text) this.waiting.textContent = text;
  }

  /** Continues after a pause at a caption: with what it offers, if anything. */
  continue() {
    if (this.offer) this.offer.click();
    else this.actions.play();
  }

  take(store) {
    if (!this.lesson) return;
    if (this.held !== store.message.held) {
      this.held = store.message.held;
      this.write();
    }
    const { times, asked, from_s: from } = this.now;
    const caption = this.lesson.caption[times.length];
    if (!caption || asked || this.held || this.reporting) return;
    const t = store.state.time_ns / 1e9;
    // What was measured before the last change says nothing about what follows it.
    const window = store.rates?.seconds ?? 0;
    if (from !== null && t - window < from) return;
    if (!caption.when.every((condition) => holds(store, condition))) {
      this.since = null;
      return;
    }
    this.since ??= t;
    if (t - this.since >= (caption.for_s ?? 2)) this.report(times.length);
  }

  async report(place) {
    this.reporting = true;
    await this.actions.appear(place);
    this.reporting = false;
  }

  /** A caption in the list, with the time at which it appeared. */
  item(place) {
    const [caption, t] = [this.lesson.caption[place], this.now.times[place]];
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
      button.addEventListener("click", () => this.follow(caption, place, button));
      item.append(button);
    }
    return item;
  }

  async follow(caption, place, button) {
    button.disabled = true;
    await (caption.restart ? this.actions.restart(place) : this.actions.apply(caption.change));
    if (button === this.offer) button.disabled = false; // it was refused
  }
}
