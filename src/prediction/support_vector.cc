#include "prediction/support_vector.h"

#include <libsvm/svm.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "prediction/matrix_json.h"

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kNumPlattFolds = 3;

// Rows in libsvm's form. The problem points into this, so it stays where it is.
struct SvmRows {
  std::vector<std::vector<svm_node>> nodes;
  std::vector<svm_node*> starts;
  std::vector<double> labels;

  SvmRows(const MatrixXd& x, const VectorXd& y) : labels(y.begin(), y.end()) {
    for (Index i = 0; i < x.rows(); ++i) {
      std::vector<svm_node>& row = nodes.emplace_back();
      for (Index j = 0; j < x.cols(); ++j) row.push_back({static_cast<int>(j) + 1, x(i, j)});
      row.push_back({-1, 0});
    }
    for (std::vector<svm_node>& row : nodes) starts.push_back(row.data());
  }
  svm_problem problem() { return {static_cast<int>(labels.size()), labels.data(), starts.data()}; }
};

// 1 / (columns * variance) over all entries.
double DefaultGamma(const MatrixXd& x) {
  const double mean = x.mean();
  const double variance = (x.array() - mean).square().mean();
  return 1 / (static_cast<double>(x.cols()) * (variance > 1e-12 ? variance : 1));
}

bool HasBothClasses(const VectorXd& y) { return y.minCoeff() < 0.5 && y.maxCoeff() > 0.5; }

}  // namespace

SupportVector SupportVector::TrainDecision(const MatrixXd& x, const VectorXd& y) {
  SvmRows rows(x, y);
  const double n = static_cast<double>(y.size());
  const double positives = y.sum();
  int labels[] = {0, 1};
  double weights[] = {n / (2 * (n - positives)), n / (2 * positives)};
  svm_parameter parameter{};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = RBF;
  parameter.gamma = DefaultGamma(x);
  parameter.cache_size = 100;
  parameter.eps = 1e-4;
  parameter.C = 1;
  parameter.nr_weight = 2;
  parameter.weight_label = labels;
  parameter.weight = weights;
  parameter.shrinking = 1;
  const svm_problem problem = rows.problem();
  FL_CHECK(svm_check_parameter(&problem, &parameter) == nullptr);
  svm_set_print_string_function([](const char*) {});
  svm_model* model = svm_train(&problem, &parameter);
  SupportVector machine;
  machine.gamma_ = parameter.gamma;
  // libsvm decides for the class that it saw first.
  const double sign = model->label[0] == 1 ? 1 : -1;
  machine.offset_ = -sign * model->rho[0];
  machine.vectors_.resize(model->l, x.cols());
  machine.coefficients_.resize(model->l);
  for (int i = 0; i < model->l; ++i) {
    machine.vectors_.row(i) = x.row(model->sv_indices[i] - 1);
    machine.coefficients_(i) = sign * model->sv_coef[0][i];
  }
  svm_free_and_destroy_model(&model);
  return machine;
}

SupportVector SupportVector::Train(const MatrixXd& x, const VectorXd& y, uint64_t seed) {
  FL_CHECK(HasBothClasses(y));
  std::vector<Index> order(static_cast<size_t>(y.size()));
  std::iota(order.begin(), order.end(), Index{0});
  Random random(seed);
  random.Shuffle(std::span(order));
  SupportVector machine = TrainDecision(x, y);
  VectorXd decisions(y.size());
  for (size_t fold = 0; fold < kNumPlattFolds; ++fold) {
    std::vector<Index> rest;
    std::vector<Index> held_out;
    for (size_t i = 0; i < order.size(); ++i) (i % kNumPlattFolds == fold ? held_out : rest).push_back(order[i]);
    const bool is_trainable = !rest.empty() && HasBothClasses(y(rest));
    const SupportVector other = is_trainable ? TrainDecision(x(rest, Eigen::all), y(rest)) : machine;
    for (const Index row : held_out) decisions(row) = other.Decide(x.row(row).transpose());
  }
  const LogisticRegression curve = LogisticRegression::TrainPlatt(decisions, y);
  machine.scale_ = curve.coefficients()(0);
  machine.shift_ = curve.intercept();
  return machine;
}

double SupportVector::Decide(const VectorXd& features) const {
  const VectorXd squares = (vectors_.rowwise() - features.transpose()).rowwise().squaredNorm();
  return coefficients_.dot((-gamma_ * squares.array()).exp().matrix()) + offset_;
}

double SupportVector::Score(const VectorXd& features) const { return Sigmoid(scale_ * Decide(features) + shift_); }

nlohmann::json SupportVector::ToJson() const {
  return {{"vectors", MatrixToJson(vectors_)},
          {"coefficients", VectorToJson(coefficients_)},
          {"offset", offset_},
          {"gamma", gamma_},
          {"scale", scale_},
          {"shift", shift_}};
}

Result<std::unique_ptr<Learner>> SupportVector::FromJson(const nlohmann::json& json, size_t num_features) {
  auto machine = std::make_unique<SupportVector>();
  FL_ASSIGN_OR_RETURN(machine->vectors_, MatrixFromJson(json, "vectors", std::nullopt, num_features));
  const auto count = static_cast<size_t>(machine->vectors_.rows());
  FL_ASSIGN_OR_RETURN(machine->coefficients_, VectorFromJson(json, "coefficients", count));
  FL_ASSIGN_OR_RETURN(machine->offset_, NumberFromJson(json, "offset"));
  FL_ASSIGN_OR_RETURN(machine->gamma_, NumberFromJson(json, "gamma"));
  FL_ASSIGN_OR_RETURN(machine->scale_, NumberFromJson(json, "scale"));
  FL_ASSIGN_OR_RETURN(machine->shift_, NumberFromJson(json, "shift"));
  return std::unique_ptr<Learner>(std::move(machine));
}

}  // namespace fairlead::prediction
