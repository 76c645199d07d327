// The choice of species whose lines and bands are marked.

import { byId, element } from "./text.js";

export class SpeciesChoice {
  #boxes = new Map(); // name -> checkbox

  constructor(species, settings, onChange) {
    for (const { name, own } of species) {
      const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: settings.isShown(name) });
      box.addEventListener("change", () => {
        settings.showSpecies(name, box.checked);
        onChange();
      });
      this.#boxes.set(name, box);
      byId("species-choices").append(element("label", [box, own ? `${name} (your list)` : name]));
    }
    byId("species-all").addEventListener("click", () => this.#setAll(true));
    byId("species-none").addEventListener("click", () => this.#setAll(false));
  }

  show() {
    byId("species").showModal();
  }

  #setAll(isShown) {
    for (const box of this.#boxes.values()) if (box.checked !== isShown) box.click();
  }
}
