#include "diagnosis/c4d/slow_stage.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

constexpr size_t kInnerMin = 4;
// GPUs of one kind are 15 % apart at most, and of some ranks the own time is less sure.
constexpr double kStandsOut = 1.25;

}  // namespace

std::optional<SlowStage> FindSlowStage(std::vector<StageShare> stages) {
  if (stages.size() < kInnerMin + 2) return std::nullopt;
  std::ranges::sort(stages, {}, &StageShare::stage);
  const double at_ends = std::max(stages.front().share, stages.back().share);
  stages.pop_back();
  stages.erase(stages.begin());
  std::ranges::stable_sort(stages, std::ranges::greater(), &StageShare::share);
  const StageShare& slowest = stages[0];
  const double next = stages[1].share;
  if (slowest.share <= at_ends || slowest.share < kStandsOut * next) return std::nullopt;
  return SlowStage{.rank = slowest.rank, .beyond = slowest.share - next};
}

}  // namespace fairlead::diagnosis::c4d
