// The redshift at which lines are drawn: the catalogue's, or one tried by hand, which is never stored.

import { byId } from "./text.js";

export class RedshiftField {
  #field = byId("redshift");
  #candidate = null;
  #byHand = null;
  #isRestFrame;

  constructor(isRestFrame, onChange) {
    this.#isRestFrame = isRestFrame;
    this.#field.addEventListener("input", () => {
      this.#byHand = this.#read();
      onChange();
    });
    this.#field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") this.#field.blur();
    });
    this.#field.addEventListener("blur", () => this.#write());
  }

  /** A redshift by hand belongs to one candidate only. */
  show(candidate) {
    if (candidate.id === this.#candidate?.id) return;
    this.#candidate = candidate;
    this.#byHand = null;
    this.#write();
  }

  /** Of the lines; 0 when nothing is known, or when the spectra are at rest already. */
  get value() {
    return this.#byHand ?? this.#ofTheCatalogue();
  }

  get isByHand() {
    return this.#byHand !== null;
  }

  #ofTheCatalogue() {
    return !this.#isRestFrame && Number.isFinite(this.#candidate?.z) ? this.#candidate.z : 0;
  }

  /** null for an empty field and for what is no redshift. */
  #read() {
    const text = this.#field.value.trim().replace("−", "-").replace(",", ".");
    const value = text === "" ? NaN : Number(text);
    const isWrong = text !== "" && !(value > -1 && value < 1000);
    this.#field.setAttribute("aria-invalid", String(isWrong));
    return isWrong || Number.isNaN(value) ? null : value;
  }

  #write() {
    this.#field.value = String(Number(this.value.toFixed(6)));
    this.#field.setAttribute("aria-invalid", "false");
    this.#field.classList.toggle("by-hand", this.isByHand);
  }
}
