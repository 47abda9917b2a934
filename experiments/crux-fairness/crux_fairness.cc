#include "experiments/crux-fairness/crux_fairness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "experiments/embedded_texts.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::crux_fairness {

namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"ecmp", "crux", "crux-fair", "crux-guard"};
constexpr double kSimulatedS = 900;
constexpr double kReducedS = 120;
constexpr double kOversubscription = 4;  // so that some job has to lose

// Throughput as a share of that alone.
struct Throughputs {
  double least = 1;
  double mean = 1;
  double lowest_tenth = 1;  // mean over the tenth of the jobs with network traffic that come last in the order
};

Throughputs Measure(const sim::RunResult& run) {
  std::vector<std::pair<uint32_t, double>> by_rank;  // jobs with network traffic
  Throughputs result;
  double sum = 0;
  for (const sim::JobResult& job : run.jobs) {
    if (job.gpu_intensity <= 0) continue;
    // A job without a whole iteration has at most begun one.
    const double throughput = job.slowdown > 0 ? 1 / job.slowdown : 0;
    by_rank.emplace_back(job.priority_rank, throughput);
    result.least = std::min(result.least, throughput);
    sum += throughput;
  }
  if (by_rank.empty()) return result;
  result.mean = sum / static_cast<double>(by_rank.size());
  std::sort(by_rank.begin(), by_rank.end());
  const size_t tenth = (by_rank.size() + 9) / 10;
  double last = 0;
  for (size_t i = by_rank.size() - tenth; i < by_rank.size(); ++i) last += by_rank[i].second;
  result.lowest_tenth = last / static_cast<double>(tenth);
  return result;
}

Result<sim::Scenario> LoadContendedSnapshot() {
  constexpr std::string_view kFile = "scenarios/lingjun-snapshot.yaml";
  std::string text(FindEmbeddedText(kFile));
  const std::string reference = "fabric_file: ../fabrics/lingjun-clos.yaml\n";
  const size_t at = text.find(reference);
  FL_CHECK_MSG(at != std::string::npos, "the snapshot must name its fabric");
  text.replace(at, reference.size(), FindEmbeddedText("fabrics/lingjun-clos.yaml"));
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::ParseScenario(text, std::string(kFile), {}));
  FL_ASSIGN_OR_RETURN(scenario.fabric, BuildTraceClos(kOversubscription));
  return scenario;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, LoadContendedSnapshot());
  scenario.policies.assign(kPolicies.begin(), kPolicies.end());
  scenario.num_seeds = 1;
  scenario.first_seed = context.seed;
  scenario.simulation.end = SimTime::FromSeconds(Seconds(context.reduced ? kReducedS : kSimulatedS));
  scenario.simulation.speed_report_interval = SimDuration::FromSeconds(Seconds(10));

  experiment::Outcome outcome;
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, 1));
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  report::BarFigure figure;
  figure.title = "Throughput of jobs, as a share of that alone";
  figure.description = "Three bars for each policy.";
  figure.y_label = "throughput / alone";
  figure.y_domain = {0, 1};
  figure.series = {"slowest job", "lowest tenth of the order", "mean"};
  double crux_busy = 0;
  for (const sim::RunResult& run : report.runs) {
    const Throughputs jobs = Measure(run);
    outcome.Set(run.policy + ": utilization", run.busy);
    outcome.Set(run.policy + ": slowest job", jobs.least);
    outcome.Set(run.policy + ": loss of the lowest tenth", 100 * (1 - jobs.lowest_tenth));
    if (run.policy == "crux") crux_busy = run.busy;
    figure.groups.push_back({run.policy, {jobs.least, jobs.lowest_tenth, jobs.mean}, {}});
  }
  for (const auto remedy : {"crux-fair", "crux-guard"}) {
    outcome.Set(fmt::format("{}: cost", remedy), 100 * (crux_busy - MeanBusy(report, remedy)));
  }
  outcome.figures.push_back({figure.title, Draw(figure), "Jobs with network traffic only."});
  outcome.notes.push_back(
      fmt::format("39 jobs of the Lingjun snapshot on scattered hosts, uplinks {:.0f}:1, {:.0f} s; speeds are reported "
                  "every 10 s. crux-fair mixes in lost throughput with x = 0.5; crux-guard lifts a job that is 20 s "
                  "behind a tenth of its speed alone to level 0 until the next report, and so does crux-fair.",
                  kOversubscription, scenario.simulation.end.seconds().value()));
  return outcome;
}

}  // namespace fairlead::experiments::crux_fairness
