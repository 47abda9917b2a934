// The links between switches as a matrix: one row for each switch below, one column for each above.
import { element } from "./table.js";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 18;
const ROWS_MAX = 64;

// "leaf2" before "leaf10".
const byName = new Intl.Collator("en", { numeric: true }).compare;

function colour(fraction) {
  return `hsl(${210 - 190 * fraction} 75% ${88 - 40 * fraction}%)`;
}

// Both directions of a cable, parallel cables together: the fuller one is shown.
function cell(links, loadMax) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", SIZE);
  svg.setAttribute("height", SIZE);
  const isUp = links.every((link) => link.state === "up" && link.health === 1);
  const fullest = Math.max(...links.map((link) => link.load / link.capacity_bytes_per_s));
  const square = document.createElementNS(SVG, "rect");
  const inset = isUp ? 1 : 2;
  for (const side of ["x", "y"]) square.setAttribute(side, inset);
  for (const side of ["width", "height"]) square.setAttribute(side, SIZE - 2 * inset);
  square.setAttribute("fill", colour(loadMax > 0 ? fullest / loadMax : 0));
  if (!isUp) {
    square.setAttribute("stroke", "#c92a2a");
    square.setAttribute("stroke-width", 3);
  }
  const title = document.createElementNS(SVG, "title");
  title.textContent = links
    .map((link) => `${link.name}: ${link.state}, health ${link.health}, ${link.queue_pairs} queue pairs`)
    .join("\n");
  square.append(title);
  svg.append(square);
  return svg;
}

export function drawMatrix(holder, links, loadMax) {
  const cells = new Map();
  const rows = new Set();
  const columns = new Set();
  const upward = { "leaf-spine": "leaf", "spine-core": "spine" };
  for (const link of links) {
    if (!(link.tier in upward)) continue;
    const isUpward = link.from.startsWith(upward[link.tier]);
    rows.add(link.from);
    columns.add(link.to);
    if (!isUpward) continue;
    const key = `${link.from} ${link.to}`;
    cells.set(key, [...(cells.get(key) ?? []), link]);
  }
  const shownRows = [...rows].filter((name) => [...columns].some((to) => cells.has(`${name} ${to}`))).sort(byName);
  const shownColumns = [...columns].filter((to) => shownRows.some((name) => cells.has(`${name} ${to}`))).sort(byName);
  const table = element("table");
  const head = element("tr");
  head.append(element("th"), ...shownColumns.map((name) => element("th", name)));
  table.append(head);
  for (const from of shownRows.slice(0, ROWS_MAX)) {
    const row = element("tr");
    row.append(element("th", from));
    for (const to of shownColumns) {
      const holderCell = element("td");
      const here = cells.get(`${from} ${to}`);
      if (here) holderCell.append(cell(here, loadMax));
      row.append(holderCell);
    }
    table.append(row);
  }
  const more = shownRows.length - ROWS_MAX;
  holder.replaceChildren(table, ...(more > 0 ? [element("p", `${more} more rows are not shown.`, "hint")] : []));
}
