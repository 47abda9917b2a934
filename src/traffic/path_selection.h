// Path selection: sends each flow over the least congested of its equal-cost paths, one job after the other.
//
// Problem     equal-cost paths are chosen by a hash, so heavy jobs collide on some links while others idle. Choose
//             instead; which job chooses first is the caller's policy (Crux: the most intense one).
// Notation    I_j -> precedence;  B_e -> LinkTable::capacity;  load[e] -> loads, what was put on link e so far
// Method      jobs by precedence descending (ties: JobId), flows of a job by bytes descending (ties: index). Each flow
//             takes the candidate with the lexicographically smallest
//               ( max over its links of (load + rate) / B_e,  sum over its links of the same,  candidate index )
//             with rate = bytes / solo iteration time, and adds its rate to the links of that path.
//             Most candidates are passed over: a bound on what the way of a list (job_candidates.h) costs at least is
//             kept while a job is placed, and loads only grow.
// Cost        O(candidates * links per path) per list of a job, O(candidates) per flow. See BM_CruxPlan; with memory
//             BM_OneArrival.
// Guarantees  every path is one of the candidates; loads = sum of the rates of the flows on each link. Differences
//             below a relative 1e-9 count as ties, so that rounding never chooses a path.
// Differs     the paper leaves measure, unit, ties and hysteresis open: all options here. Flows with one candidate
//             only (inside a host) are loads like others.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 4.1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/path.h"
#include "traffic/job_candidates.h"
#include "traffic/link_traffic.h"
#include "traffic/selection_memory.h"

namespace fairlead::traffic {

// What is chosen at once.
enum class PathUnit {
  kFlow,  // each flow for itself; as fine as UDP source ports allow
  kJob,   // one index for the whole job: every flow takes candidate (index mod its number of candidates)
};

// What makes a link congested.
enum class CongestionMeasure {
  kRate,        // bytes per second of solo run time, relative to capacity
  kBytes,       // bytes per iteration, relative to capacity: slow jobs with big iterations count more
  kHigherJobs,  // number of jobs of higher precedence on the link, whatever they send
};

struct PathSelectionOptions {
  PathUnit unit = PathUnit::kFlow;
  CongestionMeasure congestion = CongestionMeasure::kRate;
  // In [0, 1). Keeps the path in force unless the best path's worst link is less congested by more than this fraction.
  // 0 = always take the best path, as in the paper. Larger: fewer changes, more congestion.
  double hysteresis = 0;
  // Nothing: all jobs choose at every event, as in the paper. A number: jobs stay on their paths while these live, and
  // at most so many of them are moved at a time, where that makes their worst link less congested (path_upkeep.h). 0:
  // only newcomers and flows whose path has died choose. Larger: less congestion, more reordering, longer plans; from 1
  // to 4 hardly anything is gained on the trace (docs/papers/crux.md).
  std::optional<uint32_t> max_moved_jobs = std::nullopt;

  Status Validate() const;
};

// A job that wants paths.
struct PathRequest {
  JobId id;
  double precedence = 0;  // greater chooses first: GPU intensity for Crux; finite
  Seconds solo_time;      // > 0
  std::span<const model::FlowDemand> flows;
  std::span<const model::Path> paths_in_force;  // [flow] or empty; only read with hysteresis or max_moved_jobs
  // Null, or an object that is the same as before only where flows and paths in force are; read with max_moved_jobs.
  std::shared_ptr<const JobTraffic> traffic = nullptr;
};

// Who of two jobs chooses first. Of two different jobs always one.
inline bool ChoosesBefore(double precedence, JobId job, double other_precedence, JobId other) {
  return precedence != other_precedence ? precedence > other_precedence : job < other;
}

// Indices of requests in the order in which they choose.
std::vector<uint32_t> SortByPrecedence(std::span<const PathRequest> requests);

struct LinkLoad {
  double load = 0;              // bytes per second (kRate), bytes (kBytes) or jobs (kHigherJobs) put on the link
  double inverse_capacity = 0;  // 0: not asked for
};

struct PathSelection {
  std::vector<std::vector<model::Path>> paths;  // [request][flow]; empty = cut off
  LazyIdVector<LinkId, LinkLoad> links;

  double load(LinkId link) const { return links[link].load; }
};

// Args: requests of different jobs. source: of the flows' equal-cost paths.
// memory: of earlier selections with the same links, source and options, or null;
// it changes what is looked at (selection_memory.h), never what comes out.
// Paper: section 4.1.
PathSelection SelectPaths(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                          const PathSelectionOptions& options, SelectionMemory* memory = nullptr);

}  // namespace fairlead::traffic
