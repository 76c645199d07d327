// Takes down what is drawn, with the methods of a canvas, so that it can be written as vector graphics.

const PROPERTIES = ["strokeStyle", "fillStyle", "lineWidth", "lineJoin", "font", "textAlign", "globalAlpha"];
const START = { strokeStyle: "#000", fillStyle: "#000", lineWidth: 1, lineJoin: "miter", font: "10px sans-serif" };

/**
 * operations: in order, {kind: "path", path, stroke, fill, width, dashes, join, alpha, clips} and {kind: "text", text,
 * x, y, angle, size, isBold, align, stroke, fill, width, alpha, clips}. A path is [["M" or "L", x, y] or ["Z"]];
 * `clips` are paths within all of which it is seen. Places are in CSS pixels of the whole drawing.
 */
export class DrawingRecord {
  operations = [];
  #path = [];
  #dashes = [];
  #clips = [];
  #place = { x: 0, y: 0, angle: 0 };
  #kept = [];
  #ruler = document.createElement("canvas").getContext("2d");

  constructor() {
    Object.assign(this, START, { textAlign: "left", globalAlpha: 1 });
  }

  save() {
    const look = Object.fromEntries(PROPERTIES.map((name) => [name, this[name]]));
    this.#kept.push({ look, dashes: this.#dashes, clips: this.#clips, place: this.#place });
  }

  restore() {
    const { look, dashes, clips, place } = this.#kept.pop();
    Object.assign(this, look);
    [this.#dashes, this.#clips, this.#place] = [dashes, clips, place];
  }

  translate(x, y) {
    const [left, top] = this.#at(x, y);
    this.#place = { ...this.#place, x: left, y: top };
  }

  rotate(angle) {
    this.#place = { ...this.#place, angle: this.#place.angle + angle };
  }

  setLineDash(dashes) {
    this.#dashes = dashes;
  }

  measureText(text) {
    this.#ruler.font = this.font;
    return this.#ruler.measureText(text);
  }

  beginPath() {
    this.#path = [];
  }

  moveTo(x, y) {
    this.#path.push(["M", ...this.#at(x, y)]);
  }

  /** The first point of a path begins it, as on a canvas. */
  lineTo(x, y) {
    this.#path.push([this.#path.length ? "L" : "M", ...this.#at(x, y)]);
  }

  rect(x, y, width, height) {
    this.#path.push(...this.#box(x, y, width, height));
  }

  clip() {
    this.#clips = [...this.#clips, this.#path];
  }

  stroke() {
    this.#draw(this.#path, { stroke: this.strokeStyle });
  }

  fill() {
    this.#draw(this.#path, { fill: this.fillStyle });
  }

  fillRect(x, y, width, height) {
    this.#draw(this.#box(x, y, width, height), { fill: this.fillStyle });
  }

  /** Without width or height it is a line. */
  strokeRect(x, y, width, height) {
    const isLine = !width || !height;
    const line = [["M", ...this.#at(x, y)], ["L", ...this.#at(x + width, y + height)]];
    this.#draw(isLine ? line : this.#box(x, y, width, height), { stroke: this.strokeStyle });
  }

  fillText(text, x, y) {
    this.#write(text, x, y, { fill: this.fillStyle });
  }

  strokeText(text, x, y) {
    this.#write(text, x, y, { stroke: this.strokeStyle });
  }

  #draw(path, paint) {
    const look = { width: this.lineWidth, dashes: this.#dashes, join: this.lineJoin, alpha: this.globalAlpha };
    if (path.length) this.operations.push({ kind: "path", path, ...paint, ...look, clips: this.#clips });
  }

  #write(text, left, top, paint) {
    const [x, y] = this.#at(left, top), [, size] = this.font.match(/([\d.]+)px/);
    const look = { size: Number(size), isBold: /^(600|700|bold)/.test(this.font), align: this.textAlign };
    const more = { angle: this.#place.angle, width: this.lineWidth, alpha: this.globalAlpha, clips: this.#clips };
    this.operations.push({ kind: "text", text: String(text), x, y, ...look, ...paint, ...more });
  }

  #box(x, y, width, height) {
    const corners = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]];
    return [...corners.map((corner, i) => [i ? "L" : "M", ...this.#at(...corner)]), ["Z"]];
  }

  #at(x, y) {
    const { x: left, y: top, angle } = this.#place, cos = Math.cos(angle), sin = Math.sin(angle);
    return [left + x * cos - y * sin, top + x * sin + y * cos];
  }
}

/** [red, green, blue, opacity], each from 0 to 1, of a colour of the style sheet. */
export function channelsOf(colour) {
  const hex = colour.match(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i)?.[1];
  if (hex) return [...hexPairs(hex).map((pair) => parseInt(pair, 16) / 255), 1];
  const [red, green, blue, opacity = "1"] = colour.match(/[\d.]+%?/g);
  const share = opacity.endsWith("%") ? parseFloat(opacity) / 100 : Number(opacity);
  return [...[red, green, blue].map((value) => Number(value) / 255), share];
}

function hexPairs(hex) {
  return hex.length === 3 ? [...hex].map((digit) => digit + digit) : hex.match(/../g);
}
