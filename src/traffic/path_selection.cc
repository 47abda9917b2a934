#include "traffic/path_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace fairlead::traffic {
namespace {

// Costs that differ by less, relatively, are equal.
constexpr double kTieTolerance = 1e-9;
// Replaces the inverse capacity of a dead link: worse than any real one, but finite, so that sums stay ordered.
constexpr double kDeadLink = 1e100;

bool ClearlyLess(double a, double b) { return a < b * (1 - kTieTolerance); }

// How congested a path would be.
struct PathCost {
  double worst = std::numeric_limits<double>::infinity();
  double sum = std::numeric_limits<double>::infinity();

  bool BetterThan(const PathCost& other) const {
    if (ClearlyLess(worst, other.worst)) return true;
    return !ClearlyLess(other.worst, worst) && ClearlyLess(sum, other.sum);
  }
};

using topology::PathCandidates;

constexpr size_t kNone = std::numeric_limits<size_t>::max();

bool IsPath(const PathCandidates& candidates, size_t index, std::span<const LinkId> path) {
  const std::span<const LinkId> middle = candidates.middle(index);
  if (path.size() != candidates.head.size() + middle.size() + candidates.tail.size()) return false;
  return std::ranges::equal(path.first(candidates.head.size()), candidates.head) &&
         std::ranges::equal(path.subspan(candidates.head.size(), middle.size()), middle) &&
         std::ranges::equal(path.last(candidates.tail.size()), candidates.tail);
}

// The candidates of every flow of one job, as whole paths.
struct JobCandidates {
  std::vector<std::vector<model::Path>> of_flow;  // [flow][candidate]
  size_t most = 0;                                // candidates of the flow that has most

  // Path of a flow when the whole job takes `index`; null when the flow is cut off.
  const model::Path* PathOf(size_t flow, size_t index) const {
    const std::vector<model::Path>& mine = of_flow[flow];
    return mine.empty() ? nullptr : &mine[index % mine.size()];
  }
};

class PathSelector {
 public:
  PathSelector(const LinkTable& links, const CandidateSource& candidates, const PathSelectionOptions& options)
      : links_(links),
        candidates_of_(candidates),
        options_(options),
        inverse_capacity_(links.size()),
        loads_(links.size()) {
    // Flow by flow, rates and bytes need no second account.
    const bool adds_per_job = options.unit == PathUnit::kJob || options.congestion == CongestionMeasure::kHigherJobs;
    if (adds_per_job) added_ = LazyIdVector<LinkId, double>(links.size());
  }

  void PlaceFlows(const PathRequest& request, std::vector<model::Path>* paths);
  void PlaceJob(const PathRequest& request, std::vector<model::Path>* paths);
  LazyIdVector<LinkId, double> TakeLoads() { return std::move(loads_); }

 private:
  double LoadOf(const PathRequest& request, const model::FlowDemand& flow) const;
  // Remembered, as it is asked for again and again.
  double InverseCapacity(LinkId link) {
    double& inverse = inverse_capacity_[link];
    if (inverse > 0) return inverse;
    const double capacity = options_.congestion == CongestionMeasure::kHigherJobs ? 1 : links_.capacity(link).value();
    return inverse = capacity > 0 ? 1 / capacity : kDeadLink;
  }
  // Adds the congestion of links that carry `load` more. Called for every candidate of every flow.
  PathCost CostWith(PathCost cost, std::span<const LinkId> links, double load) {
    for (const LinkId link : links) {
      const double congestion = (loads_[link] + load) * InverseCapacity(link);
      cost.worst = std::max(cost.worst, congestion);
      cost.sum += congestion;
    }
    return cost;
  }
  size_t FindBestCandidate(const PathRequest& request, size_t flow, const PathCandidates& candidates, double load);
  bool InForceMatters(const PathRequest& request) const {
    return (options_.hysteresis > 0 || !options_.moves_flows) && !request.paths_in_force.empty();
  }
  bool WorthChanging(const PathCost& best, const PathCost& in_force) const {
    return options_.moves_flows && ClearlyLess(best.worst, in_force.worst * (1 - options_.hysteresis));
  }
  size_t FindInForce(const PathRequest& request, size_t flow, const PathCandidates& candidates) const;
  void AddLoad(std::span<const LinkId> path, double load);
  void CommitJobCounts();

  JobCandidates CollectCandidates(const PathRequest& request) const;
  size_t FindBestIndex(const PathRequest& request, const JobCandidates& candidates);
  size_t FindInForceIndex(const PathRequest& request, const JobCandidates& candidates) const;
  PathCost CostOfIndex(const PathRequest& request, const JobCandidates& candidates, size_t index);

  const LinkTable links_;
  const CandidateSource& candidates_of_;
  const PathSelectionOptions& options_;
  LazyIdVector<LinkId, double> inverse_capacity_;  // 0: not yet asked for
  LazyIdVector<LinkId, double> loads_;

  // What the job at hand adds to each link, and the links where that isn't 0. Empty where that is not needed.
  LazyIdVector<LinkId, double> added_;
  std::vector<LinkId> added_links_;
};

// A job counts once on a link under kHigherJobs, and only for the jobs after it; see CommitJobCounts.
double PathSelector::LoadOf(const PathRequest& request, const model::FlowDemand& flow) const {
  switch (options_.congestion) {
    case CongestionMeasure::kRate:
      return flow.bytes.value() / request.solo_time.value();
    case CongestionMeasure::kBytes:
      return flow.bytes.value();
    case CongestionMeasure::kHigherJobs:
      return 0;
  }
  return 0;
}

size_t PathSelector::FindInForce(const PathRequest& request, size_t flow, const PathCandidates& candidates) const {
  if (!InForceMatters(request)) return kNone;
  for (size_t p = 0; p < candidates.size(); ++p) {
    if (IsPath(candidates, p, request.paths_in_force[flow])) return p;
  }
  return kNone;
}

size_t PathSelector::FindBestCandidate(const PathRequest& request, size_t flow, const PathCandidates& candidates,
                                       double load) {
  if (candidates.size() == 1) return 0;
  // The links that all candidates share.
  const PathCost ends = CostWith(CostWith({0, 0}, candidates.head, load), candidates.tail, load);
  const size_t in_force = FindInForce(request, flow, candidates);
  PathCost in_force_cost;
  PathCost best_cost;
  size_t best = 0;
  LinkId first_link;     // of the previous candidate; candidates with equal first links are adjacent
  PathCost up_to_first;  // the cost of the common ends and this link
  for (size_t p = 0; p < candidates.size(); ++p) {
    const std::span<const LinkId> middle = candidates.middle(p);
    if (middle.front() != first_link) {
      first_link = middle.front();
      up_to_first = CostWith(ends, middle.first(1), load);
    }
    // Costs only grow along a path: what is not better by now never will be.
    if (p != in_force && !up_to_first.BetterThan(best_cost)) continue;
    const PathCost cost = CostWith(up_to_first, middle.subspan(1), load);
    if (p == in_force) in_force_cost = cost;
    if (!cost.BetterThan(best_cost)) continue;
    best = p;
    best_cost = cost;
  }
  return in_force == kNone || WorthChanging(best_cost, in_force_cost) ? best : in_force;
}

void PathSelector::AddLoad(std::span<const LinkId> path, double load) {
  const bool counts_jobs = options_.congestion == CongestionMeasure::kHigherJobs;
  for (const LinkId link : path) {
    if (!counts_jobs) {
      loads_[link] += load;
    } else if (added_[link] == 0) {
      added_[link] = 1;
      added_links_.push_back(link);
    }
  }
}

void PathSelector::CommitJobCounts() {
  for (const LinkId link : added_links_) {
    loads_[link] += added_[link];
    added_[link] = 0;
  }
  added_links_.clear();
}

void PathSelector::PlaceFlows(const PathRequest& request, std::vector<model::Path>* paths) {
  std::vector<uint32_t> order(request.flows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return request.flows[a].bytes > request.flows[b].bytes; });
  for (const uint32_t f : order) {
    const PathCandidates candidates = candidates_of_(request.flows[f]);
    if (candidates.size() == 0) continue;
    const double load = LoadOf(request, request.flows[f]);
    (*paths)[f] = candidates.Path(FindBestCandidate(request, f, candidates, load));
    AddLoad((*paths)[f], load);
  }
  CommitJobCounts();
}

JobCandidates PathSelector::CollectCandidates(const PathRequest& request) const {
  JobCandidates result;
  result.of_flow.resize(request.flows.size());
  for (size_t f = 0; f < request.flows.size(); ++f) {
    const PathCandidates candidates = candidates_of_(request.flows[f]);
    for (size_t p = 0; p < candidates.size(); ++p) result.of_flow[f].push_back(candidates.Path(p));
    result.most = std::max(result.most, candidates.size());
  }
  return result;
}

// The cost of the whole job on one index: all its flows are put on their links, looked at, and taken off again.
PathCost PathSelector::CostOfIndex(const PathRequest& request, const JobCandidates& candidates, size_t index) {
  for (size_t f = 0; f < request.flows.size(); ++f) {
    const model::Path* path = candidates.PathOf(f, index);
    if (path == nullptr) continue;
    const double load = LoadOf(request, request.flows[f]);
    for (const LinkId link : *path) {
      if (added_[link] == 0) added_links_.push_back(link);
      // The smallest number marks a link that is used without load (kHigherJobs).
      added_[link] += std::max(load, std::numeric_limits<double>::min());
    }
  }
  PathCost cost{0, 0};
  for (const LinkId link : added_links_) {
    const double congestion = (loads_[link] + added_[link]) * InverseCapacity(link);
    cost.worst = std::max(cost.worst, congestion);
    cost.sum += congestion;
    added_[link] = 0;
  }
  added_links_.clear();
  return cost;
}

size_t PathSelector::FindInForceIndex(const PathRequest& request, const JobCandidates& candidates) const {
  if (!InForceMatters(request)) return kNone;
  for (size_t index = 0; index < candidates.most; ++index) {
    bool same = true;
    for (size_t f = 0; same && f < request.flows.size(); ++f) {
      const model::Path* path = candidates.PathOf(f, index);
      same = path == nullptr || *path == request.paths_in_force[f];
    }
    if (same) return index;
  }
  return kNone;
}

size_t PathSelector::FindBestIndex(const PathRequest& request, const JobCandidates& candidates) {
  size_t best = 0;
  PathCost best_cost;
  for (size_t index = 0; index < candidates.most; ++index) {
    const PathCost cost = CostOfIndex(request, candidates, index);
    if (!cost.BetterThan(best_cost)) continue;
    best = index;
    best_cost = cost;
  }
  const size_t in_force = FindInForceIndex(request, candidates);
  if (in_force == kNone) return best;
  return WorthChanging(best_cost, CostOfIndex(request, candidates, in_force)) ? best : in_force;
}

void PathSelector::PlaceJob(const PathRequest& request, std::vector<model::Path>* paths) {
  const JobCandidates candidates = CollectCandidates(request);
  const size_t best = FindBestIndex(request, candidates);
  for (size_t f = 0; f < request.flows.size(); ++f) {
    const model::Path* path = candidates.PathOf(f, best);
    if (path == nullptr) continue;
    AddLoad(*path, LoadOf(request, request.flows[f]));
    (*paths)[f] = *path;
  }
  CommitJobCounts();
}

}  // namespace

Status PathSelectionOptions::Validate() const {
  if (!(hysteresis >= 0 && hysteresis < 1)) {
    return InvalidArgument(
        fmt::format("path selection: hysteresis: expected a fraction in [0, 1), found {}", hysteresis));
  }
  return OkStatus();
}

PathSelection SelectPaths(std::span<const PathRequest> requests, const LinkTable& links,
                          const CandidateSource& candidates, const PathSelectionOptions& options) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (requests[a].precedence != requests[b].precedence) return requests[a].precedence > requests[b].precedence;
    return requests[a].id < requests[b].id;
  });
  PathSelector selector(links, candidates, options);
  PathSelection selection;
  selection.paths.resize(requests.size());
  for (const uint32_t r : order) {
    selection.paths[r].resize(requests[r].flows.size());
    if (options.unit == PathUnit::kFlow) {
      selector.PlaceFlows(requests[r], &selection.paths[r]);
    } else {
      selector.PlaceJob(requests[r], &selection.paths[r]);
    }
  }
  selection.loads = selector.TakeLoads();
  return selection;
}

}  // namespace fairlead::traffic
