// Elements as data, and how those on the page become them: what has not changed stays the same node, with its focus,
// selection and scroll position. All text goes in as text: names come from strangers.

const specOf = new WeakMap();

// An element that is wanted. Attributes: `key` tells siblings apart; names with `on` are functions; `style` is an object; true, false
// and null as in HTML; a `value` is that of a new element, and belongs to whoever types from then on.
export function h(tag, attributes, ...children) {
  const isThere = (child) => child !== null && child !== undefined && child !== false && child !== "";
  return { tag, attributes: attributes ?? {}, children: children.flat(Infinity).filter(isThere) };
}

function setAttribute(node, name, value) {
  if (name === "key") return;
  if (name.startsWith("on")) {
    node[name] = value;
  } else if (name === "style") {
    for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
  } else if (value === false || value === null || value === undefined) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

function isSame(name, before, after) {
  return name === "style" ? JSON.stringify(before) === JSON.stringify(after) : before === after;
}

function update(node, spec) {
  const before = specOf.get(node)?.attributes ?? {};
  for (const name of Object.keys(before)) {
    if (!(name in spec.attributes)) setAttribute(node, name, null);
  }
  for (const [name, value] of Object.entries(spec.attributes)) {
    if (name === "value" && name in before) continue;
    if (!isSame(name, before[name], value)) setAttribute(node, name, value);
  }
  specOf.set(node, spec);
  renderChildren(node, spec.children);
}

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "text"]);

function create(spec) {
  if (!spec.tag) return document.createTextNode(String(spec));
  const node = SVG_TAGS.has(spec.tag) ? document.createElementNS(SVG, spec.tag) : document.createElement(spec.tag);
  update(node, spec);
  return node;
}

const keyOf = (node) => specOf.get(node)?.attributes.key;

// The node that may become what is wanted; null: there is none.
function findReusable(spec, next, keyed) {
  if (!spec.tag) return next?.nodeType === Node.TEXT_NODE ? next : null;
  const key = spec.attributes.key;
  const node = key === undefined ? next : keyed.get(key);
  if (!node || node.nodeType !== Node.ELEMENT_NODE || node.localName !== spec.tag) return null;
  return keyOf(node) === key ? node : null;
}

function renderChildren(parent, specs) {
  const keyed = new Map();
  for (const node of parent.children) {
    if (keyOf(node) !== undefined) keyed.set(keyOf(node), node);
  }
  let next = parent.firstChild;
  for (const spec of specs) {
    const node = findReusable(spec, next, keyed);
    if (node === null) {
      parent.insertBefore(create(spec), next);
      continue;
    }
    keyed.delete(spec.attributes?.key);
    if (node === next) {
      next = next.nextSibling;
    } else {
      parent.insertBefore(node, next);
    }
    if (spec.tag) {
      update(node, spec);
    } else if (node.data !== String(spec)) {
      node.data = String(spec);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

// The same function, for handlers of events: what is called while it draws (an element that goes loses the focus) is drawn afterwards.
export function drawer(draw) {
  let isDrawing = false;
  let isStale = false;
  return () => {
    isStale = true;
    if (isDrawing) return;
    isDrawing = true;
    try {
      for (let i = 0; isStale && i < 4; ++i) {
        isStale = false;
        draw();
      }
    } finally {
      isDrawing = false;
    }
  };
}

// Makes these the holder's children. An element that has the focus and stays keeps it, wherever it moves.
export function render(holder, ...specs) {
  const focused = document.activeElement;
  renderChildren(holder, h("", {}, ...specs).children);
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}
