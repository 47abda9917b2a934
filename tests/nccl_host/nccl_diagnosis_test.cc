// From real NCCL to a finding: a training job with real faults, watched as agents watch it, in real time.
//
// What is ours: computing is sleep, and a host is a folder of segments. What is not: NCCL's host code, its threads, its
// sockets, when its proxies report what to the plugin, and what a stopped or killed process leaves behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "diagnosis/c4d/c4d_master.h"
#include "rank_processes.h"
#include "service/agent/segment_folder.h"
#include "telemetry/job_assembler.h"

namespace fairlead::nccl_host {
namespace {

using diagnosis::c4d::C4dMaster;
using diagnosis::c4d::C4dOptions;
using model::Finding;
using model::RankId;
using model::SubCause;
using model::Syndrome;
using testing::IsEmpty;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookPeriod{500};
constexpr std::chrono::minutes kDiagnosisPatience{3};

// Shorter than an operator's, but long for a busy machine.
C4dOptions QuickOptions() {
  C4dOptions options;
  options.hang.suspect_after = SimDuration(6'000'000'000);
  options.hang.confirm_for = SimDuration(2'000'000'000);
  options.hang.warm_up_factor = 1;
  options.window.length = SimDuration(3'000'000'000);
  options.silence.report_period = SimDuration(500'000'000);
  return options;
}

class NcclJobTest : public testing::Test {
 protected:
  static constexpr int kRanks = 4;

  NcclJobTest()
      : ranks_({.program = "nccl_train_rank",
                .arguments = {"60", "3", "4000000"},
                .num_ranks = kRanks,
                .environment = {{"NCCL_MAX_NCHANNELS", "2"}, {"NCCL_BUFFSIZE", "1048576"}},
                .can_send_slowly = true}) {
    for (int rank = 0; rank < kRanks; ++rank) {
      folders_.emplace_back(service::SegmentFolderOptions{.folder = ranks_.SegmentsOf(rank)});
    }
  }

  // One look of each agent, what the controller makes of them, and the diagnosis; then some time passes.
  void Look() {
    const SimTime now(std::chrono::nanoseconds(Clock::now() - began_).count() + 1);
    std::vector<model::TelemetryRecord> records;
    for (uint32_t host = 0; host < kRanks; ++host) {
      service::FolderLook seen = folders_[host].Look();
      EXPECT_THAT(seen.faults, IsEmpty());
      telemetry::HostLook look{.host = HostId(host), .number = num_looks_, .at = seen.at, .processes = {}};
      for (service::ProcessLook& process : seen.processes) {
        look.processes.push_back({process.state, process.exit, std::move(process.report)});
      }
      for (model::TelemetryRecord& record : assembler_.Add(now, look)) {
        if (const auto* layout = std::get_if<model::JobLayout>(&record)) num_watched_ = layout->ranks.size();
        records.push_back(std::move(record));
      }
    }
    ++num_looks_;
    master_.Handle(now, records);
    std::this_thread::sleep_for(kLookPeriod);
  }
  // Returns: whether it came to be so in time.
  bool LookUntil(const std::function<bool()>& is_so) {
    const auto deadline = Clock::now() + kDiagnosisPatience;
    while (!is_so()) {
      if (Clock::now() > deadline) return false;
      Look();
    }
    return true;
  }
  void LookFor(std::chrono::seconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) Look();
  }
  long Iteration(int rank) const {
    long done = 0;
    std::ifstream(ranks_.File(fmt::format("iteration-{}", rank))) >> done;
    return done;
  }
  // A job that is watched and warm.
  void Start() {
    ASSERT_TRUE(ranks_.WaitForFiles("iteration")) << ranks_.Outputs();
    ASSERT_TRUE(LookUntil([&] { return num_watched_ == kRanks; })) << ranks_.Outputs();
    const long from = Iteration(0);
    ASSERT_TRUE(LookUntil([&] { return Iteration(0) >= from + 30; })) << ranks_.Outputs();
  }
  void Tell(const std::string& name, const std::string& content = "") const {
    std::ofstream(ranks_.File(name)) << content;
  }

  std::vector<Finding> Confirmed() const {
    std::vector<Finding> confirmed;
    for (const Finding& finding : master_.findings()) {
      if (finding.state == model::FindingState::kConfirmed) confirmed.push_back(finding);
    }
    return confirmed;
  }
  // Waits for a finding, and some more for others that should not be.
  Finding OnlyFinding() {
    EXPECT_TRUE(LookUntil([&] { return !Confirmed().empty(); })) << ranks_.Outputs();
    LookFor(std::chrono::seconds(4));
    const std::vector<Finding> confirmed = Confirmed();
    std::string all;
    for (const Finding& finding : confirmed) all += finding.summary + "\n";
    EXPECT_THAT(confirmed, SizeIs(1)) << all;
    return confirmed.empty() ? Finding() : confirmed.front();
  }
  static void ExpectCulprit(const Finding& finding, uint32_t rank) {
    ASSERT_THAT(finding.culprits, SizeIs(1)) << finding.summary;
    EXPECT_EQ(finding.culprits[0].rank, RankId(rank)) << finding.summary;
    EXPECT_EQ(finding.culprits[0].host, HostId(rank)) << finding.summary;
  }

  RankProcesses ranks_;
  C4dMaster master_{QuickOptions()};

 private:
  const Clock::time_point began_ = Clock::now();
  std::vector<service::SegmentFolder> folders_;
  telemetry::JobAssembler assembler_{JobId(1), {.settle_for = SimDuration(1'000'000'000)}};
  uint64_t num_looks_ = 0;
  size_t num_watched_ = 0;
};

TEST_F(NcclJobTest, AHealthyJobAndItsEndHaveNoFindings) {
  ASSERT_NO_FATAL_FAILURE(Start());
  LookFor(std::chrono::seconds(10));
  Tell("stop");
  EXPECT_TRUE(ranks_.LetEnd()) << ranks_.Outputs();
  LookFor(std::chrono::seconds(3));
  EXPECT_THAT(Confirmed(), IsEmpty());
  EXPECT_EQ(master_.picture()->counters().damaged_records, 0u);
  EXPECT_EQ(master_.picture()->counters().contradictions, 0u);
}

TEST_F(NcclJobTest, AStoppedProcessIsNamed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ranks_.Signal(2, SIGSTOP);
  const Finding finding = OnlyFinding();
  ExpectCulprit(finding, 2);
  EXPECT_EQ(finding.sub_cause, SubCause::kProcess) << finding.summary;
}

TEST_F(NcclJobTest, AKilledProcessIsNamed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ranks_.Signal(1, SIGKILL);
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kDead) << finding.summary;
  ExpectCulprit(finding, 1);
}

// Its host thread does something else: the others wait in a collective that it has not begun.
TEST_F(NcclJobTest, ALateRankIsNamed) {
  if (!RunsAll()) GTEST_SKIP() << kWhySkipped;
  ASSERT_NO_FATAL_FAILURE(Start());
  Tell("late-3");
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kNonCommHang) << finding.summary;
  ExpectCulprit(finding, 3);
}

// Its computing takes three times as long: nothing hangs, and the others wait for it in every iteration.
TEST_F(NcclJobTest, ASlowRankIsNamed) {
  if (!RunsAll()) GTEST_SKIP() << kWhySkipped;
  ASSERT_NO_FATAL_FAILURE(Start());
  Tell("slow-1", "3");
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kNonCommSlow) << finding.summary;
  ExpectCulprit(finding, 1);
}

// What a slow NIC does to sockets: bytes leave slowly, and the kernel would take them from NCCL as fast as ever. Those
// who send to the slow rank wait as long as it does. In a ring its other end may be as slow.
TEST_F(NcclJobTest, AConnectionThatSendsSlowlyIsNamed) {
  if (!RunsAll()) GTEST_SKIP() << kWhySkipped;
  ASSERT_NO_FATAL_FAILURE(Start());
  Tell("slow-sends-2", "20e6");
  const Finding finding = OnlyFinding();
  EXPECT_EQ(finding.syndrome, Syndrome::kCommSlow) << finding.summary;
  ASSERT_THAT(finding.culprits, SizeIs(1)) << finding.summary;
  EXPECT_EQ(finding.culprits[0].kind, model::CulpritKind::kConnection) << finding.summary;
  EXPECT_EQ(finding.culprits[0].rank, RankId(2)) << finding.summary;
}

}  // namespace
}  // namespace fairlead::nccl_host
