// Everything the paper leaves open about Crux, in one place.
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "traffic/crux/correction_factor.h"
#include "traffic/crux/priority_compression.h"
#include "traffic/path_selection.h"

namespace fairlead::traffic::crux {

// What it costs to give two jobs that meet one level: the weight of their edge in the contention DAG.
enum class EdgeWeight {
  kIntensity,  // the intensity of the upper one, as in the paper: every order is worth something
  kGain,  // GPUs and slowdowns that the order wins, below 0 where it loses (order_gain.h): levels only where they help
};

struct CruxOptions {
  // Off: flows stay on the paths of their hashes (variant crux-pa).
  bool select_paths = true;
  PathSelectionOptions paths;
  CorrectionOptions correction;
  // Off: every job that takes part has its own level, its rank, however many levels the fabric has (variants crux-pa
  // and crux-ps-pa): what compression is measured against. No hardware can do that; see CruxPolicy::NumLevels.
  bool compress = true;
  CompressionOptions compression;
  EdgeWeight edge_weight = EdgeWeight::kIntensity;
  // Levels in force stay unless new ones lose less by more than this share of the weight of contending jobs. >= 0.
  // 0 = they stay only where that loses nothing. Larger: fewer changes, more jobs that share a level.
  double level_hysteresis = 0;
  // Equal-cost paths looked at per flow, spread evenly over all of them when there are more. >= 1. Fewer: faster plans,
  // more collisions.
  uint32_t max_candidates = 128;
  // How much a job's recent loss of speed counts beside its intensity. In [0, 1]; 0 = intensity alone, as in the paper.
  // Larger: the slowest jobs lose less, and the cluster's GPUs do less work; at 1 losses alone decide.
  double fairness = 0;
  // A job that has fallen behind kStarvedBelow of its speed alone by more than this time (JobView::starved_for) is on
  // level 0 until the next report, against the order: a floor of progress that fairness.h states and proves. >= 0 s; 0
  // = off, as in the paper. Smaller: starved jobs come up sooner; how much of the time they are lifted hardly changes.
  Seconds starvation_guard;

  // All parts. Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// The variants that have names of their own: the same options, but for what the name says.
CruxOptions PrioritiesOnly(CruxOptions options);      // crux-pa: hashed paths, one level per job
CruxOptions LevelsOnly(CruxOptions options);          // crux-levels: paths in force stay, or are hashed
CruxOptions PathsAndPriorities(CruxOptions options);  // crux-ps-pa: one level per job
CruxOptions Fair(CruxOptions options);                // crux-fair: fairness 0.5, and crux-guard's floor
CruxOptions Guarded(CruxOptions options);             // crux-guard: starvation guard of 20 s

}  // namespace fairlead::traffic::crux
