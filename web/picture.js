// A fabric as a picture of layers: nodes in tiers, lines between them by load, capacity and state, and whose jobs use them.
// What is drawn comes from src/report/topology_picture.h; the controller's page and reports draw it alike.
import { h } from "./dom.js";
import { byName, count, counted, percent, speed } from "./format.js";

const WIDTH = 1080;
const LEFT = 70;
const TIER_GAP = 110;
const LOW_BOX = 24;
const TALL_BOX = 78;
const PART_HEIGHT = 18;
const BOX_WIDTH_MAX = 110;
const LETTER = 6.6;
const SMALL_LETTER = 5.8;
const STEPS = 5;
const MANY_LINKS = 300;
const ROWS_MAX = 40;
const JOBS_MAX = 10;

const nameOfTier = (model, tier) => model.tiers.find((one) => one.tier === tier) ?? { name: tier, count: 0 };

export const isDown = (link) => (link.down ?? 0) > 0;
export const isDegraded = (link) => !isDown(link) && (link.degraded ?? 0) > 0;

// 0: none; then quarters.
function step(load) {
  return load <= 0 ? 0 : Math.min(STEPS - 1, 1 + Math.floor(load * (STEPS - 1) - 1e-9));
}

// In its box: of a run "leaf12–17" instead of "leaf12..leaf17".
export function shortName(name) {
  const found = /^(.*?\D)(\d+)\.\.(.*?\D)(\d+)$/.exec(name);
  return found && found[1] === found[3] ? `${found[1]}${found[2]}–${found[4]}` : name;
}

// At one moment, or over all.
const loadOf = (link, bin) => (bin === null ? link.load : (link.load_over_time?.[bin] ?? link.load));

// Boxes of nodes, rows of tiers from above, and the height. Nodes come by tier, from below.
export function placeNodes(model) {
  const rows = [];
  model.nodes.forEach((node, i) => {
    if (rows.length === 0 || rows[0].tier !== node.tier) rows.unshift({ tier: node.tier, nodes: [] });
    rows[0].nodes.push(i);
  });
  const boxes = new Array(model.nodes.length);
  let y = 8;
  for (const row of rows) {
    const slot = (WIDTH - LEFT - 8) / row.nodes.length;
    const width = Math.min(BOX_WIDTH_MAX, slot * 0.84);
    const isUpright = row.nodes.some((i) => shortName(model.nodes[i].name).length * LETTER + 8 > width);
    if (row.nodes.some((i) => model.nodes[i].part)) y += PART_HEIGHT;
    const height = isUpright ? TALL_BOX : LOW_BOX;
    row.nodes.forEach((i, place) => {
      boxes[i] = { x: LEFT + slot * (place + 0.5) - width / 2, y, width, height, isUpright };
    });
    row.y = y;
    row.height = height;
    y += height + TIER_GAP;
  }
  return { rows, boxes, height: rows.length === 0 ? 40 : y - TIER_GAP + 8 };
}

function describeNode(model, i) {
  const node = model.nodes[i];
  const own = model.links.filter((link) => link.below === i || link.above === i);
  const down = own.reduce((sum, link) => sum + (link.down ?? 0), 0);
  const degraded = own.reduce((sum, link) => sum + (link.degraded ?? 0), 0);
  const fullest = own.reduce((most, link) => (most === null || link.load > most.load ? link : most), null);
  return [
    node.name, node.part, node.rails, node.members > 1 && counted(node.members, node.tier, nameOfTier(model, node.tier).name),
    node.hosts > 0 && counted(node.hosts, "host"), counted(own.reduce((sum, link) => sum + (link.cables ?? 1), 0), "cable"),
    fullest && `the fullest at ${percent(fullest.load)}`, down > 0 && `${count(down)} down`, degraded > 0 && `${count(degraded)} degraded`,
  ].filter(Boolean).join(", ");
}

export function describeLink(model, link, bin) {
  const cables = link.cables ?? 1;
  return [
    `${model.nodes[link.below].name} – ${model.nodes[link.above].name}: ${percent(loadOf(link, bin))}`,
    cables > 1 ? `${count(cables)} cables, ${speed(link.capacity_bytes_per_s)} together` : speed(link.capacity_bytes_per_s),
    link.down > 0 && `${count(link.down)} down`, link.degraded > 0 && `${count(link.degraded)} degraded`,
  ].filter(Boolean).join(", ");
}

export function describeJob(model, job) {
  if (!job) return "";
  if (job.links === null) return `${job.name}: its paths are asked for …`;
  const others = job.meets_count ?? job.meets.length;
  const names = `${job.meets.join(", ")}${others > job.meets.length ? ` and ${count(others - job.meets.length)} more` : ""}`;
  return `${job.name} uses ${counted(job.links.length, "line")} of this picture; ${others === 0 ? "it meets no other job on a link" : `it meets ${names}`}.`;
}

const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// The node to which an arrow key leads; null: none.
function neighbour(rows, i, [up, along]) {
  const row = rows.findIndex((one) => one.nodes.includes(i));
  const place = rows[row].nodes.indexOf(i);
  if (up === 0) return rows[row].nodes[place + along] ?? null;
  const next = rows[row + up];
  if (!next) return null;
  return next.nodes[Math.min(next.nodes.length - 1, Math.round(((place + 0.5) / rows[row].nodes.length) * next.nodes.length - 0.5))];
}

// Which node the tab key leads to, and what the pointer or the focus is at: of each picture.
const states = new Map();
export function stateOf(id) {
  if (!states.has(id)) states.set(id, { current: 0, node: null, job: null, link: null, bin: null, isAll: false });
  return states.get(id);
}

function drawLinks(model, placed, state, chosen, redraw) {
  const widest = Math.max(...model.links.map((link) => link.capacity_bytes_per_s), 0);
  const areMany = model.links.length > MANY_LINKS;
  const weight = (link) => (isDown(link) ? 4 : isDegraded(link) ? 2 : 0) + loadOf(link, state.bin);
  const order = model.links.map((link, i) => i).sort((a, b) => weight(model.links[a]) - weight(model.links[b]) || a - b);
  const isOn = (i) => chosen.links.has(i) || (state.node !== null && (model.links[i].below === state.node || model.links[i].above === state.node));
  return order.map((i) => {
    const link = model.links[i];
    const [below, above] = [placed.boxes[link.below], placed.boxes[link.above]];
    const share = widest > 0 ? Math.sqrt(link.capacity_bytes_per_s / widest) : 1;
    const width = areMany ? (isDown(link) || isDegraded(link) ? "middle" : "thin") : share > 0.75 ? "wide" : share > 0.45 ? "middle" : "thin";
    const condition = isDown(link) ? "down" : isDegraded(link) ? "degraded" : `load${step(loadOf(link, state.bin))}`;
    const x = (box) => (box.x + box.width / 2).toFixed(1);
    return h("path", {
      key: `link ${i}`, class: `wire ${width} ${condition}${isOn(i) ? " on" : ""}`,
      d: `M${x(below)} ${below.y.toFixed(1)}L${x(above)} ${(above.y + above.height).toFixed(1)}`,
      onmouseenter: () => { state.link = i; redraw(); },
      onmouseleave: () => { if (state.link === i) { state.link = null; redraw(); } },
    });
  });
}

function drawNodes(model, id, placed, state, chosen, { redraw, onOpen }) {
  const marked = new Set(chosen.nodes);
  const onKey = (event, i) => {
    if ((event.key === "Enter" || event.key === " ") && model.nodes[i].opens && onOpen) {
      event.preventDefault();
      return onOpen(model.nodes[i].name);
    }
    const next = ARROWS[event.key] ? neighbour(placed.rows, i, ARROWS[event.key]) : null;
    if (next === null) return undefined;
    event.preventDefault();
    state.current = next;
    redraw();
    return document.getElementById(`${id}-node-${next}`)?.focus();
  };
  return model.nodes.map((node, i) => {
    const box = placed.boxes[i];
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const opens = node.opens && onOpen;
    const fits = Math.floor((box.height - 6) / SMALL_LETTER);
    const name = shortName(node.name);
    const short = name.length <= fits ? name : `${name.slice(0, fits - 1)}…`;
    const text = box.isUpright
      ? box.width >= 9 && h("text", { transform: `translate(${(x + 3.5).toFixed(1)} ${y.toFixed(1)}) rotate(-90)`, class: "small middle" }, short)
      : h("text", { x: x.toFixed(1), y: (y + 4).toFixed(1), class: "middle" }, name);
    return h("g", {
      key: `node ${i} ${node.name}`, id: `${id}-node-${i}`, class: `place${opens ? " opens" : ""}${marked.has(i) ? " on" : ""}`,
      tabindex: i === state.current ? "0" : "-1", role: opens ? "button" : "img", "aria-label": `${describeNode(model, i)}${opens ? "; opens" : ""}`,
      onfocus: () => { state.node = i; state.current = i; redraw(); }, onblur: () => { state.node = null; redraw(); },
      onmouseenter: () => { state.node = i; redraw(); }, onmouseleave: () => { state.node = null; redraw(); },
      onclick: opens ? () => onOpen(node.name) : null, onkeydown: (event) => onKey(event, i),
    }, h("rect", { x: box.x.toFixed(1), y: box.y.toFixed(1), width: box.width.toFixed(1), height: box.height, rx: 3 }), text);
  });
}

function drawNames(model, placed) {
  return placed.rows.flatMap((row) => {
    const { name, count: total } = nameOfTier(model, row.tier);
    const middle = row.y + row.height / 2;
    const parts = [];
    for (const i of row.nodes) {
      const last = parts.at(-1);
      const box = placed.boxes[i];
      if (last && last.part === model.nodes[i].part) last.right = box.x + box.width;
      else parts.push({ part: model.nodes[i].part, left: box.x, right: box.x + box.width });
    }
    return [
      h("text", { key: `tier ${row.tier}`, x: 2, y: middle - 3, class: "tier-name" }, total === 1 ? row.tier : name),
      h("text", { key: `count ${row.tier}`, x: 2, y: middle + 12, class: "axis" }, count(total)),
      ...parts.filter(({ part }) => part).flatMap(({ part, left, right }) => [
        h("path", { key: `brace ${row.tier} ${part} ${left}`, class: "frame", d: `M${left.toFixed(1)} ${row.y - 5}H${right.toFixed(1)}` }),
        right - left > part.length * LETTER && h("text", { key: `part ${row.tier} ${part} ${left}`, x: ((left + right) / 2).toFixed(1), y: row.y - 9, class: "axis middle" }, part)]),
    ];
  });
}

function legend(loadLabel) {
  const line = (kind) => h("svg", { class: "sample", viewBox: "0 0 24 10", "aria-hidden": "true" }, h("path", { class: `wire wide ${kind}`, d: "M1 5H23" }));
  return h("p", { class: "scale" }, `${loadLabel}: `,
    ["0", "to 25", "to 50", "to 75", "to 100 %"].map((text, i) => h("span", { key: text, class: "sample-of" }, line(`load${i}`), text)),
    h("span", { class: "sample-of" }, line("down"), "a cable is down"), h("span", { class: "sample-of" }, line("degraded"), "degraded"));
}

function linkTable(model, id, state, { redraw, linkHref }) {
  const rank = (link) => (isDown(link) ? 4 : isDegraded(link) ? 2 : 0) + link.load;
  const links = [...model.links].sort((a, b) => rank(b) - rank(a) || byName(a.name, b.name));
  const shown = state.isAll ? links : links.slice(0, ROWS_MAX);
  const on = new Map();
  for (const job of model.jobs) {
    for (const i of job.links ?? []) {
      if (!on.has(model.links[i])) on.set(model.links[i], []);
      on.get(model.links[i]).push(job.name);
    }
  }
  const jobsText = (link) => {
    const names = on.get(link) ?? [];
    return names.length > 6 ? `${names.slice(0, 6).join(", ")} and ${names.length - 6} more` : names.join(", ");
  };
  const state_ = (link) => (isDown(link) ? `⚠ ${count(link.down)} down` : isDegraded(link) ? `⚠ ${count(link.degraded)} degraded` : "up");
  return h("details", { key: "table" }, h("summary", {}, `The same as a table: ${counted(links.length, "line")}`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Lines of the picture" },
      h("table", { id: `${id}-table` }, h("caption", { class: "unseen" }, "Lines of the picture: those with something down first, then the fullest"),
        h("thead", {}, h("tr", {}, ["from", "to", "state", "load", "capacity", "cables", "worst link", "jobs"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, shown.map((link) => h("tr", { key: `${link.below} ${link.above}` },
          h("td", {}, model.nodes[link.below].name), h("td", {}, model.nodes[link.above].name), h("td", { class: isDown(link) || isDegraded(link) ? "bad" : null }, state_(link)),
          h("td", { class: "number" }, percent(loadOf(link, state.bin))), h("td", { class: "number" }, speed(link.capacity_bytes_per_s)), h("td", { class: "number" }, count(link.cables ?? 1)),
          h("td", {}, linkHref ? h("a", { href: linkHref(link.name) }, link.name) : link.name), h("td", {}, jobsText(link))))))),
    shown.length < links.length && h("button", { key: "all", type: "button", onclick: () => { state.isAll = true; redraw(); } }, `Show all ${count(links.length)}`));
}

// Buttons for the jobs that matter most, and a list of all: pointing at one, or going there, shows its paths.
function jobChooser(model, id, state, chosenName, { redraw, onJob, noJobs }) {
  if (model.jobs.length === 0) return h("p", { key: "jobs", class: "hint" }, noJobs);
  const rest = (model.jobs_count ?? model.jobs.length) - model.jobs.length;
  return h("div", { key: "jobs", class: "tools jobs-of-picture" },
    h("label", {}, "Paths of ", h("select", { id: `${id}-job`, onchange: (event) => onJob(event.target.value) },
      h("option", { key: "", value: "", selected: !chosenName }, "no job"), model.jobs.map((job) => h("option", { key: job.name, value: job.name, selected: job.name === chosenName }, job.name)))),
    model.jobs.slice(0, JOBS_MAX).map((job) => h("button", {
      key: job.name, type: "button", class: "chip", "aria-pressed": String(job.name === chosenName),
      onmouseenter: () => { state.job = job.name; redraw(); }, onmouseleave: () => { state.job = null; redraw(); },
      onfocus: () => { state.job = job.name; redraw(); }, onblur: () => { state.job = null; redraw(); },
      onclick: () => onJob(job.name === chosenName ? "" : job.name),
    }, job.name)),
    rest > 0 && h("span", { class: "hint" }, `${count(rest)} more: name one in the address, #topology&paths=NAME`));
}

function slider(model, id, state, time, redraw) {
  const known = model.links.filter((link) => link.load_over_time?.length > 0);
  if (known.length === 0 || !time) return null;
  const last = Math.max(...known.map((link) => link.load_over_time.length)) - 1;
  const at = state.bin === null ? "the whole run" : time(state.bin);
  return h("div", { key: "slider", class: "tools" },
    h("label", {}, "Time ", h("input", { id: `${id}-time`, type: "range", min: "0", max: String(last), value: "0",
      "aria-valuetext": at, oninput: (event) => { state.bin = Number(event.target.value); redraw(); } })),
    h("span", { id: `${id}-time-text` }, at),
    state.bin !== null && h("button", { key: "whole", type: "button", onclick: () => { state.bin = null; redraw(); } }, "The whole run"),
    known.length < model.links.length && h("span", { class: "hint" }, `${count(known.length)} of ${counted(model.links.length, "line")} have a history; the others show their mean.`));
}

// The picture with its legend, chooser, text and table. Args: id: of its elements; model: as PictureJson() has it; jobName: whose paths
// are shown; time(bin): a moment in words, null: no history; noJobs: what is said where there is none; callbacks redraw(), onJob(name), onOpen(name), linkHref(name), the latter two
// may be missing.
export function picture(id, model, { loadLabel, jobName = "", time = null, noJobs = "No job has paths here.", redraw, onJob, onOpen, linkHref }) {
  const state = stateOf(id);
  if (state.current >= model.nodes.length) state.current = 0;
  if (state.node !== null && state.node >= model.nodes.length) state.node = null;
  if (state.link !== null && state.link >= model.links.length) state.link = null;
  const placed = placeNodes(model);
  const job = model.jobs.find((one) => one.name === (state.job ?? jobName));
  const links = new Set(job?.links ?? []);
  const chosen = { links, nodes: [...links].flatMap((i) => [model.links[i].below, model.links[i].above]) };
  const text = state.link !== null ? describeLink(model, model.links[state.link], state.bin)
    : state.node !== null ? describeNode(model, state.node)
      : job ? describeJob(model, job) : "Point at a node, a line or a job, or go there with tab and arrow keys.";
  if (model.nodes.length === 0) return [h("p", { key: "none", class: "hint" }, "There is no network to draw.")];
  const handlers = { redraw, onJob, onOpen, linkHref, noJobs };
  return [
    legend(loadLabel),
    jobChooser(model, id, state, jobName, handlers),
    slider(model, id, state, time, redraw),
    h("div", { key: "picture", class: "scroll picture" },
      h("svg", { id, viewBox: `0 0 ${WIDTH} ${placed.height}`, role: "group", "aria-label": "Network: hosts, leaves, spines, cores and their cables; arrow keys move",
        class: links.size > 0 || state.node !== null ? "picked" : null },
      drawLinks(model, placed, state, chosen, redraw), drawNodes(model, id, placed, state, chosen, handlers), drawNames(model, placed))),
    h("p", { key: "text", id: `${id}-text`, class: "hint value", role: "status" }, text),
    linkTable(model, id, state, handlers),
  ];
}
