// Which of several placements of an arriving job lets bursts get on with each other best.
//
// Problem     shifts keep the bursts of jobs apart only where they fit into each other's gaps. Jobs that do not fit
//             must be kept off one link, by where they are placed.
// Method      1. the job's flows at each place on the paths of their hashes, beside the running jobs on theirs
//             2. score of a link = that of the best shifts of its jobs on their unified circle; 1 where no burst is
//                ever too much, so also where the job is alone
//             3. score of a placement = mean over the links of the job that others may use
//             4. left out: placements that close a loop of the affinity graph, around which no shift of a job can be
//                what all its links want; and those whose flows failures cut off
//             5. the best score wins, the first of equals. All are left out: the first.
// Cost        a survey of the running jobs, and for each candidate one FindShifts for each set of jobs on its contended
//             links, and O(edges of the affinity graph).
// Guarantees  pure. Links that the job is not on have the same jobs in all candidates: they would change no order.
//             Loops that are there without the job are held against none.
// Differs     the original scores the placement of all jobs, since its schedulers place all of them anew each round;
//             here running jobs stay, and the arriving one chooses. Links that the same jobs use in the same
//             proportion, as the two directions of a cable in a ring, are one in the graph: they want the same shifts.
//             A job whose period no circle holds is not shifted; it counts with its mean demand all the time. What the
//             best shifts would do counts even where the policy then finds that they gain too little to be applied.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024, section 4 and Algorithm 2 (arXiv 2308.00852).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "traffic/cassini/contended_links.h"
#include "traffic/job_survey.h"
#include "traffic/placement_choice.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::cassini {

struct PlacementScore {
  double score = 1;        // mean over the job's links; 1 where it has none
  uint32_t num_links = 0;  // of the job that others may use
  uint32_t num_contended = 0;
  bool closes_loop = false;
  bool is_cut_off = false;

  bool is_left_out() const { return closes_loop || is_cut_off; }
};

// The running jobs, and what one more would meet among them.
class PlacementScorer {
 public:
  // `running` must outlive this.
  explicit PlacementScorer(const TrafficSnapshot& running);

  // Args: candidate: an arriving job, none of the running ones.
  PlacementScore Score(const JobView& candidate) const;

 private:
  // Those that use a link, the arriving job last.
  std::vector<LinkDemand> UsersWith(const LinkUse& arriving) const;
  uint32_t CountLoopsWith(const std::vector<LinkUse>& uses) const;

  TrafficSnapshot running_;
  LinkTable links_;
  JobSurvey survey_;           // of the running jobs; their indices are its participants
  std::vector<LinkUse> uses_;  // theirs, by link
  std::vector<ContendedLink> contended_;
  uint32_t num_loops_ = 0;
};

// Edges of the affinity graph that close a loop, whichever they are. Args: jobs of `links` are below num_jobs. Cost:
// O(edges log edges).
uint32_t CountLoops(const std::vector<ContendedLink>& links, uint32_t num_jobs);

// As TrafficPolicy::ChoosePlacement.
PlacementChoice ChoosePlacement(const TrafficSnapshot& running, std::span<const JobView> candidates);

}  // namespace fairlead::traffic::cassini
