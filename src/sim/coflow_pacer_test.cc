// Paced coflows: the unit links of the specification "rivals and fabrics", section 3, and laws of rates.
#include "sim/coflow_pacer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "sim/contention_domain.h"

namespace fairlead::sim {
namespace {

using testing::ElementsAre;
using traffic::Pacing;

struct LinkPart {
  uint32_t link = 0;
  double bytes = 0;
};

// Jobs that compute nothing and send one phase, once; each of their flows crosses one of the links, of 100 bytes/s.
class UnitLinks {
 public:
  explicit UnitLinks(size_t num_links) : capacities_(num_links, 100.0) {}
  UnitLinks(const UnitLinks&) = delete;

  void Add(const std::vector<LinkPart>& flows, uint32_t level, std::optional<traffic::CoflowTurn> turn) {
    model::Iteration& iteration = iterations_.emplace_back();
    iteration.phases.push_back({"send", 0, false, 0, static_cast<uint32_t>(flows.size())});
    std::vector<model::Path> paths;
    for (const LinkPart& flow : flows) {
      const auto group = static_cast<uint32_t>(paths.size());
      iteration.flows.push_back({GpuId(0), GpuId(1), Bytes(flow.bytes), group});
      paths.emplace_back().emplace_back(flow.link);
    }
    iteration.num_groups = static_cast<uint32_t>(paths.size());
    JobState& state =
        states_.emplace_back(CreateJobState(JobId(states_.size()), 1, 1, iteration, Detail::kCoupled, SimTime(), 1));
    state.paths = paths;
    state.level = level;
    state.senders.turn = turn;
  }

  // Seconds, [job].
  std::vector<double> Finish() {
    std::vector<std::vector<TransferRoute>> routes;
    std::vector<bool> is_done(states_.size());
    const std::atomic<bool> never = false;
    RunWatch watch(never, nullptr);
    SimTime now;
    for (size_t done = 0; done < states_.size();) {
      std::vector<JobState*> jobs;
      routes.clear();
      for (size_t j = 0; j < states_.size(); ++j) {
        if (is_done[j]) continue;
        jobs.push_back(&states_[j]);
        routes.push_back(ComputeRoutes(states_[j], capacities_));
      }
      std::vector<const std::vector<TransferRoute>*> pointers;
      for (const auto& route : routes) pointers.push_back(&route);
      LinkSharing sharing;
      for (size_t link = 0; link < capacities_.size(); ++link) sharing.contended_links.emplace_back(link);
      ContentionDomain domain(jobs, pointers, sharing, capacities_, now, {}, &busy_);
      domain.AdvanceTo(now + SimDuration::FromSeconds(Seconds(1000)), watch);
      domain.Suspend();
      now = domain.now();
      for (size_t j = 0; j < states_.size(); ++j) {
        if (is_done[j] || !states_[j].is_finished) continue;
        is_done[j] = true;
        ++done;
      }
    }
    std::vector<double> seconds;
    for (const JobState& state : states_) seconds.push_back(state.finish_time.seconds().value());
    return seconds;
  }

 private:
  IdVector<LinkId, double> capacities_;
  std::deque<model::Iteration> iterations_;
  std::deque<JobState> states_;
  BinnedSum busy_{SimTime::FromSeconds(Seconds(1000)), 1};
};

// Job 0 sends 4 units over link 0 and 2 over link 1, job 1 one over link 1; a unit takes a second. Job 0 goes first.
std::vector<double> FinishOnUnitLinks(Pacing pacing, bool has_levels) {
  UnitLinks links(2);
  const auto turn = [&](uint32_t rank) -> std::optional<traffic::CoflowTurn> {
    if (pacing == Pacing::kNone) return std::nullopt;
    return traffic::CoflowTurn{pacing, has_levels ? rank : 0, rank};
  };
  links.Add({{0, 400}, {1, 200}}, 0, turn(0));
  links.Add({{1, 100}}, has_levels ? 1 : 0, turn(1));
  return links.Finish();
}

TEST(CoflowPacerTest, JobsThatAreNotHeldUpLeaveLinksToOthers) {
  // Strict levels serve job 0 first on both links: link 1 is job 1's after 2 s. With MADD job 0 needs half of link 1.
  EXPECT_THAT(FinishOnUnitLinks(Pacing::kNone, true),
              ElementsAre(testing::DoubleNear(4, 1e-8), testing::DoubleNear(3, 1e-8)));
  for (const Pacing pacing : {Pacing::kMadd, Pacing::kMaddAndBackfill}) {
    EXPECT_THAT(FinishOnUnitLinks(pacing, false),
                ElementsAre(testing::DoubleNear(4, 1e-8), testing::DoubleNear(2, 1e-8)));
  }
}

TEST(CoflowPacerTest, ALevelTakesWhatItsOwnJobsCanUseBeforeTheNext) {
  // Each job alone in its level: backfill gives job 0 the rest of link 1; without backfill it is left to job 1.
  EXPECT_THAT(FinishOnUnitLinks(Pacing::kMaddAndBackfill, true),
              ElementsAre(testing::DoubleNear(4, 1e-8), testing::DoubleNear(3, 1e-8)));
  EXPECT_THAT(FinishOnUnitLinks(Pacing::kMadd, true),
              ElementsAre(testing::DoubleNear(4, 1e-8), testing::DoubleNear(2, 1e-8)));
}

TEST(CoflowPacerTest, EqualEndsLeaveTheRestOfALinkToTheNextJob) {
  // Job 0 has two flows on link 0, 4 s in all, and one unit on link 1, sent at a quarter of its speed. Job 1 has the
  // other three quarters.
  for (const Pacing pacing : {Pacing::kMadd, Pacing::kMaddAndBackfill}) {
    UnitLinks links(2);
    links.Add({{0, 300}, {0, 100}, {1, 100}}, 0, traffic::CoflowTurn{pacing, 0, 0});
    links.Add({{1, 100}}, 0, traffic::CoflowTurn{pacing, 0, 1});
    EXPECT_THAT(links.Finish(), ElementsAre(testing::DoubleNear(4, 1e-8), testing::DoubleNear(4.0 / 3, 1e-8)));
  }
}

TEST(CoflowPacerTest, TheFirstIsServedAsIfAlone) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<LinkPart>> jobs(4);
    for (std::vector<LinkPart>& flows : jobs) {
      for (uint64_t f = 0; f <= random.Below(4); ++f) {
        flows.push_back({static_cast<uint32_t>(random.Below(3)), random.Uniform(10, 500)});
      }
    }
    std::vector<double> load(3);
    for (const LinkPart& flow : jobs[0]) load[flow.link] += flow.bytes;
    const double alone = *std::ranges::max_element(load) / 100;
    for (const Pacing pacing : {Pacing::kMadd, Pacing::kMaddAndBackfill}) {
      UnitLinks links(3);
      for (uint32_t j = 0; j < 4; ++j) links.Add(jobs[j], 0, traffic::CoflowTurn{pacing, 0, j});
      const std::vector<double> finish = links.Finish();
      EXPECT_NEAR(finish[0], alone, 1e-7) << "round " << round;
      // Nobody waits longer than for all bytes one after the other.
      double all = 0;
      for (const std::vector<LinkPart>& flows : jobs) {
        for (const LinkPart& flow : flows) all += flow.bytes / 100;
      }
      for (const double end : finish) EXPECT_LE(end, all + 1e-6);
    }
  }
}

}  // namespace
}  // namespace fairlead::sim
