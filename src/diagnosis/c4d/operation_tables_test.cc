// The tables of pending collectives and transfers: what records say, what counts of progress add, and what disturbs
// neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/collective_table.h"
#include "diagnosis/c4d/transfer_table.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::OperationKind;
using model::OperationRecord;
using model::ProgressRecord;

constexpr RecordContext kContext{.serial = 1, .enqueued = SimTime(10), .advanced = SimTime(20)};

OperationRecord Record(OperationKind kind, uint64_t sequence, Stage stage, uint64_t bytes = 100) {
  OperationRecord record;
  record.kind = kind;
  record.sequence = record.issue_index = sequence;
  record.bytes = bytes;
  record.enqueued = SimTime(static_cast<int64_t>(sequence) * 100);
  if (stage >= Stage::kStarted) record.started = record.enqueued + SimDuration(10);
  if (stage == Stage::kFinished) record.finished = record.enqueued + SimDuration(20);
  return record;
}

ProgressRecord Progress(uint64_t enqueued, uint64_t started, uint64_t finished) {
  ProgressRecord progress;
  progress.enqueued = enqueued;
  progress.started = started;
  progress.finished = finished;
  return progress;
}

TEST(CollectiveTableTest, WhatAllHaveFinishedIsHandedOutOnce) {
  CollectiveTable table(2);
  EXPECT_TRUE(table.Add(0, Record(OperationKind::kAllReduce, 0, Stage::kFinished), kContext).is_news);
  EXPECT_FALSE(table.TakeCompleted().has_value());
  EXPECT_TRUE(table.Add(1, Record(OperationKind::kAllReduce, 0, Stage::kFinished), kContext).is_news);
  const std::optional<OpenOperation> completed = table.TakeCompleted();
  ASSERT_TRUE(completed.has_value());
  EXPECT_FALSE(completed->has_holes);
  EXPECT_FALSE(table.TakeCompleted().has_value());
  // Once more: late or repeated.
  EXPECT_FALSE(table.Add(1, Record(OperationKind::kAllReduce, 0, Stage::kFinished), kContext).is_news);
  EXPECT_TRUE(table.open().empty());
}

// The record that tells that rank 1 has finished is lost; its count is not.
TEST(CollectiveTableTest, CountsMakeGoodForRecordsThatWereLost) {
  CollectiveTable table(2);
  for (const uint32_t rank : {0u, 1u}) table.Add(rank, Record(OperationKind::kAllReduce, 0, Stage::kStarted), kContext);
  table.Add(0, Record(OperationKind::kAllReduce, 0, Stage::kFinished), kContext);
  EXPECT_TRUE(table.AddProgress(1, Progress(1, 1, 1)).is_news);
  const std::optional<OpenOperation> completed = table.TakeCompleted();
  ASSERT_TRUE(completed.has_value());
  EXPECT_TRUE(completed->has_holes) << "nobody told when";
  EXPECT_FALSE(table.AddProgress(1, Progress(1, 1, 1)).is_news);
}

TEST(CollectiveTableTest, CountsTellHowFarARankIsWithWhatOthersHaveBegun) {
  CollectiveTable table(2);
  table.Add(0, Record(OperationKind::kAllReduce, 7, Stage::kStarted), kContext);
  const OpenOperation& open = table.open().front();
  table.AddProgress(1, Progress(7, 7, 7));
  EXPECT_EQ(table.StageOf(open, 1), Stage::kAbsent);
  table.AddProgress(1, Progress(8, 7, 7));
  EXPECT_EQ(table.StageOf(open, 1), Stage::kEnqueued);
  table.AddProgress(1, Progress(8, 8, 7));
  EXPECT_EQ(table.StageOf(open, 1), Stage::kStarted);
  // An older one that comes late takes nothing back.
  EXPECT_FALSE(table.AddProgress(1, Progress(8, 7, 7)).is_news);
  EXPECT_EQ(table.StageOf(open, 1), Stage::kStarted);
}

TEST(CollectiveTableTest, ImpossibleCountsAndRecordsChangeNothing) {
  CollectiveTable table(2);
  table.Add(0, Record(OperationKind::kAllReduce, 0, Stage::kStarted), kContext);
  EXPECT_TRUE(table.AddProgress(0, Progress(1, 1, 2)).contradicts);
  EXPECT_TRUE(table.AddProgress(0, Progress(uint64_t{1} << 40, 1, 1)).contradicts);
  OperationRecord early = Record(OperationKind::kAllReduce, 1, Stage::kStarted);
  early.started = early.enqueued - SimDuration(1);
  EXPECT_TRUE(table.Add(0, early, kContext).contradicts);
  ASSERT_EQ(table.open().size(), 1u);
  EXPECT_EQ(table.StageOf(table.open().front(), 0), Stage::kStarted);
}

TEST(CollectiveTableTest, RanksInAnotherOperationDeviate) {
  CollectiveTable table(3);
  table.Add(0, Record(OperationKind::kAllReduce, 0, Stage::kStarted, 100), kContext);
  EXPECT_TRUE(table.Add(1, Record(OperationKind::kAllReduce, 0, Stage::kStarted, 50), kContext).deviates);
  ASSERT_EQ(table.open().front().deviations.size(), 1u);
  EXPECT_EQ(table.open().front().deviations.front().position, 1u);
  // It takes it back: it has no vote any more.
  EXPECT_TRUE(table.Add(1, Record(OperationKind::kAllReduce, 0, Stage::kFinished, 100), kContext).contradicts);
  EXPECT_TRUE(table.open().front().deviations.empty());
  EXPECT_TRUE(table.open().front().members[1].contradicts);
}

// Law: in whatever order and how often records and counts of two ranks come, no operation completes twice, and none
// stays open once all have been reported. (One followed by later ones that all have reported is never opened.)
TEST(CollectiveTableTest, OrderAndRepetitionDoNotMatter) {
  constexpr uint64_t kOperations = 20;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    struct Said {
      uint32_t rank;
      uint64_t sequence;
      Stage stage;
    };
    std::vector<Said> said;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      for (uint64_t s = 0; s < kOperations; ++s) {
        for (const Stage stage : {Stage::kEnqueued, Stage::kStarted, Stage::kFinished})
          said.push_back({rank, s, stage});
      }
    }
    random.Shuffle(std::span<Said>(said));
    CollectiveTable table(2);
    uint64_t completed = 0;
    for (const Said& s : said) {
      table.Add(s.rank, Record(OperationKind::kAllReduce, s.sequence, s.stage), kContext);
      if (random.Below(4) == 0) table.Add(s.rank, Record(OperationKind::kAllReduce, s.sequence, s.stage), kContext);
      while (table.TakeCompleted()) ++completed;
    }
    for (const uint32_t rank : {0u, 1u}) table.AddProgress(rank, Progress(kOperations, kOperations, kOperations));
    while (table.TakeCompleted()) ++completed;
    EXPECT_LE(completed, kOperations) << seed;
    EXPECT_GT(completed, 0u) << seed;
    EXPECT_TRUE(table.open().empty()) << seed;
  }
}

TEST(TransferTableTest, LanesArePendingUntilTheirLastTransferEnds) {
  TransferTable table(2);
  table.Add(0, 1, Record(OperationKind::kSend, 0, Stage::kStarted), kContext);
  EXPECT_EQ(table.num_pending_lanes(), 1u);
  const Lane& lane = table.lanes(0).front();
  EXPECT_EQ(lane.StageOf(0), Stage::kStarted);
  EXPECT_EQ(table.Opposite(0, lane), nullptr);
  table.Add(1, 0, Record(OperationKind::kReceive, 0, Stage::kEnqueued), kContext);
  ASSERT_NE(table.Opposite(0, lane), nullptr);
  EXPECT_EQ(table.Opposite(0, lane)->StageOf(0), Stage::kEnqueued);
  EXPECT_EQ(table.Add(0, 1, Record(OperationKind::kSend, 0, Stage::kFinished), kContext).finished, 1u);
  EXPECT_EQ(table.num_pending_lanes(), 1u);
}

TEST(TransferTableTest, CountsMakeGoodForRecordsThatWereLost) {
  TransferTable table(2);
  table.Add(0, 1, Record(OperationKind::kSend, 4, Stage::kStarted), kContext);
  ProgressRecord progress = Progress(7, 6, 5);
  progress.kind = OperationKind::kSend;
  const TransferTable::Outcome outcome = table.AddProgress(0, 1, progress, kContext);
  EXPECT_TRUE(outcome.is_news);
  EXPECT_EQ(outcome.finished, 1u);
  const Lane& lane = table.lanes(0).front();
  EXPECT_EQ(lane.StageOf(4), Stage::kFinished);
  EXPECT_EQ(lane.StageOf(5), Stage::kStarted);
  EXPECT_EQ(lane.StageOf(6), Stage::kEnqueued);
  EXPECT_EQ(lane.StageOf(7), Stage::kAbsent);
  EXPECT_FALSE(table.AddProgress(0, 1, progress, kContext).is_news);
  progress.finished = 8;
  EXPECT_TRUE(table.AddProgress(0, 1, progress, kContext).contradicts);
}

TEST(TransferTableTest, EndsThatExpectOtherSizesDeviate) {
  TransferTable table(2);
  table.Add(0, 1, Record(OperationKind::kSend, 0, Stage::kStarted, 100), kContext);
  EXPECT_FALSE(table.Add(1, 0, Record(OperationKind::kReceive, 0, Stage::kEnqueued, 100), kContext).deviates);
  table.Add(0, 1, Record(OperationKind::kSend, 1, Stage::kEnqueued, 100), kContext);
  EXPECT_TRUE(table.Add(1, 0, Record(OperationKind::kReceive, 1, Stage::kEnqueued, 50), kContext).deviates);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
