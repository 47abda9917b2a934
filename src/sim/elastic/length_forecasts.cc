#include "sim/elastic/length_forecasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/normal_distribution.h"

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
constexpr double kOverrunSigma = 1;
// Histories of few jobs that happened to be alike.
constexpr double kLeastSigma = 0.05;

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

std::optional<LengthForecasts::Forecast> LengthForecasts::FromDeclared(const ElasticJob& job) const {
  const auto progress = job.run().ObserveProgress();
  const auto declared = job.run().declared_epochs();
  const auto curve = curves_.find(KeysOf(job.spec()).back());
  if (!progress || !declared || curve == curves_.end()) return std::nullopt;
  auto forecast = EpochsLeft(job, *declared, progress->epochs);
  if (!forecast) return std::nullopt;
  const double end = progress->epochs + forecast->left;
  forecast->left = std::max(1.0, IterationsAt(curve->second, end) - IterationsAt(curve->second, progress->epochs));
  return forecast;
}

std::optional<LengthForecasts::Forecast> LengthForecasts::EpochsLeft(const ElasticJob& job, double declared,
                                                                     double done) const {
  const auto kept = kept_.Estimate(KeysOf(job.spec()));
  // Without errors so far, what is declared is what is.
  const bool is_exact = !kept || (std::abs(kept->log_mean) < kExact && kept->log_sigma < kExact);
  if (is_exact && done < declared) return Forecast{declared - done, 0, kept.has_value()};
  // It overruns where nobody else has: as much again as that.
  if (is_exact) return Forecast{std::max(done - declared, kFirstOverrun * declared), kOverrunSigma};
  if (IsTooWide(*kept)) return std::nullopt;
  return Forecast{declared * kept->ExpectedRemaining(done / declared), kept->RemainingSigma(done / declared)};
}

std::optional<LengthForecasts::Forecast> LengthForecasts::FromHistory(const ElasticJob& job, double iteration_s) const {
  const auto progress = job.run().ObserveProgress();
  if (!progress || !(iteration_s > 0)) return std::nullopt;
  const auto estimate = history_.Estimate(KeysOf(job.spec()));
  if (!estimate) return std::nullopt;
  if (IsTooWide(*estimate)) return std::nullopt;
  const double attained = ServiceOf(job, progress->iterations, iteration_s);
  return Forecast{std::max(1.0, estimate->ExpectedRemaining(attained) / ServiceOf(job, 1, iteration_s)),
                  estimate->RemainingSigma(attained)};
}

double LengthForecasts::Join(const Forecast& forecast, const CurveForecast& curve) {
  if (forecast.log_sigma <= 0) {
    const double latest = curve.iterations * std::exp(NormalQuantile(0.9) * curve.log_sigma);
    return forecast.is_proved || latest >= forecast.left ? forecast.left : curve.iterations;
  }
  const double sigma = std::max(forecast.log_sigma, kLeastSigma);
  const double weight = 1 / (sigma * sigma);
  const double curve_weight = 1 / (curve.log_sigma * curve.log_sigma);
  return std::exp((weight * std::log(forecast.left) + curve_weight * std::log(curve.iterations)) /
                  (weight + curve_weight));
}

std::optional<double> LengthForecasts::Remaining(const ElasticJob& job, double iteration_s,
                                                 const std::optional<CurveForecast>& curve) const {
  std::optional<Forecast> forecast;
  if (job.spec().profile != nullptr) {
    if (uses_declared_ && job.spec().predictable_after) forecast = FromDeclared(job);
    if (!forecast && uses_history_) forecast = FromHistory(job, iteration_s);
  }
  if (forecast) return curve ? Join(*forecast, *curve) : forecast->left;
  return curve ? std::optional(curve->iterations) : std::nullopt;
}

}  // namespace fairlead::sim
