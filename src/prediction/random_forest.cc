#include "prediction/random_forest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::prediction {

namespace {

using Eigen::Index;

struct ClassWeights {
  double total = 0;
  double positive = 0;

  void Add(double weight, double label) {
    total += weight;
    positive += weight * label;
  }
  // Weighted Gini impurity times the weight: 2 p (1 - p) W.
  double Impurity() const { return total > 0 ? 2 * positive * (total - positive) / total : 0; }
};

struct Split {
  int feature = -1;
  double threshold = 0;
  double gain = 1e-12;  // smaller ones are rounding
};

// All rows by one feature, ties by row: nodes sort numbers in this order instead of values.
struct FeatureOrder {
  FeatureOrder(const Eigen::MatrixXd& x, Index feature)
      : row_at(static_cast<size_t>(x.rows())), place_of(static_cast<size_t>(x.rows())) {
    std::iota(row_at.begin(), row_at.end(), Index{0});
    std::ranges::sort(row_at, {}, [&](Index row) { return std::pair(x(row, feature), row); });
    for (size_t place = 0; place < row_at.size(); ++place) {
      place_of[static_cast<size_t>(row_at[place])] = static_cast<uint32_t>(place);
    }
  }

  std::vector<Index> row_at;       // [place]
  std::vector<uint32_t> place_of;  // [row]
};

// Grows one tree; `rows` is reordered as nodes are split.
class TreeGrower {
 public:
  TreeGrower(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights, size_t num_tried,
             size_t min_leaf, Random& random, Eigen::VectorXd& importance)
      : x_(x),
        y_(y),
        weights_(weights),
        num_tried_(num_tried),
        min_leaf_(min_leaf),
        random_(random),
        importance_(importance),
        features_(static_cast<size_t>(x.cols())),
        num_at_(static_cast<size_t>(x.rows())) {
    std::iota(features_.begin(), features_.end(), 0);
    for (Index feature = 0; feature < x.cols(); ++feature) orders_.emplace_back(x, feature);
  }

  Tree Grow(std::span<Index> rows) {
    Tree tree;
    AddNode(rows, tree);
    return tree;
  }

 private:
  void AddNode(std::span<Index> rows, Tree& tree) {
    const size_t at = tree.size();
    tree.emplace_back();
    ClassWeights all;
    for (const Index row : rows) all.Add(weights_(row), y_(row));
    tree[at].score = all.positive / all.total;
    if (rows.size() < 2 * min_leaf_ || all.Impurity() <= 0) return;
    const Split split = FindSplit(rows, all);
    if (split.feature < 0) return;
    const auto middle =
        std::partition(rows.begin(), rows.end(), [&](Index row) { return x_(row, split.feature) <= split.threshold; });
    importance_(split.feature) += split.gain;
    tree[at].feature = split.feature;
    tree[at].threshold = split.threshold;
    const auto left_size = static_cast<size_t>(middle - rows.begin());
    AddNode(rows.first(left_size), tree);
    tree[at].right = static_cast<int>(tree.size());
    AddNode(rows.subspan(left_size), tree);
  }

  Split FindSplit(std::span<const Index> rows, const ClassWeights& all) {
    random_.Shuffle(std::span(features_));
    Split best;
    for (size_t i = 0; i < num_tried_; ++i) TryFeature(rows, all, features_[i], &best);
    return best;
  }

  // Sets sorted_ to the rows, a row as often as it is among them.
  void Sort(std::span<const Index> rows, const FeatureOrder& order) {
    // Nodes of many rows are counted: a pass over all places costs less than to sort them.
    constexpr size_t kPlacesForARow = 8;
    sorted_.clear();
    if (num_at_.size() <= kPlacesForARow * rows.size()) {
      for (const Index row : rows) ++num_at_[order.place_of[static_cast<size_t>(row)]];
      for (size_t place = 0; place < num_at_.size(); ++place) {
        for (; num_at_[place] > 0; --num_at_[place]) sorted_.push_back(order.row_at[place]);
      }
      return;
    }
    places_.clear();
    for (const Index row : rows) places_.push_back(order.place_of[static_cast<size_t>(row)]);
    std::ranges::sort(places_);
    for (const uint32_t place : places_) sorted_.push_back(order.row_at[place]);
  }

  void TryFeature(std::span<const Index> rows, const ClassWeights& all, int feature, Split* best) {
    Sort(rows, orders_[static_cast<size_t>(feature)]);
    ClassWeights left;
    for (size_t i = 0; i + 1 < sorted_.size(); ++i) {
      left.Add(weights_(sorted_[i]), y_(sorted_[i]));
      const double here = x_(sorted_[i], feature);
      const double next = x_(sorted_[i + 1], feature);
      if (i + 1 < min_leaf_ || sorted_.size() - i - 1 < min_leaf_ || !(here < next)) continue;
      const ClassWeights right{all.total - left.total, all.positive - left.positive};
      const double gain = all.Impurity() - left.Impurity() - right.Impurity();
      if (gain <= best->gain) continue;
      // Halfway, but never up to `next` by rounding.
      const double middle = here + (next - here) / 2;
      *best = {feature, middle < next ? middle : here, gain};
    }
  }

  const Eigen::MatrixXd& x_;
  const Eigen::VectorXd& y_;
  const Eigen::VectorXd& weights_;
  size_t num_tried_;
  size_t min_leaf_;
  Random& random_;
  Eigen::VectorXd& importance_;
  std::vector<int> features_;
  std::vector<FeatureOrder> orders_;  // [feature]
  std::vector<Index> sorted_;
  std::vector<uint32_t> num_at_;  // [place], 0 between sorts
  std::vector<uint32_t> places_;
};

double TreeScore(const Tree& tree, const Eigen::VectorXd& features) {
  size_t at = 0;
  while (tree[at].feature >= 0) {
    at = features(tree[at].feature) <= tree[at].threshold ? at + 1 : static_cast<size_t>(tree[at].right);
  }
  return tree[at].score;
}

// Children lie after their parents and inside of the list, so that every walk ends at a leaf.
bool IsValidTree(const Tree& tree, size_t num_features) {
  const auto size = static_cast<int>(tree.size());
  for (int i = 0; i < size; ++i) {
    const TreeNode& node = tree[static_cast<size_t>(i)];
    if (!(node.score >= 0 && node.score <= 1)) return false;
    if (node.feature < 0) continue;
    if (node.feature >= static_cast<int>(num_features) || node.right <= i + 1 || node.right >= size) return false;
  }
  return size > 0;
}

}  // namespace

RandomForest RandomForest::Train(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                                 const ForestOptions& options, uint64_t seed) {
  FL_CHECK(x.rows() >= 1 && x.cols() >= 1 && options.num_trees >= 1 && options.min_leaf >= 1);
  RandomForest forest;
  forest.importance_ = Eigen::VectorXd::Zero(x.cols());
  const auto columns = static_cast<size_t>(x.cols());
  const size_t root = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(columns))));
  const size_t num_tried = std::clamp<size_t>(options.num_tried > 0 ? options.num_tried : root, 1, columns);
  Random random(seed);
  TreeGrower grower(x, y, weights, num_tried, options.min_leaf, random, forest.importance_);
  std::vector<Index> rows(static_cast<size_t>(x.rows()));
  for (size_t i = 0; i < options.num_trees; ++i) {
    for (Index& row : rows) row = static_cast<Index>(random.Below(rows.size()));
    forest.trees_.push_back(grower.Grow(rows));
  }
  if (const double sum = forest.importance_.sum(); sum > 0) forest.importance_ /= sum;
  return forest;
}

double RandomForest::Score(const Eigen::VectorXd& features) const {
  double sum = 0;
  for (const Tree& tree : trees_) sum += TreeScore(tree, features);
  return sum / static_cast<double>(trees_.size());
}

nlohmann::json RandomForest::ToJson() const {
  nlohmann::json trees = nlohmann::json::array();
  for (const Tree& tree : trees_) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const TreeNode& node : tree) nodes.push_back({node.feature, node.threshold, node.right, node.score});
    trees.push_back(std::move(nodes));
  }
  return {{"trees", std::move(trees)}};
}

Result<std::unique_ptr<Learner>> RandomForest::FromJson(const nlohmann::json& json, size_t num_features) {
  const Status wrong = InvalidArgument("trees: expected lists of [feature, threshold, right, score]");
  auto forest = std::make_unique<RandomForest>();
  if (!json.is_object() || !json.contains("trees") || !json["trees"].is_array() || json["trees"].empty()) return wrong;
  for (const nlohmann::json& nodes : json["trees"]) {
    Tree tree;
    for (const nlohmann::json& node : nodes) {
      if (!node.is_array() || node.size() != 4 || !node[0].is_number_integer() || !node[1].is_number() ||
          !node[2].is_number_integer() || !node[3].is_number()) {
        return wrong;
      }
      tree.push_back({node[0].get<int>(), node[1].get<double>(), node[2].get<int>(), node[3].get<double>()});
    }
    if (!IsValidTree(tree, num_features)) return wrong;
    forest->trees_.push_back(std::move(tree));
  }
  return std::unique_ptr<Learner>(std::move(forest));
}

}  // namespace fairlead::prediction
