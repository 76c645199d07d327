// Between which fluxes a spectrum is drawn: single extreme pixels are often bad, but lines have to be seen whole.

import { percentiles } from "./scale.js";

const BEYOND = 0.003; // share of the pixels at each end that may be cut off
const UNUSUAL = 0.01; // share of them at each end among which lines are looked for
const REACH = 2; // pixels on each side: what is that wide is a line, and no cosmic ray
const SURE = 2; // standard deviations

/**
 * [lowest, highest] of what is drawn of the pixels [from, to); null when nothing is.
 *
 * drawn : the curve; flux and sigma : the spectrum before smoothing, (p,) each, NaN where it has none
 */
export function fluxRange(drawn, flux, sigma, [from, to]) {
  const range = percentiles(drawn.subarray(from, to), BEYOND, 1 - BEYOND);
  if (!range) return null;
  const [low, high] = percentiles(drawn.subarray(from, to), UNUSUAL, 1 - UNUSUAL);
  for (let i = from; i < to; i++) {
    if (flux[i] >= low && flux[i] <= high) continue; // which most are
    const steady = medianAround(flux, i), sure = SURE * (sigma[i] || 0);
    if (steady - sure > high) range[1] = Math.max(range[1], ...finiteAround(drawn, i));
    if (steady + sure < low) range[0] = Math.min(range[0], ...finiteAround(drawn, i));
  }
  return range;
}

function medianAround(values, i) {
  const near = finiteAround(values, i).sort();
  return near[near.length >> 1]; // undefined, and so neither high nor low, where there is none
}

function finiteAround(values, i) {
  return values.slice(Math.max(0, i - REACH), i + REACH + 1).filter(Number.isFinite);
}
