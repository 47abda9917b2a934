#include "prediction/allreduce_speed_model.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kLowest = 1e-8;
constexpr double kGammaMax = 10;
constexpr double kAcrossPenalty = 1.1;
constexpr double kGammaRegularization = 1e-3;
constexpr double kGrowthRegularization = 1e-2;
constexpr double kAlphaStart = 0.1;
constexpr double kBetaStart = 0.01;
constexpr double kGammaStart = 1.001;
constexpr Index kNumParameters = 7;
constexpr int kNumSolves = 12;
constexpr double kErrorStart = 0.1;
constexpr double kErrorMin = 1e-5;

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

Status CheckObservation(const ReplicaConfiguration& c, size_t index) {
  if (c.replicas >= 1 && c.nodes >= 1 && c.nodes <= c.replicas && c.local_batch > 0 && c.accumulations >= 0 &&
      std::isfinite(c.replicas + c.local_batch + c.accumulations)) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format(
      "speed observation {}: expected 1 <= nodes <= replicas and a positive local batch, found {} nodes, {} replicas, "
      "batch {}",
      index + 1, c.nodes, c.replicas, c.local_batch));
}

// Parameters that a fit does not choose.
struct FixedParameters {
  std::optional<double> compute_alpha;
  bool has_growth = true;  // false: the network's beta is at its lower bound
};

FixedParameters FixFor(std::span<const ReplicaObservation> observations) {
  FixedParameters fixed;
  double compute = 0;
  double most_replicas = 0;
  bool is_one_batch = true;
  for (const ReplicaObservation& observation : observations) {
    compute += observation.compute_time.value() / static_cast<double>(observations.size());
    most_replicas = std::max(most_replicas, observation.configuration.replicas);
    is_one_batch &= observation.configuration.local_batch == observations.front().configuration.local_batch;
  }
  if (is_one_batch && IsPositive(compute)) fixed.compute_alpha = compute / 2;
  fixed.has_growth = most_replicas > 2;
  return fixed;
}

// Free variables to parameters: positive ones by exp, gamma by a sine between its bounds.
ReplicaSpeedModel FromVariables(const VectorXd& v, const FixedParameters& fixed) {
  const auto positive = [&](Index i) { return kLowest + std::exp(std::clamp(v(i), -60.0, 60.0)); };
  ReplicaSpeedModel model;
  model.compute = {positive(0), positive(1)};
  model.across = {positive(2), positive(3)};
  model.inside = {positive(4), positive(5)};
  model.gamma = 1 + (kGammaMax - 1) * (1 + std::sin(v(6))) / 2;
  if (fixed.compute_alpha) model.compute.alpha = *fixed.compute_alpha;
  if (!fixed.has_growth) model.across.beta = model.inside.beta = kLowest;
  return model;
}

VectorXd StartVariables() {
  VectorXd v(kNumParameters);
  for (Index i = 0; i < 6; ++i) v(i) = std::log((i % 2 == 0 ? kAlphaStart : kBetaStart) - kLowest);
  v(6) = std::asin(2 * (kGammaStart - 1) / (kGammaMax - 1) - 1);
  return v;
}

// Logarithm of predicted over measured time; 0 where compute was not measured.
double ComputeError(const ReplicaSpeedModel& model, const ReplicaObservation& observation) {
  const double measured = observation.compute_time.value();
  return IsPositive(measured) ? std::log(model.ComputeTime(observation.configuration).value() / measured) : 0;
}

double TotalError(const ReplicaSpeedModel& model, const ReplicaObservation& observation) {
  ReplicaConfiguration once = observation.configuration;
  once.accumulations = 0;
  return std::log(model.IterationTime(once) / observation.iteration_time);
}

// The residuals as Eigen's solver wants them. Its squares are e^2 / (2 e0) for each error e with the root mean square
// e0: where e = e0, the same slope as that of the root itself.
struct SpeedResiduals {
  using Scalar = double;
  using InputType = VectorXd;
  using ValueType = VectorXd;
  using JacobianType = Eigen::MatrixXd;
  // NOLINTBEGIN(readability-identifier-naming): names that Eigen looks for
  static constexpr int InputsAtCompileTime = Eigen::Dynamic;
  static constexpr int ValuesAtCompileTime = Eigen::Dynamic;
  // NOLINTEND(readability-identifier-naming)

  std::span<const ReplicaObservation> observations;
  FixedParameters fixed;
  bool has_across = false;
  bool has_inside = false;
  // Of the root mean squares of both errors, from the solve before.
  double compute_error = kErrorStart;
  double total_error = kErrorStart;

  int inputs() const { return static_cast<int>(kNumParameters); }
  // The solver wants at least as many rows as variables; rows too many are 0.
  int values() const { return static_cast<int>(2 * observations.size() + 3 + static_cast<size_t>(kNumParameters)); }

  int operator()(const VectorXd& variables, VectorXd& residuals) const {
    const ReplicaSpeedModel model = FromVariables(variables, fixed);
    const double count = static_cast<double>(observations.size());
    const double compute_share = 1 / std::sqrt(2 * compute_error * count);
    const double total_share = 1 / std::sqrt(2 * total_error * count);
    residuals.setZero();
    Index row = 0;
    for (const ReplicaObservation& observation : observations) {
      residuals(row++) = compute_share * ComputeError(model, observation);
      residuals(row++) = total_share * TotalError(model, observation);
    }
    residuals(row++) = std::sqrt(kGammaRegularization) * (model.gamma - 1);
    residuals(row++) = has_across ? std::sqrt(kGrowthRegularization) * model.across.beta / model.across.alpha : 0;
    residuals(row++) = has_inside ? std::sqrt(kGrowthRegularization) * model.inside.beta / model.inside.alpha : 0;
    return 0;
  }
};

void SolveSquares(const SpeedResiduals& residuals, VectorXd& variables) {
  Eigen::NumericalDiff<SpeedResiduals, Eigen::Central> differentiated(residuals);
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<SpeedResiduals, Eigen::Central>> solver(differentiated);
  solver.parameters.maxfev = 1000;
  solver.minimize(variables);
}

// Minimises the sum of both root mean squares and the regularization by squares with weights from the solve before.
VectorXd SolveRoots(SpeedResiduals residuals) {
  VectorXd variables = StartVariables();
  for (int round = 0; round < kNumSolves; ++round) {
    SolveSquares(residuals, variables);
    const ReplicaSpeedModel model = FromVariables(variables, residuals.fixed);
    double compute = 0;
    double total = 0;
    for (const ReplicaObservation& observation : residuals.observations) {
      compute += std::pow(ComputeError(model, observation), 2);
      total += std::pow(TotalError(model, observation), 2);
    }
    const double count = static_cast<double>(residuals.observations.size());
    residuals.compute_error = std::max(std::sqrt(compute / count), kErrorMin);
    residuals.total_error = std::max(std::sqrt(total / count), kErrorMin);
  }
  return variables;
}

// What no observation says stays at the lower bound; across nodes it is at least a little slower than inside one.
void ApplyAssumptions(ReplicaSpeedModel* model, bool has_inside) {
  if (!has_inside) model->inside = {kLowest, kLowest};
  if (!model->has_several_nodes) {
    model->across = {kAcrossPenalty * model->inside.alpha, kAcrossPenalty * model->inside.beta};
  }
}

}  // namespace

Seconds ReplicaSpeedModel::ComputeTime(const ReplicaConfiguration& c) const {
  return Seconds(compute.alpha + compute.beta * c.local_batch);
}

Seconds ReplicaSpeedModel::NetworkTime(const ReplicaConfiguration& c) const {
  if (c.replicas <= 1) return Seconds(0);
  const Line& line = c.nodes > 1 ? across : inside;
  return Seconds(line.alpha + line.beta * std::max(c.replicas - 2, 0.0));
}

Seconds ReplicaSpeedModel::IterationTime(const ReplicaConfiguration& c) const {
  const double local = ComputeTime(c).value();
  const double network = NetworkTime(c).value();
  const double larger = std::max(local, network);
  // Divided by the larger first: powers of small times would vanish.
  const double joined =
      larger * std::pow(std::pow(local / larger, gamma) + std::pow(network / larger, gamma), 1 / gamma);
  return Seconds(c.accumulations * local + joined);
}

Result<ReplicaSpeedModel> FitReplicaSpeedModel(std::span<const ReplicaObservation> observations,
                                               FitAssumptions assumptions) {
  std::vector<ReplicaObservation> valid;
  SpeedResiduals residuals;
  for (size_t i = 0; i < observations.size(); ++i) {
    const ReplicaConfiguration& c = observations[i].configuration;
    FL_RETURN_IF_ERROR(CheckObservation(c, i));
    if (!IsPositive(observations[i].iteration_time.value())) continue;
    valid.push_back(observations[i]);
    residuals.has_across |= c.nodes > 1;
    residuals.has_inside |= c.nodes == 1 && c.replicas > 1;
  }
  if (valid.empty()) {
    return InvalidArgument(
        fmt::format("speed model: none of {} observations has a positive iteration time; measure at "
                    "least one iteration",
                    observations.size()));
  }
  residuals.observations = valid;
  if (assumptions == FitAssumptions::kPollux) residuals.fixed = FixFor(valid);
  ReplicaSpeedModel model = FromVariables(SolveRoots(residuals), residuals.fixed);
  model.num_used = valid.size();
  model.num_skipped = observations.size() - valid.size();
  model.has_several_nodes = residuals.has_across;
  model.has_several_replicas = residuals.has_across || residuals.has_inside;
  ApplyAssumptions(&model, residuals.has_inside);
  return model;
}

}  // namespace fairlead::prediction
