#include "diagnosis/c4d/slow_detectors.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "diagnosis/c4d/slow_options.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Share by which iterations must take longer before something slow is believed to hold the job up.
constexpr double kGrowthMin = 0.01;
// The same of what all messages pass: it may be the job that has changed.
constexpr double kGrowthAloneMin = 0.05;
constexpr double kUnlikely = 0.4;
// Share of an iteration that a slow path costs beside a late rank, at least: that rank's cost is known within some
// percent only.
constexpr double kCostBesideMin = 0.05;

}  // namespace

SlowDetectors::SlowDetectors(const model::JobLayout& layout, const model::PlaceNames& names)
    : transfers_(layout, SlowOptions(), names), stragglers_(layout, SlowOptions(), names) {}

void SlowDetectors::Add(const model::RankReport& report, bool begins_anew) {
  if (begins_anew) {
    transfers_.BeginAnew(report.rank);
    stragglers_.BeginAnew(report.rank);
  }
  transfers_.Add(report);
  stragglers_.Add(report);
}

const std::vector<Suspect>& SlowDetectors::JudgeBlocks(SimTime now) {
  by_blocks_ = stragglers_.JudgeBlocks(now);
  if (!by_blocks_.empty() && stragglers_.HasStages()) LeaveWaitedFor();
  return by_blocks_;
}

void SlowDetectors::LeaveWaitedFor() {
  std::erase_if(by_blocks_, [&](const Suspect& late) { return !stragglers_.IsWaitedFor(late); });
}

void SlowDetectors::DoubtStages(bool has_slow_path) {
  if (has_slow_path) by_blocks_.clear();
  LeaveWaitedFor();
  for (Suspect& late : by_blocks_) late.is_confirmed = false;
}

// Single messages that are late beside others that wait for the CPU are no loss, and nobody can do anything.
void SlowDetectors::TakeIdleLosses(const std::optional<double>& growth, std::vector<Suspect>* suspects) {
  idle_losses_.clear();
  if (!growth || *growth >= kGrowthMin) return;
  const auto losses = std::stable_partition(suspects->begin(), suspects->end(),
                                            [](const Suspect& suspect) { return suspect.cost >= 0; });
  idle_losses_.assign(losses, suspects->end());
  suspects->erase(losses, suspects->end());
  for (Suspect& loss : idle_losses_) loss.is_idle = true;
}

// Transfers of a late rank are late with it, and last as long as ever: how long iterations take tells the two apart.
void SlowDetectors::ExcuseByLateRanks(const std::optional<double>& growth, std::vector<Suspect>* suspects) const {
  double unexplained = growth ? *growth / (1 + *growth) : 0;
  for (const Suspect& late : by_blocks_) {
    if (late.confidence > kUnlikely) unexplained -= late.lateness;
  }
  const auto is_of_late_rank = [&](const Suspect& path) {
    return std::ranges::any_of(by_blocks_, [&](const Suspect& late) {
      return late.confidence > kUnlikely &&
             (Overlap(late.culprits, path.culprits) || late.culprits.front().rank == path.culprits.front().peer);
    });
  };
  for (Suspect& path : *suspects) {
    if (is_of_late_rank(path)) path.cost = std::min(path.cost, unexplained);
  }
  std::erase_if(*suspects, [&](const Suspect& path) { return path.cost < kCostBesideMin && is_of_late_rank(path); });
}

void SlowDetectors::WeighTransfers(std::vector<Suspect>* suspects) {
  const std::optional<double> growth = stragglers_.Growth();
  ExcuseByLateRanks(growth, suspects);
  TakeIdleLosses(growth, suspects);
  for (Suspect& suspect : *suspects) {
    if (!growth) {
      if (suspect.is_alone) suspect.confidence = std::min(suspect.confidence, kUnlikely);
      continue;
    }
    suspect.evidence.push_back({"iterations take longer than at first", 100 * *growth, 0, "%"});
    if (suspect.cost >= 0) suspect.cost = std::min(suspect.cost, std::max(0.0, *growth));
    const double growth_min = suspect.is_alone ? kGrowthAloneMin : kGrowthMin;
    if (*growth < growth_min) suspect.confidence = std::min(suspect.confidence, kUnlikely);
  }
}

std::vector<Suspect> SlowDetectors::EndWindow(SimTime now) {
  const std::vector<double> lateness = stragglers_.JudgeWindow();
  std::vector<Suspect> suspects = transfers_.EndWindow(now, lateness);
  if (stragglers_.HasStages()) DoubtStages(!suspects.empty());
  WeighTransfers(&suspects);
  std::vector<Suspect> stragglers = stragglers_.TakeSuspects(!suspects.empty());
  std::move(stragglers.begin(), stragglers.end(), std::back_inserter(suspects));
  std::ranges::copy(by_blocks_, std::back_inserter(suspects));
  // What is slow elsewhere makes stages late: alone they are believed.
  std::optional<Suspect> stage = stragglers_.JudgeStages();
  if (suspects.empty() && idle_losses_.empty() && stage) suspects.push_back(*std::move(stage));
  std::ranges::copy(idle_losses_, std::back_inserter(suspects));
  return suspects;
}

bool SlowDetectors::SaysNothingOf(const Suspect& suspect) const {
  if (suspect.syndrome != model::Syndrome::kCommSlow) return false;
  return transfers_.SaysNothingOf(suspect.culprits.front()) ||
         std::ranges::find(idle_losses_, suspect.culprits, &Suspect::culprits) != idle_losses_.end();
}

}  // namespace fairlead::diagnosis::c4d
