#include "sim/fast_forward.h"

#include <gtest/gtest.h>

#include <atomic>

#include "sim/contention_domain.h"
#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

SimTime AtSecond(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

// Two jobs over one link of 100 bytes/s. Each computes for 0.5 s and then sends 50 bytes, which takes 1 s beside the
// other: an iteration takes 1.5 s, 1 s alone.
struct TwoRepeatingJobs {
  OneLink link{100};
  BinnedSum busy{AtSecond(1000), 10};

  explicit TwoRepeatingJobs(uint64_t num_iterations = 0) {
    link.Add(1, 0.5, 50, num_iterations);
    link.Add(1, 0.5, 50);
    for (JobState* job : link.jobs) job->solo = {.phase_ns = {500'000'000}, .iteration_ns = 1'000'000'000};
  }

  // Args: stops: seconds.
  DelayAccount Run(bool fast_forward, std::initializer_list<double> stops) {
    const IdVector<LinkId, double> healthy(1, 100.0);
    ContentionDomain domain(link.jobs, link.Routes(), link.sharing, link.capacities, SimTime(),
                            {.fast_forward = fast_forward, .follows_delays = true, .healthy_capacities = &healthy},
                            &busy);
    const std::atomic<bool> never = false;
    RunWatch watch(never, nullptr);
    for (const double stop : stops) domain.AdvanceTo(AtSecond(stop), watch);
    domain.Suspend();
    return domain.delays();
  }
};

TEST(FastForwardTest, SkippingPeriodsCountsWhatTheyWouldHaveBrought) {
  TwoRepeatingJobs skipped, simulated;
  const DelayAccount account = skipped.Run(true, {333.3, 700});
  const DelayAccount expected = simulated.Run(false, {333.3, 700});
  for (size_t j = 0; j < 2; ++j) {
    const JobState& job = *skipped.link.jobs[j];
    const JobState& twin = *simulated.link.jobs[j];
    EXPECT_GT(job.jumped_ns, 600'000'000'000);
    EXPECT_EQ(twin.jumped_ns, 0);
    EXPECT_EQ(job.jump_error, 0);
    EXPECT_EQ(job.iterations_done, twin.iterations_done);
    EXPECT_EQ(job.phase_runs, twin.phase_runs);
    EXPECT_EQ(job.progress_ns, twin.progress_ns);
    EXPECT_EQ(job.iteration_start, twin.iteration_start);
    EXPECT_EQ(job.phase_start, twin.phase_start);
    EXPECT_NEAR(job.remaining[0], twin.remaining[0], 1e-6);
  }
  for (size_t bin = 0; bin < 7; ++bin) EXPECT_NEAR(skipped.busy.bins()[bin], simulated.busy.bins()[bin], 1) << bin;
  ASSERT_EQ(account.losses.values().size(), expected.losses.values().size());
  for (size_t i = 0; i < expected.losses.values().size(); ++i) {
    EXPECT_NEAR(account.losses.values()[i].s, expected.losses.values()[i].s, 1e-6);
  }
  EXPECT_NEAR(expected.losses.values()[0].s, 700 / 3.0, 0.5) << "half a second of each iteration";
}

TEST(FastForwardTest, TheLastIterationIsSimulated) {
  TwoRepeatingJobs skipped(100), simulated(100);
  skipped.Run(true, {1000});
  simulated.Run(false, {1000});
  const JobState& job = *skipped.link.jobs[0];
  EXPECT_TRUE(job.is_finished);
  EXPECT_EQ(job.finish_time, simulated.link.jobs[0]->finish_time);
  EXPECT_EQ(job.finish_time, AtSecond(150));
  EXPECT_GT(job.jumped_ns, 0);
  EXPECT_GE(job.finish_time.ns() - job.jumped_ns, 3 * kSecondNs / 2);
}

TEST(FastForwardTest, NothingIsSkippedBeyondALimit) {
  TwoRepeatingJobs skipped;
  skipped.Run(true, {20.25});
  EXPECT_EQ(skipped.link.jobs[0]->observed_until, AtSecond(20.25));
  EXPECT_GT(skipped.link.jobs[0]->jumped_ns, 0);
}

}  // namespace
}  // namespace fairlead::sim
