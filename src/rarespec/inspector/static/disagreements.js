// Where people have said different things about the same spectrum.

import * as api from "./api.js";
import { SIGNS, wordOf } from "./label_marks.js";
import { byId, element } from "./text.js";

/** isBlind : only those that one has labelled oneself are listed */
export async function showDisagreements(isBlind, onChoose) {
  const found = await api.disagreements();
  byId("disagreement-list").replaceChildren(...found.map((one) => item(one, onChoose)));
  if (!found.length) byId("disagreement-list").append(element("li", "No disagreements so far."));
  byId("disagreements-blind").hidden = !isBlind;
  byId("disagreements").showModal();
}

function item({ id, labels, remarks, merged }, onChoose) {
  const button = element("button", id);
  button.addEventListener("click", () => {
    byId("disagreements").close();
    onChoose(id);
  });
  return element("li", [button, ` ${opinions(labels, remarks)}; together: ${merged ? wordOf(merged) : "undecided"}`]);
}

/** "ada ✓ yes [dC] “C₂ bands”, li ✗ no" */
export function opinions(labels, remarks = {}, tags = {}) {
  const tagged = (person) => (Object.hasOwn(tags, person) ? ` [${tags[person].join(", ")}]` : "");
  const remark = (person) => (remarks[person] ? ` “${remarks[person]}”` : "");
  const said = ([person, label]) => `${person} ${SIGNS[label] ?? "•"} ${wordOf(label)}${tagged(person)}${remark(person)}`;
  return Object.entries(labels).map(said).join(", ");
}
