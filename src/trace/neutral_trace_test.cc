#include "trace/neutral_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/random.h"

namespace fairlead::trace {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHeader = "job_id,submit_s,duration_s,gpus,gpus_per_host,model\n";

Result<Trace> Read(const std::string& text) {
  return ReadNeutralTrace(std::make_unique<std::istringstream>(text), "t.csv");
}

TEST(NeutralTraceTest, ReadsColumnsByNameAndSorts) {
  const auto trace = Read(
      "model,gpus,note,job_id,submit_s,duration_s,gpus_per_host\nbert,16,x,b,9,1.5,8\n,0,,a,9,0,0\nm,1,,c,0,1,1\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->jobs.size(), 3u);
  EXPECT_EQ(trace->jobs[0].id, "c") << "the first to be submitted";
  EXPECT_EQ(trace->jobs[1], (TraceJob{.id = "a", .submit_s = 9}));
  EXPECT_EQ(trace->jobs[2],
            (TraceJob{.id = "b", .submit_s = 9, .duration_s = 1.5, .gpus = 16, .gpus_per_host = 8, .model = "bert"}));
}

TEST(NeutralTraceTest, BadRowsAreNamedAndReadingGoesOn) {
  const struct {
    const char* row;
    const char* message;
  } kCases[] = {
      {",0,1,1,1,m", "t.csv:2: job_id: is empty"},
      {"a,x,1,1,1,m", "t.csv:2: submit_s: expected seconds, found 'x'"},
      {"a,-1,1,1,1,m", "submit_s: expected seconds in [0, 1000000000], found -1"},
      {"a,nan,1,1,1,m", "submit_s: expected seconds in"},
      {"a,0,1e10,1,1,m", "duration_s: expected seconds in"},
      {"a,0,1 min,1,1,m", "duration_s: expected seconds, found '1 min'"},
      {"a,0,1,-4,1,m", "gpus: expected an integer from 0, found '-4'"},
      {"a,0,1,4.0,1,m", "gpus: expected an integer from 0, found '4.0'"},
      {"a,0,1,99999999999,1,m", "gpus: expected an integer from 0"},
      {"a,0,1,2000000,1,m", "gpus: expected an integer in [0, 1000000], found 2000000"},
      {"a,0,1,4,8,m", "gpus_per_host: expected an integer in [1, 4] for a job of 4 GPUs, found 8"},
      {"a,0,1,4,0,m", "gpus_per_host: expected an integer in [1, 4]"},
      {"a,0,1,0,1,m", "gpus_per_host: expected an integer in [0, 0]"},
      {"a,0,1,1,1,\"x\ty\"", "model: contains a control character"},
  };
  for (const auto& test : kCases) {
    const std::string text = kHeader + std::string(test.row) + "\nb,0,1,1,1,m\n";
    EXPECT_THAT(Read(text).status().message(), HasSubstr(test.message)) << test.row;
    auto reader = TraceReader::FromStream(std::make_unique<std::istringstream>(text), "t.csv").value();
    ASSERT_TRUE(reader.Next());
    EXPECT_FALSE(reader.row_status().ok());
    ASSERT_TRUE(reader.Next()) << "the row after a bad one";
    EXPECT_TRUE(reader.row_status().ok()) << reader.row_status().message();
    EXPECT_EQ(reader.job().id, "b");
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.status().ok());
  }
}

TEST(NeutralTraceTest, FilesThatAreNoTrace) {
  EXPECT_THAT(Read("").status().message(), HasSubstr("the file is empty"));
  EXPECT_THAT(Read("job_id,submit_s\n").status().message(), HasSubstr("expected one column 'duration_s'"));
  EXPECT_THAT(Read(std::string(kHeader) + "a,0,1,1,1,m\na,5,1,1,1,m\n").status().message(),
              HasSubstr("t.csv:3: job_id: 'a' appears twice"));
  EXPECT_THAT(Read(std::string(kHeader) + "a,0,1\n").status().message(), HasSubstr("t.csv:2: expected 6 fields"));
  EXPECT_EQ(LoadNeutralTrace("/nonexistent/t.csv").status().code(), StatusCode::kNotFound);
}

TEST(NeutralTraceTest, WriterRefusesJobsThatCouldNotBeReadBack) {
  EXPECT_THAT(RenderNeutralTrace({{.id = "a\nb"}}).status().message(), HasSubstr("control character"));
  EXPECT_THAT(RenderNeutralTrace({{.id = std::string(300, 'x')}}).status().message(), HasSubstr("at most 256 bytes"));
}

// Names with everything that CSV treats specially, and UTF-8.
std::string DrawName(Random* random) {
  constexpr std::string_view kParts[] = {"a", "b", ",", "\"", "'", " ", ";", "#", "\xc3\xa9", "\\", "7"};
  std::string name;
  for (uint64_t i = random->Below(12); i > 0; --i) name += kParts[random->Below(std::size(kParts))];
  return name;
}

double DrawSeconds(Random* random) {
  constexpr double kSpecial[] = {0, 1e-300, 0.1, 1e9, 123456.789, 5e-324, 999999999.9999999};
  switch (random->Below(4)) {
    case 0:
      return kSpecial[random->Below(std::size(kSpecial))];
    case 1:
      return static_cast<double>(random->Below(1'000'000'000));
    default:
      return random->Uniform() * std::ldexp(1.0, static_cast<int>(random->Below(30)));
  }
}

TEST(NeutralTraceProperty, WriteThenReadIsIdentity) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<TraceJob> jobs(random.Below(20));
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto gpus = static_cast<uint32_t>(random.Below(1000));
      jobs[i] = {.id = DrawName(&random) + std::to_string(i),
                 .submit_s = std::min(DrawSeconds(&random), kMaxSeconds),
                 .duration_s = std::min(DrawSeconds(&random), kMaxSeconds),
                 .gpus = gpus,
                 .gpus_per_host = gpus == 0 ? 0 : static_cast<uint32_t>(1 + random.Below(gpus)),
                 .model = DrawName(&random)};
    }
    SortJobs(&jobs);
    const auto text = RenderNeutralTrace(jobs);
    ASSERT_TRUE(text.ok()) << "seed " << seed << ": " << text.status().message();
    const auto back = Read(*text);
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.status().message();
    EXPECT_TRUE(back->jobs == jobs) << "seed " << seed << ":\n" << *text;
  }
}

}  // namespace
}  // namespace fairlead::trace
