#include "report/policy_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr std::string_view kBaselinePolicy = "ecmp";
constexpr size_t kNameWidth = 24;  // in sentences
constexpr size_t kNumDrawsNamed = 3;

struct RunPair {
  const sim::RunResult* baseline;
  const sim::RunResult* candidate;
};

// The draws that both policies ran.
struct Pairs {
  std::vector<RunPair> whole;    // of equal simulated time: every goal is compared
  std::vector<RunPair> in_part;  // of unequal times: busy alone is compared, over the bins that both reached
};

std::string ShortName(std::string_view name) { return ShownName(name, kNameWidth); }

const sim::RunResult* FindRun(const sim::SimulationReport& report, const std::string& policy, uint32_t draw) {
  const auto found = std::find_if(report.runs.begin(), report.runs.end(),
                                  [&](const sim::RunResult& run) { return run.policy == policy && run.draw == draw; });
  return found == report.runs.end() ? nullptr : &*found;
}

// Times are sums of whole nanoseconds; less than this is the rounding of a division.
bool AreOfEqualTime(const sim::RunResult& a, const sim::RunResult& b) {
  return std::abs(a.simulated_s - b.simulated_s) <= 1e-9 * std::max(a.simulated_s, b.simulated_s);
}

// "draws 1, 2, 3 and 4 more".
std::string NameDraws(const std::vector<uint32_t>& draws) {
  const size_t num_named = std::min(draws.size(), kNumDrawsNamed);
  std::string text = fmt::format("draw{} {}", draws.size() == 1 ? "" : "s",
                                 fmt::join(draws.begin(), draws.begin() + static_cast<ptrdiff_t>(num_named), ", "));
  if (draws.size() > num_named) text += fmt::format(" and {} more", draws.size() - num_named);
  return text;
}

// Bins of the timeline that both runs reached to their end.
size_t NumCommonBins(const RunPair& pair) {
  const sim::Timeline& timeline = pair.baseline->timeline;
  if (!(timeline.bin_s > 0) || timeline.bin_s != pair.candidate->timeline.bin_s) return 0;
  const double common_s = std::min(pair.baseline->simulated_s, pair.candidate->simulated_s);
  const auto num_whole = static_cast<size_t>(common_s / timeline.bin_s);
  return std::min({num_whole, timeline.gpu_busy.size(), pair.candidate->timeline.gpu_busy.size()});
}

// Results that may not be compared, or not in full, are listed in comparison.left_out.
Pairs FindPairs(const sim::SimulationReport& report, PolicyComparison* comparison) {
  Pairs pairs;
  std::vector<uint32_t> alone, in_part, unequal;
  for (const sim::RunResult& run : report.runs) {
    const bool is_baseline = run.policy == comparison->baseline;
    if (!is_baseline && run.policy != comparison->candidate) continue;
    const sim::RunResult* other = FindRun(report, is_baseline ? comparison->candidate : comparison->baseline, run.draw);
    if (other == nullptr) {
      alone.push_back(run.draw);
      continue;
    }
    if (!is_baseline) continue;
    const RunPair pair = {&run, other};
    if (AreOfEqualTime(run, *other)) {
      pairs.whole.push_back(pair);
    } else if (NumCommonBins(pair) > 0) {
      pairs.in_part.push_back(pair);
      in_part.push_back(run.draw);
    } else {
      unequal.push_back(run.draw);
    }
  }
  if (!in_part.empty()) {
    const RunPair& example = pairs.in_part.front();
    comparison->left_out.push_back(fmt::format(
        "Of {} only how busy GPUs were is compared, over the time that both runs reached ({}): {} ended after {}, {} "
        "after {}.",
        NameDraws(in_part),
        FormatDuration(static_cast<double>(NumCommonBins(example)) * example.baseline->timeline.bin_s),
        ShortName(comparison->baseline), FormatDuration(example.baseline->simulated_s),
        ShortName(comparison->candidate), FormatDuration(example.candidate->simulated_s)));
  }
  if (!unequal.empty()) {
    comparison->left_out.push_back(
        fmt::format("Left out: {}, one run of which ended before there was anything to compare.", NameDraws(unequal)));
  }
  if (!alone.empty()) {
    comparison->left_out.push_back(fmt::format("Left out: {}, run under one of the two only.", NameDraws(alone)));
  }
  return pairs;
}

// Over the first bins of a run, GPU-seconds computed of those held.
double BusyOver(const sim::Timeline& timeline, size_t num_bins) {
  double held = 0, busy = 0;
  for (size_t b = 0; b < num_bins; ++b) {
    held += timeline.held_gpu_s[b];
    busy += timeline.held_gpu_s[b] * timeline.gpu_busy[b];
  }
  return held > 0 ? busy / held : 0;
}

double KnownOrNan(double slowdown) { return slowdown > 0 ? slowdown : std::nan(""); }

double ValueOf(Goal goal, const sim::RunResult& run) {
  switch (goal) {
    case Goal::kBusy:
      return run.busy;
    case Goal::kFlopWeighted:
      return run.flop_weighted;
    case Goal::kMeanSlowdown:
      return KnownOrNan(run.mean_slowdown);
    case Goal::kWorstSlowdown:
      return KnownOrNan(run.worst_slowdown);
    case Goal::kStalledJobs:
      return run.num_stalled + run.num_cut_off;
    case Goal::kGpuHoursLost:
      return run.gpu_hours_lost;
  }
  FL_CHECK(false);
  return 0;
}

bool IsSlowdown(Goal goal) { return goal == Goal::kMeanSlowdown || goal == Goal::kWorstSlowdown; }
bool IsShare(Goal goal) { return goal == Goal::kBusy || goal == Goal::kFlopWeighted; }

// Spread of number(candidate) - number(baseline).
template <class Number>
Spread GainOver(const std::vector<RunPair>& pairs, Number number) {
  std::vector<double> gains;
  gains.reserve(pairs.size());
  for (const RunPair& pair : pairs) gains.push_back(number(*pair.candidate) - number(*pair.baseline));
  return SpreadOf(gains);
}

Verdict Judge(const GoalChange& change, size_t num_pairs) {
  if (change.difference.count != num_pairs || num_pairs == 0) return Verdict::kNotCompared;
  // A number that is only a lower bound may be any amount greater.
  const double mean = change.difference.mean;
  if (change.before_is_bound && !(mean < 0)) return Verdict::kNotCompared;
  if (change.after_is_bound && !(mean > 0)) return Verdict::kNotCompared;
  if (num_pairs == 1) return Verdict::kOneDraw;
  const bool leaves_out_zero = change.difference.low() > 0 || change.difference.high() < 0;
  if (!leaves_out_zero || std::abs(mean) < VisibleDifference(change.goal, change.before.mean)) {
    return Verdict::kNoDifference;
  }
  return (mean > 0) == IsShare(change.goal) ? Verdict::kBetter : Verdict::kWorse;
}

GoalChange CompareGoal(Goal goal, const Pairs& pairs) {
  GoalChange change;
  change.goal = goal;
  std::vector<double> before, after, differences;
  const auto add = [&](double of_baseline, double of_candidate) {
    before.push_back(of_baseline);
    after.push_back(of_candidate);
    differences.push_back(of_candidate - of_baseline);
  };
  for (const RunPair& pair : pairs.whole) {
    add(ValueOf(goal, *pair.baseline), ValueOf(goal, *pair.candidate));
    if (!IsSlowdown(goal)) continue;
    change.before_is_bound = change.before_is_bound || pair.baseline->slowdowns_are_bounds;
    change.after_is_bound = change.after_is_bound || pair.candidate->slowdowns_are_bounds;
  }
  if (goal == Goal::kBusy) {
    for (const RunPair& pair : pairs.in_part) {
      const size_t num_bins = NumCommonBins(pair);
      add(BusyOver(pair.baseline->timeline, num_bins), BusyOver(pair.candidate->timeline, num_bins));
    }
  }
  change.before = SpreadOf(before);
  change.after = SpreadOf(after);
  change.difference = SpreadOf(differences);
  change.verdict = Judge(change, differences.size());
  return change;
}

std::vector<JobChange> CompareJobs(const std::vector<RunPair>& pairs) {
  std::vector<const sim::RunResult*> baseline, candidate;
  for (const RunPair& pair : pairs) {
    baseline.push_back(pair.baseline);
    candidate.push_back(pair.candidate);
  }
  PolicySummary before_all;
  before_all.jobs = SummarizeJobs(baseline);
  std::vector<JobChange> changes;
  for (const JobSummary& after : SummarizeJobs(candidate)) {
    const JobSummary* before = FindJob(before_all, after.id);
    if (before == nullptr) continue;
    JobChange change;
    change.id = after.id;
    change.name = after.name;
    change.num_gpus = after.num_gpus;
    change.slowdown_before = before->slowdown.mean;
    change.slowdown_after = after.slowdown.mean;
    change.before_is_bound = before->slowdown_is_bound;
    change.after_is_bound = after.slowdown_is_bound;
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

// `job 4 "gpt-175b" (64 GPUs, 2.10x -> 1.05x)`.
std::string Describe(const JobChange& job) {
  return fmt::format("job {} \"{}\" ({}, {} -> {})", job.id.value(), ShortName(job.name),
                     FormatCount(job.num_gpus, "GPU"), FormatSlowdown(job.slowdown_before, job.before_is_bound),
                     FormatSlowdown(job.slowdown_after, job.after_is_bound));
}

std::string ExplainCollisions(const PolicyComparison& c) {
  const double before = c.colliding_links_before;
  const double after = c.colliding_links_after;
  const std::string_view verdict = after < before   ? "fewer flows collide"
                                   : after > before ? "more flows collide"
                                                    : "flows collide on as many as before";
  return fmt::format("Links between switches on which jobs lost time: {}, before {}; {}.", FormatShort(after),
                     FormatShort(before), verdict);
}

std::string ExplainWinners(const PolicyComparison& c) {
  const auto num_if = [&c](auto predicate) {
    return static_cast<uint64_t>(std::count_if(c.jobs.begin(), c.jobs.end(), predicate));
  };
  const uint64_t faster = num_if([](const JobChange& job) { return job.faster(); });
  const uint64_t slower = num_if([](const JobChange& job) { return job.slower(); });
  std::string text = fmt::format("Jobs faster by more than 1 %: {}, slower: {}, of {}.", FormatCount(faster),
                                 FormatCount(slower), FormatCount(c.jobs.size()));
  if (c.jobs.front().gpu_hours_won_per_day > 0 && c.jobs.front().comparable()) {
    text += fmt::format(" Most was won by {}: {} GPU-hours per day.", Describe(c.jobs.front()),
                        FormatShort(c.jobs.front().gpu_hours_won_per_day));
  }
  if (c.jobs.back().gpu_hours_won_per_day < 0 && c.jobs.back().comparable()) {
    text += fmt::format(" Most was lost by {}: {} GPU-hours per day.", Describe(c.jobs.back()),
                        FormatShort(-c.jobs.back().gpu_hours_won_per_day));
  }
  return text;
}

// Who paid: jobs that lost time to more important ones, and the dearest loss among them.
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
  std::string text = fmt::format("{} yielded to more important ones and lost {} in all per run",
                                 FormatCount(num_yielded, "job"), FormatDuration(yielded_s));
  const std::string baseline = ShortName(c.baseline);
  if (dearest == nullptr) return text + fmt::format("; none of them is slower than under {}.", baseline);
  return text + fmt::format("; those that are slower than under {} lose {} GPU-hours per day, most of all {}.",
                            baseline, FormatShort(cost), Describe(*dearest));
}

// "+4.0 points busy (+3.1 to +4.9)", "worst job 1.80x slower", "2 more stalled jobs".
std::string DescribeChange(const GoalChange& change) {
  const double mean = change.difference.mean;
  const std::string interval =
      change.difference.has_interval() ? fmt::format(" ({})", FormatGoalInterval(change.goal, change.difference)) : "";
  switch (change.goal) {
    case Goal::kWorstSlowdown: {
      const double ratio = mean > 0 ? change.after.mean / change.before.mean : change.before.mean / change.after.mean;
      if (!(ratio > 1)) return "worst job as slow";
      return fmt::format("worst job {} {}",
                         FormatSlowdown(ratio, mean > 0 ? change.after_is_bound : change.before_is_bound),
                         mean > 0 ? "slower" : "faster");
    }
    case Goal::kStalledJobs:
      if (mean == 0) return "as many jobs are stalled";
      return fmt::format("{} {} still{}", FormatShort(std::abs(mean)),
                         mean == -1  ? "fewer job is stalled"
                         : mean < 0  ? "fewer jobs are stalled"
                         : mean == 1 ? "more job is stalled"
                                     : "more jobs are stalled",
                         interval);
    default: {
      const std::string_view label = GoalLabel(change.goal);
      return fmt::format("{} {}{}", FormatGoalDifference(change.goal, mean), label, interval);
    }
  }
}

// Zero stalled jobs on both sides are not mentioned.
bool IsWorthTelling(const GoalChange& change) {
  return change.goal != Goal::kStalledJobs || change.before.max > 0 || change.after.max > 0;
}

}  // namespace

std::string_view GoalName(Goal goal) {
  switch (goal) {
    case Goal::kBusy:
      return "busy";
    case Goal::kFlopWeighted:
      return "flop_weighted";
    case Goal::kMeanSlowdown:
      return "mean_slowdown";
    case Goal::kWorstSlowdown:
      return "worst_slowdown";
    case Goal::kStalledJobs:
      return "stalled_jobs";
    case Goal::kGpuHoursLost:
      return "gpu_hours_lost";
  }
  FL_CHECK(false);
  return "";
}

std::string_view GoalLabel(Goal goal) {
  switch (goal) {
    case Goal::kBusy:
      return "busy";
    case Goal::kFlopWeighted:
      return "FLOP-weighted";
    case Goal::kMeanSlowdown:
      return "mean slowdown";
    case Goal::kWorstSlowdown:
      return "worst slowdown";
    case Goal::kStalledJobs:
      return "stalled jobs";
    case Goal::kGpuHoursLost:
      return "GPU-hours lost";
  }
  FL_CHECK(false);
  return "";
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNoDifference:
      return "no difference";
    case Verdict::kOneDraw:
      return "one draw";
    case Verdict::kNotCompared:
      return "not compared";
  }
  FL_CHECK(false);
  return "";
}

double VisibleDifference(Goal goal, double before) {
  if (IsShare(goal)) return 0.001;
  return goal == Goal::kStalledJobs ? 0 : 0.01 * before;
}

std::string FormatGoal(Goal goal, double value, bool is_bound) {
  if (IsShare(goal)) return FormatPercent(value);
  return IsSlowdown(goal) ? FormatSlowdown(value, is_bound) : FormatShort(value);
}

std::string FormatGoalDifference(Goal goal, double difference) {
  if (IsShare(goal)) return FormatPoints(difference);
  if (IsSlowdown(goal)) return FormatSigned(difference, 2);
  if (!std::isfinite(difference)) return std::string(kUnknown);
  const std::string text = FormatShort(difference);
  return difference > 0 && text != "0" ? "+" + text : text;
}

std::string FormatGoalInterval(Goal goal, const Spread& difference) {
  const auto end = [goal](double value) {
    return IsShare(goal) ? FormatSigned(100 * value, 1) : FormatGoalDifference(goal, value);
  };
  return fmt::format("{} to {}", end(difference.low()), end(difference.high()));
}

PolicyComparison Compare(const sim::SimulationReport& report, const std::string& baseline,
                         const std::string& candidate) {
  using sim::RunResult;
  PolicyComparison c;
  c.baseline = baseline;
  c.candidate = candidate;
  const Pairs all = FindPairs(report, &c);
  for (const Goal goal : kGoals) c.goals.push_back(CompareGoal(goal, all));
  const std::vector<RunPair>& pairs = all.whole;
  c.num_pairs = pairs.size();
  c.num_pairs_in_part = all.in_part.size();
  c.vs_ideal_gain = GainOver(pairs, [](const RunResult& r) { return r.vs_ideal; });
  c.colliding_links_gain = GainOver(pairs, [](const RunResult& r) { return static_cast<double>(r.colliding_links); });
  for (const RunPair& pair : pairs) {
    const auto count = static_cast<double>(pairs.size());
    c.colliding_links_before += static_cast<double>(pair.baseline->colliding_links) / count;
    c.colliding_links_after += static_cast<double>(pair.candidate->colliding_links) / count;
  }
  c.gpu_hours_won_per_day =
      GainOver(pairs, [](const RunResult& r) { return -PerDay(r.gpu_hours_lost, r.simulated_s); });
  if (!pairs.empty()) c.jobs = CompareJobs(pairs);
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
    if (candidate != baseline) comparisons.push_back(Compare(report, baseline->policy, candidate->policy));
  }
  return comparisons;
}

std::optional<double> RelativeChange(const Spread& gain, const Spread& baseline) {
  if (!gain.known() || !baseline.known() || baseline.mean == 0) return std::nullopt;
  return gain.mean / std::abs(baseline.mean);
}

std::string SummarizeTrade(const PolicyComparison& c) {
  std::string text = fmt::format("{} against {}", ShortName(c.candidate), ShortName(c.baseline));
  const size_t num_draws = c.num_pairs + c.num_pairs_in_part;
  if (num_draws == 0) return text + ": not compared, they have no draw in common";
  if (num_draws == 1) text += ", one draw (nothing is known about chance)";
  std::vector<std::string> changed;
  std::vector<std::string> equal;
  std::vector<std::string> unknown;
  for (const GoalChange& change : c.goals) {
    if (!IsWorthTelling(change)) continue;
    const std::string label(GoalLabel(change.goal));
    if (change.verdict == Verdict::kNoDifference)
      equal.push_back(label);
    else if (change.verdict == Verdict::kNotCompared)
      unknown.push_back(label);
    else
      changed.push_back(DescribeChange(change));
  }
  std::string_view separator = ": ";
  for (const auto& [parts, verdict] :
       {std::pair{&changed, ""}, {&equal, ": no difference"}, {&unknown, ": not compared"}}) {
    if (parts->empty()) continue;
    text += fmt::format("{}{}{}", separator, fmt::join(*parts, ", "), verdict);
    separator = "; ";
  }
  return text;
}

std::vector<std::string> ExplainDifference(const PolicyComparison& comparison) {
  std::vector<std::string> sentences = comparison.left_out;
  if (comparison.num_pairs == 0) return sentences;
  if (comparison.jobs.empty()) {
    sentences.emplace_back("There is no job that both ran.");
    return sentences;
  }
  sentences.push_back(ExplainWinners(comparison));
  sentences.push_back(ExplainYielders(comparison));
  sentences.push_back(ExplainCollisions(comparison));
  return sentences;
}

}  // namespace fairlead::report
