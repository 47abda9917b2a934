#include "lab/job_runner.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "lab/job_steering.h"

namespace fairlead::lab {
namespace {

const std::string kRecords =
    "{\"connected\": 3}\n"
    "{\"iteration\": 7, \"begin_s\": 10.0, \"seconds\": 0.5, \"exposed_s\": 0.1}\n"
    "{\"iteration\": 8, \"begin_s\": 10.5, \"seconds\": 0.25, \"exposed_s\": 0.1}\n";

TEST(FindLastIteration, IsTheLastWholeLine) {
  const auto found = FindLastIteration(kRecords);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number, 8u);
  EXPECT_EQ(found->ended_s, 10.75);
  // Whatever is missing at the end: the line before counts, as long as it is there.
  const size_t second = kRecords.find("{\"iteration\": 8");
  for (size_t size = 0; size < kRecords.size(); ++size) {
    const auto part = FindLastIteration(std::string_view(kRecords).substr(0, size));
    if (size + 1 == kRecords.size()) continue;  // only the line break is missing
    const bool has_first = size + 1 >= second;
    ASSERT_EQ(part.has_value(), has_first) << size;
    if (!has_first) continue;
    EXPECT_EQ(part->number, 7u) << size;
  }
}

TEST(FindLastIteration, PassesOverWhatIsNone) {
  EXPECT_EQ(FindLastIteration("").has_value(), false);
  EXPECT_EQ(FindLastIteration("{\"connected\": 3}\n").has_value(), false);
  const auto found = FindLastIteration(kRecords + "{\"end\": \"stopped\", \"iterations\": 9}\n");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number, 8u);
  // The tail of a file begins anywhere.
  EXPECT_EQ(FindLastIteration(std::string_view(kRecords).substr(30))->number, 8u);
}

TEST(WorkerControl, WritesOnlyWhatIsRequested) {
  EXPECT_EQ(WriteWorkerControl({}), "{}\n");
  EXPECT_EQ(WriteWorkerControl({.busy_s = 0.25}), "{\"busy_s\":0.25}\n");
  EXPECT_EQ(WriteWorkerControl({.loader_s = 2, .pause_s = 3}), "{\"loader_s\":2.0,\"pause_s\":3.0}\n");
  EXPECT_EQ(WriteWorkerControl({.has_bad_order = true}), "{\"bad_order\":true}\n");
}

// Two jobs of two hosts and a spare, in a lab that was never brought up.
class JobSteeringTest : public testing::Test {
 protected:
  void SetUp() override {
    auto scenario = sim::ParseScenario(
        "title: t\n"
        "fabric: {kind: clos2, leaves: 1, hosts_per_leaf: 5, spines: 1, uplink_gbps: 200,\n"
        "         host: {gpus: 1, nics: 1, pcie_switches: 1, sockets: 1}}\n"
        "jobs:\n"
        "  - {name: a, hosts: [h0, h1], gpus: 2, gpus_per_host: 1, compute_s: 0.1, size_mb: 100}\n"
        "  - {name: b, hosts: [h2, h3], gpus: 2, gpus_per_host: 1, compute_s: 0.1, size_mb: 100}\n",
        "test.yaml", {});
    ASSERT_TRUE(scenario.ok()) << scenario.status().message();
    state_.plan = PlanLab(scenario->fabric, {}).value();
    JobRunnerOptions options;
    options.folder = folder_.path();
    auto runner = JobRunner::Create(*scenario, state_, options);
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    runner_.emplace(std::move(*runner));
    steering_.emplace(&*runner_, [this](LabNodeId host) { return host == faulty_; });
  }

  const TemporaryFolder folder_;
  LabState state_;
  std::optional<JobRunner> runner_;
  LabNodeId faulty_;
  std::optional<JobSteering> steering_;
};

TEST_F(JobSteeringTest, HostsAreIsolatedTestedAndReturned) {
  EXPECT_EQ(steering_->Handle(R"({"step": "isolate_host", "job": 7, "job_name": "b", "host": 2})").exit_code, 0);
  EXPECT_TRUE(steering_->IsIsolated(LabNodeId(2u)));
  // A host that is broken passes no test, and may pass a later one.
  faulty_ = LabNodeId(2u);
  const std::string test = R"({"step": "test_host", "host": 2})";
  EXPECT_EQ(steering_->Handle(test).exit_code, 1);
  faulty_ = LabNodeId();
  EXPECT_EQ(steering_->Handle(test), (JobsAnswer{0, "it has passed", true}));
  EXPECT_EQ(steering_->Handle(R"({"step": "return_host", "host": 2})").exit_code, 0);
  EXPECT_FALSE(steering_->IsIsolated(LabNodeId(2u)));
  ASSERT_EQ(steering_->deeds().size(), 4u);
  EXPECT_EQ(steering_->deeds()[0].job, runner_->Find("b"));
  EXPECT_EQ(steering_->deeds()[0].host, LabNodeId(2u));
}

TEST_F(JobSteeringTest, WhatCantBeDoneIsNotTriedAgain) {
  EXPECT_EQ(steering_->Handle("nonsense").exit_code, 2);
  EXPECT_EQ(steering_->Handle(R"({"step": "sing"})").exit_code, 2);
  EXPECT_EQ(steering_->Handle(R"({"step": "stop_job", "job": 1, "job_name": "c"})").exit_code, 2);
  // Too few hosts, one twice, a switch.
  for (const char* hosts : {"[0]", "[0, 0]", "[0, 5]", "null"}) {
    const std::string text =
        std::string(R"({"step": "restart_job", "job": 1, "job_name": "a", "hosts": )") + hosts + "}";
    EXPECT_EQ(steering_->Handle(text).exit_code, 2) << hosts;
  }
  EXPECT_EQ(runner_->HostsOf(*runner_->Find("a")), (std::vector<LabNodeId>{LabNodeId(0u), LabNodeId(1u)}));
}

TEST_F(JobSteeringTest, AJobThatDoesNotRunIsStoppedAlready) {
  EXPECT_EQ(steering_->Handle(R"({"step": "stop_job", "job": 1, "job_name": "a"})").exit_code, 0);
  // Later steps are known by steering's number for the job.
  EXPECT_EQ(steering_->Handle(R"({"step": "stop_job", "job": 1, "job_name": null})").exit_code, 0);
  EXPECT_EQ(steering_->Handle(R"({"step": "stop_job", "job": 2, "job_name": null})").exit_code, 2);
}

}  // namespace
}  // namespace fairlead::lab
