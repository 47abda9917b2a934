#include "sim/elastic/measured_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace fairlead::sim {
namespace {

constexpr uint32_t kMaxGpus = 4096;
constexpr double kSmallestBatch = 0.5;  // below that of any GPU
constexpr double kMostNodes = 16;       // that profiles tell apart
// Ends of epochs are rounded to whole seconds; an epoch shall last longer than that matters.
constexpr double kEpochS = 100;
constexpr double kMaxEpochs = 100;

Status Refuse(const MeasuredApplication& application, std::string_view problem) {
  return InvalidArgument(
      fmt::format("speeds of {}, batch {}: {}", application.name, application.global_batch, problem));
}

// Seconds of an iteration by GPUs, without holes.
Result<std::map<uint32_t, double>> IterationTimes(const MeasuredApplication& application) {
  std::map<uint32_t, double> times;
  for (const auto& [gpus, speed] : application.speeds) {
    if (std::isinf(speed)) return Refuse(application, fmt::format("the speed on {} GPUs is not finite", gpus));
    if (speed > 0 && gpus > 0 && gpus <= application.global_batch) times[gpus] = 1 / speed;
  }
  if (times.empty()) return Refuse(application, "no speed above 0; expected at least that on one GPU");
  if (times.begin()->first != 1) return Refuse(application, "no speed on one GPU, the smallest size of a job");
  if (times.rbegin()->first > kMaxGpus) return Refuse(application, fmt::format("more than {} GPUs", kMaxGpus));
  return times;
}

double Interpolate(const std::map<uint32_t, double>& times, uint32_t gpus) {
  const auto above = times.lower_bound(gpus);
  if (above->first == gpus) return above->second;
  const auto below = std::prev(above);
  const double part =
      std::log(static_cast<double>(gpus) / below->first) / std::log(static_cast<double>(above->first) / below->first);
  return below->second + part * (above->second - below->second);
}

// For each number of GPUs one node or many, a batch of 1 or of all: the corners between which profiles interpolate. On
// one GPU a batch may be cut into passes, so its time there grows with the batch.
std::vector<ScalabilityRow> RowsOf(const std::map<uint32_t, double>& times, uint32_t global_batch) {
  std::vector<ScalabilityRow> rows;
  const uint32_t most = times.rbegin()->first;
  // One size alone would be points in a plane: the size after the last one, which is not offered, is as fast.
  for (uint32_t gpus = 1; gpus <= most + 1; ++gpus) {
    const double all_s = Interpolate(times, std::min(gpus, most));
    for (const double nodes : {1.0, kMostNodes}) {
      for (const double batch : {kSmallestBatch, static_cast<double>(global_batch)}) {
        const double share = gpus == 1 ? batch / global_batch : 1;
        rows.push_back({nodes, static_cast<double>(gpus), batch, {all_s * share, 0}});
      }
    }
  }
  return rows;
}

}  // namespace

Result<ApplicationProfile> ProfileOfMeasured(const MeasuredApplication& application) {
  if (application.global_batch == 0) return Refuse(application, "expected a batch above 0");
  if (!(application.num_iterations > 0) || !std::isfinite(application.num_iterations)) {
    return Refuse(application, fmt::format("{} iterations; expected more than 0", application.num_iterations));
  }
  FL_ASSIGN_OR_RETURN(const auto times, IterationTimes(application));
  double fastest_s = times.begin()->second;
  for (const auto& [gpus, seconds] : times) fastest_s = std::min(fastest_s, seconds);
  const double run_s = application.num_iterations * fastest_s;
  ProfileTables tables;
  tables.name = application.name;
  tables.limits = {application.global_batch, application.global_batch, 1, application.global_batch};
  tables.num_epochs = static_cast<uint32_t>(std::clamp(run_s / kEpochS, 1.0, kMaxEpochs));
  tables.max_gpus = times.rbegin()->first;
  tables.scalability = RowsOf(times, application.global_batch);
  std::vector<EpochRow>& epochs = tables.validations[application.global_batch];
  for (uint32_t e = 1; e <= tables.num_epochs; ++e) {
    const double done = application.num_iterations * e / tables.num_epochs;
    epochs.push_back({done, done, 1, 0});  // no noise in the gradients: one batch, one speed
  }
  return ApplicationProfile::Create(std::move(tables));
}

}  // namespace fairlead::sim
