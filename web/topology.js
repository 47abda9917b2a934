// The network as a picture: what is cabled to what, how full, what is down, and where a job's paths lead.
import { h } from "./dom.js";
import { counted, time } from "./format.js";
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

const periodText = (model, at) => `${time(at)} to ${time(at + model.period_s)}`;

// The period that a moment lies in, by its place; -1: it is not kept.
export function momentOf(model, at) {
  return model.moments.findLastIndex((begin) => begin <= at && at < begin + model.period_s);
}

// From the first period that is kept to now.
function timeSlider(route, model, go) {
  const { moments } = model;
  if (!moments || moments.length === 0) return h("p", { key: "time", class: "hint" }, `The past can be looked at ${model.period_s ? `${Math.round(model.period_s / 60)} minutes after the controller's first start` : "later"}.`);
  const place = route.at === null ? moments.length : momentOf(model, route.at);
  const text = place === moments.length ? "now" : periodText(model, moments[Math.max(0, place)]);
  const show = (at) => go({ name: route.name, paths: route.paths, at });
  return h("div", { key: "time", class: "tools" },
    h("label", {}, "Time ", h("input", { id: "network-time", class: "time", type: "range", min: "0", max: String(moments.length), value: String(place), "aria-valuetext": text,
      oninput: (event) => show(moments[Number(event.target.value)] ?? null) })),
    h("span", { id: "network-time-text" }, text),
    route.at !== null && h("button", { key: "now", type: "button", onclick: () => show(null) }, "Now"));
}

// Args: model: the controller's answer; null: not known yet; isMissing: there is none.
export function topologyView(route, model, { isMissing, go, redraw }) {
  const where = route.name ? `Network at ${route.name}` : "Network";
  const title = h("h2", { key: "title", id: "view-title", class: "view-title", tabindex: "-1" }, where);
  const whole = route.name && h("p", { key: "whole" }, h("a", { href: topologyHref({ name: "", paths: route.paths, at: route.at }) }, "↑ The whole network"));
  if (!model && isMissing) {
    return [back, title, whole, h("p", { key: "missing" }, mark("bad", route.at !== null ? `Nothing is kept of the network at ${time(route.at)}, or it has no ${route.name || "picture"}.` : route.paths ? `The controller knows no job ${route.paths} on the network, or no ${route.name || "picture"}.` : `The controller knows no ${route.name || "picture"} in its network.`)),
      route.at !== null && h("p", { key: "now" }, h("a", { href: topologyHref({ name: route.name, paths: route.paths }) }, "The network now"))];
  }
  if (!model) return [back, title, whole, h("p", { key: "missing", class: "hint" }, "asking for the network …")];
  const counts = model.tiers.map((tier) => counted(tier.count, tier.tier, tier.name)).join(", ");
  const isAsked = (model.at_s ?? null) !== route.at;
  const when = model.at_s !== undefined && `From ${periodText(model, model.moments[momentOf(model, model.at_s)] ?? model.at_s)}, with the worst that was seen: `;
  return [back, title, whole, h("p", { key: "answer", id: "topology-answer" }, when, sentence(model), ` ${counts}.`, isAsked && " Asking …"),
    h("div", { key: "sections", class: "sections" }, section(route.name ? "What is inside, and what it is cabled to" : "Tiers and cables", timeSlider(route, model, go), picture("network", model, {
      loadLabel: "Load by capacity, relative to the fullest link", jobName: route.paths, redraw,
      noJobs: model.at_s === undefined ? "No job has paths here." : "Whose jobs used a link then is not kept.",
      onJob: (name) => go({ name: route.name, paths: name }),
      onOpen: (name) => { location.hash = topologyHref({ name, paths: route.paths, at: route.at }); },
      linkHref: (name) => hrefOf("link", name),
    })))];
}
