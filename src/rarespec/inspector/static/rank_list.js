// The list beside the spectrum: rank, label, id, and what matters of each. Only the rows on the screen exist.

import { movedWords, shortMark, wordOf } from "./label_marks.js";
import { peopleMark } from "./people.js";
import { byId, element, number, percent } from "./text.js";

const ROW = 40; // CSS pixels, as in the style sheet

export class RankList {
  #inspection;
  #list = byId("rank-list");
  #rows = element("div", "", "rank-rows");
  #drawn = new Map(); // place in the list -> its row

  constructor(inspection) {
    this.#inspection = inspection;
    this.#list.append(this.#rows);
    this.#list.addEventListener("scroll", () => this.#draw());
    this.#list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-position]");
      if (row) inspection.select(Number(row.dataset.position));
    });
    new ResizeObserver(() => this.#draw()).observe(this.#list);
  }

  /** With the selected one on the screen. */
  select() {
    const top = this.#inspection.position * ROW, { scrollTop, clientHeight } = this.#list;
    this.#rows.style.height = `${this.#inspection.candidates.length * ROW}px`;
    const isVisible = top >= scrollTop + ROW && top + 2 * ROW <= scrollTop + clientHeight;
    if (!isVisible) this.#list.scrollTop = top - clientHeight / 3;
    this.#draw();
  }

  /** After another list: no row is what it was. */
  outdate() {
    this.#drawn.clear();
  }

  /** One candidate has changed. */
  update(id) {
    const { candidates } = this.#inspection, position = candidates.positionOf(id), before = this.#drawn.get(position);
    if (!before) return;
    const row = this.#row(candidates.at(position), position);
    before.replaceWith(row);
    this.#drawn.set(position, row);
  }

  /** Rows that stay on the screen are kept: a key press waits for this. */
  #draw() {
    const { candidates, position } = this.#inspection;
    const first = Math.max(0, Math.floor(this.#list.scrollTop / ROW));
    const last = first + Math.ceil(this.#list.clientHeight / ROW) + 1;
    const visible = candidates.slice(first, last).map((candidate, i) => {
      const place = first + i;
      return [place, this.#drawn.get(place) ?? this.#row(candidate, place)];
    });
    const isSame = visible.length === this.#drawn.size && visible.every(([place, row]) => this.#drawn.get(place) === row);
    this.#drawn = new Map(visible);
    if (!isSame) this.#rows.replaceChildren(...this.#drawn.values());
    if (!candidates.length) this.#rows.replaceChildren(element("p", "Nothing matches the filter.", "nothing"));
    this.#markSelected(position);
  }

  #markSelected(position) {
    for (const [place, row] of this.#drawn) row.setAttribute("aria-selected", String(place === position));
    if (this.#drawn.has(position)) this.#list.setAttribute("aria-activedescendant", `place-${position}`);
    else this.#list.removeAttribute("aria-activedescendant");
  }

  #row(candidate, position) {
    const { class: kind, snr, chance } = candidate;
    const told = [kind || "–", `S/N ${number(snr, 0)}`, percent(chance)].map((part) => element("span", part));
    const row = element("div", [
      element("span", candidate.rank ? String(candidate.rank) : "–", candidate.ranked ? "rank" : "rank past"),
      shortMark(candidate),
      element("span", candidate.id, "name"),
      element("span", (candidate.tags ?? []).join(" "), "tag-words"),
      peopleMark(candidate.id),
      element("span", candidate.disagree ? "≠" : "", "differs"),
      element("span", movedWords(candidate), "moved"),
      element("span", told, "told"),
    ], "rank-row");
    row.style.top = `${position * ROW}px`;
    row.id = `place-${position}`;
    row.dataset.position = position;
    row.title = titleOf(candidate, position, this.#inspection.candidates.length);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(position === this.#inspection.position));
    return row;
  }
}

function titleOf(candidate, position, n) {
  const { id, label, disagree, tags = [] } = candidate;
  const place = `${rankOf(candidate)}, place ${position + 1} of ${n}`;
  const parts = [id, place, label && wordOf(label), tags.join(", "), movedWords(candidate), disagree && "people disagree"];
  return parts.filter(Boolean).join("\n");
}

/** "rank 3", or what it was before a label took it out of the ranking. */
export function rankOf({ rank, ranked }) {
  if (!rank) return "no rank";
  return ranked ? `rank ${rank}` : `rank ${rank} when labelled`;
}
