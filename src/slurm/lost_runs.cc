#include "slurm/lost_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "slurm/host_list.h"

namespace fairlead::slurm {
namespace {

constexpr std::string_view kPrologReason = "Prolog";

bool HasNoProcess(const Job& job, const std::map<std::string, std::set<uint32_t>>& processes) {
  return !job.hosts.empty() && std::ranges::all_of(job.hosts, [&](const std::string& host) {
    const auto found = processes.find(host);
    return found != processes.end() && !found->second.contains(job.id);
  });
}

}  // namespace

std::vector<LostRun> LostRuns::Look(const std::vector<Job>& jobs,
                                    const std::map<std::string, std::set<uint32_t>>& processes, SimTime now) {
  std::map<uint32_t, Suspect> before = std::exchange(suspects_, {});
  std::vector<LostRun> lost;
  for (const Job& job : jobs) {
    if (!job.is_single || job.state != JobState::kRunning || job.reason == kPrologReason ||
        !HasNoProcess(job, processes)) {
      continue;
    }
    Suspect& suspect = suspects_[job.id];
    suspect = {job.num_restarts, job.hosts, now, false};
    const auto known = before.find(job.id);
    const bool is_same =
        known != before.end() && known->second.num_restarts == job.num_restarts && known->second.hosts == job.hosts;
    if (is_same) suspect = std::move(known->second);
    if (now - suspect.since >= lost_after_) {
      lost.push_back({job.id, suspect.since, !std::exchange(suspect.is_told, true)});
    }
  }
  std::ranges::sort(lost, {}, &LostRun::job);
  return lost;
}

std::string WordsOfLostRun(const LostRun& run, const Job& job, SimTime now) {
  return fmt::format("Slurm says that it runs on {}, and for {:.0f} s no process of it was seen there",
                     CompressHosts(job.hosts), (now - run.since).seconds().value());
}

}  // namespace fairlead::slurm
