#include "controller/node_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "controller/host_testing.h"
#include "controller/traffic_components_example.h"

namespace fairlead::controller {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Verdict = CheckedHostView::Verdict;

// Six hosts, three below each leaf, whose agents answer at once.
class NodeChecksTest : public testing::Test {
 protected:
  struct Host {
    double sends = 1e9;
    double receives = 1e9;
    std::optional<double> score = std::nullopt;  // of burn-in; nothing: it has no program
    std::string burn_in_error;
    std::vector<model::HostSymptomRecord> symptoms;
    bool is_silent = false;
  };

  NodeChecksTest() {
    for (uint32_t host = 0; host < 6; ++host) {
      HostHello hello = example_.Hello(host);
      hello.can_test = true;
      example_.streams.Bind(StreamId(host), HostId(host), hello, SimTime());
    }
    Note();
  }

  NodeCheckRequest Request(const std::vector<uint32_t>& hosts) {
    NodeCheckRequest request;
    request.number = ++num_requests_;
    for (const uint32_t host : hosts) request.hosts.emplace_back(host);
    return request;
  }
  // Until the check is over; the agents answer.
  const NodeCheckView& Run(const NodeCheckRequest& request) {
    testing_.Begin(now_, now_, request);
    for (int i = 0; i < 400 && !checks_.views().back().ended; ++i) {
      std::vector<TrafficOutput> outputs = Note();
      for (const TrafficOutput& output : outputs) {
        const auto* sent = std::get_if<SendToStream>(&output);
        if (sent == nullptr) continue;
        if (const auto* wanted = std::get_if<HostTestWanted>(&sent->message)) {
          Answer(HostId(sent->stream.value()), *wanted);
        }
      }
      now_ = now_ + SimDuration(1'000'000'000);
      testing_.Tick(now_, now_);
    }
    EXPECT_TRUE(checks_.views().back().ended.has_value());
    Note();
    return checks_.views().back();
  }
  const CheckedHostView& ViewOf(const NodeCheckView& view, uint32_t host) {
    return *std::ranges::find(view.hosts, HostId(host), &CheckedHostView::host);
  }

  std::vector<TrafficOutput> Note() {
    std::vector<TrafficOutput> outputs = example_.outputs.Take();
    for (const Noted& note : OutputsIn<Noted>(outputs)) notes_.push_back(note.subject + ": " + note.text);
    return outputs;
  }
  void Answer(HostId host, const HostTestWanted& wanted) {
    rates_max_.push_back(wanted.rate_max);
    const Host& mine = hosts_[host.value()];
    if (mine.is_silent) return;
    HostTestDone done;
    done.test = wanted.test;
    done.symptoms = mine.symptoms;
    if (wanted.kind == HostTestKind::kBurnIn) {
      done.is_refused = !mine.score.has_value() && mine.burn_in_error.empty();
      done.error = done.is_refused ? "no program" : mine.burn_in_error;
      done.score = mine.score.value_or(0);
    } else if (wanted.kind == HostTestKind::kReceive) {
      testing_.Hear(host, HostTestReady{.test = wanted.test, .port = 4000});
      done.rate = std::min(mine.receives, hosts_[HostOf(wanted.peer)].sends);
    }
    testing_.Hear(host, done);
  }

  ComponentExample example_;
  HostTesting testing_{example_.fabric, example_.addresses, example_.jobs, 1, &example_.streams, &example_.outputs};
  const NodeChecks& checks_ = testing_.checks();
  std::map<uint32_t, Host> hosts_;
  std::vector<std::string> notes_;
  std::vector<double> rates_max_;
  SimTime now_;
  uint64_t num_requests_ = 4;
};

TEST_F(NodeChecksTest, HealthyHostsPass) {
  const NodeCheckView& view = Run(Request({0, 1, 2, 3, 4, 5}));
  ASSERT_THAT(view.hosts, SizeIs(6));
  for (const CheckedHostView& host : view.hosts) {
    EXPECT_EQ(host.verdict, Verdict::kPassed);
    EXPECT_THAT(host.reasons, IsEmpty());
    EXPECT_FALSE(host.is_partner);
  }
  EXPECT_EQ(view.num_finished_steps, view.num_steps);
  EXPECT_DOUBLE_EQ(view.usual_rate, 1e9);
  EXPECT_THAT(notes_.back(), HasSubstr("6 hosts, of which 0 failed and 0 are undecided"));
}

TEST_F(NodeChecksTest, TheBadHostFailsWithItsReason) {
  hosts_[4].sends = 3e8;
  const NodeCheckView& view = Run(Request({0, 1, 2, 3, 4, 5}));
  for (const CheckedHostView& host : view.hosts) {
    EXPECT_EQ(host.verdict, host.host == HostId(4) ? Verdict::kFailed : Verdict::kPassed);
    // Who was slow with it need not explain that.
    EXPECT_EQ(host.reasons.empty(), host.host != HostId(4));
  }
  EXPECT_THAT(ViewOf(view, 4).reasons, ElementsAre("NIC 0 sends at 30 % of what is usual, with each of 2 partners"));
  EXPECT_THAT(notes_, testing::Contains(HasSubstr("host h4: check 5: failed: NIC 0 sends at 30 %")));
}

TEST_F(NodeChecksTest, ASingleHostGetsFreePartnersNearIt) {
  example_.AddJob("gpt", example_.Request(9, 3, 1));  // on host 3, below the other leaf
  hosts_[5].receives = 5e8;
  const NodeCheckView& view = Run(Request({5}));
  ASSERT_THAT(view.hosts, SizeIs(3));
  EXPECT_EQ(ViewOf(view, 5).verdict, Verdict::kFailed);
  EXPECT_FALSE(ViewOf(view, 5).is_partner);
  EXPECT_TRUE(ViewOf(view, 4).is_partner);
  EXPECT_TRUE(ViewOf(view, 0).is_partner) << "host 3 is busy";
}

TEST_F(NodeChecksTest, OfTwoAloneNeitherFails) {
  for (uint32_t host = 2; host < 6; ++host) example_.streams.End(StreamId(host));
  hosts_[0].sends = 1e8;
  const NodeCheckView& view = Run(Request({0, 1}));
  for (const CheckedHostView& host : view.hosts) {
    EXPECT_EQ(host.verdict, Verdict::kUndecided);
    ASSERT_THAT(host.reasons, SizeIs(1));
    EXPECT_THAT(host.reasons[0], HasSubstr("which of them is bad can't be told"));
  }
}

TEST_F(NodeChecksTest, BurnInDevicesAndSilenceAreJudged) {
  for (uint32_t host = 0; host < 6; ++host) hosts_[host].score = 1000;
  hosts_[1].score = 900;
  hosts_[2].score.reset();
  hosts_[2].burn_in_error = "exit code 1";
  hosts_[3].symptoms = {{.symptom = model::HostSymptom::kGpuError, .device = 6, .text = "Xid 48"}};
  hosts_[4].score.reset();
  hosts_[5].is_silent = true;
  NodeCheckRequest request = Request({0, 1, 2, 3, 4, 5});
  request.burn_in_length = SimDuration(60'000'000'000);
  const NodeCheckView& view = Run(request);
  EXPECT_EQ(ViewOf(view, 0).verdict, Verdict::kPassed);
  EXPECT_EQ(ViewOf(view, 0).burn_in_score, 1000);
  EXPECT_THAT(ViewOf(view, 1).reasons, ElementsAre("burn-in reaches 90 % of the median"));
  EXPECT_EQ(ViewOf(view, 1).verdict, Verdict::kFailed);
  EXPECT_THAT(ViewOf(view, 2).reasons, ElementsAre("burn-in failed: exit code 1"));
  EXPECT_EQ(ViewOf(view, 2).verdict, Verdict::kFailed);
  EXPECT_THAT(ViewOf(view, 3).reasons, ElementsAre("GPU 6 reports: Xid 48"));
  EXPECT_EQ(ViewOf(view, 3).verdict, Verdict::kFailed);
  // Without the program there is no verdict by it.
  EXPECT_THAT(ViewOf(view, 4).reasons, ElementsAre("no burn-in: no program"));
  EXPECT_EQ(ViewOf(view, 4).verdict, Verdict::kPassed);
  EXPECT_EQ(ViewOf(view, 5).verdict, Verdict::kUndecided);
}

TEST_F(NodeChecksTest, WhatCannotBeginSaysWhy) {
  example_.AddJob("gpt", example_.Request(9, 1, 2));
  const auto fault = [&](NodeCheckRequest request) { return checks_.FindFault(request); };
  EXPECT_EQ(fault(Request({0})), "");
  EXPECT_THAT(fault(Request({})), HasSubstr("at least one host"));
  EXPECT_THAT(fault(Request({0, 0})), HasSubstr("host h0 is named twice"));
  EXPECT_THAT(fault(Request({1})), HasSubstr("host h1: job gpt has connections there"));
  NodeCheckRequest request = Request({1, 0, 3});
  request.while_training = true;
  EXPECT_EQ(fault(request), "");
  request.num_streams = 17;
  EXPECT_THAT(fault(request), HasSubstr("streams: expected 1 to 16"));
  request.num_streams = 1;
  request.transfer_length = SimDuration(61'000'000'000);
  EXPECT_THAT(fault(request), HasSubstr("60 s"));
  testing_.Begin(now_, now_, Request({3, 4, 5}));
  EXPECT_THAT(fault(Request({4})), HasSubstr("host h4 is being tested"));
  example_.streams.End(StreamId(0));
  EXPECT_THAT(fault(Request({0})), HasSubstr("host h0: its agent is away"));
  // What can't begin all the same is noted, and leaves nothing behind.
  testing_.Begin(now_, now_, Request({0}));
  Note();
  EXPECT_THAT(notes_.back(), HasSubstr("not begun: host h0: its agent is away"));
  EXPECT_EQ(checks_.views().size(), 1U);
}

TEST_F(NodeChecksTest, BesideTrainingOnlyAHundredthIsSent) {
  NodeCheckRequest request = Request({0, 1, 2});
  request.while_training = true;
  Run(request);
  ASSERT_THAT(rates_max_, testing::Not(IsEmpty()));
  for (const double rate : rates_max_) {
    EXPECT_GT(rate, 0);
    EXPECT_LE(rate, 0.01 * 50e9 + 1);
  }
  rates_max_.clear();
  Run(Request({0, 1, 2}));
  for (const double rate : rates_max_) EXPECT_EQ(rate, 0);
}

TEST_F(NodeChecksTest, AnAgentThatLeavesEndsNoCheck) {
  testing_.Begin(now_, now_, Request({0, 1, 2, 3, 4, 5}));
  example_.streams.End(StreamId(2));
  testing_.Lose(HostId(2));
  // The check goes on with the others, whose agents are silent here: each step ends by time.
  for (int i = 0; i < 200 && !checks_.views().back().ended; ++i) {
    now_ = now_ + SimDuration(1'000'000'000);
    testing_.Tick(now_, now_);
  }
  const NodeCheckView& view = checks_.views().back();
  ASSERT_TRUE(view.ended.has_value());
  for (const CheckedHostView& host : view.hosts) EXPECT_EQ(host.verdict, Verdict::kUndecided);
}

TEST_F(NodeChecksTest, TheLatestAreKept) {
  for (size_t i = 0; i < 2 * NodeChecks::kKeptMax; ++i) Run(Request({0, 1, 2}));
  EXPECT_EQ(checks_.views().size(), NodeChecks::kKeptMax);
  EXPECT_EQ(checks_.views().back().number, num_requests_);
}

}  // namespace
}  // namespace fairlead::controller
