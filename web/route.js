// What the address asks for: "#job=gpt", "#link=leaf0->spine1", "#host=h3", "#finding=7", or the overview with "#filter=gpt&sort=level&order=up".

export const VIEWS = ["job", "link", "host", "finding"];

// Args: hash: with or without its "#".
export function readRoute(hash) {
  const parameters = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const view = VIEWS.find((name) => parameters.has(name));
  return {
    view: view ?? "overview",
    name: view ? parameters.get(view) : "",
    filter: parameters.get("filter") ?? "",
    hosts: parameters.get("hosts") ?? "",
    sort: parameters.get("sort") ?? "lost",
    isUp: parameters.get("order") === "up",
  };
}

export function hrefOf(view, name) {
  return `#${view}=${encodeURIComponent(name)}`;
}

// Of the overview.
export function overviewHref({ filter, hosts, sort, isUp }) {
  const parameters = [];
  if (filter) parameters.push(`filter=${encodeURIComponent(filter)}`);
  if (hosts) parameters.push(`hosts=${encodeURIComponent(hosts)}`);
  if (sort !== "lost" || isUp) parameters.push(`sort=${encodeURIComponent(sort)}`, `order=${isUp ? "up" : "down"}`);
  return `#${parameters.join("&")}`;
}
