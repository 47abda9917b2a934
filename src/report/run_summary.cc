#include "report/run_summary.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/student_t.h"

namespace fairlead::report {
namespace {

using Runs = std::vector<const sim::RunResult*>;

// The spread of one number of each run.
template <class Number>
Spread SpreadOver(const Runs& runs, Number number) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const sim::RunResult* run : runs) values.push_back(static_cast<double>(number(*run)));
  return SpreadOf(values);
}

// Results write 0 where a slowdown is unknown; here that becomes NaN, which SpreadOf leaves out.
double KnownSlowdown(double slowdown) { return slowdown > 0 ? slowdown : std::nan(""); }

double HottestUtilization(const sim::RunResult& run) {
  double hottest = std::nan("");
  for (const sim::LinkResult& link : run.links) hottest = std::fmax(hottest, link.utilization);
  return hottest;
}

std::vector<HotLink> FindHottestLinks(const Runs& runs) {
  std::map<LinkId, HotLink> links;
  for (const sim::RunResult* run : runs) {
    for (const sim::LinkResult& link : run->links) {
      HotLink& hot = links[link.id];
      hot.name = link.name;
      if (std::isfinite(link.utilization)) hot.utilization += link.utilization / static_cast<double>(runs.size());
    }
  }
  std::vector<HotLink> hottest;
  hottest.reserve(links.size());
  for (auto& [id, link] : links) hottest.push_back(std::move(link));
  std::stable_sort(hottest.begin(), hottest.end(),
                   [](const HotLink& a, const HotLink& b) { return a.utilization > b.utilization; });
  hottest.resize(std::min(hottest.size(), kNumHotLinks));
  return hottest;
}

// What SummarizeJobs collects about one job before it becomes a JobSummary.
struct JobNumbers {
  const sim::JobResult* first = nullptr;
  std::vector<double> slowdowns;
  bool is_bound = false;
  std::vector<double> gpu_hours_lost_per_day;
  double yielded_s = 0;
};

std::map<JobId, JobNumbers> CollectJobs(const Runs& runs) {
  std::map<JobId, JobNumbers> jobs;
  for (const sim::RunResult* run : runs) {
    for (const sim::JobResult& job : run->jobs) {
      JobNumbers& numbers = jobs[job.id];
      if (numbers.first == nullptr) numbers.first = &job;
      numbers.slowdowns.push_back(KnownSlowdown(job.slowdown));
      numbers.is_bound = numbers.is_bound || IsBound(job);
      numbers.gpu_hours_lost_per_day.push_back(PerDay(job.lost_gpu_hours, run->simulated_s));
      for (const sim::LossResult& loss : job.lost_to) {
        if (loss.cause == sim::LossCause::kLevel && std::isfinite(loss.lost_s)) numbers.yielded_s += loss.lost_s;
      }
    }
  }
  return jobs;
}

// Nothing unless all runs have it: a mean over some of them would be one of other jobs.
Spread SpreadOfP99(const Runs& runs) {
  std::vector<double> values;
  for (const sim::RunResult* run : runs) {
    if (!run->p99_slowdown) return {};
    values.push_back(*run->p99_slowdown);
  }
  return SpreadOf(values);
}

PolicySummary Summarize(const std::string& policy, const Runs& runs) {
  using sim::RunResult;
  PolicySummary summary;
  summary.policy = policy;
  for (const RunResult* run : runs) {
    summary.seeds.push_back(run->seed);
    summary.num_partial += run->partial ? 1 : 0;
    summary.slowdowns_are_bounds = summary.slowdowns_are_bounds || run->slowdowns_are_bounds;
  }
  summary.busy = SpreadOver(runs, [](const RunResult& r) { return r.busy; });
  summary.flop_weighted = SpreadOver(runs, [](const RunResult& r) { return r.flop_weighted; });
  summary.vs_ideal = SpreadOver(runs, [](const RunResult& r) { return r.vs_ideal; });
  summary.mean_slowdown = SpreadOver(runs, [](const RunResult& r) { return KnownSlowdown(r.mean_slowdown); });
  summary.worst_slowdown = SpreadOver(runs, [](const RunResult& r) { return KnownSlowdown(r.worst_slowdown); });
  summary.p99_slowdown = SpreadOfP99(runs);
  summary.num_stalled = SpreadOver(runs, [](const RunResult& r) { return r.num_stalled; });
  summary.num_cut_off = SpreadOver(runs, [](const RunResult& r) { return r.num_cut_off; });
  summary.gpu_hours_lost_per_day =
      SpreadOver(runs, [](const RunResult& r) { return PerDay(r.gpu_hours_lost, r.simulated_s); });
  summary.colliding_links = SpreadOver(runs, [](const RunResult& r) { return r.colliding_links; });
  summary.hottest_utilization = SpreadOver(runs, HottestUtilization);
  summary.path_changes = SpreadOver(runs, [](const RunResult& r) { return r.path_changes; });
  summary.level_changes = SpreadOver(runs, [](const RunResult& r) { return r.level_changes; });
  summary.simulated_s = SpreadOver(runs, [](const RunResult& r) { return r.simulated_s; });
  summary.wall_s = SpreadOver(runs, [](const RunResult& r) { return r.wall_s; });
  summary.peak_rss_mb = SpreadOver(runs, [](const RunResult& r) { return r.peak_rss_mb; });
  summary.fast_forward_fraction = SpreadOver(runs, [](const RunResult& r) { return r.fast_forward_fraction; });
  summary.fast_forward_error_bound = SpreadOver(runs, [](const RunResult& r) { return r.fast_forward_error_bound; });
  summary.hottest_links = FindHottestLinks(runs);
  summary.jobs = SummarizeJobs(runs);
  return summary;
}

}  // namespace

bool IsBound(const sim::JobResult& job) {
  return job.condition == sim::JobCondition::kStalled || job.condition == sim::JobCondition::kCutOff;
}

std::vector<JobSummary> SummarizeJobs(const Runs& runs) {
  std::vector<JobSummary> summaries;
  for (const auto& [id, numbers] : CollectJobs(runs)) {
    JobSummary job;
    job.id = id;
    job.name = numbers.first->name;
    job.model = numbers.first->model;
    job.num_gpus = numbers.first->num_gpus;
    job.slowdown = SpreadOf(numbers.slowdowns);
    job.slowdown_is_bound = numbers.is_bound;
    job.gpu_hours_lost_per_day = SpreadOf(numbers.gpu_hours_lost_per_day);
    job.yielded_s = numbers.yielded_s / static_cast<double>(runs.size());
    job.level = numbers.first->level;
    job.bounding_link = numbers.first->bounding_link;
    job.reason = numbers.first->reason;
    summaries.push_back(std::move(job));
  }
  return summaries;
}

Spread SpreadOf(std::span<const double> values) {
  Spread spread;
  double sum = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    spread.min = spread.known() ? std::min(spread.min, value) : value;
    spread.max = spread.known() ? std::max(spread.max, value) : value;
    sum += value;
    ++spread.count;
  }
  if (!spread.known()) return spread;
  spread.mean = sum / static_cast<double>(spread.count);
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value - spread.mean) * (value - spread.mean);
  }
  if (spread.count > 1) {
    const auto degrees = static_cast<uint32_t>(spread.count - 1);
    spread.deviation = std::sqrt(squares / degrees);
    spread.margin = StudentTQuantile(0.95, degrees) * spread.deviation / std::sqrt(static_cast<double>(spread.count));
  }
  return spread;
}

double PerDay(double amount, double simulated_s) { return simulated_s > 0 ? amount * (86400 / simulated_s) : 0; }

std::vector<PolicySummary> SummarizePolicies(const sim::SimulationReport& report) {
  std::vector<std::pair<std::string, Runs>> policies;  // in order of first appearance
  for (const sim::RunResult& run : report.runs) {
    auto found =
        std::find_if(policies.begin(), policies.end(), [&run](const auto& entry) { return entry.first == run.policy; });
    if (found == policies.end()) found = policies.insert(policies.end(), {run.policy, {}});
    found->second.push_back(&run);
  }
  std::vector<PolicySummary> summaries;
  summaries.reserve(policies.size());
  for (const auto& [policy, runs] : policies) summaries.push_back(Summarize(policy, runs));
  return summaries;
}

const JobSummary* FindWorstJob(const PolicySummary& summary) {
  const JobSummary* worst = nullptr;
  for (const JobSummary& job : summary.jobs) {
    if (job.slowdown.known() && (worst == nullptr || job.slowdown.mean > worst->slowdown.mean)) worst = &job;
  }
  return worst;
}

const JobSummary* FindJob(const PolicySummary& summary, JobId id) {
  const auto found = std::lower_bound(summary.jobs.begin(), summary.jobs.end(), id,
                                      [](const JobSummary& job, JobId wanted) { return job.id < wanted; });
  return found != summary.jobs.end() && found->id == id ? &*found : nullptr;
}

const sim::RunResult& FirstRun(const sim::SimulationReport& report, const std::string& policy) {
  const auto found = std::find_if(report.runs.begin(), report.runs.end(),
                                  [&policy](const sim::RunResult& run) { return run.policy == policy; });
  FL_CHECK_MSG(found != report.runs.end(), policy);
  return *found;
}

}  // namespace fairlead::report
