// The ranked list: its candidates in the order chosen, each known by its id.

import * as api from "./api.js";

const AT_ONCE = 500;

export class Candidates {
  #list = [];
  #position = new Map();
  revision = null; // of the ranking

  get length() {
    return this.#list.length;
  }

  at(position) {
    return this.#list[position];
  }

  withId(id) {
    return this.#list[this.positionOf(id)];
  }

  /** -1 for one that is not on the list. */
  positionOf(id) {
    return this.#position.get(id) ?? -1;
  }

  slice(start, end) {
    return this.#list.slice(start, end);
  }

  /** First position from `start` on whose candidate fulfils the condition; -1 when there is none. */
  find(condition, start = 0, end = this.#list.length) {
    for (let i = start; i < Math.min(end, this.#list.length); i++) if (condition(this.#list[i])) return i;
    return -1;
  }

  /** Whether the server has ranked again since. */
  async isOutdated() {
    return (await api.candidates(0, 1)).revision !== this.revision;
  }

  /** Reads the whole list again; `amend` may add to each candidate what the server does not know yet. */
  async load(amend = () => {}) {
    const { list, revision } = await wholeList();
    this.revision = revision;
    list.forEach(amend);
    this.#list = list;
    this.#position = new Map(list.map((candidate, i) => [candidate.id, i]));
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
