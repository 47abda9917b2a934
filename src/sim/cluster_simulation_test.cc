#include "sim/cluster_simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "base/random.h"
#include "fluid/dcqcn.h"
#include "topology/clos_fabrics.h"

namespace fairlead::sim {
namespace {

// Each job runs on the GPUs that the test names.
class FixedPlacement final : public scheduling::PlacementPolicy {
 public:
  std::map<JobId, model::Placement> placements;

  std::string_view name() const override { return "fixed"; }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override {
    const model::Placement& placement = placements.at(job.id);
    for (GpuId gpu : placement.gpus) {
      if (!pool.is_free(gpu)) return std::nullopt;
    }
    return placement;
  }
};

// Path 0 for every flow (no path: cut off), and the level that the test gives the job.
class FixedTraffic final : public traffic::TrafficPolicy {
 public:
  std::map<JobId, uint32_t> levels;
  std::map<JobId, traffic::TimeShift> shifts;
  mutable std::map<JobId, model::Iteration> seen;    // the last iteration that each job had in a snapshot
  mutable std::map<JobId, double> least_speed;       // that was reported
  mutable std::map<JobId, double> longest_starving;  // s

  std::string_view name() const override { return "fixed"; }
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot) const override {
    traffic::TrafficPlan plan;
    for (const traffic::JobView& job : snapshot.jobs) {
      traffic::JobPlan job_plan;
      job_plan.id = job.id;
      const auto level = levels.find(job.id);
      if (level != levels.end()) job_plan.level = level->second;
      const auto shift = shifts.find(job.id);
      if (shift != shifts.end()) job_plan.time_shift = shift->second;
      seen[job.id] = *job.iteration;
      least_speed[job.id] = std::min(least_speed.try_emplace(job.id, 1).first->second, job.relative_speed);
      longest_starving[job.id] = std::max(longest_starving[job.id], job.starved_for.value());
      for (const model::FlowDemand& flow : job.iteration->flows) {
        model::Path path;
        if (snapshot.router->CountPaths(flow.source, flow.destination) > 0) {
          snapshot.router->AppendPath(flow.source, flow.destination, 0, &path);
        }
        job_plan.paths.push_back(std::move(path));
      }
      plan.jobs.push_back(std::move(job_plan));
    }
    return plan;
  }
};

// Job i sends from host i under leaf 0 to host i under leaf 1, over one cable of 1e9 byte/s each way.
class OneUplinkTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kHosts = 6;  // per leaf

  OneUplinkTest() {
    topology::ClosSpec spec;
    spec.leaves = 2;
    spec.hosts_per_leaf = kHosts;
    spec.spines = 1;
    spec.leaf_uplink.speed = GigabitsPerSecond(8);
    fabric_ = topology::BuildClos(spec).value();
    options_.goodput = 1;
    options_.random_phase = false;
    options_.end = SimTime::FromSeconds(Seconds(100));
  }

  // `gigabytes` take as many seconds alone.
  void AddJob(double compute_s, double gigabytes, double start_fraction, uint64_t iterations = 0, double arrival_s = 0,
              double latency_s = 0) {
    const JobId id(jobs_.size());
    model::Job job;
    job.id = id;
    job.name = "job" + std::to_string(id.value());
    job.num_gpus = 2;
    job.gpus_per_host = 1;
    job.num_iterations = iterations;
    job.arrival = SimTime::FromSeconds(Seconds(arrival_s));
    placement_.placements[id].gpus = {fabric_.first_gpu(HostId(id.value() % kHosts)),
                                      fabric_.first_gpu(HostId(kHosts + id.value() % kHosts))};
    model::Iteration iteration;
    iteration.compute_time = Seconds(compute_s);
    iteration.work = Flop(1e12);
    if (gigabytes > 0) {
      iteration.phases.push_back({"send", start_fraction, false, 0, 1});
      iteration.phases.back().latency = Seconds(latency_s);
      iteration.flows.push_back(
          {placement_.placements[id].gpus[0], placement_.placements[id].gpus[1], Bytes(gigabytes * 1e9), 0});
      iteration.num_groups = 1;
    }
    iterations_[id] = iteration;
    jobs_.push_back(job);
  }

  RunResult Run() {
    const auto provider = [this](const model::Job& job, const model::Placement&) -> Result<model::Iteration> {
      return iterations_.at(job.id);
    };
    ClusterSimulation simulation(fabric_, placement_, traffic_, {&traffic_}, provider, jobs_, link_events_, options_);
    const std::atomic<bool> never = false;
    RunWatch watch(never, nullptr);
    return simulation.Run(watch);
  }

  LinkId Uplink() const { return fabric_.FindLink("leaf0->spine0"); }

  topology::Fabric fabric_;
  FixedPlacement placement_;
  FixedTraffic traffic_;
  std::map<JobId, model::Iteration> iterations_;
  std::vector<model::Job> jobs_;
  std::vector<LinkEvent> link_events_;
  SimulationOptions options_;
};

// iteration = max(C, s C + t + L): the last bytes arrive L after they have left.
TEST_F(OneUplinkTest, LatencyComesAfterTheBytes) {
  for (const bool fast_forward : {true, false}) {
    options_.fast_forward = fast_forward;
    for (const double start : {0.0, 0.5, 1.0}) {
      for (const double latency : {1e-6, 0.25, 2.0}) {
        jobs_.clear();
        AddJob(1, 0.5, start, 0, 0, latency);
        const RunResult result = Run();
        const double expected = std::max(1.0, start + 0.5 + latency);
        EXPECT_NEAR(result.jobs[0].iteration_s, expected, 1e-8) << start << " " << latency;
        EXPECT_NEAR(result.jobs[0].solo_iteration_s, expected, 1e-8);
        EXPECT_NEAR(result.jobs[0].slowdown, 1, 1e-8);
      }
    }
  }
}

// While the last bytes of one job are on their way the link is free for another.
TEST_F(OneUplinkTest, LatencyTakesNoBandwidth) {
  AddJob(1, 1, 1, 0, 0, 1);  // sends in [1, 2) of each 3 s
  AddJob(1, 1, 1, 0, 1, 1);  // in [2, 3)
  const RunResult apart = Run();
  for (const JobResult& job : apart.jobs) EXPECT_NEAR(job.slowdown, 1, 1e-8);

  jobs_.clear();
  AddJob(1, 1, 1, 0, 0, 1);
  AddJob(1, 1, 1, 0, 0, 1);  // both in [1, 3) of 4 s
  const RunResult together = Run();
  for (const JobResult& job : together.jobs) {
    EXPECT_NEAR(job.iteration_s, 4, 1e-8);
    EXPECT_NEAR(job.slowdown, 4.0 / 3, 1e-3);
    ASSERT_EQ(job.lost_to.size(), 1u);
    EXPECT_EQ(job.lost_to[0].cause, LossCause::kJob);
    EXPECT_NEAR(job.lost_to[0].lost_s, job.lost_s, 1e-6);
  }
}

// Whatever happens to the cluster while bytes are on their way: they arrive in time.
TEST_F(OneUplinkTest, PlansAndFailuresDoNotTouchWhatIsOnItsWay) {
  AddJob(1, 1, 1, 0, 0, 1);
  for (const double at_s : {2.0, 2.25, 2.5, 5.999, 8.75}) AddJob(0.5, 0, 1, 1, at_s);
  for (int i = 0; i < 20; ++i) {
    link_events_.push_back({SimTime::FromSeconds(Seconds(3.0 * i + 2.1)), Uplink(), 0});
    link_events_.push_back({SimTime::FromSeconds(Seconds(3.0 * i + 2.9)), Uplink(), 1});
  }
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].iteration_s, 3, 1e-8);
  EXPECT_NEAR(result.jobs[0].lost_s, 0, 1e-6);
}

TEST_F(OneUplinkTest, OneJobAloneMatchesTheClosedForm) {
  // Law 11: iteration = max(C, s C + t), busy fraction = C / iteration.
  for (double compute : {0.5, 1.0, 2.0}) {
    for (double bytes : {0.0, 0.25, 1.0, 3.0}) {
      for (double start : {0.0, 0.5, 1.0}) {
        jobs_.clear();
        AddJob(compute, bytes, start);
        const RunResult result = Run();
        const double expected = bytes > 0 ? std::max(compute, start * compute + bytes) : compute;
        ASSERT_NEAR(result.jobs[0].iteration_s, expected, 1e-8) << compute << " " << bytes << " " << start;
        EXPECT_NEAR(result.jobs[0].solo_iteration_s, expected, 1e-8);
        EXPECT_NEAR(result.busy, compute / expected, compute / 100) << "an unfinished iteration at the end";
        EXPECT_NEAR(result.jobs[0].slowdown, 1, 1e-8);
      }
    }
  }
}

TEST_F(OneUplinkTest, AJobThatEndsAtTheInstantOfAnotherEventHasEnded) {
  // Two jobs hold each other up beyond the time at which they could have ended, while a third is done when a link breaks.
  AddJob(1, 1, 1, 2);
  AddJob(1, 1, 1, 2);
  AddJob(1, 0, 0, 5);
  link_events_.push_back({SimTime::FromSeconds(Seconds(5)), Uplink(), 0.5});
  const RunResult result = Run();
  EXPECT_TRUE(result.jobs[2].finished);
  EXPECT_EQ(result.jobs[2].end_s, 5);
}

TEST_F(OneUplinkTest, TwoEqualJobsShareOrInterleave) {
  // C = 1 s, t = 1 s, no overlap, both ready together. One level: each gets half, period 1 + 2 = 3 s, utilization 1/3.
  AddJob(1, 1, 1);
  AddJob(1, 1, 1);
  RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].iteration_s, 3, 1e-6);
  EXPECT_NEAR(result.jobs[1].iteration_s, 3, 1e-6);
  EXPECT_NEAR(result.busy, 1.0 / 3, 0.01);
  // Two levels: after one transient they interleave with period 2 s. In 100 s one computes 50 s, the other 49 s.
  traffic_.levels = {{JobId(0), 0}, {JobId(1), 1}};
  result = Run();
  EXPECT_NEAR(result.jobs[0].compute_s, 50, 1e-6);
  EXPECT_NEAR(result.jobs[1].compute_s, 49, 1.0 + 1e-6);
  EXPECT_NEAR(result.jobs[0].iteration_s, 2, 1e-6);
}

TEST_F(OneUplinkTest, HigherLevelIsAsFastAsAlone) {
  AddJob(1, 1.5, 0.5);
  AddJob(0.7, 1.1, 0.5);
  AddJob(0.3, 0.9, 1);
  traffic_.levels = {{JobId(0), 0}, {JobId(1), 1}, {JobId(2), 2}};
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].slowdown, 1, 1e-6);
  for (const JobResult& job : result.jobs) EXPECT_GE(job.slowdown, 1 - 1e-6);
  EXPECT_GT(result.jobs[2].slowdown, 1.5);
}

TEST_F(OneUplinkTest, BytesInAreBytesOut) {
  AddJob(1, 0.8, 0.5);
  AddJob(0.6, 0.7, 1);
  AddJob(0.5, 0.3, 0.2, 40);  // finishes early
  const RunResult result = Run();
  // Each iteration puts the job's bytes once on the uplink; the last one is cut off somewhere.
  double least = 0, most = 0;
  const double gigabytes[] = {0.8, 0.7, 0.3};
  for (size_t j = 0; j < 3; ++j) {
    least += std::floor(result.jobs[j].iterations) * gigabytes[j];
    most += (std::floor(result.jobs[j].iterations) + (result.jobs[j].finished ? 0 : 1)) * gigabytes[j];
  }
  for (const LinkResult& link : result.links) {
    if (link.id != Uplink()) continue;
    const double carried = link.utilization * result.simulated_s;  // capacity 1e9 byte/s
    EXPECT_GE(carried, least - 1e-6);
    EXPECT_LE(carried, most + 1e-6);
    double in_bins = 0;
    for (float u : link.utilization_over_time) in_bins += u * result.timeline.bin_s;
    EXPECT_NEAR(in_bins, carried, 1e-3 * carried);
    EXPECT_LE(link.utilization, 1 + 1e-9);
  }
}

TEST_F(OneUplinkTest, FastForwardAgreesWithExact) {
  Random random(11);
  double jumped = 0;
  for (int round = 0; round < 25; ++round) {
    jobs_.clear();
    link_events_.clear();
    traffic_.levels.clear();
    const auto num_jobs = static_cast<uint32_t>(2 + random.Below(4));
    for (uint32_t j = 0; j < num_jobs; ++j) {
      // Half of the rounds in whole tenths, where periods are short; the others at will.
      const double unit = round % 2 == 0 ? 0.1 : 0.1 * random.Uniform(0.9, 1.1);
      AddJob(unit * static_cast<double>(1 + random.Below(10)), unit * static_cast<double>(1 + random.Below(6)),
             0.5 * static_cast<double>(random.Below(3)), random.Below(2) * (50 + random.Below(100)),
             static_cast<double>(random.Below(3)) * 7);
      if (round % 3 != 0) traffic_.levels[JobId(j)] = j;
    }
    link_events_ = {{SimTime::FromSeconds(Seconds(30)), Uplink(), 0.5},
                    {SimTime::FromSeconds(Seconds(41.5)), Uplink(), 1}};
    options_.random_phase = true;
    options_.phase_seed = static_cast<uint64_t>(round);
    options_.fast_forward = false;
    const RunResult exact = Run();
    options_.fast_forward = true;
    const RunResult fast = Run();
    EXPECT_EQ(exact.fast_forward_fraction, 0);
    jumped += fast.fast_forward_fraction;
    for (size_t j = 0; j < num_jobs; ++j) {
      // Where periods only converge the bound is relative to the time jumped; one iteration of slack for the cut at the
      // end.
      const double slack = 1e-6 + fast.fast_forward_error_bound * exact.jobs[j].iterations + 1e-3;
      EXPECT_NEAR(fast.jobs[j].iterations, exact.jobs[j].iterations, slack + 0.02) << "round " << round << " job " << j;
      EXPECT_EQ(fast.jobs[j].finished, exact.jobs[j].finished);
      EXPECT_NEAR(fast.jobs[j].end_s, exact.jobs[j].end_s, 1e-3 + fast.fast_forward_error_bound * 100);
      EXPECT_NEAR(fast.jobs[j].compute_s, exact.jobs[j].compute_s, 0.05 + fast.fast_forward_error_bound * 100);
    }
    EXPECT_NEAR(fast.busy, exact.busy, 1e-3);
    ASSERT_EQ(fast.links.size(), exact.links.size());
    for (size_t l = 0; l < fast.links.size(); ++l) {
      EXPECT_NEAR(fast.links[l].utilization, exact.links[l].utilization, 1e-3);
    }
  }
  EXPECT_GT(jumped, 3) << "the rounds must be of a kind that can be jumped";
}

TEST_F(OneUplinkTest, FastForwardJumpsWhereJobsRepeat) {
  AddJob(1, 1, 1);
  AddJob(1, 1, 1);
  EXPECT_GT(Run().fast_forward_fraction, 0.8);
  // A job alone repeats after one iteration.
  jobs_.clear();
  AddJob(0.37, 0.21, 0.5);
  EXPECT_GT(Run().fast_forward_fraction, 0.9);
}

TEST_F(OneUplinkTest, SameInputSameHash) {
  AddJob(1, 1, 0.5);
  AddJob(0.9, 0.4, 1, 30);
  options_.random_phase = true;
  const RunResult a = Run();
  const RunResult b = Run();
  EXPECT_EQ(a.event_hash, b.event_hash);
  options_.phase_seed = 2;
  EXPECT_NE(Run().event_hash, a.event_hash);
}

TEST_F(OneUplinkTest, JobsQueueForTheirGpusInOrder) {
  // Jobs 0 and 6 want the same GPUs: 0 runs 10 iterations of 2 s, then 6 runs 5.
  AddJob(1, 1, 1, 10);
  for (int i = 0; i < 5; ++i) AddJob(100, 0, 1);
  AddJob(1, 1, 1, 5, 3);
  const RunResult result = Run();
  EXPECT_TRUE(result.jobs[0].finished);
  EXPECT_NEAR(result.jobs[0].end_s, 20, 1e-6);
  EXPECT_NEAR(result.jobs[6].start_s, 20, 1e-6);
  EXPECT_NEAR(result.jobs[6].end_s, 30, 1e-6);
}

TEST_F(OneUplinkTest, FinishOfOneJobSpeedsUpTheOtherAtThatInstant) {
  // Together: period 3 s (half the link each). Job 0 ends after 4 iterations at 12 s. Job 1, in step with it, then
  // needs 2 s each: 4 iterations until 12 s, 44 more until 100 s.
  AddJob(1, 1, 1, 4);
  AddJob(1, 1, 1);
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].end_s, 12, 1e-6);
  EXPECT_NEAR(result.jobs[1].iterations, 48, 1e-6);
}

TEST_F(OneUplinkTest, FailureStopsAndRepairContinues) {
  // 2 s per iteration. The cable is down from 9.5 s (half of the bytes of the fifth iteration sent) to 19.5 s: ten
  // seconds later.
  AddJob(1, 1, 1, 10);
  link_events_ = {{SimTime::FromSeconds(Seconds(9.5)), Uplink(), 0},
                  {SimTime::FromSeconds(Seconds(19.5)), Uplink(), 1}};
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].end_s, 30, 1e-6);
  // Half speed instead of none: the second half of the bytes takes 1 s more, and each of the next iterations too,
  // until 19.5 s: at 10.5 the fifth ends, then 3 s each: 13.5, 16.5, 19.5 (8 done), and two more of 2 s.
  link_events_[0].health = 0.5;
  EXPECT_NEAR(Run().jobs[0].end_s, 23.5, 1e-6);
}

TEST_F(OneUplinkTest, AFailureBeforeAJobBeginsIsNotAttributed) {
  // Its first iteration begins somewhere in its first 20 s; the failure in the first second takes its path away.
  AddJob(10, 10, 1);
  options_.random_phase = true;
  link_events_ = {{SimTime::FromSeconds(Seconds(0.5)), Uplink(), 0}};
  const RunResult result = Run();
  EXPECT_GT(result.jobs[0].start_s, 2);
  EXPECT_NEAR(result.jobs[0].compute_s, 10, 1e-6);
  EXPECT_TRUE(result.links.empty());
}

TEST_F(OneUplinkTest, FinishOfAnIterationOlderThanAFailureIsNotMissed) {
  // Job 0 has sent 0.9 of its 1e9 bytes when the cable falls to 1 %: the rest takes 10 s, until 11.9 s. An iteration
  // that began now would take 101 s, which says nothing of this one. Job 6 waits for its GPUs; jobs 1 to 5 meet no
  // other job, and job 1 ends at 30 s.
  AddJob(1, 1, 1, 1);
  AddJob(5, 0, 1, 6);
  for (int i = 2; i < 6; ++i) AddJob(100, 0, 1);
  AddJob(1, 0, 1);
  link_events_ = {{SimTime::FromSeconds(Seconds(1.9)), Uplink(), 0.01}};
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].end_s, 11.9, 1e-6);
  EXPECT_NEAR(result.jobs[1].end_s, 30, 1e-6);
  EXPECT_NEAR(result.jobs[6].start_s, 11.9, 1e-6);
}

TEST_F(OneUplinkTest, HardlyAnythingLeftOfALinkIsAsGoodAsNothing) {
  // 1e9 bytes at 1e-6 byte/s would take 1e15 s, more than the clock counts.
  AddJob(1, 1, 1, 3);
  AddJob(1, 0.5, 1, 3);
  link_events_ = {{SimTime::FromSeconds(Seconds(1.5)), Uplink(), 1e-15}};
  const RunResult result = Run();
  EXPECT_FALSE(result.jobs[0].finished);
  EXPECT_EQ(result.jobs[0].iteration_s, 0) << "none completed";
  EXPECT_NEAR(result.simulated_s, 100, 1e-9);
}

TEST_F(OneUplinkTest, NoJobEverRuns) {
  // The first asks for more GPUs than there are, the second arrives after the end.
  AddJob(1, 1, 1);
  jobs_[0].num_gpus = 1000;
  AddJob(1, 1, 1, 0, 101);
  const RunResult result = Run();
  EXPECT_EQ(result.jobs[0].reason, "rejected: job job0 asks for 1000 GPUs; the cluster has 96");
  for (const JobResult& job : result.jobs) {
    EXPECT_LT(job.start_s, 0);
    EXPECT_EQ(job.end_s, 100);
    EXPECT_EQ(job.iterations, 0);
  }
  EXPECT_EQ(result.simulated_s, 100);
  EXPECT_EQ(result.busy, 0);
  EXPECT_TRUE(result.links.empty());
}

TEST_F(OneUplinkTest, AllSeriesEndWithTheRun) {
  // One iteration of 2 s of the 100 s that were asked for: 3 of 120 bins.
  AddJob(1, 1, 1, 1);
  const RunResult result = Run();
  EXPECT_EQ(result.timeline.gpu_busy.size(), 3u);
  ASSERT_FALSE(result.links.empty());
  for (const LinkResult& link : result.links) EXPECT_EQ(link.utilization_over_time.size(), 3u);
}

TEST_F(OneUplinkTest, GpuIntensityIsWorkOverCommunicationTime) {
  // 1e12 FLOP for 0.5e9 bytes over 1e9 byte/s: 2e12 FLOP/s. Without traffic there is none.
  AddJob(1, 0.5, 1);
  AddJob(1, 0, 1);
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[0].gpu_intensity, 2e12, 1);
  EXPECT_EQ(result.jobs[1].gpu_intensity, 0);
}

TEST_F(OneUplinkTest, ContentionNamesVictimCulpritAndLink) {
  AddJob(1, 1, 1);
  AddJob(1, 1, 1);
  AddJob(5, 0, 1);  // never communicates
  const RunResult result = Run();
  EXPECT_EQ(result.jobs[0].bounding_link, "leaf0->spine0");
  EXPECT_EQ(result.jobs[2].bounding_link, "");
  ASSERT_EQ(result.jobs[0].lost_to.size(), 1u);
  const LossResult& first = result.jobs[0].lost_to[0];
  EXPECT_EQ(first.cause, LossCause::kJob);
  EXPECT_EQ(first.culprit, JobId(1));
  EXPECT_EQ(first.link, Uplink());
  EXPECT_EQ(first.link_name, "leaf0->spine0");
  // Of each 3 s period 2 s are communication at half speed: 1 s is lost; 33 periods in 100 s, and the last one's compute.
  EXPECT_NEAR(first.lost_s, 33, 1e-6);
  EXPECT_EQ(result.jobs[2].lost_to.size(), 0u);
  // The cable down is as full, but never the first to be.
  EXPECT_EQ(result.colliding_links, 1u);
}

TEST_F(OneUplinkTest, StopMarksTheResultPartial) {
  // 0.02 s per iteration, two events each: the stop is noticed 4,096 events after it was asked for at the latest.
  AddJob(0.01, 0.01, 1);
  options_.fast_forward = false;
  options_.end = SimTime::FromSeconds(Seconds(1000));
  std::atomic<bool> stop = false;
  const auto provider = [this](const model::Job& job, const model::Placement&) -> Result<model::Iteration> {
    return iterations_.at(job.id);
  };
  ClusterSimulation simulation(fabric_, placement_, traffic_, {&traffic_}, provider, jobs_, {}, options_);
  RunWatch watch(stop, [&](double fraction) { stop = fraction >= 0.05; });
  const RunResult result = simulation.Run(watch);
  EXPECT_TRUE(result.partial);
  EXPECT_GE(result.simulated_s, 50);
  EXPECT_LT(result.simulated_s, 50 + 2 * 4096 * 0.01);
  EXPECT_NEAR(result.jobs[0].iteration_s, 0.02, 1e-6);
  EXPECT_NEAR(result.busy, 0.5, 0.001);
}

TEST_F(OneUplinkTest, MoreCompetitionNeverSpeedsAJobUp) {
  // Law 12 on a single link.
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    jobs_.clear();
    for (int j = 0; j < 4; ++j) AddJob(random.Uniform(0.1, 1), random.Uniform(0.1, 1), random.Uniform(), 0);
    for (const JobResult& job : Run().jobs) EXPECT_GE(job.slowdown, 1 - 1e-6);
  }
}

TEST_F(OneUplinkTest, ScalingSpeedsAndBytesChangesNoTime) {
  AddJob(0.8, 0.9, 0.5);
  AddJob(0.5, 0.6, 1);
  const RunResult before = Run();
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = kHosts;
  spec.spines = 1;
  spec.leaf_uplink.speed = GigabitsPerSecond(4);
  fabric_ = topology::BuildClos(spec).value();
  for (auto& [id, iteration] : iterations_) iteration.flows[0].bytes = iteration.flows[0].bytes * 0.5;
  const RunResult after = Run();
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(after.jobs[j].iteration_s, before.jobs[j].iteration_s, 1e-6);
}

TEST_F(OneUplinkTest, HoldTimeEndsAJobWhereverItIs) {
  // Iterations of 2 s; held from 1 s to 11.5 s: five iterations and three quarters of the compute of the sixth.
  AddJob(1, 1, 1, 0, 1);
  jobs_[0].hold_time = SimDuration::FromSeconds(Seconds(10.75));
  AddJob(1, 1, 1, 0, 50);  // takes over its own GPUs, long after
  const RunResult result = Run();
  EXPECT_TRUE(result.jobs[0].finished);
  EXPECT_EQ(result.jobs[0].end_s, 11.75);
  EXPECT_NEAR(result.jobs[0].compute_s, 5.75, 1e-9);
  EXPECT_NEAR(result.jobs[0].iteration_s, 2, 1e-9);
  EXPECT_NEAR(result.jobs[0].iterations, 5 + 0.75 / 2, 1e-9);
  EXPECT_FALSE(result.jobs[1].finished);
}

TEST_F(OneUplinkTest, AHoldThatEndsWithTheLastIterationEndsTheJobOnce) {
  AddJob(1, 1, 1, 3);
  jobs_[0].hold_time = SimDuration::FromSeconds(Seconds(6));
  const RunResult result = Run();
  EXPECT_TRUE(result.jobs[0].finished);
  EXPECT_EQ(result.jobs[0].end_s, 6);
  EXPECT_EQ(result.jobs[0].iterations, 3);
}

TEST_F(OneUplinkTest, JobsOnOtherLinksAreNotDisturbedByEvents) {
  // Job 0 shares the uplink with job 1; jobs 2 and 3 come and go without traffic. Its iterations must be the same to
  // the nanosecond as without them.
  AddJob(1.1, 0.7, 1);
  AddJob(0.9, 0.8, 1);
  const RunResult quiet = Run();
  for (double at : {10.0, 20.3, 31.7}) AddJob(0.5, 0, 1, 7, at);
  const RunResult busy = Run();
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(busy.jobs[j].iterations, quiet.jobs[j].iterations, 1e-6);
    EXPECT_NEAR(busy.jobs[j].iteration_s, quiet.jobs[j].iteration_s, 1e-9);
  }
  EXPECT_TRUE(busy.jobs[4].finished);
}

TEST_F(OneUplinkTest, TimeShiftsInterleaveTwoHalfDutyJobs) {
  // Each computes 1 s and sends 1 s. In step they share the link: 3 s per iteration. Half a period apart they don't
  // meet.
  AddJob(1, 1, 1);
  AddJob(1, 1, 1);
  EXPECT_NEAR(Run().jobs[0].iteration_s, 3, 0.05);
  const SimDuration period = SimDuration::FromSeconds(Seconds(2));
  const SimDuration tolerance = SimDuration::FromSeconds(Seconds(0.1));
  traffic_.shifts[JobId(0)] = {period, SimDuration(0), tolerance};
  traffic_.shifts[JobId(1)] = {period, SimDuration::FromSeconds(Seconds(1)), tolerance};
  const RunResult result = Run();
  // Job 1 waits for 1 s once.
  EXPECT_NEAR(result.jobs[0].iteration_s, 2, 1e-9);
  EXPECT_NEAR(result.jobs[1].iteration_s, 2 + 1.0 / result.jobs[1].iterations, 0.01);
  EXPECT_NEAR(result.jobs[0].iterations, 50, 0.5);
  EXPECT_NEAR(result.jobs[1].iterations, 49.5, 0.5);
}

TEST_F(OneUplinkTest, ATimeShiftWithAnotherPeriodCostsTheRestOfThePeriod) {
  // Iterations of 2 s on a grid of 2.5 s: 0.5 s late every time, which is more than the tolerance.
  AddJob(1, 1, 1);
  traffic_.shifts[JobId(0)] = {SimDuration::FromSeconds(Seconds(2.5)), SimDuration(0), SimDuration(0)};
  for (const bool fast_forward : {false, true}) {
    options_.fast_forward = fast_forward;
    EXPECT_NEAR(Run().jobs[0].iterations, 40, 1);
    EXPECT_NEAR(Run().jobs[0].compute_s, 40, 1);
  }
}

TEST_F(OneUplinkTest, ExtrapolationOfDriftingJobsIsClose) {
  // Unrelated periods: nothing repeats. An hour, against simulating every iteration.
  AddJob(1.0, 0.5, 1);
  AddJob(0.7130, 0.31, 0.5);
  AddJob(1.618, 0.44, 1);
  options_.end = SimTime::FromSeconds(Seconds(3600));
  options_.fast_forward = false;
  const RunResult exact = Run();
  options_.fast_forward = true;
  options_.extrapolate = true;
  const RunResult fast = Run();
  EXPECT_GT(fast.fast_forward_fraction, 0.5);
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_GT(exact.jobs[j].slowdown, 1.02) << "they must be in each other's way";
    EXPECT_NEAR(fast.jobs[j].iterations / exact.jobs[j].iterations, 1, 0.005);
    EXPECT_NEAR(fast.jobs[j].compute_s / exact.jobs[j].compute_s, 1, 0.005);
    EXPECT_NEAR(fast.jobs[j].iteration_s / exact.jobs[j].iteration_s, 1, 0.005);
  }
  EXPECT_NEAR(fast.links[0].utilization / exact.links[0].utilization, 1, 0.01);
}

TEST_F(OneUplinkTest, JobsAreProfiledOneByOneAndPoliciesSeeWhatWasMeasured) {
  AddJob(1, 0.5, 1);
  AddJob(0.6, 0.25, 0.5);
  options_.controller.profile_jobs = true;
  const RunResult result = Run();
  for (size_t j = 0; j < 2; ++j) {
    const JobResult& job = result.jobs[j];
    ASSERT_TRUE(job.profiling_error.has_value());
    EXPECT_NEAR(job.profiling_error->window_s, 30, 1e-9);
    EXPECT_NEAR(job.profiling_error->iteration_time, 0, 0.02);
    EXPECT_NEAR(job.profiling_error->work, 0, 0.02);
    // A window of 20 iterations holds at most one burst too many or too few.
    EXPECT_NEAR(job.profiling_error->bytes, 0, 0.06);
    // What the policy saw: one block of each.
    const model::Iteration& seen = traffic_.seen.at(JobId(j));
    EXPECT_NEAR(seen.compute_time.value(), j == 0 ? 1 : 0.6, 0.05);
    EXPECT_NEAR(seen.phases.at(0).start_fraction, j == 0 ? 1 : 0.5, 0.1);
  }
  // The first 60 s the jobs had the link one after the other; job 0 first.
  EXPECT_NEAR(result.jobs[0].slowdown, 1, 0.15);
}

TEST_F(OneUplinkTest, AProfiledJobGoesFirstUnderEveryPolicy) {
  // Job 1 comes later and would share the link; for its window of 30 s it runs as if alone: 15 iterations of 2 s.
  AddJob(1, 1, 1);
  AddJob(1, 1, 1, 0, 40);
  options_.controller.profile_jobs = true;
  options_.end = SimTime::FromSeconds(Seconds(70));
  const RunResult result = Run();
  EXPECT_NEAR(result.jobs[1].iterations, 15, 1e-6);
}

TEST_F(OneUplinkTest, WindowsGrowForSlowJobsAndSilentJobsAreKnownAtOnce) {
  AddJob(14, 2, 1);  // 16 s: 30 s show less than two iterations
  AddJob(1, 0, 1);
  options_.controller.profile_jobs = true;
  options_.end = SimTime::FromSeconds(Seconds(400));
  const RunResult result = Run();
  ASSERT_TRUE(result.jobs[0].profiling_error.has_value());
  EXPECT_NEAR(result.jobs[0].profiling_error->window_s, 60, 1e-9);
  EXPECT_FALSE(result.jobs[1].profiling_error.has_value());
  EXPECT_TRUE(traffic_.seen.contains(JobId(1)));
}

TEST_F(OneUplinkTest, SpeedsAreReportedAndStarvingIsCounted) {
  // Job 0 sends all the time and goes first: job 1 gets nothing.
  AddJob(0.1, 1, 0);
  AddJob(1, 1, 1);
  traffic_.levels[JobId(1)] = 1;
  options_.speed_report_interval = SimDuration::FromSeconds(Seconds(5));
  Run();
  EXPECT_GT(traffic_.least_speed[JobId(0)], 0.9);
  EXPECT_EQ(traffic_.longest_starving[JobId(0)], 0);
  EXPECT_LT(traffic_.least_speed[JobId(1)], 0.01);
  // It is fast for the second in which it computes: half an iteration of two. After that it starves up to the last
  // report, at 95 s.
  EXPECT_NEAR(traffic_.longest_starving[JobId(1)], 90, 5.1);
}

TEST_F(OneUplinkTest, ControlChangesAreWrittenDown) {
  // The failure takes both paths away, the repair gives them back: nothing else changes anything.
  AddJob(1, 1, 1);
  AddJob(1, 1, 1);
  link_events_ = {{SimTime::FromSeconds(Seconds(10)), Uplink(), 0}, {SimTime::FromSeconds(Seconds(20)), Uplink(), 1}};
  const RunResult result = Run();
  ASSERT_EQ(result.control.size(), 2u);
  EXPECT_EQ(result.control[0].time_s, 10);
  EXPECT_EQ(result.control[0].path_changes, 2u);
  EXPECT_EQ(result.control[0].links_changed, 1u);
  EXPECT_EQ(result.control[1].path_changes, 2u);
  EXPECT_EQ(result.num_plans, 3u);
}

// Where two flows share the uplink.
fluid::DcqcnOperatingPoint PointOfTwo() { return fluid::SolveDcqcn(1e9, 2); }

class CongestedUplinkTest : public OneUplinkTest {
 protected:
  CongestedUplinkTest() { options_.dcqcn.emplace(); }

  RunResult RunWithout() {
    SimulationOptions with = options_;
    options_.dcqcn.reset();
    RunResult result = Run();
    options_ = with;
    return result;
  }
};

TEST_F(CongestedUplinkTest, JobsThatAlwaysShareTheLinkAreSlowerByItsEfficiency) {
  // Both send all the time: 1.5e9 bytes at half of 1e9 byte/s are 3 s, longer than the compute beside them.
  AddJob(2, 1.5, 0);
  AddJob(2, 1.5, 0);
  const RunResult ideal = RunWithout();
  const RunResult result = Run();
  EXPECT_LT(PointOfTwo().efficiency, 0.9998) << "there must be something to see";
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(ideal.jobs[j].iteration_s, 3, 1e-8);
    EXPECT_NEAR(result.jobs[j].iteration_s, 3 / PointOfTwo().efficiency, 1e-7);
    EXPECT_FALSE(ideal.jobs[j].cnps.has_value());
    ASSERT_TRUE(result.jobs[j].cnps.has_value());
    EXPECT_NEAR(*result.jobs[j].cnps, 100 * PointOfTwo().cnps_per_second_per_flow, 0.01);
  }
  EXPECT_FALSE(ideal.congestion_loss.has_value());
  EXPECT_NEAR(result.congestion_loss.value(), 1 - PointOfTwo().efficiency, 1e-9);
}

const LinkQueueResult& QueueAt(const RunResult& run, LinkId link) {
  const auto found = std::ranges::find(run.links, link, &LinkResult::id);
  EXPECT_TRUE(found != run.links.end() && found->queue);
  return *found->queue;
}

// The queue of two is there as long as both send, and drains at the speed of the link. Nothing stands elsewhere.
TEST_F(CongestedUplinkTest, QueuesAreThoseOfTheOperatingPoint) {
  AddJob(2, 1.5, 0);
  AddJob(2, 1.5, 0);
  const RunResult always = Run();
  const double queue = PointOfTwo().queue.value();
  EXPECT_GT(queue, fluid::DcqcnOptions().min_threshold.value());
  EXPECT_NEAR(QueueAt(always, Uplink()).mean_bytes, queue, 1e-6 * queue);
  EXPECT_NEAR(QueueAt(always, Uplink()).most_bytes, queue, 1e-6 * queue);
  for (const JobResult& job : always.jobs) EXPECT_NEAR(*job.queue_wait_s, queue / 1e9, 1e-6 * queue / 1e9);
  for (const LinkResult& link : always.links) {
    EXPECT_EQ(link.queue->most_bytes > 0, link.id == Uplink()) << link.name;
  }
  for (const LinkResult& link : RunWithout().links) EXPECT_FALSE(link.queue.has_value());

  jobs_.clear();
  AddJob(1, 1, 1, 4);
  AddJob(1, 1, 1);
  const RunResult sometimes = Run();
  const double share = 4 * 2 / PointOfTwo().efficiency / sometimes.simulated_s;
  EXPECT_NEAR(QueueAt(sometimes, Uplink()).mean_bytes, share * queue, 1e-6 * queue);
  EXPECT_NEAR(QueueAt(sometimes, Uplink()).most_bytes, queue, 1e-6 * queue);
  for (const JobResult& job : sometimes.jobs) EXPECT_NEAR(*job.queue_wait_s, queue / 1e9, 1e-6 * queue / 1e9);
}

// Two jobs on each of two levels: what the second level gets of the link, while the first sends nothing, is all of it;
// while it sends, nothing of it is held back there, as it gets nothing.
TEST_F(CongestedUplinkTest, EachLevelHasAQueueOfItsOwn) {
  for (int j = 0; j < 4; ++j) AddJob(1, 0.5, 0.3);
  for (const int j : {2, 3}) traffic_.levels[JobId(static_cast<uint32_t>(j))] = 1;
  const RunResult result = Run();
  const LinkQueueResult& uplink = QueueAt(result, Uplink());
  const double queue = PointOfTwo().queue.value();
  EXPECT_NEAR(uplink.most_bytes, queue, 0.02 * queue);
  EXPECT_GT(uplink.mean_bytes, 0.5 * queue);
  EXPECT_LE(uplink.mean_bytes, uplink.most_bytes);
}

TEST_F(CongestedUplinkTest, CnpsComeOnlyWhileBothSend) {
  // In step: 1 s of compute, then 2 s / E of sending, until job 0 ends. Job 1 is alone from there on.
  AddJob(1, 1, 1, 4);
  AddJob(1, 1, 1);
  const RunResult result = Run();
  const double together_s = 4 * 2 / PointOfTwo().efficiency;
  EXPECT_NEAR(result.jobs[0].end_s, 4 + together_s, 1e-6);
  for (const JobResult& job : result.jobs) {
    EXPECT_NEAR(*job.cnps, together_s * PointOfTwo().cnps_per_second_per_flow, 0.01);
  }
}

TEST_F(CongestedUplinkTest, WithoutCongestionNothingChanges) {
  // One alone, on a cable 25 times slower than its NIC.
  AddJob(1, 1, 1);
  RunResult result = Run();
  EXPECT_EQ(result.event_hash, RunWithout().event_hash);
  EXPECT_EQ(*result.jobs[0].cnps, 0);
  EXPECT_EQ(*result.congestion_loss, 0);
  // Two, each alone on its level: one of them waits.
  AddJob(1, 1, 1);
  traffic_.levels[JobId(1)] = 1;
  result = Run();
  EXPECT_EQ(result.event_hash, RunWithout().event_hash);
  EXPECT_EQ(*result.jobs[1].cnps, 0);
  // Two that would share it, but never send at once.
  traffic_.levels.clear();
  const SimDuration period = SimDuration::FromSeconds(Seconds(2));
  traffic_.shifts[JobId(0)] = {period, SimDuration(0), SimDuration(1)};
  traffic_.shifts[JobId(1)] = {period, SimDuration::FromSeconds(Seconds(1)), SimDuration(1)};
  result = Run();
  EXPECT_EQ(result.event_hash, RunWithout().event_hash);
  EXPECT_EQ(*result.jobs[1].cnps, 0);
  // The first two at once: now something does change.
  traffic_.shifts.clear();
  EXPECT_NE(Run().event_hash, RunWithout().event_hash);
}

TEST_F(CongestedUplinkTest, FastForwardCountsWhatItSkips) {
  Random random(12);
  double jumped = 0, cnps = 0;
  for (int round = 0; round < 12; ++round) {
    jobs_.clear();
    traffic_.levels.clear();
    const auto num_jobs = static_cast<uint32_t>(2 + random.Below(4));
    for (uint32_t j = 0; j < num_jobs; ++j) {
      AddJob(0.1 * static_cast<double>(1 + random.Below(10)), 0.1 * static_cast<double>(1 + random.Below(6)),
             0.5 * static_cast<double>(random.Below(3)), random.Below(2) * (50 + random.Below(100)),
             static_cast<double>(random.Below(3)) * 7);
      if (round % 3 == 0) traffic_.levels[JobId(j)] = j / 2;
    }
    link_events_ = {{SimTime::FromSeconds(Seconds(30)), Uplink(), 0.5},
                    {SimTime::FromSeconds(Seconds(41.5)), Uplink(), 1}};
    options_.fast_forward = false;
    const RunResult exact = Run();
    options_.fast_forward = true;
    const RunResult fast = Run();
    EXPECT_EQ(fast.event_hash, Run().event_hash);
    jumped += fast.fast_forward_fraction;
    for (size_t j = 0; j < num_jobs; ++j) {
      cnps += *exact.jobs[j].cnps;
      // Where periods only converge the bound is relative to the time jumped. Each of some fifty starts and ends of
      // flows in a period may be off by it, and at most 3,500 CNPs come in a second.
      const double slack_s = 1e-3 + fast.fast_forward_error_bound * 100;
      const double cnp_slack_s = 1e-3 + 50 * fast.fast_forward_error_bound * 100;
      EXPECT_NEAR(*fast.jobs[j].cnps, *exact.jobs[j].cnps, 3500 * cnp_slack_s) << "round " << round << " job " << j;
      EXPECT_NEAR(fast.jobs[j].end_s, exact.jobs[j].end_s, slack_s);
      EXPECT_NEAR(fast.jobs[j].compute_s, exact.jobs[j].compute_s, 0.05 + slack_s);
    }
    EXPECT_NEAR(*fast.congestion_loss, *exact.congestion_loss, 1e-6);
    const double queue = QueueAt(exact, Uplink()).mean_bytes;
    EXPECT_NEAR(QueueAt(fast, Uplink()).mean_bytes, queue, 1e-3 * (queue + 1) + 1e6 * fast.fast_forward_error_bound);
    EXPECT_NEAR(QueueAt(fast, Uplink()).most_bytes, QueueAt(exact, Uplink()).most_bytes, 1);
  }
  EXPECT_GT(jumped, 1) << "the rounds must be of a kind that can be jumped";
  EXPECT_GT(cnps, 1e5) << "and congested";
}

TEST_F(CongestedUplinkTest, ExtrapolationCountsWhatItSkipsEachTime) {
  // Jobs that drift. Job 0 can't end before 3,000 s; from there on its domain is advanced from one end of the others,
  // which send nothing, to the next: at 3,005, 3,020 and 3,035 s.
  AddJob(1.0, 0.5, 1, 2000);
  AddJob(0.7130, 0.31, 0.5);
  AddJob(1.618, 0.44, 1);
  for (int i = 0; i < 3; ++i) AddJob(0.5, 0, 1, 6010 + 30 * static_cast<uint64_t>(i));
  options_.end = SimTime::FromSeconds(Seconds(3600));
  options_.fast_forward = false;
  const RunResult exact = Run();
  options_.fast_forward = true;
  options_.extrapolate = true;
  const RunResult fast = Run();
  EXPECT_GT(fast.fast_forward_fraction, 0.5);
  const auto lost_s = [](const RunResult& run, JobId victim) { return run.jobs[victim.index()].lost_s; };
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_GT(*exact.jobs[j].cnps, 1e5);
    EXPECT_NEAR(*fast.jobs[j].cnps / *exact.jobs[j].cnps, 1, 0.03);
    EXPECT_GT(lost_s(exact, JobId(j)), 10);
    EXPECT_NEAR(lost_s(fast, JobId(j)) / lost_s(exact, JobId(j)), 1, 0.1) << j;
  }
  EXPECT_NEAR(*fast.congestion_loss, *exact.congestion_loss, 1e-5);
  EXPECT_NEAR(QueueAt(fast, Uplink()).mean_bytes / QueueAt(exact, Uplink()).mean_bytes, 1, 0.03);
}

}  // namespace
}  // namespace fairlead::sim
