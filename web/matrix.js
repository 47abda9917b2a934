// The links between switches as a matrix: one row for each switch below, one column for each above.
import { h } from "./dom.js";
import { byName, count, percent } from "./format.js";
import { isUp } from "./facts.js";
import { hrefOf } from "./route.js";

// Cells with a number in them are wider.
const NUMBERED_COLUMNS_MAX = 16;
const STEPS = 5;

// Which cell of each matrix the tab key leads to.
const current = new Map();

// Both directions of a cable, and parallel cables, are one cell.
function rowsOf(cells) {
  const rows = new Map();
  for (const { below, above, links } of cells) {
    if (!rows.has(below)) rows.set(below, new Map());
    rows.get(below).set(above, links);
  }
  return rows;
}

// Links that are not up first, then the fullest.
function weightOf(links, shareOf) {
  return links.reduce((most, link) => Math.max(most, isUp(link) ? shareOf(link) : link.state === "down" ? 3 : 2), 0);
}

function describe(links, shareOf) {
  return [...links]
    .sort((a, b) => byName(a.name, b.name))
    .map((link) => `${link.name}: ${percent(shareOf(link))} of the fullest, ${link.state}${link.health === 1 ? "" : `, ${percent(link.health)} of its speed left`}, ${count(link.queue_pairs)} queue pairs`)
    .join("; ");
}

function step(share) {
  return share === 0 ? 0 : Math.min(STEPS - 1, 1 + Math.floor(share * (STEPS - 1) - 1e-9));
}

function cell(links, { shareOf, isNumbered, isCurrent, onShow }) {
  const shown = links.reduce((most, link) => (weightOf([link], shareOf) > weightOf([most], shareOf) ? link : most));
  const share = shareOf(shown);
  const text = describe(links, shareOf);
  const sign = isUp(shown) ? "" : shown.state === "down" ? "✕" : "!";
  return h("a", {
    href: hrefOf("link", shown.name),
    class: `cell load${step(share)} ${isUp(shown) ? "" : "not-up"}`.trim(),
    tabindex: isCurrent ? "0" : "-1",
    "aria-label": text,
    onmouseenter: () => onShow(text),
    onfocus: () => onShow(text),
  }, sign || (isNumbered ? String(Math.round(share * 100)) : ""));
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Arrow keys go from cell to cell; the tab key leaves the matrix.
function move(event, tier) {
  const step = MOVES[event.key];
  const from = event.target.closest("td");
  if (!step || !from) return;
  let [row, column] = [from.parentElement.rowIndex + step[0], from.cellIndex + step[1]];
  const rows = event.currentTarget.rows;
  while (row > 0 && row < rows.length && column > 0 && column < rows[row].cells.length) {
    const next = rows[row].cells[column].querySelector("a");
    if (next) {
      event.preventDefault();
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      current.set(tier, next.closest("td").dataset.cell);
      next.focus();
      return;
    }
    row += step[0];
    column += step[1];
  }
}

const scale = h("p", { class: "scale" }, "Load by capacity, relative to the fullest link: ",
  ["0", "to 25", "to 50", "to 75", "to 100 %"].map((text, i) => h("span", { class: `cell load${i}` }, text)),
  h("span", { class: "cell load0 not-up" }, "✕"), " down ", h("span", { class: "cell load0 not-up" }, "!"), " degraded or in doubt");

// Args: matrix: of a large fabric, the rows and columns that matter most.
function matrixOf(matrix, shareOf) {
  const { tier } = matrix;
  const rows = rowsOf(matrix.cells);
  const shownRows = [...rows.keys()].sort(byName);
  const shownColumns = [...new Set(matrix.cells.map(({ above }) => above))].sort(byName);
  const isNumbered = shownColumns.length <= NUMBERED_COLUMNS_MAX;
  const first = shownRows.flatMap((below) => shownColumns.filter((above) => rows.get(below).has(above)).map((above) => `${below} ${above}`));
  const currentCell = first.includes(current.get(tier)) ? current.get(tier) : first[0];
  const valueId = `value-${tier}`;
  const onShow = (text) => {
    document.getElementById(valueId).textContent = text;
  };
  const isPart = matrix.rows > shownRows.length || matrix.columns > shownColumns.length;
  return h("div", { key: tier, class: "matrix" },
    isPart && h("p", { class: "hint" }, `${shownRows.length} of ${count(matrix.rows)} rows and ${shownColumns.length} of ${count(matrix.columns)} columns: ` +
      "those with links that are not up, then those with the fullest links."),
    h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Matrix of ${tier} links` },
      h("table", { onkeydown: (event) => move(event, tier) },
        h("caption", { class: "unseen" }, `${tier}: from the row's switch to the column's and back; arrow keys move`),
        h("thead", {}, h("tr", {}, h("td", {}), shownColumns.map((above) => h("th", { key: above, scope: "col" }, h("span", {}, above))))),
        h("tbody", {}, shownRows.map((below) => h("tr", { key: below }, h("th", { scope: "row" }, below),
          shownColumns.map((above) => {
            const links = rows.get(below).get(above);
            const name = `${below} ${above}`;
            return h("td", { key: above, "data-cell": name }, links && cell(links, { shareOf, isNumbered, isCurrent: name === currentCell, onShow }));
          })))))),
    h("p", { id: valueId, class: "hint value" }, "Point at a cell, or go there with the arrow keys, to read its values."));
}

// Of all tiers of switches.
export function matrices({ matrices: all, shareOf }) {
  if (all.length === 0) return h("p", { class: "hint" }, "There is no link between switches.");
  return [scale, ...all.map((matrix) => matrixOf(matrix, shareOf))];
}
