// Learners: what gives a score in [0, 1] from a row of features.
//
// Five kinds, as the paper compares them: nearest neighbours, logistic regression, random forest, support vector
// machine, neural network. All see standardised features and class weights n / (2 n_c).
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace fairlead::prediction {

enum class LearnerKind { kNearestNeighbors, kLogisticRegression, kRandomForest, kSupportVector, kNeuralNetwork };
inline constexpr std::array kAllLearnerKinds = {LearnerKind::kNearestNeighbors, LearnerKind::kLogisticRegression,
                                                LearnerKind::kRandomForest, LearnerKind::kSupportVector,
                                                LearnerKind::kNeuralNetwork};
// "knn", "logistic", "forest", "svm", "mlp"
std::string_view Name(LearnerKind kind);
std::optional<LearnerKind> FindLearnerKind(std::string_view name);

class Learner {
 public:
  virtual ~Learner() = default;
  // Args: as many standardised features as it was trained on. Returns: in [0, 1]. Pure.
  virtual double Score(const Eigen::VectorXd& features) const = 0;
  virtual LearnerKind kind() const = 0;
  // Everything that Score needs; LearnerFromJson reads it.
  virtual nlohmann::json ToJson() const = 0;
};

// Args: x [row, feature] standardised, y 0 or 1, at least one row. Where y has one class only, the score is that class.
// Same input and seed, same learner.
std::unique_ptr<Learner> TrainLearner(LearnerKind kind, const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                                      uint64_t seed);

// Errors: kInvalidArgument when the content does not fit the kind or the number of features.
Result<std::unique_ptr<Learner>> LearnerFromJson(LearnerKind kind, const nlohmann::json& json, size_t num_features);

}  // namespace fairlead::prediction
