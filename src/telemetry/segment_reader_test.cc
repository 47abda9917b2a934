#include "telemetry/segment_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "telemetry/segment_example.h"

namespace fairlead::telemetry {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(SegmentReaderTest, AnEmptySegment) {
  HandMadeSegment segment;
  const SegmentContents contents = segment.Read();
  EXPECT_EQ(contents.pid, 4711);
  EXPECT_EQ(contents.process_start, 99u);
  EXPECT_EQ(contents.job, "gpt");
  EXPECT_THAT(contents.communicators, IsEmpty());
  EXPECT_THAT(contents.operations, IsEmpty());
  EXPECT_THAT(contents.connections, IsEmpty());
}

TEST(SegmentReaderTest, ExistingContentIsRead) {
  HandMadeSegment segment;
  segment.AddCommunicator(7, 16, 3).gpu_clock_offset[1] = -5;
  for (uint64_t i = 0; i < 3; ++i) segment.AddOperation(0, i, 1000);
  shm::ConnectionSlot& connection = segment.ConnectionAt(8000, 0, true, 15, 9);
  connection.messages = 12;
  connection.phase = uint32_t(shm::TransferPhase::kSendOnWire);
  const SegmentContents contents = segment.Read();
  ASSERT_THAT(contents.communicators, SizeIs(1));
  EXPECT_EQ(contents.communicators[0].rank, 3);
  EXPECT_EQ(contents.communicators[0].gpu_clock_offset, -5) << "the other window has seen none";
  ASSERT_THAT(contents.operations, SizeIs(3));
  EXPECT_EQ(contents.operations[2].sequence, 2u);
  EXPECT_EQ(contents.operations[2].data_type, "ncclBfloat16");
  ASSERT_THAT(contents.connections, SizeIs(1));
  EXPECT_EQ(contents.connections[0].peer, 15u);
  EXPECT_EQ(contents.connections[0].channel, 9);
  EXPECT_EQ(contents.connections[0].phase, model::TransferPhase::kSendOnWire);
  EXPECT_EQ(contents.connections[0].messages, 12u);
  EXPECT_EQ(contents.num_damaged, 0u);
}

// The ring has gone round: 10,000 operations, of which the last 8,192 are there, by ascending tickets.
TEST(SegmentReaderTest, TheRingGoesRound) {
  HandMadeSegment segment;
  segment.AddCommunicator(7, 16, 3);
  for (uint64_t i = 0; i < 10'000; ++i) segment.AddOperation(0, i, 1000);
  segment->operations[5].ticket = 0;  // being given away
  const SegmentContents contents = segment.Read();
  ASSERT_THAT(contents.operations, SizeIs(shm::kNumOperations - 1));
  EXPECT_EQ(contents.operations.front().ticket, 10'000u - shm::kNumOperations + 1);
  EXPECT_EQ(contents.operations.back().ticket, 10'000u);
}

TEST(SegmentReaderTest, OtherFilesAreAnErrorWithAReason) {
  const auto error = [](auto change) {
    HandMadeSegment segment;
    change(segment->header);
    const auto contents = ReadSegment(segment.bytes());
    return contents.ok() ? "" : contents.status().message();
  };
  EXPECT_THAT(error([](auto& header) { header.magic = 0; }), HasSubstr("no segment"));
  EXPECT_THAT(error([](auto& header) { header.version = 2; }), HasSubstr("expected version 1, found 2"));
  EXPECT_THAT(error([](auto& header) { header.bytes = 17; }), HasSubstr("bytes, found 17"));
  EXPECT_THAT(error([](auto& header) { header.pid = -1; }), HasSubstr("process -1"));
  EXPECT_THAT(error([](auto& header) { header.global_rank = 1 << 30; }), HasSubstr("rank 1073741824"));
  EXPECT_THAT(error([](auto& header) { header.num_operations = ~uint64_t{0}; }), HasSubstr("can't be"));
  EXPECT_EQ(error([](auto&) {}), "");
}

// A file that is cut short at any place, also while it is read.
TEST(SegmentReaderTest, ASegmentThatEndsEarlyIsAnError) {
  HandMadeSegment segment;
  segment.AddCommunicator(7, 16, 3);
  segment.AddOperation(0, 0, 1000);
  segment.ConnectionAt(8191, 0, true, 1);
  for (const size_t size : {size_t{0}, size_t{167}, size_t{168}, size_t{4096}, size_t{60'000}, size_t{1'200'000},
                            sizeof(shm::ProfilerSegment) - 1}) {
    const auto contents = ReadSegment(segment.bytes().first(size));
    ASSERT_FALSE(contents.ok()) << size;
    EXPECT_EQ(contents.status().code(), StatusCode::kUnavailable);
  }
}

// Each value out of bounds separately: the slot is left out and counted, all else stays.
TEST(SegmentReaderTest, ValuesThatCannotBeAreLeftOutAndCounted) {
  const auto damaged_by = [](auto change) {
    HandMadeSegment segment;
    segment.AddCommunicator(7, 16, 3);
    segment.AddCommunicator(8, 4, 1);
    segment.AddOperation(0, 0, 1000);
    segment.AddOperation(1, 0, 1000, shm::OperationKind::kSend, 2);
    segment.ConnectionAt(1, 0, true, 1);
    segment.ConnectionAt(2, 1, true, 1);
    change(*segment);
    const SegmentContents contents = segment.Read();
    EXPECT_EQ(FindFault(contents), "");
    EXPECT_GE(contents.operations.size() + contents.connections.size() + contents.communicators.size(), 2u);
    return contents.num_damaged;
  };
  using Segment = shm::ProfilerSegment;
  EXPECT_EQ(damaged_by([](Segment&) {}), 0u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.communicators[0].rank = 16; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.communicators[0].num_ranks = -1; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.communicators[1].state = 77; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[0].kind = shm::OperationKind(99); }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[0].enqueued_ns = -1; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[0].last_part_ended_ns = INT64_MAX; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[0].ticket = 2; }), 1u) << "not its place";
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[1].root_or_peer = 4; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.operations[1].root_or_peer = -1; }), 1u) << "a send goes to somebody";
  EXPECT_EQ(damaged_by([](Segment& s) { s.connections[1].phase = 7; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.connections[1].wire_ns = -1; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.connections[1].messages = ~uint64_t{0}; }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.connections[2].key = shm::PackConnection(1, 0, true, 4); }), 1u);
  EXPECT_EQ(damaged_by([](Segment& s) { s.connections[3].key = s.connections[2].key.load(); }), 1u) << "appears twice";
}

// A writer that changes a slot between all readings: an operation is that of its ticket, a connection is reported as
// torn.
TEST(SegmentReaderTest, WhatNeverStops) {
  HandMadeSegment segment;
  segment.AddCommunicator(7, 16, 3);
  shm::OperationSlot& operation = segment.AddOperation(0, 0, 1000);
  shm::ConnectionSlot& connection = segment.ConnectionAt(70, 0, true, 1);
  int readings = 0;
  const auto read = [&] {
    return ReadSegment([&](size_t offset, std::span<std::byte> to) {
      EXPECT_LT(++readings, 1000) << "it comes to an end";
      operation.num_parts += 1;
      connection.version += 2;
      connection.messages += 1;
      std::ranges::copy(segment.bytes().subspan(offset, to.size()), to.begin());
      return true;
    });
  };
  auto contents = read();
  ASSERT_TRUE(contents.ok());
  EXPECT_THAT(contents->operations, SizeIs(1));
  ASSERT_THAT(contents->connections, SizeIs(1));
  EXPECT_EQ(contents->connections[0].version % 2, 1u);
  // One that has another ticket each time is left for the next look.
  operation.ticket = 0;
  contents = ReadSegment([&](size_t offset, std::span<std::byte> to) {
    operation.ticket = operation.ticket == 0 ? 1 : 0;
    std::ranges::copy(segment.bytes().subspan(offset, to.size()), to.begin());
    return true;
  });
  ASSERT_TRUE(contents.ok());
  EXPECT_THAT(contents->operations, IsEmpty());
}

// Any bytes behind a sound header: values within bounds, or an error.
TEST(SegmentReaderTest, AnyBytesGiveValuesWithinBounds) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::byte> bytes(sizeof(shm::ProfilerSegment));
    PutSegmentHeader(bytes);
    const size_t begin = offsetof(shm::ProfilerSegment, operations);
    for (size_t i = 0; i < 200'000; ++i) {
      const size_t place = begin + random.Below(bytes.size() - begin);
      // Small numbers are what fits best.
      bytes[place] = static_cast<std::byte>(random.Below(random.Below(2) == 0 ? 4 : 256));
    }
    const auto contents = ReadSegment(bytes);
    ASSERT_TRUE(contents.ok());
    ASSERT_EQ(FindFault(*contents), "") << "round " << round;
    SegmentTracker tracker({});
    const ProcessReport report = tracker.Look(*contents, kExampleSecond);
    ASSERT_EQ(FindFault(report), "") << "round " << round;
  }
}

}  // namespace
}  // namespace fairlead::telemetry
