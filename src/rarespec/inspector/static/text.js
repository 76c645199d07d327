// Small pieces of page made of plain text: nothing here ever reads text as markup.

export const byId = (id) => document.getElementById(id);

/** An element with this text; `content` may also be a list of elements and texts. */
export function element(tag, content = "", className = "") {
  const made = document.createElement(tag);
  made.append(...[content].flat().map((part) => part ?? ""));
  if (className) made.className = className;
  return made;
}

/** Rows of a definition list, [[term, content], ...]. */
export function fillDefinitions(list, rows) {
  list.replaceChildren(...rows.flatMap(([term, content]) => [element("dt", String(term)), element("dd", content)]));
}

/** A link to another site; plain text unless its address is one of the web. */
export function outsideLink(name, url) {
  if (!/^https?:\/\//i.test(url)) return element("span", name);
  const link = element("a", name);
  Object.assign(link, { href: url, target: "_blank", rel: "noopener noreferrer" });
  return link;
}

/** A number, or a dash for what is not known. */
export function number(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "–";
}

export function percent(share) {
  return Number.isFinite(share) ? `${Math.round(100 * share)} %` : "–";
}
