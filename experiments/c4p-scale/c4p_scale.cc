#include "experiments/c4p-scale/c4p_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4p_scale {

namespace {

constexpr uint32_t kHostsPerSegment = 64;
constexpr uint32_t kNumSegments = 16;
constexpr uint32_t kNumReducedSegments = 4;
constexpr uint32_t kNumFailures = 50;
constexpr double kFailureS = 4;
constexpr double kSettledS = 8;
constexpr double kEndS = 24;
constexpr double kBinS = 1;
constexpr uint32_t kQueuePairs[] = {2, 8, 32};

// One job on all hosts of a pod of two planes, 1:1. Neighbours on its rings are in different segments.
Result<sim::Scenario> MakeScenario(uint32_t num_segments, uint32_t queue_pairs, uint64_t seed) {
  std::vector<std::string> hosts;
  for (uint32_t i = 0; i < kHostsPerSegment; ++i) {
    for (uint32_t s = 0; s < num_segments; ++s) hosts.push_back(fmt::format("h{}", s * kHostsPerSegment + i));
  }
  const std::string text = fmt::format(
      "title: one job on {0} hosts\n"
      "fabric: {{kind: rail-dual-plane, segments: {1}, hosts_per_segment: {2}, spines: 32, uplink_gbps: 400, "
      "host: {{nvlink_gigabytes_per_s: 4000, pcie_gigabytes_per_s: 1000}}}}\n"
      "goodput: {3}\nqps_per_connection: {4}\npolicies: [ecmp, c4p-static, c4p]\nseeds: 1\nseed: {5}\n"
      "simulate_s: {6}\nrandom_phase: false\n"
      "jobs:\n  - {{name: all, gpus: {7}, hosts: [{8}], compute_s: 0, size_mb: 20000, "
      "collective: hierarchical-all-reduce}}\n",
      hosts.size(), num_segments, kHostsPerSegment, kCeilingGbps / 400, queue_pairs, seed, kEndS, hosts.size() * 8,
      fmt::join(hosts, ", "));
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::ParseScenario(text, "one large job", {}));
  scenario.simulation.num_bins = static_cast<uint32_t>(kEndS / kBinS);
  scenario.simulation.num_hottest_links = static_cast<uint32_t>(scenario.fabric.num_links());
  return scenario;
}

std::vector<LinkId> Uplinks(const topology::Fabric& fabric) {
  std::vector<LinkId> uplinks;
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (fabric.tier(link) == topology::LinkTier::kLeafSpine &&
        fabric.kind(fabric.source(link)) == topology::NodeKind::kLeaf) {
      uplinks.push_back(link);
    }
  }
  return uplinks;
}

void LoseLinks(uint64_t seed, sim::Scenario* scenario) {
  std::vector<LinkId> uplinks = Uplinks(scenario->fabric);
  Random random(seed);
  random.Shuffle(std::span<LinkId>(uplinks));
  uplinks.resize(kNumFailures);
  for (const LinkId up : uplinks) LoseCable(up, SimTime::FromSeconds(Seconds(kFailureS)), scenario);
}

// What spreading every packet over all healthy uplinks would give: the NIC's speed, or the share of the leaf that has
// lost most.
double SprayingBound(const sim::Scenario& scenario) {
  const topology::Fabric& fabric = scenario.fabric;
  std::map<NodeId, double> lost;  // Gb/s
  for (const sim::LinkEvent& event : scenario.link_events) {
    lost[fabric.source(event.link)] += fabric.capacity(event.link).value() * 8e-9;
  }
  double bound = kCeilingGbps;
  for (const NodeId leaf : fabric.switches(topology::NodeKind::kLeaf)) {
    double up = 0;
    for (const LinkId link : fabric.links_from(leaf)) {
      if (fabric.tier(link) == topology::LinkTier::kLeafSpine) up += fabric.capacity(link).value() * 8e-9;
    }
    const auto gone = lost.find(leaf);
    if (gone != lost.end()) bound = std::min(bound, kCeilingGbps * (up - gone->second) / up);
  }
  return bound;
}

// Gb/s per NIC in the time from `from_s` to `to_s`.
double Bandwidth(const sim::RunResult& run, const topology::Fabric& fabric, double from_s, double to_s) {
  double gbps = 0;
  const auto first = static_cast<size_t>(from_s / kBinS);
  const auto last = static_cast<size_t>(to_s / kBinS);
  for (const sim::LinkResult& link : run.links) {
    if (fabric.kind(fabric.source(link.id)) != topology::NodeKind::kNic) continue;
    for (size_t b = first; b < last && b < link.utilization_over_time.size(); ++b) {
      gbps += link.utilization_over_time[b] * link.capacity_bytes_per_s * 8e-9;
    }
  }
  return gbps / static_cast<double>(last - first) / static_cast<double>(fabric.num_nics());
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "Bus bandwidth of one large job, before and after fifty lost links";
  figure.description = "Two bars for each policy and number of queue pairs; the marks are what spraying packets gives.";
  figure.y_label = "Gb/s per NIC";
  figure.y_domain = {0, 400};
  figure.series = {"before", "after"};
  figure.mark_label = "packet spraying";
  const uint32_t num_segments = context.reduced ? kNumReducedSegments : kNumSegments;
  double done = 0;
  double bound = 0;
  for (const uint32_t queue_pairs : kQueuePairs) {
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeScenario(num_segments, queue_pairs, context.seed));
    LoseLinks(context.seed, &scenario);
    bound = SprayingBound(scenario);
    const double part = 1.0 / std::size(kQueuePairs);
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + part));
    done += part;
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    for (const sim::RunResult& run : report.runs) {
      const double before = Bandwidth(run, scenario.fabric, 0, kFailureS);
      const double after = Bandwidth(run, scenario.fabric, kSettledS, kEndS);
      const std::string row = fmt::format("{}, {} queue pairs: ", run.policy, queue_pairs);
      outcome.Set(row + "before", before);
      outcome.Set(row + "after", after);
      if (run.policy == "c4p") outcome.Set(row + "moved", static_cast<double>(run.path_changes));
      figure.groups.push_back(
          {fmt::format("{}\n{} QPs", run.policy, queue_pairs), {before, after}, {kCeilingGbps, bound}});
    }
  }
  outcome.Set("packet spraying: before", kCeilingGbps);
  outcome.Set("packet spraying: after", bound);
  outcome.figures.push_back({figure.title, Draw(figure), "One hash seed."});
  outcome.notes.push_back(fmt::format("One job on {} hosts, {} random cables between leaves and spines lost at {} s.",
                                      num_segments * kHostsPerSegment, kNumFailures, kFailureS));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_scale
