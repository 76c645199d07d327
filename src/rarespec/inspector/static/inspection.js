// The state of an inspection: the list, which candidate is looked at, and what is said about it. No drawing here.

import * as api from "./api.js";
import { LabelQueue } from "./labels.js";
import { isSorted } from "./list_choice.js";
import { Unsaved } from "./unsaved.js";

const AHEAD = 5;

/**
 * Events: "selected" (another candidate, or the same at another place), "changed" (detail: id of a candidate whose
 * label or comment changed), "listed" (a new list), "saved", "refused", "waiting", "resumed" (as the queue's),
 * "relearning", "reranked" (detail: the server's answer), "failed" (detail: error).
 */
export class Inspection extends EventTarget {
  #id = null;
  #history = []; // labels given in this page, for undo: {event_id, id, before}
  #looked = new Set(); // ids that have been on the screen
  #isRelearning = false;
  #isWanted = false; // another re-rank
  #reading = Promise.resolve(); // of the list
  #savedMeanwhile = []; // entries that were saved since the last reading began

  constructor(session, candidates) {
    super();
    this.session = session;
    this.candidates = candidates;
    const place = [placeOf(session), session.home];
    this.drafts = new Unsaved("draft", place, session.person);
    this.tagDrafts = new Unsaved("tags", place, session.person);
    this.queue = new LabelQueue(new Unsaved("label", place, session.person), () => this.#sameServer());
    this.queue.addEventListener("saved", ({ detail }) => this.#onSaved(detail));
    this.queue.addEventListener("refused", ({ detail }) => this.#onRefused(detail));
    this.queue.addEventListener("waiting", ({ detail }) => this.#tell("waiting", detail));
    this.queue.addEventListener("resumed", () => this.#tell("resumed"));
  }

  get selected() {
    return this.candidates.withId(this.#id);
  }

  get position() {
    return this.candidates.positionOf(this.#id);
  }

  /** What is written but not said with a label yet; null when nothing is. */
  draftOf(id) {
    return this.drafts.get(id);
  }

  /** Tags of a candidate as they will be saved: those that wait for a label go before those that are saved. */
  tagsOf(candidate) {
    return this.tagDrafts.get(candidate.id) ?? candidate.tags ?? [];
  }

  // -- moving --

  select(position) {
    const candidate = this.candidates.at(Math.max(0, Math.min(position, this.candidates.length - 1)));
    if (!candidate) return;
    this.#id = candidate.id;
    this.#looked.add(candidate.id);
    this.#tell("selected");
  }

  /** Whether it is on the list; one that the filter hides is shown with the others from then on. */
  selectId(id) {
    if (!this.candidates.withId(id)) return false;
    const isHidden = this.candidates.positionOf(id) < 0;
    if (isHidden) this.candidates.choose(this.candidates.choice, id);
    this.select(this.candidates.positionOf(id));
    if (isHidden) this.#tell("listed");
    return true;
  }

  /** Shows another part of the list, or another order; what is selected stays so if it is still shown. */
  choose(choice) {
    this.candidates.choose(choice);
    if (this.position < 0) this.select(0);
    this.#tell("listed");
  }

  move(step) {
    this.select(this.position + step);
  }

  /** The next without a label, from here on and then from the top; false when all have one. */
  nextUninspected() {
    return this.#goTo(this.#uninspectedFrom(this.position + 1));
  }

  bestUninspected() {
    return this.#goTo(this.candidates.find(isUninspected));
  }

  /** Ids that will probably be wanted next, most wanted first. */
  comingUp() {
    const positions = [this.#afterLabel(), this.position + 1];
    for (let at = positions[0], i = 1; i < AHEAD; i++) positions.push((at = this.#uninspectedFrom(at + 1)));
    positions.push(this.position - 1);
    const ids = positions.map((position) => this.candidates.at(position)?.id).filter((id) => id && id !== this.#id);
    return [...new Set(ids)];
  }

  #goTo(position) {
    if (position < 0) return false;
    this.select(position);
    return true;
  }

  #uninspectedFrom(start) {
    const later = this.candidates.find(isUninspected, start);
    return later >= 0 ? later : this.candidates.find(isUninspected, 0, start);
  }

  /** What a re-rank has put above this place comes first, if it was not looked at; then the next without a label. */
  #afterLabel() {
    const isNews = (candidate) => isUninspected(candidate) && !this.#looked.has(candidate.id);
    const risen = isSorted(this.candidates.choice) ? -1 : this.candidates.find(isNews, 0, this.position);
    const later = this.candidates.find(isUninspected, this.position + 1);
    return risen >= 0 ? risen : later >= 0 ? later : this.position + 1;
  }

  // -- saying --

  /** Labels the candidate on the screen and moves on; false where the filter shows none. */
  label(label) {
    const candidate = this.selected;
    if (!candidate || this.position < 0) return false;
    const comment = this.draftOf(candidate.id) ?? candidate.comment ?? "";
    const tags = this.tagsOf(candidate), next = this.#afterLabel();
    this.drafts.delete(candidate.id);
    this.tagDrafts.delete(candidate.id);
    this.#id = this.candidates.at(next)?.id ?? candidate.id; // first, so that the one just left is not drawn again
    this.#say(candidate, label, comment, tags);
    this.select(next);
    return true;
  }

  /** Says it of any spectrum, also of one that is not on the list; `labelBefore` and `commentBefore` are one's own. */
  sayOf(id, labelBefore, commentBefore, label, comment) {
    this.drafts.delete(id);
    const unlisted = { id, label: labelBefore, comment: commentBefore };
    this.#say(this.candidates.withId(id) ?? unlisted, label, comment);
  }

  /** Saves a comment with the label there is; keeps it for the label to come where there is none. True when sent. */
  comment(text) {
    const candidate = this.selected;
    if (!candidate) return false;
    if (!candidate.label) {
      if (text) this.drafts.set(candidate.id, text);
      else this.drafts.delete(candidate.id);
      this.#tell("changed", candidate.id);
      return false;
    }
    if (text !== (candidate.comment ?? "")) this.#say(candidate, candidate.label, text, this.tagsOf(candidate));
    return true;
  }

  /** Saves tags with the label there is; keeps them for the label to come where there is none. */
  tag(tags) {
    const candidate = this.selected;
    if (!candidate) return;
    if (candidate.label) return this.#say(candidate, candidate.label, candidate.comment ?? "", tags);
    if (tags.length) this.tagDrafts.set(candidate.id, tags);
    else this.tagDrafts.delete(candidate.id);
    this.#tell("changed", candidate.id);
  }

  /** Takes back the last label of this page, or of this person before the page was opened. */
  undo() {
    const last = this.#history.pop();
    const body = { event_id: crypto.randomUUID(), undoes: last?.event_id ?? null };
    this.queue.add({ path: "/api/undo", body, id: last?.id ?? null, shows: last?.before ?? null });
    if (!last) return;
    this.#show(last.id, last.before);
    this.selectId(last.id);
  }

  #say(candidate, label, comment, tags) {
    const { id, rank, score, chance, label: labelBefore = null, comment: commentBefore = "" } = candidate;
    const before = { label: labelBefore, comment: commentBefore, tags: candidate.tags ?? [] };
    const { revision } = this.candidates;
    const body = { event_id: crypto.randomUUID(), id, label, comment, tags, rank, score, chance, revision };
    const shows = { label, comment, tags };
    this.#history.push({ event_id: body.event_id, id, before });
    this.queue.add({ path: "/api/labels", body, id, shows, before });
    this.#show(id, shows);
  }

  #show(id, shows) {
    const candidate = this.candidates.withId(id);
    if (candidate) Object.assign(candidate, shows);
    this.#markSaving(id);
  }

  #markSaving(id) {
    const candidate = this.candidates.withId(id);
    if (candidate) candidate.saving = this.queue.entries.some((entry) => entry.id === id);
    this.#tell("changed", id);
  }

  #onSaved({ entry, answer }) {
    const id = entry.id ?? answer.id;
    const { others, remarks, others_tags, disagree } = answer;
    this.#savedMeanwhile.push({ ...entry, shows: { ...entry.shows, others, remarks, others_tags, disagree } });
    this.#show(id, { others, remarks, others_tags, disagree });
    this.#tell("saved", { entry, answer, id });
    if (entry.id === null) this.#showUndone(id);
    if (answer.relearn_due && !this.#isRelearning) this.#relearn(); // the server counts, over all pages
  }

  #onRefused({ entry, error }) {
    this.#history = this.#history.filter(({ event_id }) => event_id !== entry.body.event_id);
    if (entry.before) this.#takeBack(entry);
    this.#tell("refused", { entry, error });
    this.reload(); // which label stands, only the server knows
  }

  /** What was written is kept, for another try. */
  #takeBack({ id, body, before }) {
    if (body.comment !== before.comment) this.drafts.set(id, body.comment);
    if (body.tags?.join() !== before.tags?.join()) this.tagDrafts.set(id, body.tags);
    this.#show(id, before);
  }

  /** Which label stands after an undo of something said before this page was opened, only the server knows. */
  async #showUndone(id) {
    await this.reload();
    this.selectId(id);
  }

  // -- learning --

  /** Reads the list again, one reading after the other; the candidate on the screen stays there. */
  reload() {
    this.#reading = this.#reading.then(() => this.#attempted(() => this.#readList()));
    return this.#reading;
  }

  async #readList() {
    this.#savedMeanwhile = [];
    const position = this.position;
    await this.candidates.load((candidate) => this.#amend(candidate), this.#id);
    if (this.#id !== null && this.position < 0) this.select(position);
    this.#tell("listed");
  }

  /** Reads the list again if the server has ranked anew without being asked by this page. */
  async catchUp() {
    const isOutdated = !this.#isRelearning && (await this.#attempted(() => this.candidates.isOutdated()));
    if (isOutdated) await this.reload();
    return isOutdated;
  }

  /** Re-ranks if enough labels came that no page has waited for to be learned. */
  async learnIfDue() {
    if (this.session.relearn_due && !this.#isRelearning) await this.#relearn();
  }

  /** Re-ranks with every label given so far. */
  async relearn() {
    await this.queue.drained();
    await this.#relearn();
  }

  async setOrder(order) {
    await this.#attempted(async () => {
      this.session.order = (await api.setOrder(order)).order;
      await this.reload();
    });
  }

  async #relearn() {
    this.#isWanted = this.#isRelearning; // once more, when this one is done
    if (this.#isRelearning) return;
    this.#isRelearning = true;
    this.#tell("relearning");
    const change = await this.#attempted(() => api.relearn());
    this.#isRelearning = false;
    if (change) await this.reload();
    this.#tell("reranked", change);
    if (change && (this.#isWanted || change.relearn_due)) await this.#relearn();
  }

  /** Puts what was said since the server wrote its list onto a candidate as the server knows it. */
  #amend(candidate) {
    const isAbout = (entry) => entry.id === candidate.id;
    const said = [...this.#savedMeanwhile, ...this.queue.entries].filter(isAbout);
    Object.assign(candidate, ...said.map((entry) => entry.shows));
    candidate.saving = this.queue.entries.some(isAbout);
  }

  async #attempted(work) {
    try {
      return await work();
    } catch (error) {
      this.#tell("failed", error);
      return undefined;
    }
  }

  /** After a restart the server has new secrets, and may be that of another survey or person. */
  async #sameServer() {
    const now = await api.session();
    const place = placeOf(now), mine = placeOf(this.session);
    if (now.home === this.session.home && now.person === this.session.person) return;
    throw new Error(`this address now serves ${place} to ${now.person}; these labels belong to ${mine}`);
  }

  #tell(kind, detail = null) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

export function isUninspected(candidate) {
  return !candidate.label;
}

/** To which survey and kind labels belong. */
export function placeOf({ survey, kind }) {
  return kind ? `${survey} (${kind})` : survey;
}
