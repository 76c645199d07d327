// The legend: each entry begins with a sample drawn as the curve itself is.

import { drawHatch } from "./curves.js";
import { colours, sharp } from "./sharp_canvas.js";
import { element } from "./text.js";

export const KEY = { width: 24, height: 12 }; // CSS pixels of a sample

/** What is in a drawing: [{kind, words}], kinds as `drawKey` knows them. */
export function entriesOf({ spectrum, sigma, showOverlay, showErrors, showResidual, overlay }) {
  const hasErrors = spectrum.has_errors;
  return [
    { kind: "flux", words: sigma > 0 ? `flux, σ ${sigma} px` : "flux" },
    ...(sigma > 0 ? [{ kind: "raw", words: "raw flux" }] : []),
    ...(showErrors ? [{ kind: hasErrors ? "error" : "none", words: hasErrors ? "± 1σ" : "no errors in the file" }] : []),
    ...(showOverlay ? [{ kind: overlay.flux ? "overlay" : "none", words: overlay.words }] : []),
    ...(showOverlay && overlay.note ? [{ kind: "none", words: overlay.note }] : []),
    ...(showResidual && overlay.flux ? [{ kind: "residual", words: "residual" }] : []),
    ...(spectrum.n_bad ? [{ kind: "masked", words: "masked" }] : []),
  ];
}

/** A sample of a curve in the box from (left, top). */
export function drawKey(context, kind, ink, left = 0, top = 0) {
  const middle = top + KEY.height / 2, right = left + KEY.width;
  if (kind === "error") {
    context.fillStyle = ink["error-band"];
    context.fillRect(left, top, KEY.width, KEY.height);
  } else if (kind === "masked") {
    context.save();
    context.beginPath();
    context.rect(left, top, KEY.width, KEY.height);
    context.clip();
    drawHatch(context, ink.masked, [left, top, right, top + KEY.height]);
    context.restore();
  } else if (kind !== "none") drawLine(context, STROKES[kind] ?? STROKES.other, ink[COLOURS[kind] ?? kind], [left, right, middle]);
}

const COLOURS = { overlay: "known" };
const STROKES = {
  flux: { width: 1.5, dashes: [] },
  raw: { width: 0.75, dashes: [] },
  overlay: { width: 1.6, dashes: [7, 3] },
  residual: { width: 1, dashes: [] },
  other: { width: 1.2, dashes: [] },
};

export function strokeOf(kind) {
  return STROKES[kind] ?? STROKES.other;
}

function drawLine(context, { width, dashes }, colour, [left, right, y]) {
  context.save();
  Object.assign(context, { strokeStyle: colour, lineWidth: width });
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(left, y);
  context.lineTo(right, y);
  context.stroke();
  context.restore();
}

export class Legend {
  #place;
  #samples = new Map(); // kind -> canvas

  constructor(place) {
    this.#place = place;
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** To be drawn when everything has its place on the page. */
  show(entries) {
    this.#place.replaceChildren(...entries.map((entry) => element("span", this.#parts(entry), `key-${entry.kind}`)));
  }

  /** A sample to be put elsewhere on the page. */
  sample(kind) {
    if (!this.#samples.has(kind)) {
      const canvas = element("canvas", "", "key");
      canvas.setAttribute("aria-hidden", "true");
      this.#samples.set(kind, canvas);
    }
    return this.#samples.get(kind);
  }

  #parts({ kind, words }) {
    return kind === "none" ? [words] : [this.sample(kind), ` ${words}`];
  }

  draw() {
    const ink = colours();
    for (const [kind, canvas] of this.#samples) if (canvas.clientWidth) drawKey(sharp(canvas).context, kind, ink);
  }
}
