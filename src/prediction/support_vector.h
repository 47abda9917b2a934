// Support vector machine with a Gaussian kernel, scaled to a score by Platt's method.
//
// Method      training by libsvm (C = 1 times the class weight, gamma = 1 / (columns * variance), SMO); decision values
//             of three held-out folds are mapped to scores by a logistic curve; scoring is ours, so that a saved model
//             needs no libsvm format.
// Cost        O(rows^2) to O(rows^3) to train, four times; O(support vectors * columns) for a score.
// Guarantees  same input and seed, same machine (libsvm's own probability estimates draw from rand()).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "prediction/learner.h"
#include "prediction/logistic_regression.h"

namespace fairlead::prediction {

class SupportVector : public Learner {
 public:
  // Args: y holds both classes.
  static SupportVector Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, uint64_t seed);
  static Result<std::unique_ptr<Learner>> FromJson(const nlohmann::json& json, size_t num_features);

  // Positive on the side of label 1.
  double Decide(const Eigen::VectorXd& features) const;
  double Score(const Eigen::VectorXd& features) const override;
  LearnerKind kind() const override { return LearnerKind::kSupportVector; }
  nlohmann::json ToJson() const override;

 private:
  static SupportVector TrainDecision(const Eigen::MatrixXd& x, const Eigen::VectorXd& y);

  Eigen::MatrixXd vectors_;
  Eigen::VectorXd coefficients_;
  double offset_ = 0;
  double gamma_ = 1;
  double scale_ = 1;  // score = Sigmoid(scale decision + shift)
  double shift_ = 0;
};

}  // namespace fairlead::prediction
