// The ranked list: all of its candidates, each known by its id, and those of them that are shown, by their places.

import * as api from "./api.js";
import { EVERYTHING, chosen } from "./list_choice.js";

const AT_ONCE = 500;

export class Candidates {
  #all = [];
  #byId = new Map();
  #shown = [];
  #position = new Map(); // id -> place among those shown
  choice = EVERYTHING;
  revision = null; // of the ranking

  /** Shown or not, in the order of the server. */
  get all() {
    return this.#all;
  }

  /** Of those shown. */
  get length() {
    return this.#shown.length;
  }

  at(position) {
    return this.#shown[position];
  }

  /** Shown or not. */
  withId(id) {
    return this.#byId.get(id);
  }

  /** -1 for one that is not shown. */
  positionOf(id) {
    return this.#position.get(id) ?? -1;
  }

  slice(start, end) {
    return this.#shown.slice(start, end);
  }

  /** First position from `start` on whose candidate fulfils the condition; -1 when there is none. */
  find(condition, start = 0, end = this.#shown.length) {
    for (let i = start; i < Math.min(end, this.#shown.length); i++) if (condition(this.#shown[i])) return i;
    return -1;
  }

  /** Shows what this choice of list_choice.js asks for. A label changes nothing of it until this is called again. */
  choose(choice, kept = null) {
    this.choice = choice;
    this.#shown = chosen(this.#all, choice, kept);
    this.#position = new Map(this.#shown.map((candidate, i) => [candidate.id, i]));
  }

  /** Whether the server has ranked again since. */
  async isOutdated() {
    return (await api.candidates(0, 1)).revision !== this.revision;
  }

  /** Reads the whole list again; `amend` may add to each what the server does not know yet, `kept` is shown anyhow. */
  async load(amend = () => {}, kept = null) {
    const { list, revision } = await wholeList();
    this.revision = revision;
    list.forEach(amend);
    this.#all = list;
    this.#byId = new Map(list.map((candidate) => [candidate.id, candidate]));
    this.choose(this.choice, kept);
  }
}

/** In parts; from the beginning again when the ranking has changed meanwhile. */
async function wholeList() {
  let list = [], revision = null, total = 1;
  while (list.length < total) {
    const part = await api.candidates(list.length, AT_ONCE);
    if (list.length && part.revision !== revision) {
      list = [];
      continue;
    }
    if (!part.candidates.length) break;
    list.push(...part.candidates);
    ({ revision, total } = part);
  }
  return { list, revision };
}
