#include "diagnosis/c4d/measured_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using testing::IsEmpty;

class MeasuredConnectionsTest : public ::testing::Test {
 protected:
  // 40 messages of 1 MB from rank 0, each in that time, one of them in `slowest_ms`.
  void Report(uint32_t peer, double ms, double slowest_ms = 0, uint64_t messages = 40, double unready_ms = 0) {
    model::ConnectionRecord record;
    record.wait_for_peer = SimDuration::FromSeconds(Seconds(static_cast<double>(messages) * unready_ms / 1000));
    record.key.peer = RankId(peer);
    record.messages = messages;
    record.bytes = messages * 1'000'000;
    const double slowest = std::max(ms, slowest_ms);
    record.wire_time = SimDuration::FromSeconds(Seconds((static_cast<double>(messages - 1) * ms + slowest) / 1000));
    record.wire_time_max = SimDuration::FromSeconds(Seconds(slowest / 1000));
    model::RankReport report;
    report.rank = RankId(0u);
    report.number = number_++;
    report.connections.push_back(record);
    connections_.Add(report);
    connections_.Add(report);  // repeated reports change nothing
  }
  // The other end of these messages: it waits so long for each, and its GPU takes it so long after that.
  void ReportReceived(uint32_t peer, double ms, uint64_t messages = 40, double untaken_ms = 0) {
    model::ConnectionRecord record;
    record.key.direction = model::Direction::kReceive;
    record.key.peer = RankId(0u);
    record.messages = messages;
    record.bytes = messages * 1'000'000;
    record.wait_for_peer = SimDuration::FromSeconds(Seconds(static_cast<double>(messages) * ms / 1000));
    record.wait_for_gpu = SimDuration::FromSeconds(Seconds(static_cast<double>(messages) * untaken_ms / 1000));
    model::RankReport report;
    report.rank = RankId(peer);
    report.number = number_++;
    report.connections.push_back(record);
    connections_.Add(report);
  }
  // Of a window with one report.
  ConnectionSample SampleOf(double ms) {
    Report(1, ms);
    return connections_.TakeWindow({}).front();
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 4, .gpus = 1});
  MeasuredConnections connections_{layout_, {}};
  uint64_t number_ = 0;
};

TEST_F(MeasuredConnectionsTest, ThoseWithMessagesEnoughInTheOrderOfTheirKeys) {
  Report(3, 3);
  Report(1, 1, 1, 29);  // of 30
  Report(2, 2);
  Report(0, 1);  // to itself
  Report(4, 1);  // unknown
  const std::vector<ConnectionSample> samples = connections_.TakeWindow({});
  ASSERT_EQ(samples.size(), 2u);
  for (const size_t i : {0, 1}) {
    EXPECT_EQ(samples[i].source, RankId(0u));
    EXPECT_EQ(samples[i].key.peer, RankId(static_cast<uint32_t>(i + 2)));
    EXPECT_EQ(samples[i].messages, 40);
    EXPECT_NEAR(std::exp(samples[i].log_seconds), 0.001 * static_cast<double>(i + 2), 1e-6);
    EXPECT_NEAR(std::exp(samples[i].log_delay), 1e-9 * static_cast<double>(i + 2), 1e-12);
    EXPECT_FALSE(samples[i].has_normal);
  }
  EXPECT_THAT(connections_.TakeWindow({}), IsEmpty()) << "it is forgotten";
}

TEST_F(MeasuredConnectionsTest, NormalIsTheMeanOfTwoWindows) {
  for (const double ms : {1.0, 4.0, 100.0}) {
    const ConnectionSample sample = SampleOf(ms);
    EXPECT_EQ(sample.has_normal, ms == 100);
    connections_.Learn(sample, false);
  }
  const ConnectionSample sample = SampleOf(1);
  EXPECT_TRUE(sample.has_normal);
  EXPECT_NEAR(std::exp(sample.normal_log_seconds), 0.002, 1e-6) << "the geometric mean; the third was too late";
}

// Its sender waits while the receiver is busy with what came before: that is no time on the wire.
TEST_F(MeasuredConnectionsTest, AMessageTakesNoLongerThanItsReceiverWaits) {
  const struct {
    double awaited_ms, expected_ms;
  } kCases[] = {{0.5, 0.5}, {3, 3}, {10, 10}, {300, 10}, {0, 10}};  // 0: not known
  for (const auto& each : kCases) {
    Report(1, 10);
    ReportReceived(1, each.awaited_ms, 30);
    const std::vector<ConnectionSample> samples = connections_.TakeWindow({});
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_NEAR(std::exp(samples[0].log_seconds), each.expected_ms / 1000, 1e-9) << each.awaited_ms;
  }
  Report(1, 10);
  EXPECT_NEAR(std::exp(connections_.TakeWindow({}).front().log_seconds), 0.01, 1e-9) << "of this window only";
}

// Four buffers are full while a message waits for one of them.
TEST_F(MeasuredConnectionsTest, AReceiverHoldsUpAFourthOfWhatItDoesNotTake) {
  const auto held_ms = [&](double untaken_ms, double unready_ms) {
    Report(1, 10, 10, 40, unready_ms);
    ReportReceived(1, 300, 30, untaken_ms);
    const ConnectionSample sample = connections_.TakeWindow({}).front();
    connections_.Learn(sample, false);
    return 1000 * sample.held_seconds;
  };
  EXPECT_NEAR(held_ms(8, 0), 2, 1e-6);
  EXPECT_NEAR(held_ms(8, 1.5), 0.5, 1e-6) << "what the sender has seen is not on the wire";
  EXPECT_NEAR(held_ms(8, 0), 0.75, 1e-6) << "beyond the mean of two windows, which is normal";
  EXPECT_EQ(held_ms(1, 0), 0);
  EXPECT_EQ(held_ms(0, 20), 0);
  Report(1, 10);
  EXPECT_EQ(connections_.TakeWindow({}).front().held_seconds, 0) << "of this window only";
}

TEST_F(MeasuredConnectionsTest, ALateReceiverLosesNoMessages) {
  for (int i = 0; i < 2; ++i) {
    for (int report = 0; report < 20; ++report) Report(1, 1, 1);
    connections_.Learn(connections_.TakeWindow({}).front(), false);
  }
  for (const bool is_awaited : {true, false}) {
    for (int report = 0; report < 20; ++report) {
      Report(1, 1, 100);
      ReportReceived(1, is_awaited ? 4 : 1);
    }
    EXPECT_EQ(connections_.TakeWindow({}).front().uneven_share > 0, is_awaited);
  }
}

// It has to be so in five windows; the fifth and the sixth make its normal.
TEST_F(MeasuredConnectionsTest, WhatLastsIsNormal) {
  for (int window = 1; window <= 7; ++window) {
    const ConnectionSample sample = SampleOf(window);
    EXPECT_EQ(sample.has_normal, window == 7);
    connections_.Learn(sample, true);
  }
  EXPECT_NEAR(std::exp(SampleOf(1).normal_log_seconds), std::sqrt(0.005 * 0.006), 1e-6);
}

TEST_F(MeasuredConnectionsTest, ARankThatBeginsAnewIsHeardAgain) {
  Report(1, 1);
  EXPECT_EQ(connections_.TakeWindow({}).size(), 1u);
  number_ = 0;
  Report(1, 1);
  EXPECT_THAT(connections_.TakeWindow({}), IsEmpty());
  number_ = 0;
  connections_.BeginAnew(RankId(0u));
  Report(1, 1);
  EXPECT_EQ(connections_.TakeWindow({}).size(), 1u);
}

// In each of ten seconds one of 40 messages takes 20 ms instead of 1 ms: 190 ms together.
TEST_F(MeasuredConnectionsTest, LatenessOfAnEndExcusesSlowMessages) {
  for (int window = 0; window < 2; ++window) {
    for (int second = 0; second < 10; ++second) Report(1, 1);
    connections_.Learn(connections_.TakeWindow({}).front(), false);
  }
  const auto uneven_share = [&](const std::vector<double>& lateness) {
    for (int second = 0; second < 10; ++second) Report(1, 1, 20);
    return connections_.TakeWindow(lateness).front().uneven_share;
  };
  EXPECT_EQ(uneven_share({}), 1);
  EXPECT_EQ(uneven_share({0.1, 0.1, 0.3, 0.3}), 1);
  EXPECT_EQ(uneven_share({0.3, 0, 0, 0}), 0);
  EXPECT_EQ(uneven_share({0, 0.3, 0, 0}), 0);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
