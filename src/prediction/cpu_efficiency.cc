#include "prediction/cpu_efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "prediction/golden_section.h"
#include "prediction/nnls.h"

namespace fairlead::prediction {

namespace {

constexpr double kRateMin = 0.05;
constexpr double kRateMax = 5;

struct CurveFit {
  CpuEfficiency curve;
  double residual = 0;
};

CurveFit FitAtRate(std::span<const CpuSpeed> speeds, double rate) {
  const auto rows = static_cast<Eigen::Index>(speeds.size());
  Eigen::MatrixXd a(rows, 2);
  Eigen::VectorXd b(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const CpuSpeed& measured = speeds[static_cast<size_t>(i)];
    a(i, 0) = -std::exp(-rate * measured.cores);
    a(i, 1) = 1;
    b(i) = measured.speed;
  }
  const Eigen::VectorXd x = SolveNnls(a, b);
  return {{.drop = x(0), .rate = rate, .limit = x(1)}, (a * x - b).norm()};
}

Status CheckSpeeds(std::span<const CpuSpeed> speeds) {
  std::set<double> cores;
  for (const CpuSpeed& measured : speeds) {
    if (!(measured.cores > 0) || !(measured.speed > 0) || !std::isfinite(measured.cores) ||
        !std::isfinite(measured.speed)) {
      return InvalidArgument(fmt::format("CPU efficiency: cores and speed must be positive, found {} cores at speed {}",
                                         measured.cores, measured.speed));
    }
    cores.insert(measured.cores);
  }
  if (cores.size() >= 3) return OkStatus();
  return InvalidArgument(fmt::format(
      "CPU efficiency: the curve has three coefficients and needs three different core counts, found {}; measure more",
      cores.size()));
}

}  // namespace

double CpuEfficiency::Speed(double cores) const { return limit - drop * std::exp(-rate * cores); }

double CpuEfficiency::SlowDown(double cores) const {
  const double one = Speed(1);
  return one / std::max(Speed(std::max(cores, kMinCores)), one / kSlowDownMax);
}

Result<CpuEfficiency> FitCpuEfficiency(std::span<const CpuSpeed> speeds) {
  FL_RETURN_IF_ERROR(CheckSpeeds(speeds));
  const auto residual_at = [&](double log_rate) { return FitAtRate(speeds, std::exp(log_rate)).residual; };
  const ScalarMinimum best =
      GridThenGoldenSection(residual_at, std::log(kRateMin), std::log(kRateMax), /*num_grid=*/64, /*tolerance=*/1e-12);
  const CpuEfficiency curve = FitAtRate(speeds, std::exp(best.x)).curve;
  if (!(curve.drop > 1e-12 * curve.limit)) {
    return InvalidArgument("CPU efficiency: speed does not grow with cores; leave the curve out (cores don't matter)");
  }
  if (!(curve.Speed(1) > 0)) {
    return InvalidArgument("CPU efficiency: the curve is not positive at one core; measure speeds nearer to one core");
  }
  return curve;
}

}  // namespace fairlead::prediction
