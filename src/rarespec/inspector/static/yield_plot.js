// The small yield curve: how many are expected down to each rank, and where this candidate stands.

import { linear, ticks } from "./scale.js";
import { colours, onLookChange, sharp } from "./sharp_canvas.js";
import { byId, number } from "./text.js";

const MARGIN = { left: 30, right: 8, top: 8, bottom: 18 };

export class YieldPlot {
  #canvas = byId("yield");
  #curve = null;
  #rank = null;
  #isDue = false;

  constructor() {
    onLookChange(this.#canvas, () => this.#draw());
  }

  setCurve(curve) {
    this.#curve = curve;
    this.show(this.#rank);
  }

  /** Marks the place of a candidate; rank null for one that the ranking does not rank any more. */
  show(rank) {
    this.#rank = rank;
    this.#canvas.parentElement.hidden = !this.#curve?.can_tell;
    const words = this.#words();
    byId("yield-words").textContent = words;
    this.#canvas.setAttribute("aria-label", `Yield curve. ${words}`);
    this.#drawSoon();
  }

  /** With the next frame, so that a key press does not wait for it. */
  #drawSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #words() {
    if (!this.#curve) return "";
    if (!this.#curve.can_tell) return this.#curve.why;
    if (!this.#rank) return "Already labelled; the curve is for the candidates that are left.";
    const { k, expected, low, high, stopping_rank: stop } = this.#curve, i = nearest(k, this.#rank);
    const range = `${number(low[i], 0)} to ${number(high[i], 0)}`;
    const here = `Down to rank ${this.#rank}: ${number(expected[i], 1)} expected (${range}).`;
    if (stop === null) return here;
    if (this.#rank <= stop) return `${here} Stop at rank ${stop}.`;
    return `${here} Beyond rank ${stop}, expect fewer than one in ten.`;
  }

  #draw() {
    if (!this.#curve?.can_tell || !this.#canvas.clientWidth) return;
    const { k, expected, low, high, stopping_rank: stop } = this.#curve;
    const { context, width, height } = sharp(this.#canvas), ink = colours();
    const x = linear([Math.log(1), Math.log(Math.max(2, k[k.length - 1]))], [MARGIN.left, width - MARGIN.right]);
    const y = linear([0, Math.max(1, ...high)], [height - MARGIN.bottom, MARGIN.top]);
    const at = (rank) => x(Math.log(rank));
    drawAxes(context, ink, at, y, k[k.length - 1], Math.max(1, ...high), height - MARGIN.bottom, width);
    drawBetween(context, ink["error-band"], k, low, high, at, y);
    drawLine(context, ink.flux, k, expected, at, y);
    if (stop > 0) drawStop(context, ink.faint, at(stop), y);
    if (!this.#rank) return;
    const i = nearest(k, this.#rank);
    drawPlace(context, ink.accent, at(k[i]), y, expected[i]);
  }
}

function drawAxes(context, ink, at, y, deepest, most, bottom, edge) {
  Object.assign(context, { font: "10px system-ui, sans-serif", fillStyle: ink.faint, strokeStyle: ink.rule });
  context.textAlign = "right";
  for (const tick of ticks(0, most, 3)) {
    context.strokeRect(at(1), y(tick), at(deepest) - at(1), 0);
    if (tick) context.fillText(String(tick), at(1) - 4, y(tick) + 3);
  }
  context.textAlign = "center";
  for (let rank = 1; rank <= deepest; rank *= 10) {
    const halfWidth = context.measureText(String(rank)).width / 2; // the last one must not be cut off
    context.fillText(String(rank), Math.min(at(rank), edge - halfWidth), bottom + 12);
  }
}

function drawBetween(context, colour, k, low, high, at, y) {
  context.fillStyle = colour;
  context.beginPath();
  k.forEach((rank, i) => context.lineTo(at(rank), y(high[i])));
  [...k].reverse().forEach((rank, i) => context.lineTo(at(rank), y(low[k.length - 1 - i])));
  context.fill();
}

function drawLine(context, colour, k, values, at, y) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  k.forEach((rank, i) => context.lineTo(at(rank), y(values[i])));
  context.stroke();
}

function drawStop(context, colour, place, y) {
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 1, textAlign: "right" });
  context.setLineDash([3, 3]);
  context.strokeRect(place, MARGIN.top, 0, y(0) - MARGIN.top);
  context.setLineDash([]);
  context.fillText("stop", place - 4, MARGIN.top + 8);
}

function drawPlace(context, colour, place, y, expected) {
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 1.5 });
  context.strokeRect(place, MARGIN.top, 0, y(0) - MARGIN.top);
  context.beginPath();
  context.arc(place, y(expected), 4.5, 0, 2 * Math.PI);
  context.fill();
}

function nearest(depths, rank) {
  const after = depths.findIndex((depth) => depth >= rank);
  if (after < 0) return depths.length - 1;
  return after > 0 && rank - depths[after - 1] < depths[after] - rank ? after - 1 : after;
}
