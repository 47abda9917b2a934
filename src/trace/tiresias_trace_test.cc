#include "trace/tiresias_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.h"
#include "trace/neutral_trace.h"

namespace fairlead::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTiresiasHeader[] = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";

Result<Trace> ReadTiresias(const std::string& rows) {
  return ReadTiresiasTrace(std::make_unique<std::istringstream>(kTiresiasHeader + rows), "t.csv", 4);
}

TEST(TiresiasTraceTest, BecomesTheNeutralForm) {
  const auto trace = ReadTiresias("1,8,30,133,vgg11,147,23\n0,1,0,606,vgg19,164,30\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0], (TraceJob{"0", 0, 164, 1, 1, "vgg19"}));
  EXPECT_EQ(trace->jobs[1], (TraceJob{"1", 30, 147, 8, 4, "vgg11"}));
  EXPECT_TRUE(RenderNeutralTrace(trace->jobs).ok());
}

TEST(TiresiasTraceTest, BadInputNamesLineAndColumn) {
  struct BadRow {
    const char* row;
    const char* message;
  };
  const BadRow rows[] = {
      {"0,many,0,606,vgg19,164,30\n", "t.csv:2: num_gpu: expected a number, found 'many'"},
      {"0,-1,0,606,vgg19,164,30\n", "t.csv:2: num_gpu: expected a number, found '-1'"},
      {"0,1,-5,606,vgg19,164,30\n", "t.csv:2: submit_s"},
      {"0,1,0,606,vgg19,nan,30\n", "t.csv:2: duration_s"},
      {"0,1,0,606,vgg19,,30\n", "t.csv:2: duration: expected a number, found ''"},
      {"0,1,0,606,vgg19,1,30\n0,1,9,606,vgg19,1,30\n", "job_id: '0' appears twice"},
      {"0,1,0\n", "t.csv:2"},
  };
  for (const BadRow& bad : rows) {
    const auto trace = ReadTiresias(bad.row);
    ASSERT_FALSE(trace.ok()) << bad.row;
    EXPECT_THAT(std::string(trace.status().message()), AllOf(HasSubstr("t.csv"), HasSubstr(bad.message))) << bad.row;
  }
  EXPECT_THAT(
      std::string(ReadTiresiasTrace(std::make_unique<std::istringstream>("a,b\n1,2\n"), "t.csv", 4).status().message()),
      HasSubstr("job_id"));
  EXPECT_EQ(LoadTiresiasTrace("/nonexistent.csv", 4).status().code(), StatusCode::kNotFound);
}

TEST(TiresiasTraceTest, SamplesOfServiceArePositiveNumbers) {
  const TemporaryFolder folder;
  const std::string path = folder.File("samples.csv");
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return LoadServiceSamples(path);
  };
  EXPECT_EQ(*read("duration\n121\n122.5\n"), (std::vector<double>{121, 122.5}));
  EXPECT_THAT(std::string(read("duration\n").status().message()), HasSubstr("no samples"));
  EXPECT_THAT(std::string(read("duration\n5\n0\n").status().message()),
              HasSubstr(":3: duration: expected GPU-seconds"));
  EXPECT_THAT(std::string(read("duration\ninf\n").status().message()), HasSubstr("above 0, found inf"));
  EXPECT_THAT(std::string(read("service\n5\n").status().message()), HasSubstr("duration"));
}

TEST(TiresiasTraceTest, PublicFilesAreReadWhole) {
  const std::string folder = FAIRLEAD_SOURCE_DIR "/../shared/data/tiresias";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no public data in " << folder;
  const auto trace = LoadTiresiasTrace(folder + "/60_job.csv", 4);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->jobs.size(), 60u);
  const auto samples = LoadServiceSamples(folder + "/yarn-gput1000.csv");
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(samples->size(), 1001u);
  EXPECT_EQ(*std::ranges::min_element(*samples), 121);
  EXPECT_EQ(*std::ranges::max_element(*samples), 53294624);
}

}  // namespace
}  // namespace fairlead::trace
