// Nearest neighbours: the mean label of the k training rows that are nearest, nearer ones counting more.
//
// Method      Euclidean distance d of standardised features; weight 1 / (d + 1e-9) times the class weight; k = 7.
// Cost        O(training rows * features) for a score.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "prediction/learner.h"

namespace fairlead::prediction {

class NearestNeighbors : public Learner {
 public:
  // Args: fewer rows than neighbours: all of them count.
  static NearestNeighbors Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                size_t num_neighbors = 7);
  static Result<std::unique_ptr<Learner>> FromJson(const nlohmann::json& json, size_t num_features);

  double Score(const Eigen::VectorXd& features) const override;
  LearnerKind kind() const override { return LearnerKind::kNearestNeighbors; }
  nlohmann::json ToJson() const override;

 private:
  Eigen::MatrixXd x_;
  Eigen::VectorXd y_;
  Eigen::VectorXd weights_;
  size_t num_neighbors_ = 7;
};

}  // namespace fairlead::prediction
