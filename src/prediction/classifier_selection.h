// Which of the five learners predicts best, judged on jobs that it has not seen?
//
// Method      stratified five-fold cross-validation grouped by job: rows of one job are never in two folds, and each
//             fold gets its share of label 1. Features are selected and standardised again on the training part of each
//             fold, so nothing leaks. The most accurate learner wins; ties go to the smaller Brier score.
// Cost        five trainings of each learner.
// Guarantees  every row is scored exactly once, by a learner that saw no row of its job. Same input and seed, same
//             answer.
// Reference   Zhao et al., AITurbo, HPDC 2021 (learners); folds and the rule of choice are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "prediction/classifier_metrics.h"
#include "prediction/feature_selection.h"
#include "prediction/feature_table.h"
#include "prediction/learner.h"

namespace fairlead::prediction {

// [row] -> fold. Args: num_folds >= 2. With fewer jobs than folds some folds are empty.
std::vector<size_t> GroupedFolds(const FeatureTable& table, size_t num_folds, uint64_t seed);

struct LearnerResult {
  LearnerKind kind = LearnerKind::kRandomForest;
  ClassifierMetrics metrics;
  std::vector<double> scores;  // [row] from the fold in which the row was held out
};

// One result for each kind, in the order of `kinds`. Errors: kInvalidArgument when the rows belong to fewer than two
// jobs.
Result<std::vector<LearnerResult>> CompareLearners(const FeatureTable& table, std::span<const LearnerKind> kinds,
                                                   uint64_t seed, size_t num_folds = 5);

// Index of the best. Args: not empty.
size_t BestLearner(std::span<const LearnerResult> results);

// A learner with the features that it looks at.
struct TrainedClassifier {
  std::vector<size_t> columns;  // kept, of the table
  Standardization standardization;
  std::unique_ptr<Learner> learner;

  // Args: all features of the table. Deviations beyond a million from the mean count as a million, so that no learner
  // overflows. Returns: in [0, 1]; 0, unpredictable, where a learner read from a file gives no number.
  double Score(const Eigen::VectorXd& features) const;
};
TrainedClassifier TrainClassifier(const FeatureTable& table, LearnerKind kind, const FeatureSelection& selection,
                                  uint64_t seed);

}  // namespace fairlead::prediction
