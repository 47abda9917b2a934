// Puts one job after the other on the least congested of its equal-cost paths, beside what is on the links already.
//
// Which job comes when, and which keeps its paths, is decided elsewhere: path_selection.h, path_upkeep.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/lazy_id_vector.h"
#include "model/path.h"
#include "topology/router.h"
#include "traffic/job_candidates.h"
#include "traffic/link_traffic.h"
#include "traffic/path_selection.h"

namespace fairlead::traffic {

// How congested a path would be.
struct PathCost {
  double worst = std::numeric_limits<double>::infinity();
  double sum = std::numeric_limits<double>::infinity();

  void Add(double congestion) {
    worst = std::max(worst, congestion);
    sum += congestion;
  }
  bool BetterThan(const PathCost& other) const;
};

// Whether a congestion is less by more than what rounding can do.
bool IsClearlyLess(double congestion, double other);

// What each way of a list costs at least, without the ends of the path, for flows of some load or more. As loads only
// grow, this holds until the job that has the list is placed.
struct WayBounds {
  static constexpr size_t kBlock = 8;

  void Reset(size_t num_ways);
  void BoundBlock(size_t block);

  double least_load = 0;
  std::vector<PathCost> of_way;
  std::vector<PathCost> of_block;  // of kBlock ways that follow one another
};

struct WholePaths;

// Flows by bytes, descending; ties by index: the order in which the flows of a job choose.
std::vector<uint32_t> SortByBytes(std::span<const model::FlowDemand> flows);

class PathSelector {
 public:
  // `links` and `options` must outlive this.
  PathSelector(const LinkTable& links, const PathSelectionOptions& options);

  // Chooses paths for a job; its loads count from now on. Args: candidates of the request's flows.
  std::vector<model::Path> Place(const PathRequest& request, const JobCandidates& candidates);
  // The same, but that the flows that `keeps` names stay on their paths in force. Only where flows choose for
  // themselves. Args: keeps [flow].
  std::vector<model::Path> PlaceRest(const PathRequest& request, const JobCandidates& candidates,
                                     std::span<const uint8_t> keeps);
  // Adds the same loads, in the same order, as the Place that chose these paths. Args: paths[flow]: links.
  void Add(const PathRequest& request, const PackedPaths& paths) {
    const auto add = [&](uint32_t f) { AddLoad(paths[f], LoadOf(request, request.flows[f])); };
    if (options_.unit == PathUnit::kFlow) {
      for (const uint32_t f : SortByBytes(request.flows)) add(f);
    } else {
      for (uint32_t f = 0; f < request.flows.size(); ++f) add(f);
    }
    CommitJobCounts();
  }
  // Adds a share of what a job puts on its links; below 0: takes it off again, but for rounding. Args: uses: each link
  // once.
  void AddShare(const PathRequest& request, std::span<const SelectionMemory::Use> uses, double share);
  // Congestion of the worst link of a job; 0 without links. Args: only_fixed: of those that no choice avoids.
  double WorstOf(std::span<const SelectionMemory::Use> uses, bool only_fixed);
  LazyIdVector<LinkId, LinkLoad> TakeLinks() { return std::move(links_); }

 private:
  double LoadOf(const PathRequest& request, const model::FlowDemand& flow) const;
  double InverseCapacity(LinkId link);
  // Of a link that carries `load` more.
  double CongestionOf(LinkId link, double load) { return (links_[link].load + load) * InverseCapacity(link); }
  PathCost CostWith(PathCost cost, std::span<const LinkId> links, double load);
  void BoundList(const topology::PathCandidates& ways, double load, WayBounds* bounds);
  size_t FindBestCandidate(const PathRequest& request, size_t flow, const topology::PathCandidates& candidates,
                           double load, WayBounds* bounds);
  bool PrefersInForce(const PathRequest& request) const;
  bool IsWorthChanging(const PathCost& best, const PathCost& in_force) const;
  size_t FindInForceIfPreferred(const PathRequest& request, size_t flow,
                                const topology::PathCandidates& candidates) const;
  void AddLoad(std::span<const LinkId> path, double load);
  void CommitJobCounts();
  void ResetBounds(const JobCandidates& candidates);
  void PlaceFlow(const PathRequest& request, const JobCandidates& candidates, uint32_t flow,
                 std::vector<model::Path>* paths);

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

inline constexpr size_t kNoCandidate = std::numeric_limits<size_t>::max();

// The index of a path among the candidates of its flow, or kNoCandidate.
size_t FindCandidate(const topology::PathCandidates& candidates, std::span<const LinkId> path);

}  // namespace fairlead::traffic
