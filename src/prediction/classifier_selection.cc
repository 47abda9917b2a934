#include "prediction/classifier_selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::prediction {

namespace {

constexpr double kFarAway = 1e6;  // deviations from the mean

struct Group {
  std::vector<size_t> rows;
  double positives = 0;
};

std::vector<Group> CollectGroups(const FeatureTable& table) {
  std::map<size_t, Group> by_id;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    Group& group = by_id[table.groups[row]];
    group.rows.push_back(row);
    group.positives += table.y(static_cast<Eigen::Index>(row));
  }
  std::vector<Group> groups;
  groups.reserve(by_id.size());
  for (auto& [id, group] : by_id) groups.push_back(std::move(group));
  return groups;
}

FeatureSelection SelectOrKeepAll(const FeatureTable& table, uint64_t seed) {
  FeatureSelection selection = SelectFeatures(table, seed);
  if (selection.kept.empty()) selection.kept = {0};  // nothing varies: the score will be a constant
  return selection;
}

}  // namespace

std::vector<size_t> GroupedFolds(const FeatureTable& table, size_t num_folds, uint64_t seed) {
  FL_CHECK(num_folds >= 2);
  std::vector<Group> groups = CollectGroups(table);
  Random random(seed);
  random.Shuffle(std::span(groups));
  // Jobs with many rows of label 1 first: they are the hardest to spread evenly.
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
    return std::pair(a.positives, a.rows.size()) > std::pair(b.positives, b.rows.size());
  });
  std::vector<double> positives(num_folds, 0);
  std::vector<size_t> sizes(num_folds, 0);
  std::vector<size_t> folds(table.num_rows());
  for (const Group& group : groups) {
    size_t best = 0;
    for (size_t fold = 1; fold < num_folds; ++fold) {
      const auto fill = [&](size_t f) {
        return group.positives > 0 ? std::tuple(positives[f], static_cast<double>(sizes[f]))
                                   : std::tuple(static_cast<double>(sizes[f]), positives[f]);
      };
      if (fill(fold) < fill(best)) best = fold;
    }
    for (const size_t row : group.rows) folds[row] = best;
    positives[best] += group.positives;
    sizes[best] += group.rows.size();
  }
  return folds;
}

double TrainedClassifier::Score(const Eigen::VectorXd& features) const {
  const std::vector<Eigen::Index> indices(columns.begin(), columns.end());
  const Eigen::VectorXd kept = features(indices);
  const Eigen::VectorXd standardized = (kept - standardization.mean).cwiseQuotient(standardization.deviation);
  const double score = learner->Score(standardized.cwiseMax(-kFarAway).cwiseMin(kFarAway));
  return std::isfinite(score) ? score : 0;
}

TrainedClassifier TrainClassifier(const FeatureTable& table, LearnerKind kind, const FeatureSelection& selection,
                                  uint64_t seed) {
  FL_CHECK(!selection.kept.empty());
  TrainedClassifier classifier;
  classifier.columns = selection.kept;
  const FeatureTable part = table.Columns(selection.kept);
  classifier.standardization = Standardize(part.x);
  classifier.learner = TrainLearner(kind, classifier.standardization.Apply(part.x), part.y, seed);
  return classifier;
}

Result<std::vector<LearnerResult>> CompareLearners(const FeatureTable& table, std::span<const LearnerKind> kinds,
                                                   uint64_t seed, size_t num_folds) {
  if (std::set<size_t>(table.groups.begin(), table.groups.end()).size() < 2) {
    return InvalidArgument(
        "predictability: learners are compared on jobs that they have not seen, and need rows of at "
        "least two jobs; give more finished jobs");
  }
  const std::vector<size_t> folds = GroupedFolds(table, num_folds, seed);
  std::vector<LearnerResult> results;
  for (const LearnerKind kind : kinds) {
    results.push_back({.kind = kind, .metrics = {}, .scores = std::vector<double>(table.num_rows())});
  }
  for (size_t fold = 0; fold < num_folds; ++fold) {
    std::vector<size_t> rest;
    std::vector<size_t> held_out;
    for (size_t row = 0; row < folds.size(); ++row) (folds[row] == fold ? held_out : rest).push_back(row);
    if (held_out.empty()) continue;
    const FeatureTable training = table.Rows(rest);
    const FeatureSelection selection = SelectOrKeepAll(training, seed);
    for (LearnerResult& result : results) {
      const TrainedClassifier classifier = TrainClassifier(training, result.kind, selection, seed);
      for (const size_t row : held_out) {
        result.scores[row] = classifier.Score(table.x.row(static_cast<Eigen::Index>(row)).transpose());
      }
    }
  }
  const std::span<const double> labels(table.y.data(), table.num_rows());
  for (LearnerResult& result : results) result.metrics = MeasureClassifier(result.scores, labels);
  return results;
}

size_t BestLearner(std::span<const LearnerResult> results) {
  FL_CHECK(!results.empty());
  const auto better = [](const LearnerResult& a, const LearnerResult& b) {
    return std::pair(a.metrics.accuracy, -a.metrics.brier) < std::pair(b.metrics.accuracy, -b.metrics.brier);
  };
  return static_cast<size_t>(std::ranges::max_element(results, better) - results.begin());
}

}  // namespace fairlead::prediction
