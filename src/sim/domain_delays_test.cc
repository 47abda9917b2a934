#include "sim/domain_delays.h"

#include <gtest/gtest.h>

#include <optional>

#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

// Jobs that compute nothing and send 100 bytes over a link that carries 100 bytes/s when it is healthy: 1 s alone.
class DomainDelaysTest : public testing::Test {
 protected:
  void Build(double bytes_per_s, const std::vector<uint32_t>& levels, bool keeps_account = true) {
    link_.capacities[LinkId(0)] = bytes_per_s;
    for (const uint32_t level : levels) {
      JobState& job = link_.Add(0, 0, 100);
      job.level = level;
      job.num_gpus = 4;
      job.solo = {.phase_ns = {kSecondNs}, .iteration_ns = kSecondNs};
    }
    network_.emplace(link_.Layout(&healthy_), levels, nullptr);
    recorder_.emplace(link_.jobs, link_.time, &*network_, link_.Routes(), nullptr);
    clocks_.emplace(link_.jobs, link_.time, &busy_, &*recorder_);
    delays_.emplace(link_.jobs, link_.time, &*network_, *clocks_, &*recorder_, keeps_account ? &healthy_ : nullptr);
  }
  void StartPhase(uint32_t j) {
    delays_->BeginPhase(j);
    link_.jobs[j]->is_phase_running = true;
    link_.jobs[j]->phase_start = link_.time.now();
    const FluidVariable& variable = network_->VariablesOf(j).front();
    network_->Start(variable, variable.bytes);
  }
  void MoveTo(double seconds) {
    const auto local_ns = static_cast<int64_t>(seconds * kSecondNs);
    delays_->FollowUntil(local_ns);
    for (const fluid::FlowId ended : network_->AdvanceTo(local_ns))
      network_->TakeEnd(network_->variable(ended.index()));
    link_.time.local_ns = local_ns;
  }
  void EndPhase(uint32_t j) {
    link_.jobs[j]->is_phase_running = false;
    ++link_.jobs[j]->phase;
    delays_->EndPhase(j);
  }
  double LostTo(JobId victim, LossCause cause, JobId culprit) const {
    const auto& losses = delays_->account().losses;
    const auto row = losses.index().find({victim, cause, culprit, LinkId(0)});
    return row == losses.index().end() ? 0 : losses.values()[row->second].s;
  }

  const IdVector<LinkId, double> healthy_{1, 100.0};
  OneLink link_{100};
  BinnedSum busy_{SimTime(kSecondNs), 1};
  std::optional<DomainNetwork> network_;
  std::optional<DomainRecorder> recorder_;
  std::optional<JobClocks> clocks_;
  std::optional<DomainDelays> delays_;
};

TEST_F(DomainDelaysTest, JobsThatShareALinkLoseToEachOther) {
  Build(100, {0, 0});
  StartPhase(0);
  StartPhase(1);
  MoveTo(2);
  EndPhase(0);
  EndPhase(1);
  EXPECT_NEAR(LostTo(JobId(0), LossCause::kJob, JobId(1)), 1, 1e-9);
  EXPECT_NEAR(LostTo(JobId(1), LossCause::kJob, JobId(0)), 1, 1e-9);
  EXPECT_EQ(delays_->account().losses.values().size(), 2u);
  EXPECT_NEAR(delays_->account().losses.values()[0].gpu_s, 4, 1e-9);
  EXPECT_NEAR(delays_->account().bounds.values()[0], 2, 1e-9) << "the link bounded it all the time";
}

TEST_F(DomainDelaysTest, AMoreImportantJobStallsTheOther) {
  Build(100, {1, 0});
  StartPhase(0);
  StartPhase(1);
  MoveTo(0.5);
  EXPECT_EQ(link_.jobs[0]->stalled_since, SimTime());
  MoveTo(1);
  EndPhase(1);
  MoveTo(2);
  EXPECT_EQ(link_.jobs[0]->stalled_since, SimTime::Never()) << "its rate has changed";
  EndPhase(0);
  EXPECT_NEAR(LostTo(JobId(0), LossCause::kLevel, JobId(1)), 1, 1e-9);
  EXPECT_EQ(LostTo(JobId(1), LossCause::kLevel, JobId(0)), 0);
}

TEST_F(DomainDelaysTest, AWeakLinkCountsWithWhatItLacks) {
  Build(25, {0});
  StartPhase(0);
  MoveTo(4);
  EndPhase(0);
  EXPECT_NEAR(LostTo(JobId(0), LossCause::kCapacity, JobId()), 3, 1e-9);
}

TEST_F(DomainDelaysTest, WhatIsInViewIsBookedWhenItChanges) {
  // Job 0 would need 200 bytes/s to be as fast as its yardstick. Alone it lacks half of them, all for itself; beside
  // job 1 three quarters, of which the 100 that it wants beyond the link and the 50 of job 1 count 2 to 1.
  Build(100, {0, 0});
  link_.jobs[0]->solo.phase_ns = {kSecondNs / 2};
  StartPhase(0);
  MoveTo(0.5);
  StartPhase(1);
  MoveTo(1);
  delays_->RecordViews();
  ASSERT_EQ(link_.jobs[0]->delay_shares.size(), 2u);
  EXPECT_EQ(link_.jobs[0]->delay_shares[0].cause, LossCause::kSelf);
  EXPECT_NEAR(link_.jobs[0]->delay_shares[0].weight_s, 0.5 * 0.5 + 0.5 * 0.5, 1e-9);
  EXPECT_EQ(link_.jobs[0]->delay_shares[1].culprit, JobId(1));
  EXPECT_NEAR(link_.jobs[0]->delay_shares[1].weight_s, 0.5 * 0.25, 1e-9);
}

TEST_F(DomainDelaysTest, TimeBetweenIterationsIsAWaitForTheShift) {
  Build(100, {0});
  link_.time.local_ns = 3 * kSecondNs;
  link_.jobs[0]->last_iteration_end = SimTime(kSecondNs);
  delays_->EndWait(0);
  ASSERT_EQ(delays_->account().losses.values().size(), 1u);
  EXPECT_EQ(delays_->account().losses.index().begin()->first.cause, LossCause::kShift);
  EXPECT_EQ(delays_->account().losses.values()[0].s, 2);
  delays_->EndWait(0);
  EXPECT_EQ(delays_->account().losses.values()[0].s, 2) << "a domain that is rebuilt at once counts nothing twice";
}

TEST_F(DomainDelaysTest, WithoutAnAccountNothingIsBooked) {
  Build(25, {0, 0}, false);
  StartPhase(0);
  StartPhase(1);
  MoveTo(8);
  EndPhase(0);
  delays_->EndWait(1);
  delays_->AttributeMore(1, 5);
  EXPECT_TRUE(delays_->account().losses.values().empty());
  EXPECT_TRUE(link_.jobs[1]->delay_shares.empty());
}

}  // namespace
}  // namespace fairlead::sim
