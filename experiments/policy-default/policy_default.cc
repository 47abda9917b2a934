#include "experiments/policy-default/policy_default.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/random_cluster.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"
#include "report/run_summary.h"

namespace fairlead::experiments::policy_default {

namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"ecmp", "crux", "c4p", "crux+c4p"};
constexpr std::string_view kCombined = "crux+c4p";
constexpr uint32_t kDrawsPerCell = 6;  // 36 cells: 216 clusters
constexpr uint32_t kReducedDraws = 1;
constexpr double kSimulatedS = 60;
constexpr double kReducedS = 15;
// Differences too small to notice: 0.1 points of utilization, 1 % of a slowdown.
constexpr double kVisibleBusy = 0.1;
constexpr double kVisibleSlowdown = 0.01;

// All combinations.
std::vector<ClusterCell> AllCells() {
  std::vector<ClusterCell> cells;
  for (const std::string_view fabric : {"clos2", "double-sided", "rail"}) {
    for (const double oversubscription : {1.0, 2.0, 4.0}) {
      for (const double load : {0.5, 0.9}) {
        for (const uint32_t queue_pairs : {1u, 4u}) {
          cells.push_back({std::string(fabric), oversubscription, load, queue_pairs});
        }
      }
    }
  }
  return cells;
}

// What a policy made of one cluster.
struct Score {
  double busy = 0;  // %
  double mean_slowdown = 0;
  double worst_slowdown = 0;
  double stalled = 0;  // jobs
};

Score ScoreOf(const sim::RunResult& run) {
  return {100 * run.busy, run.mean_slowdown, run.worst_slowdown,
          static_cast<double>(run.num_stalled + run.num_cut_off)};
}

using Scores = std::map<std::string, Score, std::less<>>;  // by policy

using report::Spread;

// Over the clusters: number(policy) - number(against).
template <class Number>
Spread Compare(const std::vector<Scores>& clusters, std::string_view policy, std::string_view against, Number number) {
  std::vector<double> values;
  for (const Scores& scores : clusters) {
    values.push_back(number(scores.find(policy)->second) - number(scores.find(against)->second));
  }
  return report::SpreadOf(values);
}

double Busy(const Score& score) { return score.busy; }
// Ratios of slowdowns are what matters: 1.0 to 1.1 and 2.0 to 2.2 are as bad.
double LogMean(const Score& score) { return std::log(score.mean_slowdown); }
double LogWorst(const Score& score) { return std::log(score.worst_slowdown); }

void SetRows(const std::vector<Scores>& clusters, experiment::Outcome* outcome) {
  for (const std::string_view policy : kPolicies) {
    Score sum;
    for (const Scores& scores : clusters) {
      const Score& score = scores.find(policy)->second;
      sum.busy += score.busy;
      sum.mean_slowdown += score.mean_slowdown;
      sum.worst_slowdown = std::max(sum.worst_slowdown, score.worst_slowdown);
      sum.stalled += score.stalled;
    }
    const auto count = static_cast<double>(clusters.size());
    outcome->Set(fmt::format("{}: busy", policy), sum.busy / count);
    outcome->Set(fmt::format("{}: mean slowdown", policy), sum.mean_slowdown / count);
    outcome->Set(fmt::format("{}: worst slowdown of all", policy), sum.worst_slowdown);
    outcome->Set(fmt::format("{}: jobs that stand still", policy), sum.stalled);
  }
  for (const std::string_view against : {"ecmp", "crux", "c4p"}) {
    const Spread busy = Compare(clusters, kCombined, against, Busy);
    const Spread worst = Compare(clusters, kCombined, against, LogWorst);
    outcome->Set(fmt::format("{} - {}: busy", kCombined, against), busy.mean);
    outcome->Set(fmt::format("{} - {}: busy, half of the 95 % interval", kCombined, against), busy.margin);
    outcome->Set(fmt::format("{} / {}: mean slowdown", kCombined, against),
                 std::exp(Compare(clusters, kCombined, against, LogMean).mean));
    outcome->Set(fmt::format("{} / {}: worst slowdown", kCombined, against), std::exp(worst.mean));
    outcome->Set(fmt::format("{} / {}: worst slowdown, greatest of its 95 % interval", kCombined, against),
                 std::exp(worst.high()));
  }
}

// The policy that is behind no other one by more than what is visible, in utilization and in worst slowdown, beyond
// noise; of several the one with the most utilization. Empty: every policy is behind another one in something.
std::string FindDefault(const std::vector<Scores>& clusters) {
  std::string best;
  double best_busy = 0;
  for (const std::string_view policy : kPolicies) {
    const bool is_behind = std::any_of(kPolicies.begin(), kPolicies.end(), [&](std::string_view other) {
      return other != policy && (Compare(clusters, policy, other, Busy).high() < -kVisibleBusy ||
                                 Compare(clusters, other, policy, LogWorst).high() < -kVisibleSlowdown);
    });
    double busy = 0;
    for (const Scores& scores : clusters) busy += scores.find(policy)->second.busy;
    if (is_behind || (!best.empty() && busy <= best_busy)) continue;
    best = policy;
    best_busy = busy;
  }
  return best;
}

// Cells in which the combined policy is behind a part of it.
std::string DescribeLosses(const std::vector<std::pair<ClusterCell, std::vector<Scores>>>& by_cell) {
  std::string text;
  for (const auto& [cell, clusters] : by_cell) {
    for (const std::string_view part : {"crux", "c4p"}) {
      const double busy = Compare(clusters, kCombined, part, Busy).mean;
      const double worst = std::exp(Compare(clusters, kCombined, part, LogWorst).mean);
      if (busy >= -kVisibleBusy && worst <= 1 + kVisibleSlowdown) continue;
      text += fmt::format("{}{}: against {} {:+.2f} points busy, worst slowdown x {:.3f}", text.empty() ? "" : "; ",
                          cell.Label(), part, busy, worst);
    }
  }
  return text.empty() ? "none" : text;
}

void AddFigure(const std::vector<std::pair<ClusterCell, std::vector<Scores>>>& by_cell, experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = "GPU utilization by fabric and oversubscription";
  figure.description = "A bar for each policy; means over load, queue pairs and draws.";
  figure.y_label = "busy";
  figure.y_domain = {0, 1};
  figure.series.assign(kPolicies.begin(), kPolicies.end());
  std::map<std::pair<std::string, double>, std::vector<Scores>> groups;
  for (const auto& [cell, clusters] : by_cell) {
    std::vector<Scores>& group = groups[{cell.fabric, cell.oversubscription}];
    group.insert(group.end(), clusters.begin(), clusters.end());
  }
  for (const auto& [key, clusters] : groups) {
    std::vector<double> bars;
    for (const std::string_view policy : kPolicies) {
      double busy = 0;
      for (const Scores& scores : clusters) busy += scores.find(policy)->second.busy / 100;
      bars.push_back(busy / static_cast<double>(clusters.size()));
    }
    figure.groups.push_back({fmt::format("{} {:.0f}:1", key.first, key.second), std::move(bars), {}});
  }
  outcome->figures.push_back({figure.title, Draw(figure), ""});
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const std::vector<ClusterCell> cells = AllCells();
  const uint32_t num_draws = context.reduced ? kReducedDraws : kDrawsPerCell;
  const double num_clusters = static_cast<double>(cells.size()) * num_draws;
  experiment::Outcome outcome;
  std::vector<std::pair<ClusterCell, std::vector<Scores>>> by_cell;
  std::vector<Scores> all;
  for (size_t c = 0; c < cells.size(); ++c) {
    by_cell.emplace_back(cells[c], std::vector<Scores>());
    for (uint32_t draw = 0; draw < num_draws; ++draw) {
      const uint64_t seed = (context.seed * cells.size() + c) * 1000 + draw;
      FL_ASSIGN_OR_RETURN(sim::Scenario scenario,
                          DrawCluster(cells[c], seed, context.reduced ? kReducedS : kSimulatedS));
      scenario.policies.assign(kPolicies.begin(), kPolicies.end());
      const auto done = static_cast<double>(all.size());
      FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                          SimulateScenario(scenario, context, done / num_clusters, (done + 1) / num_clusters));
      if (context.should_stop()) {
        outcome.is_partial = true;
        return outcome;
      }
      Scores scores;
      for (const sim::RunResult& run : report.runs) scores[run.policy] = ScoreOf(run);
      if (scores.size() != kPolicies.size()) return Internal(fmt::format("a run of {} failed", cells[c].Label()));
      by_cell.back().second.push_back(scores);
      all.push_back(std::move(scores));
    }
  }
  SetRows(all, &outcome);
  AddFigure(by_cell, &outcome);
  const std::string best = FindDefault(all);
  outcome.notes.push_back(best.empty()
                              ? "No policy is behind none of the others in both utilization and worst slowdown."
                              : fmt::format("The data support {} as the default: over {} clusters it is behind "
                                            "no other policy, in utilization or in the worst slowdown.",
                                            best, all.size()));
  outcome.notes.push_back(
      fmt::format("Cells in which {} is behind a part of it: {}.", kCombined, DescribeLosses(by_cell)));
  outcome.notes.push_back(fmt::format("{} kinds of clusters, {} draws of each (jobs, hosts, hash, phases), {:.0f} s.",
                                      cells.size(), num_draws, context.reduced ? kReducedS : kSimulatedS));
  return outcome;
}

}  // namespace fairlead::experiments::policy_default
