#include "traffic/crux/priority_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

JobProfile MakeProfile(uint32_t id, double work, double compute, double communication, double start_fraction,
                       double network_bytes) {
  JobProfile profile;
  profile.id = JobId(id);
  profile.work = Flop(work);
  profile.compute_time = Seconds(compute);
  profile.communication_time = Seconds(communication);
  profile.start_fraction = start_fraction;
  profile.intensity = profile.work / profile.communication_time;
  profile.network_bytes = Bytes(network_bytes);
  return profile;
}

std::vector<JobProfile> DrawProfiles(uint64_t seed, size_t num_jobs) {
  Random random(seed);
  std::vector<JobProfile> jobs;
  for (size_t j = 0; j < num_jobs; ++j) {
    jobs.push_back(MakeProfile(static_cast<uint32_t>(j), random.Uniform(1, 100), random.Uniform(0.1, 2),
                               random.Uniform(0.1, 2), random.Uniform(), random.Uniform(1, 10)));
  }
  return jobs;
}

TEST(PriorityAssignmentTest, Figure11PrefersTheSecondJobAtEqualIntensity) {
  // Both intensities are 10/2 = 5/1 = 5. J1 sends more per second (40 B per 4 s against 2 B per 2 s), so it is the
  // reference, and k_2 > 1 (1.5 with the phases of the figure) puts J2 first.
  const std::vector<JobProfile> jobs = {MakeProfile(1, 10, 2, 2, 1, 40), MakeProfile(2, 5, 1, 1, 1, 2)};
  const PriorityOrder order = AssignPriorities(jobs, {});
  EXPECT_EQ(order.reference, 0u);
  EXPECT_EQ(order.by_rank, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(order.jobs[0].priority.value(), 5);
  EXPECT_GT(order.jobs[1].priority.value(), 5 * 1.3);

  CorrectionOptions as_printed;
  as_printed.paper_mode = true;
  as_printed.fixed_horizon = Seconds(12);
  as_printed.explicit_phases = {{1, 1}};
  EXPECT_NEAR(AssignPriorities(jobs, as_printed).jobs[1].priority.value(), 7.5, 1e-9);
}

TEST(PriorityAssignmentTest, WithoutCorrectionIntensityDecides) {
  CorrectionOptions options;
  options.enabled = false;
  const std::vector<JobProfile> jobs = {MakeProfile(0, 1, 1, 1, 1, 1), MakeProfile(1, 3, 1, 1, 1, 1),
                                        MakeProfile(2, 2, 1, 1, 1, 1)};
  EXPECT_EQ(AssignPriorities(jobs, options).by_rank, (std::vector<uint32_t>{1, 2, 0}));
}

TEST(PriorityAssignmentTest, EqualJobsAreRankedById) {
  const std::vector<JobProfile> jobs = {MakeProfile(7, 5, 1, 1, 0.5, 3), MakeProfile(3, 5, 1, 1, 0.5, 3),
                                        MakeProfile(5, 5, 1, 1, 0.5, 3)};
  CorrectionOptions options;
  options.enabled = false;
  const PriorityOrder order = AssignPriorities(jobs, options);
  EXPECT_EQ(order.by_rank, (std::vector<uint32_t>{1, 2, 0}));
  EXPECT_EQ(order.reference, 1u) << "ties of traffic go to the lowest id";
}

TEST(PriorityAssignmentTest, TheReferenceSendsMostPerSecondNotPerIteration) {
  // Job 0: 100 bytes in max(10, 10 + 1) = 11 s. Job 1: 20 bytes in 1 + 0.5 = 1.5 s. 9.1 B/s against 13.3 B/s.
  const std::vector<JobProfile> jobs = {MakeProfile(0, 1, 10, 1, 1, 100), MakeProfile(1, 1, 1, 0.5, 1, 20)};
  EXPECT_EQ(AssignPriorities(jobs, {}).reference, 1u);
}

TEST(PriorityAssignmentTest, AnUndefinedFactorCountsAsOne) {
  // Figure 12 with the figure's phases: d_1 = 0.
  CorrectionOptions options;
  options.paper_mode = true;
  options.fixed_horizon = Seconds(12);
  options.explicit_phases = {{0, 0.5}};
  const std::vector<JobProfile> jobs = {MakeProfile(1, 10, 4, 1, 0.5, 100), MakeProfile(2, 30, 2, 3, 0.5, 1)};
  const PriorityOrder order = AssignPriorities(jobs, options);
  EXPECT_FALSE(order.jobs[1].correction.factor.has_value());
  EXPECT_EQ(order.jobs[1].priority.value(), 10);
  EXPECT_EQ(order.by_rank, (std::vector<uint32_t>{0, 1}));
}

TEST(PriorityAssignmentTest, RanksAreAPermutationSortedByPriority) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<JobProfile> jobs = DrawProfiles(seed, seed % 8);
    const PriorityOrder order = AssignPriorities(jobs, {});
    std::vector<uint32_t> sorted = order.by_rank;
    std::sort(sorted.begin(), sorted.end());
    std::vector<uint32_t> all(jobs.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(sorted, all);
    for (size_t rank = 0; rank < jobs.size(); ++rank) {
      EXPECT_EQ(order.jobs[order.by_rank[rank]].rank, rank);
      if (rank == 0) continue;
      EXPECT_LE(order.jobs[order.by_rank[rank]].priority, order.jobs[order.by_rank[rank - 1]].priority);
    }
  }
}

TEST(PriorityAssignmentTest, ScalingAllWorkChangesNoDecision) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<JobProfile> jobs = DrawProfiles(seed, 6);
    const PriorityOrder before = AssignPriorities(jobs, {});
    for (JobProfile& job : jobs) {
      job.work = 3.7 * job.work;
      job.intensity = 3.7 * job.intensity;
    }
    EXPECT_EQ(AssignPriorities(jobs, {}).by_rank, before.by_rank) << "seed " << seed;
  }
}

TEST(PriorityAssignmentTest, RenamingJobsInOrderChangesNothing) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<JobProfile> jobs = DrawProfiles(seed, 6);
    const PriorityOrder before = AssignPriorities(jobs, {});
    for (JobProfile& job : jobs) job.id = JobId(10 * job.id.value() + 1000);
    EXPECT_EQ(AssignPriorities(jobs, {}).by_rank, before.by_rank) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::traffic::crux
