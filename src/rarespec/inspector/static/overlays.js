// What is laid over a spectrum: the nearest known example, any other, or a template; brought to its scale.

import * as api from "./api.js";
import { percentiles } from "./scale.js";
import { byId, element } from "./text.js";

const FAR = 0.01; // redshift from which a known example is no star, and is moved to the redshift of the field
const NEAREST = { kind: "nearest", name: "" };

export class OverlayChoice {
  #choices;
  #at = 0;
  #loaded = new Map(); // "kind name" -> overlay, or the words that say why there is none
  #last = null; // {key, flux}: the curve that was made last
  #isRestFrame;
  #onChange;
  #select = byId("overlay");

  constructor(session, onChange) {
    const known = session.known.map((name) => ({ kind: "id", name }));
    const templates = session.templates.map((name) => ({ kind: "template", name }));
    this.#choices = [NEAREST, ...known, ...templates];
    this.#isRestFrame = session.rest_frame;
    this.#onChange = onChange;
    this.#fillSelect(known.length);
  }

  /** To another choice, in a circle. */
  step(by) {
    this.#choose((this.#at + by + this.#choices.length) % this.#choices.length);
  }

  get isNearest() {
    return this.#at === 0;
  }

  /** {flux, words, note} for this spectrum; flux is null where there is nothing (yet) to draw. */
  of(spectrum, wavelength, redshift) {
    if (this.isNearest) return nearestOf(spectrum);
    const { kind, name } = this.#choices[this.#at];
    const overlay = this.#loaded.get(`${kind} ${name}`);
    const words = kind === "template" ? `template ${name}, simulated` : `known ${name}`;
    if (overlay === undefined) return { flux: null, words: `${words}: loading …`, note: "" };
    if (typeof overlay === "string") return { flux: null, words, note: overlay };
    const stretch = this.#stretch(kind, overlay, redshift);
    const flux = this.#curve(`${spectrum.id} ${kind} ${name} ${stretch}`, spectrum, wavelength, overlay, stretch);
    const moved = stretch === 1 ? "" : ` at z = ${Number(redshift.toFixed(5))}`;
    return { flux, words: words + moved, note: flux ? overlay.note : "cannot be scaled to this spectrum" };
  }

  #stretch(kind, { z }, redshift) {
    if (kind === "template") return 1 + redshift;
    return !this.#isRestFrame && Math.abs(z) > FAR ? (1 + redshift) / (1 + z) : 1;
  }

  #curve(key, spectrum, wavelength, overlay, stretch) {
    if (this.#last?.key !== key) this.#last = { key, flux: laidOver(spectrum, wavelength, overlay, stretch) };
    return this.#last.flux;
  }

  #fillSelect(n) {
    const options = this.#choices.map(({ name }, i) => Object.assign(element("option", name), { value: String(i) }));
    options[0].textContent = "nearest known";
    this.#select.append(options[0], group("known examples", options.slice(1, 1 + n)), group("templates (simulated)", options.slice(1 + n)));
    this.#select.addEventListener("change", () => {
      this.#choose(Number(this.#select.value));
      this.#select.blur(); // keys are again those of the page
    });
  }

  #choose(at) {
    this.#at = at;
    this.#select.value = String(at);
    this.#load(this.#choices[at]);
    this.#onChange();
  }

  async #load({ kind, name }) {
    const key = `${kind} ${name}`;
    if (kind === "nearest" || typeof this.#loaded.get(key) === "object") return;
    this.#loaded.set(key, await loaded(kind, name));
    this.#onChange();
  }
}

/** The overlay, or why there is none. */
export async function loaded(kind, name) {
  try {
    return await api.overlay(kind, name);
  } catch (error) {
    return error.message;
  }
}

function nearestOf({ known, known_id: id, known_note: note }) {
  return { flux: known.some(Number.isFinite) ? known : null, words: id ? `known ${id}` : "no known example to show", note: id ? note : "" };
}

function group(label, options) {
  const made = element("optgroup", options);
  made.label = label;
  return made;
}

/** An overlay at the pixels and on the scale of a spectrum, Float32Array; null when there is nothing to compare. */
export function laidOver(spectrum, wavelength, overlay, stretch = 1) {
  const flux = Float32Array.from(spectrum.flux, (value, i) => (spectrum.ivar[i] > 0 ? value : NaN));
  const moved = interpolated(overlay, wavelength, stretch);
  return onScaleOf(flux, moved, overlay.offset_is_free);
}

/** At these wavelengths, NaN beyond the ends. */
function interpolated({ wavelength: from, flux }, wavelength, stretch) {
  let i = 0;
  return Float32Array.from(wavelength, (observed) => {
    const rest = observed / stretch;
    while (i < from.length - 2 && from[i + 1] < rest) i++;
    if (rest < from[0] - 1e-2 || rest > from[from.length - 1] + 1e-2) return NaN; // float32 rounds the ends
    const share = (rest - from[i]) / (from[i + 1] - from[i]);
    return flux[i] + share * (flux[i + 1] - flux[i]);
  });
}

/** As the server scales the nearest known example: the same median over the pixels that both have. */
function onScaleOf(flux, curve, offsetIsFree) {
  const common = curve.map((value, i) => (Number.isFinite(flux[i]) ? value : NaN));
  const there = flux.map((value, i) => (Number.isFinite(curve[i]) ? value : NaN));
  const [middle] = percentiles(there, 0.5, 0.5) ?? [], [own] = percentiles(common, 0.5, 0.5) ?? [];
  if (!Number.isFinite(middle) || !Number.isFinite(own)) return null;
  if (!offsetIsFree && middle > 0 && own > 0) return curve.map((value) => value * (middle / own));
  const [low, high] = percentiles(there, 0.1, 0.9), [lowest, highest] = percentiles(common, 0.1, 0.9);
  const factor = highest > lowest ? (high - low) / (highest - lowest) : 0;
  return curve.map((value) => middle + (value - own) * factor);
}
