// Of which jobs does Slurm have processes on this host? By the names of its own: "slurmstepd: [4711.batch]".
//
// Problem     slurmctld may believe in a run of which no process is left, or none was ever started: a slurmd was killed
//             with the order to start it.
// Method      a slurmstepd is there for as long as a step of the job is, whoever started it and whatever it runs. Only
//             processes of root, or of this process's user, count: others may call theirs what they like. Where no
//             slurmd is seen (it is away, or processes of others are hidden from this one), nothing is known.
// Cost        a file of /proc for each process of the host, each kPeriod.
// Thread      one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"

namespace fairlead::service {

class SlurmJobsHere {
 public:
  static constexpr SimDuration kPeriod = SimDuration(5'000'000'000);

  explicit SlurmJobsHere(std::string proc_folder = "/proc") : proc_folder_(std::move(proc_folder)) {}

  // Ascending, each once; as of a look that is at most kPeriod old. Nothing: no slurmd is seen.
  std::optional<std::vector<uint32_t>> Look(SimTime now);

 private:
  std::optional<std::vector<uint32_t>> Read() const;

  std::string proc_folder_;
  std::optional<SimTime> looked_at_;
  std::optional<std::vector<uint32_t>> seen_;
};

}  // namespace fairlead::service
