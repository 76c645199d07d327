// The sky around the candidate, if pictures were asked for: scale, orientation and the place of the object drawn on it.

import * as api from "./api.js";
import { onLookChange, sharp } from "./sharp_canvas.js";
import { byId } from "./text.js";

const PAUSE = 250; // ms: who leafs through the list asks for no pictures
const RETRY = 60_000; // ms, after which a picture that did not come is asked for again
const INK = "#ffffff", SHADOW = "#000000"; // on a photograph, in light and dark alike

export class SkyCutout {
  #settings; // {credit, size}; null when nothing is fetched
  #canvas = byId("cutout-picture");
  #id = null;
  #picture = null;
  #timer = null;

  constructor(settings) {
    this.#settings = settings ?? null;
    byId("cutout").hidden = !this.#settings;
    if (this.#settings) onLookChange(this.#canvas, () => this.#draw());
  }

  show({ id }, isVisible) {
    if (!this.#settings || !isVisible || id === this.#id) return;
    this.#id = id;
    this.#set(null, "Loading the picture …");
    this.#askAfter(PAUSE);
  }

  #askAfter(wait) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(this.#id), wait);
  }

  async #ask(id) {
    const { blob, why } = await api.cutout(id).catch((error) => ({ why: error.message }));
    const picture = blob ? await createImageBitmap(blob).catch(() => null) : null;
    if (id !== this.#id) return picture?.close();
    this.#set(picture, why ?? "This picture cannot be drawn.");
    if (!picture) this.#askAfter(RETRY);
  }

  /** A picture, or a sentence in its place. */
  #set(picture, words) {
    const { credit, size } = this.#settings;
    this.#picture?.close();
    this.#picture = picture;
    byId("cutout-note").hidden = Boolean(picture);
    byId("cutout-note").textContent = picture ? "" : words;
    byId("cutout-words").textContent = `${size}″ across, N up, E left; ${credit}`;
    const described = `Sky around ${this.#id}, ${size} arcseconds across, north up, east left`;
    this.#canvas.setAttribute("aria-label", picture ? described : words);
    byId("cutout").dataset.shown = picture ? this.#id : "";
    this.#draw();
  }

  #draw() {
    if (!this.#canvas.clientWidth) return;
    const { context, width, height } = sharp(this.#canvas);
    if (!this.#picture) return;
    context.drawImage(this.#picture, 0, 0, width, height);
    for (const [ink, thickness] of [[SHADOW, 3], [INK, 1.2]]) {
      Object.assign(context, { strokeStyle: ink, lineWidth: thickness });
      drawCrosshair(context, width / 2, height / 2, width);
      drawScale(context, width, height, this.#settings.size);
      drawCompass(context, width);
    }
    this.#write(context, width, height);
  }

  #write(context, width, height) {
    Object.assign(context, { font: "bold 11px system-ui, sans-serif", textAlign: "center", lineWidth: 3, lineJoin: "round" });
    const words = [[`${barOf(this.#settings.size)}″`, 8 + barWidth(width, this.#settings.size) / 2, height - 16],
      ["N", width - 14, 12], ["E", width - 42, 40]];
    for (const [text, x, y] of words) {
      Object.assign(context, { strokeStyle: SHADOW, fillStyle: INK });
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
  }
}

/** Open in the middle, so that it does not cover the object. */
function drawCrosshair(context, x, y, width) {
  const inner = 0.04 * width, outer = 0.1 * width;
  lines(context, [[x + inner, y, x + outer, y], [x, y + inner, x, y + outer], [x - outer, y, x - inner, y], [x, y - outer, x, y - inner]]);
}

function drawScale(context, width, height, size) {
  lines(context, [[8, height - 10, 8 + barWidth(width, size), height - 10]]);
}

function drawCompass(context, width) {
  lines(context, [[width - 14, 36, width - 14, 16], [width - 14, 36, width - 36, 36]]);
}

function lines(context, ends) {
  context.beginPath();
  for (const [x1, y1, x2, y2] of ends) {
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
  }
  context.stroke();
}

/** Arcseconds of the bar: a round number, about a quarter of the picture. */
function barOf(size) {
  const power = 10 ** Math.floor(Math.log10(size / 4));
  return [5, 2, 1].find((factor) => factor * power <= size / 4) * power;
}

function barWidth(width, size) {
  return (width * barOf(size)) / size;
}
