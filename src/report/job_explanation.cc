#include "report/job_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/run_summary.h"

namespace fairlead::report {
namespace {

const sim::JobResult* FindResult(const sim::RunResult& run, JobId id) {
  const auto found =
      std::find_if(run.jobs.begin(), run.jobs.end(), [id](const sim::JobResult& job) { return job.id == id; });
  return found == run.jobs.end() ? nullptr : &*found;
}

double KnownOrZero(double value) { return std::isfinite(value) ? value : 0; }

Sharer MakeSharer(const sim::RunResult& run, JobId id) {
  Sharer sharer;
  sharer.id = id;
  if (const sim::JobResult* job = FindResult(run, id); job != nullptr) {
    sharer.name = job->name;
    sharer.num_gpus = job->num_gpus;
    sharer.level = job->level;
  }
  return sharer;
}

void AddTo(Sharer& sharer, const sim::ContentionResult& contention) {
  sharer.shared_s += KnownOrZero(contention.shared_s);
  sharer.lost_s += KnownOrZero(contention.lost_s);
  sharer.yielded = sharer.yielded || contention.yielded;
}

// Most time lost first; the input is sorted by id and stays so among equals.
template <class Item>
void SortByLoss(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.lost_s > b.lost_s; });
}

std::vector<ContendedLink> FindContendedLinks(const sim::RunResult& run, JobId victim) {
  std::map<LinkId, ContendedLink> by_link;
  for (const sim::ContentionResult& contention : run.contention) {
    if (contention.victim != victim) continue;
    ContendedLink& link = by_link[contention.link];
    link.id = contention.link;
    link.name = contention.link_name;
    link.lost_s += KnownOrZero(contention.lost_s);
    link.sharers.push_back(MakeSharer(run, contention.culprit));
    AddTo(link.sharers.back(), contention);
  }
  for (const sim::LinkResult& result : run.links) {
    if (const auto found = by_link.find(result.id); found != by_link.end()) {
      found->second.capacity_bytes_per_s = result.capacity_bytes_per_s;
      found->second.utilization = result.utilization;
    }
  }
  std::vector<ContendedLink> links;
  for (auto& [id, link] : by_link) {
    SortByLoss(link.sharers);
    links.push_back(std::move(link));
  }
  SortByLoss(links);
  return links;
}

std::vector<Sharer> FindDelayed(const sim::RunResult& run, JobId culprit) {
  std::map<JobId, Sharer> by_job;
  for (const sim::ContentionResult& contention : run.contention) {
    if (contention.culprit != culprit) continue;
    const auto [entry, is_new] = by_job.try_emplace(contention.victim);
    if (is_new) entry->second = MakeSharer(run, contention.victim);
    AddTo(entry->second, contention);
  }
  std::vector<Sharer> delayed;
  delayed.reserve(by_job.size());
  for (auto& [id, sharer] : by_job) delayed.push_back(std::move(sharer));
  SortByLoss(delayed);
  return delayed;
}

Status NoSuchJob(const sim::RunResult& run, JobId id) {
  const std::string asked = id.valid() ? fmt::format("job {}", id.value()) : "a job without an id";
  if (run.jobs.empty()) return NotFound(fmt::format("{}: the run has no jobs", asked));
  const auto [least, greatest] = std::minmax_element(
      run.jobs.begin(), run.jobs.end(), [](const sim::JobResult& a, const sim::JobResult& b) { return a.id < b.id; });
  return NotFound(fmt::format("{}: the run has no such job; its {} jobs have ids from {} to {}", asked, run.jobs.size(),
                              least->id.value(), greatest->id.value()));
}

}  // namespace

Result<JobExplanation> ExplainJob(const sim::RunResult& run, JobId id) {
  const sim::JobResult* job = FindResult(run, id);
  if (job == nullptr) return NoSuchJob(run, id);
  JobExplanation explanation;
  explanation.job = *job;
  explanation.policy = run.policy;
  explanation.seed = run.seed;
  explanation.partial = run.partial;
  explanation.simulated_s = run.simulated_s;
  explanation.gpu_hours_lost = GpuHoursLost(*job);
  explanation.gpu_hours_lost_per_day = PerDay(explanation.gpu_hours_lost, run.simulated_s);
  explanation.lost_s = job->num_gpus == 0 ? 0 : explanation.gpu_hours_lost * 3600 / job->num_gpus;
  explanation.links = FindContendedLinks(run, id);
  explanation.delayed = FindDelayed(run, id);
  for (const ContendedLink& link : explanation.links) explanation.contention_s += link.lost_s;
  return explanation;
}

}  // namespace fairlead::report
