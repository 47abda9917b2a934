#include "experiments/c4p-bonded-ports/c4p_bonded_ports.h"

#include <fmt/format.h>

#include <array>

#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4p_bonded_ports {

namespace {

constexpr std::array<uint32_t, 4> kQueuePairs = {2, 4, 8, 16};
constexpr uint32_t kNumSeeds = 50;
constexpr uint32_t kNumReducedSeeds = 10;

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "Bus bandwidth of one job, by queue pairs of a connection";
  figure.description = "Two bars for each number of queue pairs: paths by hash, and by C4P.";
  figure.y_label = "Gb/s per NIC";
  figure.y_domain = {0, 400};
  figure.series = {"hashed", "C4P"};
  for (size_t i = 0; i < kQueuePairs.size(); ++i) {
    C4pTestbed testbed;
    testbed.queue_pairs = kQueuePairs[i];
    testbed.num_jobs = 1;
    testbed.num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeC4pScenario(testbed));
    scenario.first_seed = context.seed;
    const double part = 1.0 / kQueuePairs.size();
    FL_ASSIGN_OR_RETURN(
        const sim::SimulationReport report,
        SimulateScenario(scenario, context, part * static_cast<double>(i), part * static_cast<double>(i + 1)));
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    const double without = MeasureBandwidths(report, "ecmp").mean;
    const double with = MeasureBandwidths(report, "c4p").mean;
    const std::string row = fmt::format("{} queue pairs: ", kQueuePairs[i]);
    outcome.Set(row + "without", without);
    outcome.Set(row + "with", with);
    outcome.Set(row + "gain", with / without);
    figure.groups.push_back({fmt::format("{} queue pairs", kQueuePairs[i]), {without, with}, {}});
  }
  outcome.figures.push_back({figure.title, Draw(figure), "One job of two hosts; all else is idle."});
  outcome.notes.push_back(fmt::format(
      "Means over {} hash seeds. Queue pairs leave by left and right port in turn; without C4P the port that "
      "they arrive at is a matter of hashing, and the slowest of 16 NICs decides.",
      context.reduced ? kNumReducedSeeds : kNumSeeds));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_bonded_ports
