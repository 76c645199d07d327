// The large drawing of one spectrum.

import { drawContribution } from "./contribution_strip.js";
import { drawCurve, drawErrorBand, drawMasked, firstAtLeast, shown } from "./curves.js";
import { fluxRange } from "./flux_range.js";
import { drawLineMarks, drawSkyMarks, NAMES_HEIGHT } from "./line_marks.js";
import { linear, percentiles, ticks, written } from "./scale.js";
import { colours, onLookChange, sharp } from "./sharp_canvas.js";
import { smoothed } from "./smoothing.js";
import { Zoom } from "./zoom.js";

const MARGIN = { left: 60, right: 14, top: 6, bottom: 36 };
const STRIP = { least: 76, share: 0.11 }; // CSS pixels, share of the height
const GAP = 8; // between the spectrum and the strip below it
const NEAR = 4; // CSS pixels within which a mark is named in the readout

/**
 * draw({spectrum, sigma, showKnown, showErrors, showContribution, marks, sky}) shows a spectrum: `sigma` of the
 * smoothing in pixels, `marks` and `sky` as line_marks.js makes them.
 */
export class SpectrumPlot {
  #canvas;
  #wavelength;
  #content = null;
  #curves = null; // {object, known, raw}: what is drawn, after smoothing and before

  constructor(canvas, wavelength) {
    this.#canvas = canvas;
    this.#wavelength = wavelength;
    this.zoom = new Zoom();
    this.zoom.setFull(wavelength[0], wavelength[wavelength.length - 1]);
    this.frame = null;
    onLookChange(canvas, () => this.redraw());
  }

  draw(content) {
    if (content.spectrum.id !== this.#content?.spectrum.id) this.zoom.fitFlux();
    if (content.spectrum !== this.#content?.spectrum || content.sigma !== this.#content?.sigma)
      this.#curves = curvesOf(content.spectrum, content.sigma);
    this.#content = content;
    this.redraw();
  }

  redraw() {
    if (!this.#content || !this.#canvas.clientWidth) return;
    const { context, width, height } = sharp(this.#canvas);
    const strip = this.#content.showContribution ? Math.max(STRIP.least, Math.round(STRIP.share * height)) : 0;
    const bottom = height - MARGIN.bottom;
    this.frame = this.#frame(context, width, strip ? bottom - strip - GAP : bottom);
    this.#drawSpectrum();
    if (strip) this.#drawStrip({ ...this.frame, top: bottom - strip, bottom });
    this.#drawWavelengths(bottom);
  }

  /** What is at this place of the drawing: {wavelength, flux, sigma, isMasked, marks}; null outside. */
  readAt(place) {
    const { frame } = this;
    if (!frame || place < frame.left || place > frame.right) return null;
    const wavelength = frame.x.value(place), i = nearestPixel(this.#wavelength, wavelength);
    const { spectrum, marks } = this.#content, { flux, sigma } = this.#curves.object;
    return {
      wavelength,
      flux: Number.isFinite(flux[i]) ? flux[i] : spectrum.flux[i],
      sigma: sigma[i],
      isMasked: !(spectrum.ivar[i] > 0),
      marks: marks.filter((mark) => Math.abs(frame.x(mark.wavelength) - place) <= NEAR),
    };
  }

  #frame(context, width, bottom) {
    const left = MARGIN.left, right = width - MARGIN.right, top = MARGIN.top;
    const x = linear(this.zoom.wavelengths, [left, right]);
    const frame = { context, left, right, top, bottom, x, wavelength: this.#wavelength, colours: colours() };
    frame.fluxes = this.zoom.fluxes ?? this.#fittingFluxes(frame);
    frame.belowNames = this.#content.marks.length ? top + NAMES_HEIGHT : top;
    frame.y = linear(frame.fluxes, [bottom, frame.belowNames]);
    return frame;
  }

  /** From what is on the screen, with room above and below. */
  #fittingFluxes(frame) {
    const [from, to] = shown(frame), { spectrum, showKnown } = this.#content;
    const { object, known, raw } = this.#curves;
    const own = fluxRange(object.flux, raw, spectrum.sigma, [from, to])
      ?? percentiles(spectrum.flux.subarray(from, to), 0, 1) ?? [0, 1];
    const other = (showKnown && percentiles(known.subarray(from, to), 0.01, 0.99)) || own;
    const lowest = Math.min(own[0], other[0]), highest = Math.max(own[1], other[1]);
    const room = 0.06 * (highest - lowest) || Math.abs(highest) || 1;
    return [lowest - room, highest + room];
  }

  #drawSpectrum() {
    const { frame } = this;
    const { context, left, right, top, bottom } = frame;
    this.#drawFluxes();
    within(frame, top, bottom, () => this.#drawMarks());
    within(frame, frame.belowNames, bottom, () => this.#drawCurves());
    context.strokeStyle = frame.colours.axis;
    context.strokeRect(left, top, right - left, bottom - top);
  }

  #drawMarks() {
    const { spectrum, marks, sky } = this.#content;
    drawMasked(this.frame, spectrum.flux, spectrum.ivar);
    drawSkyMarks(this.frame, sky);
    drawLineMarks(this.frame, marks);
  }

  #drawCurves() {
    const { frame } = this, { sigma, showKnown, showErrors } = this.#content;
    const { object, known, raw } = this.#curves, { colours: ink } = frame;
    if (showErrors) drawErrorBand(frame, object, ink["error-band"]);
    if (sigma > 0) drawCurve(frame, raw, ink.raw, 0.75);
    if (showKnown) drawCurve(frame, known, ink.known, 1.6, [7, 3]);
    drawCurve(frame, object.flux, ink.flux, sigma > 0 ? 1.5 : 1);
  }

  #drawStrip(frame) {
    const { context, left, right, top, bottom, colours: ink } = frame;
    within(frame, top, bottom, () => drawContribution(frame, this.#content.spectrum));
    context.strokeStyle = ink.axis;
    context.strokeRect(left, top, right - left, bottom - top);
    Object.assign(context, { font: "11px system-ui, sans-serif", textAlign: "right", fillStyle: ink.for });
    context.fillText("▲ for", left - 6, top + 14);
    context.fillStyle = ink.against;
    context.fillText("▼ against", left - 6, bottom - 6);
  }

  #drawWavelengths(bottom) {
    const { context, x, left, right, colours: ink } = this.frame;
    Object.assign(context, { font: "11px system-ui, sans-serif", textAlign: "center", fillStyle: ink.faint });
    context.strokeStyle = ink.axis;
    for (const tick of ticks(...this.zoom.wavelengths, (right - left) / 90)) {
      context.strokeRect(x(tick), bottom, 0, 4);
      context.fillText(String(Number(tick.toFixed(3))), x(tick), bottom + 16);
    }
    context.fillText("vacuum wavelength (Å)", (left + right) / 2, bottom + 31);
  }

  #drawFluxes() {
    const { context, y, left, right, top, bottom, fluxes, colours: ink } = this.frame;
    Object.assign(context, { font: "11px system-ui, sans-serif", textAlign: "right", fillStyle: ink.faint });
    for (const tick of ticks(...fluxes, (bottom - top) / 55)) {
      context.strokeStyle = tick === 0 ? ink.axis : ink.rule;
      context.strokeRect(left, y(tick), right - left, 0);
      context.fillText(written(tick), left - 6, y(tick) + 4);
    }
    context.save();
    context.translate(12, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("flux", 0, 0);
    context.restore();
  }
}

/** Draws nothing outside the frame, between these heights. */
function within({ context, left, right }, top, bottom, draw) {
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, bottom - top);
  context.clip();
  draw();
  context.restore();
}

/** The known example has no errors of its own here: every pixel it has counts the same. */
function curvesOf({ flux, ivar, known, has_errors: hasErrors }, sigma) {
  const there = known.map((value) => (Number.isFinite(value) ? 1 : 0));
  const object = smoothed(flux, ivar, sigma);
  if (!hasErrors) object.sigma.fill(NaN);
  return { object, known: smoothed(known, there, sigma).flux, raw: masked(flux, ivar) };
}

function nearestPixel(wavelength, value) {
  const after = Math.min(firstAtLeast(wavelength, value), wavelength.length - 1), before = Math.max(0, after - 1);
  return value - wavelength[before] < wavelength[after] - value ? before : after;
}

function masked(flux, ivar) {
  return flux.map((value, i) => (ivar[i] > 0 ? value : NaN));
}
