// The page: asks the controller again and again, and shows the view that the address names.
import { Feed, keepToken, News, Refusal } from "./client.js";
import { drawer, render } from "./dom.js";
import { deriveFacts } from "./facts.js";
import { findingView } from "./finding.js";
import { gpus, span } from "./format.js";
import { startOrders } from "./orders.js";
import { followSection, hostsWanted, overview } from "./overview.js";
import { overviewHref, readRoute, topologyHref } from "./route.js";
import { topologyView } from "./topology.js";
import { hostView, jobView, linkView } from "./views.js";

const PERIOD_MS = 2000;
// What is older than this is marked as old.
const OLD_MS = 10000;
const PATHS_MAX = 10000;
// Of what is over, only the end of the list of moments changes.
const PAST_PERIOD_MS = 60000;
const byId = (id) => document.getElementById(id);

const feeds = {
  jobs: new Feed("/v1/jobs", (answer) => answer.jobs),
  findings: new Feed("/v1/findings", (answer) => answer.findings),
  events: new Feed("/v1/events", (answer) => answer.events),
  steering: new Feed("/v1/steering", (answer) => answer),
};
const overviewLinks = new Feed("/v1/links/overview", (answer) => answer);
// Of what is not there.
const NO_LINKS = { links: [] };
const NO_HOSTS = { hosts: [] };
const LINKS_MAX = { job: 10, link: 21, host: 40 };
const past = new Feed("/v1/history", (answer) => answer, 30000);
let route = readRoute(location.hash);
let links = null;
let hosts = null;
let paths = null;
let proof = null;
let network = null;
let lastGoodMs = 0;
let numRefreshes = 0;
let wasTold = false;

const linksAnswer = () => (links?.isMissing ? NO_LINKS : links?.value ?? null);
const hostsAnswer = () => (hosts?.isMissing ? NO_HOSTS : hosts?.value ?? null);
const isComplete = () => feeds.jobs.value !== null && (route.view !== "overview" || linksAnswer() !== null) && (hosts === null || hostsAnswer() !== null);

// The links that the view shows, of all.
function feedOfLinks() {
  if (route.view === "overview") return overviewLinks;
  const name = encodeURIComponent(route.name);
  const of = { job: `job=${name}`, link: `beside=${name}`, host: `endpoint=${name}&tier=host-leaf&order=fabric` }[route.view];
  return of ? new Feed(`/v1/links?${of}&limit=${LINKS_MAX[route.view]}`, (answer) => answer) : null;
}

// The hosts that the view shows, of all.
function feedOfHosts() {
  const of = { overview: () => hostsWanted(route), host: () => `name=${encodeURIComponent(route.name)}` }[route.view];
  return of ? new Feed(`/v1/hosts?${of()}`, (answer) => answer) : null;
}

// The overview shows no single path, so it asks for none.
function feedOfPaths() {
  if (!["job", "link", "host"].includes(route.view)) return null;
  const of = route.view === "job" ? `job=${encodeURIComponent(route.name)}&limit=1000` : `limit=${PATHS_MAX}`;
  return new Feed(`/v1/connections?${of}`, (answer) => answer);
}

function feedOfProof() {
  return route.view === "finding" ? new Feed(`/v1/findings/${encodeURIComponent(route.name)}`, (answer) => answer) : null;
}

// The whole as a picture, or what is inside of a part of it; now, or at a moment that is over.
function feedOfNetwork() {
  if (route.view !== "topology") return null;
  const isPast = route.at !== null;
  const parameters = [route.name && `open=${encodeURIComponent(route.name)}`, route.paths && !isPast && `job=${encodeURIComponent(route.paths)}`, isPast && `at=${route.at}`].filter(Boolean);
  return new Feed(`/v1/topology${parameters.length > 0 ? `?${parameters.join("&")}` : ""}`, (answer) => answer, isPast ? PAST_PERIOD_MS : PERIOD_MS);
}

const show = drawer(() => {
  if (!isComplete()) return;
  const facts = deriveFacts({ ...Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, feed.value])), links: linksAnswer(), hosts: hostsAnswer() });
  const views = { job: jobView, link: linkView, host: hostView, finding: findingView };
  const more = (route.view === "finding" ? proof : paths)?.value ?? null;
  const content = route.view === "overview" ? overview(facts, route, go, redraw, past.value)
    : route.view === "topology" ? topologyView(route, network?.value ?? null, { isMissing: network?.isMissing, go: goInNetwork, redraw: show })
      : views[route.view](facts, route.name, more);
  render(byId("content"), content);
  const lost = facts.losers.length > 0 ? `${gpus(facts.lost)} GPUs lost` : "Fairlead";
  document.title = route.view === "overview" ? `${lost}${lost === "Fairlead" ? "" : " – Fairlead"}` : `${route.view} ${route.name}`.trim() + " – Fairlead";
});

// Other hosts, or more of them: those that are shown stay until the answer is there.
function redraw() {
  const wanted = feedOfHosts();
  if (wanted && wanted.path !== hosts?.path) {
    wanted.value = hosts?.value ?? null;
    hosts = wanted;
    refreshNow();
  }
  show();
}

// Changes what the overview shows, without an entry in the history for each letter that is typed.
function go(next) {
  history.replaceState(null, "", overviewHref(next));
  route = readRoute(location.hash);
  redraw();
}

// Another job's paths, or another moment, in the same picture, which stays until the answer is there.
function goInNetwork(next) {
  history.replaceState(null, "", topologyHref(next));
  route = readRoute(location.hash);
  const before = network?.value ?? null;
  network = feedOfNetwork();
  network.value = before;
  show();
  refreshNow();
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
  const own = [route.view === "overview" && past, paths, proof, network].filter(Boolean);
  const isTold = news.isFresh();
  const told = [...Object.values(feeds), links, hosts].filter(Boolean);
  if (wasTold && !isTold) for (const feed of told) feed.hurry();
  wasTold = isTold;
  const results = await Promise.allSettled([...told.map((feed) => feed.refresh(isTold)), ...own.map((feed) => feed.refresh())]);
  const errors = results.filter((result) => result.status === "rejected").map((result) => result.reason);
  const start = performance.now();
  if (errors.length === 0) lastGoodMs = isTold ? Math.max(lastGoodMs, news.heardMs) : start;
  showErrors(errors);
  showAge();
  show();
  document.documentElement.dataset.refreshes = String(++numRefreshes);
  document.documentElement.dataset.renderMs = (performance.now() - start).toFixed(1);
}

// Asks for what has changed as soon as the controller says so. While it does, lists that stay the same are left alone.
const news = new News((names) => {
  const all = { ...feeds, links, hosts };
  for (const name of names) all[name]?.hurry();
  if (names.length > 0) refreshNow();
});

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
  links = feedOfLinks();
  links?.hurry();
  hosts = feedOfHosts();
  paths = feedOfPaths();
  proof = feedOfProof();
  network = feedOfNetwork();
  show();
  byId("view-title")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  refreshNow();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return news.close();
  news.listen();
  return refreshNow();
});
document.addEventListener("click", followSection);
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(byId("token").value.trim());
  byId("token").value = "";
  news.close();
  news.listen();
  refreshNow();
});
startOrders(() => {
  feeds.steering.hurry();
  feeds.findings.hurry();
  refreshNow();
});
links = feedOfLinks();
hosts = feedOfHosts();
paths = feedOfPaths();
proof = feedOfProof();
network = feedOfNetwork();
setInterval(showAge, 1000);
news.listen();
refreshNow();
