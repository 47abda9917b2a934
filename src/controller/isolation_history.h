// Which isolations steering began lately, and for which jobs: what its limits per hour and day count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "codec/record.h"

namespace fairlead::controller {

struct HostIsolation {
  SimTime at;
  JobId job;
};

class IsolationHistory {
 public:
  void Add(SimTime now, JobId job) { isolations_.push_back({now, job}); }
  void ForgetUntil(SimTime time) {
    std::erase_if(isolations_, [&](const HostIsolation& isolation) { return isolation.at <= time; });
  }

  // Those after `since`. Args: job: invalid: of all jobs.
  size_t NumSince(SimTime since, JobId job) const {
    return static_cast<size_t>(std::ranges::count_if(isolations_, [&](const HostIsolation& isolation) {
      return isolation.at > since && (!job.valid() || isolation.job == job);
    }));
  }

  // In the order in which they began.
  const std::vector<HostIsolation>& all() const { return isolations_; }
  void Restore(std::vector<HostIsolation> isolations) { isolations_ = std::move(isolations); }

 private:
  std::vector<HostIsolation> isolations_;
};

template <class Archive, codec::IsRecord<HostIsolation> Record>
void Describe(Archive& archive, Record& isolation) {
  archive.Required("at", isolation.at);
  archive.Optional("job", isolation.job);
}

}  // namespace fairlead::controller
