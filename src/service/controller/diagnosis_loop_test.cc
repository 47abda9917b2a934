#include "service/controller/diagnosis_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "topology/clos_fabrics.h"

namespace fairlead::service {
namespace {

using controller::ProcessesLooked;
using model::Finding;
using model::FindingState;

topology::Fabric SmallFabric() {
  topology::ClosSpec spec;
  spec.hosts_per_leaf = 2;
  spec.spines = 1;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return topology::BuildClos(spec).value();
}

// Finds a mismatch with the first layout, and takes that back with the first report after it.
class FakeDiagnosis final : public diagnosis::JobDiagnosis {
 public:
  std::vector<Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) override {
    std::vector<Finding> said;
    for (const model::TelemetryRecord& record : records) {
      if (std::holds_alternative<model::JobLayout>(record)) {
        finding_.id = model::FindingId(0);
        finding_.syndrome = model::Syndrome::kMismatch;
        finding_.state = FindingState::kConfirmed;
        finding_.culprits.emplace_back().host = HostId(1);
        finding_.summary = "they differ";
        finding_.first_seen = finding_.confirmed = now;
        finding_.cleared = SimTime::Never();
        said.push_back(finding_);
      } else if (std::holds_alternative<model::HostReport>(record) && finding_.state == FindingState::kConfirmed &&
                 ++num_reports_ > 1) {
        finding_.state = FindingState::kCleared;
        finding_.cleared = now;
        said.push_back(finding_);
      }
    }
    return said;
  }
  void NoteAnswer(SimTime, HostId) override {}
  void ExcuseUntil(SimTime) override {}
  std::optional<model::FindingProof> ProofOf(model::FindingId) const override { return std::nullopt; }
  bool HasCrashed(SimTime) const override { return false; }

 private:
  Finding finding_;
  int num_reports_ = 0;
};

ProcessesLooked LookAt(const std::string& job, uint64_t number) {
  ProcessesLooked looked{.host = HostId(0), .look = {.job = job, .number = number, .at = SimTime(1), .processes = {}}};
  telemetry::SeenProcess& process = looked.look.processes.emplace_back();
  process.report.pid = 5;
  process.report.number = number;
  process.report.global_rank = 0;
  process.report.communicators = {{.id = 1, .name = "", .num_ranks = 1, .rank = 0, .is_finalized = false}};
  return looked;
}

// A simulated clock, and all that comes out, in order.
class DiagnosisLoopTest : public testing::Test {
 protected:
  void Start(size_t num_waiting_max = 100) {
    DiagnosisLoopOptions options;
    options.tick = std::chrono::milliseconds(1);
    options.num_waiting_max = num_waiting_max;
    options.clock = [this] { return SimTime(now_ns_); };
    loop_ = std::make_unique<DiagnosisLoop>(
        options, fabric_, [](const std::string&) { return std::make_unique<FakeDiagnosis>(); },
        DiagnosisLoop::Outputs{
            .steer =
                [this](SimTime, std::span<const controller::SteeringEvent> events) {
                  std::string text = "tick";
                  for (const auto& event : events) text += " " + std::to_string(event.index());
                  // A dispatcher asks for names and excuses jobs from here: nothing may be locked.
                  if (const auto id = loop_id_.load(); id != 0 && !events.empty()) loop_->Excuse(JobId(0), SimTime(1));
                  Add(text);
                },
            .judge =
                [this](HostId host, const controller::HostJudged& judged) {
                  Add("host " + std::to_string(host.value()) + " " + std::to_string(judged.findings.size()));
                },
            .listener = [this](SimTime, const controller::Noted& note) { Add(note.subject + ": " + note.text); }});
    loop_id_ = 1;
  }
  void Add(std::string text) {
    const std::lock_guard lock(mutex_);
    num_ticks_ += text.starts_with("tick") ? 1 : 0;
    if (text != "tick") outputs_.push_back(std::move(text));
    changed_.notify_all();
  }
  // Until as many ticks have begun and ended.
  void WaitForTicks(size_t count) {
    std::unique_lock lock(mutex_);
    const size_t target = num_ticks_ + count;
    changed_.wait(lock, [&] { return num_ticks_ >= target; });
  }
  void Pass(int seconds) { now_ns_ += int64_t{seconds} * 1'000'000'000; }
  std::vector<std::string> outputs() {
    const std::lock_guard lock(mutex_);
    return outputs_;
  }

  const topology::Fabric fabric_ = SmallFabric();
  std::atomic<int64_t> now_ns_ = int64_t{1'700'000'000} * 1'000'000'000;
  std::atomic<int> loop_id_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> outputs_;
  size_t num_ticks_ = 0;
  std::unique_ptr<DiagnosisLoop> loop_;
};

TEST_F(DiagnosisLoopTest, LooksBecomeEventsJudgementsAndNotes) {
  Start();
  for (uint64_t number = 0; number < 9; ++number) {
    Pass(1);
    loop_->Put(LookAt("gpt", number));
    // The look is in the next tick at the latest; one more, so that it has ended.
    WaitForTicks(3);
  }
  // Events are numbered as in SteeringEvent: 0 is JobRunning, 3 FindingReported.
  EXPECT_THAT(outputs(),
              testing::ElementsAre("job gpt: runs, and is diagnosed, on 1 host",
                                   "job gpt: mismatch: they differ (finding 1)", "host 1 1", "tick 0 3",
                                   "job gpt: mismatch is over: they differ (finding 1)", "host 1 0", "tick 3"));
  const auto findings = loop_->Ask([](const auto& watch) { return watch.Findings(); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].job, "gpt");
}

TEST_F(DiagnosisLoopTest, TooManyLooksAreDroppedAndCounted) {
  Start(10);
  uint64_t num_put = 0;
  // In a millisecond far more than ten are put.
  while (loop_->counters().looks_dropped == 0) loop_->Put(LookAt("gpt", num_put++));
  WaitForTicks(3);
  const uint64_t taken = loop_->Ask([](const auto& watch) { return watch.counters().looks; });
  EXPECT_EQ(taken + loop_->counters().looks_dropped, num_put);
}

TEST(SteadyUnixTime, IsTheTimeOfDayAndDoesNotRunBackwards) {
  const SimTime first = SteadyUnixTime();
  EXPECT_GE(SteadyUnixTime(), first);
  EXPECT_GT(first, SimTime(1'600'000'000'000'000'000)) << "2020";
}

}  // namespace
}  // namespace fairlead::service
