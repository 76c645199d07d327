// How labels are written everywhere: a sign, a letter and a word, so that colour is never the only one.

export const LABELS = ["yes", "no", "unsure", "bad"];
export const SIGNS = { yes: "✓", no: "✗", unsure: "?", bad: "⚠" };
export const WORDS = { yes: "yes", no: "no", unsure: "unsure", bad: "bad data" };

/** A small element that says which label a candidate has, and whether it is saved. */
export function mark(candidate) {
  const element = document.createElement("b");
  element.className = "mark";
  if (!candidate.label) return element;
  if (WORDS[candidate.label]) element.classList.add(candidate.label);
  const words = [SIGNS[candidate.label] ?? "•", wordOf(candidate.label), candidate.saving ? "…" : ""];
  element.textContent = words.filter(Boolean).join(" ");
  element.classList.toggle("saving", Boolean(candidate.saving));
  return element;
}

/** The sign alone. */
export function shortMark(candidate) {
  const element = mark(candidate);
  element.classList.add("short");
  element.textContent = candidate.label ? (SIGNS[candidate.label] ?? "•") + (candidate.saving ? "…" : "") : "";
  return element;
}

export function wordOf(label) {
  return WORDS[label] ?? String(label);
}

/** "▲ 9": it rose by nine ranks; empty when it stayed. Its place in the list is another number than its rank. */
export function movedWords({ moved: old, rank }) {
  if (!old || !rank || old === rank) return "";
  return `${old > rank ? "▲" : "▼"} ${Math.abs(old - rank)}`;
}
