// Smoothing with a Gaussian, each pixel weighted by its inverse variance.

export const SIGMAS = [0, 1, 2, 3, 5, 8, 13, 21]; // pixels
const REACH = 3; // sigmas

/**
 * {flux, sigma}: Float32Array each, NaN where no pixel with weight is near. A sigma of 0 leaves the flux as it is and
 * takes out the pixels without weight.
 */
export function smoothed(flux, weight, sigma) {
  const out = { flux: new Float32Array(flux.length), sigma: new Float32Array(flux.length) };
  const kernel = gaussian(sigma);
  for (let i = 0; i < flux.length; i++) smoothOne(flux, weight, kernel, i, out);
  return out;
}

function smoothOne(flux, weight, kernel, i, out) {
  const reach = kernel.length - 1;
  let sum = 0, weights = 0, squares = 0;
  const last = Math.min(flux.length - 1, i + reach);
  for (let j = Math.max(0, i - reach); j <= last; j++) {
    if (!(weight[j] > 0)) continue;
    const share = kernel[Math.abs(j - i)];
    sum += share * weight[j] * flux[j];
    weights += share * weight[j];
    squares += share * share * weight[j];
  }
  out.flux[i] = sum / weights; // NaN for 0 / 0
  out.sigma[i] = Math.sqrt(squares) / weights;
}

/** Its half, from the middle outwards. */
function gaussian(sigma) {
  const reach = Math.ceil(REACH * sigma);
  return Float64Array.from({ length: reach + 1 }, (_, i) => (sigma ? Math.exp(-0.5 * (i / sigma) ** 2) : 1));
}
