#include "prediction/contended_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::prediction {
namespace {

// Of the factor `s`: faster than alone happens where the profile's paths were unlucky; slower than this is standstill.
constexpr double kLeast = 0.25;
constexpr double kMost = 1e4;
// Shares of an iteration below this are no sign of anything.
constexpr double kNegligible = 1e-6;

// What the network can't hide behind.
double Exposed(const SpeedPoint& point) { return std::max(0.0, (point.iteration - point.network).value()); }

double WithContention(const SpeedPoint& point, double contention) {
  if (point.network.value() <= 0) return point.iteration.value();
  return std::max(point.compute.value(), Exposed(point) + contention * point.network.value());
}

Status CheckPoint(const SpeedPoint& point, const SpeedPoint* before) {
  const double iteration = point.iteration.value();
  const auto is_part = [&](Seconds part) { return part.value() >= 0 && part.value() <= iteration * (1 + kNegligible); };
  if (!(iteration > 0) || !std::isfinite(iteration) || !is_part(point.compute) || !is_part(point.network)) {
    return InvalidArgument(
        fmt::format("speed profile of {} GPUs: iteration {} s, compute {} s, network {} s; expected a positive time "
                    "and parts of it",
                    point.num_gpus, iteration, point.compute.value(), point.network.value()));
  }
  if (point.num_gpus > 0 && point.num_hosts > 0 && (before == nullptr || before->num_gpus < point.num_gpus)) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format("speed profile: {} GPUs on {} hosts after {} GPUs; expected ascending sizes",
                                     point.num_gpus, point.num_hosts, before == nullptr ? 0 : before->num_gpus));
}

}  // namespace

Result<ContendedSpeed> ContendedSpeed::Create(std::vector<SpeedPoint> profile) {
  if (profile.empty()) return InvalidArgument("speed profile: no sizes; expected at least one");
  for (size_t i = 0; i < profile.size(); ++i) {
    FL_RETURN_IF_ERROR(CheckPoint(profile[i], i > 0 ? &profile[i - 1] : nullptr));
  }
  return ContendedSpeed(std::move(profile));
}

void ContendedSpeed::Observe(uint32_t num_gpus, uint32_t num_hosts, Seconds iteration, Seconds measured_for) {
  const auto point = std::ranges::find(profile_, num_gpus, &SpeedPoint::num_gpus);
  const double measured = iteration.value();
  if (point == profile_.end() || num_hosts < 2 || !std::isfinite(measured) || measured <= 0) return;
  if (point->network.value() < kNegligible * point->iteration.value() || !(measured_for.value() > 0)) return;
  const double found = std::clamp((measured - Exposed(*point)) / point->network.value(), kLeast, kMost);
  const double weight = num_observed_ == 0 ? 1 : WeightOf(measured_for);
  if (num_observed_ > 0) error_.Add(iteration, Seconds(WithContention(*point, contention_)), weight);
  contention_ += weight * (found - contention_);
  ++num_observed_;
}

Seconds ContendedSpeed::Predict(size_t index) const { return Seconds(WithContention(profile_[index], contention_)); }

double ContendedSpeed::relative_error() const { return error_.is_known() ? error_.value() : kErrorUnmeasured; }

}  // namespace fairlead::prediction
