#include "telemetry/host_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace fairlead::telemetry {
namespace {

using testing::IsEmpty;

HostReportInstant Report(uint32_t host, double second) {
  return {HostId(host), SimTime(static_cast<int64_t>(second * 1e9))};
}

TEST(HostClocksTest, HostsOfOneClock) {
  EXPECT_THAT(FindOtherClocks({}), IsEmpty());
  EXPECT_THAT(FindOtherClocks(std::vector{Report(0, 10), Report(1, 10.9), Report(0, 11), Report(1, 11.9)}), IsEmpty());
}

TEST(HostClocksTest, AheadAndBehindAreKnownToThePeriodOfReports) {
  const std::vector reports = {Report(2, 70.1), Report(1, 130.2), Report(0, 100.3),
                               Report(2, 71.1), Report(1, 131.2), Report(0, 101.3)};
  const auto others = FindOtherClocks(reports);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_NEAR(others.at(HostId(1)).seconds().value(), 29.9, 1e-6);
  EXPECT_NEAR(others.at(HostId(2)).seconds().value(), -29.2, 1e-6);
}

// A host that joins after a pause of all is as late as the others.
TEST(HostClocksTest, APauseIsNoOtherClock) {
  EXPECT_THAT(FindOtherClocks(std::vector{Report(0, 10), Report(0, 11), Report(1, 41), Report(0, 41.5)}), IsEmpty());
  // Whether it is one is not known before the reference goes on.
  EXPECT_THAT(FindOtherClocks(std::vector{Report(0, 10), Report(0, 11), Report(1, 41)}), IsEmpty());
}

// One that arrives late tells nothing, as others arrive in time.
TEST(HostClocksTest, ALateReportIsNoOtherClock) {
  EXPECT_THAT(FindOtherClocks(std::vector{Report(0, 10), Report(0, 15), Report(1, 10.5), Report(1, 15.2)}), IsEmpty());
}

// Of hosts of which most have the same clock, one of these is the reference.
TEST(HostClocksTest, ManyHosts) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> ahead(9, 0.0);
    for (size_t h = 0; h < 4; ++h) ahead[h] = random.Uniform(3, 60) * (random.Uniform(0, 1) < 0.5 ? -1 : 1);
    std::vector<HostReportInstant> reports;
    std::vector<double> phase;
    for (size_t h = 0; h < ahead.size(); ++h) phase.push_back(random.Uniform(0, 1));
    std::vector<std::pair<double, uint32_t>> order;
    for (uint32_t h = 0; h < ahead.size(); ++h) {
      for (int i = 0; i < 4; ++i) order.emplace_back(phase[h] + i, h);
    }
    std::ranges::sort(order);
    for (const auto& [second, host] : order) reports.push_back(Report(host, second + 100 + ahead[host]));
    const auto others = FindOtherClocks(reports);
    ASSERT_EQ(others.size(), 4u);
    for (const auto& [host, by] : others) EXPECT_NEAR(by.seconds().value(), ahead[host.index()], 1.0);
  }
}

}  // namespace
}  // namespace fairlead::telemetry
