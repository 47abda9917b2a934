// Rows of tables. All text goes in as text: names come from strangers.

export function element(tag, text = "", className = "") {
  const node = document.createElement(tag);
  if (text !== "") node.textContent = text;
  if (className) node.className = className;
  return node;
}

// Replaces a table's rows. A cell is a text, a number (set right), or an element.
export function fill(table, rows, whenEmpty) {
  const body = document.createDocumentFragment();
  for (const cells of rows) {
    const row = element("tr");
    for (const cell of cells) {
      const holder = element("td", "", typeof cell === "number" ? "number" : "");
      holder.append(cell instanceof Node ? cell : String(cell));
      row.append(holder);
    }
    body.append(row);
  }
  if (rows.length === 0) {
    const holder = element("td", whenEmpty, "empty");
    holder.colSpan = table.tHead.rows[0].cells.length;
    const row = element("tr");
    row.append(holder);
    body.append(row);
  }
  table.tBodies[0].replaceChildren(body);
}

// A bar for a fraction of 0 to 1.
export function bar(fraction) {
  const frame = element("div", "", "bar");
  const filled = element("i");
  filled.style.width = `${Math.round(Math.min(1, Math.max(0, fraction)) * 100)}%`;
  frame.append(filled);
  return frame;
}
