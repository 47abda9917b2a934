#include "traffic/path_selector.h"

#include <algorithm>
#include <numeric>

namespace fairlead::traffic {

using topology::PathCandidates;

// The candidates of every flow of one job, as whole paths.
struct WholePaths {
  explicit WholePaths(const JobCandidates& candidates) : of_flow(candidates.num_flows()), most(candidates.num_most()) {
    for (size_t f = 0; f < of_flow.size(); ++f) {
      const PathCandidates mine = candidates.Of(f);
      for (size_t p = 0; p < mine.size(); ++p) of_flow[f].push_back(mine.Path(p));
    }
  }

  // Path of a flow when the whole job takes `index`; null when the flow is cut off.
  const model::Path* PathOf(size_t flow, size_t index) const {
    const std::vector<model::Path>& mine = of_flow[flow];
    return mine.empty() ? nullptr : &mine[index % mine.size()];
  }

  std::vector<std::vector<model::Path>> of_flow;  // [flow][candidate]
  size_t most;                                    // candidates of the flow that has most
};

namespace {

// Costs that differ by less, relatively, are equal.
constexpr double kTieTolerance = 1e-9;
// Replaces the inverse capacity of a dead link: worse than any real one, but finite, so that sums stay ordered.
constexpr double kDeadLink = 1e100;
// Below what rounding can add to a sum of the links of one path.
constexpr double kBelowRounding = 1 - 1e-12;

bool IsPath(const PathCandidates& candidates, size_t index, std::span<const LinkId> path) {
  const std::span<const LinkId> middle = candidates.middle(index);
  if (path.size() != candidates.head.size() + middle.size() + candidates.tail.size()) return false;
  return std::ranges::equal(path.first(candidates.head.size()), candidates.head) &&
         std::ranges::equal(path.subspan(candidates.head.size(), middle.size()), middle) &&
         std::ranges::equal(path.last(candidates.tail.size()), candidates.tail);
}

}  // namespace

bool IsClearlyLess(double congestion, double other) { return congestion < other * (1 - kTieTolerance); }

bool PathCost::BetterThan(const PathCost& other) const {
  if (IsClearlyLess(worst, other.worst)) return true;
  return !IsClearlyLess(other.worst, worst) && IsClearlyLess(sum, other.sum);
}

void WayBounds::Reset(size_t num_ways) {
  least_load = std::numeric_limits<double>::infinity();
  of_way.resize(num_ways);
  of_block.resize((num_ways + kBlock - 1) / kBlock);
}

void WayBounds::BoundBlock(size_t block) {
  PathCost least;
  for (size_t p = block * kBlock; p < std::min(block * kBlock + kBlock, of_way.size()); ++p) {
    least.worst = std::min(least.worst, of_way[p].worst);
    least.sum = std::min(least.sum, of_way[p].sum);
  }
  of_block[block] = least;
}

std::vector<uint32_t> SortByBytes(std::span<const model::FlowDemand> flows) {
  std::vector<uint32_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return flows[a].bytes > flows[b].bytes; });
  return order;
}

size_t FindCandidate(const PathCandidates& candidates, std::span<const LinkId> path) {
  for (size_t p = 0; p < candidates.size(); ++p) {
    if (IsPath(candidates, p, path)) return p;
  }
  return kNoCandidate;
}

PathSelector::PathSelector(const LinkTable& links, const PathSelectionOptions& options)
    : table_(links), options_(options), links_(links.size()) {
  // Flow by flow, rates and bytes need no second account.
  const bool adds_per_job = options.unit == PathUnit::kJob || options.congestion == CongestionMeasure::kHigherJobs;
  if (adds_per_job) added_ = LazyIdVector<LinkId, double>(links.size());
}

std::vector<model::Path> PathSelector::Place(const PathRequest& request, const JobCandidates& candidates) {
  std::vector<model::Path> paths(request.flows.size());
  if (options_.unit == PathUnit::kFlow) {
    ResetBounds(candidates);
    for (const uint32_t f : SortByBytes(request.flows)) PlaceFlow(request, candidates, f, &paths);
  } else {
    PlaceJob(request, candidates, &paths);
  }
  CommitJobCounts();
  return paths;
}

std::vector<model::Path> PathSelector::PlaceRest(const PathRequest& request, const JobCandidates& candidates,
                                                 std::span<const uint8_t> keeps) {
  std::vector<model::Path> paths(request.flows.size());
  for (uint32_t f = 0; f < paths.size(); ++f) {
    if (keeps[f] != 0) paths[f] = request.paths_in_force[f];
  }
  for (uint32_t f = 0; f < paths.size(); ++f) AddLoad(paths[f], LoadOf(request, request.flows[f]));
  ResetBounds(candidates);
  for (const uint32_t f : SortByBytes(request.flows)) {
    if (keeps[f] == 0) PlaceFlow(request, candidates, f, &paths);
  }
  CommitJobCounts();
  return paths;
}

void PathSelector::AddShare(const PathRequest& request, std::span<const SelectionMemory::Use> uses, double share) {
  switch (options_.congestion) {
    case CongestionMeasure::kRate:
      share /= request.solo_time.value();
      [[fallthrough]];
    case CongestionMeasure::kBytes:
      for (const SelectionMemory::Use& use : uses) links_[use.link].load += share * use.bytes;
      return;
    case CongestionMeasure::kHigherJobs:
      for (const SelectionMemory::Use& use : uses) links_[use.link].load += share;
      return;
  }
}

double PathSelector::WorstOf(std::span<const SelectionMemory::Use> uses, bool only_fixed) {
  double worst = 0;
  for (const SelectionMemory::Use& use : uses) {
    if (!only_fixed || use.is_fixed) worst = std::max(worst, CongestionOf(use.link, 0));
  }
  return worst;
}

// Remembered, as it is asked for again and again.
double PathSelector::InverseCapacity(LinkId link) {
  double& inverse = links_[link].inverse_capacity;
  if (inverse > 0) return inverse;
  const double capacity = options_.congestion == CongestionMeasure::kHigherJobs ? 1 : table_.capacity(link).value();
  return inverse = capacity > 0 ? 1 / capacity : kDeadLink;
}

// Adds the congestion of links.
PathCost PathSelector::CostWith(PathCost cost, std::span<const LinkId> links, double load) {
  for (const LinkId link : links) cost.Add(CongestionOf(link, load));
  return cost;
}

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

bool PathSelector::PrefersInForce(const PathRequest& request) const {
  return (options_.hysteresis > 0 || options_.max_moved_jobs.has_value()) && !request.paths_in_force.empty();
}

bool PathSelector::IsWorthChanging(const PathCost& best, const PathCost& in_force) const {
  return IsClearlyLess(best.worst, in_force.worst * (1 - options_.hysteresis));
}

size_t PathSelector::FindInForceIfPreferred(const PathRequest& request, size_t flow,
                                            const PathCandidates& candidates) const {
  return PrefersInForce(request) ? FindCandidate(candidates, request.paths_in_force[flow]) : kNoCandidate;
}

void PathSelector::BoundList(const PathCandidates& ways, double load, WayBounds* bounds) {
  if (load >= bounds->least_load) return;
  bounds->least_load = load;
  for (size_t p = 0; p < ways.size(); ++p) bounds->of_way[p] = CostWith({0, 0}, ways.middle(p), load);
  for (size_t block = 0; block < bounds->of_block.size(); ++block) bounds->BoundBlock(block);
}

size_t PathSelector::FindBestCandidate(const PathRequest& request, size_t flow, const PathCandidates& candidates,
                                       double load, WayBounds* bounds) {
  if (candidates.size() == 1) return 0;
  constexpr size_t kBlock = WayBounds::kBlock;
  // The links that all candidates share.
  const PathCost ends = CostWith(CostWith({0, 0}, candidates.head, load), candidates.tail, load);
  const size_t in_force = FindInForceIfPreferred(request, flow, candidates);
  BoundList(candidates, load, bounds);
  PathCost in_force_cost;
  PathCost best_cost;
  size_t best = 0;
  const auto may_win = [&](const PathCost& bound) {
    return PathCost{std::max(ends.worst, bound.worst), (ends.sum + bound.sum) * kBelowRounding}.BetterThan(best_cost);
  };
  for (size_t first = 0, block = 0; first < candidates.size(); first += kBlock, ++block) {
    const size_t end = std::min(first + kBlock, candidates.size());
    const bool has_in_force = first <= in_force && in_force < end;
    if (!has_in_force && !may_win(bounds->of_block[block])) continue;
    for (size_t p = first; p < end; ++p) {
      PathCost& bound = bounds->of_way[p];
      if (p != in_force && !may_win(bound)) continue;
      bound = {0, 0};
      PathCost cost = ends;
      for (const LinkId link : candidates.middle(p)) {
        const double congestion = CongestionOf(link, load);
        bound.Add(congestion);
        cost.Add(congestion);
      }
      if (p == in_force) in_force_cost = cost;
      if (!cost.BetterThan(best_cost)) continue;
      best = p;
      best_cost = cost;
    }
    bounds->BoundBlock(block);
  }
  return in_force == kNoCandidate || IsWorthChanging(best_cost, in_force_cost) ? best : in_force;
}

void PathSelector::AddLoad(std::span<const LinkId> path, double load) {
  const bool counts_jobs = options_.congestion == CongestionMeasure::kHigherJobs;
  for (const LinkId link : path) {
    if (!counts_jobs) {
      links_[link].load += load;
    } else if (added_[link] == 0) {
      added_[link] = 1;
      added_links_.push_back(link);
    }
  }
}

void PathSelector::CommitJobCounts() {
  for (const LinkId link : added_links_) {
    links_[link].load += added_[link];
    added_[link] = 0;
  }
  added_links_.clear();
}

void PathSelector::ResetBounds(const JobCandidates& candidates) {
  if (bounds_.size() < candidates.num_lists()) bounds_.resize(candidates.num_lists());
  for (uint32_t list = 0; list < candidates.num_lists(); ++list) bounds_[list].Reset(candidates.NumWays(list));
}

void PathSelector::PlaceFlow(const PathRequest& request, const JobCandidates& candidates, uint32_t flow,
                             std::vector<model::Path>* paths) {
  const PathCandidates mine = candidates.Of(flow);
  if (mine.size() == 0) return;
  const double load = LoadOf(request, request.flows[flow]);
  (*paths)[flow] = mine.Path(FindBestCandidate(request, flow, mine, load, &bounds_[candidates.ListOf(flow)]));
  AddLoad((*paths)[flow], load);
}

// The cost of the whole job on one index: all its flows are put on their links, looked at, and taken off again.
PathCost PathSelector::CostOfIndex(const PathRequest& request, const WholePaths& candidates, size_t index) {
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
    const double congestion = (links_[link].load + added_[link]) * InverseCapacity(link);
    cost.worst = std::max(cost.worst, congestion);
    cost.sum += congestion;
    added_[link] = 0;
  }
  added_links_.clear();
  return cost;
}

size_t PathSelector::FindInForceIndex(const PathRequest& request, const WholePaths& candidates) const {
  if (!PrefersInForce(request)) return kNoCandidate;
  for (size_t index = 0; index < candidates.most; ++index) {
    bool same = true;
    for (size_t f = 0; same && f < request.flows.size(); ++f) {
      const model::Path* path = candidates.PathOf(f, index);
      same = path == nullptr || *path == request.paths_in_force[f];
    }
    if (same) return index;
  }
  return kNoCandidate;
}

size_t PathSelector::FindBestIndex(const PathRequest& request, const WholePaths& candidates) {
  size_t best = 0;
  PathCost best_cost;
  for (size_t index = 0; index < candidates.most; ++index) {
    const PathCost cost = CostOfIndex(request, candidates, index);
    if (!cost.BetterThan(best_cost)) continue;
    best = index;
    best_cost = cost;
  }
  const size_t in_force = FindInForceIndex(request, candidates);
  if (in_force == kNoCandidate) return best;
  return IsWorthChanging(best_cost, CostOfIndex(request, candidates, in_force)) ? best : in_force;
}

void PathSelector::PlaceJob(const PathRequest& request, const JobCandidates& of_job, std::vector<model::Path>* paths) {
  const WholePaths candidates(of_job);
  const size_t best = FindBestIndex(request, candidates);
  for (size_t f = 0; f < request.flows.size(); ++f) {
    const model::Path* path = candidates.PathOf(f, best);
    if (path == nullptr) continue;
    AddLoad(*path, LoadOf(request, request.flows[f]));
    (*paths)[f] = *path;
  }
}

}  // namespace fairlead::traffic
