// What each wavelength adds to the score: upwards what speaks for the candidate, downwards what speaks against it.

import { shown } from "./curves.js";
import { percentiles } from "./scale.js";

const SPREAD = 2; // columns on each side
const ROOM = 30; // CSS pixels by which the names of lines may be wider than their band

/** frame : that of the spectrum, with `top` and `bottom` of the strip */
export function drawContribution(frame, spectrum) {
  const { context, left, right, top, bottom, colours } = frame;
  const middle = (top + bottom) / 2;
  if (spectrum.why_no_contribution) return drawWords(frame, spectrum.why_no_contribution, middle);
  const columns = overNeighbours(columnMeans(frame, spectrum.contribution));
  const largest = percentiles(columns.map(Math.abs), 0, 0.995)?.[1] || 1;
  columns.forEach((value, i) => drawBar(frame, left + i, value / largest, middle));
  context.strokeStyle = colours.faint;
  context.strokeRect(left, middle, right - left, 0);
  for (const band of spectrum.bands) drawShare(frame, band);
}

function drawBar({ context, top, bottom, colours }, place, share, middle) {
  if (!Number.isFinite(share)) return;
  const height = Math.min(1, Math.abs(share)) * ((bottom - top) / 2 - 1);
  context.fillStyle = share > 0 ? colours.for : colours.against;
  context.fillRect(place, share > 0 ? middle - height : middle, 1, height);
}

/** The share of a band at the end of its side, and the lines in it where they have room. */
function drawShare({ context, x, left, right, top, bottom, colours }, { first, last, names, share, contribution }) {
  const place = x((first + last) / 2);
  if (place < left + 16 || place > right - 16) return;
  const amount = `${contribution > 0 ? "+" : "−"}${Math.round(100 * share)} %`, y = contribution > 0 ? top + 10 : bottom - 4;
  Object.assign(context, { font: "600 10px system-ui, sans-serif", textAlign: "center", fillStyle: colours.ink });
  const named = [amount, ...names].join(" "), hasRoom = context.measureText(named).width < x(last) - x(first) + ROOM;
  const words = hasRoom ? named : amount;
  Object.assign(context, { strokeStyle: colours.surface, lineWidth: 4, lineJoin: "round" });
  context.strokeText(words, place, y);
  context.fillText(words, place, y);
  context.lineWidth = 1;
}

function drawWords({ context, left, right, colours }, words, middle) {
  Object.assign(context, { font: "12px system-ui, sans-serif", textAlign: "left", fillStyle: colours.faint });
  context.fillText(words, left + 6, middle + 4, right - left - 12);
}

/** Mean of the contributions in each column of the screen; NaN where no pixel is. */
function columnMeans(frame, contribution) {
  const { x, left, right, wavelength } = frame;
  const sums = new Float64Array(Math.max(0, Math.floor(right - left))), counts = new Float64Array(sums.length);
  const [from, to] = shown(frame);
  for (let i = from; i < to; i++) {
    const start = Math.round(x(wavelength[i]) - left);
    const end = i + 1 < wavelength.length ? Math.round(x(wavelength[i + 1]) - left) : start + 1;
    for (let column = start; column < Math.max(end, start + 1); column++) {
      if (!(column in sums) || !Number.isFinite(contribution[i])) continue;
      sums[column] += contribution[i];
      counts[column] += 1;
    }
  }
  return sums.map((sum, i) => sum / counts[i]);
}

/** Means over a few columns, without which noise hides the features; zooming in brings out single pixels. */
function overNeighbours(columns) {
  return columns.map((_, i) => {
    const near = columns.subarray(Math.max(0, i - SPREAD), i + SPREAD + 1).filter(Number.isFinite);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}
