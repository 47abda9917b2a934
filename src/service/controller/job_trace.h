// What a job did lately, as a timeline for Perfetto (ui.perfetto.dev) and chrome://tracing.
//
//     counters     iteration time, level and GPUs lost, as the controller looked at them (every 15 s, the last two
//                  hours)
//     iterations   blocks of iterations around findings, as the diagnosis keeps them: a slice for each, as many
//                  iterations in each
//     findings     from suspicion until they were over
//     events       what was noted about the job; what steering did
//
// Times are of the controller's clock, in microseconds since the first thing shown; "origin_s" says when that was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "controller/traffic_views.h"
#include "service/controller/traffic_json.h"
#include "wire/finding_detail.h"

namespace fairlead::service {

// Looks at jobs, for a while. Cost: 40 bytes for each of at most num_looks_max looks at num_jobs_max jobs.
class JobLooks {
 public:
  struct Look {
    SimTime at;
    std::optional<Seconds> iteration_time;
    uint32_t level = 0;
    double lost_gpus = 0;
  };

  explicit JobLooks(size_t num_looks_max = 480, size_t num_jobs_max = 1000)
      : num_looks_max_(num_looks_max), num_jobs_max_(num_jobs_max) {}

  // Jobs that are gone are forgotten when there is no room for others.
  void Add(SimTime now, std::span<const controller::JobOnFabric> jobs);
  // Oldest first; empty: the job is not known.
  std::vector<Look> Of(const std::string& job) const;

 private:
  const size_t num_looks_max_;
  const size_t num_jobs_max_;
  std::map<std::string, std::deque<Look>> looks_;
};

// Of one job, oldest first.
struct JobPast {
  std::string name;
  std::vector<JobLooks::Look> looks;
  std::vector<wire::FindingDetail> findings;
  Json events = Json::array();  // as in /v1/events
  Json log = Json::array();     // lines of the audit log, as in /v1/steering
};

// Args: events, log: of all jobs; others' are left out. Errors: kNotFound: nothing is known of such a job.
Result<Json> JobTrace(const JobPast& past, SimTime now);

}  // namespace fairlead::service
