// Choosing a classifier: folds, features, measures; and how well it does on jobs it has not seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "prediction/classifier_selection.h"
#include "prediction/job_generator.h"
#include "prediction/predictability_model.h"
#include "prediction/public_curves.h"

namespace fairlead::prediction {
namespace {

using testing::HasSubstr;

FeatureTable GeneratedTable(uint64_t seed, size_t num_jobs, size_t stride) {
  return MakeTrainingTable(ToJobTable(GenerateJobs({.seed = seed, .num_jobs = num_jobs})), stride);
}

TEST(GroupedFoldsTest, JobsAreNeverSplitAndLabelsAreSpread) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FeatureTable table;
    const size_t num_rows = 200;
    table.x = Eigen::MatrixXd::Zero(num_rows, 1);
    table.y = Eigen::VectorXd::Zero(num_rows);
    table.names = {"a"};
    for (size_t row = 0; row < num_rows; ++row) {
      table.groups.push_back(random.Below(40));
      table.y(static_cast<Eigen::Index>(row)) = static_cast<double>(random.Below(2));
    }
    const std::vector<size_t> folds = GroupedFolds(table, 5, seed);
    std::vector<std::set<size_t>> of_group(40);
    std::vector<double> positives(5, 0);
    for (size_t row = 0; row < num_rows; ++row) {
      of_group[table.groups[row]].insert(folds[row]);
      positives[folds[row]] += table.y(static_cast<Eigen::Index>(row));
    }
    for (const auto& used : of_group) EXPECT_LE(used.size(), 1u);
    // Given greedily, a fold gets at most one job's positives (here 15 or fewer) more than the least filled.
    const auto [low, high] = std::ranges::minmax(positives);
    EXPECT_LE(high - low, 15);
  }
}

// Scores 0.9 0.8 0.4 0.2 0.6, labels 1 0 1 0 1: predicted 1 for the 1st, 2nd, 5th. Right: 1st, 4th, 5th = 3 of 5;
// precision 2/3; recall 2/3; Brier (0.01 + 0.64 + 0.36 + 0.04 + 0.16) / 5 = 0.242.
TEST(ClassifierMetricsTest, WorkedExample) {
  const std::vector<double> scores = {0.9, 0.8, 0.4, 0.2, 0.6};
  const std::vector<double> labels = {1, 0, 1, 0, 1};
  const ClassifierMetrics m = MeasureClassifier(scores, labels);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.6);
  EXPECT_DOUBLE_EQ(m.majority, 0.6);
  EXPECT_DOUBLE_EQ(m.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.recall, 2.0 / 3);
  EXPECT_NEAR(m.brier, 0.242, 1e-12);
  EXPECT_EQ(m.calibration[9].count, 1u);
  EXPECT_EQ(m.calibration[4].count, 1u);
  EXPECT_DOUBLE_EQ(m.calibration[8].mean_score, 0.8);
  EXPECT_DOUBLE_EQ(m.calibration[8].positive_share, 0);
  EXPECT_EQ(MeasureClassifier({}, {}).count, 0u);
}

TEST(FeatureSelectionTest, DropsConstantBrokenRedundantAndIdleColumns) {
  Random random(1);
  const Eigen::Index rows = 400;
  FeatureTable table;
  table.names = {"signal", "copy", "constant", "broken", "idle"};
  table.x.resize(rows, 5);
  table.y.resize(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double signal = random.Uniform(-1, 1);
    table.x.row(i) << signal, std::exp(signal), 3, (i == 7 ? std::nan("") : signal), random.Uniform();
    table.y(i) = signal > 0 ? 1 : 0;
    table.groups.push_back(static_cast<size_t>(i));
  }
  const FeatureSelection selection = SelectFeatures(table, 1, {.num_top = 2});
  EXPECT_EQ(selection.kept.size(), 1u);
  EXPECT_LE(selection.kept[0], 1u) << "the signal or its copy";
  EXPECT_THAT(selection.statistics[1 - selection.kept[0]].reason, HasSubstr("nearly the same as"));
  EXPECT_EQ(selection.statistics[2].reason, "is the same everywhere");
  EXPECT_EQ(selection.statistics[3].reason, "has values that are not finite");
  EXPECT_THAT(selection.statistics[4].reason, HasSubstr("little to do with the label"));
}

TEST(CompareLearnersTest, OneJobIsRefused) {
  FeatureTable table = GeneratedTable(1, 1, 1);
  EXPECT_THAT(CompareLearners(table, kAllLearnerKinds, 1).status().message(), HasSubstr("at least two jobs"));
}

// The specification's target on generated jobs. The kinds and their models go together in nine of ten jobs.
TEST(CompareLearnersTest, GeneratedJobsAreDistinguished) {
  const FeatureTable table = GeneratedTable(1, 100, 5);
  const auto results = CompareLearners(table, kAllLearnerKinds, 1);
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (const LearnerResult& result : *results) {
    RecordProperty(std::string(Name(result.kind)), std::to_string(result.metrics.accuracy));
    EXPECT_EQ(result.metrics.count, table.num_rows());
    EXPECT_GT(result.metrics.accuracy, result.metrics.majority) << Name(result.kind);
  }
  const LearnerResult& best = (*results)[BestLearner(*results)];
  RecordProperty("majority", std::to_string(best.metrics.majority));
  EXPECT_GE(best.metrics.accuracy, 0.9) << Name(best.kind);
}

TEST(CompareLearnersTest, SameSeedSameScores) {
  const FeatureTable table = GeneratedTable(2, 15, 5);
  const auto a = CompareLearners(table, kAllLearnerKinds, 3);
  const auto b = CompareLearners(table, kAllLearnerKinds, 3);
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < a->size(); ++i) EXPECT_EQ((*a)[i].scores, (*b)[i].scores);
}

// The 40 published curves, where present: not worse than always saying the more frequent label.
TEST(CompareLearnersTest, PublicCurvesAreNotWorseThanTheMajority) {
  const std::string folder = std::string(FAIRLEAD_SOURCE_DIR) + "/../shared/data/pollux-osdi21";
  const auto curves = LoadPublicCurves(folder);
  if (!curves.ok()) GTEST_SKIP() << curves.status().message();
  EXPECT_EQ(curves->jobs.size(), 40u);
  const FeatureTable table = MakeTrainingTable(*curves);
  const auto results = CompareLearners(table, kAllLearnerKinds, 1);
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (const LearnerResult& result : *results) {
    RecordProperty(std::string(Name(result.kind)), std::to_string(result.metrics.accuracy));
  }
  const ClassifierMetrics& best = (*results)[BestLearner(*results)].metrics;
  RecordProperty("majority", std::to_string(best.majority));
  RecordProperty("rows", std::to_string(best.count));
  EXPECT_GE(best.accuracy, best.majority);
}

}  // namespace
}  // namespace fairlead::prediction
