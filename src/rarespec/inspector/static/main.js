// The page: joins what is known, what is drawn, and what is pressed.

import * as api from "./api.js";
import { announce, clearWarning, insist, waitingWords, warn } from "./banner.js";
import { Candidates } from "./candidates.js";
import { Comment } from "./comment.js";
import { copyDegrees, copyId, copySexagesimal } from "./copying.js";
import { SkyCutout } from "./cutout.js";
import { Detail } from "./detail.js";
import { Disagreements } from "./disagreements.js";
import { ExportDialog } from "./export_dialog.js";
import { GoTo } from "./go_to.js";
import { Grid } from "./grid.js";
import { fillHelp, showHelp } from "./help.js";
import { Inspection, isUninspected, placeOf } from "./inspection.js";
import { listen } from "./keys.js";
import { LABELS, wordOf } from "./label_marks.js";
import { isElsewhere, leaveSurvey } from "./leaving.js";
import { ListBar } from "./list_bar.js";
import { isSorted } from "./list_choice.js";
import { listenToMenus } from "./menus.js";
import { People } from "./people.js";
import { placeInAddress, writePlace } from "./place.js";
import { Spectra } from "./prefetch.js";
import { showChange, showProgress } from "./progress.js";
import { RankList, rankOf } from "./rank_list.js";
import { Settings } from "./settings.js";
import { SpeciesChoice } from "./species.js";
import { TagBar } from "./tag_bar.js";
import { byId } from "./text.js";
import { YieldPlot } from "./yield_plot.js";

const ORDERS = { likely: "Most likely first", informative: "Most informative first" };
const RETRY = 3000;

class Page {
  #view = "grid";
  #revision = null; // of the ranking that is shown
  #watching = null; // timer while the server is gone
  #problems = new Set(); // with examples and labels, that were told

  constructor(session, wavelength, candidates) {
    this.inspection = new Inspection(session, candidates);
    this.settings = new Settings(session);
    this.spectra = new Spectra();
    this.detail = new Detail(session, this.settings, wavelength, (error) => this.onFailure(error));
    this.grid = new Grid(this.inspection, () => this.setView("detail"), (error) => this.onFailure(error));
    this.rankList = new RankList(this.inspection);
    this.listBar = new ListBar(this.inspection);
    this.goTo = new GoTo(this.inspection, (id) => this.#open(id));
    this.yieldPlot = new YieldPlot();
    this.comment = new Comment(this.inspection);
    this.cutout = new SkyCutout(session.cutouts);
    this.tagBar = new TagBar(this.inspection);
    this.exportDialog = new ExportDialog(this.inspection);
    this.disagreements = new Disagreements(this.inspection, (id) => this.#open(id));
    this.people = new People(this.inspection, (ids) => this.#markPeople(ids), (id) => this.#open(id));
    this.species = new SpeciesChoice(session, this.settings, () => this.detail.draw());
    this.#describeSession(session);
    this.#listenToInspection();
    this.#listenToUser();
  }

  get isDetail() {
    return this.#view === "detail";
  }

  /** Where one was before a reload; otherwise at the first without a label. */
  async start() {
    const place = placeInAddress();
    await this.inspection.reload();
    this.setView(place?.view ?? "grid");
    const isThere = place && this.inspection.selectId(place.id);
    if (!isThere && !this.inspection.bestUninspected()) this.inspection.select(0);
    this.inspection.queue.start();
    this.inspection.learnIfDue();
    this.people.start();
    document.body.dataset.ready = "true";
  }

  // -- what is shown --

  setView(view) {
    this.#view = view;
    document.body.dataset.view = view;
    byId("to-grid").setAttribute("aria-pressed", String(!this.isDetail));
    byId("to-detail").setAttribute("aria-pressed", String(this.isDetail));
    if (this.inspection.selected) this.showSelected();
  }

  showSelected() {
    const { selected, position, candidates } = this.inspection;
    if (!selected) return;
    writePlace(this.#view, selected.id);
    const place = position < 0 ? "not among those shown" : `place ${position + 1} of ${candidates.length}`;
    document.title = `${rankOf(selected)} · ${selected.id} · rarespec`;
    byId("position").textContent = `${place}, ${rankOf(selected)}`;
    if (!this.isDetail) this.grid.select();
    if (this.isDetail) this.rankList.select();
    this.showFacts(selected);
    this.showSpectrum(selected.id);
  }

  showFacts(candidate) {
    this.detail.showCandidate(candidate);
    this.comment.show(candidate);
    this.cutout.show(candidate, this.isDetail);
    this.tagBar.show(candidate);
    this.yieldPlot.show(candidate.ranked ? candidate.rank : null);
  }

  async showSpectrum(id) {
    const ready = this.spectra.now(id);
    if (ready) this.detail.showSpectrum(ready);
    else await this.#waitForSpectrum(id);
    if (this.inspection.selected?.id === id) this.spectra.fetchAhead(this.inspection.comingUp());
  }

  async #waitForSpectrum(id) {
    const isWanted = () => this.inspection.selected?.id === id;
    const before = this.spectra.before(id);
    if (before) this.detail.showSpectrum(before);
    else if (!this.detail.isShowing(id)) this.detail.showNote("Loading the spectrum …");
    try {
      const spectrum = await this.spectra.get(id);
      if (isWanted()) this.detail.showSpectrum(spectrum);
    } catch (error) {
      if (!isWanted()) return;
      this.detail.showNote(`Cannot show the spectrum: ${error.message}`);
      this.onFailure(error);
    }
  }

  async refreshNumbers() {
    try {
      const [progress, curve] = await Promise.all([api.progress(), api.yieldCurve()]);
      showProgress(progress);
      this.yieldPlot.setCurve(curve);
    } catch (error) {
      this.onFailure(error);
    }
  }

  #describeSession(session) {
    byId("survey").textContent = placeOf(session);
    byId("person").textContent = session.person;
    byId("blind").hidden = !session.blind;
    byId("leave").hidden = !session.start_page;
    fillHelp(session);
    if (session.examples_lost) this.#tellProblems(session.problems);
    this.#problems = new Set(session.problems); // those of one's own selection are told in the help
    this.#showOrder();
  }

  #tellProblems(problems) {
    for (const problem of problems) if (!this.#problems.has(problem)) insist(problem);
    this.#problems = new Set(problems);
  }

  #showOrder() {
    byId("order").firstChild.textContent = `${ORDERS[this.inspection.session.order]} `;
  }

  // -- what happens --

  #listenToInspection() {
    const on = (kind, act) => this.inspection.addEventListener(kind, ({ detail }) => act(detail));
    on("selected", () => this.showSelected());
    on("changed", (id) => this.onChanged(id));
    on("listed", () => this.onListed());
    on("saved", (detail) => this.onSaved(detail));
    on("refused", (detail) => this.onRefused(detail));
    on("waiting", ({ error }) => warn(waitingWords(this.inspection.queue.entries.length, error)));
    on("resumed", () => clearWarning());
    on("relearning", () => byId("relearn").setAttribute("aria-busy", "true"));
    on("reranked", (change) => this.onReranked(change));
    on("failed", (error) => this.onFailure(error));
  }

  onChanged(id) {
    this.rankList.update(id);
    this.grid.update(id);
    if (this.inspection.candidates.withId(id)?.tags?.length) this.listBar.showTags();
    if (this.inspection.selected?.id === id) this.showFacts(this.inspection.selected);
  }

  onListed() {
    if (this.#revision !== this.inspection.candidates.revision) this.#onNewRanking();
    this.listBar.show();
    this.rankList.outdate();
    if (!this.inspection.selected) return;
    this.grid.show();
    this.showSelected();
  }

  /** Contributions, nearest known examples and the yield are others now. */
  #onNewRanking() {
    this.#revision = this.inspection.candidates.revision;
    this.spectra.outdate();
    this.grid.outdate();
    this.refreshNumbers();
    this.people.show();
  }

  onSaved({ entry, id }) {
    clearWarning();
    const said = entry.path === "/api/undo" ? "undone" : `saved: ${wordOf(entry.body.label)}`;
    announce(`${id} ${said}`);
    if (!this.inspection.queue.entries.length) this.#refreshProgress();
  }

  async #refreshProgress() {
    try {
      showProgress(await api.progress());
    } catch (error) {
      this.onFailure(error);
    }
    this.inspection.catchUp();
  }

  onRefused({ entry, error }) {
    if (entry.path === "/api/undo" && error.status === 404) return announce("Nothing left to undo.");
    const what = entry.path === "/api/undo" ? "The undo" : `The label “${wordOf(entry.body.label)}” of ${entry.id}`;
    insist(`${what} was refused and is NOT saved: ${error.message}`);
  }

  onReranked(change) {
    byId("relearn").removeAttribute("aria-busy");
    if (!change) return;
    const above = this.inspection.candidates.slice(0, this.inspection.position).filter(isUninspected);
    showChange(change, above.length);
    this.#tellProblems(change.problems);
  }

  /** Tells what went wrong; when the server is gone, watches for it to come back. */
  onFailure(error) {
    const isAway = error instanceof api.ServerGone || error.status === 401 || error.status === 403;
    if (!isAway) return insist(error.message);
    warn(waitingWords(this.inspection.queue.entries.length, error));
    this.#watching ??= setInterval(() => this.#lookForServer(), RETRY);
  }

  async #lookForServer() {
    try {
      await api.session();
    } catch {
      return;
    }
    clearInterval(this.#watching);
    this.#watching = null;
    clearWarning();
    this.#readAgain();
  }

  /** The list; or the whole page, where another survey was opened at this address meanwhile. */
  async #readAgain() {
    const { start_page: hasStartPage, home } = this.inspection.session;
    if (hasStartPage && (await isElsewhere(home))) location.reload();
    else this.inspection.reload();
  }

  // -- what is pressed --

  #listenToUser() {
    listen((action, key) => this.act(action, key));
    listenToMenus();
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-action]");
      if (!button) return;
      if (event.detail) button.blur(); // after a mouse, Space is again the key for the next candidate
      this.act(button.dataset.action);
    });
    window.addEventListener("focus", () => this.#readAgain()); // others may have labelled meanwhile
    window.addEventListener("beforeunload", (event) => {
      if (this.inspection.queue.entries.length) event.preventDefault();
    });
  }

  act(action, key) {
    if (!LABELS.includes(action)) this.#actions[action](key);
    else if (!this.inspection.label(action)) announce("Nothing is shown, so nothing was labelled.");
  }

  #actions = {
    next: () => this.inspection.move(1),
    previous: () => this.inspection.move(-1),
    up: () => (this.isDetail ? this.inspection.move(-1) : this.grid.moveRows(-1)),
    down: () => (this.isDetail ? this.inspection.move(1) : this.grid.moveRows(1)),
    uninspected: () => this.inspection.nextUninspected() || announce("Every candidate in the list has a label."),
    best: () => this.inspection.bestUninspected() || announce("Every candidate in the list has a label."),
    "first-page": () => this.grid.firstPage(),
    "next-page": () => this.grid.turn(1),
    "previous-page": () => this.grid.turn(-1),
    filter: () => this.listBar.focus(),
    "show-all": () => this.listBar.clear(),
    "go-to": () => this.goTo.show(),
    grid: () => this.setView("grid"),
    detail: () => this.setView("detail"),
    undo: () => this.inspection.undo(),
    comment: () => {
      this.setView("detail");
      this.comment.focus();
    },
    "copy-id": () => copyId(this.inspection.selected),
    "copy-degrees": () => copyDegrees(this.inspection.selected),
    "copy-sexagesimal": () => copySexagesimal(this.inspection.selected),
    "find-column": () => {
      this.setView("detail");
      this.detail.findColumn();
    },
    tag: (key) => this.tagBar.toggleNumber(Number(key)),
    "new-tag": () => {
      this.setView("detail");
      this.tagBar.focus();
    },
    export: () => this.exportDialog.show().catch((error) => this.onFailure(error)),
    smoother: () => this.#redrawn(() => this.settings.smooth(1)),
    rougher: () => this.#redrawn(() => this.settings.smooth(-1)),
    known: () => this.#redrawn(() => this.settings.toggle("known")),
    errors: () => this.#redrawn(() => this.settings.toggle("errors")),
    contribution: () => this.#redrawn(() => this.settings.toggle("contribution")),
    lines: () => this.#redrawn(() => this.settings.toggle("lines")),
    species: () => this.species.show(),
    "next-overlay": () => this.#stepOverlay(1),
    "previous-overlay": () => this.#stepOverlay(-1),
    residual: () => this.#redrawn(() => this.settings.toggle("residual")),
    same: () => this.#redrawn(() => this.settings.toggle("same")),
    "redshift-down": () => this.detail.redshift.nudge(-1),
    "redshift-up": () => this.detail.redshift.nudge(1),
    "redshift-far-down": () => this.detail.redshift.nudge(-20),
    "redshift-far-up": () => this.detail.redshift.nudge(20),
    "save-plot": () => this.detail.saver.show(),
    "zoom-in": () => this.detail.change((zoom) => zoom.scaleWavelengths(0.7)),
    "zoom-out": () => this.detail.change((zoom) => zoom.scaleWavelengths(1 / 0.7)),
    "pan-left": () => this.detail.change((zoom) => zoom.move(-0.25)),
    "pan-right": () => this.detail.change((zoom) => zoom.move(0.25)),
    "reset-zoom": () => this.detail.change((zoom) => zoom.reset()),
    relearn: () => this.inspection.relearn(),
    order: () => this.#changeOrder(),
    disagreements: () => this.disagreements.show().catch((error) => this.onFailure(error)),
    help: () => showHelp(),
    leave: () => leaveSurvey(this.inspection.queue).catch((error) => this.onFailure(error)),
  };

  #redrawn(change) {
    change();
    this.detail.draw();
  }

  /** Whoever asks for another overlay wants to see it. */
  #stepOverlay(by) {
    if (!this.settings.known) this.settings.toggle("known");
    this.detail.overlay.step(by);
  }

  async #changeOrder() {
    const { order } = this.inspection.session;
    if (isSorted(this.inspection.candidates.choice)) this.listBar.unsort();
    await this.inspection.setOrder(order === "likely" ? "informative" : "likely");
    this.#showOrder();
    announce(`${ORDERS[this.inspection.session.order]}.`);
  }

  #markPeople(ids) {
    for (const id of ids) {
      this.rankList.update(id);
      this.grid.update(id);
    }
  }

  #open(id) {
    this.setView("detail");
    if (!this.inspection.selectId(id)) insist(`${id} is not on this list.`);
  }
}

async function open() {
  try {
    const session = await api.session();
    const page = new Page(session, await api.wavelength(), new Candidates());
    await page.start();
  } catch (error) {
    warn(`The page cannot start: ${error.message}`);
    throw error;
  }
}

open();
