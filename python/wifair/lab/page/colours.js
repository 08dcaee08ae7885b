// The colours of the style sheet, for canvases.

const NAMES = ["page", "panel", "ink", "muted", "line", "faint", "down", "up", "lost", "mark", "ack-frame"];
export const colours = {};

export function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) colours[name] = style.getPropertyValue(`--${name}`).trim();
}

/** A canvas that follows its size: gives its context in CSS pixels, and its size. */
export function fitted(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const cx = canvas.getContext("2d");
  cx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { cx, width, height };
}
