#include "sim/link_sharing.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fairlead::sim {

namespace {

// Rounding in the sum of top rates must not make an exactly filled link look contended.
constexpr double kSlack = 1 + 1e-9;

class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }

  uint32_t Find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  // The smaller index becomes the root.
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// Adds to `demand` what one job can ask of each link at most; `touched` collects the links.
void AddJobDemand(const JobState& job, const std::vector<TransferRoute>& routes, IdVector<LinkId, double>& demand,
                  IdVector<LinkId, double>& phase_demand, IdVector<LinkId, double>& job_demand,
                  std::vector<LinkId>& touched) {
  touched.clear();
  size_t t = 0;
  std::vector<LinkId> phase_touched;
  while (t < routes.size()) {
    const uint32_t phase = job.transfers[t].phase;
    phase_touched.clear();
    for (; t < routes.size() && job.transfers[t].phase == phase; ++t) {
      for (const TransferLink& use : routes[t].links) {
        if (phase_demand[use.link] == 0) phase_touched.push_back(use.link);
        phase_demand[use.link] += use.multiplicity * routes[t].top_rate;
      }
    }
    for (LinkId link : phase_touched) {
      if (job_demand[link] == 0) touched.push_back(link);
      job_demand[link] = std::max(job_demand[link], phase_demand[link]);
      phase_demand[link] = 0;
    }
  }
  for (LinkId link : touched) {
    demand[link] += job_demand[link];
    job_demand[link] = 0;
  }
}

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

LinkSharing ComputeLinkSharing(std::span<JobState* const> jobs, std::span<const std::vector<TransferRoute>> routes,
                               const IdVector<LinkId, double>& capacities) {
  const size_t num_links = capacities.size();
  IdVector<LinkId, double> demand(num_links), phase_demand(num_links), job_demand(num_links);
  std::vector<std::vector<LinkId>> touched(jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    AddJobDemand(*jobs[j], routes[j], demand, phase_demand, job_demand, touched[j]);
  }

  LinkSharing sharing;
  sharing.is_contended.assign(num_links, 0);
  DisjointSets sets(jobs.size());
  constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();
  IdVector<LinkId, uint32_t> first_user(num_links, kNobody);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (LinkId link : touched[j]) {
      if (demand[link] <= capacities[link] * kSlack) continue;
      sharing.is_contended[link] = 1;
      if (first_user[link] == kNobody) first_user[link] = j;
      sets.Join(first_user[link], j);
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
