// C4P's way of choosing paths, for a snapshot of jobs: queue pairs spread evenly, planes kept, few moves.
//
// Problem     the path service of C4P answers one connection at a time and remembers. A policy sees all jobs at once
//             and remembers nothing but the paths in force.
// Method      the allocator receives the paths in force, as after a restart of the service, and assigns the rest:
//             healthy paths in force stay; jobs without one request theirs in order of arrival; then, if links have
//             changed or the imbalance exceeds a limit, the fewest moves that even out the loads. Precedence among jobs
//             is not looked at. A flow with QPs without a healthy path on any plane keeps the path of its hash.
// Cost        O(links of the fabric + QPs * paths of a pair).
// Guarantees  see PathAllocator. Planning again on the plan changes nothing.
// Differs     weights are bytes per second of solo run time, so that heavy and light connections count as what they
//             are; with equal jobs they are counts, as in the paper.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 9.4 to 9.6.
#pragma once

#include "base/status.h"
#include "traffic/path_chooser.h"

namespace fairlead::traffic::c4p {

struct BalancingOptions {
  // Loads are evened out when a link carries more than this times the mean of its siblings. >= 1. Larger:
  // fewer re-pinned connections, less even links.
  double max_imbalance = 1.3;
  // Off (variant c4p-static): paths are given when a job starts and never again. A flow with a dead path goes where its
  // hash leads, links are not evened out, and queue pairs carry equal shares forever.
  bool adapts = true;

  Status Validate() const;
};

class BalancedPaths : public PathChooser {
 public:
  explicit BalancedPaths(BalancingOptions options);

  void ChoosePaths(const TrafficSnapshot& snapshot, const LinkTable& links, std::span<const double> precedence,
                   JobSurvey* survey) const override;

 private:
  BalancingOptions options_;
};

}  // namespace fairlead::traffic::c4p
