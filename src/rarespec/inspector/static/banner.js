// The banners for what must not be overlooked, and the quiet line that says what was saved.

import { ServerGone } from "./api.js";
import { byId } from "./text.js";

/** Stays until `clearWarning` is called: the server is gone, labels are waiting. */
export function warn(words) {
  if (byId("warning").textContent !== words) byId("warning").textContent = words;
  byId("warning").hidden = false;
}

export function clearWarning() {
  byId("warning").hidden = true;
}

/** Stays until it is closed by hand: something was refused. What is there already stays readable. */
export function insist(words) {
  const earlier = byId("notice").hidden ? [] : [byId("notice-words").textContent];
  byId("notice-words").textContent = [...earlier, words].join(" · ");
  byId("notice").hidden = false;
}

export function announce(words) {
  byId("saved").textContent = words;
}

/** Why nothing can be saved or read now, and how many labels wait. */
export function waitingWords(n, error) {
  const waiting = n === 1 ? "1 label is not saved yet; trying again." : `${n} labels are not saved yet; trying again.`;
  return `${reasonOf(error)} ${n ? waiting : "Trying again."}`;
}

function reasonOf(error) {
  if (error instanceof ServerGone) return "The server does not answer. Is “rarespec inspect” still running?";
  const isLockedOut = error.status === 401 || error.status === 403;
  if (isLockedOut) return "The server no longer accepts this page; open the address that it printed.";
  return `The server reports an error: ${error.message}.`;
}

byId("notice-close").addEventListener("click", () => {
  byId("notice").hidden = true;
});
