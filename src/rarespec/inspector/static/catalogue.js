// The catalogue row of a candidate: any number of columns, those with a star first, found by name or value.

import { written } from "./scale.js";
import { storage } from "./storage.js";
import { byId, element } from "./text.js";

const KEY = "rarespec favourite columns";
/** What the ranking says stands above, in words. */
const OF_THE_RANKING = new Set(["rank", "score", "chance", "nearest_known", "flags"]);
const DIGITS = 7;

export class CataloguePanel {
  #units;
  #favourites = storedFavourites();
  #rows = new Map(); // name of a column -> {term, value, star}
  #facts = {};
  #panel = byId("catalogue");
  #search = byId("catalogue-search");

  /** units : column -> unit, for those that are known */
  constructor(units) {
    this.#units = new Map(Object.entries(units ?? {}));
    this.#search.addEventListener("input", () => this.#filter());
    this.#search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      event.preventDefault(); // Escape would empty the field
      this.#search.blur();
    });
    this.#panel.addEventListener("toggle", () => this.#fill());
  }

  focusSearch() {
    this.#panel.open = true;
    this.#search.focus();
    this.#search.select();
  }

  show(facts) {
    this.#facts = Object.fromEntries(Object.entries(facts).filter(([name]) => !OF_THE_RANKING.has(name)));
    this.#fill();
  }

  /** The same columns as before only get other values: with 450 of them, this is what a key press waits for. */
  #fill() {
    if (!this.#panel.open) return;
    const names = Object.keys(this.#facts);
    const isSame = names.length === this.#rows.size && names.every((name) => this.#rows.has(name));
    if (!isSame) this.#makeRows(names);
    for (const [name, value] of Object.entries(this.#facts)) this.#rows.get(name).value.replaceChildren(...this.#written(name, value));
    this.#filter();
  }

  #makeRows(names) {
    this.#rows = new Map(names.map((name) => [name, this.#row(name)]));
    this.#arrange();
  }

  #row(name) {
    const star = element("button", "", "star");
    star.addEventListener("click", () => this.#toggleFavourite(name));
    const row = { star, term: element("dt", [star, element("span", name)]), value: element("dd") };
    this.#showStar(name, row);
    return row;
  }

  #showStar(name, { star }) {
    const isFavourite = this.#favourites.has(name);
    star.textContent = isFavourite ? "★" : "☆";
    star.setAttribute("aria-pressed", String(isFavourite));
    star.setAttribute("aria-label", `Favourite: ${name}`);
    star.title = isFavourite ? "Remove from the favourites" : "Add to the favourites, which come first";
  }

  #toggleFavourite(name) {
    if (!this.#favourites.delete(name)) this.#favourites.add(name);
    storage.set(KEY, JSON.stringify([...this.#favourites]));
    this.#showStar(name, this.#rows.get(name));
    this.#arrange();
    this.#rows.get(name).star.focus();
  }

  /** Favourites first, in the order in which they were chosen; then the columns as the survey has them. */
  #arrange() {
    const favourites = [...this.#favourites].filter((name) => this.#rows.has(name));
    const others = [...this.#rows.keys()].filter((name) => !this.#favourites.has(name));
    const rows = [...favourites, ...others].map((name) => this.#rows.get(name));
    byId("object-catalogue").replaceChildren(...rows.flatMap(({ term, value }) => [term, value]));
  }

  #filter() {
    const words = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const [name, { term, value }] of this.#rows) {
      const text = `${name} ${value.textContent}`.toLowerCase();
      const isShown = words.every((word) => text.includes(word));
      term.hidden = value.hidden = !isShown;
      n += isShown;
    }
    byId("catalogue-count").textContent = words.length ? `${n} of ${this.#rows.size} columns` : `${this.#rows.size} columns`;
    byId("catalogue-none").hidden = n > 0;
  }

  #written(name, value) {
    const text = plain(value);
    const unit = text !== "–" && this.#units.get(name);
    return unit ? [text, " ", element("span", unit, "unit")] : [text];
  }
}

function plain(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? String(value).replace("-", "−") : written(value, DIGITS);
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function storedFavourites() {
  try {
    const stored = JSON.parse(storage.get(KEY));
    return new Set(Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : []);
  } catch {
    return new Set();
  }
}
