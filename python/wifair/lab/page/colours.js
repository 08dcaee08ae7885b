// The colours of the style sheet, for canvases.

const NAMES = ["page", "panel", "ink", "muted", "line", "faint", "down", "up", "lost", "hidden", "mark", "ack-frame"];
export const colours = {};

export function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) colours[name] = style.getPropertyValue(`--${name}`).trim();
}
