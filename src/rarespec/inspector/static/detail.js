// The detail view: everything about one candidate.

import { CataloguePanel } from "./catalogue.js";
import { opinions } from "./disagreements.js";
import { mark } from "./label_marks.js";
import { entriesOf, Legend } from "./legend.js";
import { marksAt, skyAt } from "./line_marks.js";
import { OverlayChoice } from "./overlays.js";
import { Pointer } from "./pointer.js";
import { RedshiftField } from "./redshift_field.js";
import { SameObject } from "./same_object.js";
import { PlotSaver } from "./save_plot.js";
import { written } from "./scale.js";
import { SpectrumPlot } from "./spectrum_plot.js";
import { byId, fillDefinitions, number, outsideLink, percent } from "./text.js";

const TOGGLES = ["known", "errors", "contribution", "lines", "residual", "same"];

export class Detail {
  #session;
  #settings;
  #plot;
  #pointer;
  #catalogue;
  #wavelength;
  #same;
  #legend = new Legend(byId("legend"));
  #candidate = null;
  #spectrum = null;

  constructor(session, settings, wavelength, onFailure) {
    this.#session = session;
    this.#settings = settings;
    this.#catalogue = new CataloguePanel(session.units);
    this.#wavelength = wavelength;
    const redraw = () => this.draw();
    this.redshift = new RedshiftField(session, redraw, onFailure);
    this.overlay = new OverlayChoice(session, redraw);
    this.#same = new SameObject(redraw);
    this.#plot = new SpectrumPlot(byId("spectrum"), wavelength);
    this.saver = new PlotSaver(this.#plot, () => this.#caption());
    const say = (words) => (byId("readout").textContent = words);
    this.#pointer = new Pointer(this.#plot, byId("crosshair"), say, () => this.redshift.value);
  }

  /** What the list says of it; its spectrum follows with `showSpectrum`. */
  showCandidate(candidate) {
    this.#candidate = candidate;
    this.redshift.show(candidate);
    byId("object-id").textContent = candidate.id;
    byId("object-label").replaceChildren(...standing(candidate));
    fillDefinitions(byId("object-facts"), factsOf(candidate));
    byId("object-others").textContent = othersWords(candidate, this.#session.blind);
    for (const button of document.querySelectorAll(".say"))
      button.setAttribute("aria-pressed", String(button.dataset.action === candidate.label));
  }

  showSpectrum(spectrum) {
    this.#spectrum = spectrum;
    byId("plot-note").hidden = true;
    byId("object-links").replaceChildren(...spectrum.links.map(({ name, url }) => outsideLink(name, url)));
    this.#catalogue.show(spectrum.facts);
    this.draw();
  }

  findColumn() {
    this.#catalogue.focusSearch();
  }

  isShowing(id) {
    return byId("plot").dataset.shown === id;
  }

  /** Instead of a spectrum that is not here (yet). */
  showNote(words) {
    byId("plot-note").textContent = words;
    byId("plot-note").hidden = false;
    byId("plot").removeAttribute("data-shown");
  }

  change(how) {
    how(this.#plot.zoom);
    this.#plot.redraw();
    this.#pointer.refresh();
  }

  draw() {
    this.#showSettings();
    if (!this.#spectrum || this.#spectrum.id !== this.#candidate.id) return;
    const content = this.#content();
    byId("spectrum").setAttribute("aria-label", this.#described(content));
    this.#legend.show(entriesOf(content));
    this.#same.show(this.#settings.same, (i) => this.#legend.sample(`other-${i}`));
    // Drawing asks for sizes, and so for the layout of the page: once, after all that changes it.
    this.#plot.draw(content);
    this.#legend.draw();
    this.#pointer.refresh();
    byId("plot").dataset.shown = this.#spectrum.id;
  }

  #content() {
    const spectrum = this.#spectrum, { sigma, known, errors, contribution, residual, same } = this.#settings;
    return {
      spectrum,
      sigma,
      overlay: this.overlay.of(spectrum, this.#wavelength, this.redshift.value),
      others: same ? this.#same.curves(spectrum, this.#wavelength) : [],
      showOverlay: known,
      showErrors: errors,
      showContribution: contribution,
      showResidual: residual,
      ...this.#lines(),
    };
  }

  /** Of a picture that is saved. */
  #caption() {
    const { id } = this.#spectrum, { class: kind, subclass, snr } = this.#candidate;
    const said = [[kind, subclass].filter(Boolean).join(" "), `z = ${Number(this.redshift.value.toFixed(6))}`];
    if (Number.isFinite(snr)) said.push(`S/N ${number(snr, 1)}`);
    return { id, title: [id, ...said.filter(Boolean), this.#session.survey].join("  ·  "), entries: entriesOf(this.#plot.content) };
  }

  #lines() {
    const { species, sky, rest_frame: isRestFrame } = this.#session;
    if (!this.#settings.lines) return { marks: [], sky: [] };
    const marks = marksAt(species, (name) => this.#settings.isShown(name), this.redshift.value);
    return { marks, sky: skyAt(sky, isRestFrame, this.#candidate.z) };
  }

  #showSettings() {
    const { sigma } = this.#settings;
    byId("smoothing").textContent = sigma ? `σ ${sigma} px` : "raw";
    for (const name of TOGGLES) byId(`show-${name}`).setAttribute("aria-pressed", String(this.#settings[name]));
  }

  /** The drawing in words, for those who do not see it. */
  #described({ overlay, others }) {
    const { sigma, known, errors, contribution, lines, residual } = this.#settings;
    const parts = [`Spectrum of ${this.#spectrum.id}`, sigma ? `smoothed by ${sigma} pixels` : "not smoothed"];
    if (errors) parts.push("with errors");
    if (known && overlay.flux) parts.push(`with the ${overlay.words}`);
    if (residual && overlay.flux) parts.push("with the residual");
    const n = others.filter(Boolean).length;
    if (n) parts.push(`with ${n} other ${n === 1 ? "spectrum" : "spectra"} of the same object`);
    if (contribution) parts.push("with the contribution to the score at each wavelength");
    if (lines) parts.push(`with lines at redshift ${written(this.redshift.value)}`);
    return parts.join(", ");
  }
}

function standing(candidate) {
  if (!candidate.label) return ["Not inspected yet"];
  const comment = candidate.comment ? ` “${candidate.comment}”` : "";
  const tags = candidate.tags?.length ? ` [${candidate.tags.join(", ")}]` : "";
  return [mark(candidate), candidate.saving ? " saving" : " saved", tags, comment];
}

function othersWords({ label, others, remarks, others_tags: tags, disagree }, isBlind) {
  if (isBlind && !label) return "Hidden until you label this spectrum.";
  return (opinions(others ?? {}, remarks, tags) || "Nobody else has labelled this spectrum.") + (disagree ? ". People disagree (≠)." : "");
}

function factsOf(candidate) {
  const kind = [candidate.class, candidate.subclass].filter(Boolean).join(" ");
  const flags = [candidate.flags].flat().filter(Boolean).join(", ");
  return [
    ["rank", rankWords(candidate)],
    ["chance", percent(candidate.chance)],
    ["score", number(candidate.score, 4)],
    ["class", kind || "–"],
    ["z", number(candidate.z, 5)],
    ["S/N", number(candidate.snr, 1)],
    ["flags", flags || "none"],
    ["RA, Dec", `${number(candidate.ra, 5)}, ${number(candidate.dec, 5)}`],
    ["nearest known", candidate.nearest_known || "–"],
  ];
}

/** Ranks count those without a label alone, so that labelling moves nobody. */
function rankWords({ rank, ranked, moved }) {
  if (!ranked) return rank ? `${rank} when labelled` : "–";
  return moved && moved !== rank ? `${rank}, was ${moved}` : String(rank);
}
