#include "sim/link_sharing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

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

}  // namespace

TransferRoute ComputeRoute(const JobState& job, const Transfer& transfer, const IdVector<LinkId, double>& capacities) {
  if (job.senders.choice) return ComputeWidestRoute(job, transfer, capacities);
  TransferRoute route;
  bool is_cut = false;
  for (const uint32_t flow : transfer.flows) {
    route.parts = std::lcm(route.parts, traffic::NumParts(job.paths[flow]));
    FL_CHECK_MSG(route.parts <= kMostParts, "too many parts of a flow");
  }
  std::vector<LinkId> crossings;
  for (uint32_t flow : transfer.flows) {
    is_cut |= job.paths[flow].empty();
    const uint32_t times = route.parts == 1 ? 1 : route.parts / traffic::NumParts(job.paths[flow]);
    for (uint32_t i = 0; i < times; ++i) {
      crossings.insert(crossings.end(), job.paths[flow].begin(), job.paths[flow].end());
    }
  }
  std::sort(crossings.begin(), crossings.end());
  route.top_rate = is_cut ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < crossings.size();) {
    size_t end = i;
    while (end < crossings.size() && crossings[end] == crossings[i]) ++end;
    route.links.push_back({crossings[i], static_cast<uint32_t>(end - i)});
    route.top_rate = std::min(route.top_rate, capacities[crossings[i]] / static_cast<double>(end - i) * route.parts);
    i = end;
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
  // (link, phase) pairs with equal ones summed up, then the greatest phase of each link.
  struct Share {
    LinkId link;
    uint32_t phase;
    double rate;
  };
  std::vector<Share> shares;
  for (size_t t = 0; t < routes.size(); ++t) {
    for (const TransferLink& use : routes[t].links) {
      shares.push_back({use.link, job.transfers[t].phase, use.multiplicity * routes[t].top_rate / routes[t].parts});
    }
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::pair(a.link, a.phase) < std::pair(b.link, b.phase);
  });
  std::vector<LinkDemand> demand;
  for (size_t i = 0; i < shares.size();) {
    const Share& first = shares[i];
    double rate = 0;
    for (; i < shares.size() && shares[i].link == first.link && shares[i].phase == first.phase; ++i) {
      rate += shares[i].rate;
    }
    if (demand.empty() || demand.back().link != first.link) demand.push_back({first.link, 0});
    demand.back().rate = std::max(demand.back().rate, rate);
  }
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
