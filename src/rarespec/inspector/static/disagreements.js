// Where people have said different things about the same spectrum.

import * as api from "./api.js";
import { SIGNS, wordOf } from "./label_marks.js";
import { byId, element } from "./text.js";

export async function showDisagreements(onChoose) {
  const found = await api.disagreements();
  byId("disagreement-list").replaceChildren(...found.map((one) => item(one, onChoose)));
  if (!found.length) byId("disagreement-list").append(element("li", "Nobody disagrees so far."));
  byId("disagreements").showModal();
}

function item({ id, labels, merged }, onChoose) {
  const button = element("button", id);
  button.addEventListener("click", () => {
    byId("disagreements").close();
    onChoose(id);
  });
  return element("li", [button, ` ${opinions(labels)}; together: ${merged ? wordOf(merged) : "undecided"}`]);
}

/** "ada ✓ yes, li ✗ no" */
export function opinions(labels) {
  const said = ([person, label]) => `${person} ${SIGNS[label] ?? "•"} ${wordOf(label)}`;
  return Object.entries(labels).map(said).join(", ");
}
