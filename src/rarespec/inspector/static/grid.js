// The grid: a page of candidates as thumbnails with what matters of each.

import { LABELS, mark, movedWords } from "./label_marks.js";
import { peopleMark } from "./people.js";
import { rankOf } from "./rank_list.js";
import { Thumbnails } from "./thumbnails.js";
import { byId, element, number, percent } from "./text.js";

const ON_A_PAGE = 60;

export class Grid {
  #inspection;
  #cards = byId("cards");
  #byId = new Map(); // id of a candidate -> its card
  #thumbnails = new Thumbnails();
  #onFailure;

  constructor(inspection, onOpen, onFailure) {
    this.#inspection = inspection;
    this.#onFailure = onFailure;
    this.#cards.addEventListener("click", (event) => this.#onClick(event, (id) => inspection.selectId(id)));
    this.#cards.addEventListener("dblclick", (event) => this.#onClick(event, onOpen));
    new ResizeObserver(() => this.#drawAll()).observe(this.#cards);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#drawAll());
  }

  get #page() {
    return Math.max(0, Math.floor(this.#inspection.position / ON_A_PAGE));
  }

  get #onPage() {
    return this.#inspection.candidates.slice(this.#page * ON_A_PAGE, (this.#page + 1) * ON_A_PAGE);
  }

  turn(pages) {
    this.#inspection.select((this.#page + pages) * ON_A_PAGE);
  }

  firstPage() {
    this.#inspection.select(0);
  }

  /** Moves the selection by rows of cards. */
  moveRows(rows) {
    const tops = [...this.#cards.children].map((card) => card.offsetTop);
    const across = tops.filter((top) => top === tops[0]).length || 1;
    this.#inspection.move(rows * across);
  }

  /** Everything anew, after another list or another page. */
  async show() {
    const candidates = this.#onPage;
    this.#byId = new Map(candidates.map((candidate) => [candidate.id, cardOf(candidate)]));
    this.#cards.replaceChildren(...this.#byId.values());
    const { length } = this.#inspection.candidates;
    const pages = Math.ceil(length / ON_A_PAGE);
    byId("page-number").textContent = length ? `Page ${this.#page + 1} of ${pages}` : "Nothing matches the filter.";
    this.#markSelected();
    await this.#drawAll();
  }

  /** After a re-rank: the nearest known examples are others now. */
  outdate() {
    this.#thumbnails.outdate();
  }

  select() {
    if (this.#byId.has(this.#inspection.selected?.id)) this.#markSelected();
    else this.show();
  }

  /** One candidate has changed. */
  update(id) {
    const candidate = this.#inspection.candidates.withId(id);
    const card = this.#byId.get(id);
    if (!candidate || !card) return;
    card.querySelector(".card-head").replaceWith(headOf(candidate));
    showLabel(card, candidate);
  }

  #markSelected() {
    const id = this.#inspection.selected?.id;
    for (const [other, card] of this.#byId) card.setAttribute("aria-selected", String(other === id));
    const card = this.#byId.get(id);
    if (!card) return;
    this.#cards.setAttribute("aria-activedescendant", card.id);
    card.scrollIntoView({ block: "nearest" });
  }

  async #drawAll() {
    if (!this.#cards.clientWidth) return; // not on the screen
    try {
      await this.#thumbnails.fetch([...this.#byId.keys()]);
    } catch (error) {
      this.#onFailure(error);
    }
    for (const [id, card] of this.#byId) this.#thumbnails.draw(card.querySelector("canvas"), id);
  }

  #onClick(event, act) {
    const card = event.target.closest(".card");
    for (const [id, other] of this.#byId) if (other === card) act(id);
  }
}

let cardsMade = 0;

function cardOf(candidate) {
  const kind = [candidate.class, candidate.subclass].filter(Boolean).join(" ");
  const name = element("div", candidate.id, "card-id");
  const card = element("div", [headOf(candidate), element("canvas"), name, footOf(candidate, kind)], "card");
  card.title = `${candidate.id}\n${kind}\nz ${number(candidate.z, 4)}`;
  card.id = `card-${(cardsMade += 1)}`;
  card.setAttribute("role", "option");
  showLabel(card, candidate);
  return card;
}

/** The border has the colour of the label, which stands in the card as well. */
function showLabel(card, { label }) {
  card.dataset.label = LABELS.includes(label) ? label : "";
}

function headOf(candidate) {
  const { rank: past, ranked } = candidate; // a card has no room for "rank 5 when labelled"
  const rank = element("b", past && !ranked ? `was rank ${past}` : rankOf(candidate));
  const differs = element("span", candidate.disagree ? "≠" : "", "differs");
  const moved = element("span", movedWords(candidate), "moved");
  return element("div", [rank, peopleMark(candidate.id), differs, moved, mark(candidate)], "card-head");
}

function footOf({ snr, chance }, kind) {
  const parts = [kind || "–", `S/N ${number(snr, 0)}`, percent(chance)];
  return element("div", parts.map((part) => element("span", part)), "card-foot");
}
