#include "experiment/experiment_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fairlead::experiment {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPaper =
    "title: t\npaper: p\nseed: 5\nrows:\n  - {name: a, unit: s, low: 1}\n  - {name: b, unit: s}\n";

PaperTable ExampleTable() { return ParsePaperTable(kPaper, "paper.yaml").value(); }

Outcome OutcomeWith(std::vector<std::pair<std::string, double>> values) {
  Outcome outcome;
  outcome.values = std::move(values);
  return outcome;
}

ResultRow RowWith(std::optional<double> low, std::optional<double> high, std::optional<double> ours) {
  ResultRow row;
  row.published.low = low;
  row.published.high = high;
  row.ours = ours;
  return row;
}

TEST(ResultRowTest, InsideIncludesBothEnds) {
  EXPECT_EQ(RowWith(1, 2, 1).inside(), true);
  EXPECT_EQ(RowWith(1, 2, 2).inside(), true);
  EXPECT_EQ(RowWith(1, 2, std::nextafter(1, 0)).inside(), false);
  EXPECT_EQ(RowWith(1, 2, std::nextafter(2, 3)).inside(), false);
}

TEST(ResultRowTest, OneSidedBands) {
  EXPECT_EQ(RowWith(1, std::nullopt, 1e9).inside(), true);
  EXPECT_EQ(RowWith(1, std::nullopt, 0.9).inside(), false);
  EXPECT_EQ(RowWith(std::nullopt, 1, -1e9).inside(), true);
  EXPECT_EQ(RowWith(std::nullopt, 1, 1.1).inside(), false);
}

TEST(ResultRowTest, NoVerdictWithoutBandOrNumber) {
  EXPECT_EQ(RowWith(std::nullopt, std::nullopt, 1).inside(), std::nullopt);
  EXPECT_EQ(RowWith(1, 2, std::nullopt).inside(), std::nullopt);
}

TEST(JoinRowsTest, KeepsThePapersOrder) {
  const auto rows = JoinRows(ExampleTable(), OutcomeWith({{"b", 2}, {"a", 1}}));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].published.name, "a");
  EXPECT_EQ((*rows)[0].ours, 1.0);
  EXPECT_EQ((*rows)[1].ours, 2.0);
}

TEST(JoinRowsTest, EveryRowNeedsAValueAndEveryValueARow) {
  EXPECT_THAT(JoinRows(ExampleTable(), OutcomeWith({{"a", 1}})).status().message(), HasSubstr("'b'"));
  EXPECT_THAT(JoinRows(ExampleTable(), OutcomeWith({{"a", 1}, {"b", 2}, {"c", 3}})).status().message(),
              HasSubstr("'c'"));
  EXPECT_THAT(JoinRows(ExampleTable(), OutcomeWith({{"a", 1}, {"b", 2}, {"b", 3}})).status().message(),
              HasSubstr("twice"));
}

TEST(JoinRowsTest, WhatWasStoppedMayLackValuesButNotHaveStrangers) {
  Outcome outcome = OutcomeWith({{"a", 1}});
  outcome.is_partial = true;
  const auto rows = JoinRows(ExampleTable(), outcome);
  ASSERT_TRUE(rows.ok());
  EXPECT_FALSE((*rows)[1].ours.has_value());
  outcome.Set("c", 1);
  EXPECT_FALSE(JoinRows(ExampleTable(), outcome).ok());
}

TEST(JoinRowsTest, UnknownNumbersAreMissing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto rows = JoinRows(ExampleTable(), OutcomeWith({{"a", nan}, {"b", 1 / 0.0}}));
  ASSERT_TRUE(rows.ok());
  EXPECT_FALSE((*rows)[0].ours.has_value());
  EXPECT_FALSE((*rows)[1].ours.has_value());
  EXPECT_EQ((*rows)[0].inside(), std::nullopt);
}

// The context comes back as numbers.
Result<Outcome> Echo(const RunContext& context) {
  Outcome outcome;
  outcome.Set("a", static_cast<double>(context.seed));
  outcome.Set("b", context.reduced ? 1 : 0);
  context.Report(1);
  return outcome;
}

TEST(RunExperimentTest, SeedIsThePapersUnlessTheUserNamesOne) {
  const Experiment experiment{"echo", kPaper, Echo};
  const std::atomic<bool> stop = false;
  double progress = 0;
  const auto result = RunExperiment(experiment, {}, stop, [&](double fraction) { progress = fraction; });
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->name, "echo");
  EXPECT_EQ(result->seed, 5u);
  EXPECT_EQ(result->rows[0].ours, 5.0);
  EXPECT_EQ(result->rows[1].ours, 0.0);
  EXPECT_EQ(progress, 1);
  const auto other = RunExperiment(experiment, {.reduced = true, .seed = 9}, stop, nullptr);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->seed, 9u);
  EXPECT_TRUE(other->is_reduced);
  EXPECT_EQ(other->rows[0].ours, 9.0);
  EXPECT_EQ(other->rows[1].ours, 1.0);
}

TEST(RunExperimentTest, ErrorsNameTheExperiment) {
  const std::atomic<bool> stop = false;
  const Experiment failing{"failing", kPaper,
                           [](const RunContext&) -> Result<Outcome> { return NotFound("no fabric"); }};
  EXPECT_EQ(RunExperiment(failing, {}, stop, nullptr).status().message(), "experiment failing: no fabric");
  const Experiment forgetful{"forgetful", kPaper, [](const RunContext&) -> Result<Outcome> { return Outcome(); }};
  const auto result = RunExperiment(forgetful, {}, stop, nullptr);
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
  EXPECT_THAT(result.status().message(), HasSubstr("forgetful"));
}

}  // namespace
}  // namespace fairlead::experiment
