#include "traffic/crux/level_stability.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

using Levels = std::vector<uint32_t>;
using InForce = std::vector<std::optional<uint32_t>>;

std::vector<double> Certain(const ContentionDag& dag) { return std::vector<double>(dag.num_jobs); }

double LossOf(const ContentionDag& dag, const Levels& levels) {
  double loss = 0;
  for (const Edge& edge : dag.edges) loss += levels[edge.upper] == levels[edge.lower] ? edge.weight : 0;
  return loss;
}

TEST(LevelStabilityTest, JobsWithoutNeighboursKeepTheirLevels) {
  const ContentionDag dag{.num_jobs = 3, .edges = {}};
  Levels levels = {0, 1, 2};
  KeepLevelsInForce(dag, InForce{5, std::nullopt, 0}, Certain(dag), 8, 0, &levels);
  EXPECT_EQ(levels, (Levels{5, 1, 0}));
}

TEST(LevelStabilityTest, WhatIsNoLongerValidGoes) {
  // The order has turned round: 0 goes before 1 now. And levels that the fabric has lost belong to no job.
  const ContentionDag dag{.num_jobs = 2, .edges = {{0, 1, 3}}};
  Levels levels = {0, 1};
  KeepLevelsInForce(dag, InForce{1, 0}, Certain(dag), 2, 10, &levels);
  EXPECT_EQ(levels, (Levels{0, 1}));
  KeepLevelsInForce(dag, InForce{1, 2}, Certain(dag), 2, 10, &levels);
  EXPECT_EQ(levels, (Levels{0, 1}));
}

TEST(LevelStabilityTest, HysteresisIsAShareOfTheWeight) {
  // In force 0 and 1 share a level and lose 1 of 4; new levels lose nothing.
  const ContentionDag dag{.num_jobs = 3, .edges = {{0, 1, 1}, {1, 2, 3}}};
  const InForce in_force = {0, 0, 1};
  for (const double hysteresis : {0.0, 0.24}) {
    Levels levels = {0, 1, 2};
    KeepLevelsInForce(dag, in_force, Certain(dag), 3, hysteresis, &levels);
    EXPECT_EQ(levels, (Levels{0, 1, 2})) << hysteresis;
  }
  Levels levels = {0, 1, 2};
  KeepLevelsInForce(dag, in_force, Certain(dag), 3, 0.25, &levels);
  EXPECT_EQ(levels, (Levels{0, 0, 1}));
}

TEST(LevelStabilityTest, UncertainDifferencesChangeNothing) {
  // In force 0 and 1 share a level, which loses 4; new levels put 1 and 2 together, which loses 3. The difference of 1
  // is uncertain by sqrt((4 u0)^2 + (3 u1)^2).
  const ContentionDag dag{.num_jobs = 3, .edges = {{0, 1, 4}, {1, 2, 3}}};
  const InForce in_force = {0, 0, 1};
  Levels levels = {0, 1, 1};
  KeepLevelsInForce(dag, in_force, std::vector<double>{0.2, 0.19, 5}, 2, 0, &levels);
  EXPECT_EQ(levels, (Levels{0, 1, 1})) << "0.8^2 + 0.57^2 = 0.965: certain; job 2 outranks nobody";
  KeepLevelsInForce(dag, in_force, std::vector<double>{0.2, 0.21, 0}, 2, 0, &levels);
  EXPECT_EQ(levels, (Levels{0, 0, 1})) << "0.8^2 + 0.63^2 = 1.04";
}

TEST(LevelStabilityTest, NeverLosesMoreThanAllowedAndStaysValid) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    ContentionDag dag{.num_jobs = static_cast<uint32_t>(1 + random.Below(8)), .edges = {}};
    double weight = 0;
    for (uint32_t lower = 1; lower < dag.num_jobs; ++lower) {
      for (uint32_t upper = 0; upper < lower; ++upper) {
        if (random.Below(3) != 0) continue;
        dag.edges.push_back({upper, lower, random.Uniform(0.1, 5)});
        weight += dag.edges.back().weight;
      }
    }
    const Levels fresh = CompressPriorities(dag, 3, {}, 1).levels;
    InForce in_force;
    for (uint32_t j = 0; j < dag.num_jobs; ++j) in_force.emplace_back(random.Below(4));
    for (const double hysteresis : {0.0, 0.2}) {
      Levels levels = fresh;
      KeepLevelsInForce(dag, in_force, Certain(dag), 3, hysteresis, &levels);
      EXPECT_LE(LossOf(dag, levels), LossOf(dag, fresh) + hysteresis * weight + 1e-9);
      for (const Edge& edge : dag.edges) EXPECT_LE(levels[edge.upper], levels[edge.lower]);
      for (const uint32_t level : levels) EXPECT_LT(level, 3u);
      // What was decided once stays.
      Levels again = fresh;
      KeepLevelsInForce(dag, InForce(levels.begin(), levels.end()), Certain(dag), 3, hysteresis, &again);
      EXPECT_EQ(again, levels);
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::crux
