// Jobs that wait for room, in the order in which they came: none overtakes another.
#pragma once

#include <cstddef>
#include <deque>
#include <set>

#include "base/ids.h"
#include "model/job.h"

namespace fairlead::controller {

class JobQueue {
 public:
  // Args: job: not waiting.
  void Add(const model::Job& job) {
    jobs_.push_back(job);
    ids_.insert(job.id);
  }
  bool Contains(JobId job) const { return ids_.contains(job); }
  bool empty() const { return jobs_.empty(); }
  size_t size() const { return jobs_.size(); }
  // The one that came first; not empty.
  const model::Job& front() const { return jobs_.front(); }
  void PopFront() {
    ids_.erase(jobs_.front().id);
    jobs_.pop_front();
  }

 private:
  std::deque<model::Job> jobs_;
  std::set<JobId> ids_;  // of jobs_
};

}  // namespace fairlead::controller
