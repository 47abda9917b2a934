#include "experiments/c4d-downtime/c4d_downtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "execution/draw_fault.h"
#include "experiments/c4d-downtime/job_month.h"
#include "experiments/c4d_runs.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4d_downtime {

namespace {

using execution::FaultKind;

constexpr uint32_t kNumMonths = 2000;
constexpr uint32_t kRunsPerCause = 200;
constexpr uint32_t kReducedRunsPerCause = 8;
constexpr int64_t kSecond = 1'000'000'000;

// Spec section 8: a month of 30 days, of June's shares and factors.
constexpr double kMonth = 30 * 86400.0;
// 26.7 / 3.2 + 39.3 / 3.4 = 19.9 faults in December, 66 = 3.33 times as many in June.
constexpr std::array<double, kNumCauses> kJuneFaults = {26.7, 39.3};
constexpr std::array<double, kNumCauses> kFewerFaults = {3.2, 3.4};
// Diagnosis and isolation of a cause: its share of the month; what became of it by December.
constexpr std::array<double, kNumCauses> kJuneIsolation = {0.1253, 0.0712};
constexpr std::array<double, kNumCauses> kLessIsolation = {41.8, 16.5};
constexpr double kJuneCheckpoint = 2 * 2950.0;
constexpr double kJuneDetection = 22 * 60.0;
constexpr double kJuneInitialization = 235;
constexpr double kDecemberCheckpoint = 600;
constexpr double kDecemberDetection = 65;
constexpr double kDecemberInitialization = 195;
// "A few minutes" for the steering service, where C4D has named the host.
constexpr double kSteering = 300;

// The faults behind the causes of the table. The mix inside a cause is not published: equal shares.
constexpr FaultKind kGpuFaults[] = {FaultKind::kGpuMemoryError, FaultKind::kNvlinkError, FaultKind::kCudaError,
                                    FaultKind::kGpuHang};
constexpr FaultKind kOtherFaults[] = {FaultKind::kProcessCrash, FaultKind::kProcessFrozen, FaultKind::kHostLost,
                                      FaultKind::kConnectionDown, FaultKind::kNicDown};

// One fault of the cause in a job like that of the table, as far as its ranks matter for who waits for whom: eight GPUs
// of a host are a tensor group, 4 stages, 4 replicas.
struct MeasuredFault {
  double detection_s = std::numeric_limits<double>::quiet_NaN();
  bool is_right = false;
};

MeasuredFault Measure(Cause cause, uint64_t seed) {
  Random random(seed);
  WatchedJob job;
  job.shape.tensor_parallel = 8;
  job.shape.pipeline_parallel = 4;
  job.shape.data_parallel = 4;
  job.seed = random();
  const model::JobLayout layout = MakeLayout(job.shape, JobId(0));
  for (int attempt = 0; attempt < 20; ++attempt) {
    const FaultKind kind = cause == Cause::kGpu ? kGpuFaults[random.Below(std::size(kGpuFaults))]
                                                : kOtherFaults[random.Below(std::size(kOtherFaults))];
    const SimTime begin(60 * kSecond + static_cast<int64_t>(random.Below(10 * kSecond)));
    const auto fault = execution::DrawFault(kind, job.shape, layout, begin, random);
    if (!fault) continue;
    job.faults = {*fault};
    const WatchedRun run = Watch(job, begin + SimDuration(120 * kSecond));
    if (!run.acted.front() || run.findings.empty()) continue;
    return {(run.findings.front().confirmed - *run.acted.front()).seconds().value(),
            Judge(ExpectFinding(*fault, job.shape, layout), run) == Judgement::kRight};
  }
  return {};
}

using Measurements = std::array<std::vector<MeasuredFault>, kNumCauses>;

std::optional<Measurements> MeasureAll(const experiment::RunContext& context) {
  const uint32_t per_cause = context.reduced ? kReducedRunsPerCause : kRunsPerCause;
  Measurements measured;
  for (auto& of_cause : measured) of_cause.resize(per_cause);
  std::mutex mutex;
  size_t num_done = 0;
  ParallelFor(size_t{per_cause} * kNumCauses, context.num_threads, *context.stop, [&](size_t i) {
    const size_t cause = i % kNumCauses;
    measured[cause][i / kNumCauses] = Measure(static_cast<Cause>(cause), CombineHash(context.seed, i));
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(per_cause * kNumCauses));
  });
  if (context.should_stop()) return std::nullopt;
  return measured;
}

// `faults` [cause] are those that came in a month of the calendar; the job ran in what they left of it.
std::array<double, kNumCauses> PerRunningMonth(const std::array<double, kNumCauses>& faults,
                                               const std::array<double, kNumCauses>& isolation_s, double detection_s,
                                               double initialization_s) {
  double down_s = 0;
  for (size_t c = 0; c < kNumCauses; ++c) down_s += faults[c] * (detection_s + isolation_s[c] + initialization_s);
  std::array<double, kNumCauses> rates = faults;
  for (double& rate : rates) rate /= 1 - down_s / kMonth;
  return rates;
}

double JuneIsolation(size_t cause) { return kJuneIsolation[cause] * kMonth / kJuneFaults[cause]; }

MonthSetting June() {
  MonthSetting setting;
  setting.faults_per_month =
      PerRunningMonth(kJuneFaults, {JuneIsolation(0), JuneIsolation(1)}, kJuneDetection, kJuneInitialization);
  setting.checkpoint_interval_s = kJuneCheckpoint;
  setting.initialization_s = kJuneInitialization;
  setting.times = [](Cause cause, Random&) {
    return FaultTimes{kJuneDetection, JuneIsolation(static_cast<size_t>(cause))};
  };
  return setting;
}

double DecemberIsolation(Cause cause) {
  const auto c = static_cast<size_t>(cause);
  return kJuneIsolation[c] / kLessIsolation[c] * kMonth / (kJuneFaults[c] / kFewerFaults[c]);
}

MonthSetting December() {
  MonthSetting setting;
  std::array<double, kNumCauses> faults;
  for (size_t c = 0; c < kNumCauses; ++c) faults[c] = kJuneFaults[c] / kFewerFaults[c];
  setting.faults_per_month = PerRunningMonth(faults, {DecemberIsolation(Cause::kGpu), DecemberIsolation(Cause::kOther)},
                                             kDecemberDetection, kDecemberInitialization);
  setting.checkpoint_interval_s = kDecemberCheckpoint;
  setting.initialization_s = kDecemberInitialization;
  setting.times = [](Cause cause, Random&) { return FaultTimes{kDecemberDetection, DecemberIsolation(cause)}; };
  return setting;
}

const MeasuredFault& Draw(const Measurements& measured, Cause cause, Random& random) {
  const auto& of_cause = measured[static_cast<size_t>(cause)];
  return of_cause[random.Below(of_cause.size())];
}

// December with the times that our master needs.
MonthSetting WithMeasuredDetection(const Measurements& measured) {
  MonthSetting setting = December();
  setting.times = [&measured](Cause cause, Random& random) {
    return FaultTimes{Draw(measured, cause, random).detection_s, DecemberIsolation(cause)};
  };
  return setting;
}

// The host that was named is replaced at once; people look for it where it was not.
MonthSetting WithMeasuredIsolation(const Measurements& measured) {
  MonthSetting setting = December();
  setting.times = [&measured](Cause cause, Random& random) {
    const MeasuredFault& fault = Draw(measured, cause, random);
    return FaultTimes{fault.detection_s, fault.is_right ? kSteering : JuneIsolation(static_cast<size_t>(cause))};
  };
  return setting;
}

MonthLoss MeanLoss(const MonthSetting& setting, uint64_t seed) {
  MonthLoss mean;
  for (uint32_t m = 0; m < kNumMonths; ++m) {
    Random random(CombineHash(seed, m));
    const MonthLoss month = SimulateMonth(setting, random);
    mean.lost_work += month.lost_work / kNumMonths;
    mean.detection += month.detection / kNumMonths;
    for (size_t c = 0; c < kNumCauses; ++c) mean.isolation[c] += month.isolation[c] / kNumMonths;
    mean.initialization += month.initialization / kNumMonths;
    mean.useful += month.useful / kNumMonths;
    mean.num_faults += month.num_faults;
  }
  return mean;
}

void SetRows(const std::string& column, const MonthLoss& loss, experiment::Outcome* outcome) {
  outcome->Set(column + ": work lost since the checkpoint", 100 * loss.lost_work);
  outcome->Set(column + ": detection", 100 * loss.detection);
  outcome->Set(column + ": diagnosis and isolation", 100 * loss.isolation_sum());
  outcome->Set(column + ": of GPU faults", 100 * loss.isolation[0]);
  outcome->Set(column + ": of other faults", 100 * loss.isolation[1]);
  outcome->Set(column + ": initialization", 100 * loss.initialization);
  outcome->Set(column + ": total", 100 * loss.total());
}

void AddFigure(const std::vector<std::pair<std::string, MonthLoss>>& columns, experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = "Share of the month that is lost";
  figure.description = "One group for each setting: components and total.";
  figure.y_label = "%";
  figure.y_domain = {0, 35};
  figure.series = {"lost work", "detection", "diagnosis and isolation", "initialization", "total"};
  for (const auto& [label, loss] : columns) {
    figure.groups.push_back({label,
                             {100 * loss.lost_work, 100 * loss.detection, 100 * loss.isolation_sum(),
                              100 * loss.initialization, 100 * loss.total()},
                             {}});
  }
  outcome->figures.push_back({figure.title, Draw(figure), "Means over 2,000 months. The table has the numbers."});
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  const auto measured = MeasureAll(context);
  if (!measured) {
    outcome.is_partial = true;
    return outcome;
  }
  std::vector<double> detection;
  double num_right = 0;
  for (const auto& of_cause : *measured) {
    for (const MeasuredFault& fault : of_cause) {
      if (!std::isfinite(fault.detection_s)) {
        return Internal(
            "c4d-downtime: a fault was never found in 20 tries; c4d-confusion shows which kinds are missed");
      }
      detection.push_back(fault.detection_s);
      num_right += fault.is_right ? 1 : 0;
    }
  }
  const MonthLoss june = MeanLoss(June(), context.seed);
  const MonthLoss december = MeanLoss(December(), context.seed);
  const MonthLoss ours = MeanLoss(WithMeasuredDetection(*measured), context.seed);
  const MonthLoss steered = MeanLoss(WithMeasuredIsolation(*measured), context.seed);
  SetRows("June", june, &outcome);
  SetRows("December", december, &outcome);
  SetRows("measured", ours, &outcome);
  SetRows("replaced", steered, &outcome);
  outcome.Set("June / December", june.total() / december.total());
  outcome.Set("June / measured", june.total() / ours.total());
  std::ranges::sort(detection);
  outcome.Set("detection, mean of the faults", [&] {
    double sum = 0;
    for (const double seconds : detection) sum += seconds;
    return sum / static_cast<double>(detection.size());
  }());
  outcome.Set("detection, longest", detection.back());
  outcome.Set("right culprit", num_right / static_cast<double>(detection.size()));
  AddFigure({{"June", june}, {"December", december}, {"measured\ndetection", ours}, {"hosts\nreplaced", steered}},
            &outcome);
  outcome.notes.push_back(
      fmt::format("{} faults of each cause are simulated and watched by the C4D master; months draw their times of "
                  "detection from them. "
                  "June's and December's own columns use the times that the specification works out from the table.",
                  measured->front().size()));
  return outcome;
}

}  // namespace fairlead::experiments::c4d_downtime
