// Numbers as people read them.

const THIN = "\u2009";

/** Simulated time: seconds with nine decimals, in groups of three. */
export function clock(ns) {
  const s = Math.floor(ns / 1e9);
  const rest = String(Math.round(ns - s * 1e9)).padStart(9, "0");
  return `${s}.${rest.slice(0, 3)}${THIN}${rest.slice(3, 6)}${THIN}${rest.slice(6)} s`;
}

/** A duration in its best unit. */
export function duration(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

/** A number with about three digits. */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return value.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
}

/** A speed: simulated seconds per second. */
export function speed(value) {
  if (value === null) return "as fast as it runs";
  if (value === 1) return "real time";
  return value < 1 ? `1/${Math.round(1 / value)} of real time` : `${Number(value.toPrecision(3))}× real time`;
}
