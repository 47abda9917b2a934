#include "execution/expected_finding.h"

#include <gtest/gtest.h>

#include "execution/draw_fault.h"
#include "execution/job_execution.h"
#include "execution/network_pairs.h"

namespace fairlead::execution {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::Finding;
using model::RankId;
using model::Syndrome;

JobShape ShapeWithEverything() {
  JobShape shape;
  shape.tensor_parallel = 2;
  shape.data_parallel = 4;
  shape.pipeline_parallel = 2;
  shape.gpus_per_host = 2;
  shape.hosts_per_leaf = 2;
  shape.checkpoint_every = 5;
  shape.planes = 2;
  return shape;
}

Finding Naming(Syndrome syndrome, std::vector<Culprit> culprits) {
  Finding finding;
  finding.syndrome = syndrome;
  finding.culprits = std::move(culprits);
  return finding;
}

// Every kind can be drawn, does something to the job, and has an answer that is accepted when given back.
TEST(DrawFault, EveryKindActsAndHasAnAnswer) {
  const JobShape shape = ShapeWithEverything();
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  for (size_t kind = 0; kind < kNumFaultKinds; ++kind) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Random random(seed);
      const SimTime begin = SimTime::FromSeconds(Seconds(8 + random.Uniform()));
      const auto fault = DrawFault(static_cast<FaultKind>(kind), shape, layout, begin, random);
      ASSERT_TRUE(fault.has_value()) << Name(static_cast<FaultKind>(kind));
      JobExecution job(shape, {*fault}, NoiseOptions{}, seed);
      job.Run(SimTime::FromSeconds(Seconds(30)), [](SimTime, const model::TelemetryRecord&) {});
      ASSERT_TRUE(job.FirstActed(0).has_value()) << Name(fault->kind);
      EXPECT_GE(*job.FirstActed(0), begin) << Name(fault->kind);
      const ExpectedFinding expected = ExpectFinding(*fault, shape, layout);
      ASSERT_FALSE(expected.syndromes.empty()) << Name(fault->kind);
      EXPECT_TRUE(Accepts(expected, Naming(expected.syndromes.front(), {expected.culprits.front()})));
      EXPECT_TRUE(Accepts(expected, Naming(expected.syndromes.front(), expected.culprits)));
    }
  }
}

TEST(Accepts, RefusesTheWrongSyndromeAndAnybodyElse) {
  const JobShape shape = ShapeWithEverything();
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  Fault fault;
  fault.kind = FaultKind::kSlowGpu;
  fault.rank = RankId(5);
  fault.magnitude = 2;
  const ExpectedFinding expected = ExpectFinding(fault, shape, layout);
  Culprit right;
  right.rank = RankId(5);
  Culprit wrong;
  wrong.rank = RankId(4);
  EXPECT_TRUE(Accepts(expected, Naming(Syndrome::kNonCommSlow, {right})));
  EXPECT_FALSE(Accepts(expected, Naming(Syndrome::kCommSlow, {right})));
  EXPECT_FALSE(Accepts(expected, Naming(Syndrome::kNonCommSlow, {right, wrong})));
  EXPECT_FALSE(Accepts(expected, Naming(Syndrome::kNonCommSlow, {})));
}

TEST(ExpectFinding, SharedSlownessYieldsNoFinding) {
  const JobShape shape = ShapeWithEverything();
  Fault fault;
  fault.kind = FaultKind::kSlowLoader;
  fault.magnitude = 20;
  EXPECT_TRUE(ExpectFinding(fault, shape, MakeLayout(shape, JobId(0))).syndromes.empty());
}

// Two hosts of four GPUs under one leaf of each plane: what passes a plane passes its leaf.
TEST(ExpectFinding, APlaneOfOneLeafCannotBeDistinguishedFromIt) {
  JobShape shape;
  shape.data_parallel = 8;
  shape.gpus_per_host = 4;
  shape.hosts_per_leaf = 2;
  shape.planes = 2;
  const auto expect = [&](FaultKind kind) {
    Fault fault;
    fault.kind = kind;
    fault.leaf = MakeLayout(shape, JobId(0)).ranks[0].leaves[1];
    fault.plane = 1;
    fault.magnitude = 2;
    return ExpectFinding(fault, shape, MakeLayout(shape, JobId(0)));
  };
  for (const FaultKind kind : {FaultKind::kSlowLeaf, FaultKind::kSlowPlane}) {
    const ExpectedFinding expected = expect(kind);
    EXPECT_EQ(expected.culprits.size(), 2u);
    EXPECT_TRUE(expected.is_required) << "the other plane is as fast as ever";
  }
  shape.planes = 1;
  shape.channels = 2;
  Fault fault;
  fault.kind = FaultKind::kSlowLeaf;
  fault.leaf = MakeLayout(shape, JobId(0)).ranks[0].leaves[0];
  fault.magnitude = 2;
  EXPECT_FALSE(ExpectFinding(fault, shape, MakeLayout(shape, JobId(0))).is_required) << "nothing to compare with";
  // Four hosts under two leaves: the ring passes each of them, but not with every message.
  shape.data_parallel = 16;
  const ExpectedFinding of_two = ExpectFinding(fault, shape, MakeLayout(shape, JobId(0)));
  EXPECT_TRUE(of_two.is_required);
  EXPECT_EQ(of_two.culprits.size(), 1u);
}

// Sixteen hosts under two leaves a plane, and a tree for each of two channels: a binary heap of the hosts in ascending
// order on plane 0, so that one end of each edge is among the first eight, and in descending order on plane 1.
TEST(ExpectFinding, EachPlaneIsComparedWithLeavesOfItsOwnTree) {
  JobShape shape;
  shape.data_parallel = 16;
  shape.gpus_per_host = 1;
  shape.hosts_per_leaf = 8;
  shape.planes = 2;
  shape.channels = 2;
  shape.algorithm = DataParallelAlgorithm::kTree;
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  for (uint32_t plane = 0; plane < 2; ++plane) {
    // An edge of the heap and back for each host but its root.
    EXPECT_EQ(NetworkPairsOn(shape, layout, plane).size(), 30u);
    Fault fault;
    fault.kind = FaultKind::kSlowPlane;
    fault.plane = plane;
    fault.magnitude = 2;
    const ExpectedFinding expected = ExpectFinding(fault, shape, layout);
    EXPECT_TRUE(expected.is_required);
    for (const model::RankPlace& place : layout.ranks) {
      for (uint32_t p = 0; p < 2; ++p) {
        const bool has_heap_top = place.host.value() / 8 == plane;
        Culprit leaf;
        leaf.kind = CulpritKind::kLeaf;
        leaf.leaf = place.leaves[p];
        EXPECT_EQ(Accepts(expected, Naming(Syndrome::kCommSlow, {leaf})), p == plane && has_heap_top);
      }
    }
  }
}

// Two hosts on rails, four stages of four replicas: data groups stay inside a host, and between the hosts go the
// activations of ranks 4 to 7 to ranks 8 to 11, GPU 4 to GPU 0 and so on. Through the leaf of rail 0 passes what rank 8
// has.
TEST(ExpectFinding, ALeafOfOneNicCannotBeDistinguishedFromIt) {
  JobShape shape;
  shape.data_parallel = 4;
  shape.pipeline_parallel = 4;
  shape.has_rails = true;
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  Fault fault;
  fault.kind = FaultKind::kSlowLeaf;
  fault.leaf = layout.ranks[8].leaves[0];
  fault.magnitude = 3;
  const ExpectedFinding expected = ExpectFinding(fault, shape, layout);
  Culprit connection;
  connection.kind = model::CulpritKind::kConnection;
  connection.rank = RankId(4);
  connection.peer = RankId(8);
  EXPECT_TRUE(Accepts(expected, Naming(Syndrome::kCommSlow, {connection})));
  connection.rank = RankId(5);
  connection.peer = RankId(9);
  EXPECT_FALSE(Accepts(expected, Naming(Syndrome::kCommSlow, {connection})));
  // Without rails the leaf has all of them.
  shape.has_rails = false;
  EXPECT_FALSE(
      Accepts(ExpectFinding(fault, shape, MakeLayout(shape, JobId(0))), Naming(Syndrome::kCommSlow, {connection})));
}

// Ten times what the slowest of eight writers usually takes, not what one does.
TEST(SureStallSeconds, FollowsTheSlowestWriter) {
  JobShape shape;
  NoiseOptions noise;
  noise.loading_cv = 0;
  EXPECT_DOUBLE_EQ(SureStallSeconds(shape, noise), 10 * 3 + 10 + 5);
  shape.tensor_parallel = 8;
  EXPECT_DOUBLE_EQ(SureStallSeconds(shape, noise), 10 * 3 + 10 + 5);
  // P(all of 8 below q) = 0.95 at z = 2.49: exp(0.198 * 2.49 - 0.0196) = 1.605 with a coefficient of variation of 0.2.
  noise.loading_cv = 0.2;
  EXPECT_NEAR(SureStallSeconds(shape, noise), 10 * 3 * 1.605 + 15, 0.5);
}

TEST(ExpectFinding, ALoaderOfAllCannotBeComparedWithAnother) {
  JobShape shape;
  shape.data_parallel = 8;
  shape.pipeline_parallel = 2;  // the second stage is on another host, but does not feel its loader
  Fault fault;
  fault.kind = FaultKind::kSlowLoader;
  fault.host = HostId(0);
  fault.magnitude = 20;
  EXPECT_FALSE(ExpectFinding(fault, shape, MakeLayout(shape, JobId(0))).is_required);
  shape.gpus_per_host = 4;
  EXPECT_TRUE(ExpectFinding(fault, shape, MakeLayout(shape, JobId(0))).is_required);
}

// One host has no network.
TEST(DrawFault, NothingWhereTheJobHasNoSuchPlace) {
  JobShape shape;
  shape.data_parallel = 8;
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  Random random(1);
  EXPECT_TRUE(NetworkPairs(shape, layout).empty());
  EXPECT_FALSE(DrawFault(FaultKind::kSlowNicSend, shape, layout, SimTime(0), random).has_value());
  EXPECT_FALSE(DrawFault(FaultKind::kCheckpointStall, shape, layout, SimTime(0), random).has_value());
}

TEST(Validate, NamesWhatIsWrongWithAFault) {
  const JobShape shape = ShapeWithEverything();
  Fault fault;
  fault.kind = FaultKind::kSlowGpu;
  fault.rank = RankId(16);
  EXPECT_EQ(Validate(fault, shape).message(), "fault slow_gpu: needs a rank below 16");
  fault.rank = RankId(0);
  fault.magnitude = 0.5;
  EXPECT_EQ(Validate(fault, shape).message(), "fault slow_gpu: its magnitude is a factor of at least 1");
  fault.kind = FaultKind::kConnectionDown;
  fault.peer = RankId(1);
  EXPECT_EQ(Validate(fault, shape).message(), "fault connection_down: needs a peer on another host than its rank");
}

}  // namespace
}  // namespace fairlead::execution
