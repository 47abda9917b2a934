#include "prediction/learner.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "prediction/feature_table.h"
#include "prediction/logistic_regression.h"
#include "prediction/nearest_neighbors.h"
#include "prediction/neural_network.h"
#include "prediction/random_forest.h"
#include "prediction/support_vector.h"

namespace fairlead::prediction {

std::string_view Name(LearnerKind kind) {
  constexpr std::array<std::string_view, kAllLearnerKinds.size()> kNames = {"knn", "logistic", "forest", "svm", "mlp"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<LearnerKind> FindLearnerKind(std::string_view name) {
  for (const LearnerKind kind : kAllLearnerKinds) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

std::unique_ptr<Learner> TrainLearner(LearnerKind kind, const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                                      uint64_t seed) {
  FL_CHECK(x.rows() >= 1 && x.rows() == y.size());
  const Eigen::VectorXd weights = BalancedWeights(y);
  // With one class there is nothing to separate; a tree without a split says so for every kind.
  const bool has_one_class = y.minCoeff() == y.maxCoeff();
  if (has_one_class) return std::make_unique<RandomForest>(RandomForest::Train(x, y, weights, {.num_trees = 1}, seed));
  switch (kind) {
    case LearnerKind::kNearestNeighbors:
      return std::make_unique<NearestNeighbors>(NearestNeighbors::Train(x, y, weights));
    case LearnerKind::kLogisticRegression:
      return std::make_unique<LogisticRegression>(LogisticRegression::Train(x, y, weights));
    case LearnerKind::kRandomForest:
      return std::make_unique<RandomForest>(RandomForest::Train(x, y, weights, {}, seed));
    case LearnerKind::kSupportVector:
      return std::make_unique<SupportVector>(SupportVector::Train(x, y, seed));
    case LearnerKind::kNeuralNetwork:
      return std::make_unique<NeuralNetwork>(NeuralNetwork::Train(x, y, weights, {}, seed));
  }
  return nullptr;
}

Result<std::unique_ptr<Learner>> LearnerFromJson(LearnerKind kind, const nlohmann::json& json, size_t num_features) {
  switch (kind) {
    case LearnerKind::kNearestNeighbors:
      return NearestNeighbors::FromJson(json, num_features);
    case LearnerKind::kLogisticRegression:
      return LogisticRegression::FromJson(json, num_features);
    case LearnerKind::kRandomForest:
      return RandomForest::FromJson(json, num_features);
    case LearnerKind::kSupportVector:
      return SupportVector::FromJson(json, num_features);
    case LearnerKind::kNeuralNetwork:
      return NeuralNetwork::FromJson(json, num_features);
  }
  return InvalidArgument("unknown learner");
}

}  // namespace fairlead::prediction
