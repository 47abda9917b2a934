// Where Slurm runs jobs, for those who ask it of each host of each job every second.
//
// Cost  O(hosts of all jobs) a reading, O(1) a question.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "slurm/cluster_state.h"

namespace fairlead::slurm {

class JobPlaces {
 public:
  JobPlaces() = default;
  explicit JobPlaces(const ClusterState& state) {
    for (const Job& job : state.jobs) {
      if (job.is_single && job.occupies_hosts()) {
        places_.try_emplace(job.id, Place{job.owner, {job.hosts.begin(), job.hosts.end()}});
      }
    }
  }

  // False: the job is that user's, and Slurm runs it on other hosts.
  bool MayRunOn(uint32_t job, uint32_t owner, const std::string& host) const {
    const auto place = places_.find(job);
    return place == places_.end() || place->second.owner != owner || place->second.hosts.contains(host);
  }

 private:
  struct Place {
    uint32_t owner = 0;
    std::unordered_set<std::string> hosts;
  };

  std::unordered_map<uint32_t, Place> places_;  // by job
};

}  // namespace fairlead::slurm
