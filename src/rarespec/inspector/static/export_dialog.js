// The labels as a file, or sent to TOPCAT.

import * as api from "./api.js";
import { byId, element } from "./text.js";

export class ExportDialog {
  #inspection;

  constructor(inspection) {
    this.#inspection = inspection;
    byId("export-file").addEventListener("click", () => this.#attempted(() => this.#download()));
    byId("export-send").addEventListener("click", () => this.#attempted(() => this.#send()));
  }

  /** tags : names of those that can be chosen */
  async show() {
    await this.#inspection.queue.drained(); // a label that waits would be missing
    const { tags } = await api.session();
    byId("export-tag").replaceChildren(option("", "any"), ...tags.map((tag) => option(tag, tag)));
    byId("export-state").textContent = "";
    byId("export").showModal();
  }

  async #download() {
    const { name, content } = await api.exportLabels(byId("export-format").value, this.#wanted());
    const link = element("a");
    Object.assign(link, { href: URL.createObjectURL(content), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be writing
    return `Saved as ${name}.`;
  }

  async #send() {
    byId("export-state").textContent = "Sending …";
    const { n, sent, problems } = await api.sendLabels(this.#wanted());
    const told = sent.length ? [`${n} ${n === 1 ? "label" : "labels"} sent to ${sent.join(", ")}.`] : [];
    return [...told, ...problems].join(" ");
  }

  #wanted() {
    return { only: byId("export-only").value, tag: byId("export-tag").value };
  }

  async #attempted(work) {
    try {
      byId("export-state").textContent = await work();
    } catch (error) {
      byId("export-state").textContent = `That did not work: ${error.message}`;
    }
  }
}

function option(value, words) {
  const made = element("option", words);
  made.value = value;
  return made;
}
