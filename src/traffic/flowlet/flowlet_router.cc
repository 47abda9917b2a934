#include "traffic/flowlet/flowlet_router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "traffic/candidate_finder.h"
#include "traffic/default_paths.h"

namespace fairlead::traffic::flowlet {
namespace {

constexpr size_t kMostPaths = 128;

const char* NameOf(PathRule rule) {
  switch (rule) {
    case PathRule::kLetflow:
      return "at random";
    case PathRule::kConga:
      return "by the least load";
    case PathRule::kSglb:
      return "among the four with the fewest flows";
  }
  return "";
}

// The port by which a path leaves its NIC; invalid where it never does.
LinkId PortOf(const topology::Fabric& fabric, const model::Path& path) {
  const auto port = std::ranges::find_if(path, [&](LinkId link) { return topology::IsNetwork(fabric.tier(link)); });
  return port == path.end() ? LinkId() : *port;
}

// Switches can't change the port by which a packet has left its host.
model::Path BundleBehindPort(const topology::PathCandidates& candidates, const topology::Fabric& fabric,
                             const model::Path& hashed) {
  model::Path bundle;
  for (size_t p = 0; p < candidates.size(); ++p) {
    const model::Path path = candidates.Path(p);
    if (PortOf(fabric, path) == PortOf(fabric, hashed)) bundle.insert(bundle.end(), path.begin(), path.end());
  }
  return bundle.empty() ? hashed : bundle;
}

}  // namespace

Status FlowletOptions::Validate() const {
  for (const auto& [name, value] : {std::pair("gap", gap.value()), std::pair("remap", remap.value())}) {
    if (value >= 0 && value <= kNeverS) continue;
    return InvalidArgument(fmt::format("flowlet: {}: expected 0 .. {} s, found {}", name, kNeverS, value));
  }
  return OkStatus();
}

FlowRouter::Routes FlowletRouter::RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const {
  Routes routes{.paths = DefaultPaths(snapshot, job), .reason = {}};
  const auto num_cut_off = std::ranges::count_if(routes.paths, [](const auto& path) { return path.empty(); });
  if (!options_.chooses()) {
    routes.reason = fmt::format("{} flows on the paths of their hashes", routes.paths.size());
  } else {
    CandidateFinder finder(*snapshot.router, kMostPaths);
    PathChoice choice{.rule = options_.rule,
                      .gap = SimDuration::FromSeconds(options_.gap),
                      .remap = SimDuration::FromSeconds(options_.remap),
                      .seed = CombineHash(snapshot.random_seed, job.arrival_order)};
    for (size_t f = 0; f < routes.paths.size(); ++f) {
      choice.candidates.push_back(
          routes.paths[f].empty()
              ? model::Path()
              : BundleBehindPort(finder.Find(job.iteration->flows[f]), snapshot.router->fabric(), routes.paths[f]));
    }
    routes.choice = std::move(choice);
    routes.reason = fmt::format("{} flows choose their paths {}", routes.paths.size(), NameOf(options_.rule));
  }
  if (num_cut_off > 0) routes.reason += fmt::format("; {} flows cut off by failures", num_cut_off);
  return routes;
}

}  // namespace fairlead::traffic::flowlet
