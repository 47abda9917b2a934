#include "execution/job_execution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "execution/expected_finding.h"

namespace fairlead::execution {
namespace {

using model::Direction;
using model::HostReport;
using model::JobLayout;
using model::OperationKind;
using model::ProcessState;
using model::RankId;
using model::RankReport;
using model::TelemetryRecord;

using Arrivals = std::vector<std::pair<SimTime, TelemetryRecord>>;

SimTime Second(double s) { return SimTime::FromSeconds(Seconds(s)); }

NoiseOptions NoNoise() {
  NoiseOptions noise;
  noise.compute_cv = 0;
  noise.wire_cv = 0;
  noise.loading_cv = 0;
  noise.gpu_cv = 0;
  noise.connection_cv = 0;
  noise.hiccup = 0;
  noise.congestion = 0;
  noise.clock_offset_max = SimDuration(0);
  noise.clock_drift_ppm_max = 0;
  return noise;
}

JobShape SmallShape() {
  JobShape shape;
  shape.tensor_parallel = 2;
  shape.data_parallel = 4;
  shape.pipeline_parallel = 2;
  shape.gpus_per_host = 4;
  shape.hosts_per_leaf = 2;
  return shape;
}

Arrivals Simulate(JobExecution& job, double until) {
  Arrivals arrivals;
  job.Run(Second(until), [&](SimTime at, const TelemetryRecord& record) { arrivals.emplace_back(at, record); });
  return arrivals;
}

Arrivals Simulate(const JobShape& shape, const std::vector<Fault>& faults, const NoiseOptions& noise, uint64_t seed,
                  double until) {
  JobExecution job(shape, faults, noise, seed);
  return Simulate(job, until);
}

template <class T>
std::vector<T> Only(const Arrivals& arrivals) {
  std::vector<T> records;
  for (const auto& [at, record] : arrivals) {
    if (const T* mine = std::get_if<T>(&record)) records.push_back(*mine);
  }
  return records;
}

Fault On(FaultKind kind, uint32_t rank, double begin, double magnitude = 1) {
  Fault fault;
  fault.kind = kind;
  fault.rank = RankId(rank);
  fault.begin = Second(begin);
  fault.magnitude = magnitude;
  return fault;
}

// GPipe over P stages and M micro-batches, everything ready: loading, (M + P - 1) slots of forward and backward, a
// transfer for each step down and up the pipeline, the optimizer. A transfer is bytes / B + latency + flush.
TEST(JobExecution, IterationTakesItsClosedForm) {
  JobShape shape;
  shape.data_parallel = 1;
  shape.pipeline_parallel = 3;
  shape.gpus_per_host = 1;
  shape.micro_batches = 5;
  shape.pipeline_order = PipelineOrder::kAllForwardFirst;
  shape.enqueue_share = 0;
  shape.warm_up_iterations = 0;
  JobExecution job(shape, {}, NoNoise(), 1);
  Simulate(job, 10);
  const double transfer = static_cast<double>(shape.activation_bytes) / shape.link_speed.value() +
                          (shape.latency + shape.flush_time).seconds().value();
  const double expected = shape.loading_time.seconds().value() + shape.optimizer_time.seconds().value() +
                          7 * (shape.forward_time + shape.backward_time).seconds().value() + 4 * transfer;
  const std::vector<SimTime> ends = job.IterationEnds();
  ASSERT_GE(ends.size(), 5u);
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_NEAR(ends[i].seconds().value(), expected * static_cast<double>(i + 1), 1e-6 * static_cast<double>(i + 1));
  }
}

// Data parallelism alone: load, compute, two exchanges, update.
TEST(JobExecution, DataParallelIterationTakesItsClosedForm) {
  JobShape shape;
  shape.data_parallel = 4;
  shape.gpus_per_host = 1;
  shape.warm_up_iterations = 0;
  JobExecution job(shape, {}, NoNoise(), 1);
  Simulate(job, 3);
  const double ring =
      6 * 1e9 / 4 / shape.link_speed.value() + 12 * (shape.latency + shape.flush_time).seconds().value();
  const double expected = shape.loading_time.seconds().value() + shape.optimizer_time.seconds().value() +
                          8 * (shape.forward_time + shape.backward_time).seconds().value() + ring;
  EXPECT_NEAR(job.IterationEnds().front().seconds().value(), expected, 1e-6);
}

// As above, with an opening: the bytes for three peers pass one port.
TEST(JobExecution, AnOpeningTakesTheTimeOfItsBytes) {
  JobShape shape;
  shape.data_parallel = 4;
  shape.gpus_per_host = 1;
  shape.warm_up_iterations = 0;
  JobExecution without(shape, {}, NoNoise(), 1);
  Simulate(without, 3);
  shape.opening_bytes = 400'000'000;
  JobExecution with(shape, {}, NoNoise(), 1);
  Simulate(with, 3);
  const double bytes_s = 3 * static_cast<double>(shape.opening_bytes) / shape.link_speed.value();
  const double opening = (with.IterationEnds().front() - without.IterationEnds().front()).seconds().value();
  // Beside its bytes each message has at most a latency and a flush.
  EXPECT_GE(opening, bytes_s);
  EXPECT_LE(opening, bytes_s + shape.messages_per_pair * (shape.latency + shape.flush_time).seconds().value());
}

// A rank that is late to the opening keeps all of its group waiting, and no other group.
TEST(JobExecution, InAnOpeningAllWaitForTheLast) {
  JobShape shape = SmallShape();
  shape.opening_bytes = 1'000'000;
  shape.warm_up_iterations = 0;
  // Host 0 has the ranks 0 to 3: both tensor ranks of the first two replicas.
  Fault late = On(FaultKind::kSlowLoader, 0, 0, 50);
  late.host = HostId(0);
  std::map<std::pair<uint64_t, RankId>, std::set<RankId>> peers;  // [iteration, rank] that were met both ways
  std::map<uint64_t, SimTime> last_start;
  std::map<uint64_t, SimTime> first_end;
  for (const RankReport& report : Only<RankReport>(Simulate(shape, {late}, NoNoise(), 1, 10))) {
    for (const model::OperationRecord& operation : report.operations) {
      const bool is_pair = IsTransfer(operation.kind);
      // The communicators of the first stage's data-parallel groups come after the eight of tensor groups.
      const bool is_opening = operation.communicator.value() >= 8 && operation.communicator.value() < 10;
      if (!is_pair || !is_opening || !operation.finished) continue;
      ASSERT_LT(report.rank.value(), 8u) << "of the first stage";
      EXPECT_EQ(report.rank.value() % 2, operation.peer.value() % 2) << "of one tensor rank";
      peers[{operation.sequence, report.rank}].insert(operation.peer);
      const auto [latest, is_new] = last_start.try_emplace(operation.sequence, *operation.started);
      if (!is_new) latest->second = std::max(latest->second, *operation.started);
      const auto [end, is_first] = first_end.try_emplace(operation.sequence, *operation.finished);
      if (!is_first) end->second = std::min(end->second, *operation.finished);
    }
  }
  ASSERT_GE(last_start.size(), 3u);
  for (const auto& [key, met] : peers) {
    const bool may_go_on = key.first + 1 == last_start.size();
    EXPECT_TRUE(met.size() == 3 || may_go_on) << "iteration " << key.first;
  }
  for (const auto& [iteration, start] : last_start) EXPECT_LT(start, first_end.at(iteration));
}

TEST(JobExecution, SameSeedSameRecords) {
  const std::vector<Fault> faults = {On(FaultKind::kProcessFrozen, 3, 6)};
  NoiseOptions noise;
  noise.lost = noise.duplicated = noise.delayed = 0.05;
  EXPECT_EQ(Simulate(SmallShape(), faults, noise, 7, 20), Simulate(SmallShape(), faults, noise, 7, 20));
  EXPECT_NE(Simulate(SmallShape(), faults, noise, 7, 20), Simulate(SmallShape(), faults, noise, 8, 20));
}

TEST(JobExecution, CuttingARunChangesNothing) {
  NoiseOptions noise;
  noise.delayed = 0.1;
  JobShape shape = SmallShape();
  shape.iterations = 12;
  const Arrivals whole = Simulate(shape, {}, noise, 3, 30);
  JobExecution job(shape, {}, noise, 3);
  Arrivals cut;
  for (double until = 0; until <= 30; until += 0.3) {
    for (auto& arrival : Simulate(job, std::min(until + 0.3, 30.0))) cut.push_back(std::move(arrival));
  }
  EXPECT_EQ(cut, whole);
}

TEST(JobExecution, LayoutComesFirstAndArrivalsAscend) {
  const Arrivals arrivals = Simulate(SmallShape(), {}, NoiseOptions{}, 1, 10);
  ASSERT_TRUE(std::holds_alternative<JobLayout>(arrivals.front().second));
  EXPECT_TRUE(std::ranges::is_sorted(arrivals, {}, [](const auto& arrival) { return arrival.first; }));
}

// An operation ascends in time, sequences and issue indices count up without gaps, all ranks agree on them, and no rank
// leaves a collective before all have entered it.
TEST(JobExecution, OperationsOfAHealthyJobAreConsistent) {
  JobShape shape = SmallShape();
  shape.checkpoint_every = 4;
  const Arrivals arrivals = Simulate(shape, {}, NoNoise(), 1, 20);
  std::map<std::tuple<RankId, model::CommunicatorId, uint64_t>, model::OperationRecord> latest;
  for (const RankReport& report : Only<RankReport>(arrivals)) {
    for (const model::OperationRecord& operation : report.operations) {
      EXPECT_LE(operation.enqueued, operation.started.value_or(SimTime::Never()));
      EXPECT_LE(operation.started.value_or(SimTime::Never()), operation.finished.value_or(SimTime::Never()));
      EXPECT_LE(operation.finished.value_or(SimTime(0)), report.at);
      latest[{report.rank, operation.communicator, operation.issue_index}] = operation;
    }
  }
  std::map<std::pair<model::CommunicatorId, uint64_t>, std::pair<SimTime, SimTime>> last_start_first_finish;
  std::map<std::pair<RankId, model::CommunicatorId>, uint64_t> next;
  size_t barriers = 0;
  for (const auto& [key, operation] : latest) {
    const auto& [rank, communicator, issue_index] = key;
    EXPECT_EQ(issue_index, (next[{rank, communicator}]++));
    barriers += operation.kind == OperationKind::kBarrier ? 1 : 0;
    if (operation.peer.valid() || !operation.finished.has_value()) continue;
    auto [at, is_new] = last_start_first_finish.try_emplace({communicator, issue_index}, SimTime(0), SimTime::Never());
    at->second.first = std::max(at->second.first, *operation.started);
    at->second.second = std::min(at->second.second, *operation.finished);
  }
  EXPECT_GE(barriers, 16u);
  for (const auto& [operation, instants] : last_start_first_finish) EXPECT_GE(instants.second, instants.first);
}

// A host thread issues one operation after the other: which was first can be told from the instants alone.
TEST(JobExecution, CallsOfARankAreNeverAtTheSameInstant) {
  std::map<RankId, std::map<std::tuple<uint32_t, OperationKind, RankId, uint64_t>, SimTime>> calls;
  for (const RankReport& report : Only<RankReport>(Simulate(SmallShape(), {}, NoNoise(), 1, 6))) {
    for (const model::OperationRecord& operation : report.operations) {
      calls[report.rank][{operation.communicator.value(), operation.kind, operation.peer, operation.sequence}] =
          operation.enqueued;
    }
  }
  ASSERT_EQ(calls.size(), SmallShape().NumRanks());
  for (const auto& [rank, operations] : calls) {
    std::set<SimTime> instants;
    for (const auto& [key, at] : operations) instants.insert(at);
    EXPECT_GT(operations.size(), 50u);
    EXPECT_EQ(instants.size(), operations.size()) << "rank " << rank.value();
  }
}

// All bytes of all connections, in both directions, when the job has ended: 10 iterations.
TEST(JobExecution, ReceivesWhatWasSentAndEnds) {
  JobShape shape = SmallShape();
  shape.iterations = 10;
  const Arrivals arrivals = Simulate(shape, {}, NoiseOptions{}, 1, 60);
  uint64_t sent = 0;
  uint64_t received = 0;
  for (const RankReport& report : Only<RankReport>(arrivals)) {
    for (const model::ConnectionRecord& record : report.connections) {
      (record.key.direction == Direction::kSend ? sent : received) += record.bytes;
    }
  }
  // Hosts hold 2 data-parallel members of a ring of 4, so 2 edges a ring cross: 2 tensor x 2 stages rings, 2 channels,
  // 6 steps of an 8th of 1 GB. The stages are on other hosts: 8 pairs, forth and back, 8 micro-batches of 32 MB.
  const double expected = 10 * (4.0 * 2 * 2 * 6 * 1e9 / 8 + 8.0 * 2 * 8 * 32e6);
  EXPECT_EQ(sent, received);
  EXPECT_NEAR(static_cast<double>(sent), expected, 1e-6 * expected);
  const std::vector<HostReport> hosts = Only<HostReport>(arrivals);
  EXPECT_TRUE(std::ranges::all_of(hosts.back().ranks, [](const model::RankLiveness& rank) {
    return rank.state == ProcessState::kGone && rank.exit.code == 0;
  }));
  EXPECT_TRUE(Only<RankReport>(arrivals).back().is_finalizing);
}

// Seconds per byte of a healthy job: every connection within a quarter of the median of its kind.
TEST(JobExecution, HealthyTelemetryHasNoOutlier) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    JobShape shape;
    shape.data_parallel = 8;
    shape.gpus_per_host = 1;
    shape.algorithm = seed == 1 ? DataParallelAlgorithm::kAllToAll : DataParallelAlgorithm::kRing;
    std::map<std::pair<RankId, model::ConnectionKey>, std::pair<double, double>> sums;
    for (const RankReport& report : Only<RankReport>(Simulate(shape, {}, NoiseOptions{}, seed, 30))) {
      for (const model::ConnectionRecord& record : report.connections) {
        if (record.key.direction != Direction::kSend) continue;
        auto& sum = sums[{report.rank, record.key}];
        sum.first += record.wire_time.seconds().value();
        sum.second += static_cast<double>(record.bytes);
      }
    }
    std::vector<double> delays;
    for (const auto& [key, sum] : sums) delays.push_back(sum.first / sum.second);
    std::ranges::sort(delays);
    EXPECT_GE(delays.size(), 16u);
    const double median = delays[delays.size() / 2];
    EXPECT_GT(delays.front(), median * 0.75);
    EXPECT_LT(delays.back(), median * 1.25);
  }
}

// The others wait for data; the slow one waits for none and spends the least time inside. Wire times stay what they
// are, although it receives in bursts what has piled up before it.
TEST(JobExecution, EverybodyWaitsForTheSlowGpu) {
  JobShape shape;
  shape.data_parallel = 6;
  shape.gpus_per_host = 1;
  constexpr uint32_t kSlow = 4;
  std::map<RankId, double> inside;
  std::map<RankId, double> waits_for_data;
  std::map<RankId, std::pair<double, double>> wire;  // seconds, bytes
  for (const RankReport& report :
       Only<RankReport>(Simulate(shape, {On(FaultKind::kSlowGpu, kSlow, 5, 1.3)}, NoiseOptions{}, 1, 40))) {
    if (report.at < Second(8)) continue;
    for (const model::OperationRecord& operation : report.operations) {
      if (operation.finished.has_value()) {
        inside[report.rank] += (*operation.finished - *operation.started).seconds().value();
      }
    }
    for (const model::ConnectionRecord& record : report.connections) {
      if (record.key.direction == Direction::kReceive) {
        waits_for_data[report.rank] += record.wait_for_peer.seconds().value();
      } else {
        wire[report.rank].first += record.wire_time.seconds().value();
        wire[report.rank].second += static_cast<double>(record.bytes);
      }
    }
  }
  // One channel has half of a port.
  const double seconds_per_byte = shape.channels / shape.link_speed.value();
  for (uint32_t r = 0; r < 6; ++r) {
    EXPECT_NEAR(wire[RankId(r)].first / wire[RankId(r)].second, seconds_per_byte, 0.1 * seconds_per_byte);
    if (r == kSlow) continue;
    EXPECT_LT(inside[RankId(kSlow)] * 3, inside[RankId(r)]);
    EXPECT_LT(waits_for_data[RankId(kSlow)] * 2, waits_for_data[RankId(r)]);
  }
}

// Clocks move the instants that a host shows, by its own error, and nothing else.
TEST(JobExecution, SkewMovesInstantsOfItsHostOnly) {
  NoiseOptions skewed = NoNoise();
  skewed.clock_offset_max = SimDuration(50'000'000);
  skewed.clock_drift_ppm_max = 20;
  const JobShape shape = SmallShape();
  const Arrivals right = Simulate(shape, {}, NoNoise(), 5, 12);
  JobExecution job(shape, {}, skewed, 5);
  const Arrivals shown = Simulate(job, 12);
  ASSERT_EQ(right.size(), shown.size());
  bool differs = false;
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(right[i].first, shown[i].first);
    const auto* mine = std::get_if<RankReport>(&right[i].second);
    const auto* moved = std::get_if<RankReport>(&shown[i].second);
    if (mine == nullptr) continue;
    ASSERT_NE(moved, nullptr);
    const HostId host = shape.HostOf(mine->rank);
    EXPECT_EQ(moved->at, mine->at + job.ClockErrorOf(host, mine->at));
    differs = differs || moved->at != mine->at;
    ASSERT_EQ(moved->operations.size(), mine->operations.size());
    for (size_t k = 0; k < mine->operations.size(); ++k) {
      const SimTime enqueued = mine->operations[k].enqueued;
      EXPECT_EQ(moved->operations[k].enqueued, enqueued + job.ClockErrorOf(host, enqueued));
    }
  }
  EXPECT_TRUE(differs);
}

// Of 16 ranks and 4 hosts over 200 s: numbers of reports by rank and number.
std::map<std::pair<RankId, uint64_t>, int> CountReports(const NoiseOptions& noise, bool& is_reordered) {
  std::map<std::pair<RankId, uint64_t>, int> counts;
  std::map<RankId, uint64_t> highest;
  is_reordered = false;
  for (const RankReport& report : Only<RankReport>(Simulate(SmallShape(), {}, noise, 1, 200))) {
    ++counts[{report.rank, report.number}];
    is_reordered = is_reordered || report.number < highest[report.rank];
    highest[report.rank] = std::max(highest[report.rank], report.number);
  }
  return counts;
}

TEST(JobExecution, NoiseLosesDuplicatesAndReordersReports) {
  bool is_reordered = false;
  const auto clean = CountReports(NoiseOptions{}, is_reordered);
  EXPECT_FALSE(is_reordered);
  EXPECT_NEAR(static_cast<double>(clean.size()), 16 * 200, 16);
  EXPECT_TRUE(std::ranges::all_of(clean, [](const auto& count) { return count.second == 1; }));

  NoiseOptions noise;
  noise.lost = 0.1;
  const auto lossy = CountReports(noise, is_reordered);
  // 3,200 reports: 320 lost, deviation 17.
  EXPECT_NEAR(static_cast<double>(clean.size() - lossy.size()), 320, 85);

  noise = NoiseOptions{};
  noise.duplicated = 0.1;
  const auto doubled = CountReports(noise, is_reordered);
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(doubled, [](const auto& count) { return count.second == 2; })),
              320, 85);

  noise = NoiseOptions{};
  noise.delayed = 0.1;
  CountReports(noise, is_reordered);
  EXPECT_TRUE(is_reordered);
}

TEST(JobExecution, DeadProcessesAndHostsFallSilent) {
  Fault lost;
  lost.kind = FaultKind::kHostLost;
  lost.host = HostId(1);
  lost.begin = Second(12);
  const Arrivals arrivals = Simulate(SmallShape(), {On(FaultKind::kProcessCrash, 2, 8), lost}, NoNoise(), 1, 30);
  for (const RankReport& report : Only<RankReport>(arrivals)) {
    if (report.rank == RankId(2)) {
      EXPECT_LT(report.at, Second(8));
    }
    if (report.rank.value() / 4 == 1) {
      EXPECT_LT(report.at, Second(12));
    }
  }
  for (const HostReport& report : Only<HostReport>(arrivals)) {
    if (report.host == HostId(1)) {
      EXPECT_LT(report.at, Second(12));
    }
    if (report.host == HostId(0)) {
      EXPECT_EQ(report.ranks[2].state == ProcessState::kGone, report.at >= Second(8));
    }
  }
}

// Reports of a rank, together, cover each operation from its start to its end, overlap by one report, and their counts
// match the reported operations: any one of them may be missed.
TEST(JobExecution, ReportsHaveTheProgressOfTheRank) {
  JobExecution job(SmallShape(), {}, NoiseOptions{}, 1);
  using Lane = std::tuple<model::CommunicatorId, bool, model::OperationKind, RankId>;
  const auto lane_of = [](model::CommunicatorId id, model::OperationKind kind, RankId peer) {
    const bool is_transfer = IsTransfer(kind);
    return Lane(id, is_transfer, is_transfer ? kind : model::OperationKind::kUnknown, peer);
  };
  std::map<RankId, std::map<std::pair<Lane, uint64_t>, model::OperationRecord>> reported;  // by lane and issue index
  std::map<RankId, std::vector<SimTime>> at;
  std::set<RankId> ranks;
  for (const RankReport& report : Only<RankReport>(Simulate(job, 20))) {
    ranks.insert(report.rank);
    std::map<Lane, uint64_t> pending;
    for (const model::OperationRecord& operation : report.operations) {
      const Lane lane = lane_of(operation.communicator, operation.kind, operation.peer);
      reported[report.rank][{lane, operation.issue_index}] = operation;
      pending[lane] += operation.finished ? 0 : 1;
    }
    std::map<Lane, std::array<uint64_t, 3>> counts;
    for (const auto& [key, operation] : reported[report.rank]) {
      counts[key.first][0] += 1;
      counts[key.first][1] += operation.started ? 1 : 0;
      counts[key.first][2] += operation.finished ? 1 : 0;
    }
    size_t num_communicators = 0;
    for (const model::ProgressRecord& progress : report.progress) {
      const Lane lane = lane_of(progress.communicator, progress.kind, progress.peer);
      num_communicators += progress.peer.valid() ? 0 : 1;
      EXPECT_EQ((std::array{progress.enqueued, progress.started, progress.finished}), counts[lane]);
      EXPECT_EQ(progress.enqueued - progress.finished, pending[lane]);
    }
    const auto is_member = [&](const model::Communicator& c) { return std::ranges::count(c.ranks, report.rank) > 0; };
    EXPECT_EQ(num_communicators, static_cast<size_t>(std::ranges::count_if(job.layout().communicators, is_member)));
    const auto busy =
        std::ranges::count_if(report.connections, [](const auto& c) { return c.phase != model::TransferPhase::kIdle; });
    EXPECT_EQ(report.busy_connections, static_cast<uint32_t>(busy));
    ASSERT_TRUE(report.operations_since.has_value());
    std::vector<SimTime>& times = at[report.rank];
    if (times.size() >= 2) {
      EXPECT_EQ(*report.operations_since, times[times.size() - 2]);
    }
    times.push_back(report.at);
  }
  EXPECT_EQ(ranks.size(), SmallShape().NumRanks());
}

// A frozen process reports every second the state in which it froze, and continues when released.
TEST(JobExecution, FrozenProcessReportsNothingNewUntilItGoesOn) {
  Fault frozen = On(FaultKind::kProcessFrozen, 2, 8);
  frozen.end = Second(20);
  NoiseOptions noise = NoNoise();
  noise.shows_stopped = true;
  JobExecution job(SmallShape(), {frozen}, noise, 1);
  const Arrivals arrivals = Simulate(job, 40);
  size_t silent = 0;
  for (const RankReport& report : Only<RankReport>(arrivals)) {
    if (report.rank != RankId(2) || report.at < Second(9) || report.at > Second(20)) continue;
    for (const model::OperationRecord& operation : report.operations) {
      EXPECT_LT(operation.enqueued, Second(8));
      EXPECT_LT(operation.started.value_or(SimTime()), Second(8));
      // Operations that finished just before are in the first two reports.
      EXPECT_FALSE(operation.finished && report.at > Second(10.1));
    }
    ++silent;
    for (const model::ConnectionRecord& record : report.connections) {
      EXPECT_EQ(record.messages, 0u);
      EXPECT_LT(record.last_progress, Second(8));
    }
  }
  EXPECT_GE(silent, 10u);
  for (const HostReport& report : Only<HostReport>(arrivals)) {
    if (report.host != HostId(0)) continue;
    EXPECT_EQ(report.ranks[2].state == ProcessState::kStopped, report.at >= Second(8) && report.at < Second(20));
  }
  EXPECT_NE(job.IterationEnds().back(), SimTime::Never());
  ASSERT_TRUE(job.FirstActed(0).has_value());
  EXPECT_GE(*job.FirstActed(0), Second(8));
  EXPECT_LT(*job.FirstActed(0), Second(10));
}

TEST(JobExecution, LostAgentDoesNotHoldUpTheJob) {
  Fault fault;
  fault.kind = FaultKind::kAgentLost;
  fault.host = HostId(1);
  fault.begin = Second(8);
  JobExecution healthy(SmallShape(), {}, NoiseOptions{}, 1);
  JobExecution job(SmallShape(), {fault}, NoiseOptions{}, 1);
  Simulate(healthy, 20);
  const Arrivals arrivals = Simulate(job, 20);
  EXPECT_EQ(job.IterationEnds(), healthy.IterationEnds());
  for (const HostReport& report : Only<HostReport>(arrivals)) {
    if (report.host == HostId(1)) {
      EXPECT_LT(report.at, Second(8.1));
    }
  }
}

// The barrier of the mistaken rank waits for all others, and their exchange for it.
TEST(JobExecution, CrossedOrderLeavesACycleOfWaiting) {
  const JobShape shape = SmallShape();
  JobExecution job(shape, {On(FaultKind::kCrossedOrder, 2, 8)}, NoNoise(), 1);
  const CommunicatorIds ids(shape);
  std::map<std::pair<RankId, model::CommunicatorId>, model::OperationRecord> pending;
  for (const RankReport& report : Only<RankReport>(Simulate(job, 20))) {
    for (const model::OperationRecord& operation : report.operations) {
      if (!operation.finished.has_value()) pending[{report.rank, operation.communicator}] = operation;
      if (operation.finished.has_value()) pending.erase({report.rank, operation.communicator});
    }
  }
  ASSERT_TRUE(pending.contains({RankId(2), ids.All()}));
  EXPECT_TRUE(pending[std::pair(RankId(2), ids.All())].started.has_value());
  EXPECT_FALSE(pending[std::pair(RankId(2), ids.Data(RankId(2)))].started.has_value());
  for (const RankId other : {RankId(0), RankId(4), RankId(6)}) {
    EXPECT_FALSE(pending.contains({other, ids.All()}));
    ASSERT_TRUE(pending.contains({other, ids.Data(other)}));
  }
}

// Every rank pauses in every iteration, 0.5 s on average, and the slowest of 16 sets the pace: the mean of the maximum
// of 16 exponentials is H_16 = 3.38 means.
TEST(JobExecution, HiccupsOfHostThreadsHoldUpTheJob) {
  NoiseOptions noise = NoNoise();
  JobExecution smooth(SmallShape(), {}, noise, 1);
  noise.hiccup = 1;
  noise.hiccup_mean = SimDuration(500'000'000);
  JobExecution bumpy(SmallShape(), {}, noise, 1);
  Simulate(smooth, 300);
  Simulate(bumpy, 300);
  const auto iteration = [](const JobExecution& job) {
    return job.IterationEnds().back().seconds().value() / static_cast<double>(job.IterationEnds().size());
  };
  // Ranks of the second stage hide part of their pauses behind the first stage.
  EXPECT_GT(iteration(bumpy) - iteration(smooth), 0.5 * 2);
  EXPECT_LT(iteration(bumpy) - iteration(smooth), 0.5 * 4);
}

// A mistaken rank differs from the others at the same position of its communicator, and the operation never ends.
TEST(JobExecution, MistakesShowAtTheSamePosition) {
  for (const FaultKind kind : {FaultKind::kWrongSize, FaultKind::kWrongOrder}) {
    JobExecution job(SmallShape(), {On(kind, 2, 8)}, NoNoise(), 1);
    std::map<std::pair<model::CommunicatorId, uint64_t>, std::map<uint64_t, std::vector<RankId>>> by_bytes;
    for (const RankReport& report : Only<RankReport>(Simulate(job, 20))) {
      for (const model::OperationRecord& operation : report.operations) {
        if (operation.peer.valid()) continue;
        auto& ranks = by_bytes[{operation.communicator, operation.issue_index}][operation.bytes];
        if (std::ranges::find(ranks, report.rank) == ranks.end()) ranks.push_back(report.rank);
      }
    }
    size_t disagreements = 0;
    for (const auto& [position, sizes] : by_bytes) {
      if (sizes.size() == 1) continue;
      ++disagreements;
      EXPECT_TRUE(
          std::ranges::any_of(sizes, [](const auto& size) { return size.second == std::vector<RankId>{RankId(2)}; }));
    }
    EXPECT_EQ(disagreements, kind == FaultKind::kWrongSize ? 1u : 2u);
    EXPECT_EQ(job.IterationEnds().back(), SimTime::Never());
  }
}

}  // namespace
}  // namespace fairlead::execution
