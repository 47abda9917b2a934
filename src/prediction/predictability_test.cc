// Labels, the one-way flip, the generator, and the model's file.
#include "prediction/predictability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"
#include "prediction/job_generator.h"
#include "prediction/predictability_model.h"

namespace fairlead::prediction {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(LabelPrefixesTest, SmoothJobsBecomePredictableAndStaySo) {
  JobRecord job;
  const ConvergenceCurve curve{.scale = 2, .slope = 0.1, .offset = 1, .floor = 0.1};
  for (int epoch = 1; epoch <= 40; ++epoch) job.epochs.push_back({epoch * 1.0, curve.LossAt(epoch), 1});
  job.description.target_loss = curve.LossAt(40);
  const std::vector<int> labels = LabelPrefixes(job, 40);
  ASSERT_EQ(labels.size(), 35u) << "prefixes of 5 … 39 epochs; at 40 the job is over";
  EXPECT_TRUE(std::ranges::all_of(labels, [](int label) { return label == 1; })) << "without noise, from the start";
  EXPECT_TRUE(std::ranges::is_sorted(labels));
}

TEST(LabelPrefixesTest, LaterMissesTakeEarlierLabelsAway) {
  for (const GeneratedJob& job : GenerateJobs({.seed = 3, .num_jobs = 40})) {
    const std::vector<int> labels = LabelPrefixes(job.record, job.true_end);
    EXPECT_TRUE(std::ranges::is_sorted(labels)) << "0 … 0 1 … 1";
    if (job.kind == CurveKind::kDivergent) {
      EXPECT_EQ(std::ranges::count(labels, 1), 0);
    }
  }
  EXPECT_TRUE(LabelPrefixes({}, 100).empty());
}

TEST(FlipTest, NeedsTwoScoresInARow) {
  PredictabilityState state;
  state = AfterScore(state, Seconds(0), 0.9);
  EXPECT_FALSE(state.is_predictable);
  state = AfterScore(state, Seconds(240), 0.4);
  state = AfterScore(state, Seconds(480), 0.9);
  EXPECT_FALSE(state.is_predictable) << "not in a row";
  state = AfterScore(state, Seconds(720), 0.5);
  EXPECT_TRUE(state.is_predictable) << "0.5 is enough";
  EXPECT_EQ(state.flipped_at, Seconds(720));
}

TEST(FlipTest, NeverFlipsBackAndSwingsFlipAtMostOnce) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    PredictabilityState state;
    int flips = 0;
    for (int i = 0; i < 50; ++i) {
      const bool before = state.is_predictable;
      const double score = random.Below(20) == 0 ? kNan : 0.5 + random.Uniform(-0.01, 0.01);
      state = AfterScore(state, Seconds(240.0 * i), score);
      if (random.Below(3) == 0) state = AfterError(state, random.Uniform(0, 2));
      EXPECT_GE(state.is_predictable, before) << "once predictable, always predictable";
      flips += state.is_predictable && !before;
    }
    EXPECT_LE(flips, 1);
  }
}

TEST(FlipTest, EvaluationsAreAtLeastFourMinutesApart) {
  PredictabilityState state;
  EXPECT_TRUE(IsEvaluationDue(state, Seconds(0)));
  state = AfterScore(state, Seconds(10), 0.1);
  EXPECT_FALSE(IsEvaluationDue(state, Seconds(249)));
  EXPECT_TRUE(IsEvaluationDue(state, Seconds(250)));
}

TEST(FlipTest, TwoLargeErrorsInARowWithdrawThePrediction) {
  PredictabilityState state;
  state = AfterError(state, 0.6);
  state = AfterError(state, 0.5);
  state = AfterError(state, 0.6);
  EXPECT_EQ(state.num_withdrawn, 0);
  state = AfterError(state, kNan);
  EXPECT_EQ(state.num_withdrawn, 1) << "an error that is no number counts as large";
}

TEST(JobFeaturesTest, AreFiniteWhateverTheLog) {
  for (const GeneratedJob& job : GenerateJobs({.seed = 8, .num_jobs = 60})) {
    for (size_t length = 0; length <= job.record.epochs.size(); length += 7) {
      const auto part = std::span(job.record.epochs).first(length);
      for (const double value : ComputeFeatures(job.record.description, part)) EXPECT_TRUE(std::isfinite(value));
    }
  }
  const std::vector<EpochReport> broken = {{kNan, kNan, kNan}, {1, -1, -1}, {1, 1e308, 1e308}, {0, 1e-308, 0}};
  JobDescription odd;
  odd.parameters = -1;
  odd.learning_rate = kNan;
  for (const double value : ComputeFeatures(odd, broken)) EXPECT_TRUE(std::isfinite(value));
}

TEST(JobGeneratorTest, SameSeedSameJobsAndMoreJobsKeepTheFirst) {
  const auto few = GenerateJobs({.seed = 4, .num_jobs = 10});
  const auto many = GenerateJobs({.seed = 4, .num_jobs = 30});
  const auto other = GenerateJobs({.seed = 5, .num_jobs = 10});
  int num_same = 0;
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].record.description.parameters, many[i].record.description.parameters);
    EXPECT_EQ(few[i].record.epochs.back().iteration, many[i].record.epochs.back().iteration);
    num_same += few[i].record.description.parameters == other[i].record.description.parameters;
  }
  EXPECT_EQ(num_same, 0);
}

TEST(JobGeneratorTest, EachKindIsAsNamed) {
  size_t num_of[kNumCurveKinds] = {};
  for (const GeneratedJob& job : GenerateJobs({.seed = 6, .num_jobs = 200})) {
    ++num_of[static_cast<size_t>(job.kind)];
    const auto& epochs = job.record.epochs;
    const double last = epochs.back().loss;
    if (job.kind == CurveKind::kDivergent) {
      EXPECT_TRUE(std::isnan(last) || last > job.record.description.target_loss);
      EXPECT_TRUE(std::isinf(job.true_end));
    } else {
      EXPECT_LT(last, epochs.front().loss);
      EXPECT_EQ(job.true_end, epochs.back().iteration);
    }
    EXPECT_EQ(job.record.description.rate_drops.size(), job.kind == CurveKind::kDrops ? 2u : 0u);
  }
  // 200 jobs in shares of 40, 25, 20 and 15 %: a standard deviation is at most 7.
  EXPECT_NEAR(num_of[0], 80, 28);
  EXPECT_NEAR(num_of[3], 30, 21);
}

class PredictabilityModelTest : public testing::Test {
 protected:
  static PredictabilityModel TrainSmall(LearnerKind kind) {
    const FeatureTable table = MakeTrainingTable(ToJobTable(GenerateJobs({.seed = 2, .num_jobs = 16})), 3);
    return PredictabilityModel::Train(table, kind, SelectFeatures(table, 1), 1);
  }
};

TEST_F(PredictabilityModelTest, SavedAndParsedScoresAreTheSame) {
  for (const LearnerKind kind : kAllLearnerKinds) {
    SCOPED_TRACE(Name(kind));
    const PredictabilityModel model = TrainSmall(kind);
    const auto parsed = PredictabilityModel::Parse(model.ToText(), "model.json");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    for (const GeneratedJob& job : GenerateJobs({.seed = 77, .num_jobs = 10})) {
      const FeatureValues features = ComputeFeatures(job.record.description, job.record.epochs);
      EXPECT_EQ(parsed->Score(features), model.Score(features));
    }
  }
}

// Squares of distances to such jobs are no numbers any more: a job that is as far from all others is no reason for a
// score that is none.
TEST_F(PredictabilityModelTest, JobsUnlikeAllOthersHaveScores) {
  for (const LearnerKind kind : kAllLearnerKinds) {
    SCOPED_TRACE(Name(kind));
    const PredictabilityModel model = TrainSmall(kind);
    for (const double value : {-1e300, -1e9, 1e9, 1e300}) {
      FeatureValues features{};
      features.fill(value);
      const double score = model.Score(features);
      EXPECT_GE(score, 0) << value;
      EXPECT_LE(score, 1) << value;
    }
  }
}

TEST_F(PredictabilityModelTest, ExplanationNamesWhatMovedTheScore) {
  const PredictabilityModel model = TrainSmall(LearnerKind::kLogisticRegression);
  for (const GeneratedJob& job : GenerateJobs({.seed = 77, .num_jobs = 5})) {
    const FeatureValues features = ComputeFeatures(job.record.description, job.record.epochs);
    const std::vector<ScoreInfluence> influences = model.Explain(features);
    ASSERT_EQ(influences.size(), model.num_features());
    for (size_t i = 1; i < influences.size(); ++i) {
      EXPECT_LE(std::abs(influences[i].moved), std::abs(influences[i - 1].moved));
    }
    for (const ScoreInfluence& influence : influences) {
      // Put the usual value in by hand: the score must fall by the stated amount.
      FeatureValues changed = features;
      const auto at = std::ranges::find(kFeatureNames, influence.feature) - kFeatureNames.begin();
      changed[static_cast<size_t>(at)] = influence.usual;
      EXPECT_NEAR(model.Score(features) - model.Score(changed), influence.moved, 1e-12);
    }
  }
}

TEST_F(PredictabilityModelTest, FilesThatWereCutEditedOrAreOfAnotherVersionAreRefused) {
  const std::string text = TrainSmall(LearnerKind::kLogisticRegression).ToText();
  const auto message = [](const std::string& content) {
    return PredictabilityModel::Parse(content, "m.json").status().message();
  };
  EXPECT_THAT(message(""), HasSubstr("m.json: is no predictability model"));
  EXPECT_THAT(message("{}"), HasSubstr("is no predictability model"));
  EXPECT_THAT(message(text.substr(0, text.size() / 2)), HasSubstr("is no predictability model"));
  std::string newer = text;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_THAT(message(newer), HasSubstr("has version 2, this release reads version 1"));
  std::string edited = text;
  edited.replace(edited.find("logistic"), 8, "nonsense");
  EXPECT_THAT(message(edited), HasSubstr("checksum"));
  EXPECT_THAT(PredictabilityModel::Load("/nonexistent/m.json").status().message(), HasSubstr("predict train"));
}

}  // namespace
}  // namespace fairlead::prediction
