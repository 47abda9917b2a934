#include "prediction/measured_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace fairlead::prediction {
namespace {

constexpr double kPriorShare = 0.05;
constexpr double kPriorWeight = 0.1;

}  // namespace

Result<MeasuredSpeed> MeasuredSpeed::Create(std::vector<uint32_t> sizes) {
  const bool ascends = std::ranges::adjacent_find(sizes, std::greater_equal()) == sizes.end();
  if (sizes.empty() || sizes.front() == 0 || !ascends) {
    return InvalidArgument("sizes of a job: expected numbers of GPUs above 0, ascending");
  }
  return MeasuredSpeed(std::move(sizes));
}

MeasuredSpeed::MeasuredSpeed(std::vector<uint32_t> sizes)
    : sizes_(std::move(sizes)), shared_(1 / (1 + kPriorShare)), constant_(kPriorShare / (1 + kPriorShare)) {
  for (const uint32_t num_gpus : sizes_) measured_.push_back({num_gpus, Seconds(0), Seconds(0)});
}

void MeasuredSpeed::Observe(uint32_t num_gpus, uint32_t /*num_hosts*/, Seconds iteration, Seconds measured_for) {
  const auto found = std::ranges::find(measured_, num_gpus, &MeasuredSize::num_gpus);
  const bool is_time = std::isfinite(iteration.value()) && iteration.value() > 0;
  if (found == measured_.end() || !is_time || !(measured_for.value() > 0)) return;
  const double weight = WeightOf(measured_for);
  const bool has_scale = std::ranges::any_of(measured_, [](const auto& one) { return one.measured_for.value() > 0; });
  if (has_scale) error_.Add(iteration, Predict(static_cast<size_t>(found - measured_.begin())), weight);
  if (found->measured_for.value() > 0) {
    found->iteration += (iteration - found->iteration) * weight;
  } else {
    found->iteration = iteration;
  }
  found->measured_for += measured_for;
  Fit();
}

// Normal equations of two unknowns, columns u = (k0 / k) / T and v = 1 / T, right-hand side 1; a coefficient that turns
// negative is 0, and the other one is fitted alone.
void MeasuredSpeed::Fit() {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, longest = 0;
  for (const MeasuredSize& one : measured_) {
    if (one.measured_for.value() <= 0) continue;
    const double u = static_cast<double>(sizes_.front()) / one.num_gpus / one.iteration.value();
    const double v = 1 / one.iteration.value();
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
    longest = std::max(longest, one.iteration.value());
  }
  const double prior = kPriorWeight / longest;
  uu += prior * prior * kPriorShare * kPriorShare;
  uv -= prior * prior * kPriorShare;
  vv += prior * prior;
  const double determinant = uu * vv - uv * uv;
  shared_ = (u1 * vv - v1 * uv) / determinant;
  constant_ = (v1 * uu - u1 * uv) / determinant;
  if (shared_ < 0) {
    shared_ = 0;
    constant_ = v1 / vv;
  } else if (constant_ < 0) {
    shared_ = u1 / uu;
    constant_ = 0;
  }
}

Seconds MeasuredSpeed::Predict(size_t index) const {
  if (measured_[index].measured_for.value() > 0) return measured_[index].iteration;
  return Seconds(shared_ * sizes_.front() / sizes_[index] + constant_);
}

std::vector<MeasuredSize> MeasuredSpeed::measured() const {
  std::vector<MeasuredSize> known = measured_;
  std::erase_if(known, [](const MeasuredSize& one) { return one.measured_for.value() <= 0; });
  return known;
}

}  // namespace fairlead::prediction
