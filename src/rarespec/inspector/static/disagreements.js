// Where people have said different things about the same spectrum, and how they settle it.
//
// Nobody decides for another: to settle is to change one's own label, or to say why one keeps it. The log shows both.

import * as api from "./api.js";
import { SIGNS, wordOf } from "./label_marks.js";
import { byId, element } from "./text.js";

const LONGEST = 4000; // characters of a comment

export class Disagreements {
  #inspection;
  #onChoose;
  #visited = null; // id of the one that was last looked at from here

  /** onChoose : called with the id that is asked for */
  constructor(inspection, onChoose) {
    this.#inspection = inspection;
    this.#onChoose = onChoose;
    inspection.addEventListener("saved", () => this.#refresh());
    inspection.addEventListener("refused", () => this.#refresh());
  }

  async show() {
    await this.#fill();
    byId("disagreements-blind").hidden = !this.#inspection.session.blind;
    byId("disagreements").showModal();
    this.#returnToVisited();
  }

  async #fill() {
    const found = await api.disagreements();
    byId("disagreement-list").replaceChildren(...found.map((one) => this.#item(one)));
    if (!found.length) byId("disagreement-list").append(element("li", "No disagreements so far."));
  }

  /** What is being written stays: the list is read again only when nothing is. */
  async #refresh() {
    if (!byId("disagreements").open || this.#inspection.queue.entries.length) return;
    const isWriting = [...byId("disagreement-list").querySelectorAll("input")].some((field) => field.value);
    if (!isWriting) await this.#fill().catch(() => {}); // the queue of labels tells when the server is gone
  }

  #returnToVisited() {
    byId("to-disagreements").classList.remove("back");
    const items = [...byId("disagreement-list").children];
    const visited = items.find((item) => item.dataset.id === this.#visited);
    visited?.scrollIntoView({ block: "center" });
    visited?.querySelector("button").focus();
    this.#visited = null;
  }

  #item(found) {
    const { id, labels, merged } = found;
    const look = element("button", id, "look");
    look.title = "Look at it; press d to come back";
    look.addEventListener("click", () => this.#look(id));
    const together = element("span", `together: ${merged ? wordOf(merged) : "undecided"}`, "quiet");
    const item = element("li", [
      element("div", [look, together], "disagreement-head"),
      element("ul", Object.keys(labels).map((person) => opinion(found, person)), "said"),
      this.#ways(found),
    ]);
    item.dataset.id = id;
    return item;
  }

  #look(id) {
    this.#visited = id;
    byId("to-disagreements").classList.add("back");
    byId("disagreements").close();
    this.#onChoose(id);
  }

  /** A button for each label that others have given, and one to keep one's own. */
  #ways(found) {
    const { labels } = found, { person: me } = this.#inspection.session;
    const own = labels[me];
    const others = Object.entries(labels).filter(([person, label]) => person !== me && label !== own);
    const comment = element("input");
    Object.assign(comment, { maxLength: LONGEST, autocomplete: "off", placeholder: "Comment" });
    comment.setAttribute("aria-label", `Comment on ${found.id}`);
    const agree = [...new Set(others.map(([, label]) => label))].map((label) => {
      const names = others.filter(([, said]) => said === label).map(([person]) => person).join(", ");
      return button(`Agree with ${names}: ${wordOf(label)}`, () => {
        const words = [comment.value.trim() || found.remarks[me], `agreed with ${names}`].filter(Boolean).join("; ");
        this.#say(found, label, words.slice(-LONGEST));
      });
    });
    const keep = button(`Keep mine: ${wordOf(own)}`, () => this.#keep(found, comment));
    return element("div", [...agree, ...(own ? [keep] : []), comment], "settle");
  }

  /** Without a reason nothing would be said that is not said already. */
  #keep(found, comment) {
    const words = comment.value.trim();
    comment.placeholder = "Say why, then press “Keep mine”";
    if (words) this.#say(found, found.labels[this.#inspection.session.person], words);
    else comment.focus();
  }

  #say(found, label, comment) {
    const item = [...byId("disagreement-list").children].find(({ dataset }) => dataset.id === found.id);
    item?.querySelector(".settle").replaceChildren(element("span", "saving …", "quiet"));
    const { person: me } = this.#inspection.session;
    this.#inspection.sayOf(found.id, found.labels[me] ?? null, found.remarks[me] ?? "", label, comment);
  }
}

function button(words, act) {
  const made = element("button", words);
  made.addEventListener("click", act);
  return made;
}

function opinion({ labels, remarks, times }, person) {
  const time = element("time", written(times[person]), "quiet");
  time.dateTime = times[person];
  return element("li", [`${opinions({ [person]: labels[person] }, remarks)} `, time]);
}

/** "18 Nov 2026, 02:40", in the clock of the reader. */
function written(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : time.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** "ada ✓ yes [dC] “C₂ bands”, li ✗ no" */
export function opinions(labels, remarks = {}, tags = {}) {
  const tagged = (person) => (Object.hasOwn(tags, person) ? ` [${tags[person].join(", ")}]` : "");
  const remark = (person) => (remarks[person] ? ` “${remarks[person]}”` : "");
  const said = ([person, label]) => `${person} ${SIGNS[label] ?? "•"} ${wordOf(label)}${tagged(person)}${remark(person)}`;
  return Object.entries(labels).map(said).join(", ");
}
