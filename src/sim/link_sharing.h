// Which links can ever be fought over, and which jobs can therefore influence each other.
//
// A transfer can't go faster than its tightest link allows. A link with a capacity that covers the sum of these top
// speeds over all jobs never slows any job down: it is not needed in the fluid model. What remains are contended links;
// jobs joined by them form domains that are simulated apart from each other. Phases of one job follow one another, so a
// job asks of a link only the most that one of its phases asks.
//
// Exact: leaving a link out changes no rate (the sum of rates on it stays within its capacity in every allocation).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sim/job_state.h"

namespace fairlead::sim {

// A transfer's use of one link.
struct TransferLink {
  LinkId link;
  uint32_t multiplicity = 0;  // how many parts of its flows cross the link

  friend auto operator<=>(const TransferLink&, const TransferLink&) = default;
};

// What the fluid model needs to know of one transfer.
struct TransferRoute {
  std::vector<TransferLink> links;  // every link, ascending
  double top_rate = 0;              // bytes/s of each flow without other jobs; 0 when cut off by failures
  // Equal parts that each flow is divided into, and that the multiplicities count (traffic/path_bundle.h). Where those
  // of all flows have no common multiple below kMostParts, multiplicities are rounded up, by 1 in 3,000 at most.
  uint32_t parts = 1;
  // Of what its flows send the least share that arrives; the rest is lost on dead links that nobody has noticed.
  double arrives = 1;
};

// What one job can ask of a link at most, bytes/s: the most that one of its phases asks.
struct LinkDemand {
  LinkId link;
  double rate = 0;
};

// A job under its paths and the capacities.
struct RoutedJob {
  JobState* job = nullptr;
  const std::vector<TransferRoute>* routes = nullptr;  // [transfer]
  const std::vector<LinkDemand>* demand = nullptr;     // ComputeDemand of both; each link once
};

// Domains of jobs, and the links that are contended.
struct LinkSharing {
  std::vector<std::vector<uint32_t>> domains;  // indices into `jobs`, ascending; domains ordered by their first job
  std::vector<LinkId> contended_links;         // ascending

  bool IsContended(LinkId link) const {
    return std::binary_search(contended_links.begin(), contended_links.end(), link);
  }
};

// Routes of all transfers under the job's current paths.
std::vector<TransferRoute> ComputeRoutes(const JobState& job, const IdVector<LinkId, double>& capacities);

// Each link of the routes once, ascending. Cost: O(crossings), and a sort of the links.
std::vector<LinkDemand> ComputeDemand(const JobState& job, const std::vector<TransferRoute>& routes);

// The route of one transfer under the job's current paths. `capacities` [link] bytes/s, 0 = down.
TransferRoute ComputeRoute(const JobState& job, const Transfer& transfer, const IdVector<LinkId, double>& capacities);

// Finds which jobs share which links, repeatedly with the same scratch memory.
class LinkSharingFinder {
 public:
  // Cost: O(links).
  explicit LinkSharingFinder(size_t num_links);

  // Args: capacities [link].
  // Cost: O(links that jobs use), whatever the number of links.
  LinkSharing Find(std::span<const RoutedJob> jobs, const IdVector<LinkId, double>& capacities);

 private:
  IdVector<LinkId, double> demand_;        // bytes/s over all jobs; 0 between calls
  IdVector<LinkId, uint32_t> first_user_;  // [link] job; kNobody between calls
};

}  // namespace fairlead::sim
