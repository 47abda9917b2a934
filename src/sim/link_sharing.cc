#include "sim/link_sharing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/check.h"
#include "base/disjoint_sets.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

namespace {

// Rounding in the sum of top rates must not make an exactly filled link look contended.
constexpr double kFullWithin = 1 + 1e-9;

// A ring of flows with many different splits; a multiple of all usual numbers of parts.
constexpr uint32_t kMostParts = 720'720;

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

}  // namespace

namespace {

// Of flows that choose among paths by themselves: every link that any of them may take, with as many of them as may be
// there at once, and the most that a choice allows.
TransferRoute ComputeWidestRoute(const JobState& job, const Transfer& transfer,
                                 const IdVector<LinkId, double>& capacities) {
  std::map<LinkId, uint32_t> may_cross;
  std::map<LinkId, uint32_t> must_cross;
  TransferRoute route;
  route.top_rate = std::numeric_limits<double>::infinity();
  for (const uint32_t flow : transfer.flows) {
    std::map<LinkId, size_t> on_paths;
    const auto paths = traffic::PartsOf(job.senders.choice->candidates[flow]);
    double best = 0;
    for (const std::span<const LinkId> path : paths) {
      double least = std::numeric_limits<double>::infinity();
      for (const LinkId link : path) {
        ++on_paths[link];
        least = std::min(least, capacities[link]);
      }
      best = std::max(best, least);
    }
    route.top_rate = std::min(route.top_rate, best);
    for (const auto& [link, count] : on_paths) {
      ++may_cross[link];
      if (count == paths.size()) ++must_cross[link];
    }
  }
  for (const auto& [link, count] : may_cross) route.links.push_back({link, count});
  for (const auto& [link, count] : must_cross) route.top_rate = std::min(route.top_rate, capacities[link] / count);
  return route;
}

// Appends the links of a bundle. Parts of one repeat the links that they share at the same places of a part, in runs.
void AddCrossings(const model::Path& path, uint32_t times, std::vector<TransferLink>* links) {
  const size_t first = links->size();
  const size_t hops = path.empty() ? 1 : path.size() / traffic::NumParts(path);
  for (size_t i = 0; i < path.size(); ++i) {
    TransferLink* const before = i >= hops ? &(*links)[first + i % hops] : nullptr;
    if (before != nullptr && before->link == path[i]) {
      before->multiplicity += times;
    } else {
      links->push_back({path[i], times});
    }
  }
}

// Makes of several uses of a link one.
void MergeCrossings(std::vector<TransferLink>* links) {
  std::ranges::sort(*links, {}, &TransferLink::link);
  size_t kept = 0;
  for (size_t i = 1; i < links->size(); ++i) {
    if ((*links)[i].link == (*links)[kept].link) {
      (*links)[kept].multiplicity += (*links)[i].multiplicity;
    } else {
      (*links)[++kept] = (*links)[i];
    }
  }
  if (!links->empty()) links->resize(kept + 1);
}

}  // namespace

TransferRoute ComputeRoute(const JobState& job, const Transfer& transfer, const IdVector<LinkId, double>& capacities) {
  if (job.senders.choice) return ComputeWidestRoute(job, transfer, capacities);
  TransferRoute route;
  bool is_cut = false;
  for (const uint32_t flow : transfer.flows) {
    const uint32_t parts = traffic::NumParts(job.paths[flow]);
    const uint64_t common = std::lcm(uint64_t{route.parts}, uint64_t{parts});
    route.parts = static_cast<uint32_t>(std::min<uint64_t>(common, kMostParts));
    route.arrives = std::min(route.arrives, static_cast<double>(parts) / traffic::NumPartsSent(job.paths[flow]));
  }
  for (const uint32_t flow : transfer.flows) {
    is_cut |= job.paths[flow].empty();
    const uint32_t parts = route.parts == 1 ? 1 : traffic::NumParts(job.paths[flow]);
    AddCrossings(job.paths[flow], (route.parts + parts - 1) / parts, &route.links);
  }
  MergeCrossings(&route.links);
  route.top_rate = is_cut ? 0 : std::numeric_limits<double>::infinity();
  for (const TransferLink& use : route.links) {
    route.top_rate = std::min(route.top_rate, capacities[use.link] / use.multiplicity * route.parts);
  }
  return route;
}

std::vector<TransferRoute> ComputeRoutes(const JobState& job, const IdVector<LinkId, double>& capacities) {
  std::vector<TransferRoute> routes;
  routes.reserve(job.transfers.size());
  for (const Transfer& transfer : job.transfers) routes.push_back(ComputeRoute(job, transfer, capacities));
  return routes;
}

std::vector<LinkDemand> ComputeDemand(const JobState& job, const std::vector<TransferRoute>& routes) {
  // Of the phase that has been added last, and the most of those before it. Transfers are ordered by phase.
  struct Asked {
    uint32_t phase = 0;
    double now = 0;
    double most = 0;
  };
  std::unordered_map<LinkId, Asked> asked_of;
  for (size_t t = 0; t < routes.size(); ++t) {
    const uint32_t phase = job.transfers[t].phase;
    for (const TransferLink& use : routes[t].links) {
      Asked& asked = asked_of[use.link];
      if (asked.phase != phase) asked = {.phase = phase, .now = 0, .most = std::max(asked.most, asked.now)};
      asked.now += use.multiplicity * routes[t].top_rate / routes[t].parts;
    }
  }
  std::vector<LinkDemand> demand;
  demand.reserve(asked_of.size());
  for (const auto& [link, asked] : asked_of) demand.push_back({link, std::max(asked.most, asked.now)});
  std::ranges::sort(demand, {}, &LinkDemand::link);
  return demand;
}

LinkSharingFinder::LinkSharingFinder(size_t num_links) : demand_(num_links), first_user_(num_links, kNone) {}

LinkSharing LinkSharingFinder::Find(std::span<const RoutedJob> jobs, const IdVector<LinkId, double>& capacities) {
  for (const RoutedJob& entry : jobs) {
    for (const LinkDemand& use : *entry.demand) demand_[use.link] += use.rate;
  }
  LinkSharing sharing;
  DisjointSets sets(jobs.size());
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (const LinkDemand& use : *jobs[j].demand) {
      if (demand_[use.link] <= capacities[use.link] * kFullWithin) continue;
      if (first_user_[use.link] == kNone) {
        first_user_[use.link] = j;
        sharing.contended_links.push_back(use.link);
      }
      sets.Join(first_user_[use.link], j);
    }
  }
  std::sort(sharing.contended_links.begin(), sharing.contended_links.end());
  for (const RoutedJob& entry : jobs) {
    for (const LinkDemand& use : *entry.demand) {
      demand_[use.link] = 0;
      first_user_[use.link] = kNone;
    }
  }

  std::vector<uint32_t> domain_of(jobs.size(), kNone);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const uint32_t root = sets.Find(j);
    if (domain_of[root] == kNone) {
      domain_of[root] = static_cast<uint32_t>(sharing.domains.size());
      sharing.domains.emplace_back();
    }
    sharing.domains[domain_of[root]].push_back(j);
  }
  return sharing;
}

}  // namespace fairlead::sim
