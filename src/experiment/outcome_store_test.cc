#include "experiment/outcome_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/temporary_folder.h"
#include "experiment/experiment_runner.h"

namespace fairlead::experiment {
namespace {

int num_runs = 0;

Result<Outcome> RunCounted(const RunContext& context) {
  Outcome outcome;
  outcome.Set("a", static_cast<double>(context.seed) + 0.1);
  outcome.Set("b", std::numeric_limits<double>::quiet_NaN());
  outcome.figures.push_back({"heading", "<svg>\"&</svg>", "caption"});
  outcome.answer = "an answer";
  outcome.tables.push_back(
      {"table", {"a", "b"}, {{"text", 1.25}, {"", std::numeric_limits<double>::quiet_NaN()}}, true});
  outcome.Set("draws", context.num_draws);
  outcome.notes = {"run number " + std::to_string(++num_runs)};
  outcome.is_partial = context.should_stop();
  return outcome;
}

class OutcomeStoreTest : public testing::Test {
 protected:
  OutcomeStoreTest() { num_runs = 0; }

  ExperimentResult Run(RunOptions options = {}) {
    options.keep_folder = folder_.path();
    const Experiment experiment{
        .name = "counted",
        .paper_yaml =
            "title: t\npaper: p\nseed: 5\nrows:\n  - {name: a, unit: s, low: 1}\n  - {name: b, unit: s}\n  - {name: "
            "draws, unit: draws}\n",
        .run = RunCounted,
        .has_draws = true};
    return RunExperiment(experiment, options, stop_, nullptr).value();
  }
  std::string File() const { return folder_.File("counted.json"); }

  const TemporaryFolder folder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(OutcomeStoreTest, TheSecondRunIsTheFirstOne) {
  const ExperimentResult first = Run();
  EXPECT_FALSE(first.is_kept);
  const ExperimentResult second = Run();
  EXPECT_TRUE(second.is_kept);
  EXPECT_EQ(num_runs, 1);
  EXPECT_EQ(second.wall_s, first.wall_s);
  EXPECT_EQ(second.notes, first.notes);
  EXPECT_EQ(second.answer, "an answer");
  ASSERT_EQ(second.tables.size(), 1u);
  EXPECT_EQ(second.tables[0].title, "table");
  EXPECT_EQ(second.tables[0].columns, first.tables[0].columns);
  EXPECT_TRUE(second.tables[0].is_long);
  ASSERT_EQ(second.tables[0].lines.size(), 2u);
  EXPECT_EQ(second.tables[0].lines[0], first.tables[0].lines[0]);
  EXPECT_EQ(std::get<std::string>(second.tables[0].lines[1][0]), "");
  EXPECT_TRUE(std::isnan(std::get<double>(second.tables[0].lines[1][1])));
  ASSERT_EQ(second.rows.size(), 3u);
  EXPECT_EQ(second.rows[0].ours, 5.1);
  EXPECT_EQ(second.rows[1].ours, std::nullopt);
  ASSERT_EQ(second.figures.size(), 1u);
  EXPECT_EQ(second.figures[0].heading, first.figures[0].heading);
  EXPECT_EQ(second.figures[0].svg, first.figures[0].svg);
  EXPECT_EQ(second.figures[0].caption, first.figures[0].caption);
}

TEST_F(OutcomeStoreTest, AnotherSeedOrSettingIsAnotherRun) {
  Run();
  EXPECT_FALSE(Run({.seed = 6}).is_kept);
  EXPECT_FALSE(Run({.reduced = true}).is_kept);
  const ExperimentResult drawn = Run({.num_draws = 7});
  EXPECT_FALSE(drawn.is_kept);
  EXPECT_EQ(drawn.rows[2].ours, 7);
  EXPECT_FALSE(Run().is_kept) << "one outcome is kept, the last one";
  EXPECT_EQ(num_runs, 5);
}

TEST_F(OutcomeStoreTest, WhatWasStoppedIsNotKept) {
  stop_ = true;
  EXPECT_TRUE(Run().is_partial);
  EXPECT_FALSE(std::filesystem::exists(File()));
}

TEST_F(OutcomeStoreTest, FilesThatAreNotOursAreRunAgain) {
  for (const char* content : {"", "{", "[]", "null", "{\"run\": 1}", "\xff\xfe"}) {
    std::ofstream(File()) << content;
    EXPECT_FALSE(Run().is_kept) << content;
    EXPECT_TRUE(Run().is_kept) << content;
  }
  // Of the right run, but with the values removed.
  std::ifstream in(File());
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  text.replace(text.find("\"values\""), 8, "\"velues\"");
  std::ofstream(File()) << text;
  EXPECT_FALSE(Run().is_kept);
}

TEST_F(OutcomeStoreTest, AFolderThatIsGoneIsAnError) {
  std::filesystem::remove_all(folder_.path());
  const OutcomeStore store(folder_.path());
  EXPECT_EQ(store.Keep({"counted", 5, false}, {}).code(), StatusCode::kNotFound);
  EXPECT_FALSE(store.Find({"counted", 5, false}).has_value());
}

}  // namespace
}  // namespace fairlead::experiment
