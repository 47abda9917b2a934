// Random forest: many decision trees, each grown on rows drawn with replacement; and which features they lean on.
//
// Method      CART: at each node some random features are tried, the split with the largest fall of the weighted Gini
//             impurity 1 - sum p^2 is taken. A leaf's score is its weighted share of label 1; the forest's is the mean.
// Notation    importance -> fall of impurity times the weight of the node, over all trees, summing to 1
// Cost        O(trees * sqrt(columns) * n log n * depth) to grow, O(trees * depth) for a score.
// Guarantees  same input and seed, same forest. Scores lie in [0, 1].
// Reference   Breiman, Random Forests, 2001; Zhao et al., AITurbo, HPDC 2021 (random forest and its importance).
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "prediction/learner.h"

namespace fairlead::prediction {

struct ForestOptions {
  size_t num_trees = 200;  // more: smoother scores, more time
  size_t min_leaf = 2;     // rows of a leaf at least; more: coarser
  size_t num_tried = 0;    // features per split; 0: the square root of their number
};

struct TreeNode {
  int feature = -1;      // of the split; -1: a leaf
  double threshold = 0;  // rows up to it go to the next node of the list
  int right = -1;        // the others go here
  double score = 0;      // of a leaf
};
using Tree = std::vector<TreeNode>;  // node 0 is the root; children come after their parents

class RandomForest : public Learner {
 public:
  // Args: x [row, feature], y 0 or 1, weights > 0, one for each row; at least one row.
  static RandomForest Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                            const ForestOptions& options, uint64_t seed);
  static Result<std::unique_ptr<Learner>> FromJson(const nlohmann::json& json, size_t num_features);

  double Score(const Eigen::VectorXd& features) const override;
  LearnerKind kind() const override { return LearnerKind::kRandomForest; }
  nlohmann::json ToJson() const override;

  // [feature] sums to 1, or all 0 when no tree has a split.
  const Eigen::VectorXd& importance() const { return importance_; }

 private:
  std::vector<Tree> trees_;
  Eigen::VectorXd importance_;
};

}  // namespace fairlead::prediction
