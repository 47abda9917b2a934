// The two experiments on predictions: every row is set, runs repeat, and what must hold whatever the data.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <string_view>

#include "experiment/experiment_runner.h"
#include "experiments/all_experiments.h"

namespace fairlead::experiments {
namespace {

experiment::ExperimentResult RunReduced(std::string_view name) {
  const std::atomic<bool> stop = false;
  experiment::RunOptions options;
  options.reduced = true;
  for (const experiment::Experiment& entry : AllExperiments()) {
    if (entry.name != name) continue;
    auto result = RunExperiment(entry, options, stop, nullptr);
    FL_CHECK_MSG(result.ok(), result.status().message());
    return std::move(*result);
  }
  FL_CHECK_MSG(false, "no such experiment");
  return {};
}

double OursOf(const experiment::ExperimentResult& result, std::string_view row) {
  for (const experiment::ResultRow& candidate : result.rows) {
    if (candidate.published.name == row) return candidate.ours.value_or(std::nan(""));
  }
  ADD_FAILURE() << "no row " << row;
  return std::nan("");
}

// With 10 % noise no model can be nearer than the noise itself: 8.7 % on average for a uniform one of that deviation
// (0.1 x sqrt(3) / 2). Ten rows can't do better than all of them.
TEST(AiturboSpeedModelTest, ErrorsOfGeneratedModelsAreThoseOfTheirNoise) {
  const experiment::ExperimentResult result = RunReduced("aiturbo-speed-model");
  const double all_rows = OursOf(result, "generated: all rows, mean error");
  EXPECT_NEAR(all_rows, 8.7, 0.6);
  EXPECT_GT(OursOf(result, "generated: ten rows, mean error"), all_rows);
}

TEST(AiturboClassifierTest, LearnersBeatTheMajorityAndRunsRepeat) {
  const experiment::ExperimentResult a = RunReduced("aiturbo-classifier");
  const experiment::ExperimentResult b = RunReduced("aiturbo-classifier");
  EXPECT_GT(OursOf(a, "best learner: accuracy"), OursOf(a, "always the more frequent label: accuracy"));
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) EXPECT_EQ(a.rows[i].ours, b.rows[i].ours) << a.rows[i].published.name;
}

}  // namespace
}  // namespace fairlead::experiments
