// Carries out in a lab what steering wants done: the other end of `fairlead lab hook`.
//
//     isolate_host, take_spare, return_host    noted: nothing else is placed in a lab
//     stop_job, restart_job                    done by the JobRunner
//     test_host                                passes, unless a fault is planted there: then to be tried again later
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "lab/job_runner.h"
#include "lab/jobs_server.h"

namespace fairlead::lab {

// A request and its outcome.
struct SteeringDeed {
  double at_s = 0;   // of the monotonic clock
  std::string step;  // "isolate_host", ..
  JobId job;         // of the runner; invalid: of no job, or of one that is not known
  LabNodeId host;    // that it is about; invalid: none
  JobsAnswer answer;
};

class JobSteering {
 public:
  // Args: runner must outlive the questions; is_faulty: whether a host would fail a test now.
  JobSteering(JobRunner* runner, std::function<bool(LabNodeId)> is_faulty)
      : runner_(runner), is_faulty_(std::move(is_faulty)) {}

  // Does what a question asks for. Args: text: an action as service/steering/hook_message.h describes it. Blocks while a
  // job stops. What can't be understood is answered with exit code 2: not to be tried again.
  JobsAnswer Handle(std::string_view text);

  const std::vector<SteeringDeed>& deeds() const { return deeds_; }
  bool IsIsolated(LabNodeId host) const { return isolated_.contains(host); }

 private:
  JobsAnswer Carry(const std::string& step, JobId job, LabNodeId host, const std::vector<LabNodeId>& hosts);

  JobRunner* runner_;
  std::function<bool(LabNodeId)> is_faulty_;
  std::set<LabNodeId> isolated_;
  std::map<uint32_t, JobId> jobs_;  // [steering's number]
  std::vector<SteeringDeed> deeds_;
};

}  // namespace fairlead::lab
