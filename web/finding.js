// One finding: what it says, and what it was made from.
import { h } from "./dom.js";
import { count, percent, seconds, time, times, UNKNOWN, words } from "./format.js";
import { factList, link, linkList, mark, section, table } from "./table.js";

const DELAYS_MAX = 12;
const WAITS_MAX = 40;
const WIDTH = 800;
const HEIGHT = 180;
const LEFT = 60;
const BOTTOM = 22;

const back = h("p", { key: "back" }, h("a", { href: "#" }, "← Overview"));

// Curves over seconds before and after the moment, with a line there. Args: curves: [{label, kind, points: [[x, y]]}].
function chart(title, curves) {
  const all = curves.flatMap((curve) => curve.points);
  const from = Math.min(0, ...all.map(([x]) => x));
  const to = Math.max(1, ...all.map(([x]) => x));
  const top = 1.1 * Math.max(...all.map(([, y]) => y)) || 1;
  const x = (value) => LEFT + ((value - from) / (to - from)) * (WIDTH - LEFT - 4);
  const y = (value) => (1 - value / top) * (HEIGHT - BOTTOM);
  const path = (points) => points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
  const label = (value, px, py, anchor) => h("text", { x: px, y: py, "text-anchor": anchor, class: "axis" }, value);
  return h("figure", { key: title, class: "chart" },
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title },
      h("path", { d: `M${LEFT} 0V${HEIGHT - BOTTOM}H${WIDTH - 4}`, class: "frame" }),
      h("path", { d: `M${x(0).toFixed(1)} 0V${HEIGHT - BOTTOM}`, class: "moment" }),
      curves.map((curve) => h("path", { key: curve.label, d: path(curve.points), class: `curve ${curve.kind}` })),
      label(seconds(top / 1.1), LEFT - 6, y(top / 1.1) + 4, "end"), label("0", LEFT - 6, HEIGHT - BOTTOM, "end"),
      label(`${Math.round(from)} s`, LEFT, HEIGHT - 6, "start"), label("found", x(0), HEIGHT - 6, "middle"), label(`+${Math.round(to)} s`, WIDTH - 4, HEIGHT - 6, "end")),
    h("figcaption", { class: "hint" }, curves.map((curve) => h("span", { key: curve.label, class: `key ${curve.kind}` }, curve.label))));
}

function median(values) {
  return values.length === 0 ? null : [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function iterationSentence(finding, blocks) {
  const before = median(blocks.filter((block) => block.at_s < finding.suspected_at_s).map((block) => block.seconds));
  const since = median(blocks.filter((block) => block.at_s >= finding.suspected_at_s).map((block) => block.seconds));
  if (before === null) return "";
  if (since === null) return `A block of iterations took ${seconds(before)}; none has ended since.`;
  return `A block of iterations took ${seconds(before)} before it was suspected, and ${seconds(since)} since: ${times(since / before)}.`;
}

function iterations(finding, detail) {
  const blocks = detail.blocks ?? [];
  if (blocks.length < 2) return null;
  const curve = (label, kind, field) => ({ label, kind, points: blocks.filter((block) => Number.isFinite(block[field])).map((block) => [block.at_s - detail.seen_at_s, block[field]]) });
  const own = [curve("the accused", "bad", "own_seconds"), curve("its like, the median", "mild", "like_median_seconds")].filter(({ points }) => points.length > 1);
  return section("Iterations", h("p", {}, iterationSentence(finding, blocks)),
    chart("How long blocks of iterations took", [curve("a block, as many iterations in each", "plain", "seconds")]),
    own.length > 0 && h("h3", {}, "What the accused did by itself, and its like"), own.length > 0 && chart("What the accused did by itself, and its like", own));
}

function waits(detail) {
  const edges = detail.waits ?? [];
  if (edges.length === 0) return null;
  const name = (node) => (node.is_culprit ? mark("bad", node.label) : node.label);
  return section("Who waits for whom", h("ul", { id: "waits" }, edges.slice(0, WAITS_MAX).map(({ from, to }) =>
    h("li", { key: `${from} ${to}` }, name(detail.wait_nodes[from]), " waits for ", name(detail.wait_nodes[to])))));
}

function candidates(finding) {
  const all = finding.candidates ?? [];
  return all.length > 0 && section("One of these, and it is not known which", h("ul", { id: "candidates" }, all.map((one) =>
    h("li", { key: one.culprit }, one.culprit, ": ", [one.why, ...(one.evidence ?? [])].join("; "), one.host ? [" (", link("host", one.host), ")"] : null))));
}

function delays(detail) {
  const all = [...(detail.delays ?? [])].sort((a, b) => b.ratio - a.ratio);
  if (all.length === 0) return null;
  const place = (rank) => [`rank ${rank} on `, link("host", detail.rank_hosts[rank])];
  return section("The slowest transfers",
    h("p", { class: "hint" }, `${count(all.length + (detail.delays_left_out ?? 0))} pairs of ranks were measured. Time for each message, times what is usual.`),
    table({ id: "delays", caption: "The slowest transfers", rows: all.slice(0, DELAYS_MAX), key: (row) => `${row.source} ${row.destination}`, columns: [
      { key: "from", label: "from", cell: (row) => place(row.source) },
      { key: "to", label: "to", cell: (row) => place(row.destination) },
      { key: "ratio", label: "time", cell: (row) => (row.is_accused ? mark("bad", times(row.ratio)) : times(row.ratio)), isNumber: true },
    ] }));
}

function threads(detail) {
  const places = detail.threads ?? [];
  if (places.length === 0) return null;
  return section("Where their threads are",
    h("p", { class: "hint" }, "As the kernels of their hosts say. Ranks whose first threads are in the same place are shown as one; the first line of each is that thread."),
    places.map((alike, i) => [
      h("h3", { key: `ranks ${i}` }, alike.is_accused ? mark("bad", alike.ranks) : alike.ranks),
      table({ id: `threads-${i}`, caption: `Threads of ${alike.ranks}`, rows: alike.groups.map((group, n) => ({ ...group, n })), key: (row) => row.n, columns: [
        { key: "count", label: "threads", cell: (row) => row.count ?? 1, isNumber: true },
        { key: "name", label: "name", cell: (row) => row.name },
        { key: "state", label: "state", cell: (row) => row.state },
        { key: "place", label: "in the kernel, innermost first", cell: (row) => (row.place ? h("code", {}, row.place) : "not there, or not known"), isWide: true },
      ] }),
    ]));
}

function history(detail) {
  const past = detail.history ?? [];
  return past.length > 0 && section("Found about these hosts before", table({ id: "history", caption: "Other findings about these hosts, the newest first", rows: past, key: (row) => row.id, columns: [
    { key: "since", label: "since", cell: (row) => time(row.confirmed_at_s) },
    { key: "job", label: "job", cell: (row) => link("job", row.job) },
    { key: "what", label: "what", cell: (row) => h("a", { href: `#finding=${row.id}` }, row.text), isWide: true },
    { key: "until", label: "until", cell: (row) => (row.cleared_at_s ? time(row.cleared_at_s) : mark("bad", "holds")) },
  ] }));
}

// As clocks here show it, and as those who are elsewhere are told.
const moment = (at) => (Number.isFinite(at) ? `${time(at)} (${new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC)` : UNKNOWN);

function cost(finding) {
  if (finding.cost_share === null || finding.cost_share === undefined) return null;
  const hours = Number.isFinite(finding.cost_gpu_hours) ? `, ${count(Math.round(finding.cost_gpu_hours))} GPU-hours a day` : "";
  return ["costs", `${percent(finding.cost_share)} of the job${hours}`];
}

// Args: detail: the controller's answer about it; null: not known yet.
export function findingView(facts, name, detail) {
  const finding = detail?.finding ?? [...facts.holding, ...facts.over].find((one) => String(one.id) === name);
  const title = h("h2", { key: "title", id: "view-title", class: "view-title", tabindex: "-1" }, `Finding ${name}`);
  if (!finding) return [back, title, h("p", { key: "missing" }, mark("bad", "The controller knows no finding of this number at present."))];
  const isHolding = !finding.cleared_at_s;
  return [back, title, h("p", { key: "what", id: "finding-text" }, mark(isHolding ? "bad" : "mild", finding.text)),
    factList("facts", [
      ["job", link("job", finding.job)],
      ["hosts", (finding.hosts ?? []).length > 0 ? linkList("host", finding.hosts, 12) : "none is named"],
      ["culprit", (finding.culprits ?? []).join(", ")],
      ["sure", Number.isFinite(finding.confidence) ? percent(finding.confidence) : UNKNOWN],
      (finding.signs ?? []).length > 0 && ["known from", finding.signs.map(words).join(", ")],
      cost(finding),
      ["advice", words(finding.action ?? "")],
      ["since", moment(finding.confirmed_at_s ?? finding.suspected_at_s)],
      ["until", isHolding ? "it holds" : moment(finding.cleared_at_s)],
    ]),
    h("div", { key: "sections", class: "sections" },
      (finding.evidence ?? []).length > 0 && section("Evidence", h("ul", {}, finding.evidence.map((one) => h("li", { key: one }, one)))),
      candidates(finding),
      detail && !Number.isFinite(detail.seen_at_s) && section("What it was made from", h("p", { class: "hint" }, "is not known any more: the controller was started again, or keeps newer ones only")),
      detail && iterations(finding, detail), detail && waits(detail), detail && threads(detail), detail && delays(detail), detail && history(detail),
      detail && (detail.next ?? []).length > 0 && section("Next", h("ul", {}, detail.next.map((step) => h("li", { key: step.command }, h("code", {}, step.command), h("br", {}), step.shows)))))];
}
