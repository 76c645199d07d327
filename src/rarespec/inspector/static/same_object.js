// Other spectra of the same object: looked for when they are wanted, listed below the spectrum, and drawn with it.

import * as api from "./api.js";
import { laidOver, loaded } from "./overlays.js";
import { byId, element, number } from "./text.js";

export class SameObject {
  #id = null; // of the spectrum in front
  #answer = null; // of the server, or the words that say why there is none
  #overlays = []; // of the others, in their order
  #last = null; // {spectrum, overlays, curves}
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Curves to draw with this spectrum, Float32Array or null each; asks for them when it has not done so. */
  curves(spectrum, wavelength) {
    if (spectrum.id !== this.#id) this.#look(spectrum.id);
    if (this.#last?.spectrum !== spectrum || this.#last.overlays !== this.#overlays) {
      const curves = this.#overlays.map((one) => (typeof one === "object" ? laidOver(spectrum, wavelength, one) : null));
      this.#last = { spectrum, overlays: this.#overlays, curves };
    }
    return this.#last.curves;
  }

  /** What is found, in words; `key(i)` is a sample of the curve of the i-th. */
  show(isShown, key) {
    const place = byId("same-object");
    place.hidden = !isShown;
    if (isShown) place.replaceChildren(...this.#described(key));
  }

  #described(key) {
    if (this.#answer === null) return ["Looking for other spectra of this object …"];
    if (typeof this.#answer === "string") return [this.#answer];
    const { others, n, note, within } = this.#answer;
    if (note) return [`Cannot look for other spectra of this object: ${note}.`];
    if (!n) return [`No other spectrum of this object in the survey (within ${within}″).`];
    const rows = others.map((one, i) => element("span", [key(i), ` ${wordsOf(one)}`]));
    const more = n > others.length ? [`and ${n - others.length} more`] : [];
    return [element("span", `Same object: ${n} other ${n === 1 ? "spectrum" : "spectra"}`), ...rows, ...more];
  }

  async #look(id) {
    this.#id = id;
    this.#answer = null;
    this.#overlays = [];
    const answer = await answered(id);
    if (this.#id !== id) return;
    this.#answer = answer;
    const overlays = await Promise.all((answer.others ?? []).map((other) => loaded("id", other.id)));
    if (this.#id !== id) return;
    this.#overlays = overlays;
    this.#onChange();
  }
}

async function answered(id) {
  try {
    return await api.sameObject(id);
  } catch (error) {
    return `Cannot look for other spectra of this object: ${error.message}.`;
  }
}

function wordsOf({ id, arcsec, class: kind, snr }) {
  const away = Number.isFinite(arcsec) ? `${number(arcsec, 1)}″` : "same object id";
  const more = [kind, Number.isFinite(snr) ? `S/N ${number(snr, 1)}` : ""].filter(Boolean);
  return `${id} (${[away, ...more].join(", ")})`;
}
