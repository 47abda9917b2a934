#include "prediction/service_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/normal_distribution.h"

namespace fairlead::prediction {
namespace {

constexpr double kMostTau = 4;
constexpr double kLeastTau = 0.05;
constexpr double kLeastSigma = 1e-3;
// Of the normal distribution beyond, so that no number is left of it.
constexpr double kLeastTail = 1e-12;

}  // namespace

double ServiceEstimate::Quantile(double probability) const {
  return std::exp(log_mean + log_sigma * NormalQuantile(probability));
}

double ServiceEstimate::ExpectedRemaining(double attained) const {
  const double mean = std::exp(log_mean + log_sigma * log_sigma / 2);
  if (attained <= 0) return mean;
  const double sigma = std::max(log_sigma, kLeastSigma);
  const double beyond = NormalCdf((log_mean - std::log(attained)) / sigma);
  // So far beyond the mean that no number is left: the tail's own mean excess, about a sigma / z.
  if (beyond < kLeastTail) {
    const double z = (std::log(attained) - log_mean) / sigma;
    return attained * sigma / z;
  }
  return std::max(0.0, mean * NormalCdf((log_mean + sigma * sigma - std::log(attained)) / sigma) / beyond - attained);
}

double ServiceEstimate::RemainingSigma(double attained) const {
  if (attained <= 0) return log_sigma;
  const double sigma = std::max(log_sigma, kLeastSigma);
  const double beyond = NormalCdf((log_mean - std::log(attained)) / sigma);
  // Far out what is left is exponential: from -ln 0.9 to -ln 0.1 means.
  const double width = 2 * NormalQuantile(0.9);
  if (beyond < kLeastTail) return std::log(std::log(0.1) / std::log(0.9)) / width;
  const auto left = [&](double probability) {
    return std::exp(log_mean - sigma * NormalQuantile(beyond * (1 - probability))) - attained;
  };
  const double least = left(0.1);
  return least > 0 ? std::log(left(0.9) / least) / width : std::log(std::log(0.1) / std::log(0.9)) / width;
}

ServiceEstimate ShrinkLevels(std::span<const ShrinkageLevel> levels, double tau) {
  FL_CHECK(!levels.empty());
  double mean = levels.front().mean;
  double variance = levels.front().variance;
  for (const ShrinkageLevel& level : levels.subspan(1)) {
    const auto n = static_cast<double>(level.count);
    if (n + tau <= 0) continue;
    mean = (n * level.mean + tau * mean) / (n + tau);
    variance = (n * level.variance + tau * variance) / (n + tau);
  }
  return {mean, std::sqrt(std::max(variance, 0.0)), levels.back().count};
}

void ServiceHistory::Add(std::span<const std::string> keys, double service) {
  FL_CHECK(service > 0);
  const double y = std::log(service);
  const auto add = [y](Sums* sums) {
    ++sums->count;
    sums->sum += y;
    sums->squares += y * y;
  };
  add(&all_);
  for (const std::string& key : keys) add(&sums_[key]);
  if (!keys.empty()) sums_[keys.back()].is_closest = true;
}

ShrinkageLevel ServiceHistory::LevelOf(const Sums& sums) {
  if (sums.count == 0) return {};
  const auto n = static_cast<double>(sums.count);
  const double mean = sums.sum / n;
  return {sums.count, mean, std::max(0.0, sums.squares / n - mean * mean)};
}

double ServiceHistory::Tau() const {
  double within = 0;
  double num_within = 0;
  std::vector<double> means;
  for (const auto& [key, sums] : sums_) {
    if (!sums.is_closest) continue;
    const ShrinkageLevel level = LevelOf(sums);
    means.push_back(level.mean);
    within += level.variance * static_cast<double>(level.count);
    num_within += static_cast<double>(level.count) - 1;
  }
  if (num_within < 1 || means.size() < 2) return kMostTau;
  double center = 0;
  for (const double mean : means) center += mean / static_cast<double>(means.size());
  double between = 0;
  for (const double mean : means) between += (mean - center) * (mean - center) / static_cast<double>(means.size() - 1);
  if (between <= 0) return kMostTau;
  return std::clamp(within / num_within / between, kLeastTau, kMostTau);
}

std::optional<ServiceEstimate> ServiceHistory::Estimate(std::span<const std::string> keys) const {
  if (all_.count == 0) return std::nullopt;
  std::vector<ShrinkageLevel> levels = {LevelOf(all_)};
  for (const std::string& key : keys) {
    const auto found = sums_.find(key);
    levels.push_back(found == sums_.end() ? ShrinkageLevel{} : LevelOf(found->second));
  }
  return ShrinkLevels(levels, Tau());
}

double ConformalFactor(std::span<const double> ratios, double alpha) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(std::log(ratio)));
  std::ranges::sort(errors);
  const double rank = std::ceil((static_cast<double>(errors.size()) + 1) * (1 - alpha) - 1e-9);
  if (rank > static_cast<double>(errors.size())) return std::numeric_limits<double>::infinity();
  return std::exp(errors[static_cast<size_t>(std::max(rank, 1.0)) - 1]);
}

}  // namespace fairlead::prediction
