#include "experiments/crux-near-optimality/case_search.h"

#include <algorithm>

namespace fairlead::experiments::crux_near_optimality {
namespace {

// Levels of the group as 0, 1, 2 without gaps; 0 for the other jobs.
Levels DenseLevels(const std::vector<uint32_t>& group, const Levels& levels) {
  std::array<uint8_t, kNumLevels> is_used{};
  for (const uint32_t j : group) is_used[levels[j]] = 1;
  std::array<uint8_t, kNumLevels> dense{};
  for (size_t level = 1; level < kNumLevels; ++level) {
    dense[level] = static_cast<uint8_t>(dense[level - 1] + is_used[level - 1]);
  }
  Levels result{};
  for (const uint32_t j : group) result[j] = dense[levels[j]];
  return result;
}

PathChoice WithChoice(const RandomCase& searched, uint32_t bits) {
  PathChoice choice{};
  for (size_t j = 0; j < kNumJobs; ++j) {
    choice[j] = searched.jobs[j].has_choice() ? static_cast<uint8_t>(bits >> (kNumJobs - 1 - j) & 1u) : uint8_t{0};
  }
  return choice;
}

// The same choice, with the two switches swapped where needed to make the first job that has a choice take switch 0.
PathChoice Mirrored(const RandomCase& searched, PathChoice choice, uint32_t jobs) {
  uint8_t flip = 2;
  for (size_t j = 0; j < kNumJobs; ++j) {
    const bool counts = (jobs >> j & 1u) != 0 && searched.jobs[j].has_choice();
    if (counts && flip == 2) flip = choice[j];
    choice[j] = counts ? static_cast<uint8_t>(choice[j] ^ flip) : uint8_t{0};
  }
  return choice;
}

constexpr uint32_t kAllJobs = (1u << kNumJobs) - 1;

}  // namespace

CaseSearch::CaseSearch(const RandomCase& searched) : searched_(&searched), simulation_(searched) {
  for (uint32_t bits = 0; bits <= kAllJobs; ++bits) {
    const PathChoice choice = WithChoice(searched, bits);
    const bool is_new = std::ranges::find(choices_, choice) == choices_.end();
    if (is_new && choice == Mirrored(searched, choice, kAllJobs)) choices_.push_back(choice);
  }
  for (const CaseJob& job : searched.jobs) held_gpu_seconds_ += job.num_gpus * (kHorizonS - kWarmUpS);
}

const std::vector<Levels>& CaseSearch::AllLevels() {
  static const std::vector<Levels> kAll = [] {
    std::vector<Levels> all(1);
    for (size_t j = 0; j < kNumJobs; ++j) {
      std::vector<Levels> longer;
      for (Levels levels : all) {
        for (levels[j] = 0; levels[j] < kNumLevels; ++levels[j]) longer.push_back(levels);
      }
      all = std::move(longer);
    }
    return all;
  }();
  return kAll;
}

const std::vector<std::vector<uint32_t>>& CaseSearch::GroupsOf(const PathChoice& choice) {
  const PathChoice mirrored = Mirrored(*searched_, choice, kAllJobs);
  const auto [entry, is_new] = groups_.try_emplace(mirrored);
  if (is_new) entry->second = simulation_.FindGroups(mirrored);
  return entry->second;
}

double CaseSearch::BusyOf(const std::vector<uint32_t>& group, const PathChoice& choice, const Levels& levels) {
  uint32_t mask = 0;
  for (const uint32_t j : group) mask |= 1u << j;
  const Levels dense = DenseLevels(group, levels);
  const PathChoice mirrored = Mirrored(*searched_, choice, mask);
  const auto [entry, is_new] = busy_.try_emplace({mask, mirrored, dense}, 0.0);
  if (is_new) {
    entry->second = simulation_.BusyGpuSeconds(group, mirrored, dense);
    ++num_simulations_;
  }
  return entry->second;
}

double CaseSearch::Simulate(const PathChoice& choice, const Levels& levels) {
  double busy = 0;
  for (const std::vector<uint32_t>& group : GroupsOf(choice)) busy += BusyOf(group, choice, levels);
  return busy / held_gpu_seconds_;
}

std::span<const double> CaseSearch::Utilizations(const PathChoice& choice) {
  const PathChoice mirrored = Mirrored(*searched_, choice, kAllJobs);
  const auto [entry, is_new] = utilizations_.try_emplace(mirrored);
  if (is_new) {
    for (const Levels& levels : AllLevels()) entry->second.push_back(Simulate(mirrored, levels));
  }
  return entry->second;
}

double CaseSearch::Utilization(const PathChoice& choice, const Levels& levels) {
  size_t index = 0;
  for (const uint8_t level : levels) index = index * kNumLevels + level;
  return Utilizations(choice)[index];
}

}  // namespace fairlead::experiments::crux_near_optimality
