"use strict";
// Tables sort by a click on a header and filter by text; without this script they stand as they are.

// What is said in an element, its parts kept apart and links left out, as one would type it.
const said = (node) => {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  return node.matches(".links") ? "" : [...node.childNodes].map(said).join(" ");
};
const typed = (text) => text.normalize("NFKC").replaceAll("−", "-").toLowerCase();

for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const texts = new Map(rows.map((row) => [row, typed(said(row))]));
  const headers = [...table.tHead.rows[0].cells];

  const compare = (column, sign) => (a, b) => {
    const [x, y] = [a, b].map((row) => row.cells[column]);
    const [p, q] = [x, y].map((cell) => ("key" in cell.dataset ? Number(cell.dataset.key) : NaN));
    const words = headers[column].dataset.words;
    if (words) return sign * x.textContent.localeCompare(y.textContent, "en", { numeric: true });
    if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q); // what has no value is last either way
    return sign * (p - q);
  };

  const sort = (column) => {
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    const order = next[headers[column].getAttribute("aria-sort")];
    headers.forEach((header) => header.setAttribute("aria-sort", "none"));
    headers[column].setAttribute("aria-sort", order);
    const sorted = order === "none" ? rows : [...rows].sort(compare(column, order === "ascending" ? 1 : -1));
    body.append(...sorted);
  };

  headers.forEach((header, column) => {
    if (!rows.some((row) => "key" in row.cells[column].dataset)) header.dataset.words = "yes";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });

  const tools = document.createElement("p");
  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("output");
  field.type = "search";
  field.setAttribute("aria-label", "Filter: " + table.caption.textContent);
  label.append("Filter ", field);
  tools.className = "tools";
  tools.append(label, count);
  const filter = () => {
    const words = typed(field.value).split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => texts.get(row).includes(word));
    const shown = rows.filter((row) => !row.hidden).length;
    const all = rows.length === 1 ? "1 row" : rows.length + " rows";
    count.textContent = shown === rows.length ? all : shown + " of " + all;
  };
  field.addEventListener("input", filter);
  table.parentElement.before(tools);
  filter();
}

// While a sweep runs the page loads itself anew, but not under the hands of a reader.
const seconds = Number(document.body.dataset.refresh);
const isRead = () =>
  document.querySelector("details[open]:not([data-shown]), [aria-sort=ascending], [aria-sort=descending]") ||
  [...document.querySelectorAll("input")].some((field) => field.value);
if (seconds) setInterval(() => isRead() || location.reload(), 1000 * seconds);

// A link to what lies in a closed part opens it, in browsers that do not do so by themselves.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  target?.scrollIntoView();
};
addEventListener("hashchange", unfold);
addEventListener("click", (event) => {
  if (event.target.closest?.("a")?.getAttribute("href") === location.hash) unfold(); // the same link once more
});
if (location.hash) unfold();

// Printed is all there is, in browsers whose sheets leave out what is closed too.
const closed = [];
addEventListener("beforeprint", () => {
  closed.push(...document.querySelectorAll("details:not([open])"));
  for (const part of closed) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of closed.splice(0)) part.open = false;
});

// Where experiments are lines to open, a button opens all of them, and closes them again.
const folds = [...document.querySelectorAll(".fold")];
if (folds.length > 4) {
  const button = document.createElement("button");
  const name = () => (button.textContent = folds.every((fold) => fold.open) ? "Close all sections" : "Open all sections");
  button.type = "button";
  button.className = "all";
  button.addEventListener("click", () => {
    const open = !folds.every((fold) => fold.open);
    for (const fold of folds) fold.open = open;
    name();
  });
  name();
  document.querySelector("nav").append(button);
}
