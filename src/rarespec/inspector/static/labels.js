// The queue of labels on their way to the server: in order, one at a time, none lost without a word.

import { post, Refused } from "./api.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;

/**
 * Sends what is added, again and again with the same event id until the server has answered.
 * Events: "saved" and "refused" (detail: {entry, answer | error}), "waiting" (detail: {error}), "resumed".
 */
export class LabelQueue extends EventTarget {
  #entries = [];
  #isSending = false;
  #beforeRetry;
  #unsaved;
  #drained = [];

  /**
   * unsaved : keeps entries through a reload (add, remove, all)
   * beforeRetry : called before something is sent again, as the server may be another one by now
   */
  constructor(unsaved, beforeRetry) {
    super();
    this.#unsaved = unsaved;
    this.#beforeRetry = beforeRetry;
    this.#entries = unsaved.all();
  }

  get entries() {
    return [...this.#entries];
  }

  /** entry : {path, body: {event_id, ...}, id} */
  add(entry) {
    this.#entries.push(entry);
    this.#unsaved.add(entry);
    this.start();
  }

  async start() {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#entries.length) await this.#sendFirst();
    this.#isSending = false;
    this.#drained.splice(0).forEach((done) => done());
  }

  /** Resolves when nothing is left to send. */
  drained() {
    if (!this.#entries.length) return Promise.resolve();
    return new Promise((done) => this.#drained.push(done));
  }

  async #sendFirst() {
    const entry = this.#entries[0];
    try {
      const answer = await this.#untilAnswered(entry);
      this.#finish(entry, "saved", { entry, answer });
    } catch (error) {
      this.#finish(entry, "refused", { entry, error });
    }
  }

  #finish(entry, kind, detail) {
    this.#entries.shift();
    this.#unsaved.remove(entry);
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  async #untilAnswered(entry) {
    for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      try {
        if (wait > FIRST_WAIT) await this.#beforeRetry();
        const answer = await post(entry.path, entry.body);
        if (wait > FIRST_WAIT) this.dispatchEvent(new Event("resumed"));
        return answer;
      } catch (error) {
        if (error instanceof Refused && !error.mayPass) throw error;
        this.dispatchEvent(new CustomEvent("waiting", { detail: { error } }));
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  }
}
