// The large drawing of one spectrum.

import { drawContribution } from "./contribution_strip.js";
import { drawCurve, drawErrorBand, drawMasked, firstAtLeast, shown } from "./curves.js";
import { fluxRange } from "./flux_range.js";
import { strokeOf } from "./legend.js";
import { drawLineMarks, drawSkyMarks, NAMES_HEIGHT } from "./line_marks.js";
import { drawResidual, drawResidualAxis } from "./residual_strip.js";
import { linear, percentiles, ticks, written } from "./scale.js";
import { colours, onLookChange, sharp } from "./sharp_canvas.js";
import { smoothed } from "./smoothing.js";
import { Zoom } from "./zoom.js";

const MARGIN = { left: 60, right: 14, top: 6, bottom: 36 };
const STRIP = { least: 76, share: 0.11 }; // CSS pixels, share of the height
const GAP = 8; // between the spectrum and a strip below it
const NEAR = 4; // CSS pixels within which a mark is named in the readout
const SMALL = "11px system-ui, sans-serif";

/**
 * draw({spectrum, sigma, overlay, others, showOverlay, showErrors, showContribution, showResidual, marks, sky}) shows a
 * spectrum: `sigma` of the smoothing in pixels, `overlay` as overlays.js makes it, `others` curves of the same object,
 * `marks` and `sky` as line_marks.js makes them.
 */
export class SpectrumPlot {
  #canvas;
  #wavelength;
  #content = null;
  #curves = null; // {object, overlay, raw, residual}: what is drawn, after smoothing and before

  constructor(canvas, wavelength) {
    this.#canvas = canvas;
    this.#wavelength = wavelength;
    this.zoom = new Zoom();
    this.zoom.setFull(wavelength[0], wavelength[wavelength.length - 1]);
    this.frame = null;
    onLookChange(canvas, () => this.redraw());
  }

  get content() {
    return this.#content;
  }

  draw(content) {
    if (content.spectrum.id !== this.#content?.spectrum.id) this.zoom.fitFlux();
    this.#curves = this.#curvesOf(content);
    this.#content = content;
    this.redraw();
  }

  redraw() {
    if (!this.#content || !this.#canvas.clientWidth) return;
    const { context, width, height } = sharp(this.#canvas);
    this.frame = this.paint(context, width, height, colours());
  }

  /** Draws into any context with the methods of a canvas, in these colours; the frame of the spectrum. */
  paint(context, width, height, ink) {
    const { showContribution, showResidual } = this.#content;
    const strip = Math.max(STRIP.least, Math.round(STRIP.share * height)), bottom = height - MARGIN.bottom;
    const n = Number(showContribution) + Number(showResidual);
    const frame = this.#frame(context, width, bottom - n * (strip + GAP), ink);
    this.#drawSpectrum(frame);
    if (showResidual) this.#drawResidual({ ...frame, top: frame.bottom + GAP, bottom: frame.bottom + GAP + strip });
    if (showContribution) this.#drawContribution({ ...frame, top: bottom - strip, bottom });
    this.#drawWavelengths(frame, bottom);
    return frame;
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

  #curvesOf({ spectrum, sigma, overlay }) {
    const before = this.#content, isSame = spectrum === before?.spectrum && sigma === before.sigma;
    if (isSame && overlay.flux === before.overlay.flux) return this.#curves;
    const own = isSame ? this.#curves : ownCurves(spectrum, sigma);
    const over = overlay.flux && smoothedOverlay(overlay.flux, sigma);
    return { object: own.object, raw: own.raw, overlay: over, residual: over && residualOf(own.object, over) };
  }

  #frame(context, width, bottom, ink) {
    const left = MARGIN.left, right = width - MARGIN.right, top = MARGIN.top;
    const x = linear(this.zoom.wavelengths, [left, right]);
    const frame = { context, left, right, top, bottom, x, wavelength: this.#wavelength, colours: ink };
    frame.fluxes = this.zoom.fluxes ?? this.#fittingFluxes(frame);
    frame.belowNames = this.#content.marks.length ? top + NAMES_HEIGHT : top;
    frame.y = linear(frame.fluxes, [bottom, frame.belowNames]);
    return frame;
  }

  /** From what is on the screen, with room above and below. */
  #fittingFluxes(frame) {
    const [from, to] = shown(frame), { spectrum, others, showOverlay } = this.#content;
    const { object, overlay, raw } = this.#curves;
    const own = fluxRange(object.flux, raw, spectrum.sigma, [from, to])
      ?? percentiles(spectrum.flux.subarray(from, to), 0, 1) ?? [0, 1];
    const beside = [showOverlay && overlay, ...others].filter(Boolean);
    const ranges = [own, ...beside.map((curve) => percentiles(curve.subarray(from, to), 0.01, 0.99) ?? own)];
    const lowest = Math.min(...ranges.map(([low]) => low)), highest = Math.max(...ranges.map(([, high]) => high));
    const room = 0.06 * (highest - lowest) || Math.abs(highest) || 1;
    return [lowest - room, highest + room];
  }

  #drawSpectrum(frame) {
    const { context, left, right, top, bottom } = frame;
    this.#drawFluxes(frame);
    within(frame, top, bottom, () => this.#drawMarks(frame));
    within(frame, frame.belowNames, bottom, () => this.#drawCurves(frame));
    context.strokeStyle = frame.colours.axis;
    context.strokeRect(left, top, right - left, bottom - top);
  }

  #drawMarks(frame) {
    const { spectrum, marks, sky } = this.#content;
    drawMasked(frame, spectrum.flux, spectrum.ivar);
    drawSkyMarks(frame, sky);
    drawLineMarks(frame, marks);
  }

  #drawCurves(frame) {
    const { sigma, others, showOverlay, showErrors } = this.#content;
    const { object, overlay, raw } = this.#curves, { colours: ink } = frame;
    const draw = (curve, kind, colour = kind) => {
      const { width, dashes } = strokeOf(kind);
      drawCurve(frame, curve, ink[colour], width, dashes);
    };
    if (showErrors) drawErrorBand(frame, object, ink["error-band"]);
    if (sigma > 0) draw(raw, "raw");
    others.forEach((curve, i) => curve && draw(curve, "other", `other-${i}`));
    if (showOverlay && overlay) draw(overlay, "overlay", "known");
    draw(object.flux, "flux");
  }

  #drawResidual(frame) {
    const { top, bottom } = frame, { residual } = this.#curves;
    let strip = null;
    within(frame, top, bottom, () => (strip = drawResidual(frame, residual, this.#content.showErrors)));
    drawBox(frame);
    if (strip) drawResidualAxis(strip);
  }

  #drawContribution(frame) {
    const { context, left, top, bottom, colours: ink } = frame;
    within(frame, top, bottom, () => drawContribution(frame, this.#content.spectrum));
    drawBox(frame);
    Object.assign(context, { font: SMALL, textAlign: "right", fillStyle: ink.for });
    context.fillText("▲ for", left - 6, top + 14);
    context.fillStyle = ink.against;
    context.fillText("▼ against", left - 6, bottom - 6);
  }

  #drawWavelengths({ context, x, left, right, colours: ink }, bottom) {
    Object.assign(context, { font: SMALL, textAlign: "center", fillStyle: ink.faint, strokeStyle: ink.axis });
    for (const tick of ticks(...this.zoom.wavelengths, (right - left) / 90)) {
      context.strokeRect(x(tick), bottom, 0, 4);
      context.fillText(String(Number(tick.toFixed(3))), x(tick), bottom + 16);
    }
    context.fillText("vacuum wavelength (Å)", (left + right) / 2, bottom + 31);
  }

  #drawFluxes({ context, y, left, right, top, bottom, fluxes, colours: ink }) {
    Object.assign(context, { font: SMALL, textAlign: "right", fillStyle: ink.faint });
    for (const tick of ticks(...fluxes, (bottom - top) / 55)) {
      context.strokeStyle = tick === 0 ? ink.axis : ink.rule;
      context.strokeRect(left, y(tick), right - left, 0);
      context.fillText(written(tick), left - 6, y(tick) + 4);
    }
    context.save();
    context.translate(12, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(`flux (${this.#content.spectrum.flux_unit})`, 0, 0);
    context.restore();
  }
}

function drawBox({ context, left, right, top, bottom, colours: ink }) {
  context.strokeStyle = ink.axis;
  context.strokeRect(left, top, right - left, bottom - top);
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

function ownCurves({ flux, ivar, has_errors: hasErrors }, sigma) {
  const object = smoothed(flux, ivar, sigma);
  if (!hasErrors) object.sigma.fill(NaN);
  return { object, raw: flux.map((value, i) => (ivar[i] > 0 ? value : NaN)) };
}

/** It has no errors of its own here: every pixel it has counts the same. */
function smoothedOverlay(flux, sigma) {
  const there = flux.map((value) => (Number.isFinite(value) ? 1 : 0));
  return smoothed(flux, there, sigma).flux;
}

function residualOf({ flux, sigma }, overlay) {
  return { flux: flux.map((value, i) => value - overlay[i]), sigma };
}

function nearestPixel(wavelength, value) {
  const after = Math.min(firstAtLeast(wavelength, value), wavelength.length - 1), before = Math.max(0, after - 1);
  return value - wavelength[before] < wavelength[after] - value ? before : after;
}
