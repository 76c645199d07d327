// The bar above the list: what is shown of it, in which order, and how many that are.

import { LABELS, SIGNS, WORDS } from "./label_marks.js";
import { DISAGREE, EVERYTHING, NONE, SOME, SORTS, flagsOf, is, isFiltered, isSorted, tagsOf } from "./list_choice.js";
import { byId, element } from "./text.js";

const TYPING_PAUSE = 150; // ms
const MOST_OPTIONS = 200; // of values: a menu of more helps nobody, the text field does

export class ListBar {
  #inspection;
  #timer = null;

  constructor(inspection) {
    this.#inspection = inspection;
    fill(byId("sort"), Object.entries(SORTS).map(([name, { words }]) => [name, words]));
    for (const id of ["filter-class", "filter-flag", "filter-label", "filter-tag", "sort"])
      byId(id).addEventListener("change", () => this.#apply());
    for (const id of ["filter-text", "filter-snr"]) this.#listenToField(byId(id));
    byId("sort-direction").addEventListener("click", ({ currentTarget: button }) => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      this.#apply();
    });
  }

  focus() {
    byId("filter-text").focus();
    byId("filter-text").select();
  }

  /** Everything again, as the server lists it. */
  clear() {
    this.#write(EVERYTHING);
    this.#apply();
  }

  /** The order of the server, with the filter as it is. */
  unsort() {
    const { sort, reversed } = EVERYTHING;
    this.#write({ ...this.#read(), sort, reversed });
    this.#apply();
  }

  /** After another list: what can be chosen, and how many there are of each. */
  show() {
    const { all, length, choice } = this.#inspection.candidates;
    const labels = LABELS.map((label) => [is(label), `${SIGNS[label]} ${WORDS[label]}`]);
    fill(byId("filter-class"), [["", "any"], ...counted(all, (one) => [one.class ?? ""])]);
    fill(byId("filter-flag"), [["", "any"], [NONE, "no flag"], [SOME, "some flag"], ...counted(all, flagsOf)]);
    fill(byId("filter-label"), [["", "any"], [NONE, "no label yet"], ...labels, [DISAGREE, "≠ people disagree"]]);
    this.showTags();
    byId("shown-count").textContent = countWords(length, all.length, choice);
    byId("clear-filters").hidden = !isFiltered(choice) && !isSorted(choice);
    byId("clear-filters").parentElement.classList.toggle("partial", isFiltered(choice));
    byId("filters-toggle").textContent = isFiltered(choice) || isSorted(choice) ? "Filters ●" : "Filters";
  }

  /** After a label: its tags can be chosen at once. */
  showTags() {
    const { all, choice } = this.#inspection.candidates, tags = counted(all, tagsOf);
    fill(byId("filter-tag"), [["", "any"], [NONE, "no tag"], [SOME, "some tag"], ...tags]);
    byId("filter-tag-field").hidden = !tags.length && !choice.tag;
  }

  #listenToField(field) {
    field.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#apply(), TYPING_PAUSE);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault(); // Escape would empty the field
      field.blur();
      this.#apply();
    });
  }

  #apply() {
    clearTimeout(this.#timer);
    this.#inspection.choose(this.#read());
  }

  #read() {
    const value = (id) => byId(id).value;
    return {
      text: value("filter-text"), class: value("filter-class"), snr: this.#readSnr(), flag: value("filter-flag"),
      label: value("filter-label"), tag: value("filter-tag"), sort: value("sort"),
      reversed: byId("sort-direction").getAttribute("aria-pressed") === "true",
    };
  }

  /** null for an empty field, and for what is no number, which is marked. */
  #readSnr() {
    const text = byId("filter-snr").value.trim().replace("−", "-").replace(",", ".");
    const value = text === "" ? NaN : Number(text);
    byId("filter-snr").setAttribute("aria-invalid", String(text !== "" && !Number.isFinite(value)));
    return Number.isFinite(value) ? value : null;
  }

  #write({ text, class: kind, snr, flag, label, tag, sort, reversed }) {
    const values = { text, class: kind, snr: snr ?? "", flag, label, tag };
    for (const [name, value] of Object.entries(values)) byId(`filter-${name}`).value = value;
    byId("sort").value = sort;
    byId("sort-direction").setAttribute("aria-pressed", String(reversed));
  }
}

function countWords(n, total, choice) {
  const order = isSorted(choice) ? `, by ${SORTS[choice.sort].words}${choice.reversed ? ", reversed" : ""}` : "";
  return `${n} of ${total} shown${order}`;
}

/** [[choice, "value (n)"], ...], the most frequent first. */
function counted(candidates, valuesOf) {
  const counts = new Map();
  for (const value of candidates.flatMap(valuesOf)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_OPTIONS);
  return sorted.map(([value, n]) => [is(value), `${value || "unknown"} (${n})`]);
}

/** What is chosen stays chosen, also if the list has none of it any more. */
function fill(select, options) {
  const before = select.value;
  const isThere = options.some(([value]) => value === before);
  const lost = before && !isThere ? [[before, `${before.replace(/^is:/, "")} (0)`]] : [];
  select.replaceChildren(...[...options, ...lost].map(([value, words]) => {
    const option = element("option", words);
    option.value = value;
    return option;
  }));
  select.value = before || options[0][0];
}
