#include "diagnosis/c4d/straggler_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"
#include "diagnosis/c4d/random_delays.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;
using model::JobLayout;
using model::OperationKind;
using model::OperationRecord;
using model::RankId;
using model::RankReport;

// What is planted, in seconds per iteration of a rank.
struct Planted {
  std::function<double(uint32_t rank, int iteration)> compute;  // of the GPU, beside the usual 0.8 s
  std::function<double(uint32_t rank, int iteration)> loading;  // of the host thread, beside the usual 20 ms
  // An iteration opens with single sends and receives between all GPUs of equal index, after which all are together.
  bool opens_with_exchange = false;
};

// Tensor groups are hosts, data-parallel groups cross them. An iteration: the host thread loads and enqueues all at
// once; four times compute 0.2 s and all-reduce over the host; then all-reduce over the GPUs of equal index. Clocks of
// hosts are off by up to a second.
class ExampleJob {
 public:
  ExampleJob(const ExampleShape& shape, uint64_t seed)
      : shape_(shape), layout_(MakeExampleLayout(shape)), random_(seed) {
    for (uint32_t host = 0; host < shape.hosts; ++host) offsets_.push_back(random_.Uniform(-1, 1));
    free_.assign(layout_.ranks.size(), 10.0);
    next_report_.assign(layout_.ranks.size(), 0);
    pending_.resize(layout_.ranks.size());
  }

  const JobLayout& layout() const { return layout_; }

  // One window of ten iterations.
  std::vector<Suspect> Window(StragglerDetector& detector, const Planted& planted, bool has_transport_suspect = false) {
    for (int i = 0; i < 10; ++i) SimulateIteration(detector, planted, i);
    lateness_ = detector.JudgeWindow();
    return detector.TakeSuspects(has_transport_suspect);
  }

  // [rank] of the last window.
  const std::vector<double>& lateness() const { return lateness_; }

 private:
  void SimulateIteration(StragglerDetector& detector, const Planted& planted, int iteration) {
    const auto num_ranks = static_cast<uint32_t>(layout_.ranks.size());
    std::vector<double> enqueued(num_ranks);
    for (uint32_t r = 0; r < num_ranks; ++r) {
      const double loading = planted.loading ? planted.loading(r, iteration) : 0;
      enqueued[r] = free_[r] + 0.02 * LogNormal(random_, 0.2) + loading;
      free_[r] = enqueued[r];
    }
    if (planted.opens_with_exchange) {
      for (uint32_t gpu = 0; gpu < shape_.gpus; ++gpu) Exchange(shape_.hosts + gpu, enqueued, 0.05);
      ++num_exchanges_;
    }
    for (int part = 0; part < 4; ++part) {
      for (uint32_t r = 0; r < num_ranks; ++r) {
        const double extra = planted.compute ? planted.compute(r, iteration) / 4 : 0;
        free_[r] += 0.2 * LogNormal(random_, 0.02) + extra;
      }
      for (uint32_t host = 0; host < shape_.hosts; ++host) AllReduce(detector, host, enqueued, 0.005);
    }
    for (uint32_t gpu = 0; gpu < shape_.gpus; ++gpu) AllReduce(detector, shape_.hosts + gpu, enqueued, 0.1);
    for (uint32_t r = 0; r < num_ranks; ++r) Report(detector, r);
  }

  // Each sends to each; a pair's data flow when both have come.
  void Exchange(uint32_t communicator, const std::vector<double>& enqueued, double seconds) {
    const auto& ranks = layout_.communicators[communicator].ranks;
    const std::vector<double> came = free_;
    for (const RankId rank : ranks) {
      for (const RankId peer : ranks) {
        if (peer == rank) continue;
        const double end = std::max(came[rank.index()], came[peer.index()]) + seconds + random_.Uniform(0, 0.2e-3);
        OperationRecord record;
        record.communicator = model::CommunicatorId(communicator);
        record.sequence = num_exchanges_;
        record.peer = peer;
        // The host thread enqueues it before all else of the iteration.
        record.enqueued = Show(rank, enqueued[rank.index()] - 1e-3);
        record.started = Show(rank, came[rank.index()]);
        record.finished = Show(rank, end);
        for (const OperationKind kind : {OperationKind::kSend, OperationKind::kReceive}) {
          record.kind = kind;
          pending_[rank.index()].push_back(record);
        }
        free_[rank.index()] = std::max(free_[rank.index()], end);
      }
    }
  }

  // On the clock of the rank's host.
  SimTime Show(RankId rank, double t) const {
    return SimTime::FromSeconds(Seconds(t + offsets_[layout_.ranks[rank.index()].host.index()]));
  }

  void AllReduce(StragglerDetector& detector, uint32_t communicator, const std::vector<double>& enqueued,
                 double seconds) {
    const auto& ranks = layout_.communicators[communicator].ranks;
    double last = 0;
    for (const RankId rank : ranks) last = std::max(last, free_[rank.index()]);
    std::vector<RankInstants> instants;
    for (const RankId rank : ranks) {
      const double end = last + seconds + random_.Uniform(0, 0.2e-3);
      instants.push_back({rank, Show(rank, enqueued[rank.index()]), Show(rank, free_[rank.index()]), Show(rank, end)});
      OperationRecord record;
      record.communicator = model::CommunicatorId(communicator);
      record.kind = OperationKind::kAllReduce;
      record.enqueued = instants.back().enqueued;
      record.started = instants.back().started;
      record.finished = instants.back().finished;
      pending_[rank.index()].push_back(record);
      free_[rank.index()] = end;
    }
    detector.Add(CompletedOperation{.communicator = model::CommunicatorId(communicator),
                                    .kind = OperationKind::kAllReduce,
                                    .sequence = 0,
                                    .bytes = 0,
                                    .ranks = instants});
  }

  void Report(StragglerDetector& detector, uint32_t rank) {
    RankReport report;
    report.rank = RankId(rank);
    report.number = next_report_[rank]++;
    report.operations = pending_[rank];
    report.at = *pending_[rank].back().finished;
    pending_[rank].clear();
    detector.Add(report);
    detector.Add(report);  // repeated reports change nothing
  }

  ExampleShape shape_;
  JobLayout layout_;
  Random random_;
  std::vector<double> offsets_;  // [host]
  std::vector<double> free_;     // [rank] when its stream is free
  std::vector<uint64_t> next_report_;
  std::vector<double> lateness_;
  uint64_t num_exchanges_ = 0;
  std::vector<std::vector<OperationRecord>> pending_;
};

constexpr ExampleShape kFourHosts{.hosts = 4, .gpus = 4};

TEST(StragglerDetectorTest, HealthyJobsHaveNone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ExampleJob job(kFourHosts, seed);
    StragglerDetector detector(job.layout(), {});
    for (int window = 0; window < 10; ++window) EXPECT_TRUE(job.Window(detector, {}).empty()) << "seed " << seed;
  }
}

TEST(StragglerDetectorTest, TheSlowRankIsNamedNotThoseThatWaitForIt) {
  // 20 % of 0.8 s = 0.16 s of an iteration of about 1.1 s: 15 %. Its host's other ranks are late for the other hosts.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto slow = static_cast<uint32_t>(seed * 7 % 16);
    for (const int healthy_windows : {0, 3}) {
      ExampleJob job(kFourHosts, seed);
      StragglerDetector detector(job.layout(), {});
      for (int window = 0; window < healthy_windows; ++window) EXPECT_TRUE(job.Window(detector, {}).empty());
      const Planted planted{.compute = [slow](uint32_t rank, int) { return rank == slow ? 0.16 : 0.0; }, .loading = {}};
      for (int window = 0; window < 4; ++window) {
        const std::vector<Suspect> suspects = job.Window(detector, planted);
        ASSERT_EQ(suspects.size(), 1u) << "seed " << seed << ", window " << window;
        EXPECT_EQ(suspects[0].syndrome, model::Syndrome::kNonCommSlow);
        ASSERT_EQ(suspects[0].culprits.size(), 1u);
        EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kRank);
        EXPECT_EQ(suspects[0].culprits[0].rank, RankId(slow));
        EXPECT_EQ(suspects[0].culprits[0].host, job.layout().ranks[slow].host);
        EXPECT_EQ(suspects[0].sub_cause, model::SubCause::kGpu);
      }
      EXPECT_TRUE(job.Window(detector, {}).empty()) << "the fault is gone";
    }
  }
}

TEST(StragglerDetectorTest, ASlowLoaderIsItsHosts) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ExampleJob job(kFourHosts, seed);
    StragglerDetector detector(job.layout(), {});
    const Planted planted{.compute = {}, .loading = [](uint32_t rank, int) { return rank / 4 == 2 ? 0.3 : 0.0; }};
    const std::vector<Suspect> suspects = job.Window(detector, planted);
    ASSERT_EQ(suspects.size(), 1u) << "seed " << seed;
    EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kHost);
    EXPECT_EQ(suspects[0].culprits[0].host, HostId(2));
    EXPECT_EQ(suspects[0].sub_cause, model::SubCause::kHostThread);
  }
}

// All wait for the late host in the exchange, and are together at each collective behind it.
TEST(StragglerDetectorTest, ALateHostIsFoundWhereAnIterationOpensWithSendsAndReceives) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const int healthy_windows : {0, 3}) {
      ExampleJob job(kFourHosts, seed);
      StragglerDetector detector(job.layout(), {});
      Planted planted{.compute = {}, .loading = {}, .opens_with_exchange = true};
      for (int window = 0; window < healthy_windows; ++window) {
        EXPECT_TRUE(job.Window(detector, planted).empty());
        EXPECT_EQ(job.lateness(), std::vector<double>(16, 0.0));
      }
      planted.loading = [](uint32_t rank, int) { return rank / 4 == 2 ? 0.3 : 0.0; };
      const std::vector<Suspect> suspects = job.Window(detector, planted);
      ASSERT_EQ(suspects.size(), 1u) << "seed " << seed << " after " << healthy_windows;
      EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kHost);
      EXPECT_EQ(suspects[0].culprits[0].host, HostId(2));
      EXPECT_EQ(suspects[0].sub_cause, model::SubCause::kHostThread);
      for (uint32_t rank = 0; rank < 16; ++rank) {
        // 0.3 s in each of ten iterations, but the first one of all has no beginning. The three longest gaps are left
        // out: of the late ranks three of these, of their like three of 0.2 s.
        const double expected = rank / 4 == 2 ? (healthy_windows == 0 ? 6 : 7) * 0.3 + 3 * 0.2 : 0;
        EXPECT_NEAR(job.lateness()[rank], expected, rank / 4 == 2 ? 0.15 : 0);
      }
    }
  }
}

TEST(StragglerDetectorTest, SharedDelaysSingleStallsAndTheNetworkBlameNoRank) {
  ExampleJob job(kFourHosts, 3);
  StragglerDetector detector(job.layout(), {});
  const Planted all{.compute = [](uint32_t, int) { return 0.4; }, .loading = [](uint32_t, int) { return 0.4; }};
  EXPECT_TRUE(job.Window(detector, all).empty());
  const Planted stall{.compute = {}, .loading = [](uint32_t rank, int i) { return rank == 0 && i == 4 ? 3.0 : 0.0; }};
  for (int window = 0; window < 5; ++window) EXPECT_TRUE(job.Window(detector, stall).empty());
  const Planted slow{.compute = [](uint32_t rank, int) { return rank == 5 ? 0.3 : 0.0; }, .loading = {}};
  EXPECT_TRUE(job.Window(detector, slow, /*has_transport_suspect=*/true).empty());
  EXPECT_EQ(job.Window(detector, slow).size(), 1u) << "the window before is forgotten";
}

TEST(StragglerDetectorTest, ThrottledClocksExplainASlowGpu) {
  ExampleJob job(kFourHosts, 4);
  StragglerDetector detector(job.layout(), {});
  model::HostReport report;
  report.host = HostId(1);
  report.symptoms.push_back({.symptom = model::HostSymptom::kGpuThrottled, .device = 1, .text = ""});
  detector.Add(report);
  const Planted slow{.compute = [](uint32_t rank, int) { return rank == 5 ? 0.3 : 0.0; }, .loading = {}};
  std::vector<Suspect> suspects = job.Window(detector, slow);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].sub_cause, model::SubCause::kThrottled);
  suspects = job.Window(detector, slow);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].sub_cause, model::SubCause::kGpu) << "the symptom is of the window before";
}

TEST(OwnTimeTest, AWaitForDataIsNotOnesOwn) {
  const JobLayout layout = MakeExampleLayout({.hosts = 1, .gpus = 2});
  OwnTime own(layout);
  RankReport report;
  report.rank = RankId(0u);
  own.Add(report);  // from the next report on, nothing is missing
  // Six times: a receive that ends 3 s after the last output, 1 s of work, a send. Enqueued long before. A second
  // receive, for later, ends in the midst of that work.
  const auto at = [](double t) { return SimTime::FromSeconds(Seconds(t)); };
  report.number = 1;
  for (int i = 0; i < 6; ++i) {
    const double t = 4.0 * i + 1;
    OperationRecord receive;
    receive.kind = OperationKind::kReceive;
    receive.enqueued = at(0.001 * i);
    receive.started = at(t);
    receive.finished = at(t + 3);
    OperationRecord send;
    send.kind = OperationKind::kSend;
    send.enqueued = at(0.001 * i + 0.0005);
    send.started = at(t + 4);
    OperationRecord early = receive;
    early.enqueued = at(0.5);
    early.finished = at(t + 3.6);
    for (const OperationRecord& operation : {receive, send, early}) report.operations.push_back(operation);
  }
  report.at = at(30);
  own.Add(report);
  const std::vector<OwnTime::OfRank> found = own.Take();
  // The first output has nothing before it; of five gaps of 1 s each the longest three are left out.
  EXPECT_EQ(found[0].outputs, 2u);
  EXPECT_NEAR(found[0].seconds, 2.0, 1e-6);
  EXPECT_EQ(found[1].outputs, 0u);
  // After a lost report nothing is known of what lay between.
  report.number = 3;
  for (OperationRecord& operation : report.operations) {
    if (operation.started) operation.started = *operation.started + SimDuration(40'000'000'000);
    if (operation.finished) operation.finished = *operation.finished + SimDuration(40'000'000'000);
  }
  report.at = at(70);
  own.Add(report);
  EXPECT_EQ(own.Take()[0].outputs, 0u);
}

// One forward, one backward: the host issues a send and behind it, at the same instant, the receive for what comes
// next. Whether that ends just before or just after the send begins is chance, and says nothing about the send's rank.
TEST(OwnTimeTest, WhatWasIssuedLaterGatesNothing) {
  const JobLayout layout = MakeExampleLayout({.hosts = 1, .gpus = 2});
  const auto at = [](double t) { return SimTime::FromSeconds(Seconds(t)); };
  for (const double lead : {-0.01, 0.01}) {
    OwnTime own(layout);
    RankReport report;
    report.rank = RankId(0u);
    own.Add(report);
    report.number = 1;
    for (int i = 0; i < 8; ++i) {
      OperationRecord send;
      send.kind = OperationKind::kSend;
      send.issue_index = 2 * static_cast<uint64_t>(i);
      send.enqueued = at(0.001 * i);
      send.started = at(i + 1);
      OperationRecord receive;
      receive.kind = OperationKind::kReceive;
      receive.issue_index = send.issue_index + 1;
      receive.enqueued = send.enqueued;
      receive.started = send.enqueued;
      receive.finished = at(i + 1 - lead);
      report.operations.push_back(send);
      report.operations.push_back(receive);
    }
    report.at = at(30);
    own.Add(report);
    const std::vector<OwnTime::OfRank> found = own.Take();
    // Seven gaps, three left out. The receive before is a gate where it ended behind the output before it.
    EXPECT_EQ(found[0].outputs, 4u);
    EXPECT_NEAR(found[0].seconds, 4 * (lead > 0 ? 1.0 : 0.99), 1e-6) << lead;
  }
}

// PyTorch makes a communicator of two for each pair of ranks that sends outside of a batch.
TEST(StragglerDetectorTest, StagesAreFoundAlongCommunicatorsOfTwo) {
  const auto has_stages = [](const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
    JobLayout layout = MakeExampleLayout({.hosts = 4, .gpus = 1});
    layout.communicators.clear();
    for (const auto& [a, b] : pairs) layout.communicators.push_back({"pair", {RankId(a), RankId(b)}});
    StragglerDetector detector(layout, SlowOptions());
    for (size_t c = 0; c < layout.communicators.size(); ++c) {
      RankReport report;
      report.rank = layout.communicators[c].ranks[0];
      OperationRecord send;
      send.communicator = model::CommunicatorId(c);
      send.kind = OperationKind::kSend;
      send.peer = layout.communicators[c].ranks[1];
      report.operations.push_back(send);
      detector.Add(report);
    }
    return detector.HasStages();
  };
  EXPECT_TRUE(has_stages({{0, 1}, {1, 2}, {2, 3}, {0, 1}, {1, 2}, {2, 3}})) << "both ways";
  EXPECT_TRUE(has_stages({{2, 3}, {0, 1}})) << "two pipelines of two";
  EXPECT_TRUE(has_stages({{0, 1}, {1, 2}, {2, 3}, {0, 3}})) << "stages that take turns";
  EXPECT_FALSE(has_stages({{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}})) << "all with all";
  EXPECT_FALSE(has_stages({}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
