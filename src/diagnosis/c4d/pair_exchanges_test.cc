#include "diagnosis/c4d/pair_exchanges.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::OperationRecord;
using model::RankId;
using model::RankReport;

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

// A send of a rank or a receive, of the communicator over hosts.
OperationRecord Pair(OperationKind kind, uint32_t peer, uint64_t sequence, double started, double finished,
                     CommunicatorId communicator) {
  OperationRecord record;
  record.communicator = communicator;
  record.kind = kind;
  record.peer = RankId(peer);
  record.sequence = sequence;
  record.enqueued = At(started);
  record.started = At(started);
  record.finished = At(finished);
  return record;
}

// One GPU on each of a few hosts, so that rank = host; the last communicator is over all.
class PairExchangesTest : public ::testing::Test {
 protected:
  struct Reported {
    uint64_t sequence;
    std::vector<RankInstants> ranks;
  };

  void MakeJob(uint32_t hosts) {
    layout_ = MakeExampleLayout({.hosts = hosts, .gpus = 1});
    all_ = CommunicatorId(hosts);
    exchanges_.emplace(layout_);
  }

  void Report(uint32_t rank, const std::vector<OperationRecord>& operations) {
    RankReport report;
    report.rank = RankId(rank);
    report.operations = operations;
    exchanges_->Add(report, [&](const CompletedOperation& operation) {
      EXPECT_EQ(operation.kind, OperationKind::kAllToAll);
      EXPECT_EQ(operation.communicator, all_);
      reported_.push_back({operation.sequence, {operation.ranks.begin(), operation.ranks.end()}});
    });
  }

  // All that a rank does in an exchange to which it comes at `started` and that ends with all data at `finished`.
  std::vector<OperationRecord> Exchange(uint32_t rank, uint64_t sequence, double started, double finished) const {
    std::vector<OperationRecord> operations;
    for (uint32_t peer = 0; peer < layout_.ranks.size(); ++peer) {
      if (peer == rank) continue;
      operations.push_back(Pair(OperationKind::kSend, peer, sequence, started, finished, all_));
      operations.push_back(Pair(OperationKind::kReceive, peer, sequence, started, finished, all_));
    }
    return operations;
  }

  model::JobLayout layout_;
  CommunicatorId all_;
  std::optional<PairExchanges> exchanges_;
  std::vector<Reported> reported_;
};

TEST_F(PairExchangesTest, AllToAllIsReportedOnceWithTheFirstStartAndTheLastEnd) {
  MakeJob(3);
  // Rank 2 comes a second late; its data are the last that the others get.
  for (uint32_t rank = 0; rank < 3; ++rank) {
    std::vector<OperationRecord> operations = Exchange(rank, 0, rank == 2 ? 2.0 : 1.0, 2.5);
    operations[0].started = At(rank == 2 ? 1.9 : 0.9);
    operations[0].finished = At(2.25);
    Report(rank, operations);
    Report(rank, operations);  // reported again
    EXPECT_EQ(reported_.size(), rank == 2 ? 1u : 0u);
  }
  ASSERT_EQ(reported_.size(), 1u);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(reported_[0].ranks[rank].rank, RankId(rank));
    EXPECT_EQ(reported_[0].ranks[rank].started, At(rank == 2 ? 1.9 : 0.9));
    EXPECT_EQ(reported_[0].ranks[rank].finished, At(2.5));
  }
  EXPECT_TRUE(exchanges_->HasExchanges(all_));
  EXPECT_FALSE(exchanges_->HasExchanges(CommunicatorId(0u)));
}

TEST_F(PairExchangesTest, LostOperationsAreNotReportedAndTheNextOneIs) {
  MakeJob(4);
  for (uint64_t sequence = 7; sequence < 9; ++sequence) {
    const auto t = static_cast<double>(sequence);
    for (uint32_t rank = 0; rank < 4; ++rank) {
      std::vector<OperationRecord> operations = Exchange(rank, sequence, t, t + 0.5);
      if (rank == 1 && sequence == 7) operations.pop_back();
      Report(rank, operations);
    }
  }
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].sequence, 8u);
}

// Law: at most kMaxOpen exchanges are remembered, and those that are complete are reported, however many others are
// not.
TEST_F(PairExchangesTest, ARankThatTellsNothingHidesNoLaterExchange) {
  MakeJob(3);
  const uint64_t num_lost = 2 * PairExchanges::kMaxOpen;
  for (uint64_t sequence = 0; sequence <= num_lost; ++sequence) {
    const auto t = static_cast<double>(sequence);
    for (uint32_t rank = 0; rank < 3; ++rank) {
      if (rank < 2 || sequence == num_lost) Report(rank, Exchange(rank, sequence, t, t + 0.5));
    }
  }
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].sequence, num_lost);
}

// Forth and back, micro-batch by micro-batch: the second stage sends what follows from what it has received.
TEST_F(PairExchangesTest, APipelineOfTwoIsNone) {
  MakeJob(2);
  for (uint64_t batch = 0; batch < 40; ++batch) {
    const double t = 10 * static_cast<double>(batch);
    // The first stage posts its receive at once, and both are under way; the second computes from 2 to 3.
    Report(0, {Pair(OperationKind::kSend, 1, batch, t, t + 2, all_),
               Pair(OperationKind::kReceive, 1, batch, t, t + 4, all_)});
    Report(1, {Pair(OperationKind::kReceive, 0, batch, t, t + 2, all_),
               Pair(OperationKind::kSend, 0, batch, t + 3, t + 4, all_)});
  }
  EXPECT_TRUE(reported_.empty());
  EXPECT_FALSE(exchanges_->HasExchanges(all_));
}

TEST_F(PairExchangesTest, ARingIsNone) {
  MakeJob(4);
  for (uint64_t round = 0; round < 40; ++round) {
    const auto t = static_cast<double>(round);
    for (uint32_t rank = 0; rank < 4; ++rank) {
      Report(rank, {Pair(OperationKind::kSend, (rank + 1) % 4, round, t, t + 0.5, all_),
                    Pair(OperationKind::kReceive, (rank + 3) % 4, round, t, t + 0.5, all_)});
    }
  }
  EXPECT_TRUE(reported_.empty());
}

TEST_F(PairExchangesTest, DamagedRecordsAreLeftOut) {
  MakeJob(2);
  OperationRecord foreign = Pair(OperationKind::kSend, 9, 0, 1, 2, all_);
  OperationRecord own = Pair(OperationKind::kSend, 0, 0, 1, 2, all_);
  OperationRecord nowhere = Pair(OperationKind::kSend, 1, 0, 1, 2, CommunicatorId(77u));
  OperationRecord backwards = Pair(OperationKind::kSend, 1, 0, 2, 1, all_);
  OperationRecord unfinished = Pair(OperationKind::kSend, 1, 0, 1, 2, all_);
  unfinished.finished.reset();
  Report(0, {foreign, own, nowhere, backwards, unfinished});
  for (uint32_t rank = 0; rank < 2; ++rank) Report(rank, Exchange(rank, 0, 1, 2));
  EXPECT_EQ(reported_.size(), 1u) << "none of them counts as told";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
