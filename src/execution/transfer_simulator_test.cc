#include "execution/transfer_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"

namespace fairlead::execution {
namespace {

using model::CommunicatorId;
using model::ConnectionRecord;
using model::Direction;
using model::RankId;
using model::TransferPhase;

constexpr Instant kSecond = 1'000'000'000;

NoiseOptions Calm() {
  NoiseOptions noise;
  noise.congestion = 0;
  return noise;
}

// One communicator over all ranks of a job of data parallelism alone, and its simulator.
struct SimulatedTransfers {
  explicit SimulatedTransfers(const JobShape& job_shape, std::vector<Fault> faults = {},
                              const NoiseOptions& options = Calm())
      : shape(job_shape),
        noise(options),
        layout(MakeLayout(shape, JobId(0))),
        effects(shape, layout, std::move(faults)) {
    noise.wire_cv = 0;
    noise.connection_cv = 0;
    const ReportWindows windows{.first_end = 1000 * kSecond, .period = 1000 * kSecond};
    simulator.emplace(shape, noise, std::vector<ReportWindows>(shape.NumHosts(), windows), &effects, 1);
    const std::vector<RankId>& ranks = layout.communicators.back().ranks;
    route = simulator->MakeRoute(CommunicatorId(0), ranks, DataParallelPattern(shape, ranks));
  }

  std::vector<Instant> Simulate(const std::vector<Instant>& starts, uint32_t messages, double bytes) {
    std::vector<Instant> finishes(starts.size());
    simulator->Simulate(route, {.messages = messages, .bytes_per_message = bytes, .starts = starts}, finishes);
    return finishes;
  }

  // What all ends of connections say in the first, very long window.
  std::map<std::pair<RankId, model::ConnectionKey>, ConnectionRecord> Records() {
    std::map<std::pair<RankId, model::ConnectionKey>, ConnectionRecord> records;
    for (uint32_t r = 0; r < shape.NumRanks(); ++r) {
      for (const uint32_t account : simulator->AccountsOf(RankId(r))) {
        const auto record = simulator->accounts()[account].Take(0);
        if (record.has_value()) records[{RankId(r), record->key}] = *record;
      }
    }
    return records;
  }

  JobShape shape;
  NoiseOptions noise;
  model::JobLayout layout;
  FaultEffects effects;
  std::optional<TransferSimulator> simulator;
  Route route;
};

JobShape OneGpuHosts(uint32_t ranks, DataParallelAlgorithm algorithm) {
  JobShape shape;
  shape.data_parallel = ranks;
  shape.gpus_per_host = 1;
  shape.channels = 1;
  shape.algorithm = algorithm;
  return shape;
}

Fault On(FaultKind kind, uint32_t rank, Instant begin, double magnitude = 1) {
  Fault fault;
  fault.kind = kind;
  fault.rank = RankId(rank);
  fault.begin = SimTime(begin);
  fault.magnitude = magnitude;
  return fault;
}

// A ring all-reduce takes 2 (n - 1) steps of latency + flush + bytes / (n B); all channels share B.
TEST(TransferSimulator, RingTakesItsClosedForm) {
  for (const uint32_t n : {2u, 3u, 8u, 17u}) {
    for (const uint32_t channels : {1u, 4u}) {
      JobShape shape = OneGpuHosts(n, DataParallelAlgorithm::kRing);
      shape.channels = channels;
      SimulatedTransfers job(shape);
      const double bytes = 4e8;
      const double step_ns =
          bytes / n / shape.link_speed.value() * 1e9 + static_cast<double>(shape.latency.ns() + shape.flush_time.ns());
      const uint32_t steps = 2 * (n - 1);
      for (const Instant finish : job.Simulate(std::vector<Instant>(n, 0), steps, bytes / n / channels)) {
        EXPECT_NEAR(static_cast<double>(finish), steps * step_ns, steps) << n << " ranks";
      }
    }
  }
}

// Every pair shares its sender's port with the n - 2 others: (n - 1) / n of the bytes at B, and one latency and flush.
TEST(TransferSimulator, AllToAllTakesItsClosedForm) {
  constexpr uint32_t kRanks = 5;
  const JobShape shape = OneGpuHosts(kRanks, DataParallelAlgorithm::kAllToAll);
  SimulatedTransfers job(shape);
  const double bytes = 4e8;
  const double expected_ns = bytes * (kRanks - 1) / kRanks / shape.link_speed.value() * 1e9 +
                             static_cast<double>(shape.latency.ns() + shape.flush_time.ns());
  for (const Instant finish : job.Simulate(std::vector<Instant>(kRanks, 0), 4, bytes / kRanks / 4)) {
    EXPECT_NEAR(static_cast<double>(finish), expected_ns, 10);
  }
}

// The equations of the header, solved by going round until nothing changes: all messages, no order, no slots reused.
std::vector<Instant> FinishesByIteration(const SimulatedTransfers& job, const std::vector<Instant>& starts,
                                         uint32_t messages, double bytes) {
  const TransferPattern& pattern = job.route.pattern;
  const std::vector<Connection>& connections = job.route.connections;
  using Table = std::vector<std::vector<Instant>>;
  Table done(pattern.edges.size(), std::vector<Instant>(messages, 0));
  Table taken = done;
  Table filled(pattern.stages.size(), std::vector<Instant>(messages + pattern.lag_max, 0));
  bool changes = true;
  const auto raise = [&changes](Instant& value, Instant to) {
    if (to <= value) return;
    value = to;
    changes = true;
  };
  while (changes) {
    changes = false;
    for (size_t s = 0; s < pattern.stages.size(); ++s) {
      const TransferStage& stage = pattern.stages[s];
      const bool has_outputs = stage.num_outputs > 0;
      for (uint32_t k = 0; k < messages + stage.lag; ++k) {
        const bool fills = has_outputs && k < messages;
        const bool takes = stage.num_inputs > 0 && k >= stage.lag;
        if (!fills && !takes) continue;
        Instant t = starts[stage.member];
        const auto copying = static_cast<Instant>(bytes * job.route.copy_ns_per_byte[s]);
        if (k > 0) t = std::max(t, filled[s][k - 1] + (fills ? copying : 0));
        for (const EdgeIndex e : pattern.Inputs(stage)) {
          if (takes) t = std::max(t, done[e][k - stage.lag] + connections[e].flush);
        }
        for (const EdgeIndex e : pattern.Outputs(stage)) {
          if (fills && k >= kSlots) t = std::max(t, done[e][k - kSlots]);
        }
        raise(filled[s][k], t);
        for (const EdgeIndex e : pattern.Inputs(stage)) {
          if (takes) raise(taken[e][k - stage.lag], filled[s][k]);
        }
        for (const EdgeIndex e : pattern.Outputs(stage)) {
          if (!fills) continue;
          Instant sent = std::max(filled[s][k], starts[pattern.edges[e].destination]);
          if (k >= kSlots) sent = std::max(sent, taken[e][k - kSlots]);
          const auto duration = static_cast<Instant>(std::llround(bytes * connections[e].ns_per_byte));
          if (k > 0) sent = std::max(sent, done[e][k - 1] - connections[e].latency);
          raise(done[e][k], sent + duration + connections[e].latency);
        }
      }
    }
  }
  std::vector<Instant> finishes = starts;
  for (size_t e = 0; e < pattern.edges.size(); ++e) {
    Instant& source = finishes[pattern.edges[e].source];
    source = std::max(source, done[e][messages - 1]);
    Instant& destination = finishes[pattern.edges[e].destination];
    destination = std::max(destination, taken[e][messages - 1]);
  }
  return finishes;
}

TEST(TransferSimulator, AgreesWithIterationToAFixedPoint) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    JobShape shape;
    shape.data_parallel = 2 + static_cast<uint32_t>(random.Below(8));
    shape.gpus_per_host = 1 + static_cast<uint32_t>(random.Below(4));
    shape.channels = 1 + static_cast<uint32_t>(random.Below(3));
    shape.planes = 1 + static_cast<uint32_t>(random.Below(2));
    shape.algorithm = static_cast<DataParallelAlgorithm>(random.Below(4));
    shape.messages_per_ring_step = 1 + static_cast<uint32_t>(random.Below(7));
    SimulatedTransfers job(shape);
    std::vector<Instant> starts;
    for (uint32_t r = 0; r < shape.data_parallel; ++r) starts.push_back(static_cast<Instant>(random.Below(5'000'000)));
    const uint32_t messages = 1 + static_cast<uint32_t>(random.Below(30));
    const double bytes = random.Uniform(1e3, 2e7);
    EXPECT_EQ(job.Simulate(starts, messages, bytes), FinishesByIteration(job, starts, messages, bytes))
        << "seed " << seed;
  }
}

TEST(TransferSimulator, ReceivesWhatWasSent) {
  for (const auto algorithm :
       {DataParallelAlgorithm::kRing, DataParallelAlgorithm::kTree, DataParallelAlgorithm::kAllToAll}) {
    JobShape shape;
    shape.data_parallel = 12;
    shape.gpus_per_host = 4;
    shape.algorithm = algorithm;
    SimulatedTransfers job(shape);
    job.Simulate(std::vector<Instant>(12, 0), 20, 1e6);
    std::map<std::pair<RankId, RankId>, uint64_t> sent;
    std::map<std::pair<RankId, RankId>, uint64_t> received;
    for (const auto& [end, record] : job.Records()) {
      const bool sends = end.second.direction == Direction::kSend;
      (sends ? sent[{end.first, end.second.peer}] : received[{end.second.peer, end.first}]) += record.bytes;
      EXPECT_EQ(record.messages, 20u);
      EXPECT_EQ(record.phase, TransferPhase::kIdle);
    }
    EXPECT_FALSE(sent.empty());
    EXPECT_EQ(sent, received);
  }
}

// Rank 2 of a ring of 4 freezes when it has posted its 8 buffers and sent little. Rank 1 has sent what these take and
// then waits for more; rank 3 has posted and gets nothing, so its own GPU has nothing to send.
TEST(TransferSimulator, NeighboursOfAFrozenRankWaitForIt) {
  JobShape shape = OneGpuHosts(4, DataParallelAlgorithm::kRing);
  shape.messages_per_ring_step = 7;
  // A message of 5 MB takes 100 us.
  SimulatedTransfers job(shape, {On(FaultKind::kProcessFrozen, 2, 150'000)});
  for (const Instant finish : job.Simulate(std::vector<Instant>(4, 0), 42, 5e6)) EXPECT_TRUE(IsNever(finish));
  std::map<std::pair<uint32_t, Direction>, ConnectionRecord> at;
  for (const auto& [end, record] : job.Records()) at[{end.first.value(), end.second.direction}] = record;
  EXPECT_EQ((at[{1, Direction::kSend}].phase), TransferPhase::kSendWaitsForPeer);
  EXPECT_EQ((at[{1, Direction::kSend}].messages), kSlots);
  EXPECT_EQ((at[{3, Direction::kReceive}].phase), TransferPhase::kReceivePosted);
  EXPECT_EQ((at[{3, Direction::kSend}].phase), TransferPhase::kSendWaitsForGpu);
  // The frozen rank itself: as it was then.
  EXPECT_EQ((at[{2, Direction::kSend}].messages), 1u);
  EXPECT_LT((at[{2, Direction::kSend}].last_progress), SimTime(150'000));
  // What rank 2 handed to its NIC before it froze still arrives.
  EXPECT_GE((at[{3, Direction::kReceive}].messages), 1u);
}

// Messages from rank 1 to 2 are handed over and never complete; no other messages are under way forever.
TEST(TransferSimulator, MessagesOfADeadLinkStayOnTheWire) {
  Fault fault = On(FaultKind::kConnectionDown, 1, 150'000);
  fault.peer = RankId(2);
  SimulatedTransfers job(OneGpuHosts(4, DataParallelAlgorithm::kRing), {fault});
  job.Simulate(std::vector<Instant>(4, 0), 6, 5e6);
  for (const auto& [end, record] : job.Records()) {
    const bool is_dead_end = end.first == RankId(1) && end.second.direction == Direction::kSend;
    EXPECT_EQ(record.phase == TransferPhase::kSendOnWire, is_dead_end) << end.first.value();
  }
  EXPECT_EQ(job.effects.FirstActed(0), 150'000);
}

TEST(TransferSimulator, StoppedGpuWaitsForItself) {
  JobShape shape = OneGpuHosts(4, DataParallelAlgorithm::kAllToAll);
  SimulatedTransfers job(shape, {On(FaultKind::kGpuHang, 2, 1)});
  job.Simulate(std::vector<Instant>(4, 0), 20, 5e6);
  for (const auto& [end, record] : job.Records()) {
    const bool is_hanging = end.first == RankId(2) && end.second.direction == Direction::kSend;
    EXPECT_EQ(record.phase == TransferPhase::kSendWaitsForGpu, is_hanging);
    if (end.second.peer == RankId(2)) {
      EXPECT_EQ(record.phase, end.second.direction == Direction::kSend ? TransferPhase::kSendWaitsForPeer
                                                                       : TransferPhase::kReceivePosted);
    }
  }
}

// Seconds per byte of every pair in an all-to-all, by sum over sum.
std::map<std::pair<RankId, RankId>, double> DelaysOf(std::vector<Fault> faults) {
  SimulatedTransfers job(OneGpuHosts(8, DataParallelAlgorithm::kAllToAll), std::move(faults));
  job.Simulate(std::vector<Instant>(8, 0), 10, 5e6);
  std::map<std::pair<RankId, RankId>, double> delays;
  for (const auto& [end, record] : job.Records()) {
    if (end.second.direction != Direction::kSend) continue;
    delays[{end.first, end.second.peer}] = record.wire_time.seconds().value() / static_cast<double>(record.bytes);
  }
  return delays;
}

TEST(TransferSimulator, SlowNicRaisesItsRowOrColumnOnly) {
  const auto healthy = DelaysOf({});
  const auto slow_row = DelaysOf({On(FaultKind::kSlowNicSend, 3, 0, 2)});
  const auto slow_column = DelaysOf({On(FaultKind::kSlowNicReceive, 3, 0, 2)});
  ASSERT_EQ(healthy.size(), 56u);
  for (const auto& [pair, delay] : healthy) {
    // Latency does not grow, but is a thousandth only.
    EXPECT_NEAR(slow_row.at(pair) / delay, pair.first == RankId(3) ? 2 : 1, 0.01);
    EXPECT_NEAR(slow_column.at(pair) / delay, pair.second == RankId(3) ? 2 : 1, 0.01);
  }
}

// All connections congested: each 1.5 to 3 times as slow, and another factor in the next operation.
TEST(TransferSimulator, CongestionSlowsSingleOperations) {
  const JobShape shape = OneGpuHosts(8, DataParallelAlgorithm::kAllToAll);
  const auto delays = [&shape](double congestion) {
    NoiseOptions noise;
    noise.congestion = congestion;
    SimulatedTransfers job(shape, {}, noise);
    job.Simulate(std::vector<Instant>(8, 0), 10, 5e6);
    std::map<std::pair<RankId, RankId>, double> times;
    for (const auto& [end, record] : job.Records()) {
      if (end.second.direction == Direction::kSend) {
        times[{end.first, end.second.peer}] = record.wire_time.seconds().value();
      }
    }
    return times;
  };
  const auto calm = delays(0);
  for (const auto& [pair, time] : delays(1)) {
    EXPECT_GT(time / calm.at(pair), 1.49);
    EXPECT_LT(time / calm.at(pair), 3.01);
  }
}

// Half of the messages lost once more each time: one extra timeout a message on average, 4 ms.
TEST(TransferSimulator, LostMessagesAreSentAgain) {
  Fault fault = On(FaultKind::kLossyConnection, 0, 0, 0.5);
  fault.peer = RankId(1);
  SimulatedTransfers job(OneGpuHosts(2, DataParallelAlgorithm::kAllToAll), {fault});
  job.Simulate({0, 0}, 2000, 1e3);
  for (const auto& [end, record] : job.Records()) {
    if (end.second.direction != Direction::kSend) continue;
    const double mean_ms = record.wire_time.seconds().value() * 1e3 / static_cast<double>(record.messages);
    // Of 2,000 geometric numbers with deviation sqrt(2), the mean has deviation 0.13 ms.
    if (end.first == RankId(0)) {
      EXPECT_NEAR(mean_ms, 4, 0.6);
    } else {
      EXPECT_LT(mean_ms, 0.1);
    }
  }
}

}  // namespace
}  // namespace fairlead::execution
