// Nobody waits forever: clusters to which jobs come without end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/allocation_example.h"

namespace fairlead::scheduling::aiturbo {
namespace {

constexpr double kRoundS = 120;

double SecondsBetween(SimTime from, SimTime to) { return (to - from).seconds().value(); }

// A cluster of 16 GPUs whose jobs end and come as time passes.
class EndlessCluster {
 public:
  EndlessCluster(const AiturboOptions& options, uint64_t seed)
      : policy_(CreateAiturbo(options).value()), random_(seed), example_(4, 4) {}

  // A job that runs on `gpus` GPUs or not at all. Args: work: seconds that it takes there; known: its length is.
  JobId AddRigid(uint32_t gpus, double work, bool known) {
    AllocationJob& job = example_.AddJobWith({{gpus, 0, 1.0}}, work);
    return Enter(&job, work, known);
  }

  // Jobs of 1 to 8 GPUs, rigid and elastic, of known, unknown and wrongly known length: together `load` clusters.
  void Arrive(double load) {
    double work = load * 16 * kRoundS;  // GPU-seconds
    while (work > 0) {
      const auto gpus = static_cast<uint32_t>(1 + random_.Below(8));
      const double seconds = random_.Uniform(60, 3000);
      work -= gpus * seconds;
      if (work < 0 && random_.Uniform() > (work + gpus * seconds) / (gpus * seconds)) break;
      const bool known = random_.Uniform() < 0.5;
      if (random_.Uniform() < 0.5) {
        AddRigid(gpus, seconds, known);
      } else {
        AllocationJob& job = example_.AddJob(gpus, random_.Uniform(), seconds);
        Enter(&job, seconds, known);
        // Wrong by up to ten times, either way.
        job.remaining_iterations *= std::pow(10, random_.Uniform(-1, 1));
      }
    }
  }

  void Round() {
    const AllocationPlan plan = policy_->Decide(example_.snapshot).value();
    ExpectLegal(example_.snapshot, plan);
    Note(plan);
    example_.Apply(plan, kRoundS);
    Train();
  }

  SimTime now() const { return example_.snapshot.now; }
  bool HasStarted(JobId job) const { return first_start_.contains(job); }
  double longest_wait_s() const { return longest_wait_s_; }
  const std::map<JobId, uint32_t>& voluntary_restarts() const { return restarts_; }

 private:
  JobId Enter(AllocationJob* job, double work, bool known) {
    job->id = JobId(next_id_++);
    job->submission = example_.snapshot.now;
    job->waiting_since = job->submission;
    job->requested = static_cast<uint32_t>(job->sizes.size() - 1);
    job->is_predictable = known;
    if (!known) job->remaining_iterations = 0;
    left_[job->id] = work;
    return job->id;
  }

  void Note(const AllocationPlan& plan) {
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      const AllocationJob& job = example_.snapshot.jobs[j];
      restarts_[job.id] = job.num_restarts;
      if (plan.jobs[j].nodes.empty()) {
        longest_wait_s_ = std::max(longest_wait_s_, SecondsBetween(job.waiting_since, example_.snapshot.now));
      } else {
        first_start_.try_emplace(job.id, example_.snapshot.now);
      }
    }
  }

  // Jobs train, and those with nothing left end.
  void Train() {
    for (AllocationJob& job : example_.snapshot.jobs) {
      const auto size = FindCurrentSize(job);
      if (size) left_[job.id] -= kRoundS / job.sizes[*size].iteration_s;
    }
    std::erase_if(example_.snapshot.jobs, [&](const AllocationJob& job) { return left_[job.id] <= 0; });
  }

  std::unique_ptr<AllocationPolicy> policy_;
  Random random_;
  ExampleSnapshot example_;
  std::map<JobId, double> left_;  // seconds at iterations of one second
  std::map<JobId, SimTime> first_start_;
  std::map<JobId, uint32_t> restarts_;
  double longest_wait_s_ = 0;
  uint64_t next_id_ = 0;
};

// A rigid job of all GPUs among endless others, at loads from a fifth to twice the cluster's: it starts soon after it
// is aged, as each of the protected jobs in front of it goes within min_run.
TEST(NoStarvationTest, AWholeClusterJobStartsHoweverManyJobsCome) {
  AiturboOptions options;
  options.max_wait_s = 3600;
  options.min_run_s = 600;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (const bool known : {false, true}) {
      EndlessCluster cluster(options, seed);
      const double load = 0.2 + 0.15 * static_cast<double>(seed);
      for (int i = 0; i < 30; ++i) {
        cluster.Arrive(load);
        cluster.Round();
      }
      const SimTime came = cluster.now();
      const JobId whole = cluster.AddRigid(16, 5000, known);
      // Others that are aged before it go first, each for min_run at least: give them their time, too.
      double bound_s = options.max_wait_s + options.min_run_s + 4 * kRoundS;
      bound_s *= load > 1 ? 10 : 2;
      while (!cluster.HasStarted(whole) && SecondsBetween(came, cluster.now()) < bound_s) {
        cluster.Arrive(load);
        cluster.Round();
      }
      EXPECT_TRUE(cluster.HasStarted(whole)) << "seed " << seed << ", load " << load << ", known " << known;
    }
  }
}

// Below capacity no job of any kind waits much longer than max_wait, from its submission or from a stop.
TEST(NoStarvationTest, WaitsEndForJobsOfEveryKind) {
  AiturboOptions options;
  options.max_wait_s = 3600;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    EndlessCluster cluster(options, seed);
    for (int i = 0; i < 500; ++i) {
      cluster.Arrive(0.8);
      cluster.Round();
    }
    // A stopped job may wait for twice of what it has run, up to 2 x 3000 s x 8 GPUs on one.
    EXPECT_LT(cluster.longest_wait_s(), 4 * options.max_wait_s) << "seed " << seed;
  }
}

// What a job that is aged can't use yet others may, but they don't keep it.
TEST(NoStarvationTest, BackfilledJobsGiveWay) {
  const auto policy = CreateAiturbo({}).value();
  ExampleSnapshot example(2, 4);
  AllocationJob& running = example.AddJobWith({{4, 0, 1.0}}, 0);
  running.is_predictable = false;
  running.current = {{HostId(0), 4, 0}};
  running.executed_s = 60;
  running.running_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(60));
  AllocationJob& whole = example.AddJobWith({{8, 0, 1.0}}, 5000);
  whole.submission = whole.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(20000));
  AllocationJob& small = example.AddJobWith({{4, 0, 1.0}}, 0);
  small.is_predictable = false;
  AllocationPlan plan = policy->Decide(example.snapshot).value();
  EXPECT_TRUE(plan.jobs[1].reason.was_promoted);
  EXPECT_EQ(GpusOf(plan), (std::vector<uint64_t>{4, 0, 4}));
  example.Apply(plan, 600);
  // The first has had its time, the second never had a right to any.
  plan = policy->Decide(example.snapshot).value();
  EXPECT_EQ(GpusOf(plan), (std::vector<uint64_t>{0, 8, 0}));
  example.Apply(plan, 300);
  // A job that was started so is not stopped at once.
  EXPECT_EQ(GpusOf(policy->Decide(example.snapshot).value()), (std::vector<uint64_t>{0, 8, 0}));
}

TEST(NoStarvationTest, BudgetsHold) {
  AiturboOptions options;
  options.restart_budget = 3;
  options.max_wait_s = 1e8;
  options.min_run_s = 0;
  options.hold_s = 0;
  options.restart_factor = 0;
  uint32_t most = 0;
  size_t num_jobs = 0;
  size_t num_over = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    EndlessCluster cluster(options, seed);
    for (int i = 0; i < 400; ++i) {
      cluster.Arrive(seed < 6 ? 0.9 : 1.5);
      cluster.Round();
    }
    num_jobs += cluster.voluntary_restarts().size();
    for (const auto& [job, restarts] : cluster.voluntary_restarts()) {
      // Beyond the budget only escapes: each needs twice as much to save as the one before, and what there is to save
      // is at most ten times 3000 s, beside a round that was run.
      EXPECT_LE(restarts, 3 + std::log2(1 + 30'000 / kRoundS)) << "seed " << seed;
      num_over += restarts > 3 ? 1 : 0;
      most = std::max(most, restarts);
    }
  }
  EXPECT_GE(most, 3u);  // there was something to limit
  EXPECT_LE(num_over, num_jobs / 50);
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
