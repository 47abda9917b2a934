#include "service/controller/finding_detail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/field_rules.h"

namespace fairlead::service {
namespace {

using model::RankId;

const report::CulpritNames kNames = {.host = [](HostId host) { return "h" + std::to_string(host.value()); },
                                     .nic = [](NicId) { return "nic"; },
                                     .leaf = [](model::LeafId) { return "leaf"; }};

model::Finding SlowConnection() {
  model::Finding finding;
  finding.id = model::FindingId(7);
  finding.syndrome = model::Syndrome::kCommSlow;
  model::Culprit& culprit = finding.culprits.emplace_back();
  culprit.kind = model::CulpritKind::kConnection;
  culprit.rank = RankId(0);
  culprit.peer = RankId(2);
  culprit.host = HostId(4);
  finding.summary = "slow";
  finding.confidence = 0.9;
  finding.cost_share = 0.25;
  finding.first_seen = SimTime(5'000'000'000);
  finding.confirmed = SimTime(9'000'000'000);
  finding.cleared = SimTime::Never();
  return finding;
}

model::FindingProof Proof() {
  model::FindingProof proof;
  proof.seen_at = SimTime(9'000'000'000);
  proof.blocks = {{.at = SimTime(4'000'000'000), .seconds = 2},
                  {.at = SimTime(8'000'000'000),
                   .seconds = 3,
                   .own_seconds = 2.5,
                   .like_low_seconds = 1,
                   .like_median_seconds = 1.5,
                   .like_high_seconds = 2}};
  proof.waits.nodes = {{.ranks = {RankId(1), RankId(2)}, .label = ""},
                       {.ranks = {}, .label = "all_reduce 3 on world", .num_operations = 1},
                       {.ranks = {RankId(0)}, .label = "", .is_culprit = true}};
  proof.waits.edges = {{0, 1}, {1, 2}};
  proof.delays = {{.source = RankId(0), .destination = RankId(2), .ratio = 4, .is_accused = true}};
  proof.host_of = {HostId(4), HostId(4), HostId(5)};
  return proof;
}

TEST(FindingDetailTest, WhatIsGivenOutIsReadAgain) {
  const wire::FindingDetail detail = MakeDetail("gpt", SlowConnection(), Proof(), kNames);
  EXPECT_EQ(codec::FindRecordFault(detail), "");
  EXPECT_EQ(detail.finding.hosts, std::vector<std::string>{"h4"});
  EXPECT_EQ(detail.finding.cleared_at_s, std::nullopt);
  ASSERT_EQ(detail.wait_nodes.size(), 3u);
  EXPECT_EQ(detail.wait_nodes[0].label, "2 ranks: 1–2");
  EXPECT_EQ(detail.wait_nodes[2].label, "rank 0");
  EXPECT_TRUE(detail.wait_nodes[2].is_culprit);
  EXPECT_EQ(detail.rank_hosts, (std::vector<std::string>{"h4", "h4", "h5"}));
  const auto read = wire::ReadAnswer<wire::FindingDetail>(codec::ToJson(detail), "http://c/v1/findings/7");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, detail);
}

TEST(FindingDetailTest, WithoutAProofTheRestIsSaid) {
  const wire::FindingDetail detail = MakeDetail("gpt", SlowConnection(), std::nullopt, kNames);
  EXPECT_EQ(detail.seen_at_s, std::nullopt);
  EXPECT_TRUE(detail.blocks.empty());
  EXPECT_EQ(detail.finding.text, "slow");
  ASSERT_FALSE(detail.next.empty());
  EXPECT_EQ(detail.next.front().command, "fairlead describe host h4");
  EXPECT_THAT(detail.next.back().command, testing::StartsWith("fairlead pause gpt"));
}

// A foreign recording may name a host as it likes.
TEST(FindingDetailTest, NamesOfHostsAreOneWordOfACommand) {
  const report::CulpritNames names = {
      .host = [](HostId) { return std::string("a b'; reboot"); }, .nic = kNames.nic, .leaf = kNames.leaf};
  const wire::FindingDetail detail = MakeDetail("gpt", SlowConnection(), std::nullopt, names);
  EXPECT_EQ(detail.next.front().command, R"(fairlead describe host 'a b'\''; reboot')");
}

// A hang that accuses nobody: who it may be, why, and what tells them apart, before all else.
TEST(FindingDetailTest, CandidatesAreToldWithWhatTellsThemApart) {
  model::Finding finding = SlowConnection();
  finding.syndrome = model::Syndrome::kCommHang;
  finding.culprits.clear();
  for (const uint32_t r : {4, 0}) {
    model::Candidate& candidate = finding.candidates.emplace_back();
    candidate.culprit.rank = RankId(r);
    candidate.culprit.host = HostId(r / 4);
    candidate.why = "its GPU does not go on";
    candidate.evidence = {{"time since its last report", 2, 0, "s"}};
  }
  const wire::FindingDetail detail = MakeDetail("gpt", finding, std::nullopt, kNames);
  ASSERT_EQ(detail.finding.candidates.size(), 2u);
  EXPECT_EQ(detail.finding.candidates[0].culprit, "rank 4 on h1");
  EXPECT_EQ(detail.finding.candidates[0].host, "h1");
  EXPECT_EQ(detail.finding.candidates[0].why, "its GPU does not go on");
  EXPECT_THAT(detail.finding.candidates[0].evidence, testing::ElementsAre("time since its last report: 2 s"));
  ASSERT_FALSE(detail.next.empty());
  EXPECT_EQ(detail.next.front().command, "fairlead check-node h1 h0 --while-training");
  const auto read = wire::ReadAnswer<wire::FindingDetail>(codec::ToJson(detail), "http://c/v1/findings/7");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, detail);

  // Reports are missing: whether the agents are there comes first.
  finding.syndrome = model::Syndrome::kNonCommHang;
  EXPECT_EQ(TellApart(finding, kNames).front().command, "ssh h1 systemctl status fairlead-agent");
  // A fault of the program is not in the hosts.
  finding.syndrome = model::Syndrome::kMismatch;
  for (const wire::NextStep& step : TellApart(finding, kNames)) {
    EXPECT_THAT(step.command, testing::StartsWith("ssh h")) << "no test of hosts";
  }
  finding.candidates.clear();
  EXPECT_TRUE(TellApart(finding, kNames).empty());
}

// Whoever draws it looks hosts and nodes up by these numbers.
TEST(FindingDetailTest, NumbersThatLeadNowhereAreFaults) {
  wire::FindingDetail detail = MakeDetail("gpt", SlowConnection(), Proof(), kNames);
  detail.waits[0].to = 3;
  EXPECT_NE(codec::FindRecordFault(detail), "");
  detail = MakeDetail("gpt", SlowConnection(), Proof(), kNames);
  detail.rank_hosts.pop_back();
  EXPECT_NE(codec::FindRecordFault(detail), "");
}

}  // namespace
}  // namespace fairlead::service
