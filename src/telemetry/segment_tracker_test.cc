#include "telemetry/segment_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"
#include "telemetry/segment_example.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMillisecond = 1'000'000;

class SegmentTrackerTest : public testing::Test {
 protected:
  ProcessReport LookAt(int64_t at_ns) {
    ProcessReport report = tracker_.Look(segment_.Read(), at_ns);
    EXPECT_EQ(FindFault(report), "");
    return report;
  }

  HandMadeSegment segment_;
  SegmentTracker tracker_{{.clock_offset = SimDuration(1000 * kExampleSecond)}};
};

// Enqueued at 1 s, its kernel began at 2 s and ended at 3 s of the GPU's clock, which is 50 s ahead; all was reported 1
// ms late. The quickest report was 1 us late.
TEST_F(SegmentTrackerTest, AnOperationFromItsBeginningToItsEnd) {
  shm::CommunicatorSlot& communicator = segment_.AddCommunicator(7, 4, 2);
  shm::OperationSlot& operation = segment_.AddOperation(0, 0, kExampleSecond);
  operation.enqueue_ended_ns = 0;
  ProcessReport report = LookAt(kExampleSecond + 1);
  ASSERT_THAT(report.communicators, SizeIs(1));
  EXPECT_EQ(report.communicators[0], (ProcessCommunicator{7, "data", 4, 2, false}));
  ASSERT_THAT(report.operations, SizeIs(1));
  EXPECT_EQ(report.operations[0].bytes, 2000u) << "1000 elements of two bytes";
  EXPECT_EQ(report.operations[0].enqueued, SimTime(1001 * kExampleSecond));
  EXPECT_EQ(report.operations[0].started, std::nullopt);
  ASSERT_THAT(report.progress, SizeIs(1));
  EXPECT_EQ(report.progress[0].enqueued, 1u);
  EXPECT_EQ(report.progress[0].started, 0u);

  operation.enqueue_ended_ns = kExampleSecond + 10;
  HandMadeSegment::BeginKernel(operation, 52 * kExampleSecond, 2 * kExampleSecond + kMillisecond);
  report = LookAt(2 * kExampleSecond + 5 * kMillisecond);
  ASSERT_THAT(report.operations, SizeIs(1));
  EXPECT_EQ(report.operations[0].started, SimTime(1002 * kExampleSecond + kMillisecond)) << "as told: no offset yet";
  EXPECT_EQ(report.operations[0].finished, std::nullopt);
  EXPECT_EQ(report.progress[0].started, 1u);
  EXPECT_EQ(report.progress[0].finished, 0u);

  communicator.gpu_clock_offset[0] = -50 * kExampleSecond + 1000;
  HandMadeSegment::EndKernel(operation, 53 * kExampleSecond, 3 * kExampleSecond + kMillisecond);
  report = LookAt(3 * kExampleSecond + kMillisecond + kSettleNs - 1);
  EXPECT_EQ(report.operations[0].finished, std::nullopt) << "another part may begin";
  for (int time = 0; time < 2; ++time) {
    report = LookAt(3 * kExampleSecond + kMillisecond + kSettleNs + time);
    ASSERT_THAT(report.operations, SizeIs(1)) << "told twice";
    EXPECT_EQ(report.operations[0].started, SimTime(1002 * kExampleSecond + 1000));
    EXPECT_EQ(report.operations[0].finished, SimTime(1003 * kExampleSecond + 1000));
    EXPECT_EQ(report.progress[0].finished, 1u);
  }
  report = LookAt(4 * kExampleSecond);
  EXPECT_THAT(report.operations, IsEmpty());
  EXPECT_EQ(report.progress[0].finished, 1u);
}

// Whatever the GPU's clock says, an instant lies between those that are known.
TEST_F(SegmentTrackerTest, AWrongGpuClockMovesNothingOutOfItsBounds) {
  for (const int64_t offset : {int64_t{0}, -(int64_t{1} << 62), int64_t{1} << 62, int64_t{-777}}) {
    HandMadeSegment segment;
    SegmentTracker tracker({});
    segment.AddCommunicator(7, 4, 2).gpu_clock_offset[0] = offset;
    shm::OperationSlot& operation = segment.AddOperation(0, 0, 1000);
    HandMadeSegment::BeginKernel(operation, INT64_MAX, 2000);
    HandMadeSegment::EndKernel(operation, 1, 3000);
    const ProcessReport report = tracker.Look(segment.Read(), kExampleSecond);
    EXPECT_EQ(FindFault(report), "");
    ASSERT_THAT(report.operations, SizeIs(1));
    EXPECT_GE(*report.operations[0].started, SimTime(1000));
    EXPECT_LE(*report.operations[0].started, SimTime(2000));
    EXPECT_LE(*report.operations[0].finished, SimTime(3000));
  }
}

// Two of one launch: the second has finished, the first has not. It would be mistaken for the end of the first.
TEST_F(SegmentTrackerTest, OperationsFinishedOutOfTurnAreReportedAsPending) {
  segment_.AddCommunicator(7, 4, 2);
  shm::OperationSlot& first = segment_.AddOperation(0, 0, kExampleSecond);
  shm::OperationSlot& second = segment_.AddOperation(0, 1, kExampleSecond + 100);
  for (shm::OperationSlot* slot : {&first, &second}) HandMadeSegment::BeginKernel(*slot, 1, kExampleSecond + 200);
  HandMadeSegment::EndKernel(second, 2, kExampleSecond + 300);
  ProcessReport report = LookAt(9 * kExampleSecond);
  ASSERT_THAT(report.operations, SizeIs(2));
  EXPECT_EQ(report.operations[1].finished, std::nullopt);
  EXPECT_EQ(report.progress[0].started, 2u);
  EXPECT_EQ(report.progress[0].finished, 0u);
  // The kernel of a later launch has run: the first is over, at an unknown time.
  shm::OperationSlot& later = segment_.AddOperation(0, 2, kExampleSecond + kLaunchNs);
  HandMadeSegment::BeginKernel(later, 3, 10 * kExampleSecond);
  HandMadeSegment::EndKernel(later, 4, 10 * kExampleSecond);
  report = LookAt(11 * kExampleSecond);
  ASSERT_THAT(report.operations, SizeIs(2));
  EXPECT_EQ(report.operations[0].sequence, 1u);
  EXPECT_EQ(report.progress[0].finished, 3u);
}

// The host runs ahead of its GPU: NCCL hands an operation to its proxies when it is enqueued, long before the kernel.
TEST_F(SegmentTrackerTest, AnOperationBeginsWithItsKernelAndNotWithItsProxies) {
  segment_.AddCommunicator(7, 4, 2);
  shm::OperationSlot& first = segment_.AddOperation(0, 0, kExampleSecond);
  HandMadeSegment::BeginKernel(first, 5, kExampleSecond);
  HandMadeSegment::EndKernel(first, 6, kExampleSecond);
  shm::OperationSlot& second = segment_.AddOperation(0, 1, 2 * kExampleSecond);
  ++second.num_parts;
  ++second.num_parts_live;
  ProcessReport report = LookAt(9 * kExampleSecond);
  ASSERT_THAT(report.operations, SizeIs(2));
  EXPECT_EQ(report.operations[1].started, std::nullopt);
  EXPECT_EQ(report.progress[0].started, 1u);
  HandMadeSegment::BeginKernel(second, 7, 10 * kExampleSecond);
  report = LookAt(11 * kExampleSecond);
  EXPECT_NE(report.operations.back().started, std::nullopt);
  EXPECT_EQ(report.progress[0].started, 2u);
}

// Of a group NCCL tells only the first on each channel while its kernel is stuck. What was enqueued after it is another
// launch.
TEST_F(SegmentTrackerTest, WhatWasEnqueuedTogetherBeginsTogether) {
  segment_.AddCommunicator(7, 4, 2);
  shm::OperationSlot& send = segment_.AddOperation(0, 0, kExampleSecond, shm::OperationKind::kSend, 1);
  segment_.AddOperation(0, 0, kExampleSecond + 2, shm::OperationKind::kReceive, 1);
  segment_.AddOperation(0, 0, kExampleSecond + 4, shm::OperationKind::kReceive, 3);
  segment_.AddOperation(0, 0, kExampleSecond + 1000);
  const auto num_begun = [&] {
    const ProcessReport report = LookAt(9 * kExampleSecond);
    EXPECT_THAT(report.operations, SizeIs(4));
    return std::ranges::count_if(report.operations, [](const auto& o) { return o.started.has_value(); });
  };
  for (uint32_t slot = 0; slot < 4; ++slot) {
    ++segment_->operations[slot].num_parts;
    ++segment_->operations[slot].num_parts_live;
  }
  HandMadeSegment::BeginKernel(send, 5, 2 * kExampleSecond);
  EXPECT_EQ(num_begun(), 3);
}

// Where nothing is told of kernels, proxies are all that is known.
TEST_F(SegmentTrackerTest, WithoutKernelsAnOperationBeginsWithItsProxies) {
  for (const bool were_told : {false, true}) {
    HandMadeSegment segment;
    segment.AddCommunicator(7, 4, 2);
    if (were_told) {
      shm::OperationSlot& first = segment.AddOperation(0, 0, kExampleSecond);
      HandMadeSegment::BeginKernel(first, 5, kExampleSecond);
      HandMadeSegment::EndKernel(first, 6, kExampleSecond);
      segment->header.wanted_events = 1;  // kernels are not among them any more
    }
    shm::OperationSlot& operation = segment.AddOperation(0, were_told ? 1 : 0, 2 * kExampleSecond);
    ++operation.num_parts;
    ++operation.num_parts_live;
    SegmentTracker tracker({});
    const ProcessReport report = tracker.Look(segment.Read(), 3 * kExampleSecond);
    EXPECT_NE(report.operations.back().started, std::nullopt) << were_told;
  }
}

// An operation with no report after it was enqueued.
TEST_F(SegmentTrackerTest, WithoutParts) {
  segment_.AddCommunicator(7, 4, 2);
  segment_.AddCommunicator(8, 4, 2);
  segment_.AddCommunicator(9, 1, 0);
  HandMadeSegment::BeginKernel(segment_.AddOperation(0, 0, kExampleSecond), 5, kExampleSecond);
  for (uint16_t communicator = 0; communicator < 3; ++communicator) {
    segment_.AddOperation(communicator, 1, 2 * kExampleSecond);
  }
  const auto finished = [](const ProcessReport& report) {
    std::vector<uint64_t> counts;
    for (const model::ProgressRecord& progress : report.progress) counts.push_back(progress.finished);
    return counts;
  };
  EXPECT_THAT(finished(LookAt(3 * kExampleSecond)), testing::ElementsAre(0, 0, 1)) << "one rank: no kernels";
  // 7 has shown kernels: this one's has not begun. 8 has never shown any.
  EXPECT_THAT(finished(LookAt(3 * kExampleSecond + kUnreportedNs)), testing::ElementsAre(0, 1, 1));
}

TEST_F(SegmentTrackerTest, AFinalizedCommunicatorHasNothingPending) {
  shm::CommunicatorSlot& communicator = segment_.AddCommunicator(7, 4, 2);
  HandMadeSegment::BeginKernel(segment_.AddOperation(0, 0, kExampleSecond), 5, kExampleSecond);
  EXPECT_FALSE(LookAt(2 * kExampleSecond).is_finalizing);
  communicator.state = uint32_t(shm::CommunicatorState::kFinalized);
  const ProcessReport report = LookAt(3 * kExampleSecond);
  EXPECT_TRUE(report.is_finalizing);
  EXPECT_TRUE(report.communicators[0].is_finalized);
  EXPECT_EQ(report.progress[0].finished, 1u);
  EXPECT_THAT(report.operations, IsEmpty()) << "nobody knows when it ended";
}

TEST_F(SegmentTrackerTest, SendsAndReceivesAreLanesOfTheirOwn) {
  segment_.AddCommunicator(7, 4, 2);
  segment_.AddOperation(0, 0, kExampleSecond, shm::OperationKind::kSend, 1);
  segment_.AddOperation(0, 1, kExampleSecond, shm::OperationKind::kSend, 1);
  segment_.AddOperation(0, 0, kExampleSecond, shm::OperationKind::kReceive, 3);
  segment_.AddOperation(0, 0, kExampleSecond);
  const ProcessReport report = LookAt(2 * kExampleSecond);
  std::map<std::pair<OperationKind, uint32_t>, uint64_t> enqueued;
  for (const model::ProgressRecord& p : report.progress) enqueued[{p.kind, p.peer.value()}] = p.enqueued;
  const std::map<std::pair<OperationKind, uint32_t>, uint64_t> expected = {
      {{OperationKind::kSend, 1}, 2},
      {{OperationKind::kReceive, 3}, 1},
      {{OperationKind::kUnknown, model::RankId().value()}, 1}};
  EXPECT_EQ(enqueued, expected);
}

// 20,000 all-reduces since the look before: the ring has lost most of them, their number is known.
TEST_F(SegmentTrackerTest, WhatCameAndWentBetweenLooksIsCounted) {
  segment_.AddCommunicator(7, 4, 2);
  LookAt(1);
  for (uint64_t i = 0; i < 20'000; ++i) {
    shm::OperationSlot& operation = segment_.AddOperation(0, i, 1000);
    HandMadeSegment::BeginKernel(operation, 1, 2000);
    if (i + 1 < 20'000) HandMadeSegment::EndKernel(operation, 2, 3000);
  }
  const ProcessReport report = LookAt(kExampleSecond);
  EXPECT_EQ(report.progress[0].enqueued, 20'000u);
  EXPECT_EQ(report.progress[0].finished, 19'999u);
  EXPECT_THAT(report.operations, SizeIs(shm::kNumOperations));
}

TEST_F(SegmentTrackerTest, ThePastIsSkippedWhereItWasNotWatched) {
  segment_.AddCommunicator(7, 4, 2);
  HandMadeSegment::BeginKernel(segment_.AddOperation(0, 0, 1000), 1, 2000);
  HandMadeSegment::EndKernel(segment_->operations[0], 2, 3000);
  HandMadeSegment::BeginKernel(segment_.AddOperation(0, 1, 4000), 5, 5000);
  shm::ConnectionSlot& connection = segment_.ConnectionAt(3, 0, true, 1);
  connection.messages = 1'000'000;
  SegmentTracker tracker({.clock_offset = {}, .skips_past = true});
  ProcessReport report = tracker.Look(segment_.Read(), kExampleSecond);
  EXPECT_THAT(report.connections, IsEmpty());
  ASSERT_THAT(report.operations, SizeIs(1)) << "what is pending is told";
  EXPECT_EQ(report.operations[0].sequence, 1u);
  EXPECT_EQ(report.progress[0].finished, 1u);
  connection.messages += 5;
  report = tracker.Look(segment_.Read(), 2 * kExampleSecond);
  ASSERT_THAT(report.connections, SizeIs(1));
  EXPECT_EQ(report.connections[0].messages, 5u);
}

TEST_F(SegmentTrackerTest, AnotherProcessWithTheSameNumberStartsOver) {
  segment_.AddCommunicator(7, 4, 2);
  segment_.ConnectionAt(3, 0, true, 1).messages = 10;
  EXPECT_EQ(LookAt(1).number, 0u);
  EXPECT_EQ(LookAt(2).number, 1u);
  segment_->header.process_start = 100;
  const ProcessReport report = LookAt(3);
  EXPECT_EQ(report.number, 0u);
  ASSERT_THAT(report.connections, SizeIs(1));
  EXPECT_EQ(report.connections[0].messages, 10u);
}

TEST_F(SegmentTrackerTest, CountersThatRunBackwardsBeginAtZero) {
  segment_.AddCommunicator(7, 4, 2);
  shm::ConnectionSlot& connection = segment_.ConnectionAt(3, 0, true, 1);
  connection.messages = 10;
  connection.bytes = 1000;
  LookAt(1);
  connection.messages = 4;
  connection.bytes = 2000;
  const ProcessReport report = LookAt(2);
  ASSERT_THAT(report.connections, SizeIs(1));
  EXPECT_EQ(report.connections[0].messages, 4u);
  EXPECT_EQ(report.connections[0].bytes, 2000u);
}

// Its process may be in the middle of a write: then the next look tells. Or it has died there: then this is all.
TEST_F(SegmentTrackerTest, ATornConnectionIsReportedOnceItNoLongerChanges) {
  segment_.AddCommunicator(7, 4, 2);
  shm::ConnectionSlot& connection = segment_.ConnectionAt(3, 0, true, 1);
  connection.version = 5;
  connection.messages = 3;
  connection.phase = uint32_t(shm::TransferPhase::kSendOnWire);
  ProcessReport report = LookAt(1);
  ASSERT_THAT(report.connections, SizeIs(1));
  EXPECT_EQ(report.connections[0].messages, 0u);
  EXPECT_EQ(report.busy_connections, 1u) << "its phase is right by itself";
  connection.version = 7;
  EXPECT_EQ(LookAt(2).connections.at(0).messages, 0u) << "it moves";
  EXPECT_EQ(LookAt(3).connections.at(0).messages, 3u);
  EXPECT_EQ(LookAt(4).connections.at(0).messages, 0u) << "told once";
}

// Windows of 2.1 s: the one under way and the one before count where they reach beyond the look before.
TEST_F(SegmentTrackerTest, TheGreatestWireTimeIsThatSinceTheLookBefore) {
  segment_.AddCommunicator(7, 4, 2);
  shm::ConnectionSlot& connection = segment_.ConnectionAt(3, 0, true, 1);
  const auto look = [&](int64_t window, int64_t greatest, int64_t before, int64_t wire_ns, int64_t at_ns) {
    connection.messages += 1;
    connection.maximum_window = window;
    connection.wire_ns_max[0] = greatest;
    connection.wire_ns_max[1] = before;
    connection.wire_ns += wire_ns;
    return LookAt(at_ns).connections.at(0).wire_time_max.ns();
  };
  const int64_t window = shm::kMaximumWindowNs;
  EXPECT_EQ(look(4, 500, 900, 2000, 4 * window + 10), 900) << "first look: both";
  EXPECT_EQ(look(4, 500, 900, 2000, 4 * window + 20), 500) << "the window before was over";
  EXPECT_EQ(look(5, 100, 500, 2000, 5 * window + 20), 500);
  EXPECT_EQ(look(5, 100, 500, 60, 5 * window + 30), 60) << "no message took longer than all together";
  connection.wire_time_bins[7] += 1;
  EXPECT_EQ(look(5, 140'000, 900'000, 150'000, 5 * window + 40), 140'000);
  connection.wire_time_bins[7] += 1;
  EXPECT_EQ(look(5, 900'000, 900'000, 1'900'000, 5 * window + 50), 192'000)
      << "that was before: now one of 128 to 256 us";
}

// ---- Laws ----

// A process that does anything that NCCL's would, with its own clock, and keeps the expected values.
class RandomProcess {
 public:
  explicit RandomProcess(uint64_t seed) : random_(seed) {
    segment_.AddCommunicator(7, 4, 2);
    segment_.AddCommunicator(8, 2, 0).gpu_clock_offset[0] = 100;
  }

  void Do() {
    now_ns_ += static_cast<int64_t>(random_.Below(5 * kMillisecond));
    switch (random_.Below(4)) {
      case 0:
        return Enqueue();
      case 1:
      case 2:
        return GoOn();
      default:
        return SendMessages();
    }
  }
  // Everything that was begun ends.
  void Finish() {
    while (!live_.empty()) GoOn();
    now_ns_ += kExampleSecond;
  }

  HandMadeSegment& segment() { return segment_; }
  int64_t now_ns() const { return now_ns_; }
  uint64_t num_enqueued() const { return num_enqueued_; }

 private:
  struct Live {
    shm::OperationSlot* slot;
    bool has_begun = false;
  };

  void Enqueue() {
    if (live_.size() > 50) return;
    const auto communicator = static_cast<uint16_t>(random_.Below(2));
    const int32_t peer = communicator == 0 ? static_cast<int32_t>(random_.Below(4)) : 1;
    const auto kind = random_.Below(3) == 0 ? shm::OperationKind::kSend : shm::OperationKind::kAllReduce;
    uint64_t& sequence = sequences_[{communicator, kind, kind == shm::OperationKind::kSend ? peer : 0}];
    live_.push_back({&segment_.AddOperation(communicator, sequence++, now_ns_, kind, peer)});
    ++num_enqueued_;
  }
  void GoOn() {
    if (live_.empty()) return;
    const size_t which = random_.Below(live_.size());
    Live& live = live_[which];
    now_ns_ += 1;
    if (!live.has_begun) {
      HandMadeSegment::BeginKernel(*live.slot, now_ns_ - 200, now_ns_);
      live.has_begun = true;
      return;
    }
    HandMadeSegment::EndKernel(*live.slot, now_ns_ - 150, now_ns_);
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(which));
  }
  void SendMessages() {
    const auto place = static_cast<uint32_t>(random_.Below(20));
    shm::ConnectionSlot& slot =
        segment_.ConnectionAt(place, static_cast<uint16_t>(place % 2), place % 3 == 0, 1, static_cast<uint8_t>(place));
    slot.messages += 1;
    slot.bytes += random_.Below(1 << 20);
    slot.wire_ns += static_cast<int64_t>(random_.Below(1 << 20));
    slot.wait_for_gpu_ns += static_cast<int64_t>(random_.Below(1 << 20));
    slot.wait_for_peer_ns += static_cast<int64_t>(random_.Below(1 << 20));
    slot.wire_time_bins[random_.Below(shm::kNumWireTimeBins)] += 1;
    slot.version = static_cast<uint32_t>(random_.Below(1000));
    slot.phase = static_cast<uint32_t>(random_.Below(7));
  }

  Random random_;
  HandMadeSegment segment_;
  int64_t now_ns_ = kExampleSecond;
  uint64_t num_enqueued_ = 0;
  std::vector<Live> live_;
  std::map<std::tuple<uint16_t, shm::OperationKind, int32_t>, uint64_t> sequences_;
};

// What all reports of one sequence of looks say together.
struct Totals {
  std::map<model::ConnectionKey, std::vector<int64_t>> sums;
  std::map<std::tuple<uint32_t, OperationKind, uint32_t>, std::vector<uint64_t>> progress;
  // Finished operations: how often they were reported.
  std::map<std::tuple<uint32_t, OperationKind, uint32_t, uint64_t>, int> finished;

  void Add(const ProcessReport& report) {
    for (const model::ConnectionRecord& c : report.connections) {
      std::vector<int64_t>& sum = sums[c.key];
      sum.resize(5 + model::kNumWireTimeBins);
      sum[0] += static_cast<int64_t>(c.messages);
      sum[1] += static_cast<int64_t>(c.bytes);
      sum[2] += c.wire_time.ns();
      sum[3] += c.wait_for_gpu.ns();
      sum[4] += c.wait_for_peer.ns();
      for (size_t i = 0; i < model::kNumWireTimeBins; ++i) sum[5 + i] += c.wire_time_bins[i];
    }
    std::map<std::tuple<uint32_t, OperationKind, uint32_t>, uint64_t> pending;
    for (const model::OperationRecord& o : report.operations) {
      const bool is_transfer = o.kind == OperationKind::kSend;
      const std::tuple lane(o.communicator.value(), is_transfer ? o.kind : OperationKind::kUnknown, o.peer.value());
      if (!o.finished) ++pending[lane];
      if (o.finished) ++finished[std::tuple(o.communicator.value(), o.kind, o.peer.value(), o.sequence)];
    }
    for (const model::ProgressRecord& p : report.progress) {
      const std::tuple lane(p.communicator.value(), p.kind, p.peer.value());
      const std::vector<uint64_t> counts = {p.enqueued, p.started, p.finished};
      std::vector<uint64_t>& before = progress[lane];
      for (size_t i = 0; i < before.size(); ++i) EXPECT_LE(before[i], counts[i]) << "counts never fall";
      EXPECT_EQ(p.enqueued - p.finished, pending[lane]) << "what is pending is told";
      before = counts;
    }
  }
};

// However often it is read, everything is reported, and nothing twice.
TEST(SegmentTrackerLawsTest, AnySequenceOfLooksGivesTheSameTotals) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RandomProcess process(seed);
    Random random(seed + 1000);
    SegmentTracker often({}), seldom({});
    Totals of_often, of_seldom;
    for (int i = 0; i < 400; ++i) {
      process.Do();
      if (random.Below(4) == 0) {
        const ProcessReport report = often.Look(process.segment().Read(), process.now_ns());
        ASSERT_EQ(FindFault(report), "") << "seed " << seed;
        of_often.Add(report);
      }
      if (random.Below(100) == 0) of_seldom.Add(seldom.Look(process.segment().Read(), process.now_ns()));
    }
    process.Finish();
    for (int i = 0; i < 3; ++i) {
      of_often.Add(often.Look(process.segment().Read(), process.now_ns() + i));
      of_seldom.Add(seldom.Look(process.segment().Read(), process.now_ns() + i));
    }
    EXPECT_EQ(of_often.sums, of_seldom.sums) << "seed " << seed;
    EXPECT_EQ(of_often.progress, of_seldom.progress) << "seed " << seed;
    // And they are those of the segment.
    uint64_t enqueued = 0;
    for (const auto& [lane, counts] : of_often.progress) {
      EXPECT_EQ(counts[0], counts[2]) << "seed " << seed << ": all is over";
      enqueued += counts[0];
    }
    EXPECT_EQ(enqueued, process.num_enqueued());
    // An operation that a later launch has passed before it ended has no instants, and is not reported as finished.
    EXPECT_LE(of_seldom.finished.size(), process.num_enqueued());
    for (const auto& [operation, times] : of_seldom.finished) EXPECT_EQ(times, 2);
    int64_t messages = 0, of_segment = 0;
    for (const auto& [key, sums] : of_often.sums) messages += sums[0];
    for (const shm::ConnectionSlot& slot : process.segment()->connections) {
      of_segment += static_cast<int64_t>(slot.messages.load());
    }
    EXPECT_EQ(messages, of_segment);
  }
}

}  // namespace
}  // namespace fairlead::telemetry
