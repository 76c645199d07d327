// Who is where: tells the others which spectrum is on this screen, and shows where they are.

import * as api from "./api.js";
import { byId, element } from "./text.js";

const EVERY = 5000; // ms
const TELL_AGAIN = 20_000; // or the others forget
const AWAY_AFTER = 120_000; // since the last key or click; a hub may then see that nobody works any more

let places = new Map(); // person -> id of a spectrum

export class People {
  #inspection;
  #onChange;
  #onChoose;
  #told = { id: null, at: 0 };
  #lastInput = Date.now();

  /**
   * onChange : called with the ids at which somebody has come or gone
   * onChoose : called with the id that is asked for
   */
  constructor(inspection, onChange, onChoose) {
    this.#inspection = inspection;
    this.#onChange = onChange;
    this.#onChoose = onChoose;
  }

  start() {
    if (this.#inspection.session.blind) return; // who lingers where says something too
    for (const kind of ["keydown", "pointerdown"])
      document.addEventListener(kind, () => (this.#lastInput = Date.now()), { capture: true, passive: true });
    window.addEventListener("focus", () => this.#exchange());
    setInterval(() => this.#exchange(), EVERY);
    this.#exchange();
  }

  /** Again, as the ranks may be others. */
  show() {
    byId("people").replaceChildren(...[...places].map(([person, id]) => this.#whereabouts(person, id)));
  }

  async #exchange() {
    if (document.visibilityState !== "visible" || Date.now() - this.#lastInput > AWAY_AFTER) return;
    try {
      await this.#tell();
      this.#receive(await api.places());
    } catch {
      // Whoever cannot reach the server is told so when it matters: with the next label.
    }
  }

  async #tell() {
    const id = this.#inspection.selected?.id;
    if (!id || (id === this.#told.id && Date.now() - this.#told.at < TELL_AGAIN)) return;
    await api.tellPlace(id);
    this.#told = { id, at: Date.now() };
  }

  #receive(told) {
    const before = places;
    places = new Map(told.map(({ person, id }) => [person, id]));
    const left = [...before].filter(([person, id]) => places.get(person) !== id);
    const come = [...places].filter(([person, id]) => before.get(person) !== id);
    if (!left.length && !come.length) return;
    this.show();
    this.#onChange(new Set([...left, ...come].map(([, id]) => id)));
  }

  #whereabouts(person, id) {
    const button = element("button", `${person} is at ${this.#placeWords(id)}`, "whereabouts");
    button.title = `Go to ${id}`;
    button.addEventListener("click", () => this.#onChoose(id));
    return button;
  }

  /** By one's own list, in which ranks may be others than in theirs. */
  #placeWords(id) {
    const candidate = this.#inspection.candidates.withId(id);
    return candidate?.ranked ? `rank ${candidate.rank}` : id;
  }
}

/** A sign at a spectrum that somebody else looks at; empty otherwise. */
export function peopleMark(id) {
  const here = [...places].filter(([, where]) => where === id).map(([person]) => person);
  const mark = element("span", here.length ? "◉" : "", "here");
  if (here.length) mark.title = `${here.join(", ")} ${here.length > 1 ? "are" : "is"} here`;
  return mark;
}
