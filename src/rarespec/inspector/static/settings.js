// How spectra are drawn, as this person last chose it.

import { SIGMAS } from "./smoothing.js";
import { storage } from "./storage.js";

const KEY = "rarespec settings";
const TOGGLES = { known: true, errors: true, contribution: true, lines: true, residual: false, same: false };
const DEFAULTS = { smoothing: 2, ...TOGGLES };

export class Settings {
  #speciesKey;
  #byDefault;
  #chosen; // names of species that this person chose for this survey; null: those that the known examples show

  constructor(session) {
    Object.assign(this, DEFAULTS, stored(KEY) ?? {});
    if (!(this.smoothing in SIGMAS)) this.smoothing = DEFAULTS.smoothing;
    this.#speciesKey = `rarespec species ${session.survey}`;
    this.#byDefault = speciesByDefault(session);
    const chosen = stored(this.#speciesKey);
    this.#chosen = Array.isArray(chosen) ? chosen : null;
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
    return (this.#chosen ?? this.#byDefault).includes(species);
  }

  showSpecies(species, isShown) {
    const others = (this.#chosen ?? this.#byDefault).filter((one) => one !== species);
    this.chooseSpecies(isShown ? [...others, species] : others);
  }

  /** Only these; null for those that the known examples show. */
  chooseSpecies(names) {
    this.#chosen = names;
    storage.set(this.#speciesKey, JSON.stringify(names));
  }

  #store() {
    const chosen = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, this[name]]));
    storage.set(KEY, JSON.stringify(chosen));
  }
}

/** What the known examples show, and the person's own lines; everything where the ranking cannot tell. */
function speciesByDefault({ species, telling_species: telling }) {
  return species.filter(({ name, own }) => own || !telling.length || telling.includes(name)).map(({ name }) => name);
}

function stored(key) {
  try {
    return JSON.parse(storage.get(key));
  } catch {
    return null;
  }
}
