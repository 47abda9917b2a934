// Open points of CASSINI.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace fairlead::traffic::cassini {

// What becomes of shifts that cannot keep bursts apart, because a link has more to carry than it can in a period.
enum class ContendedUpkeep {
  kGrid,  // each job has its turn in a longer, contended period
  kOnce,  // shifted once, then iterations follow at once
};

// What is done about a cycle in the affinity graph, around which the wishes of links contradict each other.
enum class LoopRule {
  kCut,      // the edges of the least contended links are left out
  kNoShift,  // no job of the component is shifted, as the original discards such placements
};

struct CassiniOptions {
  // By how much shifts must raise the mean score of the contended links that join jobs. In [0, 1]. 0: every shift that
  // helps at all is applied. Larger: fewer waits, fewer gains.
  double min_score_gain = 0.05;
  ContendedUpkeep contended = ContendedUpkeep::kGrid;
  LoopRule loops = LoopRule::kCut;
  // How many placements of an arriving job that are as good to the placement policy are compared by how well bursts get
  // on with each other on the job's links. In [1, kMostPlacements]; the authors' simulator has at most 10. 1: the
  // policy's own is taken, and only shifts are CASSINI's (Crux's comparison). More: jobs that do not fit are kept apart
  // more often; each arrival costs that many scores.
  static constexpr uint32_t kMostPlacements = 1000;
  uint32_t placements = 1;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::cassini
