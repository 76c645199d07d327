// How spectra are drawn, as this person last chose it.

import { SIGMAS } from "./smoothing.js";
import { storage } from "./storage.js";

const KEY = "rarespec settings";
const DEFAULTS = { smoothing: 2, known: true, errors: true, contribution: true, lines: true, hiddenSpecies: [] };

export class Settings {
  constructor() {
    Object.assign(this, DEFAULTS, stored());
    if (!(this.smoothing in SIGMAS)) this.smoothing = DEFAULTS.smoothing;
    if (!Array.isArray(this.hiddenSpecies)) this.hiddenSpecies = [];
  }

  get sigma() {
    return SIGMAS[this.smoothing];
  }

  smooth(steps) {
    this.smoothing = Math.max(0, Math.min(this.smoothing + steps, SIGMAS.length - 1));
    this.#store();
  }

  toggle(name) {
    this[name] = !this[name];
    this.#store();
  }

  isShown(species) {
    return !this.hiddenSpecies.includes(species);
  }

  showSpecies(species, isShown) {
    const others = this.hiddenSpecies.filter((one) => one !== species);
    this.hiddenSpecies = isShown ? others : [...others, species];
    this.#store();
  }

  #store() {
    const chosen = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, this[name]]));
    storage.set(KEY, JSON.stringify(chosen));
  }
}

function stored() {
  try {
    return JSON.parse(storage.get(KEY)) ?? {};
  } catch {
    return {};
  }
}
