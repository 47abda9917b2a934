#include "fluid/max_min_solver.h"

#include <gtest/gtest.h>

#include "fluid/max_min_reference.h"
#include "fluid/random_network.h"

namespace fairlead::fluid {
namespace {

using testing::NetworkShape;

// A solver beside the plain description of what it should solve.
class SolverUnderTest {
 public:
  SolverUnderTest(std::vector<double> capacities, std::vector<ReferenceFlow> flows)
      : capacities_(std::move(capacities)), flows_(std::move(flows)), active_(flows_.size(), false) {
    for (const ReferenceFlow& flow : flows_) table_.Add(flow.route, flow.weight);
    solver_ = std::make_unique<MaxMinSolver>(&table_, capacities_);
  }

  void Toggle(uint32_t flow) {
    active_[flow] ? solver_->Remove(flow) : solver_->Insert(flow);
    active_[flow] = !active_[flow];
  }
  void SetCapacity(uint32_t link, double capacity) {
    capacities_[link] = capacity;
    solver_->SetCapacity(link, capacity);
  }

  void Solve() { solver_->Solve(); }

  void SolveAndCompare() {
    solver_->Solve();
    std::vector<ReferenceFlow> running;
    std::vector<double> rates;
    for (uint32_t f = 0; f < flows_.size(); ++f) {
      if (!active_[f]) continue;
      running.push_back(flows_[f]);
      rates.push_back(solver_->Rate(f));
    }
    const std::vector<double> expected = ComputeMaxMinReference(capacities_, running);
    for (size_t f = 0; f < running.size(); ++f) ASSERT_NEAR(rates[f], expected[f], 1e-9 * std::max(1.0, expected[f]));
    testing::ExpectLaws(capacities_, running, rates);
    ExpectBookkeeping();
  }

 private:
  void ExpectBookkeeping() {
    for (uint32_t link = 0; link < capacities_.size(); ++link) {
      double load = 0;
      bool is_bottleneck = false;
      for (const MaxMinSolver::Crossing& crossing : solver_->crossings(link)) {
        ASSERT_TRUE(active_[crossing.flow]);
        ASSERT_EQ(table_.use(crossing.use).link, link);
        load += table_.use(crossing.use).multiplicity * solver_->Rate(crossing.flow);
        is_bottleneck |= solver_->BottleneckLink(crossing.flow) == link;
      }
      ASSERT_NEAR(solver_->available(link), capacities_[link] - load, 1e-9 * std::max(1.0, capacities_[link]));
      ASSERT_EQ(std::isfinite(solver_->share(link)), is_bottleneck);
    }
  }

  std::vector<double> capacities_;
  std::vector<ReferenceFlow> flows_;
  std::vector<bool> active_;
  FlowTable table_;
  std::unique_ptr<MaxMinSolver> solver_;
};

// Random changes, solved one by one or in batches, keep to the reference: thousands of small networks.
void RunRandomChanges(const NetworkShape& shape, int num_networks, int num_solves, uint64_t seed) {
  for (int n = 0; n < num_networks; ++n) {
    Random random(seed + static_cast<uint64_t>(n));
    const auto num_links = static_cast<uint32_t>(1 + random.Below(shape.max_links));
    const auto num_flows = static_cast<uint32_t>(1 + random.Below(shape.max_flows));
    std::vector<double> capacities;
    for (uint32_t l = 0; l < num_links; ++l) capacities.push_back(testing::RandomCapacity(shape, random));
    std::vector<ReferenceFlow> flows;
    for (uint32_t f = 0; f < num_flows; ++f) flows.push_back(testing::RandomFlow(num_links, shape, random));
    SolverUnderTest solver(capacities, flows);
    for (int solve = 0; solve < num_solves; ++solve) {
      for (uint64_t changes = 1 + random.Below(random.Below(8) == 0 ? num_flows : 2); changes > 0; --changes) {
        if (random.Below(4) == 0) {
          solver.SetCapacity(static_cast<uint32_t>(random.Below(num_links)), testing::RandomCapacity(shape, random));
        } else {
          solver.Toggle(static_cast<uint32_t>(random.Below(num_flows)));
        }
      }
      solver.SolveAndCompare();
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << "network " << n << " of seed " << seed << ", solve " << solve;
      }
    }
  }
}

TEST(MaxMinSolver, EqualsReferenceOnGenericNetworks) {
  RunRandomChanges({.max_links = 12, .max_flows = 24, .num_levels = 1, .ties = false}, 2500, 12, 1000);
}

TEST(MaxMinSolver, EqualsReferenceOnNetworksFullOfTies) {
  RunRandomChanges({.max_links = 8, .max_flows = 20, .num_levels = 1, .ties = true}, 2500, 12, 2000);
}

TEST(MaxMinSolver, EqualsReferenceOnTinyNetworks) {
  RunRandomChanges({.max_links = 3, .max_flows = 5, .num_levels = 1, .ties = true}, 3000, 12, 3000);
}

TEST(MaxMinSolver, EqualsReferenceOnLargeNetworks) {
  RunRandomChanges({.max_links = 120, .max_flows = 600, .num_levels = 1, .ties = false}, 6, 60, 4000);
}

TEST(MaxMinSolver, ArrivalLowersFlowsThatWereNotTouched) {
  // f0 on link 0 alone has 10. f1 on links 0 and 1 has 2 of link 1 (shared with f2, f3: 6/3), so f0 has 8. Then f4
  // arrives on link 0: s + s + 2 = 10, f0 falls to 4, f1 keeps its 2.
  SolverUnderTest solver({10, 6}, {{{{0}}}, {{{0}, {1}}}, {{{1}}}, {{{1}}}, {{{0}}}});
  for (uint32_t f = 0; f < 4; ++f) solver.Toggle(f);
  solver.SolveAndCompare();
  solver.Toggle(4);
  solver.SolveAndCompare();
}

TEST(MaxMinSolver, LostCapacityReachesFlowsBoundedElsewhere) {
  // Link 0 of 10 carries f0, f1 (bounded to 3 each by link 1 of 6) and f2 (bounded to 2 by link 2): no flow is bounded
  // there. Cut to 5 it fills up at 5/3, below all of them.
  SolverUnderTest solver({10, 6, 2}, {{{{0}, {1}}}, {{{0}, {1}}}, {{{0}, {2}}}});
  for (uint32_t f = 0; f < 3; ++f) solver.Toggle(f);
  solver.SolveAndCompare();
  for (const double capacity : {5.0, 0.0, 1.0, 10.0}) {
    solver.SetCapacity(0, capacity);
    solver.SolveAndCompare();
  }
}

TEST(MaxMinSolver, InsertAndRemoveWithoutSolveLeavesNoTrace) {
  SolverUnderTest solver({10, 10}, {{{{0}, {1}}}, {{{0}}}});
  solver.Toggle(0);
  solver.SolveAndCompare();
  solver.Toggle(1);
  solver.Toggle(1);
  solver.SolveAndCompare();
}

TEST(MaxMinSolverTest, LargeTiesEnd) {
  // An all-to-all: every GPU sends to all others on equal links, up and down, so that all shares are equal. What the
  // last flows find on a link is the capacity less what hundreds of equal flows take: rounding of the difference is
  // larger than the tolerance of ties, and must not make the solver go back and forth.
  for (const uint32_t num_gpus : {30u, 60u, 99u}) {
    std::vector<ReferenceFlow> flows;
    for (uint32_t from = 0; from < num_gpus; ++from) {
      for (uint32_t to = 0; to < num_gpus; ++to) {
        if (from != to) flows.push_back({.route = {{from, 1}, {num_gpus + to, 1}}});
      }
    }
    const auto num_flows = static_cast<uint32_t>(flows.size());
    SolverUnderTest solver(std::vector<double>(size_t{2} * num_gpus, 24.25e9), std::move(flows));
    for (uint32_t f = 0; f < num_flows; ++f) solver.Toggle(f);
    solver.SolveAndCompare();
    Random random(num_gpus);
    for (int round = 0; round < 100; ++round) {
      // Pairs of flows end and restart one after the other.
      const auto first = static_cast<uint32_t>(random.Below(num_flows));
      const auto second = static_cast<uint32_t>(random.Below(num_flows));
      for (const uint32_t f : {first, second, first, second}) {
        solver.Toggle(f);
        solver.Solve();
      }
    }
    solver.SolveAndCompare();
  }
}

}  // namespace
}  // namespace fairlead::fluid
