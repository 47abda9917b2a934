// The network as a picture: what is cabled to what, how full, what is down, and where a job's paths lead.
import { h } from "./dom.js";
import { counted } from "./format.js";
import { picture } from "./picture.js";
import { hrefOf, topologyHref } from "./route.js";
import { link, mark, section } from "./table.js";

const back = h("p", { key: "back" }, h("a", { href: "#" }, "← Overview"));

// The answer in one sentence.
function sentence(model) {
  const down = model.links.reduce((sum, one) => sum + (one.down ?? 0), 0);
  const degraded = model.links.reduce((sum, one) => sum + (one.degraded ?? 0), 0);
  const fullest = model.links.reduce((most, one) => (one.load > (most?.load ?? 0) ? one : most), null);
  const where = fullest ? [" The fullest link is ", link("link", fullest.name), "."] : [" No link is used."];
  if (down + degraded === 0) return [mark("good", "All cables shown are up."), ...where];
  const parts = [down > 0 && `${counted(down, "cable")} down`, degraded > 0 && `${counted(degraded, "cable")} degraded`].filter(Boolean);
  return [mark("bad", `${parts.join(", ")}.`), ...where];
}

// Args: model: the controller's answer; null: not known yet; isMissing: there is none.
export function topologyView(route, model, { isMissing, go, redraw }) {
  const where = route.name ? `Network at ${route.name}` : "Network";
  const title = h("h2", { key: "title", id: "view-title", class: "view-title", tabindex: "-1" }, where);
  const whole = route.name && h("p", { key: "whole" }, h("a", { href: topologyHref({ name: "", paths: route.paths }) }, "↑ The whole network"));
  if (!model && isMissing) {
    return [back, title, whole, h("p", { key: "missing" }, mark("bad", route.paths ? `The controller knows no job ${route.paths} on the network, or no ${route.name || "picture"}.` : `The controller knows no ${route.name || "picture"} in its network.`))];
  }
  if (!model) return [back, title, whole, h("p", { key: "missing", class: "hint" }, "asking for the network …")];
  const counts = model.tiers.map((tier) => counted(tier.count, tier.tier, tier.name)).join(", ");
  return [back, title, whole, h("p", { key: "answer", id: "topology-answer" }, sentence(model), ` ${counts}.`),
    h("div", { key: "sections", class: "sections" }, section(route.name ? "What is inside, and what it is cabled to" : "Tiers and cables", picture("network", model, {
      loadLabel: "Load by capacity, relative to the fullest link", jobName: route.paths, redraw,
      onJob: (name) => go({ name: route.name, paths: name }),
      onOpen: (name) => { location.hash = topologyHref({ name, paths: route.paths }); },
      linkHref: (name) => hrefOf("link", name),
    })))];
}
