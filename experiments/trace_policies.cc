#include "experiments/trace_policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"
#include "report/line_figure.h"

namespace fairlead::experiments {

namespace {

constexpr std::array<std::string_view, 7> kPolicies = {"ecmp",    "sincronia",  "taccl-star", "cassini",
                                                       "crux-pa", "crux-ps-pa", "crux"};
// The morning of a busy day.
constexpr double kReducedFirstDay = 11;
constexpr double kReducedLastDay = 11.2;

using Busy = std::map<std::string, double>;

// The order that the paper found: how many of its four statements hold.
double CountOrder(const Busy& busy) {
  const double best_rival = std::max(busy.at("taccl-star"), busy.at("cassini"));
  const double least_rival = std::min(busy.at("taccl-star"), busy.at("cassini"));
  double holds = 0;
  holds += busy.at("sincronia") < least_rival ? 1 : 0;
  holds += best_rival < busy.at("crux-pa") ? 1 : 0;
  holds += busy.at("crux-pa") < busy.at("crux-ps-pa") ? 1 : 0;
  holds += std::abs(busy.at("crux") - busy.at("crux-ps-pa")) <= 0.01 ? 1 : 0;
  return holds;
}

// Path selection against the other two steps: priorities over the best rival, compression.
double LargestStepIsPaths(const Busy& busy) {
  const double paths = busy.at("crux-ps-pa") - busy.at("crux-pa");
  const double priorities = busy.at("crux-pa") - std::max(busy.at("taccl-star"), busy.at("cassini"));
  const double compression = std::abs(busy.at("crux") - busy.at("crux-ps-pa"));
  return paths > priorities && paths > compression ? 1 : 0;
}

void AddRows(const std::string& prefix, const Busy& busy, double ideal, experiment::Outcome* outcome) {
  for (const auto policy : kPolicies) {
    outcome->Set(fmt::format("{}utilization, {}", prefix, policy), busy.at(std::string(policy)));
  }
  outcome->Set(prefix + "utilization, every job alone", ideal);
  for (const auto rival : {"sincronia", "taccl-star", "cassini"}) {
    outcome->Set(fmt::format("{}crux over {}", prefix, rival), 100 * (busy.at("crux") - busy.at(rival)));
  }
  outcome->Set(prefix + "crux over ecmp", 100 * (busy.at("crux") - busy.at("ecmp")));
  outcome->Set(prefix + "path selection: crux-ps-pa over crux-pa", 100 * (busy.at("crux-ps-pa") - busy.at("crux-pa")));
  outcome->Set(prefix + "compression to 8 levels: crux over crux-ps-pa",
               100 * (busy.at("crux") - busy.at("crux-ps-pa")));
  outcome->Set(prefix + "statements of the paper's order that hold", CountOrder(busy));
  outcome->Set(prefix + "path selection is the largest step", LargestStepIsPaths(busy));
}

report::PageFigure DrawBars(const std::vector<std::pair<std::string, Busy>>& columns) {
  report::BarFigure figure;
  figure.title = "GPU utilization over the trace";
  figure.description = "One bar for each policy.";
  figure.y_label = "GPU utilization";
  figure.y_domain = {0, 1};
  for (const auto policy : kPolicies) figure.series.emplace_back(policy);
  for (const auto& [label, busy] : columns) {
    report::BarGroup group{label, {}, {}};
    for (const auto policy : kPolicies) group.values.push_back(busy.at(std::string(policy)));
    figure.groups.push_back(std::move(group));
  }
  return {figure.title, Draw(figure), "Like Figure 23 of the paper. Busy share of the GPU time that jobs hold."};
}

// First seed of each policy.
report::PageFigure DrawOverTime(const sim::SimulationReport& report, const std::string& label) {
  report::LineFigure figure;
  figure.title = fmt::format("GPU utilization over time, {}", label);
  figure.description = "One curve for each policy.";
  figure.y_label = "GPU utilization";
  figure.y_domain = {0, 1};
  figure.y_ticks = report::PlanTicks(figure.y_domain, 6);
  for (const sim::RunResult& run : report.runs) {
    const auto place = std::find(kPolicies.begin(), kPolicies.end(), run.policy);
    report::LineSeries series;
    series.label = run.policy;
    series.color = static_cast<size_t>(place - kPolicies.begin());
    // Means over half a day: hours with few jobs would hide the rest.
    constexpr size_t kHours = 12;
    const auto& bins = run.timeline.gpu_busy;
    for (size_t b = 0; b < bins.size(); b += kHours) {
      const size_t end = std::min(bins.size(), b + kHours);
      double sum = 0;
      for (size_t i = b; i < end; ++i) sum += bins[i];
      series.points.push_back({(static_cast<double>(b) + 0.5 * static_cast<double>(end - b)) * run.timeline.bin_s,
                               sum / static_cast<double>(end - b)});
    }
    figure.x_domain = {0, run.simulated_s};
    figure.series.push_back(std::move(series));
  }
  figure.x_ticks = report::PlanTimeTicks(figure.x_domain, 10);
  return {figure.title, Draw(figure), "Like Figure 24 of the paper: means over half a day."};
}

std::string DescribeRuns(const sim::SimulationReport& report, const std::string& label) {
  double wall_s = 0;
  double jumped = 1;
  for (const sim::RunResult& run : report.runs) {
    wall_s += run.wall_s;
    jumped = std::min(jumped, run.fast_forward_fraction);
  }
  return fmt::format("{}: {:.0f} s of runs, one after the other; at least {:.1f} % of job time fast-forwarded.", label,
                     wall_s, 100 * jumped);
}

}  // namespace

Result<experiment::Outcome> CompareTracePolicies(Result<topology::Fabric> (*build)(double oversubscription),
                                                 const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, LoadTraceScenario());
  scenario.policies.assign(kPolicies.begin(), kPolicies.end());
  // Fig. 25's bar without a job scheduler is the same as Sincronia's here, so hosts are drawn without regard to the
  // network.
  scenario.placement = "random";
  scenario.num_seeds = 1;
  scenario.first_seed = context.seed;
  if (context.reduced) CutDays(kReducedFirstDay, kReducedLastDay, &scenario);

  experiment::Outcome outcome;
  std::vector<std::pair<std::string, Busy>> columns;
  constexpr std::array<double, 2> kOversubscription = {1, 2};
  for (size_t i = 0; i < kOversubscription.size(); ++i) {
    FL_ASSIGN_OR_RETURN(scenario.fabric, build(kOversubscription[i]));
    const auto share = [&](size_t part) { return static_cast<double>(part) / kOversubscription.size(); };
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                        SimulateScenario(scenario, context, share(i), share(i + 1)));
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    Busy busy;
    for (const auto policy : kPolicies) busy[std::string(policy)] = MeanBusy(report, std::string(policy));
    const std::string label = fmt::format("{:.0f}:1", kOversubscription[i]);
    const sim::RunResult& any = report.runs.front();
    AddRows(i == 0 ? "" : label + ": ", busy, any.ideal_busy, &outcome);
    columns.emplace_back(label, std::move(busy));
    outcome.figures.push_back(DrawOverTime(report, label));
    outcome.notes.push_back(DescribeRuns(report, label));
  }
  outcome.figures.insert(outcome.figures.begin(), DrawBars(columns));
  outcome.notes.emplace_back(
      "Hosts are drawn at random: with locality-first placement hardly any two jobs meet on a link.");
  for (const std::string& note : scenario.notes) outcome.notes.push_back(note);
  if (context.reduced) outcome.notes.emplace_back("Reduced: the jobs of one busy morning.");
  return outcome;
}

}  // namespace fairlead::experiments
