// What a report does with a script: tables are sorted and searched, figures are asked for their values and zoomed together, the network
// shows a job's paths, and the address holds a job, a link or a moment. Without it the same page is text, tables and drawings.
//
// It is inlined behind dom.js, format.js and picture.js by cmake/embed_script.cmake, so names must differ from theirs.
import { drawer, h, render } from "../dom.js";
import { byName, count, counted } from "../format.js";
import { picture } from "../picture.js";

const UNIT_SECONDS = { "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400, day: 86400, days: 86400 };
const FACTORS = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
const ROWS_SHOWN = 60;
const ROWS_WITHOUT_FILTER = 8;
const ZOOM_MAX = 2000;
const WATCHED_KEYS = ["job", "link", "t"];

// ---- the address

function readAddress() {
  return new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
}

function writeAddress(key, value) {
  const parts = WATCHED_KEYS.map((name) => [name, name === key ? value : readAddress().get(name)]).filter(([, text]) => text);
  history.replaceState(null, "", parts.length > 0 ? `#${parts.map(([name, text]) => `${name}=${encodeURIComponent(text)}`).join("&")}` : location.pathname + location.search);
  showAddress();
}

// ---- tables

// What a cell is sorted by: seconds of a duration, a number, or text; null: not known.
export function sortKey(text) {
  const plain = text.trim().replaceAll("−", "-").replaceAll(",", "").replace(/^[≥<>=+\s]+/, "");
  if (plain === "" || plain === "–" || plain === "-") return null;
  const found = /^(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([^\s\d]*)/.exec(plain);
  if (!found) return plain;
  const number = Number(found[1]);
  if (found[2] in UNIT_SECONDS) return number * UNIT_SECONDS[found[2]];
  if (found[2].length > 1 && found[2][0] in FACTORS && found[2].endsWith("b/s")) return number * FACTORS[found[2][0]];
  return ["", "%", "×", "x", "points", "±", "MB", "/"].some((unit) => found[2].startsWith(unit)) ? number : plain;
}

function compareKeys(a, b) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b));
}

// Rows that unfold below a table are its own.
function joinRest(table) {
  const details = table.closest(".scroll")?.nextElementSibling;
  const rest = details?.matches("details") ? details.querySelector("table") : null;
  if (!rest || rest.tHead?.textContent !== table.tHead?.textContent) return;
  table.tBodies[0].append(...rest.tBodies[0].rows);
  details.remove();
}

function enhanceTable(table) {
  const body = table.tBodies[0];
  const headings = [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
  if (!body || headings.length === 0) return;
  joinRest(table);
  const rows = [...body.rows];
  if (rows.length < 2 || rows.some((row) => row.cells.length !== headings.length)) return;
  const view = { column: null, isUp: true, filter: "", isAll: rows.length <= ROWS_SHOWN };
  const tools = document.createElement("p");
  tools.className = "tools";
  table.closest(".scroll")?.before(tools);
  const show = () => {
    const filter = view.filter.toLowerCase();
    const found = rows.filter((row) => !filter || row.textContent.toLowerCase().includes(filter));
    if (view.column !== null) {
      const key = new Map(found.map((row) => [row, sortKey(row.cells[view.column].textContent)]));
      found.sort((a, b) => {
        const [x, y] = [key.get(a), key.get(b)];
        const order = compareKeys(x, y);
        return x === null || y === null || view.isUp ? order : -order;
      });
    }
    const shown = view.isAll ? found : found.slice(0, ROWS_SHOWN);
    body.replaceChildren(...shown);
    headings.forEach((heading, i) => {
      const isSorted = i === view.column;
      heading.ariaSort = isSorted ? (view.isUp ? "ascending" : "descending") : null;
      const arrow = heading.querySelector(".arrow");
      if (arrow) arrow.textContent = isSorted ? (view.isUp ? " ▲" : " ▼") : "";
    });
    render(tools,
      rows.length > ROWS_WITHOUT_FILTER && h("label", { key: "filter" }, "Filter ", h("input", { type: "search", value: "", placeholder: "any text of a row", oninput: (event) => { view.filter = event.target.value.trim(); show(); } })),
      rows.length > ROWS_WITHOUT_FILTER && h("span", { key: "count", role: "status" }, `${count(shown.length)} of ${counted(rows.length, "row")}`),
      shown.length < found.length && h("button", { key: "all", type: "button", onclick: () => { view.isAll = true; show(); } }, `Show all ${count(found.length)}`));
  };
  headings.forEach((heading, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    const arrow = document.createElement("span");
    arrow.className = "arrow";
    arrow.ariaHidden = "true";
    button.append(arrow);
    heading.append(button);
    button.addEventListener("click", () => {
      const isNumber = heading.classList.contains("number-cell");
      view.isUp = view.column === i ? !view.isUp : !isNumber;
      view.column = i;
      show();
    });
  });
  table.showRow = (row) => {
    if (row.isConnected) return;
    Object.assign(view, { filter: "", isAll: true });
    show();
  };
  table.ownRows = rows;
  show();
}

// ---- tooltips

let tip = null;

function showTip(text, x, y) {
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "tip";
    tip.setAttribute("role", "status");
    document.body.append(tip);
  }
  tip.hidden = false;
  if (tip.textContent !== text) tip.textContent = text;
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 14), document.documentElement.clientWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 18;
  tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
  tip.style.top = `${Math.max(0, top) + window.scrollY}px`;
}

function hideTip() {
  if (tip) tip.hidden = true;
}

// A finger leaves when it is lifted: what it has asked for stays, until it touches something else.
let shownBy = null;

function onPointer(svg, show, hide) {
  const showOwn = (event) => {
    shownBy = svg;
    show(event);
  };
  svg.addEventListener("pointermove", showOwn);
  svg.addEventListener("pointerdown", showOwn);
  svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
  document.addEventListener("pointerdown", (event) => shownBy === svg && !svg.contains(event.target) && hide(), true);
}

// ---- figures

// How values of an axis are told, as its ticks are: {text(value), seconds: of one unit of the axis, null: it is no time}.
export function readerOf(axis) {
  const shortNumber = (value) => Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
  const duration = (value) => {
    const [unit, size] = Object.entries({ days: 86400, h: 3600, min: 60, s: 1, ms: 1e-3, "µs": 1e-6 }).find(([, length]) => Math.abs(value) >= length * (length > 1 ? 2 : 1)) ?? ["s", 1];
    return `${shortNumber(value / size)} ${unit}`;
  };
  const isNear = (a, b) => Math.abs(a - b) <= 1e-3 * Math.max(1e-9, Math.abs(b));
  for (const [value, label] of axis.ticks) {
    const found = /^([-−]?[\d,.]+)\s*(.*)$/.exec(label);
    if (!found) continue;
    const number = Number(found[1].replaceAll(",", "").replace("−", "-"));
    const unit = UNIT_SECONDS[found[2]];
    if (unit && number > 0 && isNear(Math.log10(number * unit), value) && axis.ticks.length > 1 && value < 20 && !isNear(number * unit, value)) return { text: (x) => duration(10 ** x), seconds: null };
    if (value === 0 || number === 0) continue;
    if (unit && isNear(number * unit, value)) return { text: duration, seconds: 1 };
    if (!unit && axis.label === "hours") return { text: (x) => duration(x * 3600), seconds: 3600 };
    if (!unit && axis.label === "seconds") return { text: duration, seconds: 1 };
    if (number > 0 && isNear(Math.log10(number), value) && !isNear(number, value)) return { text: (x) => shortNumber(10 ** x) + (found[2] ? ` ${found[2]}` : ""), seconds: null };
    const scale = number / value;
    const suffix = found[2] === "" ? "" : /^[x×%]$/.test(found[2]) ? (found[2] === "%" ? " %" : "×") : ` ${found[2]}`;
    return { text: (x) => shortNumber(x * scale) + suffix, seconds: null };
  }
  return { text: shortNumber, seconds: null };
}

const SVG_SPACE = "http://www.w3.org/2000/svg";
let numFigures = 0;

function makeShape(tag, attributes) {
  const node = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// Pixels of the drawing at a place of the window.
function pixelsAt(svg, event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [at.x, at.y];
}

function placeOn(svg, x, y) {
  const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
  return [at.x, at.y];
}

const seriesClass = (node) => [...node.classList].find((name) => /^s\d$/.test(name));

// Labels of curves switch them on and off.
function enhanceLegend(svg) {
  const labels = [...svg.querySelectorAll(".curve-label")];
  if (labels.length < 2) return;
  for (const label of labels) {
    label.setAttribute("role", "button");
    label.setAttribute("tabindex", "0");
    label.setAttribute("aria-pressed", "true");
    const name = seriesClass(label);
    const toggle = () => {
      const isShown = label.getAttribute("aria-pressed") !== "true";
      label.setAttribute("aria-pressed", String(isShown));
      for (const mark of svg.querySelectorAll(`.${name}`)) {
        if (!mark.classList.contains("curve-label")) mark.classList.toggle("off", !isShown);
      }
    };
    label.addEventListener("click", toggle);
    label.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      toggle();
    });
  }
}

// Marks with a text of their own: by pointer, by touch, and with the arrow keys.
function enhanceMarks(svg) {
  const marks = [...svg.querySelectorAll("rect, circle, path")].filter((mark) => mark.querySelector("title"));
  if (marks.length === 0) return;
  for (const mark of marks) {
    const title = mark.querySelector("title");
    mark.dataset.tip = title.textContent;
    title.remove();
  }
  const show = (event) => {
    const text = event.target.dataset?.tip;
    if (text) showTip(text, event.clientX, event.clientY);
    else hideTip();
  };
  onPointer(svg, show, hideTip);
  let current = -1;
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in steps) || event.target !== svg) return;
    event.preventDefault();
    const seen = marks.filter((mark) => !mark.classList.contains("off"));
    marks[current]?.classList.remove("current");
    const next = seen[(seen.indexOf(marks[current]) + steps[event.key] + seen.length) % seen.length];
    current = marks.indexOf(next);
    next.classList.add("current");
    const box = next.getBoundingClientRect();
    showTip(next.dataset.tip, box.left + box.width / 2, box.top + box.height / 2);
  });
  svg.addEventListener("blur", () => {
    marks[current]?.classList.remove("current");
    hideTip();
  });
}

// Charts over time show the same stretch of it.
const timeCharts = [];
let stretch = null;  // [from, to] in seconds; null: all

function setStretch(next, isTold = true) {
  stretch = next;
  for (const chart of timeCharts) chart.zoom();
  if (isTold) writeAddress("t", next ? next.map((value) => Number(value.toPrecision(6))).join(",") : "");
}

// Round times of a stretch, for ticks.
function timesWithin(from, to) {
  const steps = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000];
  const step = steps.find((one) => (to - from) / one <= 9) ?? 31536000;
  const times = [];
  for (let i = Math.ceil(from / step); i * step <= to && times.length < 20; ++i) times.push(i * step);
  const [unit, size] = step >= 86400 ? ["d", 86400] : step >= 3600 ? ["h", 3600] : step >= 60 ? ["min", 60] : step >= 0.5 ? ["s", 1] : step >= 1e-3 ? ["ms", 1e-3] : ["µs", 1e-6];
  return times.map((time) => [time, time === 0 ? "0" : `${Number((time / size).toPrecision(9))} ${unit}`]);
}

class Chart {
  constructor(svg, figure) {
    this.svg = svg;
    this.figure = figure;
    this.x = readerOf(figure.x);
    this.y = figure.y ? readerOf(figure.y) : null;
    [this.left, this.top, this.width, this.height] = figure.frame;
    this.low = figure.x.low;
    this.high = figure.x.high;
    this.from = this.low;
    this.to = this.high;
    if (this.x.seconds !== null && figure.timeline !== false) this.#beZoomable();
    if (figure.kind === "line") this.#beAsked();
  }

  pixel(value) {
    return this.left + ((value - this.from) / (this.to - this.from)) * this.width;
  }

  valueAt(pixel) {
    return this.from + ((pixel - this.left) / this.width) * (this.to - this.from);
  }

  // Moves what was drawn of all time to where it is in the stretch.
  zoom() {
    const [from, to] = stretch ? stretch.map((value) => value / this.x.seconds) : [this.low, this.high];
    this.from = from;
    this.to = to;
    const scale = (this.high - this.low) / (to - from);
    const shift = this.left - scale * (this.left + ((from - this.low) / (this.high - this.low)) * this.width);
    const isAll = stretch === null;
    for (const mark of this.marks) {
      if (isAll) mark.removeAttribute("transform");
      else if (mark.localName === "circle") mark.setAttribute("transform", `translate(${scale * mark.cx.baseVal.value + shift - mark.cx.baseVal.value} 0)`);
      else mark.setAttribute("transform", `matrix(${scale} 0 0 1 ${shift} 0)`);
    }
    for (const label of this.labels) {
      const x = label.x.baseVal[0].value;
      const move = isAll ? 0 : scale * x + shift - x;
      label.setAttribute("transform", `translate(${move} 0)`);
      label.classList.toggle("off", x + move < this.left || x + move > this.left + this.width);
    }
    for (const tick of this.ticks) tick.classList.toggle("off", !isAll);
    this.ownTicks.replaceChildren();
    if (!isAll) {
      for (const [time, label] of timesWithin(from * this.x.seconds, to * this.x.seconds)) {
        const x = this.pixel(time / this.x.seconds).toFixed(1);
        const text = makeShape("text", { x, y: this.tickY, class: "tick middle" });
        text.textContent = label;
        this.ownTicks.append(makeShape("line", { x1: x, x2: x, y1: this.top + this.height, y2: this.top + this.height + 5, class: "axis" }), text);
      }
    }
    this.showTools();
  }

  #beZoomable() {
    const id = `frame-${++numFigures}`;
    const clip = makeShape("clipPath", { id });
    clip.append(makeShape("rect", { x: this.left, y: this.top - 3, width: this.width, height: this.height + 6 }));
    this.marks = [...this.svg.querySelectorAll(".curve, .band, .dot, .event, .notch")].filter((mark) => mark.localName !== "text" && this.#isInside(mark));
    this.labels = [...this.svg.querySelectorAll(".mark-label")];
    const layer = makeShape("g", { "clip-path": `url(#${id})` });
    (this.marks[0] ?? this.svg.lastElementChild).before(layer);
    layer.append(...this.marks);
    this.svg.prepend(clip);
    this.ticks = [...this.svg.querySelectorAll("text.tick.middle, line")].filter((mark) =>
      mark.localName === "text" ? Number(mark.getAttribute("y")) > this.top + this.height : mark.getAttribute("x1") === mark.getAttribute("x2") && !this.marks.includes(mark));
    this.tickY = this.ticks.find((mark) => mark.localName === "text")?.getAttribute("y") ?? this.top + this.height + 18;
    this.ownTicks = makeShape("g", {});
    this.svg.append(this.ownTicks);
    this.svg.classList.add("zooms");
    this.tools = document.createElement("p");
    this.tools.className = "tools";
    this.svg.closest(".scroll-figure")?.after(this.tools);
    timeCharts.push(this);
    this.showTools();
    this.#beDragged();
    this.svg.addEventListener("dblclick", () => setStretch(null));
    this.svg.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") this.zoomBy(0.5);
      else if (event.key === "-") this.zoomBy(2);
      else if (event.key === "0" || event.key === "Escape") setStretch(null);
      else return;
      event.preventDefault();
    });
  }

  #isInside(mark) {
    const box = mark.getBBox();
    return box.x >= this.left - 8 && box.x + box.width <= this.left + this.width + 8;
  }

  // Around the cursor, or the middle.
  zoomBy(factor) {
    const whole = (this.high - this.low) * this.x.seconds;
    const length = Math.max(whole / ZOOM_MAX, (this.to - this.from) * this.x.seconds * factor);
    if (length >= whole) return setStretch(null);
    const middle = (this.cursor ?? (this.from + this.to) / 2) * this.x.seconds;
    const from = Math.min(Math.max(middle - length / 2, this.low * this.x.seconds), this.high * this.x.seconds - length);
    return setStretch([from, from + length]);
  }

  showTools() {
    const text = stretch ? `${this.x.text(this.from)} to ${this.x.text(this.to)}` : "drag over a stretch to see more of it";
    render(this.tools, h("button", { type: "button", "aria-label": "Zoom in", onclick: () => this.zoomBy(0.5) }, "+"),
      h("button", { type: "button", "aria-label": "Zoom out", onclick: () => this.zoomBy(2) }, "−"),
      h("button", { type: "button", disabled: stretch === null, onclick: () => setStretch(null) }, "All"), h("span", {}, text));
  }

  #beDragged() {
    let start = null;
    const area = makeShape("rect", { y: this.top, height: this.height, class: "chosen off" });
    this.svg.append(area);
    const within = (pixel) => Math.min(Math.max(pixel, this.left), this.left + this.width);
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      const [x, y] = pixelsAt(this.svg, event);
      if (x < this.left || x > this.left + this.width || y < this.top || y > this.top + this.height) return;
      start = x;
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const x = within(pixelsAt(this.svg, event)[0]);
      area.setAttribute("x", Math.min(start, x));
      area.setAttribute("width", Math.abs(x - start));
      area.classList.toggle("off", Math.abs(x - start) < 6);
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const ends = [start, within(pixelsAt(this.svg, event)[0])].sort((a, b) => a - b);
      start = null;
      area.classList.add("off");
      if (ends[1] - ends[0] >= 6) setStretch(ends.map((pixel) => this.valueAt(pixel) * this.x.seconds));
    });
  }

  // The values of all curves at the nearest place that has one.
  #beAsked() {
    const places = [...new Set(this.figure.series.flatMap((series) => series.x))].filter(Number.isFinite).sort((a, b) => a - b);
    if (places.length === 0) return;
    const line = makeShape("path", { class: "cursor off" });
    this.svg.append(line);
    const valueOf = (series, x) => {
      let at = -1;
      for (let i = 0; i < series.x.length && series.x[i] <= x + 1e-12; ++i) at = i;
      if (at < 0) return null;
      return series.stepped || series.x[at] === x || at + 1 >= series.x.length ? series.y[at] : series.y[at] === null || series.y[at + 1] === null ? null
        : series.y[at] + ((series.y[at + 1] - series.y[at]) * (x - series.x[at])) / (series.x[at + 1] - series.x[at]);
    };
    const show = (x, place) => {
      this.cursor = x;
      const values = this.figure.series.map((series) => [series.label, valueOf(series, x)]).filter(([, value]) => value !== null);
      const text = `${this.x.text(x)}\n${values.map(([label, value]) => `${label}: ${this.y.text(value)}`).join("\n")}`;
      line.setAttribute("d", `M${this.pixel(x).toFixed(1)} ${this.top}V${this.top + this.height}`);
      line.classList.remove("off");
      showTip(text, ...place);
    };
    const nearest = (value) => places.reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best));
    const hide = () => {
      line.classList.add("off");
      this.cursor = undefined;
      hideTip();
    };
    const point = (event) => {
      const [x, y] = pixelsAt(this.svg, event);
      if (x < this.left || x > this.left + this.width || y < this.top || y > this.top + this.height) return hide();
      return show(nearest(this.valueAt(x)), [event.clientX, event.clientY]);
    };
    onPointer(this.svg, point, hide);
    this.svg.addEventListener("blur", hide);
    this.svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || event.target !== this.svg) return;
      event.preventDefault();
      const shown = places.filter((one) => one >= this.from && one <= this.to);
      if (shown.length === 0) return;
      const far = Math.max(1, Math.round(shown.length / 100));
      const at = this.cursor === undefined ? (step > 0 ? -1 : shown.length) : shown.indexOf(this.cursor);
      const next = shown[Math.min(Math.max(at + step * (event.shiftKey ? 10 * far : far), 0), shown.length - 1)];
      show(next, placeOn(this.svg, this.pixel(next), this.top + this.height / 3));
    });
  }
}

// Cells that are too many to have a text of their own each: what is at the pointer, or where the arrow keys have led.
function enhanceHeat(svg, figure) {
  const panels = figure.panels.map((panel) => ({ ...panel, heats: new Map(panel.cells.map(([row, column, heat]) => [`${row} ${column}`, heat])) }));
  const columnText = (column) => {
    if (figure.columns[column]) return figure.columns[column];
    const span = figure.spans.findLast(([, first]) => first <= column);
    return span ? `${span[0]} ${column - span[1]}` : `column ${column}`;
  };
  const describe = (panel, row, column) => {
    const heat = panel.heats.get(`${row} ${column}`);
    const value = heat === undefined ? "none" : `${Number((heat * 100).toPrecision(3))} %`;
    return `${panel.heading}: ${figure.rows[row]}, ${columnText(column)}: ${figure.scale ? `${figure.scale} ` : ""}${value}`;
  };
  const cellAt = (x, y) => {
    for (const panel of panels) {
      const [left, top, width, height] = panel.frame;
      const [row, column] = [Math.floor((y - top) / height), Math.floor((x - left) / width)];
      if (row >= 0 && row < figure.rows.length && column >= 0 && column < figure.columns.length) return [panel, row, column];
    }
    return null;
  };
  const show = (event) => {
    const cell = cellAt(...pixelsAt(svg, event));
    if (cell) showTip(describe(...cell), event.clientX, event.clientY);
    else hideTip();
  };
  onPointer(svg, show, hideTip);
  let current = null;
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  svg.addEventListener("keydown", (event) => {
    if (!steps[event.key]) return;
    event.preventDefault();
    const [row, column] = current ? [current[0] + steps[event.key][0], current[1] + steps[event.key][1]] : [0, 0];
    // Behind the last column of a panel the next one begins.
    const place = column < 0 ? (current?.[2] ?? 0) - 1 : column >= figure.columns.length ? (current?.[2] ?? 0) + 1 : current?.[2] ?? 0;
    if (place < 0 || place >= panels.length || row < 0 || row >= figure.rows.length) return;
    current = [row, (column + figure.columns.length) % figure.columns.length, place];
    const [left, top, width, height] = panels[place].frame;
    showTip(describe(panels[place], row, current[1]), ...placeOn(svg, left + (current[1] + 0.5) * width, top + (row + 0.5) * height));
  });
  svg.addEventListener("blur", hideTip);
}

function enhanceFigure(svg) {
  const figure = JSON.parse(svg.dataset.figure);
  svg.setAttribute("tabindex", "0");
  // Not a picture any more: what its legend turns on and off is inside.
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-description", "Arrow keys read its values.");
  svg.querySelector(":scope > title")?.remove();
  enhanceLegend(svg);
  enhanceMarks(svg);
  if (figure.kind === "line" || figure.kind === "schedule") new Chart(svg, figure);
  if (figure.kind === "heat" && !svg.querySelector("[data-tip]")) enhanceHeat(svg, figure);
}

// ---- the network

const pictures = [];

function enhancePicture(holder, number) {
  const model = JSON.parse(holder.dataset.picture);
  const id = `network-${number}`;
  const binSeconds = Number(holder.dataset.binS);
  const time = readerOf({ ticks: [[60, "1 min"]] }).text;
  const draw = drawer(() => {
    const job = readAddress().get("job") ?? "";
    render(holder, picture(id, model, {
      loadLabel: holder.dataset.loadLabel, jobName: model.jobs.some((one) => one.name === job) ? job : "", redraw: draw,
      time: binSeconds > 0 ? (bin) => `${time(bin * binSeconds)} to ${time((bin + 1) * binSeconds)}` : null,
      onJob: (name) => writeAddress("job", name), linkHref: (name) => `#link=${encodeURIComponent(name)}`,
    }));
  });
  pictures.push(draw);
  draw();
  holder.closest("figure")?.querySelector(".still")?.classList.add("on-paper");
}

// ---- where the address leads

let told = "";

function showAddress() {
  const address = readAddress();
  for (const draw of pictures) draw();
  for (const row of document.querySelectorAll("tr.here")) row.classList.remove("here");
  for (const key of ["job", "link"]) {
    const name = address.get(key);
    if (!name) continue;
    const tables = [...document.querySelectorAll("table")].filter((table) => table.ownRows);
    for (const table of tables) {
      for (const row of table.ownRows.filter((one) => one.dataset[key] === name)) {
        table.showRow(row);
        row.classList.add("here");
      }
    }
    const isNews = `${key}=${name}` !== told;
    told = `${key}=${name}`;
    if (isNews) document.querySelector("tr.here")?.scrollIntoView({ block: "center" });
  }
}

function followAddress() {
  const times = (readAddress().get("t") ?? "").split(",").map(Number);
  const next = times.length === 2 && times.every(Number.isFinite) && times[0] < times[1] ? times : null;
  if (JSON.stringify(next) !== JSON.stringify(stretch)) setStretch(next, false);
  showAddress();
}

for (const table of document.querySelectorAll("main table")) enhanceTable(table);
[...document.querySelectorAll("[data-picture]")].forEach(enhancePicture);
for (const svg of document.querySelectorAll("figure svg[data-figure]")) {
  if (!svg.closest(".still")) enhanceFigure(svg);
}
window.addEventListener("hashchange", followAddress);
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
followAddress();
document.documentElement.dataset.ready = "yes";
