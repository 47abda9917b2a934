#include "controller/worker_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "topology/clos_fabrics.h"

namespace fairlead::controller {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two racks of four hosts with 8 GPUs each, h0..h3 and h4..h7, and one spine. One ring of each job crosses racks.
class WorkerMigrationTest : public testing::Test {
 protected:
  WorkerMigrationTest() {
    topology::ClosSpec spec;
    spec.leaves = 2;
    spec.hosts_per_leaf = 4;
    spec.spines = 1;
    fabric_ = topology::BuildClos(spec).value();
    pool_.emplace(fabric_);
  }

  model::Placement On(const std::vector<uint32_t>& hosts, uint32_t gpus_per_host = 8) const {
    model::Placement placement;
    for (const uint32_t host : hosts) {
      for (uint32_t g = 0; g < gpus_per_host; ++g) placement.gpus.emplace_back(host * 8 + g);
    }
    return placement;
  }

  // A flat ring over its hosts.
  void AddJob(const std::vector<uint32_t>& hosts, uint32_t gpus_per_host = 8) {
    placements_.push_back(On(hosts, gpus_per_host));
    const std::vector<GpuId>& gpus = placements_.back().gpus;
    model::Iteration& iteration = iterations_.emplace_back();
    for (size_t i = 0; i < gpus.size(); ++i) {
      iteration.flows.push_back({.source = gpus[i], .destination = gpus[(i + 1) % gpus.size()], .bytes = Bytes(1)});
    }
    iteration.phases.push_back({.name = "ring", .num_flows = static_cast<uint32_t>(gpus.size())});
    iteration.num_groups = 1;
    pool_->Take(placements_.back());
    jobs_.push_back({&job_, &placements_.back(), &iteration});
  }

  MigrationPlan Plan(std::string_view policy = "monkey-tree") const {
    return PlanMigration(*pool_, jobs_, 1, *scheduling::CreateDefragmentationPolicy(policy).value());
  }

  topology::Fabric fabric_;
  std::optional<scheduling::GpuPool> pool_;
  model::Job job_;
  std::deque<model::Placement> placements_;
  std::deque<model::Iteration> iterations_;
  std::vector<MovableJob> jobs_;
};

// Of a ring of 16 ranks in two racks one flow leaves each; the two queue pairs of a connection are one, and phases
// follow one another.
TEST_F(WorkerMigrationTest, ARingLeavesEachRackOnce) {
  AddJob({0, 4});
  model::Iteration iteration = iterations_.back();
  const auto num_rings = [&] {
    const std::vector<RingSegment> segments = FindRingSegments(fabric_, placements_.back(), iteration);
    EXPECT_EQ(segments.size(), 1u);
    return segments.front().num_rings;
  };
  EXPECT_EQ(num_rings(), 1u);
  for (size_t f = 0; f < 16; ++f) iteration.flows.push_back(iteration.flows[f]);
  iteration.phases.front().num_flows = 32;
  EXPECT_EQ(num_rings(), 2u);
  for (size_t f = 16; f < 32; ++f) iteration.flows[f].queue_pair = 1;
  EXPECT_EQ(num_rings(), 1u);
  for (size_t f = 16; f < 32; ++f) iteration.flows[f].queue_pair = 0;
  iteration.phases = {{.name = "a", .num_flows = 16}, {.name = "b", .first_flow = 16, .num_flows = 16}};
  EXPECT_EQ(num_rings(), 1u);
}

// Stage 0 has the hosts h0 and h4, stage 1 h1 and h5; each has a ring, and messages between them are no rings. All four
// hosts of the job are in use in both racks, but each stage fits into one.
TEST_F(WorkerMigrationTest, StagesOfAPipelineMoveApart) {
  AddJob({0, 4, 1, 5});
  model::Iteration& iteration = iterations_.back();
  iteration.flows.clear();
  for (const uint32_t stage : {0u, 1u}) {
    const GpuId first(stage * 8), second(32 + stage * 8);
    iteration.flows.push_back({.source = first, .destination = second, .bytes = Bytes(1), .group = stage});
    iteration.flows.push_back({.source = second, .destination = first, .bytes = Bytes(1), .group = stage});
  }
  for (uint32_t i = 0; i < 8; ++i) {
    iteration.flows.push_back({.source = GpuId(i), .destination = GpuId(40 + i), .bytes = Bytes(1), .group = 2 + i});
  }
  iteration.num_groups = 10;
  iteration.phases = {{.name = "all-reduce", .num_flows = 4}, {.name = "send", .first_flow = 4, .num_flows = 8}};
  const std::vector<RingSegment> segments = FindRingSegments(fabric_, placements_.back(), iteration);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_THAT(segments[0].hosts, ElementsAre(0, 1));
  EXPECT_THAT(segments[1].hosts, ElementsAre(2, 3));
  EXPECT_EQ(segments[0].num_rings, 1u);
  pool_->Take(On({2, 3, 6, 7}));
  const MigrationPlan plan = Plan();
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].hosts.size(), 2u);
  const auto rack_of = [&](size_t rank) {
    return fabric_.leaf_group(fabric_.host_of(plan.moves[0].placement.gpus[rank]));
  };
  EXPECT_EQ(rack_of(0), rack_of(8));
  EXPECT_EQ(rack_of(16), rack_of(24));
}

// Without rings the flows of an all-to-all count.
TEST_F(WorkerMigrationTest, AnAllToAllHoldsAJobTogether) {
  AddJob({0, 4});
  model::Iteration& iteration = iterations_.back();
  for (uint32_t f = 0; f < 16; ++f) iteration.flows[f].group = f;
  iteration.num_groups = 16;
  const std::vector<RingSegment> segments = FindRingSegments(fabric_, placements_.back(), iteration);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].num_rings, 1u);
}

TEST_F(WorkerMigrationTest, AJobInOneRackStaysAndHasNoRings) {
  AddJob({0, 1});
  AddJob({2, 4});
  EXPECT_FALSE(Plan().is_needed);
}

// h0 and h4 are A's, h1 and h5 B's, all others busy: one host of each changes racks, and both jobs are whole. Hosts
// that stay come first.
TEST_F(WorkerMigrationTest, TwoTornJobsExchangeHosts) {
  AddJob({0, 4});
  AddJob({1, 5});
  pool_->Take(On({2, 3, 6, 7}));
  for (const std::string_view policy : scheduling::DefragmentationPolicyNames()) {
    MigrationPlan plan = Plan(policy);
    EXPECT_TRUE(plan.is_needed);
    ASSERT_EQ(plan.moves.size(), 2u);
    std::ranges::sort(plan.moves, {}, &JobMove::job);
    const HostId kept = fabric_.host_of(plan.moves[0].placement.gpus.front());
    EXPECT_TRUE(kept == HostId(0) || kept == HostId(4));
    EXPECT_EQ(plan.moves[0].placement, kept == HostId(0) ? On({0, 1}) : On({4, 5}));
    EXPECT_EQ(plan.moves[1].placement, kept == HostId(0) ? On({5, 4}) : On({1, 0}));
    ASSERT_EQ(plan.moves[0].hosts.size(), 1u);
    EXPECT_EQ(plan.moves[0].hosts[0].from, plan.moves[1].hosts[0].to);
    EXPECT_EQ(plan.moves[0].hosts[0].to, plan.moves[1].hosts[0].from);
  }
}

// Ranks of h4 are torn apart by a rank in the other rack; after the move they follow one another.
TEST_F(WorkerMigrationTest, RanksFollowRackByRack) {
  AddJob({0, 4, 1});
  AddJob({5, 2});
  const MigrationPlan plan = Plan();
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].job, 0u);
  EXPECT_EQ(plan.moves[0].placement, On({0, 1, 3}));
  EXPECT_EQ(plan.moves[0].hosts[0].from, HostId(4));
  EXPECT_EQ(plan.moves[0].hosts[0].to, HostId(3));
}

// Its hosts may have other jobs on them.
TEST_F(WorkerMigrationTest, JobsOnPartsOfHostsAreLeftAlone) {
  AddJob({0, 4}, 4);
  AddJob({1, 5}, 4);
  EXPECT_FALSE(Plan().is_needed);
}

// Five hosts are torn whatever happens, and two rings are too many.
TEST_F(WorkerMigrationTest, WithoutAPlanNothingMoves) {
  AddJob({0, 1, 2, 4, 5});
  model::Iteration& iteration = iterations_.back();
  const std::vector<model::FlowDemand> ring = iteration.flows;
  iteration.flows.insert(iteration.flows.end(), ring.begin(), ring.end());
  iteration.phases.front().num_flows *= 2;
  for (const std::string_view policy : scheduling::DefragmentationPolicyNames()) {
    const MigrationPlan plan = Plan(policy);
    EXPECT_TRUE(plan.is_needed);
    EXPECT_THAT(plan.moves, IsEmpty());
  }
}

// One flow for each GPU, to the same place on the other host.
TEST_F(WorkerMigrationTest, WorkersTakeTheirStateAlong) {
  const model::Iteration transfer =
      TransferIteration(fabric_, {{HostId(0), HostId(5)}, {HostId(1), HostId(6)}}, Bytes(7));
  ASSERT_EQ(transfer.flows.size(), 16u);
  EXPECT_EQ(transfer.flows[9].source, GpuId(9));
  EXPECT_EQ(transfer.flows[9].destination, GpuId(49));
  EXPECT_EQ(transfer.flows[9].bytes, Bytes(7));
  EXPECT_EQ(transfer.num_groups, 16u) << "none waits for another";
  ASSERT_EQ(transfer.phases.size(), 1u);
  EXPECT_EQ(transfer.phases[0].num_flows, 16u);
  EXPECT_EQ(transfer.work, Flop());
}

}  // namespace
}  // namespace fairlead::controller
