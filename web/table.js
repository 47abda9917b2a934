// Tables, bars and links to what is named: the pieces that all views are made of.
import { h } from "./dom.js";
import { byName, time, words } from "./format.js";
import { holds } from "./facts.js";
import { hrefOf } from "./route.js";

export const link = (view, name) => h("a", { href: hrefOf(view, name) }, name);

// A mark that says by sign and word what its colour says. Args: kind: "good", "bad" or "mild".
export function mark(kind, text) {
  return h("span", { class: `mark ${kind}` }, h("span", { "aria-hidden": "true" }, { good: "✓ ", bad: "⚠ ", mild: "• " }[kind]), text);
}

// A bar for a share of 0 to 1, with what it stands for beside it.
export function bar(share, text) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return h("div", { class: "bar-cell" }, h("div", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width } })), h("span", {}, text));
}

// At most `most` links, then how many more.
export function linkList(view, names, most = 3) {
  const shown = names.slice(0, most).flatMap((name, i) => [i > 0 ? ", " : "", link(view, name)]);
  return names.length > most ? [...shown, ` and ${names.length - most} more`] : shown;
}

function heading(column, sort, onSort) {
  const attributes = { key: column.key, scope: "col", class: classOf(column), title: column.title ?? null };
  if (!onSort || !column.value) return h("th", attributes, column.label);
  const isSorted = sort.key === column.key;
  const arrow = isSorted ? (sort.isUp ? " ▲" : " ▼") : "";
  return h("th", { ...attributes, "aria-sort": isSorted ? (sort.isUp ? "ascending" : "descending") : "none" },
    h("button", { type: "button", class: "sort", onclick: () => onSort(column) }, column.label, h("span", { "aria-hidden": "true" }, arrow)));
}

const classOf = (column) => [column.isNumber ? "number" : "", column.isMinor ? "minor" : "", column.isWide ? "wide" : ""].join(" ").trim() || null;

// Columns: {key, label, cell(row), title, isNumber, isMinor (left out on narrow screens), isWide, value(row) to sort by}.
// Args: key: of a row. Returns a table that scrolls sideways by itself.
export function table({ id, caption, columns, rows, key, sort, onSort }) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { id },
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => heading(column, sort, onSort)))),
      h("tbody", {}, rows.map((row) => h("tr", { key: key(row) },
        columns.map((column) => h("td", { class: classOf(column) }, column.cell(row))))))));
}

// What is not known goes last either way.
export function sortRows(rows, column, isUp) {
  const known = (row) => column.value(row) !== null && column.value(row) !== undefined;
  const compare = (a, b) => {
    if (known(a) !== known(b)) return known(a) ? -1 : 1;
    const [x, y] = [column.value(a), column.value(b)];
    const order = !known(a) ? 0 : typeof x === "string" ? byName(x, y) : x - y;
    return (isUp ? order : -order) || byName(a.name, b.name);
  };
  return [...rows].sort(compare);
}

// Names and values. Args: facts: [name, value] pairs; null ones are left out.
export function factList(id, facts) {
  return h("dl", { id, class: "facts" }, facts.filter(Boolean).map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))));
}

export function findingTable(id, findings, caption) {
  return table({ id, caption, rows: findings, key: (finding) => `${finding.job} ${finding.id}`, columns: [
    { key: "state", label: "state", cell: (finding) => (holds(finding) ? mark("bad", "holds") : "over") },
    { key: "job", label: "job", cell: (finding) => link("job", finding.job) },
    { key: "what", label: "what", cell: (finding) => h("a", { href: hrefOf("finding", finding.id), title: words(finding.syndrome) }, finding.text), isWide: true },
    { key: "who", label: "who", cell: (finding) => finding.culprits.join(", ") },
    { key: "hosts", label: "hosts", cell: (finding) => linkList("host", finding.hosts ?? []) },
    { key: "do", label: "advice", cell: (finding) => finding.action },
    { key: "since", label: "since", cell: (finding) => time(finding.suspected_at_s) },
    { key: "until", label: "until", cell: (finding) => (holds(finding) ? "" : time(finding.cleared_at_s)), isMinor: true },
  ] });
}

// "job gpt" as a link to its view.
function subjectOf(event) {
  const found = /^(job|link|host) (.+)$/.exec(event.subject);
  return found ? [`${found[1]} `, link(found[1], found[2])] : event.subject;
}

export function eventTable(id, events, caption) {
  return table({ id, caption, rows: events, key: (event) => event.number ?? `${event.time_s} ${event.subject} ${event.text}`, columns: [
    { key: "time", label: "time", cell: (event) => time(event.time_s) },
    { key: "what", label: "what", cell: (event) => (event.severity === "warning" ? mark("bad", subjectOf(event)) : subjectOf(event)) },
    { key: "text", label: "", cell: (event) => event.text, isWide: true },
  ] });
}

// The latest events about it, or null.
export function eventsAbout(facts, subject) {
  const about = facts.events.filter((event) => event.subject === subject).slice(-20).reverse();
  return about.length > 0 && section("Events", eventTable("events", about, `Events of ${subject}`));
}

export function section(title, ...children) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { key: title, "aria-labelledby": id }, h("h2", { id }, title), ...children);
}
