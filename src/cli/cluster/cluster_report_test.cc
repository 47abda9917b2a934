#include "cli/cluster/cluster_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fairlead::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Csv(const report::Document& document) { return document.Render(report::OutputFormat::kCsv); }
std::string Text(const report::Document& document) { return document.Render(report::OutputFormat::kTable, 200); }

wire::LiveJob JobThatLoses(const std::string& name, std::optional<double> gpus) {
  wire::LiveJob job;
  job.name = name;
  job.gpus = 8;
  job.lost_gpus = gpus;
  return job;
}

wire::LiveFinding FindingAbout(uint64_t id, const std::string& job, std::vector<std::string> hosts) {
  wire::LiveFinding finding;
  finding.id = id;
  finding.job = job;
  finding.hosts = std::move(hosts);
  finding.confirmed_at_s = 0;
  finding.action = "isolate_and_restart";
  finding.text = "rank 3 is slow";
  return finding;
}

wire::LiveConnection ConnectionOf(const std::string& job, const std::string& from, const std::string& to,
                                  std::vector<std::string> links) {
  wire::LiveConnection connection;
  connection.job = job;
  connection.source = from;
  connection.destination = to;
  connection.answer = "unmanaged";
  connection.links = std::move(links);
  return connection;
}

TEST(ClusterReportTest, NoJobIsFasterThanItsFastestIteration) {
  wire::LiveJob job;
  EXPECT_EQ(SlowdownOf(job), 0) << "unknown";
  job.iteration_s = 3;
  EXPECT_EQ(SlowdownOf(job), 0);
  job.fastest_iteration_s = 2;
  EXPECT_DOUBLE_EQ(SlowdownOf(job), 1.5);
  job.fastest_iteration_s = 4;
  EXPECT_EQ(SlowdownOf(job), 1);
  job.fastest_iteration_s = 0;
  EXPECT_EQ(SlowdownOf(job), 0);
}

TEST(ClusterReportTest, TheGreatestLossComesFirstAndNamesDecideTheRest) {
  std::vector<wire::LiveJob> jobs = {JobThatLoses("c", std::nullopt), JobThatLoses("b", 0), JobThatLoses("a", 0.5),
                                     JobThatLoses("d", 3)};
  SortByLoss(&jobs);
  std::string order;
  for (const wire::LiveJob& job : jobs) order += job.name;
  EXPECT_EQ(order, "dabc");
}

TEST(ClusterReportTest, TotalsCountWhatHolds) {
  ClusterState state;
  state.jobs = {JobThatLoses("a", 1.5), JobThatLoses("b", std::nullopt), JobThatLoses("c", 0.25)};
  state.findings = {FindingAbout(1, "a", {}), FindingAbout(2, "a", {})};
  state.findings[1].cleared_at_s = 9;
  const ClusterTotals totals = TotalsOf(state);
  EXPECT_EQ(totals.gpus, 24u);
  EXPECT_DOUBLE_EQ(totals.lost_gpus, 1.75);
  EXPECT_EQ(totals.findings, 1u);
  EXPECT_THAT(ClusterSummary(state), AllOf(HasSubstr("hosts: none"), HasSubstr("jobs: 3 on 24 GPUs, losing 1.8"),
                                           HasSubstr("1 finding;"), HasSubstr("steering: off, 0 actions")));
}

TEST(ClusterReportTest, MomentsAreInUtc) {
  EXPECT_EQ(UtcText(0), "1970-01-01 00:00:00");
  EXPECT_EQ(UtcText(1'764'000'000.9), "2025-11-24 16:00:00");
}

TEST(ClusterReportTest, OfManySharersTheFirstAreNamed) {
  wire::LiveJob job = JobThatLoses("a", 1);
  job.shares_with = {"b", "c", "d"};
  EXPECT_THAT(Csv(JobTable({&job, 1})), HasSubstr("\"b, c, d\""));
  job.shares_with = {"b", "c", "d", "e", "f"};
  EXPECT_THAT(Csv(JobTable({&job, 1})), AllOf(HasSubstr("\"b, c, d and 2 more\""), Not(HasSubstr("e,"))));
}

TEST(ClusterReportTest, HostsHaveTheirStateAndTheAgeOfTheirLastMessage) {
  wire::HostList list;
  list.total = 3;
  list.all.hosts = 5;
  list.hosts = {{.name = "h2", .state = "no_agent"},
                {.name = "h0", .connected = true, .agent_version = "0.9", .last_message_s = 97, .state = "spare"},
                {.name = "h1", .connected = true, .last_message_s = 101, .state = "connected", .findings = 2}};
  EXPECT_EQ(Csv(HostTable(list, 100)),
            "host,state,agent,last message,findings\n"
            "h2,no agent,,,0\n"
            "h0,spare,0.9,3 s,0\n"
            "h1,connected,,0 s,2\n");
  list.total = 1234;
  EXPECT_THAT(Text(HostTable(list, 100)), HasSubstr("The first 3 of 1,234 hosts: those that need a look first.\n"));
  EXPECT_EQ(Text(HostTable({}, 100)), "The fabric has no hosts.\n");
  list.hosts.clear();
  EXPECT_EQ(Text(HostTable(list, 100)), "No host is like that.\n");
}

TEST(ClusterReportTest, ASummaryCountsHostsByState) {
  ClusterState state;
  state.hosts.all = {.hosts = 2012, .connected = 2009, .states = {{"connected", 2009}, {"no_agent", 3}}};
  EXPECT_THAT(ClusterSummary(state), HasSubstr("hosts: 2,009 connected, 3 no agent\n"));
}

TEST(ClusterReportTest, FindingsThatAreOverAreShownOnRequest) {
  std::vector<wire::LiveFinding> findings = {FindingAbout(7, "a", {"h0"})};
  findings[0].confidence = 0.93;
  EXPECT_THAT(Csv(FindingTable(findings, false)), HasSubstr("7,a,1970-01-01 00:00:00,,93.0 %,isolate_and_restart,"));
  findings[0].cleared_at_s = 60;
  EXPECT_EQ(Text(FindingTable(findings, false)), "No finding holds.\n");
  EXPECT_THAT(Csv(FindingTable(findings, true)), HasSubstr(",over,"));
  EXPECT_EQ(Text(FindingTable({}, true)), "No fault was found.\n");
}

TEST(ClusterReportTest, AConnectionWithoutLinksSaysWhy) {
  wire::ConnectionList list;
  list.connections = {ConnectionOf("a", "h0/nic0", "h1/nic0", {"l1", "l2"}),
                      ConnectionOf("a", "h0/nic0", "h2/nic0", {})};
  list.connections[0].pid = 4711;
  list.total = 12;
  EXPECT_THAT(Text(ConnectionTable(list)), AllOf(HasSubstr("l1 l2"), HasSubstr("4711"), HasSubstr("unmanaged"),
                                                 HasSubstr("and 10 more; --limit shows more")));
  list.total = 2;
  EXPECT_THAT(Text(ConnectionTable(list)), Not(HasSubstr("more")));
}

TEST(ClusterReportTest, ALinkNamesItsJobsAndTheirQueuePairs) {
  wire::LiveLink link;
  link.name = "leaf0->spine1";
  wire::ConnectionList list;
  list.connections = {ConnectionOf("b", "h0/nic0", "h4/nic0", {"leaf0->spine1"}),
                      ConnectionOf("a", "h1/nic0", "h4/nic0", {"leaf0->spine1", "x"}),
                      ConnectionOf("b", "h2/nic0", "h4/nic0", {"leaf0->spine1"}),
                      ConnectionOf("c", "h3/nic0", "h4/nic0", {"leaf0->spine2"})};
  EXPECT_THAT(Text(DescribeLink(link, list)),
              AllOf(HasSubstr("a (1 queue pair), b (2 queue pairs)"), Not(HasSubstr("leaf0->spine2"))));
  EXPECT_THAT(Text(DescribeLink(link, {})), HasSubstr("jobs:            none"));
}

TEST(ClusterReportTest, AHostNamesTheJobsAtBothEndsOfItsConnections) {
  wire::ConnectionList list;
  list.connections = {ConnectionOf("out", "h1/nic0", "h2/nic0", {}), ConnectionOf("in", "h2/nic1", "h1/nic3", {}),
                      ConnectionOf("other", "h10/nic0", "h2/nic0", {})};
  ClusterState state;
  state.findings = {FindingAbout(4, "out", {"h1"}), FindingAbout(5, "other", {"h10"})};
  const std::string text = Text(DescribeHost({.name = "h1", .connected = true}, state, list));
  EXPECT_THAT(text, AllOf(HasSubstr("jobs:            in, out\n"), HasSubstr("Findings"), Not(HasSubstr("other"))));
}

TEST(ClusterReportTest, WhatIsNotKnownIsNotInvented) {
  const wire::LiveJob job;
  EXPECT_THAT(Text(DescribeJob(job, {}, {})),
              AllOf(HasSubstr("lost now:        –"), HasSubstr("shared with:     no other job")));
}

TEST(SizeTable, WhatEachElasticJobHasAndWhy) {
  EXPECT_EQ(Text(SizeTable({})), "No elastic job.\n");
  const std::vector<wire::SizedJob> jobs = {{.job = 4711,
                                             .nodes_min = 2,
                                             .nodes_max = 8,
                                             .nodes = 6,
                                             .steps = 9000,
                                             .steps_done = 2250,
                                             .node_seconds = 7200,
                                             .restarts = 3,
                                             .restart_cost_s = 42,
                                             .reason = "resized: place 1 of 3"},
                                            {.job = 4712, .steps = {}, .reason = ""}};
  EXPECT_THAT(Csv(SizeTable(jobs)), AllOf(HasSubstr("4711,6,2-8,\"9,000\",25.0 %,2.00,3,42 s,resized: place 1 of 3\n"),
                                          HasSubstr("4712,0,0-0,")));
}

TEST(DescribeSlurmJob, WhatWasDoneAndWhy) {
  wire::SlurmAccount account = {
      .job = 4711,
      .owner = 1001,
      .state = "running",
      .restarts = 2,
      .hosts = {"h0", "h1"},
      .pending_reason = {},
      .left_out = 3,
      .entries = {{.time_s = 0, .kind = "size", .text = "2 nodes, h[0-1]: shrunk; slurm-9 gets h2 of it"},
                  {.time_s = 60, .kind = "health", .text = "h3 is isolated: finding 7\x1b[31m"}}};
  const wire::SizedJob size = {
      .job = 4711, .nodes_min = 1, .nodes_max = 8, .nodes = 2, .steps = {}, .restart_cost_s = 42, .reason = "shrunk"};
  EXPECT_THAT(Text(DescribeSlurmJob(account, &size)),
              AllOf(HasSubstr("in Slurm:        job 4711 of user 1001\n"),
                    HasSubstr("state:           running on 2 hosts: h0, h1\n"), HasSubstr("restarts:        2\n"),
                    HasSubstr("size:            2 of 1 to 8 nodes: shrunk\n"), HasSubstr("a restart costs: 42 s\n"),
                    HasSubstr("1970-01-01 00:00:00"), HasSubstr("slurm-9 gets h2 of it"), HasSubstr("h3 is isolated"),
                    HasSubstr("and 3 before"), Not(HasSubstr("\x1b"))));
  account = {.job = 4711,
             .owner = 1001,
             .state = "pending",
             .held = true,
             .hosts = {},
             .pending_reason = "Resources",
             .entries = {}};
  EXPECT_THAT(Text(DescribeSlurmJob(account, nullptr)),
              AllOf(HasSubstr("state:           pending, held (Resources)\n"),
                    HasSubstr("Fairlead has done nothing to this job."), Not(HasSubstr("size:"))));
  account.state.reset();
  EXPECT_THAT(Text(DescribeSlurmJob(account, nullptr)), HasSubstr("not shown any more"));
}

TEST(DescribeSlurmJob, NumbersInNames) {
  EXPECT_EQ(SlurmNumberOf("slurm-4711"), 4711u);
  EXPECT_EQ(SlurmNumberOf("slurm-7@1001.slurm-7"), 7u);
  EXPECT_EQ(SlurmNumberOf("gpt@1001.slurm-8"), 8u);
  for (const char* none :
       {"", "slurm-", "slurm-x", "gpt", "gpt.", "gpt@1001", "4711", "slurm-99999999999", "xslurm-1"}) {
    EXPECT_FALSE(SlurmNumberOf(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace fairlead::cli
