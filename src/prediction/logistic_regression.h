// Logistic regression: a score from a weighted sum of features; also what turns any decision value into a score.
//
// Problem     minimise sum_i v_i (log loss of y_i at sigmoid(w x_i + b)) + lambda / 2 |w|^2.
// Method      Newton's method (iteratively reweighted least squares) with halved steps where a full one does not help.
// Cost        O(rows * columns^2) an iteration, at most 50.
// Guarantees  the gradient is below the tolerance, or the last halved step no longer helped.
// Reference   Platt, 1999, for decision values: targets (n1 + 1) / (n1 + 2) and 1 / (n0 + 2).
#pragma once

#include <Eigen/Core>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "prediction/learner.h"

namespace fairlead::prediction {

struct LogisticOptions {
  double lambda = 1e-2;  // larger: smaller coefficients, scores nearer to 0.5
  int max_iterations = 50;
  double tolerance = 1e-8;
};

class LogisticRegression : public Learner {
 public:
  // Args: y in [0, 1] (soft targets are fine), weights > 0.
  static LogisticRegression Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                  const LogisticOptions& options = {});
  // Maps decision values to scores. Args: y 0 or 1.
  static LogisticRegression TrainPlatt(const Eigen::VectorXd& decisions, const Eigen::VectorXd& y);
  static Result<std::unique_ptr<Learner>> FromJson(const nlohmann::json& json, size_t num_features);

  double Score(const Eigen::VectorXd& features) const override;
  LearnerKind kind() const override { return LearnerKind::kLogisticRegression; }
  nlohmann::json ToJson() const override;

  const Eigen::VectorXd& coefficients() const { return coefficients_; }
  double intercept() const { return intercept_; }

 private:
  Eigen::VectorXd coefficients_;
  double intercept_ = 0;
};

// 1 / (1 + exp(-t)), without overflow.
double Sigmoid(double t);

}  // namespace fairlead::prediction
