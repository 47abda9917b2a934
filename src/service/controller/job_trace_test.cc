#include "service/controller/job_trace.h"

#include <gtest/gtest.h>

#include <map>

#include "report/trace_check.h"

namespace fairlead::service {
namespace {

SimTime TraceMoment(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

controller::JobOnFabric MakeJob(const std::string& name, double iteration_s) {
  controller::JobOnFabric job;
  job.name = name;
  job.num_gpus = 8;
  job.level = 2;
  job.iteration_time = Seconds(iteration_s);
  job.fastest_iteration = Seconds(0.5);
  return job;
}

TEST(JobTraceTest, ShowsWhatIsKnownFromTheFirstMomentOn) {
  JobLooks looks;
  for (int i = 0; i < 3; ++i) {
    const controller::JobOnFabric job = MakeJob("gpt", i < 2 ? 0.5 : 1);
    looks.Add(TraceMoment(1000 + 15 * i), {&job, 1});
  }
  JobPast past{.name = "gpt", .looks = looks.Of("gpt"), .findings = {}};
  past.findings.resize(1);
  wire::FindingDetail& detail = past.findings[0];
  detail.finding.id = 7;
  detail.finding.text = "rank 3 is slow </script>";
  detail.finding.suspected_at_s = 1020;
  detail.finding.cleared_at_s = 1028;
  // The second begins while the first is not known yet: it is cut, so that no two overlap.
  detail.blocks = {{.at_s = 1000, .seconds = 4}, {.at_s = 1003, .seconds = 5}};
  past.events = Json::parse(
      R"([{"time_s": 1025, "subject": "job gpt", "text": "moved"}, {"time_s": 1026, "subject": "job other", "text": "no"}])");
  past.log = Json::parse(
      R"([{"at_s": 1027, "kind": "action", "job_name": "gpt", "description": "stop job gpt"}, {"at_s": 1, "kind": "outcome"}])");
  const auto trace = JobTrace(past, TraceMoment(1040));
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(report::FindTraceError(*trace), "");
  EXPECT_NEAR((*trace)["otherData"]["origin_s"].get<double>(), 996, 1e-6);  // the first block: 1000 - 4
  std::map<std::string, std::vector<Json>> by_kind;
  for (const Json& event : (*trace)["traceEvents"]) {
    ASSERT_TRUE(event.contains("ph") && event.contains("pid"));
    if (event["ph"] != "M") {
      EXPECT_GE(event["ts"].get<double>(), 0);
    }
    by_kind[event["ph"].get<std::string>()].push_back(event);
  }
  EXPECT_EQ(by_kind["C"].size(), 3u * 3u);
  ASSERT_EQ(by_kind["X"].size(), 3u);
  EXPECT_EQ(by_kind["X"][0]["ts"], 0);
  EXPECT_EQ(by_kind["X"][0]["dur"], 4e6);
  EXPECT_EQ(by_kind["X"][1]["ts"], 4e6);
  EXPECT_EQ(by_kind["X"][1]["dur"], 3e6);
  EXPECT_EQ(by_kind["X"][2]["ts"], 24e6);
  EXPECT_EQ(by_kind["X"][2]["dur"], 8e6);
  ASSERT_EQ(by_kind["i"].size(), 2u);
  EXPECT_EQ(by_kind["i"][0]["name"], "moved");
  EXPECT_EQ(by_kind["i"][1]["name"], "steering: stop job gpt");
}

TEST(JobTraceTest, AnUnknownJobIsNotFound) {
  EXPECT_EQ(JobTrace({.name = "nobody", .looks = {}, .findings = {}}, TraceMoment(1)).status().code(),
            StatusCode::kNotFound);
}

TEST(JobLooksTest, IsBounded) {
  JobLooks looks(3, 2);
  for (int i = 0; i < 5; ++i) {
    const std::vector<controller::JobOnFabric> jobs = {MakeJob("a", i), MakeJob("b", i)};
    looks.Add(TraceMoment(i), jobs);
  }
  EXPECT_EQ(looks.Of("a").size(), 3u);
  EXPECT_EQ(looks.Of("a").front().at, TraceMoment(2));
  // A third job takes the place of one that is gone, not of one that runs.
  const std::vector<controller::JobOnFabric> all = {MakeJob("a", 1), MakeJob("b", 1), MakeJob("c", 1)};
  looks.Add(TraceMoment(5), all);
  EXPECT_TRUE(looks.Of("c").empty());
  const std::vector<controller::JobOnFabric> without_b = {MakeJob("a", 1), MakeJob("c", 1)};
  looks.Add(TraceMoment(6), without_b);
  EXPECT_EQ(looks.Of("c").size(), 1u);
  EXPECT_TRUE(looks.Of("b").empty());
}

}  // namespace
}  // namespace fairlead::service
