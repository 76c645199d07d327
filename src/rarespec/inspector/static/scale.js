// From values to places in a drawing, and the round numbers along an axis.

/** A straight scale: scale(value) -> place, scale.value(place) -> value. */
export function linear([first, last], [start, end]) {
  const step = (end - start) / (last - first);
  const scale = (value) => start + (value - first) * step;
  scale.value = (place) => first + (place - start) / step;
  return scale;
}

/** Round numbers between the two, about so many. */
export function ticks(first, last, about) {
  const step = roundStep((last - first) / about);
  if (!(step > 0) || !Number.isFinite(step)) return [];
  const from = Math.ceil(first / step), to = Math.floor(last / step);
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => (from + i) * step);
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
}

/** A number for reading: short, with a true minus sign. */
export function written(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const isPlain = size >= 1e-3 && size < 1e5;
  const text = isPlain ? String(Number(value.toPrecision(digits))) : value.toExponential(Math.max(0, digits - 2));
  return text.replaceAll("-", "−");
}

/** Lower and upper share of the finite values, e.g. 0.01 and 0.99; null when there are none. */
export function percentiles(values, lower, upper) {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  if (!sorted.length) return null;
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return [at(lower), at(upper)];
}
