// What the last selection of paths was, so that the next one looks again only at what may differ.
//
// Problem     a job comes or leaves: the choices of the jobs before it, and of those that meet neither it nor what it
//             moved, are what they were.
// Method      a choice depends on what the job asks for, on its candidates and on their loads when it is its turn. The
//             next selection goes through the jobs in the same order and keeps a set of *touched* links: those on which
//             other jobs, other paths or another order of the same sums put load. A job that asks for the same as
//             before keeps its paths as long as none of its candidates is touched.
// Guarantees  jobs that are not asked for any more are forgotten.
// Cost        of memory: 4 bytes a link of each list of candidates (128 ways of four links are 2 kB), and those of the
//             paths and flows.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/flow.h"
#include "traffic/job_candidates.h"
#include "traffic/link_traffic.h"
#include "traffic/packed_paths.h"

namespace fairlead::traffic {

struct PathRequest;

// For one set of options, of candidates and of capacities: whoever changes any of them clears it.
class SelectionMemory {
 public:
  // Bytes that a job puts on a link.
  struct Use {
    LinkId link;
    bool is_fixed = false;  // all candidates of one of its flows cross it
    double bytes = 0;
  };
  // What a job asked for last, and what it got.
  struct Job {
    double precedence = 0;
    Seconds solo_time;
    std::vector<model::FlowDemand> flows;
    PackedPaths paths_in_force;  // empty where they don't matter
    JobCandidates candidates;    // of these flows
    PackedPaths paths;           // chosen
    // Only of KeepPaths: what the paths put on each link, once, and what their traffic was seen to be.
    std::vector<Use> uses;
    std::shared_ptr<const JobTraffic> traffic;
    bool is_placed = false;  // as it asks now: `paths` are what it got
  };
  // Paths that were chosen and are so no more: of a job that left or asks for something else.
  struct Departure {
    JobId job;
    double precedence = 0;
    PackedPaths paths;
  };

  void Clear();
  size_t num_jobs() const { return jobs_.size(); }
  // Jobs of the last selection whose flows were looked at; the others kept their paths.
  size_t num_chosen() const { return num_chosen_; }

  // For SelectPaths. Forgets who is not asked for, and sets is_placed of the others.
  // Returns: whose loads are missing, by precedence as SelectPaths goes.
  std::vector<Departure> Begin(std::span<const PathRequest> requests, bool in_force_matters);
  // For KeepPaths: forgets who is not asked for, and what was known of other flows.
  void BeginKeeping(std::span<const PathRequest> requests);
  // Of a request that the last begin has seen; valid until the next.
  Job& job(JobId id) { return jobs_.at(id); }
  void CountChosen() { ++num_chosen_; }

 private:
  std::unordered_map<JobId, Job> jobs_;
  size_t num_chosen_ = 0;
};

}  // namespace fairlead::traffic
