// Facts about jobs that policies need for any decision: the paths of their flows, their cost, and the participating
// jobs.
//
// A survey starts on the paths in force (DefaultPaths where there are none) and may be moved to chosen paths. Jobs that
// never leave NVLink, don't communicate or are cut off by failures take no part: level 0, with a reason that says so.
// The others are *participants*, indexed apart from the snapshot's jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traffic/gpu_intensity.h"
#include "traffic/level_groups.h"
#include "traffic/link_traffic.h"
#include "traffic/path_selection.h"
#include "traffic/plan_memory.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

struct JobSurvey {
  TrafficPlan plan;                    // [job of the snapshot]; paths are set, levels are 0
  std::vector<uint32_t> participants;  // [participant] -> job of the snapshot
  // [participant], on the paths that the survey began with.
  std::vector<std::shared_ptr<const JobTraffic>> traffic;
  std::vector<JobProfile> profiles;
  std::vector<uint8_t> keeps_paths;  // those of the plan are the same as well for certain

  size_t size() const { return participants.size(); }
  const JobView& view(const TrafficSnapshot& snapshot, size_t participant) const {
    return snapshot.jobs[participants[participant]];
  }
  JobPlan& plan_of(size_t participant) { return plan.jobs[participants[participant]]; }
  const JobPlan& plan_of(size_t participant) const { return plan.jobs[participants[participant]]; }
};

// Args: memory: null, or one that has begun this plan: only jobs that are new to it are measured.
// Cost: O(links of all paths).
JobSurvey SurveyJobs(const TrafficSnapshot& snapshot, const LinkTable& links, PlanMemory* memory = nullptr);

// Moves all participants to the least congested of their equal-cost paths.
// Args: precedence [participant], greater chooses first; max_candidates >= 1 paths are looked at per flow; memory: as
// in SurveyJobs.
void SelectSurveyedPaths(const TrafficSnapshot& snapshot, const LinkTable& links, std::span<const double> precedence,
                         const PathSelectionOptions& options, uint32_t max_candidates, JobSurvey* survey,
                         PlanMemory* memory = nullptr);

// Which participants meet on the paths of the plan: FindContention.
// Args: order: participants, each once; memory: as in SurveyJobs. Returns: indices into `order`.
std::vector<std::vector<uint32_t>> FindSurveyedContention(const TrafficSnapshot& snapshot, const LinkTable& links,
                                                          const JobSurvey& survey, std::span<const uint32_t> order,
                                                          PlanMemory* memory = nullptr);

// Ranks participants and gives them levels by rank alone.
// Args: by_rank [rank] -> participant, a permutation.
void SetRankedLevels(std::span<const uint32_t> by_rank, LevelRule rule, uint32_t num_levels, JobSurvey* survey);

// "; 3 of 8 paths changed; 1 flows cut off by failures", or as much of it as is true.
// Args: keeps_paths: they are known to be the same before and after.
std::string DescribePathChanges(const JobView& before, const JobPlan& after, bool keeps_paths = false);

}  // namespace fairlead::traffic
