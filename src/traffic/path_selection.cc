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

  void Add(double congestion) {
    worst = std::max(worst, congestion);
    sum += congestion;
  }
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

// Below what rounding can add to a sum of the links of one path.
constexpr double kBelowRounding = 1 - 1e-12;

std::vector<uint32_t> SortByBytes(std::span<const model::FlowDemand> flows) {
  std::vector<uint32_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return flows[a].bytes > flows[b].bytes; });
  return order;
}

bool InForceMatters(const PathSelectionOptions& options) { return options.hysteresis > 0 || !options.moves_flows; }

constexpr size_t kBlock = 8;

// What each way of a list costs at least, without the ends of the path, for flows of some load or more. As loads only
// grow, this holds until the job that has the list is placed.
struct WayBounds {
  void Reset(size_t num_ways) {
    least_load = std::numeric_limits<double>::infinity();
    of_way.resize(num_ways);
    of_block.resize((num_ways + kBlock - 1) / kBlock);
  }
  void BoundBlock(size_t block) {
    PathCost least;
    for (size_t p = block * kBlock; p < std::min(block * kBlock + kBlock, of_way.size()); ++p) {
      least.worst = std::min(least.worst, of_way[p].worst);
      least.sum = std::min(least.sum, of_way[p].sum);
    }
    of_block[block] = least;
  }

  double least_load = 0;
  std::vector<PathCost> of_way;
  std::vector<PathCost> of_block;  // of kBlock ways that follow one another
};

// Puts one job after the other on its paths.
class PathSelector {
 public:
  PathSelector(const LinkTable& links, const PathSelectionOptions& options)
      : table_(links), options_(options), links_(links.size()) {
    // Flow by flow, rates and bytes need no second account.
    const bool adds_per_job = options.unit == PathUnit::kJob || options.congestion == CongestionMeasure::kHigherJobs;
    if (adds_per_job) added_ = LazyIdVector<LinkId, double>(links.size());
  }

  // Chooses paths for a job; its loads count from now on. Args: candidates of the request's flows.
  std::vector<model::Path> Place(const PathRequest& request, const JobCandidates& candidates) {
    std::vector<model::Path> paths(request.flows.size());
    if (options_.unit == PathUnit::kFlow) {
      PlaceFlows(request, candidates, &paths);
    } else {
      PlaceJob(request, candidates, &paths);
    }
    CommitJobCounts();
    return paths;
  }
  // Adds the same loads, in the same order, as the Place that chose these paths.
  void Keep(const PathRequest& request, const PackedPaths& paths) {
    const auto keep = [&](uint32_t f) { AddLoad(paths[f], LoadOf(request, request.flows[f])); };
    if (options_.unit == PathUnit::kFlow) {
      for (const uint32_t f : SortByBytes(request.flows)) keep(f);
    } else {
      for (uint32_t f = 0; f < request.flows.size(); ++f) keep(f);
    }
    CommitJobCounts();
  }
  LazyIdVector<LinkId, LinkLoad> TakeLinks() { return std::move(links_); }

 private:
  double LoadOf(const PathRequest& request, const model::FlowDemand& flow) const;
  // Remembered, as it is asked for again and again.
  double InverseCapacity(LinkId link) {
    double& inverse = links_[link].inverse_capacity;
    if (inverse > 0) return inverse;
    const double capacity = options_.congestion == CongestionMeasure::kHigherJobs ? 1 : table_.capacity(link).value();
    return inverse = capacity > 0 ? 1 / capacity : kDeadLink;
  }
  // Of a link that carries `load` more.
  double CongestionOf(LinkId link, double load) { return (links_[link].load + load) * InverseCapacity(link); }
  // Adds the congestion of links.
  PathCost CostWith(PathCost cost, std::span<const LinkId> links, double load) {
    for (const LinkId link : links) cost.Add(CongestionOf(link, load));
    return cost;
  }
  void BoundList(const PathCandidates& ways, double load, WayBounds* bounds);
  size_t FindBestCandidate(const PathRequest& request, size_t flow, const PathCandidates& candidates, double load,
                           WayBounds* bounds);
  bool HasInForce(const PathRequest& request) const {
    return InForceMatters(options_) && !request.paths_in_force.empty();
  }
  bool WorthChanging(const PathCost& best, const PathCost& in_force) const {
    return options_.moves_flows && ClearlyLess(best.worst, in_force.worst * (1 - options_.hysteresis));
  }
  size_t FindInForce(const PathRequest& request, size_t flow, const PathCandidates& candidates) const;
  void AddLoad(std::span<const LinkId> path, double load);
  void CommitJobCounts();
  void PlaceFlows(const PathRequest& request, const JobCandidates& candidates, std::vector<model::Path>* paths);

  size_t FindBestIndex(const PathRequest& request, const WholePaths& candidates);
  size_t FindInForceIndex(const PathRequest& request, const WholePaths& candidates) const;
  PathCost CostOfIndex(const PathRequest& request, const WholePaths& candidates, size_t index);
  void PlaceJob(const PathRequest& request, const JobCandidates& of_job, std::vector<model::Path>* paths);

  const LinkTable table_;
  const PathSelectionOptions& options_;
  LazyIdVector<LinkId, LinkLoad> links_;

  std::vector<WayBounds> bounds_;  // of the job at hand, [list]

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
  if (!HasInForce(request)) return kNone;
  for (size_t p = 0; p < candidates.size(); ++p) {
    if (IsPath(candidates, p, request.paths_in_force[flow])) return p;
  }
  return kNone;
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
  // The links that all candidates share.
  const PathCost ends = CostWith(CostWith({0, 0}, candidates.head, load), candidates.tail, load);
  const size_t in_force = FindInForce(request, flow, candidates);
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
  return in_force == kNone || WorthChanging(best_cost, in_force_cost) ? best : in_force;
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

void PathSelector::PlaceFlows(const PathRequest& request, const JobCandidates& candidates,
                              std::vector<model::Path>* paths) {
  if (bounds_.size() < candidates.num_lists()) bounds_.resize(candidates.num_lists());
  for (uint32_t list = 0; list < candidates.num_lists(); ++list) bounds_[list].Reset(candidates.NumWays(list));
  for (const uint32_t f : SortByBytes(request.flows)) {
    const PathCandidates mine = candidates.Of(f);
    if (mine.size() == 0) continue;
    const double load = LoadOf(request, request.flows[f]);
    (*paths)[f] = mine.Path(FindBestCandidate(request, f, mine, load, &bounds_[candidates.ListOf(f)]));
    AddLoad((*paths)[f], load);
  }
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
  if (!HasInForce(request)) return kNone;
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
  if (in_force == kNone) return best;
  return WorthChanging(best_cost, CostOfIndex(request, candidates, in_force)) ? best : in_force;
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

// Links whose load, when it is a job's turn, may differ from that at the last selection.
class TouchedLinks {
 public:
  explicit TouchedLinks(size_t num_links) : is_touched_(num_links) {}

  void Touch(std::span<const LinkId> links) {
    for (const LinkId link : links) is_touched_[link] = 1;
    is_empty_ = is_empty_ && links.empty();
  }
  void Touch(const PackedPaths& paths) {
    for (size_t f = 0; f < paths.size(); ++f) Touch(paths[f]);
  }
  void TouchDifferences(const PackedPaths& before, std::span<const model::Path> now) {
    for (size_t f = 0; f < now.size(); ++f) {
      if (std::ranges::equal(before[f], now[f])) continue;
      Touch(before[f]);
      Touch(now[f]);
    }
  }
  bool Meets(const JobCandidates& candidates) const {
    return !is_empty_ && candidates.AnyOf([&](std::span<const LinkId> links) {
      return std::any_of(links.begin(), links.end(), [&](LinkId link) { return is_touched_[link] != 0; });
    });
  }

 private:
  LazyIdVector<LinkId, uint8_t> is_touched_;
  bool is_empty_ = true;
};

std::vector<uint32_t> SortByPrecedence(std::span<const PathRequest> requests) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return ChoosesBefore(requests[a].precedence, requests[a].id, requests[b].precedence, requests[b].id);
  });
  return order;
}

// As without memory, but that jobs with an unchanged turn keep their paths.
PathSelection SelectAgain(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                          const PathSelectionOptions& options, SelectionMemory* memory) {
  const std::vector<SelectionMemory::Departure> departures = memory->Begin(requests, InForceMatters(options));
  auto departure = departures.begin();
  TouchedLinks touched(links.size());
  PathSelector selector(links, options);
  PathSelection selection;
  selection.paths.resize(requests.size());
  for (const uint32_t r : SortByPrecedence(requests)) {
    const PathRequest& request = requests[r];
    SelectionMemory::Job& job = memory->job(request.id);
    for (; departure != departures.end() &&
           ChoosesBefore(departure->precedence, departure->job, request.precedence, request.id);
         ++departure) {
      touched.Touch(departure->paths);
    }
    if (job.is_placed && !touched.Meets(job.candidates)) {
      selector.Keep(request, job.paths);
      selection.paths[r] = job.paths.Unpack();
      continue;
    }
    if (job.candidates.num_flows() != request.flows.size()) job.candidates.Collect(request.flows, source);
    selection.paths[r] = selector.Place(request, job.candidates);
    if (!job.is_placed) job.paths.Assign(std::vector<model::Path>(request.flows.size()));
    touched.TouchDifferences(job.paths, selection.paths[r]);
    job.paths.Assign(selection.paths[r]);
    job.is_placed = true;
    memory->CountChosen();
  }
  selection.links = selector.TakeLinks();
  return selection;
}

}  // namespace

Status PathSelectionOptions::Validate() const {
  if (!(hysteresis >= 0 && hysteresis < 1)) {
    return InvalidArgument(
        fmt::format("path selection: hysteresis: expected a fraction in [0, 1), found {}", hysteresis));
  }
  return OkStatus();
}

PathSelection SelectPaths(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                          const PathSelectionOptions& options, SelectionMemory* memory) {
  if (memory != nullptr) return SelectAgain(requests, links, source, options, memory);
  PathSelector selector(links, options);
  JobCandidates candidates;
  PathSelection selection;
  selection.paths.resize(requests.size());
  for (const uint32_t r : SortByPrecedence(requests)) {
    candidates.Collect(requests[r].flows, source);
    selection.paths[r] = selector.Place(requests[r], candidates);
  }
  selection.links = selector.TakeLinks();
  return selection;
}

}  // namespace fairlead::traffic
