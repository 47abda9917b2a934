#include "report/policy_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_format.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr std::string_view kBaselinePolicy = "ecmp";
constexpr double kVisibleGain = 0.0005;
constexpr size_t kNameWidth = 24;  // in sentences

struct RunPair {
  const sim::RunResult* baseline;
  const sim::RunResult* candidate;
};

std::vector<RunPair> PairBySeed(const sim::SimulationReport& report, const std::string& baseline,
                                const std::string& candidate) {
  std::vector<RunPair> pairs;
  for (const sim::RunResult& a : report.runs) {
    if (a.policy != baseline) continue;
    const auto b = std::find_if(report.runs.begin(), report.runs.end(), [&](const sim::RunResult& run) {
      return run.policy == candidate && run.seed == a.seed;
    });
    if (b != report.runs.end()) pairs.push_back({&a, &*b});
  }
  return pairs;
}

// Spread of candidate - baseline over the pairs; the difference of the means where there are none.
template <class Number>
Spread GainOver(const std::vector<RunPair>& pairs, const Spread& baseline, const Spread& candidate, Number number) {
  std::vector<double> gains;
  gains.reserve(pairs.size());
  for (const RunPair& pair : pairs) gains.push_back(number(*pair.candidate) - number(*pair.baseline));
  if (pairs.empty() && baseline.known() && candidate.known()) gains.push_back(candidate.mean - baseline.mean);
  return SpreadOf(gains);
}

double KnownOrNan(double slowdown) { return slowdown > 0 ? slowdown : std::nan(""); }

std::vector<JobChange> CompareJobs(const PolicySummary& baseline, const PolicySummary& candidate) {
  std::vector<JobChange> changes;
  for (const JobSummary& after : candidate.jobs) {
    const JobSummary* before = FindJob(baseline, after.id);
    if (before == nullptr) continue;
    JobChange change;
    change.id = after.id;
    change.name = after.name;
    change.num_gpus = after.num_gpus;
    change.slowdown_before = before->slowdown.mean;
    change.slowdown_after = after.slowdown.mean;
    change.gpu_hours_won_per_day = before->gpu_hours_lost_per_day.mean - after.gpu_hours_lost_per_day.mean;
    change.yielded_s = after.yielded_s;
    change.level = after.level;
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const JobChange& a, const JobChange& b) {
    return a.gpu_hours_won_per_day > b.gpu_hours_won_per_day;
  });
  return changes;
}

std::string ShortName(std::string_view name) { return TruncateToWidth(CleanText(name), kNameWidth); }

// `job 4 "gpt-175b" (64 GPUs, 2.10x -> 1.05x)`.
std::string Describe(const JobChange& job) {
  return fmt::format("job {} \"{}\" ({}, {} -> {})", job.id.value(), ShortName(job.name),
                     FormatCount(job.num_gpus, "GPU"), FormatSlowdown(job.slowdown_before),
                     FormatSlowdown(job.slowdown_after));
}

std::string ExplainUtilization(const PolicyComparison& c) {
  const std::string candidate = ShortName(c.candidate.policy);
  if (!c.busy_gain.known()) return fmt::format("The GPU utilization of {} is unknown.", candidate);
  const std::optional<double> relative = RelativeChange(c.busy_gain, c.baseline.busy);
  std::string text =
      fmt::format("GPUs compute {} of the time they are held, under {} {}: {}", FormatPercent(c.candidate.busy.mean),
                  ShortName(c.baseline.policy), FormatPercent(c.baseline.busy.mean), FormatPoints(c.busy_gain.mean));
  if (relative) text += fmt::format(" ({} relative)", FormatChange(*relative));
  if (c.num_pairs > 1) {
    text += fmt::format("; over {} from {} to {}", FormatCount(c.num_pairs, "seed"), FormatPoints(c.busy_gain.min),
                        FormatPoints(c.busy_gain.max));
  }
  if (c.num_pairs == 0) text += "; no seed was run under both, so luck of the seed is not taken out";
  if (!c.IsAhead() && !c.IsBehind()) text += "; too little to tell them apart";
  return text + ".";
}

std::string ExplainCollisions(const PolicyComparison& c) {
  const double before = c.baseline.colliding_links.mean;
  const double after = c.candidate.colliding_links.mean;
  const std::string_view verdict = after < before   ? "fewer flows collide"
                                   : after > before ? "more flows collide"
                                                    : "paths collide as often as before";
  return fmt::format("Links between switches that are asked for more than they carry, at the end: {}, before {}; {}.",
                     FormatShort(after), FormatShort(before), verdict);
}

std::string ExplainSlowdown(const PolicyComparison& c) {
  return fmt::format(
      "An iteration takes on average {} its time alone, before {}; the slowest in a hundred {}, before {}.",
      FormatSlowdown(c.candidate.mean_slowdown.mean), FormatSlowdown(c.baseline.mean_slowdown.mean),
      FormatSlowdown(c.candidate.p99_slowdown.mean), FormatSlowdown(c.baseline.p99_slowdown.mean));
}

std::string ExplainWinners(const PolicyComparison& c) {
  const auto num_if = [&c](auto predicate) {
    return static_cast<uint64_t>(std::count_if(c.jobs.begin(), c.jobs.end(), predicate));
  };
  const uint64_t faster = num_if([](const JobChange& job) { return job.faster(); });
  const uint64_t slower = num_if([](const JobChange& job) { return job.slower(); });
  std::string text = fmt::format("Jobs faster by more than 1 %: {}, slower: {}, of {}.", FormatCount(faster),
                                 FormatCount(slower), FormatCount(c.jobs.size()));
  if (!c.jobs.empty() && c.jobs.front().gpu_hours_won_per_day > 0 && c.jobs.front().comparable()) {
    text += fmt::format(" Most was won by {}: {} GPU-hours per day.", Describe(c.jobs.front()),
                        FormatShort(c.jobs.front().gpu_hours_won_per_day));
  }
  return text;
}

// Who paid: jobs that waited on a lower level, and the dearest loss among all jobs.
std::string ExplainYielders(const PolicyComparison& c) {
  uint64_t num_yielded = 0;
  double yielded_s = 0;
  double cost = 0;
  const JobChange* dearest = nullptr;
  for (const JobChange& job : c.jobs) {
    if (job.yielded_s <= 0) continue;
    ++num_yielded;
    yielded_s += job.yielded_s;
    if (!job.slower()) continue;
    cost += std::max(0.0, -job.gpu_hours_won_per_day);
    if (dearest == nullptr || job.gpu_hours_won_per_day < dearest->gpu_hours_won_per_day) dearest = &job;
  }
  if (num_yielded == 0) return "No job had to wait for a more important one.";
  std::string text = fmt::format("{} yielded to more important ones and waited {} in all per run",
                                 FormatCount(num_yielded, "job"), FormatDuration(yielded_s));
  const std::string baseline = ShortName(c.baseline.policy);
  if (dearest == nullptr) return text + fmt::format("; none of them is slower than under {}.", baseline);
  return text + fmt::format("; those that are slower than under {} lose {} GPU-hours per day, most of all {}.",
                            baseline, FormatShort(cost), Describe(*dearest));
}

std::string ExplainGpuHours(const PolicyComparison& c) {
  const double won = c.gpu_hours_won_per_day.mean;
  const double lost_before = c.baseline.gpu_hours_lost_per_day.mean;
  std::string text = won >= 0 ? fmt::format("In all {} GPU-hours per day are won back", FormatShort(won))
                              : fmt::format("In all {} GPU-hours per day more are lost", FormatShort(-won));
  if (lost_before > 0) {
    text += fmt::format(", {} of the {} that contention costs under {}", FormatPercent(std::abs(won) / lost_before),
                        FormatShort(lost_before), ShortName(c.baseline.policy));
  }
  return text + ".";
}

}  // namespace

bool PolicyComparison::IsAhead() const {
  return busy_gain.known() && busy_gain.mean >= std::max(kVisibleGain, busy_gain.deviation);
}

bool PolicyComparison::IsBehind() const {
  return busy_gain.known() && -busy_gain.mean >= std::max(kVisibleGain, busy_gain.deviation);
}

PolicyComparison Compare(const sim::SimulationReport& report, const PolicySummary& baseline,
                         const PolicySummary& candidate) {
  using sim::RunResult;
  const std::vector<RunPair> pairs = PairBySeed(report, baseline.policy, candidate.policy);
  const auto gain = [&](Spread PolicySummary::*field, auto number) {
    return GainOver(pairs, baseline.*field, candidate.*field, number);
  };
  PolicyComparison c;
  c.baseline = baseline;
  c.candidate = candidate;
  c.num_pairs = pairs.size();
  c.busy_gain = gain(&PolicySummary::busy, [](const RunResult& r) { return r.busy; });
  c.flop_weighted_gain = gain(&PolicySummary::flop_weighted, [](const RunResult& r) { return r.flop_weighted; });
  c.vs_ideal_gain = gain(&PolicySummary::vs_ideal, [](const RunResult& r) { return r.vs_ideal; });
  c.mean_slowdown_gain =
      gain(&PolicySummary::mean_slowdown, [](const RunResult& r) { return KnownOrNan(r.mean_slowdown); });
  c.p99_slowdown_gain =
      gain(&PolicySummary::p99_slowdown, [](const RunResult& r) { return KnownOrNan(r.p99_slowdown); });
  c.colliding_links_gain =
      gain(&PolicySummary::colliding_links, [](const RunResult& r) { return static_cast<double>(r.colliding_links); });
  const Spread more_lost = gain(&PolicySummary::gpu_hours_lost_per_day,
                                [](const RunResult& r) { return PerDay(r.gpu_hours_lost, r.simulated_s); });
  c.gpu_hours_won_per_day = {-more_lost.mean, -more_lost.max, -more_lost.min, more_lost.deviation, more_lost.count};
  c.jobs = CompareJobs(baseline, candidate);
  return c;
}

std::vector<PolicyComparison> CompareWithBaseline(const sim::SimulationReport& report,
                                                  const std::vector<PolicySummary>& summaries) {
  std::vector<PolicyComparison> comparisons;
  if (summaries.empty()) return comparisons;
  auto baseline = std::find_if(summaries.begin(), summaries.end(),
                               [](const PolicySummary& summary) { return summary.policy == kBaselinePolicy; });
  if (baseline == summaries.end()) baseline = summaries.begin();
  for (auto candidate = summaries.begin(); candidate != summaries.end(); ++candidate) {
    if (candidate != baseline) comparisons.push_back(Compare(report, *baseline, *candidate));
  }
  return comparisons;
}

std::optional<double> RelativeChange(const Spread& gain, const Spread& baseline) {
  if (!gain.known() || !baseline.known() || baseline.mean == 0) return std::nullopt;
  return gain.mean / std::abs(baseline.mean);
}

std::string Headline(const PolicyComparison& comparison) {
  const std::string candidate = ShortName(comparison.candidate.policy);
  const std::string baseline = ShortName(comparison.baseline.policy);
  if (comparison.IsAhead()) return fmt::format("Why {} is ahead of {}", candidate, baseline);
  if (comparison.IsBehind()) return fmt::format("Why {} is behind {}", candidate, baseline);
  return fmt::format("{} and {}: no clear difference", candidate, baseline);
}

std::vector<std::string> ExplainDifference(const PolicyComparison& comparison) {
  if (comparison.jobs.empty()) return {"There is no job that both ran."};
  std::vector<std::string> sentences = {ExplainUtilization(comparison)};
  sentences.push_back(ExplainCollisions(comparison));
  if (comparison.candidate.mean_slowdown.known() && comparison.baseline.mean_slowdown.known()) {
    sentences.push_back(ExplainSlowdown(comparison));
  }
  sentences.push_back(ExplainWinners(comparison));
  sentences.push_back(ExplainYielders(comparison));
  sentences.push_back(ExplainGpuHours(comparison));
  return sentences;
}

}  // namespace fairlead::report
