// What follows from the controller's answers: totals, states, what is bad, and who is on what.

export const holds = (finding) => finding.cleared_at_s === null;
export const isUp = (link) => link.state === "up" && link.health === 1;
// Less is "none" with one digit after the point.
const LOSS_SHOWN = 0.05;

export const lostOf = (job) => job.lost_gpus ?? 0;

// How many times as long as its fastest iteration; null: not known.
export function slowdownOf(job) {
  if (!job.iteration_s || !job.fastest_iteration_s) return null;
  return Math.max(1, job.iteration_s / job.fastest_iteration_s);
}

// Of a NIC, "h3/nic0": the host.
export const hostPart = (nic) => nic.split("/")[0];

// The load by what is left of the capacity. Infinite: nothing is left, but somebody is on it.
export function fullnessOf(link) {
  const left = link.capacity_bytes_per_s * link.health;
  if (link.load === 0) return 0;
  return left > 0 ? link.load / left : Infinity;
}

function mapBy(list, name) {
  return new Map(list.map((item) => [item[name], item]));
}

// For values that are the same objects as last time.
function memo(make) {
  let last = null;
  let made = null;
  return (value) => {
    if (value !== last || made === null) {
      made = make(value);
      last = value;
    }
    return made;
  };
}

// Of the links that a view asks for: the controller has chosen and sorted them.
const linkFacts = memo((answer) => {
  const { all = {}, links = [], not_up: bad = [], fullest = [], matrices = [] } = answer ?? {};
  const most = all.fullest ?? 0;
  return {
    isKnown: answer !== null && answer !== undefined,
    list: links,
    byName: mapBy(links, "name"),
    num: all.links ?? 0,
    numBad: all.not_up ?? 0,
    bad,
    fullest,
    matrices,
    // 0 to 1: relative to the fullest link that works.
    shareOf: (link) => (most > 0 ? Math.min(1, fullnessOf(link) / most) : 0),
  };
});

// Likewise.
const hostFacts = memo((answer) => {
  const { all = {}, hosts = [], total = 0 } = answer ?? {};
  return { list: hosts, byName: mapBy(hosts, "name"), total, num: all.hosts ?? 0, numConnected: all.connected ?? 0, numIn: new Map(Object.entries(all.states ?? {})) };
});

// GPUs lost by the jobs whose fullest link is the same one.
function lossByLink(jobs) {
  const losses = new Map();
  for (const job of jobs) {
    if (!job.fullest_link || lostOf(job) < LOSS_SHOWN) continue;
    const loss = losses.get(job.fullest_link) ?? { link: job.fullest_link, gpus: 0, jobs: [] };
    loss.gpus += lostOf(job);
    loss.jobs.push(job.name);
    losses.set(job.fullest_link, loss);
  }
  return [...losses.values()].sort((a, b) => b.gpus - a.gpus);
}

// Args: answers: jobs, findings and events as lists, null before they are known; links, hosts: the answers that the view has asked for, null
// before they are known; steering: null where it is off.
export function deriveFacts({ jobs, findings, hosts, links, steering, events }) {
  const isolated = new Set(steering?.isolated ?? []);
  const steered = mapBy(steering?.hosts ?? [], "name");
  const jobList = jobs ?? [];
  const now = Date.now() / 1000;
  return {
    jobs: jobList,
    jobByName: mapBy(jobList, "name"),
    gpus: jobList.reduce((sum, job) => sum + (job.gpus ?? 0), 0),
    lost: jobList.reduce((sum, job) => sum + lostOf(job), 0),
    isLossKnown: jobList.some((job) => job.lost_gpus !== null && job.lost_gpus !== undefined),
    losers: jobList.filter((job) => lostOf(job) >= LOSS_SHOWN).sort((a, b) => lostOf(b) - lostOf(a)),
    lossByLink: lossByLink(jobList),
    holding: (findings ?? []).filter(holds),
    over: (findings ?? []).filter((finding) => !holds(finding)).reverse(),
    links: linkFacts(links),
    hosts: hostFacts(hosts),
    conditionOf: (name) => steered.get(name)?.condition ?? null,
    isolated,
    spares: [...steered.values()].filter((host) => host.condition === "spare" || host.condition === "reserved"),
    steering: steering ?? null,
    steeredJob: mapBy(steering?.jobs ?? [], "name"),
    paused: (steering?.jobs ?? []).filter((job) => job.paused_until_s !== null && job.paused_until_s > now),
    events: events ?? [],
  };
}
