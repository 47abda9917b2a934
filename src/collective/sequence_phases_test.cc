#include "collective/sequence_phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/random.h"

namespace fairlead::collective {
namespace {

using Kind = StepGroup::Kind;

// All collectives move a gigabyte a second.
constexpr BytesPerSecond kRate = GigabytesPerSecond(1);

// `seconds` of compute, then a collective of `gigabytes`, which takes as many seconds.
SequenceStep Step(double seconds, Kind group, double gigabytes, Seconds overlap) {
  SequenceStep step;
  step.compute = Seconds(seconds);
  step.bytes = Bytes(gigabytes * 1e9);
  step.overlap = overlap;
  step.group.kind = group;
  return step;
}
SequenceStep Blocking(double seconds, Kind group, double gigabytes) {
  return Step(seconds, group, gigabytes, Seconds(0));
}
SequenceStep Tail(double seconds, Kind group, double gigabytes) { return Step(seconds, group, gigabytes, kUntilEnd); }
SequenceStep Awaited(double seconds, Kind group, double gigabytes, double overlap) {
  return Step(seconds, group, gigabytes, Seconds(overlap));
}

// How long an iteration takes alone: the clockwork of a model::Iteration.
double SimulateAlone(const SequencePhases& plan) {
  const double total = plan.compute.value();
  double now = 0;        // wall clock
  double position = 0;   // compute clock, running at wall speed except behind blocking phases
  double phase_end = 0;  // of the phase before
  for (const SequencePhase& phase : plan.phases) {
    const double at = phase.start_fraction * total;
    if (at > position) {
      now += at - position;
      position = at;
    }
    // The phase starts when both the clock is there and the one before is over. Compute may have gone on meanwhile, but
    // the next thing that stops it can only be this phase.
    const double begins = std::max(now, phase_end);
    phase_end = begins + (phase.bytes / kRate).value();
    if (!phase.blocks_compute) continue;
    now = phase_end;
  }
  return std::max(now + (total - position), phase_end);
}

double SimulateAlone(const std::vector<SequenceStep>& steps, uint32_t rounds) {
  return SimulateAlone(PlanSequencePhases(steps, rounds));
}

using Sums = std::map<std::tuple<StepGroup, CollectiveKind, bool>, double>;

Sums BytesOfSteps(const std::vector<SequenceStep>& steps) {
  Sums sums;
  for (const SequenceStep& step : steps) {
    if (step.bytes > Bytes(0)) sums[{step.group, step.kind, step.pass == TrainingPass::kForward}] += step.bytes.value();
  }
  return sums;
}

Sums BytesOfPhases(const SequencePhases& plan) {
  Sums sums;
  for (const SequencePhase& phase : plan.phases) {
    sums[{phase.group, phase.kind, phase.pass == TrainingPass::kForward}] += phase.bytes.value();
  }
  return sums;
}

std::vector<SequenceStep> RandomSteps(Random& random, bool with_tails, bool with_awaited) {
  std::vector<SequenceStep> steps(1 + random.Below(60));
  for (SequenceStep& step : steps) {
    step.compute = Seconds(random.Below(3) == 0 ? 0 : random.Uniform());
    step.bytes = Bytes(random.Below(4) == 0 ? 0 : 8e9 * random.Uniform() * random.Uniform());
    step.group.kind = random.Below(2) == 0 ? Kind::kTensor : Kind::kExpert;
    step.pass = static_cast<TrainingPass>(random.Below(3));
    if (with_tails && random.Below(3) == 0) {
      step.overlap = kUntilEnd;
      step.group.kind = Kind::kData;
    } else if (with_awaited && random.Below(3) == 0) {
      step.overlap = Seconds(2 * random.Uniform());
      step.group.kind = Kind::kWorld;
    }
  }
  return steps;
}

TEST(SequencePhasesTest, PutsCollectivesWhereTheirComputeEnds) {
  // Compute 1 + 3 s: the first collective at a quarter, the second at the end.
  const SequencePhases plan =
      PlanSequencePhases({Blocking(1, Kind::kTensor, 5), Tail(3, Kind::kData, 7), Blocking(0, Kind::kTensor, 0)}, 0);
  EXPECT_EQ(plan.compute, Seconds(4));
  ASSERT_EQ(plan.phases.size(), 2u);
  EXPECT_DOUBLE_EQ(plan.phases[0].start_fraction, 0.25);
  EXPECT_TRUE(plan.phases[0].blocks_compute);
  EXPECT_DOUBLE_EQ(plan.phases[1].start_fraction, 1);
  EXPECT_FALSE(plan.phases[1].blocks_compute);
  EXPECT_DOUBLE_EQ(SimulateAlone(plan), 4 + 5 + 7);
}

TEST(SequencePhasesTest, AwaitedOnesHideBehindTheComputeThatTheyHave) {
  // 3 GB beside 2 s of the 4 that follow: one second shows. Beside all 4: nothing waits. 1 GB: hidden.
  EXPECT_NEAR(SimulateAlone({Awaited(1, Kind::kWorld, 3, 2), Blocking(4, Kind::kTensor, 0)}, 0), 5 + 1, 1e-9);
  EXPECT_NEAR(SimulateAlone({Awaited(1, Kind::kWorld, 3, 4), Blocking(4, Kind::kTensor, 0)}, 0), 5, 1e-9);
  EXPECT_NEAR(SimulateAlone({Awaited(1, Kind::kWorld, 1, 2), Blocking(4, Kind::kTensor, 0)}, 0), 5, 1e-5);
}

TEST(SequencePhasesTest, BlockingOnesDoNotWaitForTailsOfOthers) {
  // 10 GB of dp from 1 s on; tp blocks at 2 s for 1 s. Alone: 4 s of compute, 1 s stopped, dp ends 10 s after 2 s.
  const std::vector<SequenceStep> steps = {Tail(1, Kind::kData, 10), Blocking(1, Kind::kTensor, 1),
                                           Blocking(2, Kind::kTensor, 0)};
  const SequencePhases plan = PlanSequencePhases(steps, 0);
  ASSERT_EQ(plan.phases.size(), 2u);
  EXPECT_EQ(plan.phases[0].group.kind, Kind::kTensor);
  EXPECT_DOUBLE_EQ(plan.phases[0].start_fraction, 0.25);
  EXPECT_DOUBLE_EQ(SimulateAlone(plan), 12);
  // In one communicator it has to wait its turn.
  const std::vector<SequenceStep> same = {Tail(1, Kind::kData, 10), Blocking(1, Kind::kData, 1),
                                          Blocking(2, Kind::kTensor, 0)};
  EXPECT_DOUBLE_EQ(SimulateAlone(same, 0), 1 + 10 + 1 + 2);
}

TEST(SequencePhasesTest, TenThousandLayersAreFewPhases) {
  std::vector<SequenceStep> steps;
  for (int layer = 0; layer < 10000; ++layer) {
    steps.push_back(Blocking(1e-3, Kind::kTensor, 1e-4));
    steps.push_back(Blocking(0, Kind::kExpert, 2e-4));
    steps.push_back(Tail(1e-3, Kind::kData, 1e-4));
  }
  const SequencePhases plan = PlanSequencePhases(steps, 16);
  EXPECT_LE(plan.phases.size(), 16u * 3);
  EXPECT_EQ(PlanSequencePhases(steps, 1).phases.size(), 3u);
  // 20 s of compute, 3 s blocked; 1 s of gradients, the last of which begins at the end.
  EXPECT_NEAR(SimulateAlone(plan), 23, 20.0 / 16);
}

TEST(SequencePhasesTest, MergingKeepsBytesComputeAndOrder) {
  Random random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<SequenceStep> steps = RandomSteps(random, trial % 2 == 0, trial % 3 == 0);
    double compute = 0;
    for (const SequenceStep& step : steps) compute += step.compute.value();
    for (const uint32_t rounds : {0u, 1u, 4u, 16u}) {
      const SequencePhases plan = PlanSequencePhases(steps, rounds);
      ASSERT_DOUBLE_EQ(plan.compute.value(), compute);
      const Sums expected = BytesOfSteps(steps);
      const Sums found = BytesOfPhases(plan);
      ASSERT_EQ(expected.size(), found.size());
      for (const auto& [key, bytes] : expected) ASSERT_NEAR(found.at(key), bytes, 1e-9 * bytes);
      double last = 0;
      for (const SequencePhase& phase : plan.phases) {
        ASSERT_GT(phase.bytes, Bytes(0));
        ASSERT_GE(phase.start_fraction, last);
        ASSERT_LE(phase.start_fraction, 1);
        last = phase.start_fraction;
      }
    }
  }
}

// The promises of the header, phase lengths being linear in bytes.
TEST(SequencePhasesTest, MergedBlockingStepsTakeTheSameTimeAlone) {
  Random random(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<SequenceStep> steps = RandomSteps(random, false, false);
    double sum = 0;
    for (const SequenceStep& step : steps) sum += step.compute.value() + (step.bytes / kRate).value();
    for (const uint32_t rounds : {0u, 1u, 3u, 16u}) ASSERT_NEAR(SimulateAlone(steps, rounds), sum, 1e-9 * (1 + sum));
  }
}

TEST(SequencePhasesTest, MergedTailsMoveTheEndByLessThanAWindow) {
  Random random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<SequenceStep> steps = RandomSteps(random, true, false);
    const double unmerged = SimulateAlone(steps, 0);
    for (const uint32_t rounds : {1u, 4u, 16u}) {
      const double window = PlanSequencePhases(steps, 0).compute.value() / rounds;
      ASSERT_NEAR(SimulateAlone(steps, rounds), unmerged, window * (1 + 1e-9)) << rounds << " rounds, trial " << trial;
    }
  }
}

TEST(SequencePhasesTest, MergedAwaitedStepsOfOneShapeTakeTheSameTimeAlone) {
  // 64 layers: compute 1 s, then an exchange beside 0.5 s of the next. 0.75 GB: 0.25 s of each show; the last one
  // has no compute behind it but the 0.5 s that the sequence ends with.
  for (const double gigabytes : {0.25, 0.5, 0.75, 2.0}) {
    std::vector<SequenceStep> steps(64, Awaited(1, Kind::kWorld, gigabytes, 0.5));
    steps.push_back(Blocking(1, Kind::kTensor, 0));
    const double expected = 65 + 64 * std::max(0.0, gigabytes - 0.5);
    for (const uint32_t rounds : {0u, 1u, 4u, 16u}) {
      EXPECT_NEAR(SimulateAlone(steps, rounds), expected, 1e-3) << gigabytes << " GB, " << rounds << " rounds";
    }
  }
}

// A slow twin without phases: blocking ones stop compute, the others queue behind each other beside it.
double SimulateDirectly(const std::vector<SequenceStep>& steps) {
  double stopped = 0;  // by blocking ones so far
  double position = 0;
  double queue_end = 0;
  for (const SequenceStep& step : steps) {
    position += step.compute.value();
    if (step.overlap <= Seconds(0)) {
      stopped += (step.bytes / kRate).value();
    } else {
      queue_end = std::max(queue_end, position + stopped) + (step.bytes / kRate).value();
    }
  }
  return std::max(position + stopped, queue_end);
}

// Unmerged phases let tails go on beside compute only, where in truth they also run beside blocking collectives of
// other links: never faster, and slower by no more than is blocked.
TEST(SequencePhasesTest, PhasesAreNoFasterThanIndependentStreams) {
  Random random(4);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<SequenceStep> steps = RandomSteps(random, true, false);
    double blocked = 0;
    for (const SequenceStep& step : steps) blocked += step.overlap <= Seconds(0) ? (step.bytes / kRate).value() : 0;
    const double direct = SimulateDirectly(steps);
    const double phases = SimulateAlone(steps, 0);
    ASSERT_GE(phases, direct * (1 - 1e-9));
    ASSERT_LE(phases, direct + blocked + 1e-9);
  }
}

TEST(SequencePhasesTest, AwaitedStepsAreNeverFasterMergedThanTheirComputeAndNeverSlowerThanInARow) {
  Random random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<SequenceStep> steps = RandomSteps(random, true, true);
    double compute = 0;
    double sending = 0;
    for (const SequenceStep& step : steps) {
      compute += step.compute.value();
      sending += (step.bytes / kRate).value();
    }
    for (const uint32_t rounds : {0u, 1u, 16u}) {
      const double alone = SimulateAlone(steps, rounds);
      ASSERT_GE(alone, std::max(compute, sending) * (1 - 1e-9));
      ASSERT_LE(alone, (compute + sending) * (1 + 1e-9));
    }
  }
}

TEST(SequencePhasesTest, WithoutComputeEverythingStartsAtOnce) {
  const SequencePhases plan = PlanSequencePhases({Tail(0, Kind::kWorld, 1), Tail(0, Kind::kWorld, 2)}, 16);
  ASSERT_EQ(plan.phases.size(), 1u);
  EXPECT_EQ(plan.phases[0].bytes, Bytes(3e9));
  EXPECT_EQ(plan.phases[0].start_fraction, 0);
  EXPECT_TRUE(PlanSequencePhases({}, 16).phases.empty());
}

}  // namespace
}  // namespace fairlead::collective
