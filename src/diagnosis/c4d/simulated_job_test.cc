// Laws of the master on jobs simulated by src/execution: disturbed telemetry accuses no innocent rank, and two faults
// are both found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "diagnosis/c4d/c4d_master.h"
#include "execution/expected_finding.h"
#include "execution/job_execution.h"

namespace fairlead::diagnosis::c4d {
namespace {

using execution::ExpectedFinding;
using execution::ExpectFinding;
using execution::Fault;
using execution::FaultKind;
using execution::JobShape;
using execution::NoiseOptions;
using model::Finding;
using model::RankId;

constexpr int64_t kSecond = 1'000'000'000;

// Sixteen replicas of two GPUs on eight hosts, two stages; an iteration takes about a second.
JobShape Shape() {
  JobShape shape;
  shape.tensor_parallel = 2;
  shape.data_parallel = 8;
  shape.pipeline_parallel = 2;
  shape.gpus_per_host = 4;
  shape.micro_batches = 4;
  shape.checkpoint_every = 20;
  return shape;
}

Fault On(FaultKind kind, uint32_t rank, int64_t begin_s, double magnitude = 1) {
  Fault fault;
  fault.kind = kind;
  fault.rank = RankId(rank);
  fault.begin = SimTime(begin_s * kSecond);
  fault.magnitude = magnitude;
  return fault;
}

using Change = std::function<void(SimTime, model::TelemetryRecord*)>;

// Args: change: what becomes of a record on its way.
std::vector<Finding> Watch(
    const JobShape& shape, const std::vector<Fault>& faults, const NoiseOptions& noise, uint64_t seed, int64_t end_s,
    const Change& change = [](SimTime, auto*) {}) {
  execution::JobExecution job(shape, faults, noise, seed);
  C4dMaster master({});
  std::vector<model::TelemetryRecord> records;
  for (SimTime now(kSecond); now <= SimTime(end_s * kSecond); now = now + SimDuration(kSecond)) {
    records.clear();
    job.Run(now, [&](SimTime, const model::TelemetryRecord& record) {
      records.push_back(record);
      change(now, &records.back());
    });
    master.Handle(now, records);
  }
  return master.findings();
}

std::vector<Finding> Watch(const std::vector<Fault>& faults, const NoiseOptions& noise, uint64_t seed, int64_t end_s) {
  return Watch(Shape(), faults, noise, seed, end_s);
}

bool Names(const std::vector<Finding>& findings, const Fault& fault) {
  const ExpectedFinding expected = ExpectFinding(fault, Shape(), MakeLayout(Shape(), JobId(0)));
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return Accepts(expected, f); });
}

// Whether every culprit of every finding is one of some fault, whatever the syndrome.
bool NamesOnly(const std::vector<Finding>& findings, const std::vector<Fault>& faults) {
  const model::JobLayout layout = MakeLayout(Shape(), JobId(0));
  return std::all_of(findings.begin(), findings.end(), [&](Finding finding) {
    return finding.culprits.empty() || std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
             const ExpectedFinding expected = ExpectFinding(fault, Shape(), layout);
             finding.syndrome = expected.syndromes.front();
             return Accepts(expected, finding);
           });
  });
}

NoiseOptions Disturbed(Random& random) {
  NoiseOptions noise;
  noise.lost = random.Uniform(0, 0.1);
  noise.duplicated = random.Uniform(0, 0.1);
  noise.delayed = random.Uniform(0, 0.1);
  noise.truncated = random.Uniform(0, 0.05);
  noise.contradicting = random.Uniform(0, 0.05);
  noise.clock_offset_max = SimDuration(static_cast<int64_t>(random.Uniform(0, 50e6)));
  return noise;
}

// Law: whatever happens to the reports of a healthy job on their way, no rank hangs, is dead or slow.
TEST(SimulatedJobTest, DisturbedReportsOfAHealthyJobBlameNoRank) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    const NoiseOptions noise = Disturbed(random);
    for (const Finding& finding : Watch({}, noise, seed, 150)) ADD_FAILURE() << seed << ": " << finding.summary;
  }
}

// Law: of a broken job with disturbed reports, only what is broken is named, or nothing.
TEST(SimulatedJobTest, DisturbedReportsOfABrokenJobBlameNoOtherRank) {
  for (const FaultKind kind : {FaultKind::kProcessFrozen, FaultKind::kGpuHang, FaultKind::kCrossedOrder,
                               FaultKind::kProcessCrash, FaultKind::kWrongSize}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Random random(seed);
      const NoiseOptions noise = Disturbed(random);
      const Fault fault = On(kind, static_cast<uint32_t>(random.Below(Shape().NumRanks())), 40);
      for (const std::vector<Finding> findings = Watch({fault}, noise, seed, 90); const Finding& finding : findings) {
        EXPECT_TRUE(NamesOnly({finding}, {fault}))
            << Name(kind) << " of rank " << fault.rank.value() << ", seed " << seed << ": " << finding.summary;
      }
    }
  }
}

// Law: one lost report in ten hides no hang, since each report repeats the state of its rank.
TEST(SimulatedJobTest, LostReportsHideNoHang) {
  NoiseOptions noise;
  noise.lost = 0.1;
  for (const FaultKind kind : {FaultKind::kProcessFrozen, FaultKind::kGpuHang, FaultKind::kCrossedOrder}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const Fault fault = On(kind, static_cast<uint32_t>(seed * 7 % Shape().NumRanks()), 40);
      const std::vector<Finding> findings = Watch({fault}, noise, seed, 80);
      EXPECT_TRUE(Names(findings, fault)) << Name(kind) << " seed " << seed;
      EXPECT_TRUE(NamesOnly(findings, {fault})) << Name(kind) << " seed " << seed;
    }
  }
}

// One of two stages: what its like elsewhere do tells at once that it is slow, and no window has to end for that. Waits
// for its messages pass along its pipeline, and accuse nobody there.
TEST(SimulatedJobTest, ASlowGpuOfAPipelineIsFoundWithoutWindows) {
  const Fault slow = On(FaultKind::kSlowGpu, 18, 60, 1.8);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Finding> findings = Watch({slow}, {}, seed, 130);
    ASSERT_FALSE(findings.empty()) << seed;
    EXPECT_TRUE(NamesOnly(findings, {slow})) << seed;
    EXPECT_TRUE(Names(findings, slow)) << seed;
    // 20 s of slow blocks, and some seconds until they are told; three windows of 10 s take 40 s and more.
    EXPECT_LE((findings.front().confirmed - slow.begin).seconds().value(), 32) << seed;
  }
}

// Its reports are counted from 0 again, and fewer come until the end of the test than had come before.
TEST(SimulatedJobTest, AnAgentThatIsStartedAgainHidesNoSlowRank) {
  const Fault slow = On(FaultKind::kSlowGpu, 18, 140, 1.8);
  const auto restart = [](SimTime now, model::TelemetryRecord* record) {
    auto* report = std::get_if<model::RankReport>(record);
    if (report == nullptr || report->rank.value() / Shape().gpus_per_host != 4 || now < SimTime(120 * kSecond)) return;
    report->number = static_cast<uint64_t>(now.ns() / kSecond) - 120;
    if (report->number == 0) report->operations_since.reset();
  };
  const std::vector<Finding> findings = Watch(Shape(), {slow}, {}, 1, 220, restart);
  EXPECT_TRUE(Names(findings, slow));
  EXPECT_TRUE(NamesOnly(findings, {slow}));
}

void SetClock(SimDuration by, model::RankReport* report) {
  const auto shift = [&](SimTime* instant) { *instant = *instant + by; };
  shift(&report->at);
  if (report->operations_since.has_value()) shift(&*report->operations_since);
  for (model::OperationRecord& operation : report->operations) {
    shift(&operation.enqueued);
    if (operation.started.has_value()) shift(&*operation.started);
    if (operation.finished.has_value()) shift(&*operation.finished);
  }
  for (model::ConnectionRecord& connection : report->connections) {
    shift(&connection.phase_since);
    shift(&connection.last_progress);
  }
}

// Forwards by an hour, and back again, time after time: nobody has computed for an hour.
TEST(SimulatedJobTest, AClockThatIsSetAccusesNobody) {
  JobShape small;
  small.data_parallel = 3;
  small.gpus_per_host = 1;
  for (const JobShape& shape : {Shape(), small}) {
    const auto set = [&](SimTime now, model::TelemetryRecord* record) {
      auto* report = std::get_if<model::RankReport>(record);
      if (report == nullptr || report->rank.value() / shape.gpus_per_host != 1) return;
      const int64_t second = now.ns() / kSecond;
      if (second >= 12 && second < 150 && second % 4 < 2) SetClock(SimDuration(3600 * kSecond), report);
    };
    for (const Finding& finding : Watch(shape, {}, {}, 1, 200, set)) ADD_FAILURE() << finding.summary;
  }
}

// What the page of a finding shows: iterations before and after, the accused apart from its like; or its transfers.
TEST(SimulatedJobTest, SlownessIsProvedByIterationsAndTransfers) {
  const auto prove = [](const Fault& fault) {
    execution::JobExecution job(Shape(), {fault}, {}, 1);
    C4dMaster master({});
    std::vector<model::TelemetryRecord> records;
    for (SimTime now(kSecond); now <= SimTime(140 * kSecond); now = now + SimDuration(kSecond)) {
      records.clear();
      job.Run(now, [&](SimTime, const model::TelemetryRecord& record) { records.push_back(record); });
      master.Handle(now, records);
    }
    return master.ProofOf(model::FindingId(0)).value_or(model::FindingProof());
  };
  const model::FindingProof slow = prove(On(FaultKind::kSlowGpu, 18, 60, 1.8));
  ASSERT_GE(slow.blocks.size(), 20u);
  const model::IterationBlock& first = slow.blocks.front();
  const model::IterationBlock& last = slow.blocks.back();
  EXPECT_LT(first.at, SimTime(60 * kSecond));
  EXPECT_GT(last.seconds, 1.1 * first.seconds);
  EXPECT_NEAR(*first.own_seconds, *first.like_median_seconds, 0.1 * *first.like_median_seconds);
  EXPECT_GT(*last.own_seconds, 1.3 * *last.like_high_seconds);
  EXPECT_TRUE(slow.delays.empty());

  const model::FindingProof nic = prove(On(FaultKind::kSlowNicSend, 18, 60, 4));
  ASSERT_FALSE(nic.delays.empty());
  EXPECT_EQ(nic.host_of.size(), Shape().NumRanks());
  for (const model::TransferDelay& delay : nic.delays) {
    EXPECT_TRUE(delay.is_accused ? delay.ratio > 2 : delay.ratio < 1.5)
        << delay.source.value() << " to " << delay.destination.value() << ": " << delay.ratio;
  }
  EXPECT_TRUE(std::ranges::any_of(nic.delays, &model::TransferDelay::is_accused));
  EXPECT_EQ(nic.blocks.at(0).own_seconds, std::nullopt) << "no rank is accused of what it does itself";
}

// Two GPUs of different hosts, of different slowness: the others wait for both. The less slow one is hidden at first.
TEST(SimulatedJobTest, TwoSlowRanksAreBothFound) {
  const std::vector<Fault> faults = {On(FaultKind::kSlowGpu, 3, 60, 2), On(FaultKind::kSlowGpu, 12, 60, 1.8)};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Finding> findings = Watch(faults, {}, seed, 210);
    EXPECT_TRUE(Names(findings, faults[0])) << seed;
    EXPECT_TRUE(Names(findings, faults[1])) << seed;
    EXPECT_TRUE(NamesOnly(findings, faults)) << seed;
  }
}

// Iterations open with sends and receives, in which all wait for the late host: at the collectives behind all are
// together. Its four GPUs are a quarter of all ranks, or half of a stage; then only the other half waits.
TEST(SimulatedJobTest, ALateHostIsFoundWhereIterationsOpenWithSendsAndReceives) {
  for (const uint32_t stages : {1u, 2u}) {
    JobShape shape = Shape();
    shape.tensor_parallel = 1;
    shape.pipeline_parallel = stages;
    shape.data_parallel = stages == 1 ? 16 : 8;
    shape.opening_bytes = 20'000'000;
    Fault late = On(FaultKind::kSlowLoader, 5, 60, 12);  // 0.22 s more, half of what an iteration computes
    late.host = HostId(1);
    const ExpectedFinding expected = ExpectFinding(late, shape, MakeLayout(shape, JobId(0)));
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const std::vector<Finding> findings = Watch(shape, {late}, {}, seed, 130);
      ASSERT_EQ(findings.size(), 1u) << stages << " stages, seed " << seed;
      EXPECT_TRUE(Accepts(expected, findings[0])) << findings[0].summary;
      EXPECT_GT(findings[0].confirmed, late.begin);
    }
  }
}

// Two NICs of different hosts.
TEST(SimulatedJobTest, TwoSlowNicsAreBothFound) {
  const std::vector<Fault> faults = {On(FaultKind::kSlowNicSend, 3, 60, 3), On(FaultKind::kSlowNicReceive, 12, 60, 4)};
  const std::vector<Finding> findings = Watch(faults, {}, 1, 150);
  EXPECT_TRUE(Names(findings, faults[0]));
  EXPECT_TRUE(Names(findings, faults[1]));
  EXPECT_TRUE(NamesOnly(findings, faults));
}

// A process that stops for 40 s is found, and cleared; then a GPU of another host becomes slow.
TEST(SimulatedJobTest, ASlowRankAfterAFrozenOneIsFoundToo) {
  Fault frozen = On(FaultKind::kProcessFrozen, 5, 60);
  frozen.end = SimTime(100 * kSecond);
  const Fault slow = On(FaultKind::kSlowGpu, 18, 110, 2);
  const std::vector<Finding> findings = Watch({frozen, slow}, {}, 1, 220);
  EXPECT_TRUE(Names(findings, frozen));
  EXPECT_TRUE(Names(findings, slow));
  EXPECT_TRUE(NamesOnly(findings, {frozen, slow}));
}

// The job is stalled forever once a process has died; the slow GPU was found before.
TEST(SimulatedJobTest, ADeadRankAfterASlowOneIsFoundToo) {
  const Fault slow = On(FaultKind::kSlowGpu, 18, 60, 2);
  const Fault dead = On(FaultKind::kProcessCrash, 5, 130);
  const std::vector<Finding> findings = Watch({slow, dead}, {}, 1, 180);
  EXPECT_TRUE(Names(findings, slow));
  EXPECT_TRUE(Names(findings, dead));
  EXPECT_TRUE(NamesOnly(findings, {slow, dead}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
