// Small drawings of spectra for the grid, fetched a page at a time.

import * as api from "./api.js";
import { linear, percentiles } from "./scale.js";
import { colours, sharp } from "./sharp_canvas.js";

const AT_ONCE = 100;
const MOST_KEPT = 2000;
const FAINT = 0.5; // how much of a known example shows

export class Thumbnails {
  #kept = new Map(); // id -> {flux, known}: Float32Arrays of binned flux, the known example's on the same scale

  /** Fetches what is missing of these. */
  async fetch(ids) {
    const missing = ids.filter((id) => !this.#kept.has(id));
    for (let start = 0; start < missing.length; start += AT_ONCE) {
      const part = missing.slice(start, start + AT_ONCE);
      const drawn = await api.thumbnails(part);
      part.forEach((id, i) => this.#kept.set(id, drawn[i]));
    }
    for (const id of this.#kept.keys()) if (this.#kept.size > MOST_KEPT) this.#kept.delete(id);
  }

  outdate() {
    this.#kept.clear();
  }

  /** Draws the spectrum with this id if it has been fetched. */
  draw(canvas, id) {
    const curves = this.#kept.get(id);
    if (curves && canvas.clientWidth) drawThumbnail(canvas, curves);
  }
}

/** The spectrum, and in a faint colour behind it the known example that it resembles most. */
function drawThumbnail(canvas, { flux, known }) {
  const { context, width, height } = sharp(canvas), ink = colours();
  const range = percentiles(flux, 0.01, 0.99);
  if (!range) return drawNothing(context, width, height);
  const x = linear([0, flux.length - 1], [2, width - 2]);
  const y = linear(range[0] < range[1] ? range : [range[0] - 1, range[0] + 1], [height - 6, 6]);
  context.globalAlpha = FAINT;
  drawCurve(context, known, x, y, ink.known, 1.5);
  context.globalAlpha = 1;
  drawCurve(context, flux, x, y, ink.flux, 1);
}

function drawCurve(context, values, x, y, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.beginPath();
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const isAfterGap = i === 0 || !Number.isFinite(values[i - 1]);
    if (isAfterGap) context.moveTo(x(i), y(value));
    else context.lineTo(x(i), y(value));
  });
  context.stroke();
}

function drawNothing(context, width, height) {
  Object.assign(context, { fillStyle: colours().faint, font: "11px system-ui, sans-serif", textAlign: "center" });
  context.fillText("no good pixels", width / 2, height / 2);
}
