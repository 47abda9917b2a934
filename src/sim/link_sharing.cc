#include "sim/link_sharing.h"

#include <algorithm>
#include <limits>

#include "base/disjoint_sets.h"

namespace fairlead::sim {

namespace {

// Rounding in the sum of top rates must not make an exactly filled link look contended.
constexpr double kSlack = 1 + 1e-9;

constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

}  // namespace

TransferRoute ComputeRoute(const JobState& job, const Transfer& transfer, const IdVector<LinkId, double>& capacities) {
  TransferRoute route;
  bool is_cut = false;
  std::vector<LinkId> crossings;
  for (uint32_t flow : transfer.flows) {
    is_cut |= job.paths[flow].empty();
    crossings.insert(crossings.end(), job.paths[flow].begin(), job.paths[flow].end());
  }
  std::sort(crossings.begin(), crossings.end());
  route.top_rate = is_cut ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < crossings.size();) {
    size_t end = i;
    while (end < crossings.size() && crossings[end] == crossings[i]) ++end;
    route.links.push_back({crossings[i], static_cast<uint32_t>(end - i)});
    route.top_rate = std::min(route.top_rate, capacities[crossings[i]] / static_cast<double>(end - i));
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

LinkSharingFinder::LinkSharingFinder(size_t num_links) : demand_(num_links), first_user_(num_links, kNobody) {}

// Adds what one job can ask of each link at most. Returns its links, some perhaps twice.
std::vector<LinkId> LinkSharingFinder::AddJobDemand(const JobState& job, const std::vector<TransferRoute>& routes) {
  for (size_t t = 0; t < routes.size();) {
    const uint32_t phase = job.transfers[t].phase;
    for (; t < routes.size() && job.transfers[t].phase == phase; ++t) {
      for (const TransferLink& use : routes[t].links) demand_.Add(use.link, use.multiplicity * routes[t].top_rate);
    }
    demand_.EndPhase();
  }
  return demand_.EndJob();
}

LinkSharing LinkSharingFinder::Find(std::span<const RoutedJob> jobs, const IdVector<LinkId, double>& capacities) {
  std::vector<std::vector<LinkId>> touched;  // [job]
  touched.reserve(jobs.size());
  for (const RoutedJob& entry : jobs) touched.push_back(AddJobDemand(*entry.job, *entry.routes));

  LinkSharing sharing;
  DisjointSets sets(jobs.size());
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (LinkId link : touched[j]) {
      if (demand_.total(link) <= capacities[link] * kSlack) continue;
      if (first_user_[link] == kNobody) {
        first_user_[link] = j;
        sharing.contended_links.push_back(link);
      }
      sets.Join(first_user_[link], j);
    }
  }
  std::sort(sharing.contended_links.begin(), sharing.contended_links.end());
  for (const std::vector<LinkId>& links : touched) {
    for (LinkId link : links) {
      demand_.Clear(link);
      first_user_[link] = kNobody;
    }
  }

  std::vector<uint32_t> domain_of(jobs.size(), kNobody);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const uint32_t root = sets.Find(j);
    if (domain_of[root] == kNobody) {
      domain_of[root] = static_cast<uint32_t>(sharing.domains.size());
      sharing.domains.emplace_back();
    }
    sharing.domains[domain_of[root]].push_back(j);
  }
  return sharing;
}

}  // namespace fairlead::sim
