// Frames that were on the air, as far back as somebody may look.

const MOST_FRAMES = 24000;

export class History {
  constructor() {
    /** In the order of their beginnings, with absolute times. */
    this.frames = [];
    /** Stretches of time in which frames were not gathered: [from, to], in ns. */
    this.unseen = [];
    /** Frames of a field that are on the air, or whose senders do not know the outcome: they are listed later. */
    this.underWay = [];
    this.until = 0;
  }

  take(message) {
    const { state } = message;
    const t = state.time_ns;
    const before = this.until;
    this.until = t;
    const rows = state.frames;
    this.underWay = state.frames_under_way.map(([begin, end, node, kind]) => ({ begins: t - begin, ends: t - end, node, kind }));
    let from = Math.min(t, ...this.underWay.map((frame) => frame.begins));
    for (const row of rows) {
      const frame = { begins: t - row[0], ends: t - row[1], node: row[2], kind: row[3], outcome: row[4], flow: row[5],
        cls: row[6], attempt: row[7], rate: row[8], waits: t - row[9], mpdus: row[10] };
      from = Math.min(from, frame.begins);
      this.frames.push(frame);
    }
    const seen = !message.every_event || state.frames_omitted > 0 ? from : before;
    if (seen > before) this.unseen.push([before, seen]);
    if (this.frames.length > MOST_FRAMES) this.frames.splice(0, this.frames.length - MOST_FRAMES * 0.8);
    if (this.unseen.length > 200) this.unseen.splice(0, 50);
  }
}
