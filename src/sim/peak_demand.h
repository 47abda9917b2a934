// What jobs ask of links at most: summed over the flows of a phase, the greatest phase of a job, summed over jobs.
// Phases of one job follow one another, so a link never sees two of them together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/ids.h"

namespace fairlead::sim {

class PeakDemand {
 public:
  // Cost: O(links).
  explicit PeakDemand(size_t num_links) : total_(num_links), phase_(num_links), job_(num_links) {}

  // Adds to the phase under way.
  void Add(LinkId link, double amount) {
    if (phase_[link] == 0) phase_links_.push_back(link);
    phase_[link] += amount;
  }
  void EndPhase() {
    for (LinkId link : phase_links_) {
      if (job_[link] == 0) job_links_.push_back(link);
      job_[link] = std::max(job_[link], phase_[link]);
      phase_[link] = 0;
    }
    phase_links_.clear();
  }
  // Returns the links of the job that ends; a link on which it asks for nothing may stand there twice.
  std::vector<LinkId> EndJob() {
    for (LinkId link : job_links_) {
      total_[link] += job_[link];
      job_[link] = 0;
    }
    std::vector<LinkId> links;
    links.swap(job_links_);
    return links;
  }

  // Over all jobs that have ended.
  double total(LinkId link) const { return total_[link]; }
  void Clear(LinkId link) { total_[link] = 0; }

 private:
  IdVector<LinkId, double> total_;
  // 0 between phases and jobs.
  IdVector<LinkId, double> phase_;
  IdVector<LinkId, double> job_;
  std::vector<LinkId> phase_links_;
  std::vector<LinkId> job_links_;
};

}  // namespace fairlead::sim
