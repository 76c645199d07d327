// Which key does what, and when a key press is meant for the page at all.

/** `once`: holding the key down does it one time only. `written`: how the help writes the keys, where not each of them. */
export const KEYS = [
  { group: "Label", keys: ["y"], action: "yes", says: "yes, it is one", once: true },
  { group: "Label", keys: ["n"], action: "no", says: "no, it is not", once: true },
  { group: "Label", keys: ["u"], action: "unsure", says: "unsure", once: true },
  { group: "Label", keys: ["b"], action: "bad", says: "bad data", once: true },
  { group: "Label", keys: ["z", "Ctrl+z"], action: "undo", says: "undo the last label", once: true },
  { group: "Label", keys: ["c"], action: "comment", says: "write a comment (Enter to save)", once: true },
  { group: "Label", keys: [..."123456789"], written: ["1", "…", "9"], action: "tag", says: "add or remove a tag", once: true },
  { group: "Label", keys: ["t"], action: "new-tag", says: "write a new tag (Enter to add)", once: true },
  { group: "Label", keys: ["Shift+e"], action: "export", says: "export or send the labels", once: true },
  { group: "Rank", keys: ["r"], action: "relearn", says: "re-rank now with the labels so far", once: true },
  { group: "Rank", keys: ["m"], action: "order", says: "most likely first, or most informative first", once: true },
  { group: "Rank", keys: ["d"], action: "disagreements", says: "where people disagree", once: true },
  { group: "Rank", keys: ["?"], action: "help", says: "this help", once: true },
  { group: "Move", keys: ["j", "ArrowRight", " "], action: "next", says: "next" },
  { group: "Move", keys: ["k", "ArrowLeft"], action: "previous", says: "previous" },
  { group: "Move", keys: ["i"], action: "uninspected", says: "next uninspected" },
  { group: "Move", keys: ["Shift+i"], action: "best", says: "best uninspected in the whole list" },
  { group: "Move", keys: ["a"], action: "go-to", says: "go to an id", once: true },
  { group: "Move", keys: ["/"], action: "filter", says: "filter the list by text", once: true },
  { group: "Move", keys: ["g", "Escape"], action: "grid", says: "show the grid", once: true },
  { group: "Move", keys: ["Enter"], action: "detail", says: "show one candidate in detail", once: true },
  { group: "Move", keys: ["ArrowUp"], action: "up", says: "up: one row of the grid, or previous" },
  { group: "Move", keys: ["ArrowDown"], action: "down", says: "down: one row of the grid, or next" },
  { group: "Move", keys: ["PageUp"], action: "previous-page", says: "previous page of the grid" },
  { group: "Move", keys: ["PageDown"], action: "next-page", says: "next page of the grid" },
  { group: "Draw", keys: ["+", "="], action: "smoother", says: "smooth more" },
  { group: "Draw", keys: ["-"], action: "rougher", says: "smooth less" },
  { group: "Draw", keys: ["o"], action: "known", says: "overlay: a known example or a template", once: true },
  { group: "Draw", keys: ["p"], action: "next-overlay", says: "next known example or template" },
  { group: "Draw", keys: ["Shift+p"], action: "previous-overlay", says: "previous known example or template" },
  { group: "Draw", keys: ["v"], action: "residual", says: "residual: spectrum minus overlay", once: true },
  { group: "Draw", keys: ["q"], action: "same", says: "other spectra of the same object", once: true },
  { group: "Draw", keys: [","], action: "redshift-down", says: "lower redshift, by 30 km/s" },
  { group: "Draw", keys: ["."], action: "redshift-up", says: "higher redshift, by 30 km/s" },
  { group: "Draw", keys: ["<"], action: "redshift-far-down", says: "lower redshift, by 600 km/s" },
  { group: "Draw", keys: [">"], action: "redshift-far-up", says: "higher redshift, by 600 km/s" },
  { group: "Draw", keys: ["Shift+s"], action: "save-plot", says: "save the plot as PNG, SVG or PDF", once: true },
  { group: "Draw", keys: ["e"], action: "errors", says: "error band", once: true },
  { group: "Draw", keys: ["w"], action: "contribution", says: "why: contribution of each wavelength to the score", once: true },
  { group: "Draw", keys: ["l"], action: "lines", says: "lines and bands", once: true },
  { group: "Draw", keys: ["Shift+l"], action: "species", says: "choose the species", once: true },
  { group: "Draw", keys: ["f"], action: "find-column", says: "find a column of the catalogue", once: true },
  { group: "Draw", keys: ["x"], action: "zoom-in", says: "zoom in" },
  { group: "Draw", keys: ["Shift+x"], action: "zoom-out", says: "zoom out" },
  { group: "Draw", keys: ["["], action: "pan-left", says: "move to shorter wavelengths" },
  { group: "Draw", keys: ["]"], action: "pan-right", says: "move to longer wavelengths" },
  { group: "Draw", keys: ["0"], action: "reset-zoom", says: "show the whole spectrum", once: true },
];

const BY_NAME = new Map(KEYS.flatMap((entry) => entry.keys.map((key) => [key, entry])));

/** Calls `act(action, key)` for each key press that means one. */
export function listen(act) {
  document.addEventListener("keydown", (event) => {
    const entry = BY_NAME.get(keyName(event));
    if (!entry || belongsElsewhere(event)) return;
    event.preventDefault();
    if (!(entry.once && event.repeat)) act(entry.action, event.key);
  });
}

/** "l", "Shift+l", "Ctrl+z", "ArrowUp", "?"; null for any other use of Ctrl, Alt or Meta. */
function keyName(event) {
  const letter = letterOf(event);
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) return letter === "z" && !event.shiftKey ? "Ctrl+z" : null;
  if (!letter) return event.key;
  return event.shiftKey ? `Shift+${letter}` : letter;
}

/** The same with Caps Lock, and by its place on the keyboard where the layout has no Latin letters. */
function letterOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  const isForeignLetter = event.key.length === 1 && event.key > "\x7f" && /^Key[A-Z]$/.test(event.code);
  return isForeignLetter ? event.code.slice(3).toLowerCase() : null;
}

function belongsElsewhere(event) {
  if (event.isComposing || document.querySelector("dialog[open]")) return true;
  const target = event.target.closest?.("input, textarea, select, [contenteditable], button, a[href], summary");
  // a closed dialog keeps the focus in its field until the browser draws again
  if (!target || target.closest("dialog")) return false;
  const isPressable = target.matches("button, a[href], summary");
  return !isPressable || event.key === "Enter" || event.key === " ";
}
