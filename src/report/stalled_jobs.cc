#include "report/stalled_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kStalledNameWidth = 24;

// One job under one policy.
struct StalledJob {
  std::string name;
  uint32_t num_stalled = 0;  // runs
  uint32_t num_cut_off = 0;  // runs
  double longest_s = 0;      // without work
  double slowdown = 0;       // the greatest bound
};

std::string Describe(const std::string& policy, JobId id, const StalledJob& job, size_t num_runs) {
  const bool both = job.num_stalled > 0 && job.num_cut_off > 0;
  std::string text = fmt::format("{}: job {} \"{}\" {}", ShownName(policy, kStalledNameWidth), id.value(),
                                 ShownName(job.name, kStalledNameWidth),
                                 both                  ? "is stalled or cut off"
                                 : job.num_stalled > 0 ? "is stalled"
                                                       : "is cut off by links that are down");
  if (num_runs > 1) text += fmt::format(" in {} of {} draws", job.num_stalled + job.num_cut_off, num_runs);
  return text + fmt::format(" (slowdown {}): no work for {} when the run ended.", FormatSlowdown(job.slowdown, true),
                            FormatDuration(job.longest_s));
}

}  // namespace

std::vector<std::string> DescribeStalledJobs(const sim::SimulationReport& report) {
  std::vector<std::string> policies;  // in order of first appearance
  std::map<std::string, size_t> num_runs;
  std::map<std::string, std::map<JobId, StalledJob>> standing;
  for (const sim::RunResult& run : report.runs) {
    if (num_runs[run.policy]++ == 0) policies.push_back(run.policy);
    for (const sim::JobResult& job : run.jobs) {
      if (!IsBound(job)) continue;
      StalledJob& entry = standing[run.policy][job.id];
      entry.name = job.name;
      ++(job.condition == sim::JobCondition::kStalled ? entry.num_stalled : entry.num_cut_off);
      entry.longest_s = std::max(entry.longest_s, job.stalled_s);
      entry.slowdown = std::max(entry.slowdown, job.slowdown);
    }
  }
  std::vector<std::string> sentences;
  for (const std::string& policy : policies) {
    const auto& jobs = standing[policy];
    size_t num_reported = 0;
    for (const auto& [id, job] : jobs) {
      if (num_reported++ == kNumStalledJobsShown) break;
      sentences.push_back(Describe(policy, id, job, num_runs[policy]));
    }
    if (jobs.size() > kNumStalledJobsShown) {
      sentences.push_back(fmt::format("{}: {} more are stalled.", ShownName(policy, kStalledNameWidth),
                                      FormatCount(jobs.size() - kNumStalledJobsShown, "job")));
    }
  }
  return sentences;
}

}  // namespace fairlead::report
