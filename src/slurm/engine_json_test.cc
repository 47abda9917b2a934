#include "slurm/engine_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fairlead::slurm {
namespace {

TEST(EngineJsonTest, BeforeTheFirstReading) {
  const report::Json json = ToJson({.acts = true, .period = std::chrono::milliseconds(1500)});
  EXPECT_EQ(json.dump(),
            R"({"acts":true,"answers":false,"error":null,"read_at_s":null,"period_s":1.5,"hosts_not_in_fabric":0,)"
            R"("jobs_stopped":0,"actions":[],"sizes":[],"jobs":[]})");
}

TEST(EngineJsonTest, AllOfIt) {
  EngineView view;
  view.readings.numbers.readings = 2;
  view.readings.numbers.failures = 1;
  view.readings.status = Unavailable("is away");
  view.readings.read_at = SimTime(2'500'000'000);
  Job job;
  job.id = 7;
  job.owner = 1001;
  job.state = JobState::kRunning;
  job.num_nodes = 2;
  job.hosts = {"h0", "h1"};
  ClusterState state;
  state.jobs = {job};
  view.readings.state = std::make_shared<const ClusterState>(state);
  StepOrders::UnderwayStep step;
  step.order.action = 3;
  step.order.attempt = 2;
  step.order.step = controller::StopJob{JobId(1)};
  step.message = "it is being ended";
  view.actions = {step};
  ElasticView size;
  size.job = 8;
  size.nodes_max = 4;
  size.steps_done = 5;
  view.sizes = {size};
  const report::Json json = ToJson(view);
  EXPECT_EQ(json["error"], "is away");
  EXPECT_EQ(json["read_at_s"], 2.5) << "of the reading before";
  EXPECT_EQ(json["actions"].dump(), R"([{"action":3,"step":"stop_job","attempt":2,"message":"it is being ended"}])");
  EXPECT_EQ(json["jobs"].dump(),
            R"([{"job":7,"name":"slurm-7@1001.slurm-7","owner":1001,"state":"running","held":false,"restarts":0,)"
            R"("nodes":2,"hosts":["h0","h1"]}])");
  EXPECT_EQ(json["sizes"].dump(),
            R"([{"job":8,"nodes_min":0,"nodes_max":4,"nodes":0,"steps":null,"steps_done":5.0,"node_seconds":0.0,)"
            R"("restarts":0,"restart_cost_s":0.0,"reason":""}])");
}

TEST(EngineJsonTest, WhatWasDoneToAJob) {
  ClusterState state;
  state.jobs.resize(1);
  state.jobs[0].id = 7;
  state.jobs[0].owner = 1001;
  state.jobs[0].num_restarts = 2;
  state.jobs[0].state = JobState::kRunning;
  state.jobs[0].hosts = {"h0"};
  JobAccount account = {
      .job = 7, .owner = 1001, .entries = {{2.5, "size", "1 node, h0"}}, .num_left_out = 3, .told = {}};
  EXPECT_EQ(AccountJson(7, &state, account)->dump(),
            R"({"job":7,"owner":1001,"state":"running","held":false,"restarts":2,"hosts":["h0"],"pending_reason":"",)"
            R"("left_out":3,"entries":[{"time_s":2.5,"kind":"size","text":"1 node, h0"}]})");
  EXPECT_EQ(AccountJson(7, nullptr, account)->dump(),
            R"({"job":7,"owner":1001,"left_out":3,"entries":[{"time_s":2.5,"kind":"size","text":"1 node, h0"}]})");
  EXPECT_EQ((*AccountJson(7, &state, std::nullopt))["entries"].size(), 0u);
  account.owner = 1002;
  EXPECT_EQ((*AccountJson(7, &state, account))["entries"].size(), 0u) << "of another job of that number";
  EXPECT_EQ(AccountJson(8, &state, std::nullopt).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fairlead::slurm
