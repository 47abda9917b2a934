#include "traffic/gpu_intensity.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::traffic {
namespace {

// An iteration of 2 s compute and 100 FLOP with phases of given traffic.
struct Example {
  model::Iteration iteration;
  JobTraffic traffic;

  Example() {
    iteration.compute_time = Seconds(2);
    iteration.work = Flop(100);
  }
  void AddPhase(double start_fraction, bool blocks_compute, double time, bool is_private) {
    model::CommunicationPhase phase;
    phase.start_fraction = start_fraction;
    phase.blocks_compute = blocks_compute;
    iteration.phases.push_back(phase);
    traffic.phases.push_back({Seconds(time), is_private});
    if (!is_private) traffic.communication_time += Seconds(time);
  }
  JobProfile Profile() const { return ComputeProfile(JobId(3u), iteration, traffic); }
};

TEST(GpuIntensityTest, OnePhaseIsThePapersModel) {
  Example example;
  example.AddPhase(0.5, false, 1.5, false);
  const JobProfile profile = example.Profile();
  EXPECT_EQ(profile.id, JobId(3u));
  EXPECT_DOUBLE_EQ(profile.intensity.value(), 100 / 1.5);
  EXPECT_DOUBLE_EQ(profile.start_fraction, 0.5);
  EXPECT_DOUBLE_EQ(profile.solo_time().value(), 2.5);  // max(2, .5 * 2 + 1.5)
}

TEST(GpuIntensityTest, HiddenCommunicationCostsNoTime) {
  Example example;
  example.AddPhase(0.25, false, 1, false);
  EXPECT_DOUBLE_EQ(example.Profile().solo_time().value(), 2);  // max(2, .25 * 2 + 1)
}

TEST(GpuIntensityTest, LatencyIsTimeButNoUseOfALink) {
  Example example;
  example.AddPhase(0.5, false, 1.5, false);
  example.iteration.phases[0].latency = Seconds(0.25);
  EXPECT_DOUBLE_EQ(example.Profile().intensity.value(), 100 / 1.5);
  EXPECT_DOUBLE_EQ(example.Profile().solo_time().value(), 2.75);
}

TEST(GpuIntensityTest, TheEarliestPhaseDecidesTheStart) {
  Example example;
  example.AddPhase(0.3, false, 1, false);
  example.AddPhase(0.9, false, 2, false);
  EXPECT_DOUBLE_EQ(example.Profile().start_fraction, 0.3);
}

TEST(GpuIntensityTest, BlockingPhasesInsideAHostAreCompute) {
  Example example;
  example.AddPhase(0.1, true, 0.5, true);   // NVLink, stops compute: C = 2.5
  example.AddPhase(0.1, false, 0.5, true);  // NVLink, beside compute: hidden
  example.AddPhase(0.5, false, 1, false);
  const JobProfile profile = example.Profile();
  EXPECT_DOUBLE_EQ(profile.compute_time.value(), 2.5);
  EXPECT_DOUBLE_EQ(profile.start_fraction, 0.5);
  EXPECT_DOUBLE_EQ(profile.communication_time.value(), 1);
}

TEST(GpuIntensityTest, PipelineBubblesAreTimeButNoWork) {
  Example example;
  example.iteration.bubble_time = Seconds(0.5);
  example.AddPhase(1, false, 1, false);
  EXPECT_DOUBLE_EQ(example.Profile().solo_time().value(), 3.5);
  EXPECT_DOUBLE_EQ(example.Profile().intensity.value(), 100);
}

TEST(GpuIntensityTest, BlockingCommunicationDoesNotOverlap) {
  Example example;
  example.AddPhase(0.25, true, 1, false);
  EXPECT_DOUBLE_EQ(example.Profile().start_fraction, 1);
  EXPECT_DOUBLE_EQ(example.Profile().solo_time().value(), 3);
  // With as much overlapping communication from .5 on: s = (1 * 1 + .5 * 1) / 2.
  example.AddPhase(0.5, false, 1, false);
  EXPECT_DOUBLE_EQ(example.Profile().start_fraction, 0.75);
}

TEST(GpuIntensityTest, AJobThatStaysOnNvlinkIsInfinitelyIntense) {
  Example example;
  example.AddPhase(1, false, 5, true);
  EXPECT_FALSE(example.Profile().communicates());
  EXPECT_TRUE(std::isinf(example.Profile().intensity.value()));
}

}  // namespace
}  // namespace fairlead::traffic
