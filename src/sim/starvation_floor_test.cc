// The floor of progress that crux-guard and crux-fair keep (traffic/crux/fairness.h), on simulated clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "sim/cluster_simulation.h"
#include "topology/clos_fabrics.h"
#include "traffic/policy_registry.h"

namespace fairlead::sim {
namespace {

constexpr double kReportS = 10;  // what the policies ask for
constexpr double kGuardS = 20;   // theirs

// Another policy, and what it saw of jobs that run from the first instant to the last: the first plan is made at the
// start, and each further one at a report of speeds.
class Watched final : public traffic::TrafficPolicy {
 public:
  explicit Watched(std::string_view name) : policy_(traffic::CreatePolicy(name, {}).value()) {}

  struct Job {
    std::vector<double> speeds;  // [report], relative to alone
    size_t most_flows = 0;       // on one of its links, at any time
  };
  mutable std::map<JobId, Job> jobs;

  std::string_view name() const override { return policy_->name(); }
  bool NeedsSpeeds() const override { return policy_->NeedsSpeeds(); }
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot) const override {
    traffic::TrafficPlan plan = policy_->Plan(snapshot);
    std::map<LinkId, size_t> flows;
    for (const traffic::JobPlan& job : plan.jobs) {
      for (const model::Path& path : job.paths) {
        for (const LinkId link : path) ++flows[link];
      }
    }
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      Job& job = jobs[plan.jobs[j].id];
      if (!snapshot.jobs[j].paths.empty()) job.speeds.push_back(snapshot.jobs[j].relative_speed);
      for (const model::Path& path : plan.jobs[j].paths) {
        for (const LinkId link : path) job.most_flows = std::max(job.most_flows, flows[link]);
      }
    }
    return plan;
  }

 private:
  const std::unique_ptr<traffic::TrafficPolicy> policy_;
};

class FixedPlacement final : public scheduling::PlacementPolicy {
 public:
  std::map<JobId, model::Placement> placements;

  std::string_view name() const override { return "fixed"; }
  std::optional<model::Placement> Place(const scheduling::GpuPool&, const model::Job& job) const override {
    return placements.at(job.id);
  }
};

// Two leaves with eight hosts of eight GPUs each; ports and the uplinks to the spines have 1e9 byte/s.
class StarvationFloorTest : public testing::Test {
 protected:
  static constexpr uint32_t kHosts = 8;  // per leaf

  explicit StarvationFloorTest(uint32_t spines = 1) {
    topology::ClosSpec spec;
    spec.leaves = 2;
    spec.hosts_per_leaf = kHosts;
    spec.spines = spines;
    spec.leaf_uplink.speed = GigabitsPerSecond(8);
    spec.host.gpus = 8;
    spec.host.sockets = spec.host.pcie_switches = spec.host.nics = 1;
    spec.host.port_speed = GigabitsPerSecond(8);
    fabric_ = topology::BuildClos(spec).value();
    options_.goodput = 1;
    options_.random_phase = false;
    options_.end = SimTime::FromSeconds(Seconds(600));
  }

  // `num_flows` flows of a number of bytes from hosts of leaf 0 to others of leaf 1; each takes `send_s` alone.
  void AddJob(double compute_s, double send_s, double start_fraction, double work, uint32_t first_host,
              uint32_t num_flows = 1) {
    const JobId id(jobs_.size());
    model::Job job;
    job.id = id;
    job.num_gpus = 2 * num_flows;
    job.gpus_per_host = 1;
    model::Iteration iteration;
    iteration.compute_time = Seconds(compute_s);
    iteration.work = Flop(work);
    iteration.phases.push_back({"send", start_fraction, false, 0, num_flows});
    model::Placement& placement = placement_.placements[id];
    for (uint32_t f = 0; f < num_flows; ++f) {
      const auto index = static_cast<uint32_t>(id.value());
      const GpuId from = fabric_.gpu(HostId((first_host + f) % kHosts), index);
      const GpuId to = fabric_.gpu(HostId(kHosts + (first_host + f) % kHosts), index);
      placement.gpus.push_back(from);
      placement.gpus.push_back(to);
      iteration.flows.push_back({from, to, Bytes(send_s * 1e9), f});
    }
    iteration.num_groups = num_flows;
    iterations_[id] = iteration;
    jobs_.push_back(job);
  }

  RunResult RunUnder(const traffic::TrafficPolicy& policy) {
    const auto provider = [this](const model::Job& job, const model::Placement&) -> Result<model::Iteration> {
      return iterations_.at(job.id);
    };
    const auto solo = traffic::CreatePolicy("crux", {}).value();
    ClusterSimulation simulation(fabric_, placement_, policy, {solo.get()}, provider, jobs_, {}, options_);
    const std::atomic<bool> never = false;
    RunWatch watch(never, nullptr);
    return simulation.Run(watch);
  }

  topology::Fabric fabric_;
  FixedPlacement placement_;
  std::map<JobId, model::Iteration> iterations_;
  std::vector<model::Job> jobs_;
  SimulationOptions options_;
};

// Job 0 sends all the time and computes a thousand times more per byte; job 1 gets nothing but what the floor says:
// min(0.1, 1/2) * (600 - 10 - 20) - 2 = 55 s of progress, 27 iterations of 2 s.
TEST_F(StarvationFloorTest, AJobThatNeverMovesUnderCruxKeepsTheFloorUnderTheGuard) {
  AddJob(0.1, 1, 0, 1e15, 0);
  AddJob(1, 1, 1, 1e12, 1);
  EXPECT_LE(RunUnder(*traffic::CreatePolicy("crux", {}).value()).jobs[1].iterations, 1);
  for (const auto name : {"crux-guard", "crux-fair"}) {
    const RunResult result = RunUnder(*traffic::CreatePolicy(name, {}).value());
    EXPECT_GT(result.jobs[1].iterations, 27) << name;
    // Nor much more: it is lifted every fourth interval or so, and makes less than two thirds of its speed then.
    EXPECT_LT(result.jobs[1].iterations, 100) << name;
    // The upper job waits while the lower one sends beside it: a quarter of the time.
    EXPECT_GT(result.jobs[0].iterations, 480) << name;
  }
}

class RandomFloorTest : public StarvationFloorTest, public testing::WithParamInterface<std::string_view> {
 protected:
  RandomFloorTest() : StarvationFloorTest(2) {}
};

// Random jobs on too few uplinks: over every run of reports, every job makes the progress that fairness.h promises.
TEST_P(RandomFloorTest, NoJobEverFallsBelowTheFloor) {
  size_t num_starved = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    jobs_.clear();
    iterations_.clear();
    placement_.placements.clear();
    const uint64_t num_jobs = 2 + random.Below(7);
    for (uint64_t j = 0; j < num_jobs; ++j) {
      AddJob(random.Uniform(0.01, 0.5), random.Uniform(0.05, 0.5), random.Uniform(),
             std::pow(10, random.Uniform(10, 16)), static_cast<uint32_t>(j),
             1 + static_cast<uint32_t>(random.Below(3)));
    }
    const Watched policy(GetParam());
    const RunResult result = RunUnder(policy);
    for (const auto& [id, job] : policy.jobs) {
      ASSERT_GE(job.speeds.size(), 50u);
      const double share = std::min(traffic::kStarvedBelow, 1.0 / static_cast<double>(job.most_flows));
      const double iteration_s = result.jobs[id.index()].solo_iteration_s;
      for (size_t first = 0; first < job.speeds.size(); ++first) {
        double progress_s = 0;
        for (size_t last = first; last < job.speeds.size(); ++last) {
          progress_s += kReportS * job.speeds[last];
          const double span_s = kReportS * static_cast<double>(last - first);
          ASSERT_GE(progress_s, share * (span_s - kGuardS) - iteration_s)
              << "seed " << seed << " job " << id.value() << " reports " << first << " to " << last;
        }
      }
      num_starved += std::any_of(job.speeds.begin(), job.speeds.end(), [](double s) { return s < 0.05; });
    }
  }
  EXPECT_GT(num_starved, 10u) << "there must be somebody to protect";
}

INSTANTIATE_TEST_SUITE_P(All, RandomFloorTest, testing::Values("crux-guard", "crux-fair"), [](const auto& param) {
  return param.param == "crux-fair" ? std::string("fair") : std::string("guard");
});

}  // namespace
}  // namespace fairlead::sim
