#include "prediction/allreduce_speed_model.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unsupported/Eigen/NonLinearOptimization>
#include <utility>

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kLowest = 1e-8;
constexpr double kGammaMax = 10;
constexpr double kAcrossPenalty = 1.1;
constexpr double kGammaWeight = 0.031622776601683794;  // square root of 1e-3
constexpr double kGrowthWeight = 0.1;                  // of 1e-2
constexpr double kAlphaStart = 0.1;
constexpr double kBetaStart = 0.01;
constexpr double kGammaStart = 1.001;
constexpr Index kNumParameters = 7;
constexpr int kNumSolvesMax = 12;
constexpr double kErrorStart = 0.1;
constexpr double kErrorMin = 1e-5;
constexpr double kErrorChange = 1e-6;  // relative; weights that change less are final
constexpr int kEvaluationsMax = 1000;
// Relative, of the squares and of the variables. Smaller: most time goes to creeping along bounds, where times stay.
constexpr double kSolveTolerance = 1e-6;

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

// An observation as the fit uses it.
struct TimedRow {
  double local_batch = 0;
  double growth = 0;         // replicas beyond two
  bool has_network = false;  // several replicas
  bool is_across = false;    // several nodes
  double log_iteration = 0;  // logarithms of what was measured, s
  std::optional<double> log_compute = {};
};

std::vector<TimedRow> MakeTimedRows(std::span<const ReplicaObservation> observations) {
  std::vector<TimedRow> rows;
  rows.reserve(observations.size());
  for (const ReplicaObservation& observation : observations) {
    const ReplicaConfiguration& c = observation.configuration;
    TimedRow& row = rows.emplace_back();
    row.local_batch = c.local_batch;
    row.growth = std::max(c.replicas - 2, 0.0);
    row.has_network = c.replicas > 1;
    row.is_across = c.nodes > 1;
    row.log_iteration = std::log(observation.iteration_time.value());
    const double compute = observation.compute_time.value();
    if (IsPositive(compute)) row.log_compute = std::log(compute);
  }
  return rows;
}

// ---- Variables ----

// The solver's variables in this order; all but the last one are logarithms of a parameter above kLowest.
enum Variable : uint8_t { kComputeAlpha, kComputeBeta, kAcrossAlpha, kAcrossBeta, kInsideAlpha, kInsideBeta, kGamma };
constexpr double kExponentMax = 60;

// Parameters, and how they change with their variables.
struct Parameters {
  std::array<double, kNumParameters> values;
  std::array<double, kNumParameters> slopes;

  double operator[](Variable v) const { return values[v]; }
  void Fix(Variable v, double value) {
    values[v] = value;
    slopes[v] = 0;
  }
};

Parameters FromVariables(const VectorXd& v, const FixedParameters& fixed) {
  Parameters parameters;
  for (Index i = 0; i < kGamma; ++i) {
    const double exponential = std::exp(std::clamp(v(i), -kExponentMax, kExponentMax));
    parameters.values[static_cast<size_t>(i)] = kLowest + exponential;
    parameters.slopes[static_cast<size_t>(i)] = std::abs(v(i)) < kExponentMax ? exponential : 0;
  }
  parameters.values[kGamma] = 1 + (kGammaMax - 1) * (1 + std::sin(v(kGamma))) / 2;
  parameters.slopes[kGamma] = (kGammaMax - 1) * std::cos(v(kGamma)) / 2;
  if (fixed.compute_alpha) parameters.Fix(kComputeAlpha, *fixed.compute_alpha);
  if (!fixed.has_growth) {
    parameters.Fix(kAcrossBeta, kLowest);
    parameters.Fix(kInsideBeta, kLowest);
  }
  return parameters;
}

VectorXd StartVariables() {
  VectorXd v(kNumParameters);
  for (Index i = 0; i < kGamma; ++i) v(i) = std::log((i % 2 == 0 ? kAlphaStart : kBetaStart) - kLowest);
  v(kGamma) = std::asin(2 * (kGammaStart - 1) / (kGammaMax - 1) - 1);
  return v;
}

ReplicaSpeedModel ToModel(const Parameters& parameters) {
  ReplicaSpeedModel model;
  model.compute = {parameters[kComputeAlpha], parameters[kComputeBeta]};
  model.across = {parameters[kAcrossAlpha], parameters[kAcrossBeta]};
  model.inside = {parameters[kInsideAlpha], parameters[kInsideBeta]};
  model.gamma = parameters[kGamma];
  return model;
}

// ---- Times ----

// (compute^gamma + network^gamma)^(1/gamma) in logarithms.
struct JoinedTime {
  double log = 0;
  // Its derivatives by the logarithms of both, and by gamma.
  double by_compute = 1;
  double by_network = 0;
  double by_gamma = 0;
};

JoinedTime Join(double log_compute, double log_network, double gamma) {
  const double gap = -std::abs(log_compute - log_network);
  const double smaller = std::exp(gamma * gap);  // to that power, over the larger one
  const double log_sum = std::log1p(smaller);
  const double smaller_share = smaller / (1 + smaller);
  const bool is_compute_larger = log_compute >= log_network;
  return {.log = std::max(log_compute, log_network) + log_sum / gamma,
          .by_compute = is_compute_larger ? 1 - smaller_share : smaller_share,
          .by_network = is_compute_larger ? smaller_share : 1 - smaller_share,
          .by_gamma = (smaller_share * gap - log_sum / gamma) / gamma};
}

// The times of a row, logarithms in s.
struct RowTimes {
  double compute = 0;  // s
  double network = 0;  // s; 0: none
  double log_compute = 0;
  JoinedTime joined;
};

RowTimes TimesOf(const TimedRow& row, const Parameters& parameters) {
  RowTimes times;
  times.compute = parameters[kComputeAlpha] + parameters[kComputeBeta] * row.local_batch;
  times.log_compute = std::log(times.compute);
  times.joined.log = times.log_compute;
  if (!row.has_network) return times;
  times.network = row.is_across ? parameters[kAcrossAlpha] + parameters[kAcrossBeta] * row.growth
                                : parameters[kInsideAlpha] + parameters[kInsideBeta] * row.growth;
  times.joined = Join(times.log_compute, std::log(times.network), parameters[kGamma]);
  return times;
}

// Logarithms of predicted over measured time; 0 where compute was not measured.
struct RowErrors {
  double compute = 0;
  double total = 0;
};

RowErrors ErrorsOf(const TimedRow& row, const RowTimes& times) {
  return {.compute = row.log_compute ? times.log_compute - *row.log_compute : 0,
          .total = times.joined.log - row.log_iteration};
}

// ---- Least squares ----

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

  std::span<const TimedRow> rows;
  FixedParameters fixed;
  bool has_across = false;
  bool has_inside = false;
  // Of the root mean squares of both errors, from the solve before.
  double compute_error = kErrorStart;
  double total_error = kErrorStart;
  // Where it was looked at last, and what was found: the solver asks for the derivatives where it has just asked for
  // the residuals, and logarithms are most of the work.
  VectorXd where;
  Parameters p{};
  std::vector<RowTimes> times;  // [rows]

  int inputs() const { return static_cast<int>(kNumParameters); }
  // The solver wants at least as many as variables; those too many are 0.
  int values() const { return static_cast<int>(std::max(2 * rows.size() + 3, static_cast<size_t>(kNumParameters))); }
  double ShareOf(double error) const { return 1 / std::sqrt(2 * error * static_cast<double>(rows.size())); }

  void LookAt(const VectorXd& variables) {
    if (where.size() > 0 && where == variables) return;
    where = variables;
    p = FromVariables(variables, fixed);
    times.resize(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) times[r] = TimesOf(rows[r], p);
  }

  int operator()(const VectorXd& variables, VectorXd& residuals) {
    LookAt(variables);
    residuals.setZero();
    Index i = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      const RowErrors errors = ErrorsOf(rows[r], times[r]);
      residuals(i++) = ShareOf(compute_error) * errors.compute;
      residuals(i++) = ShareOf(total_error) * errors.total;
    }
    residuals(i++) = kGammaWeight * (p[kGamma] - 1);
    residuals(i++) = has_across ? kGrowthWeight * p[kAcrossBeta] / p[kAcrossAlpha] : 0;
    residuals(i++) = has_inside ? kGrowthWeight * p[kInsideBeta] / p[kInsideAlpha] : 0;
    return 0;
  }

  // Derivatives of the residuals by the variables.
  int df(const VectorXd& variables, Eigen::MatrixXd& jacobian) {
    LookAt(variables);
    jacobian.setZero();
    Index i = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      const TimedRow& row = rows[r];
      const RowTimes& found = times[r];
      const double by_alpha = p.slopes[kComputeAlpha] / found.compute;
      const double by_beta = p.slopes[kComputeBeta] * row.local_batch / found.compute;
      if (row.log_compute) {
        jacobian(i, kComputeAlpha) = ShareOf(compute_error) * by_alpha;
        jacobian(i, kComputeBeta) = ShareOf(compute_error) * by_beta;
      }
      ++i;
      const double share = ShareOf(total_error);
      jacobian(i, kComputeAlpha) = share * found.joined.by_compute * by_alpha;
      jacobian(i, kComputeBeta) = share * found.joined.by_compute * by_beta;
      if (row.has_network) {
        const Variable alpha = row.is_across ? kAcrossAlpha : kInsideAlpha;
        const Variable beta = row.is_across ? kAcrossBeta : kInsideBeta;
        const double by_network = share * found.joined.by_network / found.network;
        jacobian(i, alpha) = by_network * p.slopes[alpha];
        jacobian(i, beta) = by_network * p.slopes[beta] * row.growth;
        jacobian(i, kGamma) = share * found.joined.by_gamma * p.slopes[kGamma];
      }
      ++i;
    }
    jacobian(i++, kGamma) = kGammaWeight * p.slopes[kGamma];
    const auto growth = [&](Variable alpha, Variable beta) {
      jacobian(i, beta) = kGrowthWeight * p.slopes[beta] / p[alpha];
      jacobian(i, alpha) = -kGrowthWeight * p[beta] * p.slopes[alpha] / (p[alpha] * p[alpha]);
    };
    if (has_across) growth(kAcrossAlpha, kAcrossBeta);
    ++i;
    if (has_inside) growth(kInsideAlpha, kInsideBeta);
    return 0;
  }
};

void SolveSquares(SpeedResiduals& residuals, VectorXd& variables) {
  Eigen::LevenbergMarquardt<SpeedResiduals> solver(residuals);
  solver.parameters.maxfev = kEvaluationsMax;
  solver.parameters.ftol = solver.parameters.xtol = kSolveTolerance;
  solver.minimize(variables);
}

// Minimises the sum of both root mean squares and the regularization by squares with weights from the solve before.
VectorXd SolveRoots(SpeedResiduals residuals) {
  VectorXd variables = StartVariables();
  for (int round = 0; round < kNumSolvesMax; ++round) {
    SolveSquares(residuals, variables);
    residuals.LookAt(variables);
    double compute = 0;
    double total = 0;
    for (size_t r = 0; r < residuals.rows.size(); ++r) {
      const RowErrors errors = ErrorsOf(residuals.rows[r], residuals.times[r]);
      compute += errors.compute * errors.compute;
      total += errors.total * errors.total;
    }
    const double count = static_cast<double>(residuals.rows.size());
    const auto update = [](double square, double* error) {
      const double before = std::exchange(*error, std::max(std::sqrt(square), kErrorMin));
      return std::abs(*error - before) > kErrorChange * before;
    };
    const bool has_compute_changed = update(compute / count, &residuals.compute_error);
    const bool has_total_changed = update(total / count, &residuals.total_error);
    if (!has_compute_changed && !has_total_changed) break;
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
  const double joined = network > 0 ? std::exp(Join(std::log(local), std::log(network), gamma).log) : local;
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
  const std::vector<TimedRow> rows = MakeTimedRows(valid);
  residuals.rows = rows;
  if (assumptions == FitAssumptions::kPollux) residuals.fixed = FixFor(valid);
  ReplicaSpeedModel model = ToModel(FromVariables(SolveRoots(residuals), residuals.fixed));
  model.num_used = valid.size();
  model.num_skipped = observations.size() - valid.size();
  model.has_several_nodes = residuals.has_across;
  model.has_several_replicas = residuals.has_across || residuals.has_inside;
  ApplyAssumptions(&model, residuals.has_inside);
  return model;
}

}  // namespace fairlead::prediction
