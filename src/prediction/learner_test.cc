// The five learners: known rules, determinism, what is saved is what is loaded, broken files refused.
#include "prediction/learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "prediction/feature_table.h"
#include "prediction/logistic_regression.h"
#include "prediction/random_forest.h"

namespace fairlead::prediction {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Data {
  MatrixXd x;
  VectorXd y;
};

// Label 1 above the line x0 + x1 = 0.3; two columns have nothing to do with it.
Data LinearRule(uint64_t seed, Index rows) {
  Random random(seed);
  Data data{MatrixXd(rows, 4), VectorXd(rows)};
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < 4; ++j) data.x(i, j) = random.Uniform(-1.7, 1.7);
    data.y(i) = data.x(i, 0) + data.x(i, 1) > 0.3 ? 1 : 0;
  }
  return data;
}

double Accuracy(const Learner& learner, const Data& data) {
  double correct = 0;
  for (Index i = 0; i < data.x.rows(); ++i) {
    correct += (learner.Score(data.x.row(i).transpose()) >= 0.5) == (data.y(i) > 0.5);
  }
  return correct / static_cast<double>(data.x.rows());
}

class LearnerTest : public testing::TestWithParam<LearnerKind> {};
INSTANTIATE_TEST_SUITE_P(All, LearnerTest, testing::ValuesIn(kAllLearnerKinds),
                         [](const auto& each) { return std::string(Name(each.param)); });

// 300 rows of a rule without noise: nine in ten new rows must come out right, where a coin gets about 55 %.
TEST_P(LearnerTest, LearnsALine) {
  const Data training = LinearRule(1, 300);
  const auto learner = TrainLearner(GetParam(), training.x, training.y, 1);
  EXPECT_EQ(learner->kind(), GetParam());
  EXPECT_GE(Accuracy(*learner, LinearRule(2, 500)), 0.9);
}

TEST_P(LearnerTest, ScoresLieBetweenZeroAndOneEvenFarAway) {
  const Data training = LinearRule(1, 60);
  const auto learner = TrainLearner(GetParam(), training.x, training.y, 1);
  Random random(9);
  for (int i = 0; i < 100; ++i) {
    VectorXd far(4);
    for (double& v : far) v = random.Uniform(-1e6, 1e6);
    EXPECT_GE(learner->Score(far), 0);
    EXPECT_LE(learner->Score(far), 1);
  }
}

TEST_P(LearnerTest, SameSeedSameLearner) {
  const Data training = LinearRule(1, 60);
  const auto a = TrainLearner(GetParam(), training.x, training.y, 5);
  const auto b = TrainLearner(GetParam(), training.x, training.y, 5);
  EXPECT_EQ(a->ToJson(), b->ToJson());
}

TEST_P(LearnerTest, SavedAndLoadedScoresAreTheSame) {
  const Data training = LinearRule(1, 60);
  const auto learner = TrainLearner(GetParam(), training.x, training.y, 1);
  const nlohmann::json saved = nlohmann::json::parse(learner->ToJson().dump());
  const auto loaded = LearnerFromJson(GetParam(), saved, 4);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Data other = LinearRule(3, 50);
  for (Index i = 0; i < other.x.rows(); ++i) {
    EXPECT_EQ((*loaded)->Score(other.x.row(i).transpose()), learner->Score(other.x.row(i).transpose()));
  }
}

// Each entry of the file replaced by each of some wrong things, one at a time: refused, or still a learner that scores.
TEST_P(LearnerTest, BrokenContentIsRefusedOrHarmless) {
  const Data training = LinearRule(1, 20);
  const nlohmann::json good = TrainLearner(GetParam(), training.x, training.y, 1)->ToJson();
  EXPECT_FALSE(LearnerFromJson(GetParam(), nlohmann::json(), 4).ok());
  EXPECT_FALSE(LearnerFromJson(GetParam(), nlohmann::json::array(), 4).ok());
  for (const auto& [key, value] : good.items()) {
    for (const nlohmann::json& wrong : {nlohmann::json(), nlohmann::json("x"), nlohmann::json::array(),
                                        nlohmann::json::array({nlohmann::json::array({1, 2})})}) {
      nlohmann::json broken = good;
      broken[key] = wrong;
      EXPECT_FALSE(LearnerFromJson(GetParam(), broken, 4).ok()) << key << " = " << wrong;
    }
    nlohmann::json missing = good;
    missing.erase(key);
    EXPECT_FALSE(LearnerFromJson(GetParam(), missing, 4).ok()) << key;
  }
}

TEST_P(LearnerTest, OneClassAlwaysScoresThatClass) {
  Data training = LinearRule(1, 20);
  for (const double label : {0.0, 1.0}) {
    training.y.setConstant(label);
    const auto learner = TrainLearner(GetParam(), training.x, training.y, 1);
    EXPECT_EQ(learner->Score(training.x.row(0).transpose()), label);
  }
}

// With 9 in 10 rows of label 0 an unweighted learner may ignore the rest; balanced weights must find most of them.
TEST_P(LearnerTest, RareClassIsFound) {
  Data training = LinearRule(4, 400);
  training.y = (training.x.col(0) + training.x.col(1)).unaryExpr([](double v) { return v > 1.9 ? 1.0 : 0.0; });
  ASSERT_LT(training.y.mean(), 0.15);
  const auto learner = TrainLearner(GetParam(), training.x, training.y, 1);
  double found = 0;
  for (Index i = 0; i < training.x.rows(); ++i) {
    found += training.y(i) > 0.5 && learner->Score(training.x.row(i).transpose()) >= 0.5;
  }
  EXPECT_GE(found / training.y.sum(), GetParam() == LearnerKind::kSupportVector ? 0.5 : 0.8)
      << "Platt's map for support vectors sees the true frequencies";
}

// Trees with links that leave the list or run in circles would never end.
TEST(RandomForestTest, LinksThatDoNotGoForwardAreRefused) {
  const auto forest = [](nlohmann::json node) {
    const nlohmann::json leaf = {-1, 0.0, -1, 0.5};
    return nlohmann::json{{"trees", {{std::move(node), leaf, leaf}}}};
  };
  EXPECT_TRUE(RandomForest::FromJson(forest({0, 0.5, 2, 0.5}), 4).ok());
  for (const int right : {-1, 0, 1, 3}) EXPECT_FALSE(RandomForest::FromJson(forest({0, 0.5, right, 0.5}), 4).ok());
  EXPECT_FALSE(RandomForest::FromJson(forest({4, 0.5, 2, 0.5}), 4).ok()) << "no feature 4";
  EXPECT_FALSE(RandomForest::FromJson(forest({0, 0.5, 2, 1.5}), 4).ok()) << "no score";
}

TEST(RandomForestTest, ImportanceFindsTheColumnsOfTheRule) {
  const Data training = LinearRule(1, 300);
  const RandomForest forest = RandomForest::Train(training.x, training.y, VectorXd::Ones(300), {.num_trees = 50}, 1);
  const VectorXd& importance = forest.importance();
  EXPECT_NEAR(importance.sum(), 1, 1e-12);
  EXPECT_GT(std::min(importance(0), importance(1)), 2 * std::max(importance(2), importance(3)));
}

// One node by hand: x = 1 2 3 4 with labels 0 0 1 1. Gini of the root times its weight is 2 * 2 * 2 / 4 = 2, of both
// sides of 2.5 it is 0: the tree splits there and nowhere else.
TEST(RandomForestTest, SplitsWhereTheImpurityFallsMost) {
  MatrixXd x(40, 1);
  VectorXd y(40);
  for (Index i = 0; i < 40; ++i) {
    x(i, 0) = static_cast<double>(1 + i % 4);
    y(i) = x(i, 0) > 2.5 ? 1 : 0;
  }
  const RandomForest forest = RandomForest::Train(x, y, VectorXd::Ones(40), {.num_trees = 5}, 1);
  const nlohmann::json saved = forest.ToJson();
  ASSERT_EQ(saved["trees"].size(), 5u);
  for (const nlohmann::json& tree : saved["trees"]) {
    ASSERT_EQ(tree.size(), 3u);
    EXPECT_EQ(tree[0][1].get<double>(), 2.5);
  }
}

// At the optimum the gradient X^T v (p - y) + lambda w is 0.
TEST(LogisticRegressionTest, GradientVanishesAtTheOptimum) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Data data = LinearRule(seed, 50);
    const LogisticRegression model = LogisticRegression::Train(data.x, data.y, VectorXd::Ones(50));
    VectorXd error(50);
    for (Index i = 0; i < 50; ++i) error(i) = model.Score(data.x.row(i).transpose()) - data.y(i);
    const VectorXd gradient = data.x.transpose() * error + 1e-2 * model.coefficients();
    EXPECT_LT(gradient.cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_NEAR(error.sum(), 0, 1e-6);
  }
}

TEST(LogisticRegressionTest, SigmoidNeverOverflows) {
  EXPECT_EQ(Sigmoid(1e6), 1);
  EXPECT_EQ(Sigmoid(-1e6), 0);
  EXPECT_EQ(Sigmoid(0), 0.5);
}

TEST(FeatureTableTest, BalancedWeightsGiveBothClassesTheSameSum) {
  VectorXd y(10);
  y << 1, 1, 0, 0, 0, 0, 0, 0, 0, 0;
  const VectorXd weights = BalancedWeights(y);
  EXPECT_NEAR(weights.dot(y), 5, 1e-12);
  EXPECT_NEAR(weights.sum(), 10, 1e-12);
}

}  // namespace
}  // namespace fairlead::prediction
