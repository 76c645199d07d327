// A drawing as SVG, made of elements: no text of it can become markup.

import { channelsOf } from "./drawing_record.js";

const SVG = "http://www.w3.org/2000/svg";
const ANCHORS = { left: "start", center: "middle", right: "end" };
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** The text of the file. */
export function svgFile(operations, width, height, background) {
  const root = made("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const clips = new Clips(root);
  root.append(made("rect", { width, height, fill: background }));
  for (const operation of operations) {
    const drawn = operation.kind === "text" ? textOf(operation) : pathOf(operation);
    if (operation.clips.length) drawn.setAttribute("clip-path", clips.within(operation.clips));
    root.append(drawn);
  }
  return new XMLSerializer().serializeToString(root);
}

/** Each clipping is written once; one inside another refers to it. */
class Clips {
  #names = new Map(); // path -> name
  #root;

  constructor(root) {
    this.#root = root;
  }

  within(paths) {
    return paths.reduce((outer, path) => this.#named(path, outer), "");
  }

  #named(path, outer) {
    if (!this.#names.has(path)) {
      const name = `within-${this.#names.size}`;
      const clip = made("clipPath", { id: name, ...(outer ? { "clip-path": outer } : {}) });
      clip.append(made("path", { d: written(path) }));
      this.#root.append(clip);
      this.#names.set(path, name);
    }
    return `url(#${this.#names.get(path)})`;
  }
}

function pathOf({ path, stroke, fill, width, dashes, join, alpha }) {
  const lines = dashes.length ? { "stroke-dasharray": dashes.join(" ") } : {};
  return made("path", { d: written(path), ...painted({ stroke, fill, width, alpha }), "stroke-linejoin": join, ...lines });
}

function textOf({ text, x, y, angle, size, isBold, align, stroke, fill, width, alpha }) {
  const turned = angle ? { transform: `rotate(${round((angle * 180) / Math.PI)} ${round(x)} ${round(y)})` } : {};
  const font = { "font-family": "Helvetica, Arial, sans-serif", "font-size": size, ...(isBold ? { "font-weight": 600 } : {}) };
  const place = { x: round(x), y: round(y), "text-anchor": ANCHORS[align] };
  const element = made("text", { ...place, ...font, ...turned, ...painted({ stroke, fill, width, alpha }) });
  element.textContent = text.replace(NOT_XML, "?");
  return element;
}

function painted({ stroke, fill, width, alpha }) {
  const attributes = { fill: "none" };
  if (stroke) Object.assign(attributes, paint("stroke", stroke, alpha), { "stroke-width": width });
  if (fill) Object.assign(attributes, paint("fill", fill, alpha));
  return attributes;
}

function paint(what, colour, alpha) {
  const [red, green, blue, opacity] = channelsOf(colour), share = opacity * alpha;
  const rgb = `rgb(${[red, green, blue].map((value) => Math.round(255 * value)).join(",")})`;
  return { [what]: rgb, ...(share < 1 ? { [`${what}-opacity`]: round(share) } : {}) };
}

function written(path) {
  return path.map(([step, ...at]) => step + at.map(round).join(" ")).join("");
}

const round = (value) => Math.round(100 * value) / 100;

function made(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
