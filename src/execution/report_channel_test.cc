#include "execution/report_channel.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead::execution {
namespace {

using model::RankId;
using model::RankReport;
using model::TelemetryRecord;

constexpr Instant kInstantSecond = 1'000'000'000;

RankReport ReportOf(uint64_t number) {
  RankReport report;
  report.rank = RankId(0);
  report.number = number;
  for (uint64_t i = 0; i < 5; ++i) {
    model::OperationRecord operation;
    operation.sequence = i;
    operation.started = SimTime(1);
    operation.finished = SimTime(2);
    report.operations.push_back(operation);
  }
  report.connections.resize(3);
  return report;
}

// A report a second for `seconds` seconds, and when each arrives.
std::vector<std::pair<SimTime, RankReport>> SendAll(const NoiseOptions& noise, uint64_t seconds) {
  std::vector<std::pair<SimTime, RankReport>> arrived;
  ReportChannel channel(noise, 1);
  const EmitRecord keep = [&arrived](SimTime at, const TelemetryRecord& record) {
    arrived.emplace_back(at, std::get<RankReport>(record));
  };
  for (uint64_t number = 0; number < seconds; ++number) {
    const auto at = static_cast<Instant>(number) * kInstantSecond;
    channel.Send(at, ReportOf(number));
    channel.Deliver(at, keep);
  }
  channel.Deliver(kNever, keep);
  return arrived;
}

TEST(ReportChannel, DeliversAllInOrderWithoutNoise) {
  const auto arrived = SendAll(NoiseOptions{}, 1000);
  ASSERT_EQ(arrived.size(), 1000u);
  for (uint64_t number = 0; number < 1000; ++number) {
    EXPECT_EQ(arrived[number].second, ReportOf(number));
    EXPECT_GE(arrived[number].first.ns(),
              static_cast<Instant>(number) * kInstantSecond + NoiseOptions{}.delay_min.ns());
  }
}

TEST(ReportChannel, ArrivalsAscendWhateverHappens) {
  NoiseOptions noise;
  noise.lost = noise.duplicated = noise.delayed = noise.truncated = noise.contradicting = 0.3;
  const auto arrived = SendAll(noise, 1000);
  EXPECT_TRUE(std::ranges::is_sorted(arrived, {}, [](const auto& arrival) { return arrival.first; }));
  EXPECT_FALSE(std::ranges::is_sorted(arrived, {}, [](const auto& arrival) { return arrival.second.number; }));
}

// A prefix of the messages.
TEST(ReportChannel, TruncatedReportsLackTheirEnd) {
  NoiseOptions noise;
  noise.truncated = 1;
  size_t shorter = 0;
  for (const auto& [at, report] : SendAll(noise, 100)) {
    const RankReport whole = ReportOf(report.number);
    ASSERT_LE(report.operations.size(), whole.operations.size());
    EXPECT_TRUE(std::equal(report.operations.begin(), report.operations.end(), whole.operations.begin()));
    shorter += report.operations.size() < whole.operations.size() ? 1 : 0;
  }
  // 5 of 6 lengths are shorter.
  EXPECT_NEAR(static_cast<double>(shorter), 83, 15);
}

TEST(ReportChannel, ContradictingCopiesTakeInstantsBack) {
  NoiseOptions noise;
  noise.contradicting = 1;
  const auto arrived = SendAll(noise, 50);
  ASSERT_EQ(arrived.size(), 100u);
  size_t taken_back = 0;
  for (const auto& [at, report] : arrived) {
    EXPECT_EQ(report.operations.size(), 5u);
    for (const model::OperationRecord& operation : report.operations) {
      EXPECT_TRUE(operation.started.has_value() || !operation.finished.has_value());
      taken_back += operation.finished.has_value() ? 0 : 1;
    }
  }
  // Half of the 250 operations of the copies; deviation 8.
  EXPECT_NEAR(static_cast<double>(taken_back), 125, 40);
}

}  // namespace
}  // namespace fairlead::execution
