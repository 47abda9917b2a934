#include "experiments/crux-near-optimality/random_case.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "experiments/crux-near-optimality/group_simulation.h"
#include "scheduling/placement_policy.h"
#include "topology/fabric_builder.h"
#include "topology/uplink_wiring.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

constexpr uint32_t kMinTors = 2;
constexpr uint32_t kMaxTors = 4;
constexpr uint32_t kMinHosts = 12;
constexpr uint32_t kMaxHosts = 20;
constexpr uint32_t kGpusPerHost = 8;
constexpr uint32_t kNumChannels = 4;  // as many as NICs
constexpr std::array<uint32_t, 6> kJobSizes = {4, 8, 16, 24, 32, 48};
constexpr std::array<double, 3> kStartFractions = {0.5, 0.75, 1};
constexpr FlopPerSecond kGpuRate = FlopPerSecond(100e12);

topology::Fabric DrawFabric(double oversubscription, Random* random) {
  const auto num_tors = static_cast<uint32_t>(kMinTors + random->Below(kMaxTors - kMinTors + 1));
  const auto num_hosts = static_cast<uint32_t>(kMinHosts + random->Below(kMaxHosts - kMinHosts + 1));
  topology::HostSpec host;  // 8 GPUs, 4 NICs of 200 Gb/s
  topology::FabricBuilder builder;
  const std::vector<NodeId> tors = builder.AddSwitches(topology::NodeKind::kLeaf, num_tors);
  for (uint32_t h = 0; h < num_hosts; ++h) {
    const NodeId tor = tors[h * num_tors / num_hosts];
    builder.CablePorts(builder.AddHost(host), host, std::span(&tor, 1));
  }
  const std::vector<NodeId> spines = builder.AddSwitches(topology::NodeKind::kSpine, kNumSpines);
  topology::UplinkSpec uplink;
  uplink.oversubscription = oversubscription;
  topology::WireLayers(tors, spines, uplink, &builder);
  auto fabric = std::move(builder).Build();
  FL_CHECK_MSG(fabric.ok(), fabric.status().message());
  return std::move(*fabric);
}

// Random hosts, whole ones as long as there are any: each carries as many of the job's GPUs as it can.
model::Placement DrawPlacement(const scheduling::GpuPool& pool, uint32_t num_gpus, Random* random) {
  std::vector<HostId> hosts;
  for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) hosts.emplace_back(h);
  random->Shuffle(std::span(hosts));
  std::vector<std::pair<HostId, uint32_t>> taken;  // host, GPUs
  uint32_t left = num_gpus;
  // First hosts that hold all that the job wants of one host, then whatever is free.
  for (const bool wants_all : {true, false}) {
    for (const HostId host : hosts) {
      const uint32_t wanted = std::min(left, kGpusPerHost);
      const uint32_t available = std::min(pool.num_free(host), wanted);
      const bool is_taken = std::ranges::find(taken, host, &std::pair<HostId, uint32_t>::first) != taken.end();
      if (wanted == 0 || is_taken || available == 0 || (wants_all && available < wanted)) continue;
      taken.emplace_back(host, available);
      left -= available;
    }
  }
  std::ranges::sort(taken);
  model::Placement placement;
  for (const auto& [host, count] : taken) {
    const GpuId first = pool.fabric().first_gpu(host);
    for (uint32_t g = 0, found = 0; found < count; ++g) {
      const GpuId gpu(first.value() + g);
      if (!pool.is_free(gpu)) continue;
      placement.gpus.push_back(gpu);
      ++found;
    }
  }
  return placement;
}

// The job's GPUs on each of its hosts, by host.
std::vector<std::vector<GpuId>> GroupByHost(const topology::Fabric& fabric, const model::Placement& placement) {
  std::vector<std::vector<GpuId>> groups;
  for (const GpuId gpu : placement.gpus) {
    if (groups.empty() || fabric.host_of(groups.back().front()) != fabric.host_of(gpu)) groups.emplace_back();
    groups.back().push_back(gpu);
  }
  return groups;
}

// The edges of the ring, each of one byte: between hosts on every channel, or between GPUs where there is one host
// only.
std::vector<model::FlowDemand> MakeRing(const topology::Fabric& fabric, const model::Placement& placement) {
  std::vector<model::FlowDemand> flows;
  const std::vector<std::vector<GpuId>> hosts = GroupByHost(fabric, placement);
  if (hosts.size() == 1) {
    const std::vector<GpuId>& gpus = hosts.front();
    for (size_t g = 0; g < gpus.size(); ++g) flows.push_back({gpus[g], gpus[(g + 1) % gpus.size()], Bytes(1)});
    return flows;
  }
  for (size_t h = 0; h < hosts.size(); ++h) {
    const std::vector<GpuId>& from = hosts[h];
    const std::vector<GpuId>& to = hosts[(h + 1) % hosts.size()];
    for (uint32_t c = 0; c < kNumChannels; ++c) {
      flows.push_back({from[c * from.size() / kNumChannels], to[c * to.size() / kNumChannels], Bytes(1)});
    }
  }
  return flows;
}

void ChoosePaths(const topology::Router& router, CaseJob* job) {
  for (size_t spine = 0; spine < kNumSpines; ++spine) {
    for (const model::FlowDemand& flow : job->iteration.flows) {
      const topology::PathCandidates candidates = router.FindCandidates(flow.source, flow.destination, kNumSpines);
      FL_CHECK(candidates.size() == 1 || candidates.size() == kNumSpines);
      job->paths[spine].push_back(candidates.Path(spine % candidates.size()));
    }
  }
}

// Seconds that the job alone needs for one byte on every edge of its ring.
double SecondsPerByte(const topology::Router& router, const CaseJob& job) {
  traffic::TrafficSnapshot snapshot;
  snapshot.router = &router;
  const traffic::LinkTable links = traffic::MakeLinkTable(snapshot);
  const traffic::JobTraffic traffic = traffic::LinkTrafficMeter(links).Measure(job.iteration, job.paths[0]);
  return traffic.phases.front().time.value();
}

CaseJob DrawJob(const topology::Router& router, const model::Placement& placement, Random* random) {
  CaseJob job;
  job.num_gpus = static_cast<uint32_t>(placement.gpus.size());
  model::Iteration& iteration = job.iteration;
  const double compute_s = 0.1 * std::pow(20, random->Uniform());
  const double communication_s = compute_s * random->Uniform(0.2, 1.2);
  const double start_fraction = kStartFractions[random->Below(kStartFractions.size())];
  iteration.compute_time = Seconds(compute_s);
  iteration.work = kGpuRate * Seconds(compute_s) * static_cast<double>(job.num_gpus);
  iteration.flows = MakeRing(router.fabric(), placement);
  iteration.num_groups = 1;
  iteration.phases = {{.name = "all-reduce",
                       .start_fraction = start_fraction,
                       .first_flow = 0,
                       .num_flows = static_cast<uint32_t>(iteration.flows.size())}};
  ChoosePaths(router, &job);
  const Bytes bytes(communication_s / SecondsPerByte(router, job));
  for (model::FlowDemand& flow : iteration.flows) flow.bytes = bytes;
  const double solo_s = std::max(compute_s, start_fraction * compute_s + communication_s);
  job.start = SimTime::FromSeconds(Seconds(solo_s * random->Uniform()));
  return job;
}

// Whether two jobs influence each other when all take the same aggregation switch, the worst that can happen.
bool CanContend(const RandomCase& drawn) { return GroupSimulation(drawn).FindGroups(PathChoice{}).size() < kNumJobs; }

std::optional<RandomCase> TryDraw(uint64_t seed, double oversubscription, Random* random) {
  RandomCase drawn;
  drawn.seed = seed;
  drawn.fabric = DrawFabric(oversubscription, random);
  const topology::Router router(drawn.fabric);
  scheduling::GpuPool pool(drawn.fabric);
  for (CaseJob& job : drawn.jobs) {
    const uint64_t wanted = kJobSizes[random->Below(kJobSizes.size())];
    const auto num_gpus = static_cast<uint32_t>(std::min<uint64_t>(wanted, pool.num_free()));
    if (num_gpus == 0) return std::nullopt;
    const model::Placement placement = DrawPlacement(pool, num_gpus, random);
    pool.Take(placement);
    job = DrawJob(router, placement, random);
  }
  if (!CanContend(drawn)) return std::nullopt;
  return drawn;
}

}  // namespace

RandomCase DrawCase(uint64_t seed, std::optional<double> oversubscription) {
  Random random(MixBits(seed));
  for (uint32_t num_rejected = 0;; ++num_rejected) {
    if (auto drawn = TryDraw(seed, oversubscription.value_or(seed % 2 == 0 ? 2 : 1), &random)) {
      drawn->num_rejected = num_rejected;
      return std::move(*drawn);
    }
  }
}

}  // namespace fairlead::experiments::crux_near_optimality
