// The page: asks the controller every two seconds, and shows what it says.
import { count, flops, seconds, speed, time } from "./format.js";
import { drawMatrix } from "./matrix.js";
import { bar, element, fill } from "./table.js";

const PERIOD_MS = 2000;
const PATHS_MAX = 100;
const EVENTS_MAX = 100;
const FINDINGS_MAX = 50;
const byId = (id) => document.getElementById(id);

// Kept for this tab only.
const token = () => sessionStorage.getItem("token") ?? "";

class TokenWanted extends Error {}

async function ask(path) {
  const headers = token() ? { Authorization: `Bearer ${token()}` } : {};
  const answer = await fetch(path, { headers });
  if (answer.status === 401) throw new TokenWanted();
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

function showJobs(jobs) {
  fill(
    byId("jobs"),
    jobs.map((job) => [
      job.name,
      element("span", String(job.level), "level"),
      job.reason,
      job.hosts,
      job.connections,
      job.unmanaged_queue_pairs,
      seconds(job.iteration_s),
      flops(job.intensity_flop_per_s),
    ]),
    "no job has a connection yet",
  );
}

// Those that hold first, then the latest.
function showFindings(findings) {
  const holds = (finding) => finding.cleared_at_s === null;
  const shown = [...findings.filter(holds), ...findings.filter((finding) => !holds(finding)).reverse()];
  fill(
    byId("findings"),
    shown.slice(0, FINDINGS_MAX).map((finding) => [
      finding.job,
      element("span", finding.syndrome, holds(finding) ? "bad" : ""),
      finding.culprits.join(", "),
      time(finding.suspected_at_s),
      time(finding.cleared_at_s),
      finding.action,
      finding.text,
    ]),
    "nothing was found",
  );
}

function showLinks(links) {
  const relative = (link) => link.load / link.capacity_bytes_per_s;
  const loadMax = links.reduce((most, link) => Math.max(most, relative(link)), 0);
  drawMatrix(byId("matrix"), links, loadMax);
  const isUp = (link) => link.state === "up" && link.health === 1;
  const loaded = links.filter((link) => isUp(link) && link.load > 0).sort((a, b) => relative(b) - relative(a));
  fill(
    byId("links"),
    [...links.filter((link) => !isUp(link)).slice(0, 50), ...loaded.slice(0, 5)].map((link) => [
      link.name,
      element("span", link.state, isUp(link) ? "good" : "bad"),
      Number(link.health.toFixed(3)),
      speed(link.capacity_bytes_per_s),
      link.queue_pairs,
      bar(loadMax > 0 ? relative(link) / loadMax : 0),
    ]),
    "all links are up, and nothing uses them",
  );
}

// Where a connection is to be moved: from which port to which.
function portsOf({ source_port, wire_port }) {
  if (source_port === 0) return "";
  return wire_port === 0 || wire_port === source_port ? source_port : `${wire_port} → ${source_port}`;
}

function showPaths({ total, connections }) {
  byId("paths-hint").textContent = total > connections.length ? `The first ${connections.length} of ${count(total)}.` : "";
  fill(
    byId("paths"),
    connections.map((path) => [
      path.job,
      path.source,
      path.destination,
      `${path.connection}.${path.queue_pair}`,
      element("span", path.answer, path.answer === "use" ? "good" : "bad"),
      portsOf(path),
      path.links.map((link) => link.split("->")[1]).slice(0, -1).join(" › "),
    ]),
    "no connection has a path",
  );
}

function showHosts(hosts) {
  byId("hosts").replaceChildren(
    ...hosts.map((host) => {
      const item = element("li", host.name, host.connected ? "good" : "");
      item.title = host.connected ? `agent ${host.agent_version}` : `no agent; last message ${time(host.last_message_s) || "never"}`;
      return item;
    }),
  );
}

function showEvents(events) {
  fill(
    byId("events"),
    events
      .slice(-EVENTS_MAX)
      .reverse()
      .map((event) => [
        time(event.time_s),
        element("span", event.subject, event.severity === "warning" ? "bad" : ""),
        event.text,
      ]),
    "nothing happened yet",
  );
}

function showTotals(jobs, hosts, links, findings) {
  const numHolding = findings.filter((finding) => finding.cleared_at_s === null).length;
  const numConnected = hosts.filter((host) => host.connected).length;
  const numUp = links.filter((link) => link.state === "up").length;
  const totals = [
    [count(jobs.length), jobs.length === 1 ? "job" : "jobs"],
    [`${count(numConnected)} of ${count(hosts.length)}`, "hosts connected"],
    [`${count(numUp)} of ${count(links.length)}`, "links up"],
    [count(numHolding), numHolding === 1 ? "finding" : "findings"],
  ];
  byId("totals").replaceChildren(
    ...totals.map(([number, what]) => {
      const item = element("li");
      item.append(element("b", number), ` ${what}`);
      return item;
    }),
  );
}

function showState(text, isBad) {
  byId("state").textContent = text;
  byId("state").className = isBad ? "bad" : "";
}

async function refresh() {
  try {
    const [{ jobs }, { findings }, { hosts }, { links }, paths, { events }] = await Promise.all([
      ask("/v1/jobs"),
      ask("/v1/findings"),
      ask("/v1/hosts"),
      ask("/v1/links"),
      ask(`/v1/connections?limit=${PATHS_MAX}`),
      ask("/v1/events"),
    ]);
    showTotals(jobs, hosts, links, findings);
    showJobs(jobs);
    showFindings(findings);
    showLinks(links);
    showPaths(paths);
    showHosts(hosts);
    showEvents(events);
    byId("token-form").hidden = true;
    showState(`as of ${new Date().toLocaleTimeString()}`, false);
  } catch (error) {
    byId("token-form").hidden = !(error instanceof TokenWanted);
    showState(error instanceof TokenWanted ? "a token is needed" : `no answer: ${error.message}`, true);
  }
  setTimeout(refresh, PERIOD_MS);
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", byId("token").value);
});
refresh();
