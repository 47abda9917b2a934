// The page: asks the controller again and again, and shows the view that the address names.
import { Feed, keepToken, Refusal } from "./client.js";
import { render } from "./dom.js";
import { deriveFacts } from "./facts.js";
import { findingView } from "./finding.js";
import { gpus, span } from "./format.js";
import { startOrders } from "./orders.js";
import { followSection, overview } from "./overview.js";
import { overviewHref, readRoute } from "./route.js";
import { hostView, jobView, linkView } from "./views.js";

const PERIOD_MS = 2000;
// What is older than this is marked as old.
const OLD_MS = 10000;
const PATHS_MAX = 10000;
const byId = (id) => document.getElementById(id);

const feeds = {
  jobs: new Feed("/v1/jobs", (answer) => answer.jobs),
  findings: new Feed("/v1/findings", (answer) => answer.findings),
  hosts: new Feed("/v1/hosts", (answer) => answer.hosts),
  links: new Feed("/v1/links", (answer) => answer.links),
  events: new Feed("/v1/events", (answer) => answer.events),
  steering: new Feed("/v1/steering", (answer) => answer),
};
let route = readRoute(location.hash);
let paths = null;
let proof = null;
let lastGoodMs = 0;
let numRefreshes = 0;

const isComplete = () => feeds.jobs.value !== null && feeds.hosts.value !== null && feeds.links.value !== null;

// The overview shows no single path, so it asks for none.
function feedOfPaths() {
  if (route.view === "overview" || route.view === "finding") return null;
  const of = route.view === "job" ? `job=${encodeURIComponent(route.name)}&limit=1000` : `limit=${PATHS_MAX}`;
  return new Feed(`/v1/connections?${of}`, (answer) => answer);
}

function feedOfProof() {
  return route.view === "finding" ? new Feed(`/v1/findings/${encodeURIComponent(route.name)}`, (answer) => answer) : null;
}

function show() {
  if (!isComplete()) return;
  const facts = deriveFacts(Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, feed.value])));
  const views = { job: jobView, link: linkView, host: hostView, finding: findingView };
  const more = (route.view === "finding" ? proof : paths)?.value ?? null;
  const content = route.view === "overview" ? overview(facts, route, go, show) : views[route.view](facts, route.name, more);
  render(byId("content"), content);
  const lost = facts.losers.length > 0 ? `${gpus(facts.lost)} GPUs lost` : "Fairlead";
  document.title = route.view === "overview" ? `${lost}${lost === "Fairlead" ? "" : " – Fairlead"}` : `${route.view} ${route.name} – Fairlead`;
}

// Changes what the overview shows, without an entry in the history for each letter that is typed.
function go(next) {
  history.replaceState(null, "", overviewHref(next));
  route = readRoute(location.hash);
  show();
}

function showAge() {
  if (lastGoodMs === 0) return;
  const age = performance.now() - lastGoodMs;
  const isOld = age > OLD_MS;
  document.body.classList.toggle("old", isOld);
  byId("age").textContent = isOld ? `⚠ OLD: what is shown is ${span(age / 1000)} old` : `as of ${new Date(Date.now() - age).toLocaleTimeString()}`;
}

// Said aloud by screen readers, so it changes only when there is something to say.
function showState(text, isBad) {
  if (byId("state").textContent !== text) byId("state").textContent = text;
  byId("state").className = isBad ? "bad" : "";
}

function showErrors(errors) {
  const needsToken = errors.some((error) => error instanceof Refusal && error.status === 401);
  byId("token-form").hidden = !needsToken;
  if (errors.length === 0) return showState("connected to the controller", false);
  showState(needsToken ? "⚠ a token is needed" : `⚠ no answer from the controller: ${errors[0].message}`, true);
}

async function refresh() {
  const all = [...Object.values(feeds), paths, proof].filter(Boolean);
  const results = await Promise.allSettled(all.map((feed) => feed.refresh()));
  const errors = results.filter((result) => result.status === "rejected").map((result) => result.reason);
  const start = performance.now();
  if (errors.length === 0) lastGoodMs = start;
  showErrors(errors);
  showAge();
  show();
  document.documentElement.dataset.refreshes = String(++numRefreshes);
  document.documentElement.dataset.renderMs = (performance.now() - start).toFixed(1);
}

let timer = 0;
let isRefreshing = false;
let isWanted = false;

// One at a time; nobody asks for a page that nobody sees.
async function refreshNow() {
  clearTimeout(timer);
  if (isRefreshing) {
    isWanted = true;
    return;
  }
  isRefreshing = true;
  try {
    await refresh();
  } finally {
    isRefreshing = false;
    if (!document.hidden) timer = setTimeout(refreshNow, isWanted ? 0 : PERIOD_MS);
    isWanted = false;
  }
}

window.addEventListener("hashchange", () => {
  route = readRoute(location.hash);
  paths = feedOfPaths();
  proof = feedOfProof();
  show();
  byId("view-title")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  refreshNow();
});
document.addEventListener("visibilitychange", () => !document.hidden && refreshNow());
document.addEventListener("click", followSection);
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(byId("token").value.trim());
  byId("token").value = "";
  refreshNow();
});
startOrders(() => {
  feeds.steering.hurry();
  feeds.findings.hurry();
  refreshNow();
});
paths = feedOfPaths();
proof = feedOfProof();
setInterval(showAge, 1000);
refreshNow();
