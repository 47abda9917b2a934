#include "experiments/c4d-confusion/c4d_confusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "base/statistics.h"
#include "execution/draw_fault.h"
#include "experiments/c4d_runs.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4d_confusion {

namespace {

using execution::FaultKind;
using execution::kNumFaultKinds;

constexpr uint32_t kRunsPerKind = 500;
constexpr uint32_t kReducedRunsPerKind = 3;
constexpr uint64_t kHealthyIterations = 1'000'000;
constexpr uint64_t kReducedHealthyIterations = 1'000;
// A fault begins when the job is warm and knows itself, and what it may need longest is five windows.
constexpr int64_t kSecond = 1'000'000'000;
constexpr SimTime kFirstFault(60 * kSecond);
constexpr SimDuration kFaultWindow(20 * kSecond);
constexpr SimDuration kPatience(150 * kSecond);

struct FaultRun {
  FaultKind kind = FaultKind::kProcessCrash;
  bool has_acted = false;
  bool must_be_found = false;
  Judgement judgement = Judgement::kRight;
  double seconds_to_confirm = std::numeric_limits<double>::quiet_NaN();
  std::optional<model::Syndrome> found;
  // Of each finding that names something: its confidence, and whether it is right.
  std::vector<std::pair<double, bool>> said;
  std::string story;  // of a run that went wrong
};

std::string_view Name(Judgement judgement) {
  constexpr std::array<std::string_view, kNumJudgements> kNames = {
      "right", "missed", "wrong syndrome", "wrong culprit", "innocent beside", "no culprit named"};
  return kNames[static_cast<size_t>(judgement)];
}

// Details for readers who want to know why.
std::string TellStory(const WatchedJob& job, uint64_t seed, Judgement judgement, const WatchedRun& run) {
  const execution::JobShape& shape = job.shape;
  const execution::Fault& fault = job.faults.front();
  const auto id_of = [](auto id) { return id.valid() ? fmt::format("{}", id.value()) : std::string("-"); };
  std::string story = fmt::format(
      "{} (rank {}, peer {}, host {}, x {:.2f}), {}: T{} x D{} x P{}, {}, {} GPUs a host, {} planes, noise {:.2f}, "
      "seed "
      "{}.",
      Name(fault.kind), id_of(fault.rank), id_of(fault.peer), id_of(fault.host), fault.magnitude, Name(judgement),
      shape.tensor_parallel, shape.data_parallel, shape.pipeline_parallel, Name(shape.algorithm), shape.gpus_per_host,
      shape.planes, job.noise.wire_cv / execution::NoiseOptions().wire_cv, seed);
  for (const model::Finding& finding : run.findings) story += " Found: " + finding.summary;
  return story;
}

// A job in which this kind of fault has a place; draws until there is one.
FaultRun RunFault(FaultKind kind, uint64_t seed) {
  Random random(seed);
  FaultRun result;
  result.kind = kind;
  // Kinds that need a network or checkpoints find a place in most jobs; a fault may fall into a pause and not act.
  for (int attempt = 0; attempt < 20 && !result.has_acted; ++attempt) {
    WatchedJob job = DrawJob(random);
    if (kind == FaultKind::kCheckpointStall) job.shape.checkpoint_every = 10;  // warm when it comes
    const model::JobLayout layout = MakeLayout(job.shape, JobId(0));
    const SimTime begin =
        kFirstFault + SimDuration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(kFaultWindow.ns()))));
    const auto fault = execution::DrawFault(kind, job.shape, layout, begin, random, job.noise);
    if (!fault) continue;
    job.faults = {*fault};
    const WatchedRun run = Watch(job, begin + kPatience);
    if (!run.acted.front()) continue;
    const execution::ExpectedFinding expected = ExpectFinding(*fault, job.shape, layout, job.noise);
    result.has_acted = true;
    result.must_be_found = expected.is_required && !expected.syndromes.empty();
    result.judgement = Judge(expected, run);
    if (result.judgement != Judgement::kRight) result.story = TellStory(job, seed, result.judgement, run);
    for (const model::Finding& finding : run.findings) {
      if (!finding.culprits.empty()) result.said.emplace_back(finding.confidence, IsRight(expected, finding));
    }
    if (run.findings.empty()) continue;
    result.found = run.findings.front().syndrome;
    result.seconds_to_confirm = (run.findings.front().confirmed - *run.acted.front()).seconds().value();
  }
  return result;
}

struct HealthyRun {
  uint64_t iterations = 0;
  uint64_t findings = 0;
};

HealthyRun RunHealthy(uint64_t seed, uint64_t iterations) {
  Random random(seed);
  WatchedJob job = DrawJob(random);
  job.shape.checkpoint_every = 100;
  job.shape.pause_every = 150;
  // Small jobs: what counts here are iterations.
  job.shape.data_parallel = std::min(job.shape.data_parallel, 8u);
  job.shape.iterations = iterations;
  const WatchedRun run = Watch(job, SimTime(static_cast<int64_t>(iterations) * 4 * kSecond));
  return {run.iterations, run.findings.size()};
}

// Of those that are finite.
double Percentile(std::vector<double> values, double share) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : NearestRank(std::move(values), share);
}

struct KindSummary {
  double runs = 0;
  std::array<double, kNumJudgements> judged = {};
  std::vector<double> seconds;

  double share(Judgement judgement) const { return runs > 0 ? judged[static_cast<size_t>(judgement)] / runs : 0; }
  void Add(const FaultRun& run) {
    if (!run.has_acted) return;
    ++runs;
    ++judged[static_cast<size_t>(run.judgement)];
    if (run.must_be_found) seconds.push_back(run.seconds_to_confirm);
  }
  void Add(const KindSummary& other) {
    runs += other.runs;
    for (size_t j = 0; j < kNumJudgements; ++j) judged[j] += other.judged[j];
  }
};

void AddFigures(const std::array<KindSummary, kNumFaultKinds>& kinds, experiment::Outcome* outcome) {
  report::BarFigure shares;
  shares.title = "How runs with one planted fault were judged";
  shares.description = "One group for each kind of fault.";
  shares.y_label = "share of runs";
  shares.y_domain = {0, 1};
  shares.series = {"right", "missed", "wrong syndrome", "wrong culprit", "innocent beside", "no culprit named"};
  report::BarFigure seconds;
  seconds.title = "Time from the fault to the confirmed finding";
  seconds.description = "Median and 95th percentile of each kind of fault.";
  seconds.y_label = "s";
  seconds.series = {"median", "95 %"};
  double longest = 1;
  for (size_t k = 0; k < kNumFaultKinds; ++k) {
    std::string label(Name(static_cast<FaultKind>(k)));
    std::ranges::replace(label, '_', '\n');
    report::BarGroup group{label, {}, {}};
    for (size_t j = 0; j < kNumJudgements; ++j) group.values.push_back(kinds[k].share(static_cast<Judgement>(j)));
    shares.groups.push_back(group);
    seconds.groups.push_back({label, {Percentile(kinds[k].seconds, 0.5), Percentile(kinds[k].seconds, 0.95)}, {}});
    for (const double value : seconds.groups.back().values)
      longest = std::isfinite(value) ? std::max(longest, value) : longest;
  }
  seconds.y_domain = {0, longest};
  outcome->figures.push_back({shares.title, Draw(shares), "The confusion matrix, judged by what was planted."});
  outcome->figures.push_back(
      {seconds.title, Draw(seconds), "From the first moment at which the fault changed anything."});
}

// Confidence said against the share that was right.
void AddReliability(const std::vector<FaultRun>& runs, experiment::Outcome* outcome) {
  constexpr std::array<double, 5> kBounds = {0, 0.5, 0.8, 0.9, 1};
  for (size_t bin = 0; bin + 1 < kBounds.size(); ++bin) {
    const bool is_last = bin + 2 == kBounds.size();
    double count = 0;
    double right = 0;
    for (const FaultRun& run : runs) {
      for (const auto& [confidence, is_right] : run.said) {
        if (confidence < kBounds[bin] || (confidence >= kBounds[bin + 1] && !is_last)) continue;
        ++count;
        right += is_right ? 1 : 0;
      }
    }
    const std::string name = fmt::format("confidence {:.1f} to {:.1f}", kBounds[bin], kBounds[bin + 1]);
    outcome->Set(name + ": findings", count);
    outcome->Set(name + ": right", count > 0 ? right / count : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const uint32_t per_kind = context.reduced ? kReducedRunsPerKind : kRunsPerKind;
  const uint64_t healthy_iterations = context.reduced ? kReducedHealthyIterations : kHealthyIterations;
  constexpr uint64_t kIterationsPerHealthyRun = 500;
  std::vector<FaultRun> runs(size_t{per_kind} * kNumFaultKinds);
  std::vector<HealthyRun> healthy(healthy_iterations / kIterationsPerHealthyRun);
  const size_t num_pieces = runs.size() + healthy.size();
  std::mutex mutex;
  size_t num_done = 0;
  ParallelFor(num_pieces, context.num_threads, *context.stop, [&](size_t i) {
    const uint64_t seed = CombineHash(context.seed, i);
    if (i < runs.size()) {
      runs[i] = RunFault(static_cast<FaultKind>(i % kNumFaultKinds), seed);
    } else {
      healthy[i - runs.size()] = RunHealthy(seed, kIterationsPerHealthyRun);
    }
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(num_pieces));
  });
  experiment::Outcome outcome;
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  std::array<KindSummary, kNumFaultKinds> kinds;
  std::array<std::vector<double>, model::kNumSyndromes> seconds_of;
  for (const FaultRun& run : runs) {
    kinds[static_cast<size_t>(run.kind)].Add(run);
    // What usually takes seconds is suspect after ten times as long: stalls of checkpoints are a matter of their own.
    if (run.found && run.judgement == Judgement::kRight && run.kind != FaultKind::kCheckpointStall) {
      seconds_of[static_cast<size_t>(*run.found)].push_back(run.seconds_to_confirm);
    }
  }
  KindSummary all;
  for (size_t k = 0; k < kNumFaultKinds; ++k) {
    outcome.Set(fmt::format("{}: right", Name(static_cast<FaultKind>(k))), kinds[k].share(Judgement::kRight));
    all.Add(kinds[k]);
  }
  outcome.Set("all: runs", all.runs);
  outcome.Set("all: right", all.share(Judgement::kRight));
  outcome.Set("all: missed", all.share(Judgement::kMissed));
  outcome.Set("all: wrong syndrome", all.share(Judgement::kWrongSyndrome));
  outcome.Set("all: something healthy named",
              all.share(Judgement::kWrongCulprit) + all.share(Judgement::kInnocentBeside));
  outcome.Set("all: no culprit named", all.share(Judgement::kNoneNamed));
  outcome.Set("checkpoint_stall: time to detect, 95 %",
              Percentile(kinds[static_cast<size_t>(FaultKind::kCheckpointStall)].seconds, 0.95));
  for (size_t s = 0; s < model::kNumSyndromes; ++s) {
    outcome.Set(fmt::format("{}: time to detect, median", Name(static_cast<model::Syndrome>(s))),
                Percentile(seconds_of[s], 0.5));
    outcome.Set(fmt::format("{}: time to detect, 95 %", Name(static_cast<model::Syndrome>(s))),
                Percentile(seconds_of[s], 0.95));
  }
  AddReliability(runs, &outcome);
  HealthyRun sum;
  for (const HealthyRun& run : healthy) {
    sum.iterations += run.iterations;
    sum.findings += run.findings;
  }
  outcome.Set("healthy: iterations", static_cast<double>(sum.iterations));
  outcome.Set("healthy: findings", static_cast<double>(sum.findings));
  AddFigures(kinds, &outcome);
  outcome.notes.push_back(
      fmt::format("{} runs for each kind of fault, on jobs of 4 to 1,024 ranks with noise of 0.2 to 2 times the usual, "
                  "clocks up to 50 ms "
                  "off, and in half of the runs up to 2 % of the reports lost, twice or late. Right: the first finding "
                  "has the right "
                  "syndrome and names only the culprit, and no later finding names anything else.",
                  per_kind));
  constexpr size_t kMaxStories = 20;
  size_t num_wrong = 0;
  for (const FaultRun& run : runs) {
    if (!run.story.empty() && ++num_wrong <= kMaxStories) outcome.notes.push_back("Went wrong: " + run.story);
  }
  if (num_wrong > kMaxStories) outcome.notes.push_back(fmt::format("{} more went wrong.", num_wrong - kMaxStories));
  return outcome;
}

}  // namespace fairlead::experiments::c4d_confusion
