#include "diagnosis/c4d/arrival_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"
#include "diagnosis/c4d/straggler_detector.h"
#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::RankId;
using testing::IsEmpty;

constexpr int kExchanges = 20;  // a second

// Share of the time by which a rank begins exchanges later than the others.
using Lateness = std::function<double(uint32_t rank, int second)>;

// All GPUs of equal index exchange with each other; one GPU a host. Of each exchange a rank gets `messages` messages
// from each other one; what has arrived waits while it is late, eight messages at most.
class ExchangingJob {
 public:
  struct Options {
    uint32_t ranks = 8;
    int messages = 12;
    bool has_durations = false;
    bool is_ring = false;  // from the one before only
  };
  explicit ExchangingJob(const Options& options)
      : options_(options), layout_(MakeExampleLayout({.hosts = options.ranks, .gpus = 1})) {}

  const model::JobLayout& layout() const { return layout_; }
  CommunicatorId communicator() const { return CommunicatorId(options_.ranks); }

  model::RankReport Report(uint32_t rank, int second, double lateness) const {
    model::RankReport report;
    report.rank = RankId(rank);
    report.number = static_cast<uint64_t>(second);
    report.at = SimTime::FromSeconds(Seconds(100 + second + 0.1 * rank));
    for (uint32_t peer = 0; peer < options_.ranks; ++peer) {
      if (peer == rank || (options_.is_ring && peer != (rank + options_.ranks - 1) % options_.ranks)) continue;
      AddExchanges(peer, second, lateness, report);
    }
    return report;
  }

  // The first suspects.
  std::vector<Suspect> Play(int seconds, const Lateness& lateness) const {
    StragglerDetector detector(layout_, {});
    for (int second = 0; second < seconds; ++second) {
      for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
        detector.Add(Report(rank, second, lateness(rank, second)));
      }
      std::vector<Suspect> suspects = detector.JudgeBlocks(SimTime::FromSeconds(Seconds(second + 1)));
      if (!suspects.empty()) return suspects;
    }
    return {};
  }

 private:
  void AddExchanges(uint32_t peer, int second, double lateness, model::RankReport& report) const {
    for (int i = 0; i < kExchanges; ++i) {
      model::OperationRecord operation;
      operation.communicator = communicator();
      operation.kind = OperationKind::kReceive;
      operation.peer = RankId(peer);
      operation.sequence = static_cast<uint64_t>(second) * kExchanges + static_cast<uint64_t>(i);
      operation.bytes = 1 << 20;
      operation.enqueued = report.at - SimDuration(900'000'000) + SimDuration(40'000'000) * i;
      operation.started = operation.enqueued;
      operation.finished = *operation.started + SimDuration(options_.has_durations ? 1'000'000 : 0);
      report.operations.push_back(operation);
      operation.kind = OperationKind::kSend;
      report.operations.push_back(operation);
    }
    model::ConnectionRecord connection;
    connection.key = {.communicator = communicator(),
                      .channel = 0,
                      .plane = 0,
                      .direction = model::Direction::kReceive,
                      .peer = RankId(peer)};
    connection.messages = static_cast<uint64_t>(options_.messages) * kExchanges;
    connection.wait_for_gpu = SimDuration(static_cast<int64_t>(lateness * std::min(8, options_.messages) * 1e9));
    report.connections.push_back(connection);
  }

  Options options_;
  model::JobLayout layout_;
};

// Whatever the number of messages of an exchange.
TEST(ArrivalWaitsTest, LatenessFromWaitsOfMessages) {
  for (const int messages : {1, 3, 8, 40}) {
    const ExchangingJob job({.ranks = 4, .messages = messages});
    ArrivalWaits waits(job.layout());
    EXPECT_FALSE(waits.HasAny());
    std::vector<BlockSample> block;
    for (int second = 0; block.empty() && second < 20; ++second) {
      for (uint32_t rank = 0; rank < 4; ++rank) waits.Add(job.Report(rank, second, 0.05 * rank));
      block = waits.TakeBlock(SimTime::FromSeconds(Seconds(second + 1)));
    }
    EXPECT_TRUE(waits.IsOf(job.communicator()));
    ASSERT_EQ(block.size(), 4u) << messages;
    for (const BlockSample& sample : block) {
      EXPECT_NEAR(sample.own_seconds / sample.span_seconds, 0.05 * sample.rank, 0.001) << messages;
    }
  }
}

TEST(ArrivalWaitsTest, NothingOfJobsWithDurationsAndOfRings) {
  for (const ExchangingJob& job : {ExchangingJob({.has_durations = true}), ExchangingJob({.is_ring = true})}) {
    ArrivalWaits waits(job.layout());
    for (int second = 0; second < 20; ++second) {
      for (uint32_t rank = 0; rank < 8; ++rank) waits.Add(job.Report(rank, second, rank == 3 ? 0.3 : 0.05));
      EXPECT_THAT(waits.TakeBlock(SimTime::FromSeconds(Seconds(second + 1))), IsEmpty());
    }
    EXPECT_FALSE(waits.HasAny());
  }
}

// Each report comes twice, and each third one is lost.
TEST(ArrivalWaitsTest, LostAndRepeatedReportsAddNothing) {
  const ExchangingJob job({.ranks = 4});
  ArrivalWaits waits(job.layout());
  int blocks = 0;
  for (int second = 0; second < 60; ++second) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      if (second % 3 == 2) continue;
      waits.Add(job.Report(rank, second, 0.1));
      waits.Add(job.Report(rank, second, 0.1));
    }
    for (const BlockSample& sample : waits.TakeBlock(SimTime::FromSeconds(Seconds(second + 1)))) {
      ++blocks;
      EXPECT_NEAR(sample.own_seconds / sample.span_seconds, 0.1, 0.001);
    }
  }
  EXPECT_GT(blocks, 4 * 10);
}

Lateness Noisy(Random& random, std::function<double(uint32_t, int)> more) {
  return [&random, more = std::move(more)](uint32_t rank, int second) {
    return 0.07 * random.Uniform(0.5, 1.5) + more(rank, second);
  };
}

TEST(ArrivalWaitsTest, ALateRankIsNamedWithWhatItCosts) {
  for (const uint32_t ranks : {4, 8, 32}) {
    Random random(ranks);
    const ExchangingJob job({.ranks = ranks});
    const auto late = [](uint32_t rank, int second) { return rank == 2 && second >= 60 ? 0.15 : 0; };
    const std::vector<Suspect> suspects = job.Play(120, Noisy(random, late));
    ASSERT_EQ(suspects.size(), 1u) << ranks;
    EXPECT_EQ(suspects.front().culprits.front().rank, RankId(2));
    EXPECT_EQ(suspects.front().syndrome, model::Syndrome::kNonCommSlow);
    EXPECT_NEAR(suspects.front().cost, 0.15, 0.03);
    EXPECT_EQ(RecommendAction(suspects.front(), 0.84), model::RecommendedAction::kWatch);
  }
}

// Noise of half of the usual wait, a rank that waits for 3 % more than the others, and one that does so now and then.
TEST(ArrivalWaitsTest, HealthyRanksThatDifferAreNotNamed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const ExchangingJob job({.ranks = seed % 2 == 0 ? 4u : 16u});
    const auto uneven = [](uint32_t rank, int second) {
      return rank == 1 ? 0.03 : rank == 2 && second % 40 < 4 ? 0.06 : 0;
    };
    EXPECT_THAT(job.Play(240, Noisy(random, uneven)), IsEmpty()) << seed;
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
