#include "sim/contention_domain.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

TEST(ContentionDomainTest, NoJobFinishesBeforeTheBoundWhateverIsSkipped) {
  // Nothing ever repeats, so that most is extrapolated, in stretches that end anywhere and leave parts of iterations
  // owed.
  Random random(7);
  int num_extrapolated = 0;
  for (int round = 0; round < 60; ++round) {
    const uint64_t end = 1'000 + random.Below(1'000);
    SendingJob first(0, 0.6, random.Uniform(0.70, 0.73), 31, end);
    SendingJob second(1, 1, random.Uniform(0.99, 1.01), 50);
    SendingJob third(2, 1, random.Uniform(1.6, 1.63), 44);
    const std::vector<JobState*> jobs = {&first.state, &second.state, &third.state};
    const IdVector<LinkId, double> capacities(1, 100.0);
    std::vector<std::vector<TransferRoute>> routes;
    for (const JobState* job : jobs) routes.push_back(ComputeRoutes(*job, capacities));
    const LinkSharing sharing{.domains = {{0, 1, 2}}, .contended_links = {LinkId(0)}};
    BinnedSum busy(SimTime::FromSeconds(Seconds(3600)), 1);
    ContentionDomain domain(jobs, {&routes[0], &routes[1], &routes[2]}, sharing, capacities, SimTime(),
                            {.extrapolate = true}, &busy);
    const std::atomic<bool> never = false;
    RunWatch watch(never, nullptr);
    SimTime bound = domain.FinishLowerBound();
    while (!domain.has_finished_job()) {
      domain.AdvanceTo(domain.now() + SimDuration::FromSeconds(Seconds(random.Uniform(0, 20))), watch);
      if (domain.has_finished_job()) break;
      EXPECT_GE(domain.FinishLowerBound(), bound) << "round " << round;
      bound = std::max(bound, domain.FinishLowerBound());
    }
    EXPECT_GE(domain.now(), bound) << "round " << round;
    EXPECT_EQ(first.state.iterations_done, end);
    if (first.state.jump_error > 0) ++num_extrapolated;
  }
  EXPECT_GT(num_extrapolated, 20);
}

}  // namespace
}  // namespace fairlead::sim
