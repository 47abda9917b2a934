#include "experiments/spraying/spraying.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/c4p_testbed.h"
#include "experiments/random_cluster.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"
#include "report/run_summary.h"

namespace fairlead::experiments::spraying {

namespace {

constexpr std::array<double, 4> kOversubscriptions = {1, 2, 4, 8};
constexpr uint32_t kNumDraws = 10;
constexpr uint32_t kNumReducedDraws = 2;
constexpr double kSimulatedS = 30;
constexpr double kReducedS = 4;
constexpr uint32_t kQueuePairs = 4;
constexpr double kLoad = 0.9;

// Two of 64 cables between leaves and spines.
constexpr std::array<std::string_view, 2> kFailedUplinks = {"leaf0->spine0", "leaf3->spine5"};

// A policy beside what the fabric does without it.
struct Pair {
  std::string_view policy;
  std::string_view against;
};

// Where the fabric spreads the packets or chooses the paths C4P has none to choose: what it wins there is nothing.
constexpr std::array<Pair, 8> kPairs = {{{"flowlet", "ecmp"},
                                         {"spray", "ecmp"},
                                         {"ethereal", "ecmp"},
                                         {"c4p", "ecmp"},
                                         {"crux", "ecmp"},
                                         {"crux+flowlet", "flowlet"},
                                         {"crux+spray", "spray"},
                                         {"crux+ethereal", "ethereal"}}};
constexpr std::array<std::string_view, 9> kPolicies = {"ecmp", "flowlet",      "spray",      "ethereal",     "c4p",
                                                       "crux", "crux+flowlet", "crux+spray", "crux+ethereal"};

struct Case {
  double oversubscription = 1;
  bool has_failures = false;

  std::string Label() const {
    return fmt::format("{:.0f}:1{}", oversubscription, has_failures ? ", two cables lost" : "");
  }
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const bool has_failures : {false, true}) {
    for (const double oversubscription : kOversubscriptions) cases.push_back({oversubscription, has_failures});
  }
  return cases;
}

// GPU utilization, %, by policy; [draw].
using Busy = std::map<std::string, std::vector<double>, std::less<>>;

struct CaseResult {
  Case cell;
  Busy busy = {};
  Busy flop = {};  // the same, weighted with FLOP as in Crux
};

Result<sim::Scenario> MakeScenario(const Case& cell, uint64_t seed, double simulated_s) {
  FL_ASSIGN_OR_RETURN(
      sim::Scenario scenario,
      DrawCluster(
          {.fabric = "clos2", .oversubscription = cell.oversubscription, .load = kLoad, .queue_pairs = kQueuePairs},
          seed, simulated_s));
  scenario.policies.assign(kPolicies.begin(), kPolicies.end());
  if (!cell.has_failures) return scenario;
  for (const std::string_view uplink : kFailedUplinks) {
    LoseCable(scenario.fabric.FindLink(uplink), SimTime(), &scenario);
  }
  return scenario;
}

report::Spread GainOf(const Busy& busy, const Pair& pair) {
  std::vector<double> gains;
  const std::vector<double>& with = busy.find(pair.policy)->second;
  const std::vector<double>& without = busy.find(pair.against)->second;
  for (size_t draw = 0; draw < with.size(); ++draw) gains.push_back(with[draw] - without[draw]);
  return report::SpreadOf(gains);
}

void SetRows(const Case& cell, const Busy& busy, experiment::Outcome* outcome) {
  outcome->Set(fmt::format("{}: ecmp, busy", cell.Label()), report::SpreadOf(busy.find("ecmp")->second).mean);
  for (const Pair& pair : kPairs) {
    const report::Spread gain = GainOf(busy, pair);
    const std::string row = fmt::format("{}: {} - {}", cell.Label(), pair.policy, pair.against);
    outcome->Set(row, gain.mean);
    outcome->Set(row + ", half of the 95 % interval", gain.margin);
  }
}

report::PageFigure DrawGains(const std::vector<CaseResult>& results) {
  report::BarFigure figure;
  figure.title = "What Crux and C4P add to what the fabric does";
  figure.description = "Gains in GPU utilization by oversubscription, a bar for each policy and fabric.";
  figure.y_label = "points busy";
  double most = 1;
  for (const Pair& pair : kPairs) {
    if (pair.against == "ecmp" && pair.policy != "crux" && pair.policy != "c4p") continue;
    figure.series.push_back(fmt::format("{} - {}", pair.policy, pair.against));
  }
  for (const CaseResult& result : results) {
    std::vector<double> bars;
    for (const Pair& pair : kPairs) {
      if (pair.against == "ecmp" && pair.policy != "crux" && pair.policy != "c4p") continue;
      bars.push_back(std::max(0.0, GainOf(result.busy, pair).mean));
      most = std::max(most, bars.back());
    }
    figure.groups.push_back({result.cell.Label(), std::move(bars), {}});
  }
  figure.y_domain = {0, most * 1.1};
  return {figure.title, Draw(figure), "Losses are drawn as none."};
}

// Over the draws, of the mean of all cases: those of one draw have the same jobs.
report::Spread MeanGain(const std::vector<CaseResult>& results, const Pair& pair, Busy CaseResult::*of) {
  std::vector<double> gains;
  for (const CaseResult& result : results) {
    const std::vector<double>& with = (result.*of).find(pair.policy)->second;
    const std::vector<double>& without = (result.*of).find(pair.against)->second;
    gains.resize(with.size());
    for (size_t d = 0; d < with.size(); ++d) {
      gains[d] += (with[d] - without[d]) / static_cast<double>(results.size());
    }
  }
  return report::SpreadOf(gains);
}

void SetMeanRows(const std::vector<CaseResult>& results, experiment::Outcome* outcome) {
  for (const Pair& pair : kPairs) {
    const std::string row = fmt::format("all cases: {} - {}", pair.policy, pair.against);
    const report::Spread busy = MeanGain(results, pair, &CaseResult::busy);
    const report::Spread flop = MeanGain(results, pair, &CaseResult::flop);
    outcome->Set(row, busy.mean);
    outcome->Set(row + ", half of the 95 % interval", busy.margin);
    outcome->Set(row + ", weighted with FLOP", flop.mean);
    outcome->Set(row + ", weighted with FLOP, half of the 95 % interval", flop.margin);
  }
}

std::string Answer(const std::vector<CaseResult>& results) {
  const auto text = [&](std::string_view policy, std::string_view against) {
    const report::Spread gain = MeanGain(results, {policy, against}, &CaseResult::busy);
    return fmt::format("{:+.2f} ± {:.2f}", gain.mean, gain.margin);
  };
  return fmt::format(
      "Of C4P's {} points of GPU utilization over hashes nothing is left where the fabric sprays, since it has no path "
      "to choose; Crux adds {} points to hashes, and its priorities alone {} to spray, {} to Ethereal and {} to "
      "flowlets (means over all cases with 95 % intervals over draws; spray itself adds {} to hashes).",
      text("c4p", "ecmp"), text("crux", "ecmp"), text("crux+spray", "spray"), text("crux+ethereal", "ethereal"),
      text("crux+flowlet", "flowlet"), text("spray", "ecmp"));
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const std::vector<Case> cases = AllCases();
  const uint32_t num_draws = context.reduced ? kNumReducedDraws : kNumDraws;
  const double simulated_s = context.reduced ? kReducedS : kSimulatedS;
  const auto num_runs = static_cast<double>(cases.size() * num_draws);
  experiment::Outcome outcome;
  std::vector<CaseResult> results;
  double done = 0;
  for (const Case& cell : cases) {
    CaseResult& result = results.emplace_back(CaseResult{.cell = cell});
    for (uint32_t draw = 0; draw < num_draws; ++draw) {
      // The same jobs on the same hosts in every case.
      FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, MakeScenario(cell, context.seed * 1000 + draw, simulated_s));
      FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                          SimulateScenario(scenario, context, done / num_runs, (done + 1) / num_runs));
      done += 1;
      if (context.should_stop()) {
        outcome.is_partial = true;
        return outcome;
      }
      for (const sim::RunResult& run : report.runs) {
        result.busy[run.policy].push_back(100 * run.busy);
        result.flop[run.policy].push_back(100 * run.flop_weighted);
      }
    }
  }
  outcome.notes.push_back(Answer(results));
  SetMeanRows(results, &outcome);
  for (const CaseResult& result : results) SetRows(result.cell, result.busy, &outcome);
  outcome.figures.push_back(DrawGains(results));
  outcome.notes.push_back(
      fmt::format("{} draws of jobs, hosts, hashes and phases for each case, {:.0f} s; gains are "
                  "differences between runs of the same draw.",
                  num_draws, simulated_s));
  return outcome;
}

}  // namespace fairlead::experiments::spraying
