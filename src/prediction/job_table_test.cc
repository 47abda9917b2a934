// The CSV files of jobs and curves: written and read is the same; wrong lines are named.
#include "prediction/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "prediction/job_generator.h"
#include "prediction/speed_table.h"

namespace fairlead::prediction {
namespace {

using testing::HasSubstr;

class TableFilesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = folder_.File(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string LoadMessage(const std::string& jobs, const std::string& curves) const {
    return LoadJobTable(Write("jobs.csv", jobs), Write("curves.csv", curves)).status().message();
  }

  const TemporaryFolder folder_;
};

TEST_F(TableFilesTest, WrittenAndReadIsTheSame) {
  const JobTable table = ToJobTable(GenerateJobs({.seed = 1, .num_jobs = 12}));
  const auto loaded = LoadJobTable(Write("jobs.csv", JobsToCsv(table)), Write("curves.csv", CurvesToCsv(table)));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(loaded->has_ends);
  EXPECT_EQ(loaded->true_ends, table.true_ends);
  ASSERT_EQ(loaded->jobs.size(), table.jobs.size());
  // The text of a table determines it, NaN losses included.
  EXPECT_EQ(JobsToCsv(*loaded), JobsToCsv(table));
  EXPECT_EQ(CurvesToCsv(*loaded), CurvesToCsv(table));
}

TEST_F(TableFilesTest, LittleIsEnough) {
  const auto table =
      LoadJobTable(Write("jobs.csv", "job\na\nb\n"), Write("curves.csv", "job,iteration,loss\na,1,nan\n"));
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_FALSE(table->has_ends);
  EXPECT_TRUE(std::isnan(table->jobs[0].epochs[0].loss)) << "a loss of NaN is data";
  EXPECT_TRUE(table->jobs[1].epochs.empty());
  EXPECT_TRUE(std::isinf(table->true_ends[0]));
}

TEST_F(TableFilesTest, WrongLinesAreNamed) {
  const std::string curves = "job,iteration,loss\na,1,2\n";
  EXPECT_THAT(LoadMessage("job\na\na\n", curves), HasSubstr("jobs.csv:3: job 'a' appears here a second time"));
  EXPECT_THAT(LoadMessage("job,layers\na,many\n", curves), HasSubstr("jobs.csv:2: layers: expected a number"));
  EXPECT_THAT(LoadMessage("job,layers\na,-1\n", curves), HasSubstr("jobs.csv:2: layers: expected a number from 0"));
  EXPECT_THAT(LoadMessage("job,schedule\na,magic\n", curves),
              HasSubstr("schedule: expected constant, drops or smooth"));
  EXPECT_THAT(LoadMessage("job,rate_drops\na,20;10\n", curves), HasSubstr("rate_drops: expected growing iterations"));
  EXPECT_THAT(LoadMessage("job\n", curves), HasSubstr("has no jobs"));
  EXPECT_THAT(LoadMessage("job\na\n", "job,iteration,loss\nz,1,2\n"), HasSubstr("curves.csv:2: job 'z' is not in"));
  EXPECT_THAT(LoadMessage("job\na\n", "job,iteration,loss\na,1,\n"), HasSubstr("loss: expected a number, found ''"));
}

TEST_F(TableFilesTest, SpeedTableTakesTimesOrSpeeds) {
  const auto table = LoadSpeedTable(
      Write("s.csv", "model,global_batch,num_ps,num_workers,total_samples_per_s\na,64,1,2,32\na,64,2,2,0\n"));
  ASSERT_TRUE(table.ok()) << table.status().message();
  const auto& observations = table->at("a");
  ASSERT_EQ(observations.size(), 2u);
  EXPECT_EQ(observations[0].iteration_time, Seconds(2)) << "64 samples at 32 a second";
  EXPECT_EQ(observations[1].iteration_time, Seconds(0)) << "no valid time; fits pass it over";
  EXPECT_THAT(LoadSpeedTable(Write("s.csv", "model,global_batch,num_ps,num_workers,step_time_s\na,64,0,2,1\n"))
                  .status()
                  .message(),
              HasSubstr("s.csv:2: expected at least 1 worker"));
  EXPECT_FALSE(LoadSpeedTable(Write("s.csv", "model,global_batch,num_ps,num_workers\n")).ok()) << "no time column";
}

}  // namespace
}  // namespace fairlead::prediction
