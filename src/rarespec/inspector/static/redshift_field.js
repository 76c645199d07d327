// The redshift at which lines and templates are drawn: the catalogue's, or one set by hand, which is kept.

import * as api from "./api.js";
import { byId } from "./text.js";
import { Unsaved } from "./unsaved.js";

const STEP = 1e-4; // 30 km/s
const PAUSE = 400; // ms without a change after which a value is sent
const RETRY = 3000;

export class RedshiftField {
  #field = byId("redshift");
  #coarse = byId("redshift-coarse");
  #fine = byId("redshift-fine");
  #candidate = null;
  #byHand = null;
  #centre = 0; // of the fine slider, ln(1 + z)
  #isRestFrame;
  #stored; // id -> redshift that this person has set
  #unsaved;
  #sending = null; // timer
  #onChange;
  #onFailure;

  constructor(session, onChange, onFailure) {
    this.#isRestFrame = session.rest_frame;
    this.#stored = new Map(Object.entries(session.redshifts));
    this.#unsaved = new Unsaved("redshift", session.survey, session.person);
    this.#onChange = onChange;
    this.#onFailure = onFailure;
    if (this.#unsaved.keys().length) this.#sendSoon();
    this.#listen();
  }

  /** A redshift by hand belongs to one candidate only. */
  show(candidate) {
    if (candidate.id === this.#candidate?.id) return;
    this.#candidate = candidate;
    const kept = this.#unsaved.get(candidate.id) ?? { z: this.#stored.get(candidate.id) ?? null };
    this.#byHand = kept.z === null ? null : (1 + kept.z) / this.#alreadyMoved() - 1;
    this.#write();
  }

  /** Of the lines; 0 when nothing is known, or when the spectra are at rest already. */
  get value() {
    return this.#byHand ?? this.#ofTheCatalogue();
  }

  get isByHand() {
    return this.#byHand !== null;
  }

  /** By so many steps of 30 km/s. */
  nudge(steps) {
    this.#set(Math.exp(Math.log1p(this.value) + steps * STEP) - 1);
    this.#write();
  }

  #listen() {
    this.#field.addEventListener("input", () => this.#onTyped());
    this.#field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") this.#field.blur();
    });
    this.#field.addEventListener("blur", () => this.#write());
    this.#coarse.addEventListener("input", () => this.#onSlid(Number(this.#coarse.value)));
    this.#fine.addEventListener("input", () => this.#onSlid(this.#centre + Number(this.#fine.value)));
    for (const slider of [this.#coarse, this.#fine]) {
      slider.addEventListener("change", () => this.#write());
      slider.addEventListener("pointerup", () => slider.blur()); // keys are again those of the page
    }
  }

  #onTyped() {
    const text = this.#field.value.trim().replace("−", "-").replace(",", ".");
    const value = Number(text), isWrong = text !== "" && !(value > -1 && value < 1000);
    this.#field.setAttribute("aria-invalid", String(isWrong));
    if (!isWrong) this.#set(text === "" ? null : value);
  }

  #onSlid(logarithm) {
    this.#set(Number(Math.expm1(logarithm).toFixed(6)));
    this.#field.value = String(this.#byHand);
    if (document.activeElement !== this.#fine) this.#centreFine();
  }

  /** null returns to the catalogue's. */
  #set(value) {
    this.#byHand = value;
    const z = value === null ? null : (1 + value) * this.#alreadyMoved() - 1;
    this.#unsaved.set(this.#candidate.id, { z });
    this.#sendSoon();
    this.#onChange();
  }

  /** What is kept is the redshift of the object, also where its spectrum has been moved to rest. */
  #alreadyMoved() {
    return this.#isRestFrame && Number.isFinite(this.#candidate.z) ? 1 + this.#candidate.z : 1;
  }

  #ofTheCatalogue() {
    return !this.#isRestFrame && Number.isFinite(this.#candidate?.z) ? this.#candidate.z : 0;
  }

  #write() {
    this.#field.value = String(Number(this.value.toFixed(6)));
    this.#field.setAttribute("aria-invalid", "false");
    this.#field.classList.toggle("by-hand", this.isByHand);
    this.#coarse.value = String(Math.log1p(this.value));
    this.#centreFine();
  }

  #centreFine() {
    this.#centre = Math.log1p(this.value);
    this.#fine.value = "0";
  }

  // -- keeping --

  #sendSoon(pause = PAUSE) {
    clearTimeout(this.#sending);
    this.#sending = setTimeout(() => this.#send(), pause);
  }

  async #send() {
    for (const id of this.#unsaved.keys()) {
      const { z } = this.#unsaved.get(id);
      try {
        await api.setRedshift(id, z);
      } catch (error) {
        this.#onFailure(error);
        if (error instanceof api.ServerGone || error.mayPass) return this.#sendSoon(RETRY);
      }
      this.#stored.set(id, z);
      if (this.#unsaved.get(id)?.z === z) this.#unsaved.delete(id);
    }
  }
}
