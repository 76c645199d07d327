// The plot as a file: what is on the screen, in the colours of paper, with a title and the legend.

import { DrawingRecord } from "./drawing_record.js";
import { drawKey, KEY } from "./legend.js";
import { pdfFile } from "./pdf_file.js";
import { colours } from "./sharp_canvas.js";
import { svgFile } from "./svg_file.js";
import { byId } from "./text.js";

const HEAD = 46; // CSS pixels above the plot for title and legend
const SHARPNESS = 2; // pixels of a PNG for each CSS pixel
const TITLE = "600 13px system-ui, sans-serif", WORDS = "11px system-ui, sans-serif";

export class PlotSaver {
  #plot;
  #describe;

  /** describe() -> {id, title, entries} of what is drawn. */
  constructor(plot, describe) {
    this.#plot = plot;
    this.#describe = describe;
    for (const button of document.querySelectorAll("[data-save]"))
      button.addEventListener("click", () => this.#save(button.dataset.save));
  }

  show() {
    if (this.#plot.content) byId("save-plot").showModal();
  }

  async #save(format) {
    byId("save-plot").close();
    const { id } = this.#describe();
    download(await this.#file(format), `${fileName(id)}.${format}`);
  }

  async #file(format) {
    const { clientWidth: width, clientHeight: tall } = byId("spectrum"), height = tall + HEAD;
    const paper = colours(byId("paper"));
    if (format === "png") return this.#png(width, height, paper);
    const record = new DrawingRecord();
    this.#paint(record, width, height, paper);
    if (format === "svg") return new Blob([svgFile(record.operations, width, height, paper.surface)], { type: "image/svg+xml" });
    return new Blob([pdfFile(record.operations, width, height, paper.surface)], { type: "application/pdf" });
  }

  #png(width, height, paper) {
    const canvas = Object.assign(document.createElement("canvas"), { width: SHARPNESS * width, height: SHARPNESS * height });
    const context = canvas.getContext("2d");
    context.scale(SHARPNESS, SHARPNESS);
    context.fillStyle = paper.surface;
    context.fillRect(0, 0, width, height);
    this.#paint(context, width, height, paper);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  #paint(context, width, height, ink) {
    const { title, entries } = this.#describe();
    Object.assign(context, { font: TITLE, fillStyle: ink.ink, textAlign: "left" });
    context.fillText(title, 12, 18);
    paintLegend(context, entries, ink);
    context.save();
    context.translate(0, HEAD);
    this.#plot.paint(context, width, height - HEAD, ink);
    context.restore();
  }
}

function paintLegend(context, entries, ink) {
  let left = 12;
  for (const { kind, words } of entries) {
    if (kind !== "none") {
      drawKey(context, kind, ink, left, 27);
      left += KEY.width + 5;
    }
    Object.assign(context, { font: WORDS, fillStyle: ink.faint, textAlign: "left" });
    context.fillText(words, left, 37);
    left += context.measureText(words).width + 16;
  }
}

/** Letters that every file system takes. */
function fileName(id) {
  return id.normalize("NFKD").replace(/[^A-Za-z0-9._+-]+/g, "_").replace(/^[._]+/, "").slice(0, 100) || "spectrum";
}

function download(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
