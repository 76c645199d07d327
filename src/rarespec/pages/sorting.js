// Headings of a table of the class "sortable" become buttons that sort it; without scripts they are plain headings.
"use strict";

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (!heading.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, headings, column));
    heading.append(button);
  });
}

function sortBy(table, headings, column) {
  const heading = headings[column];
  const first = heading.dataset.sort === "falling" ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const order = heading.getAttribute("aria-sort") === first ? other : first;
  for (const one of headings) one.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const valueOf = (row) => row.cells[column].textContent.trim();
  const compare = heading.dataset.sort === "text" ? compareText : compareNumbers;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, value: valueOf(row) }));
  rows.sort((a, b) => compare(a.value, b.value, order === "ascending" ? 1 : -1));
  body.append(...rows.map((one) => one.row));
}

// What is missing comes last in either order.
function compareNumbers(a, b, sign) {
  const [x, y] = [parseFloat(a), parseFloat(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
  return sign * (x - y);
}

function compareText(a, b, sign) {
  if (!a || !b) return !a - !b;
  return sign * a.localeCompare(b, undefined, { numeric: true });
}
