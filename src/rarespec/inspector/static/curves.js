// The curves of a spectrum: flux with its error, masked pixels, what is laid over it.

const HATCH = 6; // CSS pixels between two lines of a hatch

/** A line through finite values (p,); it breaks where a value is missing. */
export function drawCurve(frame, values, colour, width = 1, dashes = []) {
  const { context, x, y, wavelength } = frame;
  const [from, to] = shown(frame);
  context.save();
  Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
  context.setLineDash(dashes);
  context.beginPath();
  let isDown = false;
  for (let i = from; i < to; i++) {
    const isThere = Number.isFinite(values[i]);
    if (isThere && isDown) context.lineTo(x(wavelength[i]), y(values[i]));
    else if (isThere) context.moveTo(x(wavelength[i]), y(values[i]));
    isDown = isThere;
  }
  context.stroke();
  context.restore();
}

/** One standard deviation on each side. */
export function drawErrorBand(frame, { flux, sigma }, colour) {
  const { context } = frame;
  context.fillStyle = colour;
  for (const [from, to] of runs(frame, (i) => Number.isFinite(flux[i]) && Number.isFinite(sigma[i]))) {
    context.beginPath();
    for (let i = from; i < to; i++) context.lineTo(...edge(frame, i, flux[i] + sigma[i]));
    for (let i = to - 1; i >= from; i--) context.lineTo(...edge(frame, i, flux[i] - sigma[i]));
    context.fill();
  }
}

/** Masked pixels are hatched from top to bottom, and what was measured there is dotted. */
export function drawMasked(frame, flux, ivar) {
  const { context, x, wavelength, top, bottom, colours } = frame;
  const masked = [...runs(frame, (i) => !(ivar[i] > 0))];
  if (!masked.length) return;
  context.save();
  context.beginPath();
  for (const [from, to] of masked) {
    const left = x(edgeBefore(wavelength, from)), right = x(edgeBefore(wavelength, to));
    context.rect(left, top, Math.max(1, right - left), bottom - top);
  }
  context.clip();
  drawHatch(context, colours.masked, [frame.left, top, frame.right, bottom]);
  context.restore();
  context.fillStyle = colours.faint;
  for (const [from, to] of masked)
    for (let i = from; i < to; i++) context.fillRect(...edge(frame, i, flux[i]).map((at) => at - 0.75), 1.5, 1.5);
}

/** Oblique lines from [left, top, right, bottom]. */
export function drawHatch(context, colour, [left, top, right, bottom]) {
  Object.assign(context, { strokeStyle: colour, lineWidth: 1 });
  const height = bottom - top;
  context.beginPath();
  for (let start = left - height; start < right; start += HATCH) {
    context.moveTo(start, bottom);
    context.lineTo(start + height, top);
  }
  context.stroke();
}

/** Neighbouring pixels on the screen for which the condition holds: [from, to) each. */
export function* runs(frame, condition) {
  const [first, last] = shown(frame);
  let from = -1;
  for (let i = first; i <= last; i++) {
    const holds = i < last && condition(i);
    if (holds && from < 0) from = i;
    if (!holds && from >= 0) {
      yield [from, i];
      from = -1;
    }
  }
}

/** Pixels on the screen and one more at each end: [from, to). */
export function shown({ wavelength, x, left, right }) {
  const from = firstAtLeast(wavelength, x.value(left)), to = firstAtLeast(wavelength, x.value(right));
  return [Math.max(0, from - 1), Math.min(wavelength.length, to + 1)];
}

/** First pixel at this wavelength or beyond. */
export function firstAtLeast(wavelength, value) {
  let low = 0, high = wavelength.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (wavelength[half] < value) low = half + 1;
    else high = half;
  }
  return low;
}

function edge({ x, y, wavelength }, i, flux) {
  return [x(wavelength[i]), y(flux)];
}

/** Where pixel i begins. */
function edgeBefore(wavelength, i) {
  const last = wavelength.length - 1;
  const step = i < last ? wavelength[i + 1] - wavelength[i] : wavelength[last] - wavelength[last - 1];
  return (i <= last ? wavelength[i] : wavelength[last] + step) - step / 2;
}
