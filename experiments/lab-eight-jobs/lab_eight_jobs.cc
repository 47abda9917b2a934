#include "experiments/lab-eight-jobs/lab_eight_jobs.h"

#include <fmt/format.h>

#include <string>

#include "experiments/lab_experiment.h"
#include "lab/lab_comparison.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::lab_eight_jobs {

namespace {

constexpr ComparisonSize kSize = {.num_seeds = 5, .seconds = 20, .reduced_seconds = 8};
// Of the 16 NICs of 200 Gb/s, when nothing collides.
constexpr double kIdealGbps = 3200;

report::BarFigure DrawJobs(const lab::LabComparison& comparison) {
  report::BarFigure figure;
  figure.title = "Eight jobs in the lab";
  figure.description = "Two bars for each job: what it sends under ECMP, and under Fairlead; first hash seed.";
  figure.y_label = "Gb/s of a job";
  figure.y_domain = {0, kIdealGbps / 8};
  figure.series = {"ECMP", "Fairlead"};
  const lab::HashedAndSteered& run = comparison.runs.front();
  for (size_t j = 0; j < run.hashed.jobs.size(); ++j) {
    const double unit = 8e-9 / comparison.scale;
    figure.groups.push_back({run.hashed.jobs[j].name,
                             {run.hashed.jobs[j].sent_bytes_per_s * unit, run.steered.jobs[j].sent_bytes_per_s * unit},
                             {}});
  }
  return figure;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const LabScenario lab_scenario, LabScenario::Write("scenarios/lab-eight-jobs.yaml"));
  const auto comparison = Compare(lab_scenario, kSize, context);
  if (!comparison.ok()) return WithoutLab(comparison.status());
  const lab::ThroughputGain gain = lab::GainOf(*comparison);
  experiment::Outcome outcome;
  outcome.Set("total, Fairlead / ECMP", gain.gain);
  outcome.Set("total, simulated", gain.simulated_gain);
  outcome.Set("ECMP: total", gain.hashed_gbps);
  outcome.Set("Fairlead: total", gain.steered_gbps);
  outcome.Set("Fairlead: of the ideal", 100 * gain.steered_gbps / kIdealGbps);
  outcome.Set("Fairlead: spread between jobs", 100 * gain.steered_spread);
  outcome.Set("iterations, lab against simulator", MedianDifference(*comparison));
  const report::BarFigure figure = DrawJobs(*comparison);
  outcome.figures.push_back({figure.title, Draw(figure), "One hash seed; the table has means over seeds."});
  outcome.notes.push_back(DescribeRuns(*comparison));
  return outcome;
}

}  // namespace fairlead::experiments::lab_eight_jobs
