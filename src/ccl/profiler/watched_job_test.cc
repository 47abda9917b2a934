// End to end, from NCCL's calls to a finding: ranks in processes of their own with the real plugin; what agents and
// controller do with their segments; the diagnosis. Only the time of the diagnosis is simulated: a second for each
// look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/temporary_folder.h"
#include "ccl/profiler/simulated_process_example.h"
#include "diagnosis/c4d/c4d_master.h"
#include "service/agent/segment_folder.h"
#include "telemetry/job_assembler.h"
#include "telemetry/record_check.h"

namespace fairlead::ccl {
namespace {

using diagnosis::c4d::C4dMaster;
using diagnosis::c4d::C4dOptions;
using model::Finding;
using model::Syndrome;
using testing::IsEmpty;
using testing::SizeIs;

C4dOptions QuickOptions() {
  C4dOptions options;
  options.hang.suspect_after = SimDuration(3'000'000'000);
  options.hang.confirm_for = SimDuration(2'000'000'000);
  options.hang.warm_up_factor = 1;
  return options;
}

// Four hosts (folders) of a rank each, in one communicator.
class WatchedJob : public testing::Test {
 protected:
  static constexpr int kRanks = 4;
  static constexpr uint32_t kHosts = 4;

  WatchedJob() {
    for (uint32_t host = 0; host < kHosts; ++host) {
      folders_.emplace_back(service::SegmentFolderOptions{.folder = segments_[host].path()});
      folders_.back().Look();
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks_.emplace_back(SimulatedProcessOptions{
          .folder = segments_[static_cast<size_t>(rank)].path(), .rank = rank, .num_ranks = kRanks});
    }
  }

  // A second passes: each agent looks, the controller assembles, the diagnosis judges.
  void Tick(SimDuration passed = SimDuration(1'000'000'000)) {
    now_ = now_ + passed;
    std::vector<model::TelemetryRecord> records;
    for (uint32_t host = 0; host < kHosts; ++host) {
      service::FolderLook seen = folders_[host].Look();
      EXPECT_THAT(seen.faults, IsEmpty());
      telemetry::HostLook look{.host = HostId(host), .number = num_looks_, .at = now_, .processes = {}};
      for (service::ProcessLook& process : seen.processes) {
        look.processes.push_back({process.state, process.exit, std::move(process.report)});
      }
      for (model::TelemetryRecord& record : assembler_.Add(now_, look)) Take(std::move(record), &records);
    }
    ++num_looks_;
    master_.Handle(now_, records);
  }
  void Wait(int seconds) {
    for (int i = 0; i < seconds; ++i) Tick();
  }
  // All ranks do that many all-reduces, and the diagnosis knows of their ends: these count after kSettleNs only.
  void Iterate(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      for (SimulatedProcess& rank : ranks_) rank.Iterate();
    }
    num_iterations_ += count;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      Tick(SimDuration(1'000'000));
    } while (has_layout_ && !AllFinished() && std::chrono::steady_clock::now() < deadline);
    EXPECT_TRUE(!has_layout_ || AllFinished());
    Tick();
  }
  void Start() {
    Iterate(2);
    Wait(8);
    ASSERT_TRUE(has_layout_);
    Iterate(3);
    Iterate(3);
  }

  // The one finding that holds.
  Finding OnlyFinding() const {
    std::vector<Finding> confirmed;
    for (const Finding& finding : master_.findings()) {
      if (finding.state == model::FindingState::kConfirmed) confirmed.push_back(finding);
    }
    EXPECT_THAT(confirmed, SizeIs(1));
    return confirmed.empty() ? Finding() : confirmed.front();
  }

  std::vector<SimulatedProcess> ranks_;
  C4dMaster master_{QuickOptions()};

 private:
  void Take(model::TelemetryRecord record, std::vector<model::TelemetryRecord>* records) {
    if (const auto* layout = std::get_if<model::JobLayout>(&record)) {
      layout_ = *layout;
      has_layout_ = true;
    }
    const telemetry::RecordChecker checker(layout_);
    if (const auto* report = std::get_if<model::RankReport>(&record)) {
      EXPECT_EQ(checker.Check(*report), "");
      for (const model::ProgressRecord& progress : report->progress) {
        finished_[report->rank.value()] = progress.finished;
      }
    }
    records->push_back(std::move(record));
  }
  bool AllFinished() const {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto finished = finished_.find(rank);
      if (finished == finished_.end() || finished->second != num_iterations_) return false;
    }
    return true;
  }

  const std::array<TemporaryFolder, kHosts> segments_;
  std::vector<service::SegmentFolder> folders_;
  telemetry::JobAssembler assembler_{JobId(1), {}};
  model::JobLayout layout_;
  bool has_layout_ = false;
  SimTime now_ = SimTime(1'000'000'000);
  uint64_t num_looks_ = 0;
  uint64_t num_iterations_ = 0;
  std::map<uint32_t, uint64_t> finished_;  // by rank
};

TEST_F(WatchedJob, AHealthyJobAndItsEndHaveNoFindings) {
  Start();
  Wait(20);  // idle: nothing is pending
  Iterate(2);
  for (SimulatedProcess& rank : ranks_) rank.Leave();
  Wait(20);
  EXPECT_THAT(master_.findings(), IsEmpty());
  EXPECT_EQ(master_.picture()->counters().damaged_records, 0u);
  EXPECT_EQ(master_.picture()->counters().contradictions, 0u);
}

// All have begun the all-reduce; rank 2 has data and passes nothing on, all others wait for data.
TEST_F(WatchedJob, ARankThatComesToAStopInTheMiddleIsFound) {
  Start();
  for (const size_t rank : {0, 1, 3}) ranks_[rank].BeginAndWait();
  ranks_[2].BeginAndStick();
  Wait(20);
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kCommHang) << finding.summary;
  ASSERT_THAT(finding.culprits, SizeIs(1)) << finding.summary;
  EXPECT_EQ(finding.culprits[0].rank, model::RankId(2));
  EXPECT_EQ(finding.culprits[0].host, HostId(2));
  EXPECT_EQ(finding.sequence, 8u) << "after eight that all have finished";
}

// The process itself is frozen before it begins: it reports nothing more, and is still read.
TEST_F(WatchedJob, AFrozenProcessIsFound) {
  Start();
  ranks_[2].Freeze();
  for (const size_t rank : {0, 1, 3}) ranks_[rank].BeginAndWait();
  Wait(20);
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kNonCommHang) << finding.summary;
  ASSERT_THAT(finding.culprits, SizeIs(1)) << finding.summary;
  EXPECT_EQ(finding.culprits[0].rank, model::RankId(2));
  EXPECT_EQ(finding.sub_cause, model::SubCause::kProcess);
}

TEST_F(WatchedJob, AKilledProcessIsFound) {
  Start();
  for (SimulatedProcess& rank : ranks_) rank.BeginAndWait();
  ranks_[2].Kill();
  Wait(3);
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kDead) << finding.summary;
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].rank, model::RankId(2));
}

}  // namespace
}  // namespace fairlead::ccl
