// Running jobs stay on their paths, and what may move does.
#include "traffic/path_upkeep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/candidate_finder.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/plan_laws.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

constexpr uint64_t kSeeds = 60;

crux::CruxOptions Moving(uint32_t max_moved_jobs) {
  crux::CruxOptions options;
  options.paths.max_moved_jobs = max_moved_jobs;
  return options;
}

// The first jobs of a cluster only.
TrafficSnapshot FirstOf(const ExampleCluster& cluster, size_t num_jobs) {
  TrafficSnapshot snapshot = cluster.Snapshot();
  snapshot.jobs = snapshot.jobs.first(num_jobs);
  return snapshot;
}

// Puts a plan of the first jobs into force; the others have no paths.
void ApplyToFirst(TrafficPlan plan, ExampleCluster* cluster) {
  plan.jobs.resize(cluster->Snapshot().jobs.size());
  cluster->Apply(plan);
}

size_t CountMoved(const TrafficSnapshot& before, const TrafficPlan& after) {
  size_t num_moved = 0;
  for (size_t j = 0; j < after.jobs.size(); ++j) {
    const bool runs = !before.jobs[j].paths.empty();
    num_moved += runs && !std::ranges::equal(before.jobs[j].paths, after.jobs[j].paths) ? 1 : 0;
  }
  return num_moved;
}

// Two leaves of four hosts, two spines. Jobs 0 and 1 send from leaf 0 to leaf 1, each as much as half an uplink takes.
class TwoWaysTest : public testing::Test {
 protected:
  TwoWaysTest() {
    for (uint32_t j = 0; j < 2; ++j) Add(j);
  }

  void Add(uint32_t id, double work = 1e15) {
    cluster_.AddJob(id, work, {{cluster_.gpu(id), cluster_.gpu(4 + id), Bytes(2.5e9), 0}});
  }
  // All jobs over one spine.
  void CrowdOneWay() {
    TrafficPlan crowded;
    for (const JobView& job : cluster_.Snapshot().jobs) {
      JobPlan& mine = crowded.jobs.emplace_back();
      const model::FlowDemand& flow = job.iteration->flows[0];
      cluster_.router().AppendPath(flow.source, flow.destination, 0, &mine.paths.emplace_back());
    }
    cluster_.Apply(crowded);
  }
  TrafficPlan Plan(uint32_t max_moved_jobs) {
    return crux::CruxPolicy(Moving(max_moved_jobs)).Plan(cluster_.Snapshot());
  }

  ExampleCluster cluster_{MakeSmallClos(2, 4, 2)};
};

TEST_F(TwoWaysTest, WithoutMovesJobsStayWhereTheyCollide) {
  CrowdOneWay();
  EXPECT_EQ(CountMoved(cluster_.Snapshot(), Plan(0)), 0u);
}

TEST_F(TwoWaysTest, TheMostIntenseJobIsMovedFirst) {
  Add(2, 9e15);
  CrowdOneWay();
  const TrafficPlan plan = Plan(1);
  EXPECT_EQ(CountMoved(cluster_.Snapshot(), plan), 1u);
  for (const size_t other : {0u, 1u}) EXPECT_FALSE(Meet(cluster_.fabric(), plan.jobs[2], plan.jobs[other]));
}

TEST_F(TwoWaysTest, NobodyIsMovedOnceThatHelpsNobody) {
  Add(2);
  Add(3);
  CrowdOneWay();
  // Four on one way: job 1 leaves job 0, job 2 may as well stay, and job 3 leaves both.
  const TrafficPlan first = Plan(9);
  EXPECT_EQ(CountMoved(cluster_.Snapshot(), first), 2u);
  cluster_.Apply(first);
  EXPECT_EQ(CountMoved(cluster_.Snapshot(), Plan(9)), 0u);
}

TEST_F(TwoWaysTest, ANewcomerTakesTheFreeWayWhateverItsIntensity) {
  Add(2, 9e16);
  for (const uint64_t way : {0u, 1u}) {
    TrafficPlan in_force;
    for (const JobView& job : cluster_.Snapshot().jobs.first(2)) {
      JobPlan& mine = in_force.jobs.emplace_back();
      const model::FlowDemand& flow = job.iteration->flows[0];
      cluster_.router().AppendPath(flow.source, flow.destination, way, &mine.paths.emplace_back());
    }
    ApplyToFirst(in_force, &cluster_);
    const TrafficPlan plan = Plan(0);
    EXPECT_EQ(CountMoved(cluster_.Snapshot(), plan), 0u);
    EXPECT_EQ(plan.jobs[2].priority_rank, 0u);
    for (const size_t other : {0u, 1u}) EXPECT_FALSE(Meet(cluster_.fabric(), plan.jobs[2], plan.jobs[other]));
  }
}

TEST_F(TwoWaysTest, AMoveMustBeWorthTheHysteresis) {
  Add(2);
  CrowdOneWay();
  const auto moved = [&](double hysteresis) {
    crux::CruxOptions options = Moving(3);
    options.paths.hysteresis = hysteresis;
    const TrafficPlan plan = crux::CruxPolicy(options).Plan(cluster_.Snapshot());
    std::vector<bool> result;
    for (size_t j = 0; j < 3; ++j) {
      result.push_back(!std::ranges::equal(cluster_.Snapshot().jobs[j].paths, plan.jobs[j].paths));
    }
    return result;
  };
  // Job 1 would leave a link of two jobs for its own: half as congested. If it stays, job 2 would leave one of three.
  EXPECT_EQ(moved(0.4), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(moved(0.6), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(moved(0.7), (std::vector<bool>{false, false, false}));
}

TEST(PathUpkeepTest, ArrivalsMoveNoMoreJobsThanAllowed) {
  size_t num_moved = 0;
  for (uint64_t seed = 0; seed < 4 * kSeeds; ++seed) {
    const auto max_moved = static_cast<uint32_t>(seed % 3);
    const auto cluster = DrawCluster(seed);
    const size_t num_jobs = cluster->Snapshot().jobs.size();
    const crux::CruxPolicy policy(Moving(max_moved));
    // Those that run at first are on the paths of their hashes.
    ApplyToFirst(HashedPlan(FirstOf(*cluster, num_jobs / 2)), cluster.get());
    for (size_t present = num_jobs / 2; present <= num_jobs; ++present) {
      const TrafficSnapshot snapshot = FirstOf(*cluster, present);
      TrafficPlan plan = policy.Plan(snapshot);
      ExpectLegal(*cluster, snapshot, policy, plan);
      const size_t moved = CountMoved(snapshot, plan);
      EXPECT_LE(moved, max_moved) << "seed " << seed;
      num_moved += moved;
      ApplyToFirst(std::move(plan), cluster.get());
    }
  }
  EXPECT_GT(num_moved, 10u) << "a budget that nobody needs proves nothing";
}

TEST(PathUpkeepTest, DeparturesMoveNobodyWithoutABudget) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const crux::CruxPolicy policy(Moving(0));
    cluster->Apply(policy.Plan(cluster->Snapshot()));
    for (size_t left = cluster->Snapshot().jobs.size(); left-- > 0;) {
      const TrafficSnapshot snapshot = FirstOf(*cluster, left);
      EXPECT_EQ(CountMoved(snapshot, policy.Plan(snapshot)), 0u) << "seed " << seed;
    }
  }
}

TEST(PathUpkeepTest, FailedLinksMoveOnlyTheirFlows) {
  size_t num_changed = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const crux::CruxPolicy policy(Moving(0));
    cluster->Apply(policy.Plan(cluster->Snapshot()));
    BreakAFifth(seed, cluster.get());
    const TrafficSnapshot snapshot = cluster->Snapshot();
    const TrafficPlan plan = policy.Plan(snapshot);
    ExpectLegal(*cluster, snapshot, policy, plan);
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      for (size_t f = 0; f < plan.jobs[j].paths.size(); ++f) {
        const model::Path& before = snapshot.jobs[j].paths[f];
        if (IsHealthy(snapshot, before)) {
          EXPECT_EQ(plan.jobs[j].paths[f], before) << "seed " << seed;
        } else {
          EXPECT_TRUE(IsHealthy(snapshot, plan.jobs[j].paths[f])) << "seed " << seed;
          ++num_changed;
        }
      }
    }
  }
  EXPECT_GT(num_changed, 50u);
}

struct Upkeep {
  std::vector<std::optional<std::vector<model::Path>>> changed;  // [request]
  LazyIdVector<LinkId, LinkLoad> links;
};

// Requests on a real fabric, with paths in force that are hashed, chosen, or none.
class DrawnRequests {
 public:
  explicit DrawnRequests(uint64_t seed) : cluster_(DrawCluster(seed)), finder_(cluster_->router(), 128) {
    Random random(seed + 77);
    const TrafficSnapshot snapshot = cluster_->Snapshot();
    const TrafficPlan hashed = HashedPlan(snapshot);
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      std::vector<model::Path>& paths = in_force_.emplace_back();
      if (random.Below(3) != 0) paths = hashed.jobs[j].paths;
    }
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      requests_.push_back({snapshot.jobs[j].id, random.Uniform(1, 9), Seconds(random.Uniform(0.5, 2)),
                           snapshot.jobs[j].iteration->flows, in_force_[j]});
    }
  }

  Upkeep Keep(const PathSelectionOptions& options) {
    Upkeep result;
    const auto candidates = [&](const model::FlowDemand& flow) { return finder_.Find(flow); };
    result.changed =
        KeepPaths(requests_, MakeLinkTable(cluster_->Snapshot()), candidates, options, nullptr, &result.links);
    return result;
  }
  void BreakLinks(uint64_t seed) {
    BreakAFifth(seed, cluster_.get());
    finder_ = CandidateFinder(cluster_->router(), 128);
  }
  const ExampleCluster& cluster() const { return *cluster_; }
  std::span<const PathRequest> requests() const { return requests_; }
  std::span<const model::Path> PathsAfter(const Upkeep& upkeep, size_t r) const {
    return upkeep.changed[r].has_value() ? std::span<const model::Path>(*upkeep.changed[r])
                                         : requests_[r].paths_in_force;
  }

 private:
  std::unique_ptr<ExampleCluster> cluster_;
  CandidateFinder finder_;
  std::vector<std::vector<model::Path>> in_force_;
  std::vector<PathRequest> requests_;
};

// Loads are what the paths carry, after jobs were taken off links and put back.
TEST(PathUpkeepTest, LoadsAreThoseOfThePaths) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const CongestionMeasure measure :
         {CongestionMeasure::kRate, CongestionMeasure::kBytes, CongestionMeasure::kHigherJobs}) {
      DrawnRequests drawn(seed);
      if (seed % 2 == 1) drawn.BreakLinks(seed);
      const Upkeep upkeep = drawn.Keep({.congestion = measure, .max_moved_jobs = 3});
      std::map<LinkId, double> expected;
      for (size_t r = 0; r < drawn.requests().size(); ++r) {
        const PathRequest& request = drawn.requests()[r];
        const std::span<const model::Path> paths = drawn.PathsAfter(upkeep, r);
        std::set<LinkId> of_job;
        for (size_t f = 0; f < paths.size(); ++f) {
          const double bytes = request.flows[f].bytes.value();
          for (const LinkId link : paths[f]) {
            if (measure == CongestionMeasure::kHigherJobs && !of_job.insert(link).second) continue;
            expected[link] += measure == CongestionMeasure::kRate    ? bytes / request.solo_time.value()
                              : measure == CongestionMeasure::kBytes ? bytes
                                                                     : 1;
          }
        }
      }
      for (uint32_t link = 0; link < drawn.cluster().fabric().num_links(); ++link) {
        const double load = expected[LinkId(link)];
        ASSERT_NEAR(upkeep.links[LinkId(link)].load, load, 1e-3 + 1e-9 * load) << "seed " << seed << " link " << link;
      }
    }
  }
}

// Of the links of a job, if it sent on these paths on top of those before it, and of a millionth of those behind it.
double WorstAtItsTurn(const DrawnRequests& drawn, const Upkeep& upkeep, size_t r, std::span<const model::Path> mine) {
  std::map<LinkId, double> rates;
  const auto add = [&](const PathRequest& request, std::span<const model::Path> paths, double share = 1) {
    for (size_t f = 0; f < paths.size(); ++f) {
      const double rate = share * request.flows[f].bytes.value() / request.solo_time.value();
      for (const LinkId link : paths[f]) rates[link] += rate;
    }
  };
  const PathRequest& request = drawn.requests()[r];
  for (size_t other = 0; other < drawn.requests().size(); ++other) {
    if (other == r) continue;
    const PathRequest& its = drawn.requests()[other];
    if (ChoosesBefore(its.precedence, its.id, request.precedence, request.id)) {
      add(its, drawn.PathsAfter(upkeep, other));
    } else {
      add(its, its.paths_in_force, 1e-6);
    }
  }
  add(request, mine);
  double worst = 0;
  for (const model::Path& path : mine) {
    for (const LinkId link : path) {
      worst = std::max(worst, rates[link] / drawn.cluster().fabric().capacity(link).value());
    }
  }
  return worst;
}

TEST(PathUpkeepTest, AMoveLowersTheWorstLinkOfItsJob) {
  size_t num_moved = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    DrawnRequests drawn(seed);
    const Upkeep upkeep = drawn.Keep({.max_moved_jobs = 3});
    size_t moved = 0;
    for (size_t r = 0; r < drawn.requests().size(); ++r) {
      const PathRequest& request = drawn.requests()[r];
      if (!upkeep.changed[r].has_value() || request.paths_in_force.empty()) continue;
      ++moved;
      EXPECT_LT(WorstAtItsTurn(drawn, upkeep, r, *upkeep.changed[r]),
                WorstAtItsTurn(drawn, upkeep, r, request.paths_in_force));
    }
    EXPECT_LE(moved, 3u);
    num_moved += moved;
  }
  EXPECT_GT(num_moved, 10u);
}

// Twice the bytes on links twice as fast.
TEST(PathUpkeepTest, ScalingCapacitiesAndBytesChangesNothing) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const auto scaled = DrawCluster(seed, 1, 2);
    const crux::CruxPolicy policy(Moving(2));
    for (int i = 0; i < 2; ++i) {
      const TrafficPlan plan = policy.Plan(cluster->Snapshot());
      ExpectSameDecisions(plan, policy.Plan(scaled->Snapshot()));
      cluster->Apply(i == 0 ? HashedPlan(cluster->Snapshot()) : plan);
      scaled->Apply(i == 0 ? HashedPlan(cluster->Snapshot()) : plan);
    }
  }
}

// A memory that has seen all of a history, against one that has seen nothing of it.
TEST(PathUpkeepTest, AMemoryOfTheHistoryChangesNothing) {
  size_t num_kept = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const size_t num_jobs = cluster->Snapshot().jobs.size();
    const crux::CruxPolicy policy(Moving(static_cast<uint32_t>(seed % 3)));
    PlanMemory memory;
    Random random(seed);
    for (int event = 0; event < 8; ++event) {
      const size_t present = random.Below(num_jobs + 1);
      const TrafficSnapshot snapshot = FirstOf(*cluster, present);
      TrafficPlan remembered = policy.PlanAgain(snapshot, &memory);
      ExpectSameDecisions(policy.Plan(snapshot), remembered);
      num_kept += memory.selection().num_jobs() - memory.selection().num_chosen();
      ApplyToFirst(std::move(remembered), cluster.get());
    }
  }
  EXPECT_GT(num_kept, 100u) << "a memory that is never used proves nothing";
}

}  // namespace
}  // namespace fairlead::traffic
