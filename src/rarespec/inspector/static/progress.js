// How far the inspection has come, in one line.

import { byId, number } from "./text.js";

export function showProgress({ inspected, found, refused, unsure, bad, expected_remaining: remaining, suggestion }) {
  byId("progress-counts").textContent =
    `Inspected ${inspected}: ${found} found, ${refused} no, ${unsure} unsure, ${bad} bad data`;
  byId("progress-bar").hidden = !remaining;
  byId("progress-bar").value = remaining && found + remaining[1] > 0 ? found / (found + remaining[1]) : 0;
  byId("progress-remaining").textContent = remaining
    ? `about ${number(remaining[1], 0)} expected to remain (${number(remaining[0], 0)} to ${number(remaining[2], 0)})`
    : "no estimate of how many remain";
  byId("progress-suggestion").textContent = suggestion;
}

/** What a re-rank has done. */
export function showChange(change, nAbove) {
  const moved = Object.values(change.moved);
  const news = moved.filter(([old]) => old === null).length;
  const parts = [`Re-ranked with ${change.n_yes} yes, ${change.n_no} no: ${moved.length} moved`];
  if (news) parts.push(`${news} new`);
  if (nAbove) parts.push(`${nAbove} uninspected above (⇧I)`);
  byId("change").textContent = parts.join(", ");
  byId("change").title = `Revision ${change.revision}, ranked in ${number(change.seconds, 2)} s`;
}
