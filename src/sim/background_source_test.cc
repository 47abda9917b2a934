#include "sim/background_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "topology/clos_fabrics.h"

namespace fairlead::sim {
namespace {

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

class BackgroundSourceTest : public ::testing::Test {
 protected:
  BackgroundSourceTest() : fabric_(topology::BuildClos({.leaves = 4, .hosts_per_leaf = 2}).value()) {
    spec_.kv_transfers.push_back({.name = "chat",
                                  .from = {HostId(2), HostId(3)},
                                  .to = {HostId(4), HostId(5)},
                                  .per_s = 50,
                                  .bytes_per_token = Bytes(1000),
                                  .median_tokens = 800,
                                  .sigma = 0.5});
    spec_.storage = {HostId(7)};
  }

  std::vector<BackgroundMessage> AllUntil(double seconds, uint64_t seed = 1) {
    BackgroundSource source(spec_, fabric_, seed);
    std::vector<BackgroundMessage> all;
    while (source.Next() <= At(seconds)) {
      for (BackgroundMessage& message : source.Take(source.Next())) all.push_back(std::move(message));
    }
    return all;
  }

  topology::Fabric fabric_;
  BackgroundSpec spec_;
};

TEST_F(BackgroundSourceTest, RequestsAreAsManyAndAsLongAsTheyShall) {
  const std::vector<BackgroundMessage> messages = AllUntil(200);
  EXPECT_NEAR(static_cast<double>(messages.size()), 200 * 50, 4 * 100);  // four standard deviations
  double log_sum = 0, log_squares = 0;
  std::set<std::pair<HostId, HostId>> pairs;
  for (const BackgroundMessage& message : messages) {
    ASSERT_EQ(message.iteration.flows.size(), 8u);
    double bytes = 0;
    for (const model::FlowDemand& flow : message.iteration.flows) bytes += flow.bytes.value();
    const double log = std::log(bytes / 1000 / 800);
    log_sum += log;
    log_squares += log * log;
    const model::FlowDemand& third = message.iteration.flows[3];
    pairs.emplace(fabric_.host_of(third.source), fabric_.host_of(third.destination));
    EXPECT_EQ(third.source.value() % 8, 3u);
    EXPECT_EQ(third.destination.value() % 8, 3u);
  }
  const auto n = static_cast<double>(messages.size());
  EXPECT_NEAR(log_sum / n, 0, 4 * 0.5 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(log_squares / n), 0.5, 0.02);
  EXPECT_EQ(pairs.size(), 4u);
}

TEST_F(BackgroundSourceTest, ASeedDrawsTheSameAndAnotherOthers) {
  const auto bytes = [](const std::vector<BackgroundMessage>& messages) {
    std::vector<double> all;
    for (const BackgroundMessage& message : messages) all.push_back(message.iteration.flows[0].bytes.value());
    return all;
  };
  EXPECT_EQ(bytes(AllUntil(10)), bytes(AllUntil(10)));
  EXPECT_NE(bytes(AllUntil(10)), bytes(AllUntil(10, 2)));
}

TEST_F(BackgroundSourceTest, JobsWriteEachIntervalUnlessTheyStillDo) {
  spec_.kv_transfers.clear();
  spec_.checkpoints[JobId(4)] = {SimDuration::FromSeconds(Seconds(10)), Bytes(24e9)};
  BackgroundSource source(spec_, fabric_, 1);
  EXPECT_EQ(source.Next(), SimTime::Never());
  model::Placement placement;
  for (uint32_t g = 0; g < 12; ++g) placement.gpus.emplace_back(g);
  source.BeginJob(JobId(3), placement, At(0));  // writes none
  EXPECT_EQ(source.Next(), SimTime::Never());
  source.BeginJob(JobId(4), placement, At(5));
  EXPECT_EQ(source.Next(), At(15));
  EXPECT_TRUE(source.Take(At(14)).empty());

  const std::vector<BackgroundMessage> first = source.Take(At(15));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].writer, JobId(4));
  ASSERT_EQ(first[0].iteration.flows.size(), 12u);
  for (const model::FlowDemand& flow : first[0].iteration.flows) {
    EXPECT_DOUBLE_EQ(flow.bytes.value(), 2e9);
    EXPECT_EQ(fabric_.host_of(flow.destination), HostId(7));
  }
  EXPECT_NE(first[0].iteration.flows[0].destination, first[0].iteration.flows[1].destination);
  EXPECT_EQ(first[0].iteration.flows[1].destination, first[0].iteration.flows[9].destination);

  EXPECT_TRUE(source.Take(At(25)).empty());  // still writing
  EXPECT_EQ(source.num_skipped(), 1u);
  source.EndWrite(JobId(4));
  EXPECT_EQ(source.Take(At(35)).size(), 1u);
  source.EndJob(JobId(4));
  source.EndWrite(JobId(4));
  EXPECT_EQ(source.Next(), SimTime::Never());
}

TEST_F(BackgroundSourceTest, HostsAreThoseOfAllStreams) {
  EXPECT_EQ(spec_.Hosts(), (std::vector<HostId>{HostId(2), HostId(3), HostId(4), HostId(5), HostId(7)}));
}

}  // namespace
}  // namespace fairlead::sim
