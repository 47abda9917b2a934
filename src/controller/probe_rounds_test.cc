#include "controller/probe_rounds.h"

#include <gtest/gtest.h>

#include "controller/link_reports.h"
#include "controller/traffic_components_example.h"
#include "traffic/default_paths.h"

namespace fairlead::controller {
namespace {

constexpr SimDuration kSecond(1'000'000'000);

class ProbeRoundsTest : public ::testing::Test {
 protected:
  // Round 9: hosts 0 and 1 are asked; host 2 is not connected.
  ProbeRoundsTest() {
    example_.Connect(0);
    example_.Connect(1);
    traffic::ProbeRoundStarted started;
    started.round = 9;
    for (uint32_t host = 0; host < 3; ++host) {
      traffic::ProbeTask task;
      task.pair.source = NicId(host);
      task.pair.destination = NicId(3 + host);
      task.pair.first_source_port = traffic::kFirstSourcePort;
      task.pair.num_source_ports = 2;
      started.tasks.push_back(task);
    }
    rounds_.Begin(started, SimTime());
    orders_ = MessagesIn<ProbesWanted>(example_.outputs.Take());
  }

  ProbesFinished Seen(uint32_t from, uint64_t round = 9) const {
    PortScanSeen scan;
    scan.source = NicAddress(from);
    scan.destination = NicAddress(3 + from);
    scan.destination_port = 4791;
    scan.routes.push_back({.hops = {}, .sent = 3, .lost = 0, .rtt = Seconds(-1), .source_ports = {50000}});
    return {.round = round, .scans = {scan}};
  }
  void Flush() {
    PathBatch::Events events = example_.batch.Take();
    rounds_.Keep(std::span(events.all).subspan(events.first_question));
  }

  ComponentExample example_;
  ProbeRounds rounds_{example_.fabric, example_.addresses, {}, &example_.streams, &example_.batch, &example_.outputs};
  std::vector<ProbesWanted> orders_;
};

TEST_F(ProbeRoundsTest, ARoundEndsWhenAllHaveAnswered) {
  ASSERT_EQ(orders_.size(), 2u);
  EXPECT_EQ(orders_[1].scans.at(0).source, NicAddress(1));
  EXPECT_EQ(orders_[1].scans.at(0).source_ports,
            (std::vector<uint16_t>{traffic::kFirstSourcePort, traffic::kFirstSourcePort + 1}));
  EXPECT_FALSE(rounds_.Hear(HostId(0), Seen(0)));
  EXPECT_TRUE(rounds_.are_results_away());
  Flush();
  EXPECT_FALSE(rounds_.are_results_away());
  EXPECT_FALSE(rounds_.HasFinished(SimTime()));
  EXPECT_TRUE(rounds_.Hear(HostId(1), Seen(1)));
  Flush();
  ASSERT_TRUE(rounds_.HasFinished(SimTime()));
  const traffic::ProbeRoundFinished finished = rounds_.TakeFinished(SimTime());
  EXPECT_TRUE(finished.are_ports_reported);
  ASSERT_EQ(finished.scans.size(), 2u);
  EXPECT_EQ(finished.scans[1].source, NicId(1));
  EXPECT_EQ(finished.scans[1].routes.at(0).rtt, Seconds(0)) << "not measured";
  EXPECT_FALSE(rounds_.HasFinished(SimTime() + kSecond * 100));
}

TEST_F(ProbeRoundsTest, ARoundEndsAtItsTimeOutAndLateAnswersTellOfPortsOnly) {
  rounds_.Hear(HostId(0), Seen(0));
  Flush();
  EXPECT_FALSE(rounds_.HasFinished(SimTime() + kSecond * 3));
  ASSERT_TRUE(rounds_.HasFinished(SimTime() + kSecond * 4));
  EXPECT_EQ(rounds_.TakeFinished(SimTime() + kSecond * 4).scans.size(), 1u);
  EXPECT_FALSE(rounds_.Hear(HostId(1), Seen(1)));
  EXPECT_FALSE(rounds_.are_results_away());
  EXPECT_EQ(example_.batch.Take().all.size(), 1u);
}

TEST_F(ProbeRoundsTest, HostsThatWereNotAskedTellOfPortsOnly) {
  EXPECT_FALSE(rounds_.Hear(HostId(2), Seen(2)));
  EXPECT_FALSE(rounds_.are_results_away());
  EXPECT_EQ(example_.batch.Take().all.size(), 1u);
  // An answer twice counts once.
  rounds_.Hear(HostId(0), Seen(0));
  rounds_.Hear(HostId(0), Seen(0));
  Flush();
  EXPECT_TRUE(rounds_.Hear(HostId(1), {.round = 9, .scans = {}})) << "nothing seen is an answer";
  EXPECT_EQ(rounds_.TakeFinished(SimTime()).scans.size(), 1u);
}

TEST_F(ProbeRoundsTest, WhatCannotBeSeenIsNamed) {
  ProbesFinished wrong = Seen(0);
  wrong.scans[0].source = NicAddress(4);
  rounds_.Hear(HostId(0), wrong);
  wrong = Seen(1);
  wrong.scans[0].routes[0].lost = 4;
  EXPECT_TRUE(rounds_.Hear(HostId(1), wrong)) << "they have answered";
  const std::vector<Noted> notes = OutputsIn<Noted>(example_.outputs.Take());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].text.find("is not a NIC of this host"), std::string::npos);
  EXPECT_NE(notes[1].text.find("found 4 lost of 3"), std::string::npos);
  EXPECT_FALSE(example_.batch.has_questions());
}

class LinkReportsTest : public ::testing::Test {
 protected:
  LinkReportsTest() {
    while (!topology::IsNetwork(example_.fabric.tier(link_))) link_ = LinkId(link_.value() + 1);
  }
  std::string Key() const { return "link/" + example_.fabric.LinkName(link_); }
  std::vector<RecordChanged> Records() { return OutputsIn<RecordChanged>(example_.outputs.Take()); }

  ComponentExample example_;
  LinkId link_ = LinkId(0);
  LinkReports reports_{example_.fabric, &example_.batch, &example_.outputs};
};

TEST_F(LinkReportsTest, AReportIsKeptUntilTheLinkIsWhole) {
  reports_.Take({.link = link_, .health = 0.5, .source = "switch"});
  std::vector<RecordChanged> records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].key, Key());
  EXPECT_EQ(records[0].value, R"({"health":0.5,"source":"switch"})");
  reports_.Take({.link = link_, .health = 0.5, .source = "switch"});
  EXPECT_TRUE(Records().empty()) << "as before";
  reports_.Take({.link = link_, .health = 1, .source = "switch"});
  records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].value, std::nullopt);
  EXPECT_EQ(example_.batch.Take().all.size(), 3u) << "the path service hears of each";
}

TEST_F(LinkReportsTest, BadReportsAreNotKept) {
  reports_.Take({.link = LinkId(100'000), .health = 0, .source = "switch"});
  EXPECT_FALSE(example_.batch.has_questions());
  reports_.Take({.link = link_, .health = 2, .source = "switch"});
  EXPECT_TRUE(example_.batch.has_questions()) << "the path service's to reject";
  EXPECT_TRUE(Records().empty());
}

TEST_F(LinkReportsTest, ReportsAreRestored) {
  EXPECT_TRUE(reports_.Restore("job/1", "?").ok()) << "another's";
  EXPECT_TRUE(reports_.Restore(Key(), R"({"health":0,"source":"operator"})").ok());
  const PathBatch::Events events = example_.batch.Take();
  ASSERT_EQ(events.all.size(), 1u);
  EXPECT_EQ(std::get<traffic::LinkReported>(events.all[0]).source, "operator");
  EXPECT_TRUE(reports_.Restore("link/gone->away", R"({"health":0,"source":"operator"})").ok());
  EXPECT_EQ(Records().at(0).value, std::nullopt);
  EXPECT_EQ(reports_.Restore(Key(), R"({"health":7,"source":"x"})").code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace fairlead::controller
