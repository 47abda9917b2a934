// One job, one link, one host: its numbers, and the way from each to the others.
import { save } from "./client.js";
import { h } from "./dom.js";
import { byName, count, counted, flops, gpus, percent, seconds, span, speed, time, times, words } from "./format.js";
import { hostPart, isUp, lostOf, slowdownOf } from "./facts.js";
import { endPause, offerSpare, pause, undo } from "./orders.js";
import { linkRows } from "./overview.js";
import { plainReason } from "./reason.js";
import { topologyHref } from "./route.js";
import { eventsAbout, factList, findingTable, link, linkList, mark, section, table } from "./table.js";

const PATHS_MAX = 100;

const back = h("p", { key: "back" }, h("a", { href: "#" }, "← Overview"));
const title = (what, name) => h("h2", { key: "title", id: "view-title", class: "view-title", tabindex: "-1" }, `${what} ${name}`);

function missing(what, name) {
  return [back, title(what[0].toUpperCase() + what.slice(1), name), h("p", { key: "missing" }, mark("bad", `The controller knows no ${what} of this name at present.`))];
}

// Args: paths: {total, connections}; null: not known yet.
function pathsSection(paths, heading) {
  if (!paths) return section(heading, h("p", { class: "hint" }, "asking for paths …"));
  const { connections, total } = paths;
  if (connections.length === 0) return section(heading, h("p", { class: "hint" }, "no connection is known"));
  return section(heading,
    total > PATHS_MAX && h("p", { class: "hint" }, `The first ${Math.min(PATHS_MAX, connections.length)} of ${count(total)}.`),
    table({ id: "paths", caption: heading, rows: connections.slice(0, PATHS_MAX),
      key: (path) => `${path.job} ${path.source} ${path.connection} ${path.queue_pair}`, columns: [
        { key: "job", label: "job", cell: (path) => link("job", path.job) },
        { key: "from", label: "from", cell: (path) => nicLink(path.source) },
        { key: "to", label: "to", cell: (path) => nicLink(path.destination) },
        { key: "pair", label: "queue pair", cell: (path) => `connection ${path.connection}, pair ${path.queue_pair}`, isMinor: true },
        { key: "answer", label: "answer", cell: (path) => mark(path.answer === "use" ? "good" : "bad", path.answer) },
        { key: "port", label: "source port", cell: portsOf, isNumber: true, isMinor: true },
        { key: "over", label: "links", cell: (path) => linkList("link", path.links, 8), isWide: true },
      ] }));
}

const nicLink = (nic) => [link("host", hostPart(nic)), nic.slice(hostPart(nic).length)];

// Where a connection is to be moved: from which port to which.
function portsOf({ source_port, wire_port }) {
  if (source_port === 0) return "";
  return String(wire_port === 0 || wire_port === source_port ? source_port : `${wire_port} → ${source_port}`);
}

function findingsSection(facts, isAbout) {
  const holding = facts.holding.filter(isAbout);
  const over = facts.over.filter(isAbout).slice(0, 10);
  if (holding.length + over.length === 0) return section("Findings", h("p", {}, mark("good", "none")));
  return section("Findings", findingTable("findings", [...holding, ...over], "Findings, those that hold first"));
}

function lossOf(job) {
  if (job.lost_gpus === null || job.lost_gpus === undefined) return "not known: no iteration has been measured yet";
  if (lostOf(job) < 0.05) return mark("good", "none");
  return mark("bad", `${gpus(job.lost_gpus)} of ${counted(job.gpus, "GPU")}`);
}

function pauseFact(facts, name) {
  const steered = facts.steeredJob.get(name);
  if (!steered) return null;
  const isPaused = facts.paused.includes(steered);
  const state = isPaused ? `paused until ${time(steered.paused_until_s)}` : words(steered.condition);
  const button = isPaused
    ? h("button", { key: "end", type: "button", onclick: () => endPause(name) }, "End the pause …")
    : h("button", { key: "pause", type: "button", onclick: () => pause(name) }, "Pause steering …");
  return ["steering", [mark(steered.condition === "running" ? "good" : "bad", state), " ", button]];
}

// What became of the last timeline that was asked for.
const said = { job: "", text: "" };

async function saveTimeline(name) {
  const say = (text) => {
    Object.assign(said, { job: name, text });
    document.getElementById("timeline-answer").textContent = text;
  };
  try {
    await save(`/v1/jobs/${encodeURIComponent(name)}/trace`, `${name.replaceAll(/[^\w.-]+/g, "-")}.trace.json`);
    say("Saved: open it at ui.perfetto.dev.");
  } catch (error) {
    say(`⚠ Not saved: ${error.message}`);
  }
}

// The job's hosts, as far as the diagnosis or its paths name them.
function hostsOf(facts, name, paths) {
  const names = new Set(facts.steeredJob.get(name)?.hosts ?? []);
  for (const path of paths?.connections ?? []) names.add(hostPart(path.source)).add(hostPart(path.destination));
  return [...names].sort(byName);
}

function peersSection(facts, job) {
  const links = facts.links.list;
  const peers = facts.jobs.filter((other) => other.name !== job.name && (job.shares_with ?? []).includes(other.name));
  return [
    peers.length > 0 && section("Who shares its fullest link", table({ id: "peers", caption: "Jobs on the same link", rows: peers.slice(0, 20), key: (other) => other.name, columns: [
      { key: "name", label: "job", cell: (other) => link("job", other.name) },
      { key: "level", label: "level", cell: (other) => `${other.level}, ${other.level < job.level ? "goes first" : other.level > job.level ? "gives way" : "equal"}` },
      { key: "gpus", label: "GPUs", cell: (other) => count(other.gpus), isNumber: true },
      { key: "lost", label: "GPUs lost", cell: (other) => gpus(other.lost_gpus), isNumber: true },
    ] })),
    links.length > 0 && section("Links on its paths", linkRows("job-links", "Links, the fullest first", links, facts.links.shareOf)),
  ];
}

function reasonSection(job) {
  const sentences = plainReason(job.reason ?? "");
  if (sentences.length === 0) return section("Why this level", h("p", { id: "reason" }, job.reason || "no reason is given"));
  return section("Why this level", h("p", { id: "reason" }, sentences.join(" ")),
    h("details", {}, h("summary", {}, "In the policy's own words"), h("p", { class: "raw" }, job.reason)));
}

export function jobView(facts, name, paths) {
  const job = facts.jobByName.get(name);
  if (!job) return [...missing("job", name), h("div", { key: "sections", class: "sections" }, findingsSection(facts, (finding) => finding.job === name), eventsAbout(facts, `job ${name}`))];
  const shared = job.shares_with ?? [];
  return [back, title("Job", name),
    factList("facts", [
      ["lost now", lossOf(job)],
      ["iteration", `${seconds(job.iteration_s)}; fastest ${seconds(job.fastest_iteration_s)}${slowdownOf(job) ? ` (${times(slowdownOf(job))})` : ""}`],
      ["fullest link", job.fullest_link ? [link("link", job.fullest_link), shared.length > 0 ? [", shared with ", linkList("job", shared, 5)] : ", which no other job uses"] : "none"],
      ["level", [h("span", { class: "level" }, String(job.level)), " (0 goes first)"]],
      ["size", `${counted(job.gpus ?? null, "GPU")}, ${counted(job.hosts, "host")}, ${counted(job.connections, "connection")}`],
      job.unmanaged_queue_pairs > 0 && ["without a path of ours", mark("bad", counted(job.unmanaged_queue_pairs, "queue pair"))],
      ["hosts", linkList("host", hostsOf(facts, name, paths), 12)],
      ["paths", h("a", { href: topologyHref({ name: "", paths: name }) }, "in the picture of the network")],
      ["intensity", `${flops(job.intensity_flop_per_s)}: what it computes for each second on the network`],
      pauseFact(facts, name),
      ["timeline", [h("button", { key: "save", type: "button", onclick: () => saveTimeline(name) }, "Save for Perfetto"), " ", h("span", { key: "answer", id: "timeline-answer", role: "status" }, said.job === name && said.text)]],
    ]),
    h("div", { key: "sections", class: "sections" },
      findingsSection(facts, (finding) => finding.job === name), reasonSection(job), peersSection(facts, job),
      pathsSection(paths, "Paths"), eventsAbout(facts, `job ${name}`))];
}

// Jobs on it by their paths, and those that name it as their fullest link.
function jobsOn(facts, name, connections) {
  const pairs = new Map(facts.jobs.filter((job) => job.fullest_link === name).map((job) => [job.name, 0]));
  for (const path of connections) pairs.set(path.job, (pairs.get(path.job) ?? 0) + 1);
  return [...pairs].map(([job, num]) => ({ name: job, num, job: facts.jobByName.get(job) }))
    .sort((a, b) => lostOf(b.job ?? {}) - lostOf(a.job ?? {}) || byName(a.name, b.name));
}

function onlyThose(paths, isWanted) {
  if (!paths) return null;
  const connections = paths.connections.filter(isWanted);
  return { total: connections.length, connections, isPart: paths.total > paths.connections.length, asked: paths.connections.length, all: paths.total };
}

const partHint = (paths) => paths?.isPart && h("p", { key: "part", class: "hint" }, `Looked for in the first ${count(paths.asked)} of ${count(paths.all)} queue pairs.`);

export function linkView(facts, name, allPaths) {
  const it = facts.links.byName.get(name);
  if (!it && !facts.links.isKnown) return [back, title("Link", name), h("p", { key: "asking", class: "hint" }, "asking for the link …")];
  if (!it) return missing("link", name);
  const { shareOf } = facts.links;
  const paths = onlyThose(allPaths, (path) => path.links.includes(name));
  const jobs = jobsOn(facts, name, paths?.connections ?? []);
  const others = facts.links.list.filter((other) => other.name !== name);
  const ends = [it.from, it.to].map((node) => (node.includes("/") ? link("host", hostPart(node)) : node));
  const lost = jobs.filter(({ job }) => job?.fullest_link === name).reduce((sum, { job }) => sum + lostOf(job), 0);
  return [back, title("Link", name),
    factList("facts", [
      ["state", mark(isUp(it) ? "good" : "bad", isUp(it) ? "up" : `${it.state}, ${percent(it.health)} of its capacity left`)],
      ["load", `${percent(shareOf(it))} of that of the fullest link, by what is left of its capacity; ${counted(it.queue_pairs, "queue pair")}`],
      ["capacity", speed(it.capacity_bytes_per_s)],
      ["lost", lost >= 0.05 ? mark("bad", `${gpus(lost)} GPUs, by jobs for which it is the fullest link`) : "no GPU, by jobs for which it is the fullest link"],
      ["between", [ends[0], " and ", ends[1], ` (${it.tier})`]],
    ]),
    h("div", { key: "sections", class: "sections" },
      section("Jobs on it", partHint(paths), jobs.length === 0 ? h("p", { class: "hint" }, "none is known") : table({ id: "link-jobs", caption: "Jobs on this link", rows: jobs.slice(0, 50), key: (row) => row.name, columns: [
        { key: "name", label: "job", cell: (row) => link("job", row.name) },
        { key: "lost", label: "GPUs lost", cell: (row) => gpus(row.job?.lost_gpus), isNumber: true },
        { key: "level", label: "level", cell: (row) => (row.job ? String(row.job.level) : "–"), isNumber: true },
        { key: "pairs", label: "queue pairs here", cell: (row) => count(row.num), isNumber: true },
      ] })),
      others.length > 0 && section("The way back, and parallel cables", linkRows("other-links", "Links between the same two", others, shareOf)),
      pathsSection(paths, "Paths over it"),
      eventsAbout(facts, `link ${name}`))];
}

const STATE_MEANINGS = {
  no_agent: "no agent has ever called from here",
  silent: "its agent has stopped calling",
  isolated: "taken out of use because of a finding",
  isolating: "about to be taken out of use because of a finding",
  in_doubt: "an order about it failed; look at it",
};

function hostButtons(name, condition) {
  if (condition === "isolated") return [" ", h("button", { key: "undo", type: "button", onclick: () => undo(name) }, "Return it …")];
  if (condition === null || condition === "unknown") return [" ", h("button", { key: "spare", type: "button", onclick: () => offerSpare(name) }, "Offer it as a spare …")];
  return [];
}

// What the steering did with the host, from its log.
function decisions(facts, name) {
  const lines = (facts.steering?.log ?? []).filter((line) => line.host_name === name || line.host === name || line.spare_name === name).slice(-20).reverse();
  if (lines.length === 0) return null;
  return section("What steering did", table({ id: "decisions", caption: "Decisions about this host, the latest first", rows: lines, key: (line) => JSON.stringify(line), columns: [
    { key: "time", label: "time", cell: (line) => time(line.at_s) },
    { key: "what", label: "what", cell: (line) => line.description ?? words(String(line.outcome ?? line.action ?? "")) },
    { key: "why", label: "why", cell: (line) => line.reason ?? line.message ?? "", isWide: true },
  ] }));
}

export function hostView(facts, name, allPaths) {
  const it = facts.hosts.byName.get(name);
  if (!it) return missing("host", name);
  const { state } = it;
  const isBad = state in STATE_MEANINGS;
  const isOfHost = (nic) => hostPart(nic) === name;
  const paths = onlyThose(allPaths, (path) => isOfHost(path.source) || isOfHost(path.destination));
  const jobs = new Set((facts.steering?.jobs ?? []).filter((job) => job.hosts?.includes(name)).map((job) => job.name));
  for (const path of paths?.connections ?? []) jobs.add(path.job);
  const links = facts.links.list;
  const seen = it.last_message_s ? `${time(it.last_message_s)} (${span(Date.now() / 1000 - it.last_message_s)} ago)` : "never";
  return [back, title("Host", name),
    factList("facts", [
      ["state", [mark(isBad ? "bad" : "good", `${words(state)}${isBad ? `: ${STATE_MEANINGS[state]}` : ""}`), facts.steering ? hostButtons(name, facts.conditionOf(name) ?? (facts.isolated.has(name) ? "isolated" : null)) : ""]],
      ["agent", it.connected ? `connected, version ${it.agent_version || "not known"}` : mark("bad", `not connected${it.agent_version ? `, was version ${it.agent_version}` : ""}`)],
      ["last message", seen],
      ["jobs", jobs.size === 0 ? "none" : linkList("job", [...jobs].sort(byName), 12)],
    ]),
    h("div", { key: "sections", class: "sections" },
      findingsSection(facts, (finding) => (finding.hosts ?? []).includes(name)), decisions(facts, name),
      links.length > 0 && section("Its links", partHint(paths), linkRows("host-links", "Links of this host", links, facts.links.shareOf)),
      pathsSection(paths, "Paths from and to it"), eventsAbout(facts, `host ${name}`))];
}
