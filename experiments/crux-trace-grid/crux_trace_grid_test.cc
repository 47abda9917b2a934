// Laws of the grid: verdicts on cells made by hand, windows of a small trace, pairs of draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "experiments/crux-trace-grid/grid.h"
#include "experiments/crux-trace-grid/grid_report.h"
#include "experiments/crux-trace-grid/statements.h"
#include "experiments/crux-trace-grid/trace_windows.h"

namespace fairlead::experiments::crux_trace_grid {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

// t(0.975, 4 degrees) = 2.776: mean 3, deviation 1.5811, margin 1.963.
TEST(GridVerdictTest, FollowsFromTheInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_EQ(Judge(values, 1.0), Verdict::kHolds);
  EXPECT_EQ(Judge(values, 1.1), Verdict::kUndecided);
  EXPECT_EQ(Judge(values, 4.9), Verdict::kUndecided);
  EXPECT_EQ(Judge(values, 5.0), Verdict::kContradicted);
  EXPECT_EQ(Judge(values, 0), Verdict::kHolds);
  EXPECT_EQ(Judge(std::vector<double>{-1, -2, -3, -4, -5}, 0), Verdict::kContradicted);
}

TEST(GridVerdictTest, OneDrawDecidesNothing) {
  EXPECT_EQ(Judge(std::vector<double>{7}, 0), Verdict::kUndecided);
  EXPECT_EQ(Judge(std::vector<double>{}, 0), Verdict::kUndecided);
}

TEST(GridVerdictTest, TiesAreNoDifference) {
  const std::vector<double> nothing(5, 0.0);
  EXPECT_EQ(Judge(nothing, 0), Verdict::kSame);
  EXPECT_EQ(Judge(nothing, -1), Verdict::kHolds) << "nothing lost is less than a point lost";
  EXPECT_EQ(Judge(nothing, 13), Verdict::kContradicted);
  // Sure, and not worth a word.
  EXPECT_EQ(Judge(std::vector<double>{0.05, 0.05, 0.05}, 0), Verdict::kSame);
  EXPECT_EQ(Judge(std::vector<double>{0.2, 0.2, 0.2}, 0), Verdict::kHolds);
  // A limit is no tie.
  EXPECT_EQ(Judge(std::vector<double>(5, 13.0), 13), Verdict::kUndecided);
}

TEST(GridVerdictTest, TheWholeHoldsWhereAllPartsDo) {
  using enum Verdict;
  EXPECT_EQ(JudgeAll(std::vector<Verdict>{kHolds, kHolds}), kHolds);
  EXPECT_EQ(JudgeAll(std::vector<Verdict>{kHolds, kUndecided}), kUndecided);
  EXPECT_EQ(JudgeAll(std::vector<Verdict>{kHolds, kSame}), kUndecided);
  EXPECT_EQ(JudgeAll(std::vector<Verdict>{kUndecided, kContradicted, kHolds}), kContradicted);
}

// Busy as given plus the draw's own luck, which all policies share.
CellDraws MakeCell(const std::vector<double>& busy, const std::vector<double>& luck) {
  CellDraws draws;
  for (size_t p = 0; p < std::size(kGridPolicies); ++p) {
    PolicyDraws& of = draws[std::string(kGridPolicies[p])];
    for (const double draw : luck) {
      of.busy.push_back(busy[p] + draw);
      of.mean_slowdown.push_back(100 / busy[p]);
      of.worst_slowdown.push_back(200 / busy[p]);
    }
  }
  return draws;
}

GridResult OneCell(CellDraws draws) {
  GridResult result;
  CellResult& cell = result.cells.emplace_back();
  cell.cell = {"clos", 4, 1, "random", "median"};
  cell.draws = std::move(draws);
  return result;
}

Verdict VerdictOf(const GridResult& result, std::string_view statement) {
  const FabricVerdicts verdicts = JudgeFabric(result, "clos", {23, 13, 14, 11});
  return verdicts.verdicts[verdicts.Find(statement)].front().verdict;
}

// The bars of the paper: every statement of it holds where draws differ by far more than policies do, since the
// differences are those of each draw.
TEST(GridStatementsTest, ThePapersOwnBarsFulfilThem) {
  //                                            ecmp sinc taccl cass pa  ps-pa crux +c4p
  const GridResult result = OneCell(MakeCell({38, 38.9, 49, 48, 51, 62.1, 62.1, 62.1}, {-30, -10, 0, 10, 30}));
  const FabricVerdicts verdicts = JudgeFabric(result, "clos", {23, 13, 14, 11});
  for (size_t s = 0; s < verdicts.statements.size(); ++s) {
    if (verdicts.statements[s].is_ours) continue;
    EXPECT_EQ(verdicts.verdicts[s].front().verdict, Verdict::kHolds) << verdicts.statements[s].text;
  }
  EXPECT_EQ(BestRival(result.cells.front().draws), "taccl-star");
  EXPECT_EQ(VerdictOf(result, "crux > the best rival"), Verdict::kHolds);
  EXPECT_EQ(VerdictOf(result, "crux+c4p > crux"), Verdict::kSame);
  EXPECT_EQ(VerdictOf(result, "crux: mean slowdown < ecmp's"), Verdict::kHolds);
}

TEST(GridStatementsTest, ContradictedWhereARivalIsAhead) {
  const GridResult result = OneCell(MakeCell({60, 60, 70, 60, 61, 69, 65, 71}, {-1, 0, 1}));
  EXPECT_EQ(VerdictOf(result, "taccl-star < crux-pa"), Verdict::kContradicted);
  EXPECT_EQ(VerdictOf(result, "crux > the best rival"), Verdict::kContradicted);
  EXPECT_EQ(VerdictOf(result, "8 levels cost less than a point"), Verdict::kContradicted);
  EXPECT_EQ(VerdictOf(result, "sincronia < cassini"), Verdict::kSame);
  // 8 points against -9 for the priorities and 4 for the levels.
  EXPECT_EQ(VerdictOf(result, "path selection is the largest step"), Verdict::kHolds);
  EXPECT_EQ(VerdictOf(result, kWholeOrder), Verdict::kContradicted);
}

// Where the luck of draws is not shared, a difference of means below their scatter says nothing.
TEST(GridStatementsTest, UnpairedDrawsDecideNothing) {
  CellDraws draws = MakeCell({60, 60, 62, 60, 61, 62, 62, 62}, {-9, 0, 9});
  draws["crux"].busy = {71, 53, 62};
  EXPECT_EQ(VerdictOf(OneCell(std::move(draws)), "crux > ecmp"), Verdict::kUndecided);
}

TEST(GridDrawsTest, DrawsArePairedByNumberNotByOrder) {
  sim::SimulationReport report;
  const auto add = [&report](const std::string& policy, uint32_t draw, double busy) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = policy;
    run.draw = draw;
    // The first quarter does not count.
    run.timeline.gpu_busy = {1, busy, 0, busy};
    run.timeline.held_gpu_s = {100, 10, 0, 30};
    run.mean_slowdown = 1 + busy;
    run.worst_slowdown = 2 + busy;
  };
  add("crux", 4, 0.5);
  add("ecmp", 3, 0.3);
  add("crux", 3, 0.4);
  add("ecmp", 4, 0.1);
  const CellDraws draws = DrawsOf(report);
  EXPECT_THAT(draws.at("ecmp").busy, ElementsAre(30, 10));
  EXPECT_THAT(draws.at("crux").busy, ElementsAre(40, 50));
  EXPECT_THAT(BusyGain(draws, "crux", "ecmp"), Pointwise(DoubleNear(1e-9), {10.0, 40.0}));
  EXPECT_THAT(draws.at("crux").worst_slowdown, ElementsAre(2.4, 2.5));
}

sim::ScenarioJob MakeJob(double arrival_h, double hold_h, uint32_t num_gpus) {
  sim::ScenarioJob entry;
  entry.job.arrival = SimTime::FromSeconds(Seconds(arrival_h * 3600));
  entry.job.hold_time = SimDuration::FromSeconds(Seconds(hold_h * 3600));
  entry.job.num_gpus = num_gpus;
  return entry;
}

// Hours 24 to 29 hold 8, 24, 24, 16, 16, 0 GPUs.
TEST(TraceWindowsTest, ChosenByGpusInUseOnly) {
  const std::vector<sim::ScenarioJob> jobs = {MakeJob(0, 10, 4096), MakeJob(20, 7, 8), MakeJob(24.5, 4, 16)};
  const std::vector<WindowRule> rules = {{"busiest", 1}, {"median", 0.5}, {"quiet", 0}};
  const auto windows = ChooseWindows(jobs, 30 * 3600, rules);
  ASSERT_EQ(windows.size(), 3u);
  // Of equals the later hour stands last.
  EXPECT_EQ(windows[0].at_s, 26 * 3600);
  EXPECT_EQ(windows[0].num_gpus, 24u);
  EXPECT_EQ(windows[0].num_jobs, 2u);
  // 0, 8, 16, 16, 24, 24: round(2.5) = the fourth.
  EXPECT_EQ(windows[1].at_s, 28 * 3600);
  EXPECT_EQ(windows[1].name, "median");
  EXPECT_EQ(windows[2].num_gpus, 0u);
}

TEST(TraceWindowsTest, JobsOfAMomentBeginTogetherAndStay) {
  const std::vector<sim::ScenarioJob> jobs = {MakeJob(0, 10, 4096), MakeJob(20, 7, 8), MakeJob(24.5, 4, 16)};
  const auto kept = JobsAt(jobs, 25 * 3600);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].job.num_gpus, 8u);
  EXPECT_EQ(kept[1].job.num_gpus, 16u);
  for (size_t j = 0; j < kept.size(); ++j) {
    EXPECT_EQ(kept[j].job.id, JobId(j));
    EXPECT_EQ(kept[j].job.arrival, SimTime());
    EXPECT_EQ(kept[j].job.hold_time, SimDuration());
  }
}

// One cell of the real grid: the same at any number of threads, and draws that all policies share. That they do shows
// in the yardstick: jobs alone depend on hosts, hashes and phases, and on no policy.
TEST(GridTest, ACellDoesNotDependOnThreadsAndItsDrawsAreShared) {
  const GridAxes axes{.fabrics = {"clos"},
                      .oversubscriptions = {4},
                      .queue_pairs = {{1, 1}},
                      .placements = {"random"},
                      .windows = {{"busiest", 1}},
                      .num_draws = 2};
  const std::atomic<bool> never = false;
  const auto run = [&](uint32_t num_threads) {
    return RunGrid(axes, {.num_threads = num_threads, .stop = &never, .progress = nullptr}).value();
  };
  const GridResult one = run(1);
  const GridResult three = run(3);
  ASSERT_EQ(one.cells.size(), 1u);
  EXPECT_FALSE(one.is_partial);
  for (const std::string_view policy : kGridPolicies) {
    const PolicyDraws& expected = one.cells[0].draws.find(policy)->second;
    const PolicyDraws& actual = three.cells[0].draws.find(policy)->second;
    ASSERT_EQ(expected.busy.size(), 2u);
    EXPECT_EQ(actual.busy, expected.busy) << policy;
    EXPECT_EQ(actual.mean_slowdown, expected.mean_slowdown) << policy;
    EXPECT_EQ(actual.worst_slowdown, expected.worst_slowdown) << policy;
  }
  EXPECT_NE(one.cells[0].draws.at("ecmp").busy[0], one.cells[0].draws.at("ecmp").busy[1]);
}

}  // namespace
}  // namespace fairlead::experiments::crux_trace_grid
