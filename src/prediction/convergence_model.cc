#include "prediction/convergence_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/random.h"
#include "base/statistics.h"
#include "prediction/golden_section.h"
#include "prediction/loss_cleaning.h"

namespace fairlead::prediction {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The floor stays below the smallest loss, where 1/(l - floor) ends.
constexpr double kFloorMax = 0.999;
// Of the loss that a curve has, so little fall over the whole sample is none.
constexpr double kFlatFall = 1e-9;

// One point as the fit sees it: iterations divided by the last, losses by the scale.
struct FitRow {
  double k = 0;
  double loss = 0;
  double weight = 1;  // s_i
};

struct RowFit {
  double slope = 0;
  double offset = 0;
  double floor = 0;
  double cost = kInfinity;  // sum of (s_i residual)^2, in normalised loss

  double LossAt(double k) const {
    const double inverse = slope * k + offset;
    return inverse > 0 ? 1 / inverse + floor : kInfinity;
  }
};

// Least squares of y on (k, 1) without negative coefficients, in closed form: where the free solution has a negative
// one, the best lies on an axis.
void SolveTwoColumns(double kk, double k1, double ones, double ky, double y1, RowFit* fit) {
  const double determinant = kk * ones - k1 * k1;
  if (determinant > 1e-14 * kk * ones) {
    fit->slope = (ky * ones - y1 * k1) / determinant;
    fit->offset = (y1 * kk - ky * k1) / determinant;
    if (fit->slope >= 0 && fit->offset >= 0) return;
  }
  const double slope_only = kk > 0 ? std::max(ky / kk, 0.0) : 0;
  const double offset_only = std::max(y1 / ones, 0.0);
  // Each axis lowers the squares by (projection)^2 / length^2.
  const bool take_slope = kk > 0 && ky * ky / kk > y1 * y1 / ones;
  fit->slope = take_slope ? slope_only : 0;
  fit->offset = take_slope ? 0 : offset_only;
}

RowFit FitAtFloor(std::span<const FitRow> rows, double floor) {
  double kk = 0;
  double k1 = 0;
  double ones = 0;
  double ky = 0;
  double y1 = 0;
  for (const FitRow& row : rows) {
    const double above = row.loss - floor;
    const double multiplier = above * above * row.weight;
    const double square = multiplier * multiplier;
    const double y = 1 / above;
    kk += square * row.k * row.k;
    k1 += square * row.k;
    ones += square;
    ky += square * row.k * y;
    y1 += square * y;
  }
  RowFit fit;
  fit.floor = floor;
  SolveTwoColumns(kk, k1, ones, ky, y1, &fit);
  fit.cost = 0;
  for (const FitRow& row : rows) {
    const double residual = row.weight * (row.loss - fit.LossAt(row.k));
    fit.cost += residual * residual;
  }
  return fit;
}

// Args: `tolerance` of the floor, relative to the smallest loss.
RowFit FitRows(std::span<const FitRow> rows, size_t num_floors, double tolerance) {
  double smallest = kInfinity;
  for (const FitRow& row : rows) smallest = std::min(smallest, row.loss);
  const auto cost_at = [&](double floor) { return FitAtFloor(rows, floor).cost; };
  return FitAtFloor(rows, GridThenGoldenSection(cost_at, 0, kFloorMax * smallest, num_floors, tolerance * smallest).x);
}

// Where the fitted part begins: after the last declared drop that lies behind, or the last seen, whichever is later.
size_t FirstFitted(std::span<const LossPoint> points, const ConvergenceOptions& options) {
  size_t first = 0;
  for (const double drop : options.declared_drops) {
    const auto after = std::ranges::find_if(points, [drop](const LossPoint& p) { return p.iteration > drop; });
    // Points up to the drop were measured with the old rate.
    if (after != points.end()) first = std::max(first, static_cast<size_t>(after - points.begin()));
  }
  if (options.drop_deviations > 0) first = std::max(first, FindLastDrop(points, options.drop_deviations).value_or(0));
  return first;
}

double Scale(std::span<const LossPoint> points) {
  double scale = 0;
  for (const LossPoint& point : points.first(std::min<size_t>(points.size(), 3))) scale = std::max(scale, point.loss);
  return scale;
}

std::vector<FitRow> MakeRows(std::span<const LossPoint> points, double first_iteration, double span, double scale) {
  std::vector<FitRow> rows;
  rows.reserve(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    constexpr double kThirdWeights[] = {1, 4, 16};
    rows.push_back(
        {(points[i].iteration - first_iteration) / span, points[i].loss / scale, kThirdWeights[3 * i / points.size()]});
  }
  return rows;
}

ConvergenceCurve ToCurve(const RowFit& fit, double first_iteration, double span, double scale) {
  return {.first_iteration = first_iteration,
          .scale = scale,
          .slope = fit.slope / span,
          .offset = fit.offset,
          .floor = fit.floor};
}

// Rows with the fitted losses plus residuals drawn with replacement.
std::vector<FitRow> Resample(std::span<const FitRow> rows, const RowFit& fit, Random& random) {
  std::vector<FitRow> drawn(rows.begin(), rows.end());
  for (FitRow& row : drawn) {
    const FitRow& donor = rows[random.Below(rows.size())];
    const double fitted = fit.LossAt(row.k);
    row.loss = std::max(fitted + donor.loss - fit.LossAt(donor.k), 1e-3 * fitted);
  }
  return drawn;
}

bool IsFlat(std::span<const FitRow> rows, const RowFit& fit) {
  const double fall = fit.LossAt(rows.front().k) - fit.LossAt(rows.back().k);
  return !(fit.slope > 0) || !(fall > kFlatFall);
}

}  // namespace

std::string_view Name(UnpredictableReason reason) {
  constexpr std::string_view kNames[] = {"none",         "no observations", "too few points", "not finite",
                                         "not positive", "out of order",    "rising",         "flat"};
  return kNames[static_cast<size_t>(reason)];
}

std::string_view Explain(UnpredictableReason reason) {
  constexpr std::string_view kTexts[] = {
      "the curve can be extrapolated",
      "no loss was reported; report one for each epoch",
      "too few losses were reported, in all or since the learning rate fell",
      "a loss or iteration is NaN or infinite: the training has diverged, or the log is broken",
      "a loss is 0 or negative; report a positive loss, or 1 - accuracy",
      "iterations do not grow from line to line; is it two runs in one log?",
      "the loss rises",
      "the loss does not fall",
  };
  return kTexts[static_cast<size_t>(reason)];
}

double ConvergenceCurve::LossAt(double iteration) const {
  const double inverse = slope * std::max(iteration - first_iteration, 0.0) + offset;
  return inverse > 0 ? scale * (1 / inverse + floor) : kInfinity;
}

std::optional<double> ConvergenceCurve::IterationsToReach(double target) const {
  const double above = target / scale - floor;
  if (!(above > 0) || !(slope > 0)) return std::nullopt;
  return first_iteration + std::max((1 / above - offset) / slope, 0.0);
}

ConvergenceFit FitConvergence(std::span<const LossPoint> points, const ConvergenceOptions& options) {
  ConvergenceFit fit;
  fit.reason = FindCurveProblem(points, options.min_points);
  if (!fit.usable()) return fit;
  const size_t first = FirstFitted(points, options);
  if (first > 0) fit.drop_iteration = points[first - 1].iteration;
  const std::span<const LossPoint> part = points.subspan(first);
  const std::vector<LossPoint> cleaned = DropOutliers(part);
  fit.num_points = cleaned.size();
  fit.num_outliers = part.size() - cleaned.size();
  if (cleaned.size() < options.min_points) {
    fit.reason = UnpredictableReason::kTooFewPoints;
    return fit;
  }
  const double first_iteration = first > 0 ? cleaned.front().iteration : 0;
  const double span = cleaned.back().iteration - first_iteration;
  const double scale = Scale(cleaned);
  const std::vector<FitRow> rows = MakeRows(cleaned, first_iteration, span, scale);
  const RowFit best = FitRows(rows, options.num_floors, /*tolerance=*/1e-13);
  if (IsFlat(rows, best)) {
    fit.reason = UnpredictableReason::kFlat;
    return fit;
  }
  fit.curve = ToCurve(best, first_iteration, span, scale);
  double squares = 0;
  for (const FitRow& row : rows) squares += std::pow(row.loss - best.LossAt(row.k), 2);
  fit.residual = std::sqrt(squares / static_cast<double>(rows.size()));
  Random random(options.seed);
  for (size_t i = 0; i < options.num_bootstraps; ++i) {
    const RowFit resampled = FitRows(Resample(rows, best, random), options.num_floors / 4 + 2, /*tolerance=*/1e-4);
    fit.resamples.push_back(ToCurve(resampled, first_iteration, span, scale));
  }
  return fit;
}

RemainingIterations PredictRemaining(const ConvergenceFit& fit, double target, double now) {
  FL_CHECK(fit.usable());
  const auto remaining = [&](const ConvergenceCurve& curve) {
    const auto end = curve.IterationsToReach(target);
    return end ? std::max(*end - now, 0.0) : kInfinity;
  };
  RemainingIterations result;
  result.expected = remaining(fit.curve);
  std::vector<double> resampled;
  for (const ConvergenceCurve& curve : fit.resamples) resampled.push_back(remaining(curve));
  std::ranges::sort(resampled);
  result.low = resampled.empty() ? result.expected : std::min(NearestRank(resampled, 0.05), result.expected);
  result.high = resampled.empty() ? result.expected : std::max(NearestRank(resampled, 0.95), result.expected);
  return result;
}

RemainingIterations FixedRemaining(double total, double now) {
  const double left = std::max(total - now, 0.0);
  return {left, left, left};
}

bool HasConverged(std::span<const double> epoch_losses, size_t num_epochs, double change_max) {
  if (epoch_losses.size() < num_epochs + 1) return false;
  double scale = 0;
  for (const double loss : epoch_losses.first(std::min<size_t>(3, epoch_losses.size()))) scale = std::max(scale, loss);
  const auto last = epoch_losses.last(num_epochs + 1);
  for (size_t i = 1; i < last.size(); ++i) {
    if (!(std::abs(last[i] - last[i - 1]) < change_max * scale)) return false;
  }
  return true;
}

}  // namespace fairlead::prediction
