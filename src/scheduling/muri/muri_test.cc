#include "scheduling/muri/muri.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "scheduling/placement_example.h"

namespace fairlead::scheduling {
namespace {

model::Job NetworkJob(uint32_t id, uint32_t gpus, double share) {
  model::Job job = JobOf(id, gpus);
  job.network_share = share;
  return job;
}

// Jobs that run, and the GPUs that they leave.
class Cluster {
 public:
  explicit Cluster(const topology::Fabric& fabric) : pool_(fabric) {}

  void Run(const model::Job& job, const model::Placement& placement) {
    pool_.Take(placement);
    jobs_.push_back(job);
    placements_.push_back(placement);
  }

  std::optional<model::Placement> Place(std::string_view policy, const model::Job& job) const {
    std::vector<PlacedJob> running;
    for (size_t i = 0; i < jobs_.size(); ++i) running.push_back({&jobs_[i], &placements_[i]});
    return Create(policy)->PlaceBeside({&pool_, running}, job);
  }

  // The definition, slowly: what the leaf groups of `groups` are short of when the job runs there too.
  double CostOf(const model::Job& job, const std::set<uint32_t>& groups) const {
    double cost = 0;
    for (const uint32_t group : groups) {
      double load = job.network_share;
      for (size_t i = 0; i < jobs_.size(); ++i) {
        const bool crosses = NumHosts(jobs_[i]) > 1 && LeafGroups(pool_.fabric(), placements_[i]).contains(group);
        if (crosses) load += jobs_[i].network_share;
      }
      cost += std::max(0.0, load - 1);
    }
    return cost;
  }

  // The least cost of any set of leaf groups with enough room.
  double LeastCost(const model::Job& job) const {
    std::map<uint32_t, uint32_t> room;
    for (size_t h = 0; h < pool_.fabric().num_hosts(); ++h) {
      if (pool_.num_free(HostId(h)) >= RanksOnHost(job, 0)) ++room[pool_.fabric().leaf_group(HostId(h))];
    }
    const std::vector<std::pair<uint32_t, uint32_t>> groups(room.begin(), room.end());
    double least = -1;
    for (uint32_t choice = 0; choice < (1u << groups.size()); ++choice) {
      std::set<uint32_t> chosen;
      uint32_t hosts = 0;
      for (size_t g = 0; g < groups.size(); ++g) {
        if ((choice >> g & 1) == 0) continue;
        chosen.insert(groups[g].first);
        hosts += groups[g].second;
      }
      if (hosts < NumHosts(job)) continue;
      const double cost = CostOf(job, chosen);
      if (least < 0 || cost < least) least = cost;
    }
    return least;
  }

  const GpuPool& pool() const { return pool_; }

 private:
  GpuPool pool_;
  std::vector<model::Job> jobs_;
  std::vector<model::Placement> placements_;
};

TEST(MuriTest, TwoNetworkHeavyJobsDoNotShareALeafWhileAnotherIsFree) {
  const topology::Fabric fabric = TwoPods();
  Cluster cluster(fabric);
  // One host of leaf 0 and one of leaf 1: each leaf has one host left. Locality would fill them.
  cluster.Run(NetworkJob(0, 16, 0.7), PlaceOnHosts(cluster.pool(), JobOf(0, 16), {HostId(0), HostId(2)}));
  const model::Job heavy = NetworkJob(1, 16, 0.6);
  const auto apart = cluster.Place("muri", heavy);
  EXPECT_EQ(LeafGroups(fabric, *apart).size(), 1u);
  EXPECT_FALSE(LeafGroups(fabric, *apart).contains(0));
  EXPECT_FALSE(LeafGroups(fabric, *apart).contains(1));
  // Three hosts: still next to no other job. A quiet job need not care, and does as locality does.
  for (const uint32_t group : LeafGroups(fabric, *cluster.Place("muri", NetworkJob(2, 24, 0.6)))) EXPECT_GT(group, 1u);
  const model::Job quiet = NetworkJob(3, 24, 0.2);
  EXPECT_EQ(cluster.Place("muri", quiet), cluster.Place("locality-first", quiet));
}

TEST(MuriTest, WithoutKnowledgeItIsLocality) {
  const topology::Fabric fabric = TwoPods();
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    Cluster cluster(fabric);
    for (uint32_t id = 0; id < 6; ++id) {
      const model::Job job = JobOf(id, static_cast<uint32_t>(1 + random.Below(24)));
      if (const auto placement = Create("random", 7)->Place(cluster.pool(), job)) cluster.Run(job, *placement);
    }
    const model::Job job = JobOf(9, static_cast<uint32_t>(1 + random.Below(40)));
    EXPECT_EQ(cluster.Place("muri", job), cluster.Place("locality-first", job));
    EXPECT_EQ(Create("muri")->Place(cluster.pool(), job), Create("locality-first")->Place(cluster.pool(), job));
  }
}

TEST(MuriTest, JobsInsideOneHostCrossNoLeaf) {
  const topology::Fabric fabric = TwoPods();
  Cluster cluster(fabric);
  cluster.Run(NetworkJob(0, 4, 1), PlaceOnHosts(cluster.pool(), JobOf(0, 4, 4), {HostId(0)}));
  const model::Job small = NetworkJob(1, 4, 1);
  EXPECT_EQ(fabric.host_of(cluster.Place("muri", small)->gpus[0]), HostId(0))
      << "started host first, as locality has it";
}

// All subsets of leaf groups: nothing where nothing is possible, else at most twice the least.
TEST(MuriTest, CostIsNearTheLeastOfAllChoices) {
  const topology::Fabric fabric = TwoPods();
  Random random(3);
  int crowded = 0;
  int exact = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Cluster cluster(fabric);
    const uint64_t num_jobs = 1 + random.Below(10);
    for (uint32_t id = 0; id < num_jobs; ++id) {
      model::Job job = NetworkJob(id, static_cast<uint32_t>(2 + random.Below(12)), random.Uniform());
      job.gpus_per_host = 2;  // many hosts each, and room beside
      if (const auto placement = Create("random", trial)->Place(cluster.pool(), job)) cluster.Run(job, *placement);
    }
    model::Job job = NetworkJob(99, static_cast<uint32_t>(4 + random.Below(28)), random.Uniform());
    job.gpus_per_host = 2;
    const double least = cluster.LeastCost(job);
    const auto placement = cluster.Place("muri", job);
    ASSERT_EQ(placement.has_value(), least >= 0);
    if (!placement) continue;
    const double cost = NumHosts(job) == 1 ? least : cluster.CostOf(job, LeafGroups(fabric, *placement));
    ASSERT_LE(cost, 2 * least + 1e-9);
    crowded += least > 0;
    exact += least > 0 && cost <= least + 1e-9;
  }
  EXPECT_GT(crowded, 100);
  EXPECT_GT(exact, crowded / 2);
}

}  // namespace
}  // namespace fairlead::scheduling
