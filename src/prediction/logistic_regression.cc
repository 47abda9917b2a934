#include "prediction/logistic_regression.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <nlohmann/json.hpp>

#include "prediction/matrix_json.h"

namespace fairlead::prediction {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// log(1 + exp(t)) without overflow.
double SoftPlus(double t) { return t > 0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t)); }

// Data with a last column of ones, with an unpenalised coefficient.
struct Objective {
  MatrixXd x;
  VectorXd y;
  VectorXd weights;
  VectorXd penalty;

  double Value(const VectorXd& beta) const {
    const VectorXd t = x * beta;
    double sum = 0.5 * beta.cwiseProduct(beta).dot(penalty);
    for (Eigen::Index i = 0; i < t.size(); ++i) sum += weights(i) * (SoftPlus(t(i)) - y(i) * t(i));
    return sum;
  }
};

}  // namespace

double Sigmoid(double t) { return t >= 0 ? 1 / (1 + std::exp(-t)) : std::exp(t) / (1 + std::exp(t)); }

LogisticRegression LogisticRegression::Train(const MatrixXd& x, const VectorXd& y, const VectorXd& weights,
                                             const LogisticOptions& options) {
  Objective objective{MatrixXd(x.rows(), x.cols() + 1), y, weights, VectorXd::Constant(x.cols() + 1, options.lambda)};
  objective.x << x, VectorXd::Ones(x.rows());
  objective.penalty(x.cols()) = 0;
  VectorXd beta = VectorXd::Zero(x.cols() + 1);
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    const VectorXd p = (objective.x * beta).unaryExpr(&Sigmoid);
    const VectorXd gradient =
        objective.x.transpose() * weights.cwiseProduct(p - y) + objective.penalty.cwiseProduct(beta);
    if (gradient.cwiseAbs().maxCoeff() < options.tolerance) break;
    const VectorXd curvature = weights.cwiseProduct(p.cwiseProduct(VectorXd::Ones(p.size()) - p)).array() + 1e-12;
    MatrixXd hessian = objective.x.transpose() * curvature.asDiagonal() * objective.x;
    hessian.diagonal() += objective.penalty;
    const VectorXd direction = hessian.ldlt().solve(gradient);
    const double value = objective.Value(beta);
    double length = 1;
    while (length > 1e-6 && !(objective.Value(beta - length * direction) <= value)) length /= 2;
    if (length <= 1e-6) break;
    beta -= length * direction;
  }
  LogisticRegression model;
  model.coefficients_ = beta.head(x.cols());
  model.intercept_ = beta(x.cols());
  return model;
}

LogisticRegression LogisticRegression::TrainPlatt(const VectorXd& decisions, const VectorXd& y) {
  const double positives = y.sum();
  const double negatives = static_cast<double>(y.size()) - positives;
  const VectorXd targets =
      y.unaryExpr([=](double label) { return label > 0.5 ? (positives + 1) / (positives + 2) : 1 / (negatives + 2); });
  return Train(decisions, targets, VectorXd::Ones(y.size()), {.lambda = 1e-9});
}

double LogisticRegression::Score(const VectorXd& features) const {
  return Sigmoid(coefficients_.dot(features) + intercept_);
}

nlohmann::json LogisticRegression::ToJson() const {
  return {{"coefficients", VectorToJson(coefficients_)}, {"intercept", intercept_}};
}

Result<std::unique_ptr<Learner>> LogisticRegression::FromJson(const nlohmann::json& json, size_t num_features) {
  auto model = std::make_unique<LogisticRegression>();
  FL_ASSIGN_OR_RETURN(model->coefficients_, VectorFromJson(json, "coefficients", num_features));
  FL_ASSIGN_OR_RETURN(model->intercept_, NumberFromJson(json, "intercept"));
  return std::unique_ptr<Learner>(std::move(model));
}

}  // namespace fairlead::prediction
