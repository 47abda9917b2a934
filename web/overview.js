// The overview: what is lost, to whom and where, what is wrong, and everything else by what matters most.
import { h } from "./dom.js";
import { byName, count, counted, gpus, percent, seconds, span, speed, time, times, words } from "./format.js";
import { isUp, lostOf, slowdownOf } from "./facts.js";
import { historySection } from "./history.js";
import { matrices } from "./matrix.js";
import { endPause, undo } from "./orders.js";
import { topologyHref } from "./route.js";
import { bar, eventTable, findingTable, link, linkList, mark, section, sortRows, table } from "./table.js";

const STEP = 50;
const EVENTS_MAX = 30;
const OVER_MAX = 20;

// How many rows of a list are shown; grows with "show more".
const shownOf = { jobs: STEP, hosts: STEP };

// The answer to "how well does the cluster run", as one sentence with links.
export function answerOf(facts) {
  const numJobs = facts.jobs.length;
  if (numJobs === 0) return ["No job has a connection yet."];
  const running = `${counted(numJobs, "job")} ${numJobs === 1 ? "runs" : "run"} on ${counted(facts.gpus, "GPU")}`;
  if (!facts.isLossKnown) return [`${running}; what they lose is not known, because no iteration has been measured yet.`];
  if (facts.losers.length === 0) return [`${running}, and none loses time: each iterates as fast as it ever has.`];
  const top = facts.losers[0];
  const where = top.fullest_link ? [" on ", link("link", top.fullest_link)] : [];
  const lost = `${gpus(facts.lost)} of ${counted(facts.gpus, "GPU")}`;
  if (numJobs === 1) return [link("job", top.name), ` loses ${lost}`, ...where, "."];
  const who = facts.losers.length === numJobs ? counted(numJobs, "job") : `${count(facts.losers.length)} of ${counted(numJobs, "job")}`;
  const verb = facts.losers.length === 1 ? "loses" : "lose";
  const share = lostOf(top) > facts.lost / 2 ? (facts.losers.length === 1 ? "it is" : "most of it") : `the most, ${gpus(lostOf(top))}, by`;
  return [`${who} ${verb} ${lost}${share.startsWith("the most") ? "; " : ", "}${share} `, link("job", top.name), ...where, "."];
}

// What needs somebody, as a list; empty: nothing does.
function attention(facts) {
  const numOf = (state) => facts.hosts.numIn.get(state) ?? 0;
  const lines = [];
  const say = (key, href, text) => lines.push(h("li", { key }, mark("bad", h("a", { href }, text))));
  if (facts.holding.length > 0) say("findings", "#section-findings", `${counted(facts.holding.length, "finding")} ${facts.holding.length === 1 ? "holds" : "hold"}`);
  if (facts.isolated.size > 0) say("isolated", "#section-steering", `${counted(facts.isolated.size, "host")} isolated`);
  const stuck = (facts.steering?.jobs ?? []).filter((job) => job.condition === "needs_operator" || job.condition === "waits_for_spare");
  if (stuck.length > 0) say("stuck", "#section-steering", `${counted(stuck.length, "job")} ${stuck.length === 1 ? "waits" : "wait"} for a spare or for you`);
  if (facts.steering?.error) say("steering", "#section-steering", `steering: ${facts.steering.error}`);
  if (facts.links.numBad > 0) say("links", "#section-links-between-switches", `${counted(facts.links.numBad, "link")} not up`);
  if (numOf("silent") > 0) say("silent", "#section-hosts", `${counted(numOf("silent"), "agent")} silent`);
  if (numOf("no_agent") > 0) say("no-agent", "#section-hosts", `${counted(numOf("no_agent"), "host")} without an agent`);
  return lines;
}

// In the page's own address the hash is the view, so these scroll by themselves.
export function followSection(event) {
  const target = event.target.closest?.('a[href^="#section-"]');
  if (!target) return;
  event.preventDefault();
  const heading = document.getElementById(target.getAttribute("href").slice(1));
  heading?.scrollIntoView();
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

function totals(facts) {
  const open = facts.steering?.open_actions?.length ?? 0;
  const tiles = [
    [count(facts.jobs.length), facts.jobs.length === 1 ? "job" : "jobs"],
    [facts.isLossKnown ? `${gpus(facts.lost)} of ${count(facts.gpus)}` : count(facts.gpus), facts.isLossKnown ? "GPUs lost" : "GPUs"],
    [`${count(facts.hosts.numConnected)} of ${count(facts.hosts.num)}`, "hosts connected"],
    [`${count(facts.links.num - facts.links.numBad)} of ${count(facts.links.num)}`, "links up"],
    [count(facts.holding.length), facts.holding.length === 1 ? "finding" : "findings"],
    facts.steering && [count(facts.isolated.size), "isolated"],
    facts.steering && [count(facts.spares.length), facts.spares.length === 1 ? "spare" : "spares"],
    facts.steering && [count(open), open === 1 ? "open action" : "open actions"],
    facts.steering && [count(facts.paused.length), facts.paused.length === 1 ? "pause" : "pauses"],
  ];
  return h("ul", { id: "totals", key: "totals" }, tiles.filter(Boolean).map(([number, what]) => h("li", {}, h("b", {}, number), ` ${what}`)));
}

const JOB_COLUMNS = [
  { key: "name", label: "job", value: (job) => job.name, cell: (job) => link("job", job.name) },
  { key: "lost", label: "GPUs lost", value: (job) => job.lost_gpus ?? null, isNumber: true, title: "GPUs' worth of time that it loses now, against its fastest iteration",
    cell: (job) => (lostOf(job) >= 0.05 ? mark("bad", gpus(job.lost_gpus)) : gpus(job.lost_gpus)) },
  { key: "gpus", label: "GPUs", value: (job) => job.gpus ?? null, cell: (job) => count(job.gpus), isNumber: true },
  { key: "level", label: "level", value: (job) => job.level, cell: (job) => h("span", { class: "level" }, String(job.level)), isNumber: true,
    title: "priority on the network; 0 goes first" },
  { key: "iteration", label: "iteration", value: (job) => job.iteration_s ?? null, cell: (job) => seconds(job.iteration_s), isNumber: true },
  { key: "fastest", label: "fastest", value: (job) => job.fastest_iteration_s ?? null, cell: (job) => seconds(job.fastest_iteration_s), isNumber: true, isMinor: true },
  { key: "slower", label: "slower", value: slowdownOf, cell: (job) => times(slowdownOf(job)), isNumber: true, isMinor: true },
  { key: "link", label: "fullest link", value: (job) => job.fullest_link ?? null, cell: (job) => (job.fullest_link ? link("link", job.fullest_link) : "–") },
  { key: "shares", label: "shares it with", value: (job) => job.shares_with?.length ?? 0, cell: (job) => linkList("job", job.shares_with ?? []), isMinor: true },
  { key: "hosts", label: "hosts", value: (job) => job.hosts, cell: (job) => count(job.hosts), isNumber: true, isMinor: true },
  { key: "connections", label: "connections", value: (job) => job.connections, cell: (job) => count(job.connections), isNumber: true, isMinor: true },
];

function more(list, total, redraw) {
  const rest = total - shownOf[list];
  return rest > 0 && h("button", { type: "button", onclick: () => { shownOf[list] += STEP; redraw(); } }, `Show ${Math.min(STEP, rest)} more`);
}

function jobsSection(facts, route, go, redraw) {
  const column = JOB_COLUMNS.find(({ key }) => key === route.sort) ?? JOB_COLUMNS[1];
  const filter = route.filter.toLowerCase();
  const matches = (job) => [job.name, job.fullest_link ?? ""].some((text) => text.toLowerCase().includes(filter));
  const found = filter ? facts.jobs.filter(matches) : facts.jobs;
  const onSort = ({ key, isNumber }) => {
    shownOf.jobs = STEP;
    go({ ...route, sort: key, isUp: key === column.key ? !route.isUp : !isNumber });
  };
  const rows = sortRows(found, column, route.isUp);
  return section("Jobs",
    h("p", { class: "tools" },
      h("label", {}, "Filter ", h("input", { id: "filter", type: "search", value: route.filter, placeholder: "job or link",
        oninput: (event) => { shownOf.jobs = STEP; go({ ...route, filter: event.target.value.trim() }); } })),
      h("span", { id: "jobs-count" }, `${count(Math.min(rows.length, shownOf.jobs))} of ${counted(facts.jobs.length, "job")} shown`)),
    facts.jobs.length === 0
      ? h("p", { class: "hint" }, "no job has a connection yet")
      : table({ id: "jobs", caption: "Jobs", columns: JOB_COLUMNS, rows: rows.slice(0, shownOf.jobs), key: (job) => job.name,
        sort: { key: column.key, isUp: route.isUp }, onSort }),
    more("jobs", rows.length, redraw));
}

function lossSection(facts) {
  if (facts.lossByLink.length === 0) return null;
  const most = facts.lossByLink[0].gpus;
  return section("Where GPUs are lost",
    table({ id: "losses", caption: "Links, by GPUs lost", rows: facts.lossByLink.slice(0, 5), key: (loss) => loss.link, columns: [
      { key: "link", label: "fullest link", cell: (loss) => link("link", loss.link) },
      { key: "gpus", label: "GPUs lost", cell: (loss) => bar(loss.gpus / most, gpus(loss.gpus)) },
      { key: "jobs", label: "by jobs for which it is the fullest", cell: (loss) => linkList("job", loss.jobs) },
    ] }));
}

function findingsSection(facts) {
  const { holding, over } = facts;
  return section("Findings",
    holding.length === 0
      ? h("p", { key: "none", id: "findings-none" }, mark("good", over.length === 0 ? "nothing was found" : "no finding holds"))
      : findingTable("findings", holding.slice(0, STEP), "Findings that hold"),
    holding.length > STEP && h("p", { key: "rest", class: "hint" }, `The first ${STEP} of ${count(holding.length)}.`),
    over.length > 0 && h("details", { key: "over" }, h("summary", {}, `${counted(over.length, "finding")} of before ${over.length === 1 ? "is" : "are"} over`),
      findingTable("findings-over", over.slice(0, OVER_MAX), "Findings that are over")));
}

function steeringSection(facts) {
  const { steering, isolated, spares, paused } = facts;
  if (!steering) return section("Steering", h("p", { class: "hint" }, "off: this controller does not diagnose jobs"));
  const open = steering.open_actions ?? [];
  const stuck = (steering.jobs ?? []).filter((job) => job.condition === "needs_operator" || job.condition === "waits_for_spare");
  const names = [...isolated].sort(byName);
  const isQuiet = names.length + open.length + paused.length + stuck.length === 0;
  const meaning = { observe: "nothing is done about findings", recommend: "what it would do is said, not done", act: "findings are acted on" };
  return section("Steering",
    h("p", { key: "mode" }, `Mode ${steering.mode}: ${meaning[steering.mode] ?? ""}. `,
      spares.length > 0 ? ["Spares: ", linkList("host", spares.map((host) => host.name), 8), ". "] : "No spare host. ",
      isQuiet && "No host is isolated, no action is open, no job is paused."),
    steering.error && h("p", { key: "error" }, mark("bad", steering.error)),
    names.length > 0 && h("ul", { key: "isolated", id: "isolated", class: "rows" }, names.slice(0, STEP).map((name) => h("li", { key: name },
      mark("bad", ["host ", link("host", name), " is isolated"]), h("button", { type: "button", onclick: () => undo(name), "aria-label": `Return it …: host ${name}` }, "Return it …")))),
    names.length > STEP && h("p", { key: "more", class: "hint" }, `The first ${STEP} of ${count(names.length)}.`),
    stuck.length > 0 && h("ul", { key: "stuck", class: "rows" }, stuck.slice(0, STEP).map((job) => h("li", { key: job.name }, mark("bad", ["job ", link("job", job.name), ` ${words(job.condition)}`])))),
    open.length > 0 && h("ul", { key: "open", id: "open-actions", class: "rows" }, open.slice(0, STEP).map((action) => h("li", { key: action.action },
      mark("mild", `${action.description}: attempt ${action.attempt}, waits for ${action.waits_for}`)))),
    paused.length > 0 && h("ul", { key: "paused", class: "rows" }, paused.slice(0, STEP).map((job) => h("li", { key: job.name },
      mark("mild", ["job ", link("job", job.name), ` is paused until ${time(job.paused_until_s)}`]),
      h("button", { type: "button", onclick: () => endPause(job.name), "aria-label": `End it …: the pause of ${job.name}` }, "End it …")))));
}

export function linkRows(id, caption, links, shareOf) {
  return table({ id, caption, rows: links, key: (row) => row.name, columns: [
    { key: "name", label: "link", cell: (row) => link("link", row.name) },
    { key: "state", label: "state", cell: (row) => mark(isUp(row) ? "good" : "bad", row.state) },
    { key: "health", label: "health", cell: (row) => percent(row.health), isNumber: true, title: "share of its capacity that is left" },
    { key: "capacity", label: "capacity", cell: (row) => speed(row.capacity_bytes_per_s), isNumber: true, isMinor: true },
    { key: "pairs", label: "queue pairs", cell: (row) => count(row.queue_pairs), isNumber: true },
    { key: "load", label: "load", cell: (row) => bar(shareOf(row), percent(shareOf(row))), title: "by what is left of its capacity, relative to the fullest link" },
  ] });
}

function linksSection(facts) {
  const { numBad, bad, fullest, shareOf } = facts.links;
  return section("Links between switches",
    h("p", { key: "picture" }, h("a", { href: topologyHref({ name: "", paths: "" }), id: "to-topology" }, "The network as a picture")), matrices(facts.links),
    bad.length > 0 && h("h3", { key: "down-title" }, `Not up: ${bad.length < numBad ? `${bad.length} of ` : ""}${counted(numBad, "link")}`),
    bad.length > 0 && linkRows("links-down", "Links that are not up", bad, shareOf),
    fullest.length > 0 && h("h3", { key: "full-title" }, "The fullest"),
    fullest.length > 0 ? linkRows("links", "The fullest links", fullest, shareOf) : h("p", { class: "hint" }, "nothing uses the links"));
}

const BAD_STATES = ["isolated", "isolating", "in_doubt", "silent", "no_agent"];
const isBadState = (state) => BAD_STATES.includes(state);

// What the overview asks /v1/hosts for.
export function hostsWanted(route) {
  const which = route.hosts ? `text=${encodeURIComponent(route.hosts)}` : "state=needs_look";
  return `${which}&order=worst&limit=${shownOf.hosts}`;
}

function hostsSection(facts, route, go, redraw) {
  const { list, total, num, numIn } = facts.hosts;
  const states = [...numIn].map(([state, number]) => h("li", { key: state }, mark(isBadState(state) ? "bad" : "good", `${count(number)} ${words(state)}`)));
  const now = Date.now() / 1000;
  return section("Hosts",
    h("ul", { key: "states", class: "states" }, states),
    h("p", { key: "tools", class: "tools" },
      h("label", {}, "Find ", h("input", { id: "hosts-filter", type: "search", value: route.hosts, placeholder: "host or state",
        oninput: (event) => { shownOf.hosts = STEP; go({ ...route, hosts: event.target.value.trim() }); } })),
      h("span", { id: "hosts-count" }, `${count(total)} of ${counted(num, "host")} ${route.hosts ? "found" : "need a look"}`)),
    list.length > 0 && table({ id: "hosts", caption: "Hosts", rows: list, key: (host) => host.name, columns: [
      { key: "name", label: "host", cell: (host) => link("host", host.name) },
      { key: "state", label: "state", cell: (host) => mark(isBadState(host.state) ? "bad" : "good", words(host.state)) },
      { key: "seen", label: "last message", cell: (host) => (host.connected ? "now" : host.last_message_s ? `${span(now - host.last_message_s)} ago` : "never") },
      { key: "agent", label: "agent", cell: (host) => host.agent_version || "–", isMinor: true },
      { key: "findings", label: "findings", cell: (host) => count(host.findings), isNumber: true },
    ] }),
    more("hosts", total, redraw));
}

function eventsSection(facts) {
  const events = facts.events.slice(-EVENTS_MAX).reverse();
  return section("Events", events.length === 0 ? h("p", { class: "hint" }, "nothing happened yet") : eventTable("events", events, "The latest events"));
}

// Args: go: leads to another route of the overview; redraw: shows the same again; past: the answer of /v1/history, null: not known.
export function overview(facts, route, go, redraw, past) {
  const calls = attention(facts);
  return [
    h("p", { key: "answer", id: "answer" }, answerOf(facts)),
    calls.length > 0 ? h("ul", { key: "attention", id: "attention" }, calls) : h("p", { key: "attention-none", id: "attention-none" }, mark("good", "Nothing needs you.")),
    totals(facts),
    h("div", { key: "sections", class: "sections" },
      facts.holding.length > 0 && findingsSection(facts),
      jobsSection(facts, route, go, redraw),
      lossSection(facts),
      historySection(facts, past, redraw),
      facts.holding.length === 0 && findingsSection(facts),
      steeringSection(facts),
      linksSection(facts),
      hostsSection(facts, route, go, redraw),
      eventsSection(facts)),
  ];
}
