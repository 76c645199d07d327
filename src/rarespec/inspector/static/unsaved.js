// What the server has not acknowledged yet, kept through a reload of the page; the server's log is the only record.
// Entries belong to one survey and one person: another server on the same port never gets them.

import { storage } from "./storage.js";

export class Unsaved {
  #prefix;

  constructor(kind, survey, person) {
    this.#prefix = `rarespec ${kind} ${JSON.stringify([survey, person])} `;
  }

  /** entry : {path, body: {event_id, ...}, ...} */
  add(entry) {
    this.set(entry.body.event_id, { entry, at: Date.now() });
  }

  remove(entry) {
    this.delete(entry.body.event_id);
  }

  /** Entries, oldest first. */
  all() {
    const found = this.keys().map((key) => this.get(key));
    return found.sort((a, b) => a.at - b.at).map(({ entry }) => entry);
  }

  get(key) {
    const text = storage.get(this.#prefix + key);
    return text === null ? null : JSON.parse(text);
  }

  set(key, value) {
    storage.set(this.#prefix + key, JSON.stringify(value));
  }

  delete(key) {
    storage.remove(this.#prefix + key);
  }

  keys() {
    return storage.keys().filter((key) => key.startsWith(this.#prefix)).map((key) => key.slice(this.#prefix.length));
  }
}
