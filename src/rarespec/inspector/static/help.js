// The help: every key and what it does.

import { KEYS } from "./keys.js";
import { byId, element } from "./text.js";

const ARROWS = { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓" };
const WRITTEN = { ...ARROWS, " ": "Space", Escape: "Esc", "-": "−", "Ctrl+z": "Ctrl+Z" };

export function fillHelp(session) {
  const groups = grouped(KEYS);
  byId("help-keys").replaceChildren(...[...groups].map(([group, entries]) => section(group, entries)));
  const { method, n_listed: n, n_known: known, why, problems } = session;
  const ranked = `${n} spectra ranked by ${method} from ${known} known examples`;
  byId("help-session").textContent = [ranked, why, ...problems].filter(Boolean).join(": ");
}

export function showHelp() {
  byId("help").showModal();
}

function grouped(entries) {
  const groups = new Map();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  return groups;
}

function section(group, entries) {
  const rows = entries.flatMap(({ keys, written = keys, says }) => [
    element("dt", written.flatMap((key) => [element("kbd", writtenKey(key)), " "])),
    element("dd", says),
  ]);
  return element("section", [element("h3", group), element("dl", rows)]);
}

function writtenKey(key) {
  return WRITTEN[key] ?? key.replace(/^Shift\+(.)$/, (_, letter) => `⇧${letter.toUpperCase()}`);
}
