#include "sim/domain_recorder.h"

#include <gtest/gtest.h>

#include <optional>

#include "sim/domain_test_data.h"
#include "topology/clos_fabrics.h"

namespace fairlead::sim {
namespace {

topology::Fabric TwoLeafFabric() {
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = 1;
  spec.spines = 1;
  return topology::BuildClos(spec).value();
}

// Two jobs that send 100 bytes over an uplink of 100 bytes/s.
class DomainRecorderTest : public testing::Test {
 protected:
  DomainRecorderTest() : uplink_(fabric_.FindLink("leaf0->spine0")) {
    link_.capacities = IdVector<LinkId, double>(fabric_.num_links(), 100.0);
    link_.sharing.contended_links = {uplink_};
    for (int j = 0; j < 2; ++j) {
      model::Path path;
      path.push_back(uplink_);
      link_.Add(1, 1, 100).paths = {path};
    }
    network_.emplace(link_.Layout(), std::vector<uint32_t>{0, 0}, nullptr);
  }
  DomainRecorder Recorder(RunRecorder* recorder) {
    return DomainRecorder(link_.jobs, link_.time, &*network_, link_.Routes(), recorder);
  }
  void Start(uint32_t j) {
    link_.jobs[j]->is_phase_running = true;
    network_->Start(network_->VariablesOf(j).front(), 100);
  }
  void MoveTo(int64_t local_ns) {
    network_->AdvanceTo(local_ns);
    link_.time.local_ns = local_ns;
  }

  const topology::Fabric fabric_ = TwoLeafFabric();
  const LinkId uplink_;
  OneLink link_{100};
  std::optional<DomainNetwork> network_;
};

TEST_F(DomainRecorderTest, JumpsEndBeforeTheWindowAndBeginAfterIt) {
  RunRecorder run({.from = SimTime(500), .to = SimTime(800)}, fabric_);
  const DomainRecorder recorder = Recorder(&run);
  link_.time = {.local_ns = 40, .offset_ns = 100};
  EXPECT_EQ(recorder.JumpLimitNs(1000), 400) << "500 of simulated time";
  EXPECT_EQ(recorder.JumpLimitNs(300), 300);
  link_.time.local_ns = 450;
  EXPECT_EQ(recorder.JumpLimitNs(1000), 450) << "nowhere";
  link_.time.local_ns = 700;
  EXPECT_EQ(recorder.JumpLimitNs(1000), 1000);
  EXPECT_EQ(Recorder(nullptr).JumpLimitNs(1000), 1000);
}

TEST_F(DomainRecorderTest, LoadsOfBothJobsAreAddedUpWhileTheyLast) {
  RunRecorder run({.from = SimTime(), .to = SimTime(10 * kSecondNs)}, fabric_);
  DomainRecorder recorder = Recorder(&run);
  Start(0);
  recorder.RecordRatesUntil(kSecondNs / 2);
  MoveTo(kSecondNs / 2);
  Start(1);
  recorder.RecordRatesUntil(kSecondNs);
  MoveTo(kSecondNs);
  recorder.EndLoads();
  const RunRecording recording = run.Take();
  ASSERT_FALSE(recording.loads.empty());
  for (const LinkLoad& load : recording.loads) {
    EXPECT_EQ(load.link, uplink_);
    EXPECT_EQ(load.bytes_per_s, load.at < SimTime(kSecondNs) ? 100 : 0) << load.at.ns();
  }
  EXPECT_EQ(recording.loads.back().at, SimTime(kSecondNs));
}

TEST_F(DomainRecorderTest, TheProfilerOfAJobCountsItsBytesAlone) {
  TrafficWatch watch{.from = SimTime(), .bin_ns = kSecondNs / 4, .counts_phase = {1}, .bytes = {}};
  link_.jobs[0]->watch = &watch;
  DomainRecorder recorder = Recorder(nullptr);
  EXPECT_EQ(recorder.JumpLimitNs(1000), 0) << "nothing is skipped meanwhile";
  Start(0);
  recorder.RecordRatesUntil(kSecondNs / 2);
  MoveTo(kSecondNs / 2);
  Start(1);
  recorder.RecordRatesUntil(kSecondNs);
  // 100 bytes/s for half a second, then half of the link.
  ASSERT_GE(watch.bytes.size(), 4u);
  EXPECT_FLOAT_EQ(watch.bytes[0], 25);
  EXPECT_FLOAT_EQ(watch.bytes[1], 25);
  EXPECT_FLOAT_EQ(watch.bytes[2], 12.5);
  EXPECT_FLOAT_EQ(watch.bytes[3], 12.5);
}

}  // namespace
}  // namespace fairlead::sim
