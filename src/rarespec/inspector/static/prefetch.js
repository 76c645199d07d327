// Spectra fetched ahead, so that the next one is there before it is asked for.

import * as api from "./api.js";

const MOST_KEPT = 40;

export class Spectra {
  #kept = new Map(); // id -> promise of its spectrum; the first is the one longest unused
  #ready = new Map(); // id -> spectrum
  #outdated = new Map(); // id -> spectrum as an earlier ranking saw it

  /** The spectrum if it is here already; undefined otherwise. */
  now(id) {
    return this.#ready.get(id);
  }

  /** The same spectrum as an earlier ranking saw it, to be shown until the newest comes; undefined when not here. */
  before(id) {
    return this.#outdated.get(id);
  }

  /** A failed fetch is forgotten, so that the next wish for it asks again. */
  get(id) {
    const wanted = this.#kept.get(id) ?? this.#fetched(id);
    this.#kept.delete(id);
    this.#kept.set(id, wanted);
    this.#forgetOldest();
    return wanted;
  }

  /** One after the other, most wanted first, so that they do not hold up the one on the screen. */
  async fetchAhead(ids) {
    for (const id of ids) {
      try {
        await this.get(id);
      } catch {
        return; // told to the user when that spectrum is wanted itself
      }
    }
  }

  /** After a re-rank: contributions and nearest known examples are others now. */
  outdate() {
    this.#outdated = new Map([...this.#outdated, ...this.#ready].slice(-MOST_KEPT));
    this.#kept.clear();
    this.#ready.clear();
  }

  #fetched(id) {
    const wanted = api.spectrum(id);
    wanted.then(
      (spectrum) => this.#kept.get(id) === wanted && this.#ready.set(id, spectrum),
      () => this.#kept.get(id) === wanted && this.#kept.delete(id),
    );
    return wanted;
  }

  #forgetOldest() {
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) return;
      this.#kept.delete(id);
      this.#ready.delete(id);
    }
  }
}
