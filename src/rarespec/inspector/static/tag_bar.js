// Tags of one's own under the labels. Without a label they wait, and are saved with the label.

import { insist } from "./banner.js";
import { placeOf } from "./inspection.js";
import { storage } from "./storage.js";
import { byId, element } from "./text.js";

const MOST_KEYS = 9, LONGEST = 20, MOST = 10; // as the server has it

export class TagBar {
  #inspection;
  #names; // every tag of this campaign, in an order that does not change: each has its key
  #key; // under which the browser keeps tags that no label has yet
  #field = byId("new-tag");

  constructor(inspection) {
    const { session } = inspection;
    this.#inspection = inspection;
    this.#key = `rarespec own tags ${JSON.stringify([placeOf(session), session.person])}`;
    this.#names = [...new Set([...session.tags, ...this.#kept()])];
    byId("tag-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add(this.#field.value);
    });
    this.#field.addEventListener("keydown", (event) => event.key === "Escape" && this.#leave());
  }

  focus() {
    this.#field.focus();
  }

  show(candidate) {
    const given = this.#inspection.tagsOf(candidate);
    for (const name of given) if (!this.#names.includes(name)) this.#names.push(name);
    byId("tags").replaceChildren(...this.#names.map((name, i) => this.#button(name, i + 1, given.includes(name))));
    const isWaiting = !candidate.label && given.length > 0;
    byId("tag-state").textContent = isWaiting ? "not saved yet; saved with your label" : "";
  }

  /** By its number, from 1. */
  toggleNumber(number) {
    const name = this.#names[number - 1];
    if (name !== undefined) this.#toggle(name);
  }

  #button(name, number, isGiven) {
    const key = number <= MOST_KEYS ? [" ", element("kbd", String(number))] : [];
    const button = element("button", [name, ...key], "tag");
    button.type = "button";
    button.setAttribute("aria-pressed", String(isGiven));
    button.addEventListener("click", () => this.#toggle(name));
    return button;
  }

  #toggle(name) {
    const { selected } = this.#inspection;
    if (!selected) return;
    const given = this.#inspection.tagsOf(selected), others = given.filter((one) => one !== name);
    if (others.length === given.length && given.length >= MOST) return insist(`A spectrum has at most ${MOST} tags.`);
    this.#inspection.tag(others.length < given.length ? others : [...given, name]);
  }

  #add(typed) {
    const name = typed.trim().replace(/\s+/g, " ").normalize("NFC");
    if (!name) return this.#leave();
    if (/[,;]/.test(name) || [...name].length > LONGEST)
      return insist(`A tag has at most ${LONGEST} characters, without comma or semicolon.`);
    if (!this.#names.includes(name)) {
      this.#names.push(name);
      storage.set(this.#key, JSON.stringify([...this.#kept(), name]));
    }
    this.#leave();
    const { selected } = this.#inspection;
    if (selected && !this.#inspection.tagsOf(selected).includes(name)) this.#toggle(name);
  }

  #leave() {
    this.#field.value = "";
    this.#field.blur();
  }

  #kept() {
    try {
      const kept = JSON.parse(storage.get(this.#key));
      return Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : [];
    } catch {
      return [];
    }
  }
}
