// Which part of a spectrum is shown.

const CLOSEST = 20; // Angstrom

export class Zoom {
  #full = [0, 1];
  #wavelengths = null;
  #fluxes = null;

  setFull(first, last) {
    this.#full = [first, last];
  }

  /** [first, last] in Angstrom. */
  get wavelengths() {
    return this.#wavelengths ?? this.#full;
  }

  /** [lowest, highest] chosen by hand; null while the flux fits itself to what is shown. */
  get fluxes() {
    return this.#fluxes;
  }

  get isWhole() {
    return this.#wavelengths === null && this.#fluxes === null;
  }

  reset() {
    this.#wavelengths = this.#fluxes = null;
  }

  fitFlux() {
    this.#fluxes = null;
  }

  /** Below 1 closer, above 1 further away; the wavelength `about` stays where it is. */
  scaleWavelengths(factor, about = middle(this.wavelengths)) {
    this.showWavelengths(...scaled(this.wavelengths, factor, about));
  }

  scaleFluxes(factor, about, shown) {
    this.#fluxes = scaled(shown, factor, about);
  }

  moveFluxes(by, shown) {
    this.#fluxes = shown.map((value) => value + by);
  }

  /** By a share of what is shown; stops at the ends. */
  move(share) {
    const [first, last] = this.wavelengths;
    const width = last - first;
    const start = clamp(first + share * width, this.#full[0], this.#full[1] - width);
    this.showWavelengths(start, start + width);
  }

  showWavelengths(first, last) {
    const [start, end] = this.#full;
    const tooClose = Math.max(0, CLOSEST - (last - first)) / 2;
    const range = [Math.max(start, first - tooClose), Math.min(end, last + tooClose)];
    this.#wavelengths = range[0] <= start && range[1] >= end ? null : range;
  }
}

function scaled(range, factor, about) {
  return range.map((end) => about + (end - about) * factor);
}

function middle([first, last]) {
  return (first + last) / 2;
}

function clamp(value, low, high) {
  return Math.max(low, Math.min(value, high));
}
