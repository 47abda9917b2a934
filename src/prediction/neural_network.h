// A small neural network: one hidden layer of tanh, a sigmoid for the score.
//
// Method      weighted log loss, Adam on all rows at once, weights from a seed; a fifth of the rows is held out, and
//             the weights with the least loss there are kept (training stops when that is 50 epochs ago).
// Cost        O(epochs * rows * features * units) to train, O(features * units) for a score.
// Guarantees  same input and seed, same network.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "prediction/learner.h"

namespace fairlead::prediction {

struct NetworkOptions {
  size_t num_units = 16;
  double learning_rate = 1e-2;
  int num_epochs = 500;
  int patience = 50;
};

class NeuralNetwork : public Learner {
 public:
  static NeuralNetwork Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                             const NetworkOptions& options, uint64_t seed);
  static Result<std::unique_ptr<Learner>> FromJson(const nlohmann::json& json, size_t num_features);

  double Score(const Eigen::VectorXd& features) const override;
  LearnerKind kind() const override { return LearnerKind::kNeuralNetwork; }
  nlohmann::json ToJson() const override;

 private:
  Eigen::MatrixXd hidden_;  // [unit, feature, then 1 for the offset]
  Eigen::VectorXd output_;  // [unit, then 1 for the offset]
};

}  // namespace fairlead::prediction
