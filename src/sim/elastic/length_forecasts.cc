#include "sim/elastic/length_forecasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fairlead::sim {
namespace {

// A forecast whose 80 % interval is wider than this factor is none.
constexpr double kWidestInterval = 8;
// The slope that continues a curve is that of its last part.
constexpr double kLastPart = 0.2;

// Logarithms of ratios that are 1.
constexpr double kExact = 1e-6;
// Of what was declared, that the first job which overruns is thought to have left.
constexpr double kFirstOverrun = 0.1;

bool IsTooWide(const prediction::ServiceEstimate& estimate) {
  return estimate.Quantile(0.9) > kWidestInterval * estimate.Quantile(0.1);
}

// GPU-seconds that iterations take at the requested size.
double ServiceOf(const ElasticJob& job, double iterations, double iteration_s) {
  return iterations * iteration_s * job.sizes()[job.run().requested_size()].num_gpus;
}

double Between(const std::pair<double, double>& a, const std::pair<double, double>& b, double x) {
  if (b.first <= a.first) return b.second;
  return a.second + (x - a.first) / (b.first - a.first) * (b.second - a.second);
}

// Iterations until `epochs`, along the curve and on along its last slope. Args: curve: not empty.
double IterationsAt(const std::vector<std::pair<double, double>>& curve, double epochs) {
  using Point = std::pair<double, double>;
  const Point origin{0, 0};
  const auto above = std::ranges::lower_bound(curve, epochs, {}, &Point::first);
  if (above != curve.end()) return Between(above == curve.begin() ? origin : *std::prev(above), *above, epochs);
  const Point& last = curve.back();
  const auto early = std::ranges::lower_bound(curve, (1 - kLastPart) * last.first, {}, &Point::first);
  const Point from = early == curve.begin() || early->first >= last.first ? origin : *early;
  return Between(from, last, epochs);
}

}  // namespace

std::vector<std::string> LengthForecasts::KeysOf(const ElasticJobSpec& spec) {
  const std::string& application = spec.profile->name();
  return {application, fmt::format("{} {}", application, spec.global_batch)};
}

void LengthForecasts::Observe(const ElasticJob& job, double iteration_s) {
  if (job.spec().profile == nullptr) return;
  const auto progress = job.run().ObserveProgress();
  if (!progress || progress->iterations <= 0) return;
  Curve& curve = curves_[KeysOf(job.spec()).back()];
  const bool is_ahead =
      curve.empty() || (progress->epochs > curve.back().first && progress->iterations > curve.back().second);
  if (is_ahead) curve.emplace_back(progress->epochs, progress->iterations);
  if (!job.is_finished()) return;
  const auto declared = job.run().declared_epochs();
  if (declared && job.spec().predictable_after) kept_.Add(KeysOf(job.spec()), progress->epochs / *declared);
  if (uses_history_ && iteration_s > 0) {
    history_.Add(KeysOf(job.spec()), ServiceOf(job, progress->iterations, iteration_s));
  }
}

std::optional<double> LengthForecasts::FromCurve(const ElasticJob& job) const {
  const auto progress = job.run().ObserveProgress();
  const auto declared = job.run().declared_epochs();
  const auto curve = curves_.find(KeysOf(job.spec()).back());
  if (!progress || !declared || curve == curves_.end()) return std::nullopt;
  const auto epochs_left = EpochsLeft(job, *declared, progress->epochs);
  if (!epochs_left) return std::nullopt;
  const double end = progress->epochs + *epochs_left;
  return std::max(1.0, IterationsAt(curve->second, end) - IterationsAt(curve->second, progress->epochs));
}

std::optional<double> LengthForecasts::EpochsLeft(const ElasticJob& job, double declared, double done) const {
  const auto kept = kept_.Estimate(KeysOf(job.spec()));
  // Without errors so far, what is declared is what is.
  const bool is_exact = !kept || (std::abs(kept->log_mean) < kExact && kept->log_sigma < kExact);
  if (is_exact && done < declared) return declared - done;
  // It overruns where nobody else has: as much again as that.
  if (is_exact) return std::max(done - declared, kFirstOverrun * declared);
  if (IsTooWide(*kept)) return std::nullopt;
  return declared * kept->ExpectedRemaining(done / declared);
}

std::optional<double> LengthForecasts::FromHistory(const ElasticJob& job, double iteration_s) const {
  const auto progress = job.run().ObserveProgress();
  if (!progress || !(iteration_s > 0)) return std::nullopt;
  const auto estimate = history_.Estimate(KeysOf(job.spec()));
  if (!estimate) return std::nullopt;
  if (IsTooWide(*estimate)) return std::nullopt;
  const double attained = ServiceOf(job, progress->iterations, iteration_s);
  return std::max(1.0, estimate->ExpectedRemaining(attained) / ServiceOf(job, 1, iteration_s));
}

std::optional<double> LengthForecasts::Remaining(const ElasticJob& job, double iteration_s) const {
  if (job.spec().profile == nullptr) return std::nullopt;
  if (uses_declared_ && job.spec().predictable_after) {
    if (const auto left = FromCurve(job)) return left;
  }
  return uses_history_ ? FromHistory(job, iteration_s) : std::nullopt;
}

}  // namespace fairlead::sim
