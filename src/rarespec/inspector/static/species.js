// The choice of species whose lines and bands are marked.

import { byId, element } from "./text.js";

export class SpeciesChoice {
  #boxes = new Map(); // name -> checkbox
  #settings;
  #onChange;

  constructor({ species, presets }, settings, onChange) {
    this.#settings = settings;
    this.#onChange = onChange;
    for (const { name, own } of species) {
      const box = Object.assign(document.createElement("input"), { type: "checkbox" });
      box.addEventListener("change", () => this.#changed(() => settings.showSpecies(name, box.checked)));
      this.#boxes.set(name, box);
      byId("species-choices").append(element("label", [box, own ? `${name} (your list)` : name]));
    }
    const own = species.filter((one) => one.own).map(({ name }) => name);
    for (const preset of presets) this.#addPreset(preset.name, () => [...preset.species, ...own]);
    byId("species-known").addEventListener("click", () => this.#choose(null));
    byId("species-all").addEventListener("click", () => this.#choose([...this.#boxes.keys()]));
    byId("species-none").addEventListener("click", () => this.#choose([]));
    this.#showChosen();
  }

  show() {
    byId("species").showModal();
  }

  #addPreset(name, species) {
    const button = Object.assign(element("button", name), { type: "button" });
    button.addEventListener("click", () => this.#choose(species()));
    byId("species-presets").append(button);
  }

  #choose(names) {
    this.#changed(() => this.#settings.chooseSpecies(names));
  }

  #changed(change) {
    change();
    this.#showChosen();
    this.#onChange();
  }

  #showChosen() {
    for (const [name, box] of this.#boxes) box.checked = this.#settings.isShown(name);
  }
}
