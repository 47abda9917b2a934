// Whose turn it is to be profiled: to have the top level to itself while its counters are read.
//
// Problem     two jobs with a level above all others would contradict each other.
// Method      one at a time, in order of arrival.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"

namespace fairlead::controller {

class ProfilingTurns {
 public:
  // Args: arrival: no two jobs have the same.
  void Add(JobId job, uint64_t arrival) { waiting_.emplace(arrival, job); }
  // It has ended or is profiled, whether its turn has come or not.
  void Remove(JobId job, uint64_t arrival) {
    waiting_.erase({arrival, job});
    if (current_ == job) current_ = JobId();
  }
  // Returns whose turn begins; nothing: that of another goes on, or nobody waits.
  std::optional<JobId> BeginNext() {
    if (current_.valid() || waiting_.empty()) return std::nullopt;
    current_ = waiting_.begin()->second;
    return current_;
  }
  bool IsUnderWay(JobId job) const { return current_ == job; }

 private:
  std::set<std::pair<uint64_t, JobId>> waiting_;  // with the one whose turn it is
  JobId current_;                                 // invalid: none
};

}  // namespace fairlead::controller
