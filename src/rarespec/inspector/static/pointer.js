// The mouse on the spectrum: crosshair and readout, wheel and drag to zoom, Shift and drag to move.

import { written } from "./scale.js";
import { colours, sharp } from "./sharp_canvas.js";

const WHEEL_STEP = 1.0015; // zoom for each pixel of the wheel
const FOOT = 36; // height of the axis below
const LEAST_DRAG = 6; // CSS pixels; anything shorter is a click

export class Pointer {
  #plot;
  #canvas;
  #say;
  #redshift;
  #at = null; // where the pointer is, [x, y]
  #from = null; // where a drag began: {x, y, isMove, fluxes}

  /** canvas lies over the drawing; say(words) shows the readout; redshift() is that of the overlays. */
  constructor(plot, canvas, say, redshift) {
    this.#plot = plot;
    this.#canvas = canvas;
    this.#say = say;
    this.#redshift = redshift;
    canvas.addEventListener("pointermove", (event) => this.#onMove(event));
    canvas.addEventListener("pointerdown", (event) => this.#onDown(event));
    canvas.addEventListener("pointerup", (event) => this.#onUp(event));
    canvas.addEventListener("pointercancel", () => this.#leave());
    canvas.addEventListener("pointerleave", () => this.#from || this.#leave());
    canvas.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    canvas.addEventListener("dblclick", () => this.#change((zoom) => zoom.reset()));
  }

  /** Again over what is drawn now. */
  refresh() {
    this.#draw();
  }

  #onMove(event) {
    const from = this.#at;
    this.#at = [event.offsetX, event.offsetY];
    if (this.#from?.isMove && from) this.#moveBy(this.#at[0] - from[0], this.#at[1] - from[1]);
    this.#draw();
  }

  #onDown(event) {
    if (event.button > 1) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#at = [event.offsetX, event.offsetY];
    this.#from = { x: event.offsetX, isMove: event.shiftKey || event.button === 1 };
  }

  #onUp(event) {
    const from = this.#from;
    this.#from = null;
    if (!from || from.isMove || Math.abs(event.offsetX - from.x) < LEAST_DRAG) return this.#draw();
    const ends = [from.x, event.offsetX].sort((a, b) => a - b).map(this.#plot.frame.x.value);
    this.#change((zoom) => zoom.showWavelengths(...ends));
  }

  #onWheel(event) {
    if (event.ctrlKey || !this.#plot.frame) return; // the browser's own zoom of the page
    event.preventDefault();
    const { x, y, fluxes } = this.#plot.frame;
    const factor = WHEEL_STEP ** (event.deltaY || (event.shiftKey ? event.deltaX : 0));
    const across = event.shiftKey ? 0 : event.deltaX / this.#canvas.clientWidth;
    this.#change((zoom) => {
      if (event.shiftKey) zoom.scaleFluxes(factor, y.value(event.offsetY), fluxes);
      else zoom.scaleWavelengths(factor, x.value(event.offsetX));
      if (across) zoom.move(across);
    });
  }

  #moveBy(across, down) {
    const { frame } = this.#plot;
    if (!frame) return;
    const flux = frame.y.value(0) - frame.y.value(down);
    this.#change((zoom) => {
      zoom.move(-across / (frame.right - frame.left));
      if (zoom.fluxes || Math.abs(down) > 2) zoom.moveFluxes(flux, frame.fluxes);
    });
  }

  #change(how) {
    how(this.#plot.zoom);
    this.#plot.redraw();
    this.#draw();
    this.#canvas.dispatchEvent(new Event("zoomed", { bubbles: true }));
  }

  #leave() {
    this.#at = this.#from = null;
    this.#draw();
  }

  #draw() {
    const { context, height } = sharp(this.#canvas);
    const read = this.#at && this.#plot.readAt(this.#at[0]);
    this.#say(read ? readout(read, this.#redshift()) : "");
    if (!read) return;
    const { top } = this.#plot.frame, ink = colours();
    context.strokeStyle = ink.crosshair;
    context.setLineDash([4, 3]);
    const x = Math.round(this.#at[0]) + 0.5;
    drawStraight(context, [x, top], [x, height - FOOT]);
    if (this.#from && !this.#from.isMove) this.#drawSelection(context, ink, height);
    else this.#drawLevel(context);
  }

  #drawLevel(context) {
    const { left, right, top, bottom } = this.#plot.frame, y = Math.round(this.#at[1]) + 0.5;
    if (y > top && y < bottom) drawStraight(context, [left, y], [right, y]);
  }

  #drawSelection(context, ink, height) {
    const { top } = this.#plot.frame;
    context.fillStyle = ink["error-band"];
    context.fillRect(this.#from.x, top, this.#at[0] - this.#from.x, height - FOOT - top);
  }
}

function drawStraight(context, from, to) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function readout({ wavelength, flux, sigma, isMasked, marks }, redshift) {
  const parts = [`λ ${wavelength.toFixed(1)} Å`];
  if (redshift) parts.push(`rest ${(wavelength / (1 + redshift)).toFixed(1)} Å`);
  parts.push(`flux ${written(flux)}${isMasked || !Number.isFinite(sigma) ? "" : ` ± ${written(sigma, 2)}`}`);
  if (isMasked) parts.push("masked");
  for (const { name, rest } of marks) parts.push(`${name} ${rest.toFixed(0)}`);
  return parts.join("  ");
}
