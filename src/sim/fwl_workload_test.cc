#include "sim/fwl_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace fairlead::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwoJobs[] =
    "fwl 1\n"
    "linkcaps 100 25000000000\n"
    "jobs 2\n"
    "job 7 3 0.250000000 10 0.5 2\n"
    "f 1000 2 42 99\n"
    "f 2000.5 1 42\n"
    "job 8 0 0 1 0 0\n";

Result<FwlWorkload> Parse(const std::string& text) { return ParseFwlWorkload(text, "w.fwl"); }

TEST(FwlWorkload, ReadsJobsFlowsAndRoutes) {
  const Result<FwlWorkload> workload = Parse(kTwoJobs);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->capacity, 25e9);
  EXPECT_EQ(workload->num_links, 2u);  // 42 and 99 of the 100
  ASSERT_EQ(workload->jobs.size(), 2u);
  const FwlJob& job = workload->jobs[0];
  EXPECT_EQ(job.id, 7);
  EXPECT_EQ(job.priority, 3u);
  EXPECT_EQ(job.compute_s, 0.25);
  EXPECT_EQ(job.iterations, 10u);
  EXPECT_EQ(job.start_s, 0.5);
  const std::span<const FwlFlow> flows = workload->FlowsOf(job);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].bytes, 1000);
  EXPECT_EQ(flows[1].bytes, 2000.5);
  EXPECT_THAT(workload->RouteOf(flows[0]), ElementsAre(0, 1));
  EXPECT_THAT(workload->RouteOf(flows[1]), ElementsAre(0));
  EXPECT_TRUE(workload->FlowsOf(workload->jobs[1]).empty());
}

TEST(FwlWorkload, LastNewlineMayBeMissing) {
  const std::string text = kTwoJobs;
  EXPECT_TRUE(Parse(text.substr(0, text.size() - 1)).ok());
  EXPECT_TRUE(Parse("fwl 1\nlinkcaps 0 1\njobs 0").ok());
}

struct BadCase {
  std::string text;
  std::string message;
};

TEST(FwlWorkload, ErrorsNameLineExpectedAndFound) {
  const std::string header = "fwl 1\nlinkcaps 100 25e9\njobs 1\n";
  const std::string job = header + "job 0 0 0.1 10 0 1\n";
  const std::vector<BadCase> cases = {
      {"", "w.fwl:1: expected 'fwl', found the end of the file"},
      {"fwl 2\n", "w.fwl:1: expected version in [1, 1], found '2'"},
      {"fwl 1", "w.fwl:1: expected 'linkcaps', found the end of the file"},
      {"fwl 1\n\nlinkcaps", "w.fwl:2: expected 'linkcaps', found the end of the line"},
      {"fwl 1\nlinkcaps -3 1\n", "w.fwl:2: expected a number of links in [0, 67108864], found '-3'"},
      {"fwl 1\nlinkcaps 3 nan\n", "w.fwl:2: expected a capacity"},
      {"fwl 1\nlinkcaps 3 inf\n", "found 'inf'"},
      {"fwl 1\nlinkcaps 3 0\n", "found '0'"},
      {"fwl 1\nlinkcaps 3 1 1\n", "w.fwl:2: expected the end of the line, found '1'"},
      {"fwl 1\nlinkcaps 3 1\njobs 4000000000\n",
       "w.fwl:4: expected 4000000000 jobs, found only 0 bytes after this line"},
      {"fwl 1\nlinkcaps 3 1\njobs 0\nmore\n", "w.fwl:4: expected the end of the file, found 'more'"},
      {header + "job 0 0 0.1 10 0 1\r\nf 1 1 0\n", "w.fwl:4: expected a number of flows"},
      {header + "job 0 0 -0.1 10 0 1\n", "w.fwl:4: expected compute seconds"},
      {header + "job 0 0 1e300 10 0 1\n", "w.fwl:4: expected compute seconds"},
      {header + "job 0 0 1000 1000001 0 1\n",
       "w.fwl:4: expected a number of iterations in [0, 1000000], found '1000001'"},
      {header + "job 0 0 0.1 10 0 99\nf 1 1 0\n", "w.fwl:5: expected 99 flows, found only 8 bytes"},
      {job + "f nan 1 0\n", "w.fwl:5: expected bytes in [0, 1e+18], found 'nan'"},
      {job + "f -1 1 0\n", "found '-1'"},
      {job + "f 1000 0\n", "w.fwl:5: expected a number of links in [1, 4294967295], found '0'"},
      {job + "f 1 1 100\n", "w.fwl:5: expected a link id in [0, 99], found '100'"},
      {job + "f 1 1 -1\n", "found '-1'"},
      {job + "f 1 9 5\n", "w.fwl:5: expected 9 links, found only 3 bytes"},
      {job + "f 1 2 5\nf 1 1 1\n", "w.fwl:5: expected a link id in [0, 99], found the end of the line"},
      {job + "f 1 1 5 6\n", "w.fwl:5: expected the end of the line, found '6'"},
      {job + "f 1 1 5x\n", "w.fwl:5: expected a link id in [0, 99], found '5x'"},
      {job + "f 1  1 5\n", "w.fwl:5: expected a number of links"},
      {job + "f 1 1 5\nf 1 1 5\n", "w.fwl:6: expected the end of the file, found 'f'"},
      {job + "job 1 0 0.1 10 0 0\n", "w.fwl:5: expected 'f', found 'job'"},
  };
  for (const BadCase& bad : cases) {
    const Result<FwlWorkload> workload = Parse(bad.text);
    ASSERT_FALSE(workload.ok()) << bad.text;
    EXPECT_EQ(workload.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(workload.status().message(), HasSubstr(bad.message)) << bad.text;
  }
}

// One field of a gigabyte would not fit into a message.
TEST(FwlWorkload, LongFieldsAreCutInMessages) {
  const Result<FwlWorkload> workload = Parse("fwl 1\nlinkcaps " + std::string(1 << 20, '9') + " 1\n");
  ASSERT_FALSE(workload.ok());
  EXPECT_LT(workload.status().message().size(), 200u);
}

TEST(FwlWorkload, MissingFileAndFolder) {
  EXPECT_EQ(LoadFwlWorkload("/nowhere/at/all.fwl").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadFwlWorkload("/").status().code(), StatusCode::kInvalidArgument);
}

// Damaged files give a workload within its own bounds or an error with a line, never anything else.
TEST(FwlWorkload, SurvivesDamage) {
  Random random(5);
  const std::string good = kTwoJobs;
  int num_ok = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string text = good;
    for (uint64_t hits = 1 + random.Below(3); hits > 0; --hits) {
      const size_t at = random.Below(text.size());
      const std::string alphabet = std::string("0123456789 -.e\nfjnx") + '\0';
      switch (random.Below(3)) {
        case 0:
          text[at] = alphabet[random.Below(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + random.Below(4));
          break;
        default:
          text.insert(at, 1, alphabet[random.Below(alphabet.size())]);
      }
      if (text.empty()) text = "f";
    }
    const Result<FwlWorkload> workload = Parse(text);
    if (!workload.ok()) {
      ASSERT_THAT(workload.status().message(), HasSubstr("w.fwl:"));
      continue;
    }
    ++num_ok;
    for (const FwlJob& job : workload->jobs) {
      ASSERT_LE(job.first_flow + job.num_flows, workload->flows.size());
      for (const FwlFlow& flow : workload->FlowsOf(job)) {
        ASSERT_GE(flow.bytes, 0);
        for (const uint32_t link : workload->RouteOf(flow)) ASSERT_LT(link, workload->num_links);
      }
    }
  }
  EXPECT_GT(num_ok, 100);  // many digits may change without harm
}

}  // namespace
}  // namespace fairlead::sim
