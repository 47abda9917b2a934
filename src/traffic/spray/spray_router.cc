#include "traffic/spray/spray_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "traffic/candidate_finder.h"
#include "traffic/path_bundle.h"

namespace fairlead::traffic::spray {
namespace {

constexpr uint32_t kMostParts = 240;
constexpr double kRounding = 1e-9;

// [candidate]: what the least of its links can carry.
std::vector<double> FindWeights(const topology::PathCandidates& candidates, const TrafficSnapshot& snapshot,
                                Split split) {
  std::vector<double> weights(candidates.size(), 1.0);
  if (split == Split::kOblivious) return weights;
  for (size_t p = 0; p < candidates.size(); ++p) {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : candidates.middle(p)) least = std::min(least, snapshot.CapacityOf(link).value());
    weights[p] = least;
  }
  return weights;
}

// [candidate]: the port by which it leaves the NIC. Finders differ in how much of a path they call its head.
std::vector<LinkId> FindPorts(const topology::PathCandidates& candidates, const topology::Fabric& fabric) {
  const auto is_network = [&](LinkId link) { return topology::IsNetwork(fabric.tier(link)); };
  std::vector<LinkId> ports(candidates.size());
  const auto common = std::find_if(candidates.head.begin(), candidates.head.end(), is_network);
  for (size_t p = 0; p < ports.size(); ++p) {
    const std::span<const LinkId> middle = candidates.middle(p);
    ports[p] = common != candidates.head.end() ? *common : *std::find_if(middle.begin(), middle.end(), is_network);
  }
  return ports;
}

// [candidate]: fractions of the flow, sum 1. Candidates of one port are adjacent.
std::vector<double> FindFractions(const topology::PathCandidates& candidates, const TrafficSnapshot& snapshot,
                                  Split split) {
  std::vector<double> fractions = FindWeights(candidates, snapshot, split);
  const std::vector<LinkId> ports = FindPorts(candidates, snapshot.router->fabric());
  double all = 0;
  for (size_t first = 0; first < fractions.size();) {
    const LinkId port = ports[first];
    size_t end = first;
    double behind = 0;
    for (; end < fractions.size() && ports[end] == port; ++end) behind += fractions[end];
    double carries = snapshot.CapacityOf(port).value();
    if (split == Split::kAdaptive) carries = std::min(carries, behind);
    for (; first < end; ++first) fractions[first] *= carries / behind;
    all += carries;
  }
  for (double& fraction : fractions) fraction /= all;
  return fractions;
}

bool AreWhole(std::span<const double> fractions, uint32_t parts) {
  return std::all_of(fractions.begin(), fractions.end(), [parts](double fraction) {
    return std::abs(fraction * parts - std::round(fraction * parts)) <= kRounding * parts;
  });
}

// [candidate]: parts of the flow, for the smallest number that is exact, or for the most, by largest remainder.
std::vector<uint32_t> FindParts(std::span<const double> fractions) {
  const uint32_t most = std::max(kMostParts, static_cast<uint32_t>(fractions.size()));
  uint32_t parts = 1;
  while (parts < most && !AreWhole(fractions, parts)) ++parts;
  std::vector<uint32_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  uint32_t left = parts;
  for (size_t p = 0; p < fractions.size(); ++p) {
    const double exact = fractions[p] * parts;
    counts.push_back(static_cast<uint32_t>(exact + kRounding * parts));
    left -= counts.back();
    remainders.emplace_back(counts.back() - exact, p);
  }
  std::sort(remainders.begin(), remainders.end());
  for (uint32_t i = 0; i < left; ++i) ++counts[remainders[i % remainders.size()].second];
  return counts;
}

model::Path MakeBundle(const topology::PathCandidates& candidates, const TrafficSnapshot& snapshot, Split split) {
  if (candidates.size() == 1) return candidates.Path(0);
  FL_CHECK(!candidates.head.empty());
  const std::vector<uint32_t> counts = FindParts(FindFractions(candidates, snapshot, split));
  model::Path bundle;
  for (size_t p = 0; p < candidates.size(); ++p) {
    const model::Path path = candidates.Path(p);
    for (uint32_t part = 0; part < counts[p]; ++part) bundle.insert(bundle.end(), path.begin(), path.end());
  }
  return bundle;
}

}  // namespace

Status SprayOptions::Validate() const {
  if (!(efficiency > 0 && efficiency <= 1)) {
    return InvalidArgument(fmt::format("spray: efficiency: expected a fraction in (0, 1], found {}", efficiency));
  }
  if (paths < 2 || paths > kMostPaths) {
    return InvalidArgument(fmt::format("spray: paths: expected 2 to {}, found {}", kMostPaths, paths));
  }
  for (const auto& [name, time] : {std::pair("detect", detect), {"remap", remap}, {"reorder", reorder}}) {
    if (time.value() >= 0 && std::isfinite(time.value())) continue;
    return InvalidArgument(fmt::format("spray: {}: expected seconds from 0, found {}", name, time.value()));
  }
  return OkStatus();
}

SprayOptions OptionsOf(Preset preset) {
  switch (preset) {
    case Preset::kNone:
      break;
    case Preset::kUec:
      return {.paths = 256, .detect = Seconds(100e-6)};
    case Preset::kMrc:
      return {.paths = 256, .detect = Seconds(50e-6), .remap = Seconds(3)};
    case Preset::kSpectrumX:
      return {.paths = 256, .detect = Seconds(1e-3)};
    case Preset::kBlind:
      return {.split = Split::kOblivious, .detect = Seconds(1)};
  }
  return {};
}

FlowRouter::Routes SprayRouter::RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const {
  CandidateFinder finder(*snapshot.router, options_.paths);
  Routes routes;
  size_t num_cut_off = 0;
  size_t most = 0;
  for (const model::FlowDemand& flow : job.iteration->flows) {
    const topology::PathCandidates candidates = finder.Find(flow);
    most = std::max(most, candidates.size());
    num_cut_off += candidates.size() == 0 ? 1 : 0;
    routes.paths.push_back(candidates.size() == 0 ? model::Path() : MakeBundle(candidates, snapshot, options_.split));
  }
  routes.reason = fmt::format("{} flows sprayed over up to {} paths each", routes.paths.size(), most);
  if (num_cut_off > 0) routes.reason += fmt::format("; {} flows cut off by failures", num_cut_off);
  return routes;
}

}  // namespace fairlead::traffic::spray
