// The list beside the spectrum: ranks, labels and what moved. Only the rows on the screen exist.

import { movedWords, shortMark, wordOf } from "./label_marks.js";
import { peopleMark } from "./people.js";
import { byId, element } from "./text.js";

const ROW = 24; // CSS pixels, as in the style sheet

export class RankList {
  #inspection;
  #list = byId("rank-list");
  #rows = element("div", "", "rank-rows");

  constructor(inspection) {
    this.#inspection = inspection;
    this.#list.append(this.#rows);
    this.#list.addEventListener("scroll", () => this.draw());
    this.#list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-position]");
      if (row) inspection.select(Number(row.dataset.position));
    });
    new ResizeObserver(() => this.draw()).observe(this.#list);
  }

  /** With the selected one on the screen. */
  select() {
    const top = this.#inspection.position * ROW, { scrollTop, clientHeight } = this.#list;
    this.#rows.style.height = `${this.#inspection.candidates.length * ROW}px`;
    const isVisible = top >= scrollTop + ROW && top + 2 * ROW <= scrollTop + clientHeight;
    if (!isVisible) this.#list.scrollTop = top - clientHeight / 3;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.#list.scrollTop / ROW));
    const last = first + Math.ceil(this.#list.clientHeight / ROW) + 1;
    const visible = this.#inspection.candidates.slice(first, last);
    this.#rows.replaceChildren(...visible.map((candidate, i) => this.#row(candidate, first + i)));
    this.#list.setAttribute("aria-activedescendant", `place-${this.#inspection.position}`);
  }

  #row(candidate, position) {
    const row = element("div", [
      element("span", String(position + 1), "place"),
      shortMark(candidate),
      element("span", candidate.id, "name"),
      peopleMark(candidate.id),
      element("span", candidate.disagree ? "≠" : "", "differs"),
      element("span", movedWords(candidate), "moved"),
    ], "rank-row");
    row.style.top = `${position * ROW}px`;
    row.id = `place-${position}`;
    row.dataset.position = position;
    row.title = titleOf(candidate);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(position === this.#inspection.position));
    return row;
  }
}

function titleOf(candidate) {
  const { id, label, disagree } = candidate;
  const parts = [id, label && wordOf(label), movedWords(candidate), disagree && "people disagree"];
  return parts.filter(Boolean).join("\n");
}
