#include "experiments/c4p-eight-jobs/c4p_eight_jobs.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4p_eight_jobs {

namespace {

constexpr uint32_t kNumSeeds = 20;
constexpr uint32_t kNumReducedSeeds = 3;

struct Case {
  std::string_view row;
  double uplink_gbps = 800;
  uint32_t queue_pairs = 8;
};

constexpr Case kCases[] = {{"1:1", 800, 8},
                           {"2:1", 400, 8},
                           {"1:1, 2 queue pairs", 800, 2},
                           {"1:1, 4 queue pairs", 800, 4},
                           {"1:1, 16 queue pairs", 800, 16}};

void AddBars(const Case& test_case, const sim::SimulationReport& report, std::vector<report::BarFigure>* figures) {
  report::BarFigure figure;
  figure.title = fmt::format("Bus bandwidth of eight jobs, {}", test_case.row);
  figure.description = "Two bars for each job: paths by hash (first seed), and by C4P.";
  figure.y_label = "Gb/s per NIC";
  figure.y_domain = {0, 400};
  figure.series = {"hashed", "C4P"};
  for (size_t j = 0; j < 8; ++j) figure.groups.push_back({fmt::format("job {}", j), {0, 0}, {}});
  for (size_t series = 0; series < 2; ++series) {
    for (const sim::RunResult& run : report.runs) {
      if (run.policy != (series == 0 ? "ecmp" : "c4p") || run.seed != report.runs.front().seed) continue;
      for (const sim::JobResult& job : run.jobs) figure.groups[job.id.index()].values[series] = BusBandwidth(job);
    }
  }
  figures->push_back(figure);
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  std::vector<report::BarFigure> figures;
  double done = 0;
  for (const Case& test_case : kCases) {
    C4pTestbed testbed;
    testbed.uplink_gbps = test_case.uplink_gbps;
    testbed.queue_pairs = test_case.queue_pairs;
    testbed.num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeC4pScenario(testbed));
    scenario.first_seed = context.seed;
    const double part = 1.0 / std::size(kCases);
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + part));
    done += part;
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    const Bandwidths without = MeasureBandwidths(report, "ecmp");
    const Bandwidths with = MeasureBandwidths(report, "c4p");
    const std::string row = fmt::format("{}: ", test_case.row);
    outcome.Set(row + "worst job without", without.worst);
    outcome.Set(row + "best job without", without.best);
    outcome.Set(row + "worst job with", with.worst);
    outcome.Set(row + "best job with", with.best);
    outcome.Set(row + "spread with", with.best - with.worst);
    outcome.Set(row + "total, with / without", with.mean / without.mean);
    if (test_case.queue_pairs == 8) AddBars(test_case, report, &figures);
  }
  for (const report::BarFigure& figure : figures) {
    outcome.figures.push_back({figure.title, Draw(figure), "One hash seed; the table has means over seeds."});
  }
  outcome.notes.push_back(fmt::format("Means over {} hash seeds of each run's worst and best job.",
                                      context.reduced ? kNumReducedSeeds : kNumSeeds));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_eight_jobs
