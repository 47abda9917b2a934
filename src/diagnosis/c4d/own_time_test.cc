#include "diagnosis/c4d/own_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::OperationRecord;
using testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;

// A stage of a pipeline, of which two ranks reduce tensors together: communicator 0, and the pipeline's, 1. Its host
// runs far ahead: all was enqueued at one instant.
class OwnTimeOrderTest : public testing::Test, public OwnTime::Sink {
 protected:
  void OnOutput(size_t, const OwnTime::Output& output) override {
    own_ms_.push_back(static_cast<int>(std::lround(1000 * output.own_seconds.value_or(-0.001))));  // -1: unknown
  }
  void OnGap(size_t) override {}

  // Args: issue_index: on its communicator; begun_ms, ended_ms: < 0: not yet.
  void Add(uint32_t communicator, OperationKind kind, uint64_t issue_index, int64_t begun_ms, int64_t ended_ms) {
    OperationRecord record;
    record.communicator = CommunicatorId(communicator);
    record.kind = kind;
    record.issue_index = record.sequence = issue_index;
    record.enqueued = SimTime(1001 * kMs);
    if (begun_ms >= 0) record.started = SimTime((1000 + begun_ms) * kMs);
    if (ended_ms >= 0) record.finished = SimTime((1000 + ended_ms) * kMs);
    operations_.push_back(record);
  }
  // Milliseconds of its own before each output, with all that was added.
  std::vector<int> OwnMs() {
    OwnTime own(layout_);
    model::RankReport report;
    report.rank = model::RankId(0u);
    report.at = SimTime(1000 * kMs);
    own.Add(report, this);
    report.number = 1;
    report.at = SimTime(9000 * kMs);
    report.operations = operations_;
    own_ms_.clear();
    own.Add(report, this);
    return own_ms_;
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 2, .gpus = 2});
  std::vector<OperationRecord> operations_;
  std::vector<int> own_ms_;
};

// The data of the second micro-batch is there while the rank computes the first.
TEST_F(OwnTimeOrderTest, DataOfWhatComesLaterIsNotWaitedFor) {
  Add(1, OperationKind::kReceive, 0, 10, 100);
  Add(0, OperationKind::kAllReduce, 0, 200, 210);
  Add(1, OperationKind::kReceive, 2, 100, 250);
  Add(0, OperationKind::kAllReduce, 1, 310, 320);
  Add(1, OperationKind::kSend, 1, 321, 330);
  Add(0, OperationKind::kAllReduce, 2, 421, 430);
  EXPECT_THAT(OwnMs(), ElementsAre(-1, 100, 1, 100));
}

TEST_F(OwnTimeOrderTest, DataOfWhatComesNextMayBe) {
  Add(0, OperationKind::kAllReduce, 0, 50, 60);
  Add(1, OperationKind::kReceive, 0, 10, 100);
  Add(0, OperationKind::kAllReduce, 1, 200, 210);
  Add(1, OperationKind::kSend, 1, 211, 220);
  Add(1, OperationKind::kReceive, 2, 100, 390);
  Add(0, OperationKind::kAllReduce, 2, 400, 410);
  EXPECT_THAT(OwnMs(), ElementsAre(-1, 100, 1, 10));
}

// The send that was issued before it has not begun by the end of the report.
TEST_F(OwnTimeOrderTest, AnOutputThatIsStillToComeTellsTheOrder) {
  Add(0, OperationKind::kAllReduce, 0, 50, 60);
  Add(1, OperationKind::kReceive, 2, 100, 150);
  Add(0, OperationKind::kAllReduce, 1, 200, 210);
  EXPECT_THAT(OwnMs(), ElementsAre(-1, 50)) << "no order is known";
  Add(1, OperationKind::kSend, 1, -1, -1);
  EXPECT_THAT(OwnMs(), ElementsAre(-1, 140));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
