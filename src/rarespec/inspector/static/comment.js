// The comment on the candidate that is shown. Without a label it waits here, and is saved with the label.

import { byId } from "./text.js";

export class Comment {
  #inspection;
  #field = byId("comment");
  #id = null;

  constructor(inspection) {
    this.#inspection = inspection;
    byId("comment-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#field.blur(); // saves it
    });
    this.#field.addEventListener("blur", () => this.#save());
    this.#field.addEventListener("keydown", (event) => event.key === "Escape" && this.#leave());
  }

  focus() {
    this.#field.focus();
    this.#field.select();
  }

  /** What is being typed is never overwritten. */
  show(candidate) {
    if (document.activeElement === this.#field && candidate.id === this.#id) return;
    this.#id = candidate.id;
    const draft = this.#inspection.draftOf(candidate.id);
    this.#field.value = draft ?? candidate.comment ?? "";
    byId("comment-state").textContent = draft === null ? "" : "not saved yet; saved with your label";
  }

  #save() {
    if (this.#inspection.selected?.id === this.#id) this.#inspection.comment(this.#field.value.trim());
  }

  #leave() {
    const { selected } = this.#inspection;
    this.#field.value = (selected && (this.#inspection.draftOf(selected.id) ?? selected.comment)) ?? "";
    this.#field.blur();
  }
}
