#include "experiments/joint/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/embedded_texts.h"
#include "experiments/trace_scenario.h"
#include "report/allocation_summary.h"
#include "report/bar_figure.h"
#include "sim/scenario.h"

namespace fairlead::experiments::joint {
namespace {

constexpr std::string_view kScenario = "scenarios/joint.yaml";
constexpr uint32_t kNumSeeds = 3;
constexpr uint32_t kNumReducedSeeds = 1;
// Steps of the progress bar: one half for the runs with learnt speeds, the rest for those without.
constexpr double kLearningPart = 0.9;

using Summaries = std::map<std::string, report::AllocationSummary>;  // by policies, "aiturbo+crux"

// Means over hash seeds.
Summaries Average(const sim::SimulationReport& report) {
  std::map<std::string, double> num_runs;
  for (const sim::RunResult& run : report.runs) num_runs[run.policy] += 1;
  Summaries means;
  for (const sim::RunResult& run : report.runs) {
    const report::AllocationSummary summary = report::SummarizeAllocation(run, report.num_gpus);
    report::AllocationSummary& mean = means[run.policy];
    for (const auto field : {&report::AllocationSummary::mean_jct_s, &report::AllocationSummary::mean_wait_s,
                             &report::AllocationSummary::makespan_s, &report::AllocationSummary::restarts_per_job,
                             &report::AllocationSummary::busy_share, &report::AllocationSummary::mean_slowdown}) {
      mean.*field += summary.*field / num_runs[run.policy];
    }
    mean.num_unfinished += summary.num_unfinished;
  }
  return means;
}

double NumUnfinished(const Summaries& summaries) {
  double sum = 0;
  for (const auto& [policy, summary] : summaries) sum += summary.num_unfinished;
  return sum;
}

// Percent by which `after` is shorter than `before`.
double Below(const report::AllocationSummary& after, const report::AllocationSummary& before) {
  return 100 * (1 - after.mean_jct_s / before.mean_jct_s);
}

void SetRows(const Summaries& summaries, const sim::Scenario& scenario, experiment::Outcome* outcome) {
  for (const auto& [policy, summary] : summaries) {
    outcome->Set(policy + ": mean JCT", summary.mean_jct_s);
    outcome->Set(policy + ": GPUs busy", 100 * summary.busy_share);
    outcome->Set(policy + ": mean wait", summary.mean_wait_s);
    outcome->Set(policy + ": mean slowdown", summary.mean_slowdown);
  }
  for (const std::string& traffic : scenario.policies) {
    if (traffic == "ecmp") continue;
    const report::AllocationSummary& both = summaries.at("aiturbo+" + traffic);
    outcome->Set(fmt::format("aiturbo and {}: below aiturbo alone", traffic),
                 Below(both, summaries.at("aiturbo+ecmp")));
    outcome->Set(fmt::format("aiturbo and {0}: below {0} alone, fcfs sizes", traffic),
                 Below(both, summaries.at("fcfs+" + traffic)));
    outcome->Set(fmt::format("aiturbo and {0}: below {0} alone, tiresias sizes", traffic),
                 Below(both, summaries.at("tiresias+" + traffic)));
    outcome->Set(fmt::format("aiturbo and {}: busy points over aiturbo alone", traffic),
                 100 * (both.busy_share - summaries.at("aiturbo+ecmp").busy_share));
  }
}

void AddFigure(const Summaries& summaries, const sim::Scenario& scenario, experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = "Mean completion time, each alone and together";
  figure.description = "One group per allocation policy, one bar per traffic policy; means over hash seeds.";
  figure.y_label = "minutes";
  figure.series = scenario.policies;
  double most = 0;
  for (const std::string& allocation : scenario.allocations) {
    report::BarGroup group{allocation, {}, {}};
    for (const std::string& traffic : scenario.policies) {
      group.values.push_back(summaries.at(allocation + "+" + traffic).mean_jct_s / 60);
      most = std::max(most, group.values.back());
    }
    figure.groups.push_back(std::move(group));
  }
  figure.y_domain = {0, most};
  outcome->figures.push_back({figure.title, Draw(figure), ""});
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario,
                      sim::ParseScenario(FindEmbeddedText(kScenario), std::string(kScenario), {}));
  scenario.first_seed = context.seed;
  scenario.varied = {.hash = true, .phase = false, .placement = false};
  scenario.num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, kLearningPart));
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  const Summaries summaries = Average(report);
  SetRows(summaries, scenario, &outcome);
  AddFigure(summaries, scenario, &outcome);

  sim::Scenario unlearned = scenario;
  unlearned.learns_speeds = false;
  unlearned.allocations = {"aiturbo"};
  unlearned.policies = {"ecmp", "crux"};
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport believed, SimulateScenario(unlearned, context, kLearningPart, 1));
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  const Summaries without = Average(believed);
  for (const std::string& traffic : unlearned.policies) {
    outcome.Set(fmt::format("aiturbo+{}, speeds not learnt: mean JCT", traffic),
                without.at("aiturbo+" + traffic).mean_jct_s);
  }
  outcome.Set("jobs that did not end", NumUnfinished(summaries) + NumUnfinished(without));
  outcome.notes.push_back(fmt::format("{} jobs, means over {}.", scenario.jobs.size(),
                                      scenario.num_seeds == 1 ? "one hash seed" : "three hash seeds"));
  return outcome;
}

}  // namespace fairlead::experiments::joint
