// The last day of the cluster: GPUs' worth of time that jobs had and lost, by cause, with findings, actions and re-plans marked.
import { h } from "./dom.js";
import { count, counted, gpus, time } from "./format.js";
import { mark, section } from "./table.js";

const WIDTH = 1080;
const HEIGHT = 200;
const LEFT = 56;
const BOTTOM = 44;
const MARKS_MAX = 200;
const HOURS = 24;
const LOSSES = [
  { key: "lost_sharing", label: "lost to shared links and other causes", kind: "sharing" },
  { key: "lost_findings", label: "lost to what was found", kind: "found" },
  { key: "isolated_gpus", label: "on isolated hosts", kind: "away" },
];

let cursor = null;  // place of a row that is read
const atColumn = (answer, name) => answer.columns.indexOf(name);

// Rows as objects; gaps of times without a controller stay gaps.
function rowsOf(answer) {
  const names = answer.columns;
  return answer.rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

// Stretches without a hole.
function stretches(rows, period) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1)?.at(-1);
    if (!last || row.at_s - last.at_s > 1.5 * period) found.push([]);
    found.at(-1).push(row);
  }
  return found;
}

function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

const hourText = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

function ticksOf(from, to) {
  const step = [300, 900, 1800, 3600, 7200, 10800, 21600].find((one) => (to - from) / one <= 9) ?? 21600;
  const offset = new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) ticks.push(at);
  return ticks;
}

// Moments worth a mark: findings, what steering did, and periods in which paths changed.
function marksOf(facts, rows) {
  const marks = [];
  for (const finding of [...facts.holding, ...facts.over]) {
    const at = finding.confirmed_at_s ?? finding.suspected_at_s;
    if (Number.isFinite(at)) marks.push({ at, kind: "finding", text: `found: ${finding.text} (${finding.job})`, href: `#finding=${finding.id}` });
  }
  for (const line of facts.steering?.log ?? []) {
    if (line.kind === "action" && Number.isFinite(line.at_s)) marks.push({ at: line.at_s, kind: "action", text: `steering: ${line.description ?? line.action}` });
  }
  for (const row of rows) {
    if (row.path_changes > 0) marks.push({ at: row.at_s, kind: "replan", text: `${counted(row.path_changes, "path")} changed` });
  }
  return marks;
}

const SIGNS = { finding: "⚠", action: "●", replan: "↻" };
const MEANINGS = { finding: "something was found", action: "steering began an action", replan: "paths were changed" };

function sentence(rows, period) {
  const hours = (key) => rows.reduce((sum, row) => sum + row[key] * period, 0) / 3600;
  const lost = LOSSES.map(({ key }) => hours(key));
  const all = lost.reduce((a, b) => a + b, 0);
  const had = hours("gpus");
  const length = (rows.at(-1).at_s - rows[0].at_s + period) / 3600;
  const span = length < 1.5 ? counted(Math.max(1, Math.round(length * 60)), "minute") : counted(Math.round(length), "hour");
  if (all < 0.05) return `In the last ${span} nothing was lost of ${gpus(had)} GPU-hours.`;
  const [sharing, found, away] = lost.map(gpus);
  return `In the last ${span} ${gpus(all)} GPU-hours were lost, of ${gpus(had)} that jobs had: ${sharing} to shared links and other causes, ${found} to what was found; ${away} were on isolated hosts.`;
}

function describe(row, period, marks) {
  const near = marks.filter(({ at }) => at >= row.at_s && at < row.at_s + period).slice(0, 4).map(({ text }) => text);
  return [`${time(row.at_s)}: ${counted(Math.round(row.jobs), "job")} on ${gpus(row.gpus)} GPUs`, ...LOSSES.map(({ key, label }) => `${gpus(row[key])} ${label}`),
    `${counted(Math.round(row.findings), "finding")}`, row.links_not_up > 0 && `${counted(Math.round(row.links_not_up), "link")} not up`, ...near].filter(Boolean).join("; ");
}

function chart(rows, period, marks, redraw) {
  const to = rows.at(-1).at_s + period;
  const from = Math.min(rows[0].at_s, Math.max(to - HOURS * 3600, rows[0].at_s));
  const top = roundUp(1.02 * Math.max(1, ...rows.map((row) => row.gpus + row.isolated_gpus)));
  const x = (at) => LEFT + ((at - from) / Math.max(1, to - from)) * (WIDTH - LEFT - 8);
  const y = (value) => 8 + (1 - value / top) * (HEIGHT - BOTTOM - 8);
  // Each period is a step; from below: what is lost, then what is left.
  const area = (rows_, low, high) => {
    const upper = rows_.map((row) => `${x(row.at_s).toFixed(1)} ${y(high(row)).toFixed(1)}H${x(row.at_s + period).toFixed(1)}`).join("V").replaceAll(/V[\d.]+ /g, "V");
    const lower = [...rows_].reverse().map((row) => `V${y(low(row)).toFixed(1)}H${x(row.at_s).toFixed(1)}`).join("");
    return `M${upper}${lower}Z`;
  };
  const below = (row, i) => LOSSES.slice(0, i).reduce((sum, { key }) => sum + row[key], 0);
  const layers = [...LOSSES.map(({ kind }, i) => ({ kind, low: (row) => below(row, i), high: (row) => below(row, i + 1) })),
    { kind: "busy", low: (row) => below(row, LOSSES.length), high: (row) => Math.max(below(row, LOSSES.length), row.gpus + row.isolated_gpus) }];
  const shownMarks = marks.filter(({ at }) => at >= from && at <= to).slice(0, MARKS_MAX);
  const at = cursor === null ? null : rows[Math.min(cursor, rows.length - 1)];
  const read = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const moment = from + (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 8) * (to - from);
    cursor = rows.reduce((best, row, i) => (Math.abs(row.at_s + period / 2 - moment) < Math.abs(rows[best].at_s + period / 2 - moment) ? i : best), 0);
    redraw();
  };
  const onKey = (event) => {
    const far = Math.max(1, Math.round(rows.length / 60));
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    cursor = Math.min(rows.length - 1, Math.max(0, (cursor ?? rows.length) + step * (event.shiftKey ? 1 : far)));
    redraw();
  };
  return [
    h("p", { key: "legend", class: "scale" }, [...LOSSES].reverse().concat([]).map(({ kind, label }) => h("span", { key: kind, class: `key-of ${kind}` }, label)), h("span", { class: "key-of busy" }, "the rest of jobs' GPUs"),
      Object.entries(SIGNS).map(([kind, sign]) => h("span", { key: `mark ${kind}`, class: `sign ${kind}` }, `${sign} ${MEANINGS[kind]}`))),
    h("div", { key: "chart", class: "scroll chart" },
      h("svg", { id: "history-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: "0", role: "img", "aria-label": "GPUs over the last day, by what became of them; arrow keys read it",
        onpointermove: read, onpointerdown: read, onpointerleave: (event) => { if (event.pointerType !== "touch") { cursor = null; redraw(); } }, onblur: () => { cursor = null; redraw(); }, onkeydown: onKey },
      stretches(rows, period).flatMap((run, r) => layers.map(({ kind, low, high }) => h("path", { key: `${r} ${kind}`, class: `area ${kind}`, d: area(run, low, high) }))),
      h("path", { class: "frame", d: `M${LEFT} 8V${HEIGHT - BOTTOM}H${WIDTH - 8}` }),
      [0, top / 2, top].map((value) => h("text", { key: `y ${value}`, x: LEFT - 6, y: (y(value) + 4).toFixed(1), class: "axis end" }, Number(value.toPrecision(4)).toLocaleString("en-US"))),
      ticksOf(from, to).map((tick) => h("text", { key: `x ${tick}`, x: x(tick).toFixed(1), y: HEIGHT - 6, class: "axis middle" }, hourText(tick))),
      shownMarks.map(({ at: moment, kind }, i) => h("text", { key: `mark ${i} ${moment}`, x: x(moment).toFixed(1), y: HEIGHT - BOTTOM + 20, class: `sign middle ${kind}` }, SIGNS[kind])),
      at && h("path", { class: "moment", d: `M${x(at.at_s + period / 2).toFixed(1)} 8V${HEIGHT - BOTTOM}` }))),
    h("p", { key: "text", id: "history-text", class: "hint value", role: "status" }, at ? describe(at, period, marks) : "Point at the chart, or go there and use the arrow keys, to read its values."),
  ];
}

// By the hour: the same as the chart, to be read.
function hourTable(rows, period) {
  const hours = new Map();
  for (const row of rows) {
    const hour = Math.floor(row.at_s / 3600) * 3600;
    if (!hours.has(hour)) hours.set(hour, []);
    hours.get(hour).push(row);
  }
  const sum = (list, key) => (list.reduce((all, row) => all + row[key] * period, 0) / 3600);
  const most = (list, key) => Math.max(...list.map((row) => row[key]));
  const total = (list, key) => list.reduce((all, row) => all + row[key], 0);
  return h("details", { key: "table" }, h("summary", {}, "The same by the hour"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The last day by the hour" },
    h("table", { id: "history-table" }, h("caption", { class: "unseen" }, "The last day by the hour, the latest first"),
      h("thead", {}, h("tr", {}, ["from", "GPU-hours of jobs", "lost to sharing", "lost to findings", "isolated", "findings at most", "links not up", "path changes", "actions"].map((name, i) => h("th", { key: name, scope: "col", class: i > 0 ? "number" : null }, name)))),
      h("tbody", {}, [...hours].reverse().map(([hour, list]) => h("tr", { key: hour }, h("td", {}, time(hour)), ["gpus", ...LOSSES.map(({ key }) => key)].map((key) => h("td", { key, class: "number" }, gpus(sum(list, key)))),
        ["findings", "links_not_up"].map((key) => h("td", { key, class: "number" }, count(Math.round(most(list, key))))), ["path_changes", "actions"].map((key) => h("td", { key, class: "number" }, count(Math.round(total(list, key)))))))))));
}

// Args: answer: of /v1/history; null: not known, or not kept by this controller.
export function historySection(facts, answer, redraw) {
  if (!answer || atColumn(answer, "at_s") < 0) return null;
  const rows = rowsOf(answer);
  if (rows.length === 0) return section("The last day", h("p", { class: "hint" }, "The history begins now: a point each minute."));
  const marks = marksOf(facts, rows);
  return section("The last day", h("p", { key: "answer", id: "history-answer" }, sentence(rows, answer.period_s)),
    rows.length < 2 ? h("p", { key: "young", class: "hint" }, mark("mild", "The history has just begun: a point each minute.")) : chart(rows, answer.period_s, marks, redraw),
    hourTable(rows, answer.period_s));
}
