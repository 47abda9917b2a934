#include "report/allocation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/allocation_summary.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumJobsShown = 16;
constexpr size_t kNumSizesShown = 9;

// Means over the seeds of one policy.
struct PolicyAllocation {
  std::string policy;
  std::vector<AllocationSummary> runs;

  double Mean(double AllocationSummary::*field) const {
    double sum = 0;
    for (const AllocationSummary& run : runs) sum += run.*field;
    return sum / static_cast<double>(runs.size());
  }
};

std::vector<PolicyAllocation> GroupByPolicy(const sim::SimulationReport& report) {
  std::vector<PolicyAllocation> policies;
  for (const sim::RunResult& run : report.runs) {
    if (run.allocation.empty()) continue;
    if (policies.empty() || policies.back().policy != run.policy) policies.push_back({run.policy, {}});
    policies.back().runs.push_back(SummarizeAllocation(run, report.num_gpus));
  }
  return policies;
}

Document RenderPolicies(const std::vector<PolicyAllocation>& policies) {
  TextTable table({{"policy", Align::kLeft},
                   {"mean", Align::kRight, "completion time"},
                   {"longest", Align::kRight, "completion time"},
                   {"wait", Align::kRight, "", "mean time that a job holds no GPUs"},
                   {"makespan", Align::kRight, "", "time until the last job ends, or the run"},
                   {"restarts/job", Align::kRight},
                   {"held", Align::kRight, "cluster's GPUs", "share of the cluster's GPU time given to jobs"},
                   {"busy", Align::kRight, "cluster's GPUs", "share of it in which GPUs compute"},
                   {"not ended", Align::kRight, "", "jobs that had not ended when the run did"}});
  for (const PolicyAllocation& policy : policies) {
    uint32_t num_unfinished = 0;
    for (const AllocationSummary& run : policy.runs) num_unfinished += run.num_unfinished;
    table.AddRow({policy.policy, FormatDuration(policy.Mean(&AllocationSummary::mean_jct_s)),
                  FormatDuration(policy.Mean(&AllocationSummary::longest_jct_s)),
                  FormatDuration(policy.Mean(&AllocationSummary::mean_wait_s)),
                  FormatDuration(policy.Mean(&AllocationSummary::makespan_s)),
                  FormatFixed(policy.Mean(&AllocationSummary::restarts_per_job), 2),
                  FormatPercent(policy.Mean(&AllocationSummary::held_share)),
                  FormatPercent(policy.Mean(&AllocationSummary::busy_share)), FormatCount(num_unfinished)});
  }
  return table;
}

Document RenderJobs(const sim::RunResult& run) {
  TextTable table({{"job", Align::kLeft},
                   {"sizes over time", Align::kLeft, "", "GPUs that the job held one after the other; -: none"},
                   {"restarts", Align::kRight},
                   {"waited", Align::kRight, "", "without GPUs"},
                   {"completion", Align::kRight, "", "from arrival to end"},
                   {"slowdown", Align::kRight}});
  for (size_t j = 0; j < std::min(run.jobs.size(), kNumJobsShown); ++j) {
    const sim::JobResult& job = run.jobs[j];
    if (!job.allocation) continue;
    table.AddRow({fmt::format("{} {}", job.id.value(), job.name), DescribeSizes(*job.allocation),
                  FormatCount(job.allocation->num_restarts), FormatDuration(job.allocation->waited_s),
                  job.finished ? FormatDuration(job.end_s - job.arrival_s) : "not ended",
                  FormatSlowdown(job.slowdown)});
  }
  Document text = fmt::format("{}, seed {}: jobs\n", CleanText(run.policy), run.seed);
  text += std::move(table);
  if (run.jobs.size() > kNumJobsShown) {
    text += fmt::format("… and {} more; --json has all.\n", FormatCount(run.jobs.size() - kNumJobsShown, "job"));
  }
  return text;
}

}  // namespace

std::string DescribeSizes(const sim::AllocationResult& allocation) {
  // A stop that is followed by a start at the same time is a resize.
  std::vector<std::string> words;
  for (size_t i = 0; i < allocation.sizes.size(); ++i) {
    const sim::SizeChange& change = allocation.sizes[i];
    const bool is_resize =
        change.num_gpus == 0 && i + 1 < allocation.sizes.size() && allocation.sizes[i + 1].time_s <= change.time_s;
    if (!is_resize) words.push_back(change.num_gpus == 0 ? "-" : std::to_string(change.num_gpus));
  }
  if (words.empty()) return "never started";
  std::string text = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    if (words.size() > kNumSizesShown && i == kNumSizesShown / 2) {
      text += " > …";
      i = words.size() - kNumSizesShown / 2;
    }
    text += " > " + words[i];
  }
  return text;
}

Document RenderAllocation(const sim::SimulationReport& report) {
  const std::vector<PolicyAllocation> policies = GroupByPolicy(report);
  if (policies.empty()) return "";
  Document text = RenderPolicies(policies) + "\n";
  std::string shown;
  for (const sim::RunResult& run : report.runs) {
    if (run.allocation.empty() || run.policy == std::exchange(shown, run.policy)) continue;
    text += RenderJobs(run) + "\n";
  }
  return text;
}

}  // namespace fairlead::report
