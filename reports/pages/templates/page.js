"use strict";
// Tables sort by a click on a header and filter by text; without this script they stand as they are.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
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
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? rows.length + " rows" : shown + " of " + rows.length + " rows";
  };
  field.addEventListener("input", filter);
  table.parentElement.before(tools);
  filter();
}
