// Going to a candidate by its id, or by a part of it; and what is said of one that is not on the list.

import * as api from "./api.js";
import { byId } from "./text.js";

const MOST_NAMED = 5;

export class GoTo {
  #inspection;
  #open;
  #dialog = byId("go-to");
  #field = byId("go-to-id");

  /** open : called with the id of a candidate of the list */
  constructor(inspection, open) {
    this.#inspection = inspection;
    this.#open = open;
    byId("go-to-close").addEventListener("click", () => this.#dialog.close());
    byId("go-to-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#go(this.#field.value.trim());
    });
  }

  show() {
    this.#say("");
    this.#dialog.showModal();
    this.#field.select();
  }

  async #go(text) {
    if (!text) return this.#say("Type an id, or a part of it.");
    const { candidates } = this.#inspection;
    const found = candidates.withId(text) ? [text] : idsWith(candidates.all, text);
    if (found.length === 1) {
      this.#dialog.close();
      return this.#open(found[0]);
    }
    if (found.length) return this.#say(`${found.length} ids of the list contain it: ${named(found)}. Type more of it.`);
    try {
      this.#say(absentWords(text, await api.find(text), candidates.all.length));
    } catch (error) {
      this.#say(`The server cannot be asked: ${error.message}`);
    }
  }

  #say(words) {
    byId("go-to-words").textContent = words;
  }
}

function idsWith(candidates, text) {
  const wanted = text.toLowerCase();
  return candidates.map(({ id }) => id).filter((id) => id.toLowerCase().includes(wanted));
}

function named(ids) {
  return ids.slice(0, MOST_NAMED).join(", ") + (ids.length > MOST_NAMED ? " …" : "");
}

function absentWords(id, { in_survey: isInSurvey, known: isKnown }, n) {
  if (isKnown) return `${id} is a known example, so it is not a candidate.`;
  if (isInSurvey) return `${id} is in the survey, but not among the ${n} candidates of this list; --top lists more.`;
  return `No spectrum of the survey has the id ${id}.`;
}
