// What the address asks for: "#job=gpt", "#link=leaf0->spine1", "#host=h3", "#finding=7", "#topology=leaf0..leaf9&paths=gpt", "#topology&at=1764216000", or the overview
// with "#filter=gpt&sort=level&order=up".

export const VIEWS = ["topology", "job", "link", "host", "finding"];

// Args: hash: with or without its "#".
export function readRoute(hash) {
  const parameters = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const view = VIEWS.find((name) => parameters.has(name));
  return {
    view: view ?? "overview",
    name: view ? parameters.get(view) : "",
    paths: parameters.get("paths") ?? "",
    at: /^\d{1,15}$/.test(parameters.get("at") ?? "") ? Number(parameters.get("at")) : null,
    filter: parameters.get("filter") ?? "",
    hosts: parameters.get("hosts") ?? "",
    sort: parameters.get("sort") ?? "lost",
    isUp: parameters.get("order") === "up",
  };
}

export function hrefOf(view, name) {
  return `#${view}=${encodeURIComponent(name)}`;
}

// Args: name: what is opened; empty: nothing. paths: of which job; empty: none. at: when, in seconds since 1970; null: now.
export function topologyHref({ name, paths, at = null }) {
  return `#topology${name ? `=${encodeURIComponent(name)}` : ""}${paths ? `&paths=${encodeURIComponent(paths)}` : ""}${at === null ? "" : `&at=${at}`}`;
}

// Of the overview.
export function overviewHref({ filter, hosts, sort, isUp }) {
  const parameters = [];
  if (filter) parameters.push(`filter=${encodeURIComponent(filter)}`);
  if (hosts) parameters.push(`hosts=${encodeURIComponent(hosts)}`);
  if (sort !== "lost" || isUp) parameters.push(`sort=${encodeURIComponent(sort)}`, `order=${isUp ? "up" : "down"}`);
  return `#${parameters.join("&")}`;
}
