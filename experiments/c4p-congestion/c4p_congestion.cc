#include "experiments/c4p-congestion/c4p_congestion.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "fluid/dcqcn.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4p_congestion {

namespace {

constexpr uint32_t kQueuePairs[] = {2, 4, 8};
constexpr uint32_t kNumSeeds = 5;
constexpr uint32_t kNumReducedSeeds = 1;
constexpr double kNicsPerJob = 16;

// Congestion notifications per second that a bonded NIC gets, mean over all NICs.
double CnpsPerNic(const sim::SimulationReport& report, std::string_view policy) {
  double sum = 0;
  double num_runs = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy) continue;
    double cnps = 0;
    for (const sim::JobResult& job : run.jobs) cnps += job.cnps.value_or(0);
    sum += cnps / run.simulated_s / (kNicsPerJob * static_cast<double>(run.jobs.size()));
    ++num_runs;
  }
  return sum / num_runs;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "CNPs per second and bonded NIC at 2:1";
  figure.description = "Two bars for each number of queue pairs: paths by hash, and by C4P.";
  figure.y_label = "CNPs/s";
  figure.y_domain = {0, 60000};
  figure.series = {"hashed", "C4P"};
  const uint32_t num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  double done = 0;
  for (const uint32_t queue_pairs : kQueuePairs) {
    C4pTestbed testbed;
    testbed.uplink_gbps = 400;
    testbed.queue_pairs = queue_pairs;
    testbed.simulated_s = 4;
    testbed.num_seeds = num_seeds;
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeC4pScenario(testbed));
    scenario.first_seed = context.seed;
    scenario.simulation.dcqcn = fluid::DcqcnOptions();
    const double part = 1.0 / std::size(kQueuePairs);
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + part));
    done += part;
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    const std::string row = fmt::format("{} queue pairs: ", queue_pairs);
    const double without = CnpsPerNic(report, "ecmp");
    const double with = CnpsPerNic(report, "c4p");
    outcome.Set(row + "CNPs without", without);
    outcome.Set(row + "CNPs with", with);
    outcome.Set(row + "bandwidth with", MeasureBandwidths(report, "c4p").mean);
    figure.groups.push_back({fmt::format("{} queue pairs", queue_pairs), {without, with}, {}});
  }
  outcome.Set("ideal bandwidth", kCeilingGbps / 2);
  outcome.figures.push_back({figure.title, Draw(figure), "The paper's bonded ports get 12,500 to 17,500."});
  outcome.notes.push_back(
      fmt::format("Means over {} hash seeds, eight jobs, all NICs; DCQCN with the parameters of its "
                  "papers.",
                  num_seeds));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_congestion
