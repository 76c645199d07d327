// What is left of a spectrum when the overlay is taken away, with its own scale.

import { drawCurve, drawErrorBand, shown } from "./curves.js";
import { linear, percentiles, ticks, written } from "./scale.js";

/** frame : that of the spectrum, with `top` and `bottom` of the strip; residual : {flux, sigma} or null */
export function drawResidual(frame, residual, showErrors) {
  const { context, left, right, top, bottom, colours } = frame;
  const [from, to] = shown(frame);
  const range = residual && percentiles(residual.flux.subarray(from, to), 0.005, 0.995);
  if (!range) return drawWords(frame);
  const most = 1.15 * Math.max(...range.map(Math.abs)) || 1;
  const strip = { ...frame, y: linear([-most, most], [bottom, top]) };
  if (showErrors) drawErrorBand(strip, { flux: residual.flux.map(() => 0), sigma: residual.sigma }, colours["error-band"]);
  Object.assign(context, { strokeStyle: colours.axis, lineWidth: 1 });
  context.strokeRect(left, strip.y(0), right - left, 0);
  drawCurve(strip, residual.flux, colours.residual, 1);
  return strip;
}

/** Numbers and name left of the strip, outside its clipping. */
export function drawResidualAxis(strip) {
  const { context, left, top, bottom, y, colours } = strip;
  Object.assign(context, { font: "11px system-ui, sans-serif", textAlign: "right", fillStyle: colours.faint });
  for (const tick of ticks(y.value(bottom), y.value(top), 5)) {
    const place = y(tick) + 4;
    if (place > top + 8 && place < bottom) context.fillText(written(tick), left - 6, place);
  }
  context.save();
  context.translate(12, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText("residual", 0, 0);
  context.restore();
}

function drawWords({ context, left, top, bottom, colours }) {
  Object.assign(context, { font: "12px system-ui, sans-serif", textAlign: "left", fillStyle: colours.faint });
  context.fillText("No residual: there is no overlay to subtract.", left + 6, (top + bottom) / 2 + 4);
  return null;
}
