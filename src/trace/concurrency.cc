#include "trace/concurrency.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/check.h"

namespace fairlead::trace {

namespace {

struct Change {
  double at_s = 0;
  int64_t jobs = 0;
  int64_t gpus = 0;
};

// Starts and ends in order of time; at one instant ends come first, as a job does not count at its end.
std::vector<Change> ListChanges(std::span<const TraceJob> jobs) {
  std::vector<Change> changes;
  for (const TraceJob& job : jobs) {
    if (job.gpus == 0 || job.duration_s <= 0) continue;
    changes.push_back({job.submit_s, 1, job.gpus});
    changes.push_back({job.submit_s + job.duration_s, -1, -int64_t{job.gpus}});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at_s, a.jobs, a.gpus) < std::tie(b.at_s, b.jobs, b.gpus);
  });
  return changes;
}

// Adds `jobs` and `gpus` times seconds to every bin that [from_s, to_s) meets.
void AddToBins(double from_s, double to_s, int64_t jobs, int64_t gpus, Concurrency* c) {
  for (auto bin = static_cast<size_t>(from_s / c->bin_s); bin < c->bin_jobs.size(); ++bin) {
    const double begin = static_cast<double>(bin) * c->bin_s;
    if (begin >= to_s) return;
    const double seconds = std::min(to_s, begin + c->bin_s) - std::max(from_s, begin);
    c->bin_jobs[bin] += static_cast<double>(jobs) * seconds;
    c->bin_gpus[bin] += static_cast<double>(gpus) * seconds;
  }
}

void SumsToMeans(double end_s, Concurrency* c) {
  for (size_t bin = 0; bin < c->bin_jobs.size(); ++bin) {
    c->jobs_mean += c->bin_jobs[bin] / end_s;
    c->gpus_mean += c->bin_gpus[bin] / end_s;
    const double length = std::min(c->bin_s, end_s - static_cast<double>(bin) * c->bin_s);
    c->bin_jobs[bin] /= length;
    c->bin_gpus[bin] /= length;
  }
}

}  // namespace

Concurrency MeasureConcurrency(std::span<const TraceJob> jobs, double end_s, double bin_s) {
  FL_CHECK(end_s > 0 && bin_s > 0);
  Concurrency c;
  c.bin_s = bin_s;
  const auto num_bins = static_cast<size_t>(std::ceil(end_s / bin_s));
  c.bin_jobs.assign(num_bins, 0);
  c.bin_gpus.assign(num_bins, 0);
  int64_t num_jobs = 0, num_gpus = 0;
  double now_s = 0;
  for (const Change& change : ListChanges(jobs)) {
    const double until_s = std::min(change.at_s, end_s);
    if (num_jobs > 0 && until_s > now_s) AddToBins(now_s, until_s, num_jobs, num_gpus, &c);
    now_s = until_s;
    if (change.at_s >= end_s) break;
    num_jobs += change.jobs;
    num_gpus += change.gpus;
    c.jobs_max = std::max(c.jobs_max, static_cast<uint64_t>(num_jobs));
    c.gpus_max = std::max(c.gpus_max, static_cast<uint64_t>(num_gpus));
  }
  SumsToMeans(end_s, &c);
  return c;
}

}  // namespace fairlead::trace
