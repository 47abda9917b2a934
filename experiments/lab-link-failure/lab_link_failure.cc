#include "experiments/lab-link-failure/lab_link_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "experiments/lab_experiment.h"
#include "lab/lab_comparison.h"
#include "lab/lab_run.h"
#include "lab/lab_workload.h"
#include "report/line_figure.h"

namespace fairlead::experiments::lab_link_failure {

namespace {

constexpr const char* kCable = "leaf0-spine3";
constexpr const char* kLink = "leaf0->spine3";  // the same, in the simulator
constexpr double kWarmUp = 6;
constexpr double kCutAt = 10;
// After the cut, before the remaining throughput is measured: the required time.
constexpr double kSettling = 5;
constexpr double kSeconds = 30;
constexpr double kReducedSeconds = 24;
constexpr uint32_t kNumSeeds = 5;
constexpr double kBin = 1;
// 7/8 of what 16 NICs of 200 Gb/s send when nothing collides.
constexpr double kIdealGbps = 3200.0 * 7 / 8;

// Gb/s of all jobs in each bin of the measured time, at the speed of the fabric: iterations send their bytes evenly.
std::vector<double> ThroughputOverTime(const lab::LabRunResult& run, double scale) {
  std::vector<double> bins(static_cast<size_t>(run.measured_s / kBin), 0.0);
  for (const lab::LabJobResult& job : run.jobs) {
    for (const lab::LabIteration& iteration : job.iterations) {
      const double rate = job.bytes_per_iteration * 8e-9 / scale / iteration.seconds;
      for (size_t b = 0; b < bins.size(); ++b) {
        const double begin = std::max(iteration.begin_s, static_cast<double>(b) * kBin);
        const double end = std::min(iteration.begin_s + iteration.seconds, static_cast<double>(b + 1) * kBin);
        if (end > begin) bins[b] += rate * (end - begin) / kBin;
      }
    }
  }
  return bins;
}

// Mean over bins that lie between two times. The last bin, in which iterations were cut short, is never one of them.
double MeanBetween(const std::vector<double>& bins, double from_s, double to_s) {
  double sum = 0;
  double count = 0;
  for (size_t b = 0; b + 1 < bins.size(); ++b) {
    const double begin = static_cast<double>(b) * kBin;
    if (begin < from_s || begin + kBin > to_s) continue;
    sum += bins[b];
    ++count;
  }
  return sum / count;
}

report::LineFigure DrawRuns(const std::vector<std::pair<std::string, std::vector<double>>>& runs) {
  report::LineFigure figure;
  figure.title = "Eight jobs while an uplink is cut";
  figure.description = "Throughput of all jobs in each second; the cable is cut at 10 s.";
  figure.x_label = "s";
  figure.y_label = "Gb/s";
  for (const auto& [label, bins] : runs) {
    report::LineSeries series{
        .label = label, .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
    for (size_t b = 0; b + 1 < bins.size(); ++b) {
      series.points.push_back({static_cast<double>(b) * kBin + kBin / 2, bins[b]});
    }
    figure.series.push_back(std::move(series));
  }
  report::FitAxes(&figure);
  return figure;
}

// One lab for each way, whose switches hash by `seed`.
Result<lab::LabRunResult> RunInLab(const LabScenario& lab_scenario, const experiment::RunContext& context,
                                   uint32_t seed, bool steers, double seconds) {
  lab::LabSessionOptions options = LabOptionsOf(context);
  options.lab.hash_seed += seed;
  FL_ASSIGN_OR_RETURN(auto session,
                      lab::LabSession::Start(lab_scenario.file(), lab_scenario.scenario(), options, *context.stop));
  // Under ECMP nothing adapts, the shares of queue pairs neither.
  const auto bytes = steers ? lab::QueuePairBytes::kShared : lab::QueuePairBytes::kFixed;
  FL_ASSIGN_OR_RETURN(const auto jobs, lab::PlanJobs(lab_scenario.scenario(), session.state().plan, 0, bytes));
  return session.Run(jobs, steers, kWarmUp, seconds,
                     {{.at_s = kCutAt, .act = [&] { return session.SetHealth(kCable, 0); }}});
}

// The steered jobs in the simulator; cut: without the cable from the beginning.
Result<std::vector<lab::SimulatedJob>> Simulate(sim::Scenario scenario, bool cut, const std::atomic<bool>& stop) {
  if (cut) {
    const LinkId link = scenario.fabric.FindLink(kLink);
    for (const LinkId one : {link, scenario.fabric.reverse(link)}) {
      scenario.link_events.push_back({.time = SimTime(), .link = one, .health = 0});
    }
  }
  FL_ASSIGN_OR_RETURN(lab::SimulatedRuns runs, lab::SimulateUnder(std::move(scenario), "c4p", stop));
  return std::move(runs.jobs);
}

// Iterations that begin and end within [from_s, to_s] of the measured time, beside the simulator's.
void AddDifferences(const lab::LabRunResult& run, double from_s, double to_s,
                    const std::vector<lab::SimulatedJob>& simulated, IterationDifferences* differences) {
  for (size_t j = 0; j < run.jobs.size(); ++j) {
    lab::LabJobResult within;
    for (const lab::LabIteration& one : run.jobs[j].iterations) {
      if (one.begin_s >= from_s && one.begin_s + one.seconds <= to_s) within.iteration_s.push_back(one.seconds);
    }
    differences->Add(lab::MeanIterationOf(within), simulated[j].mean_s);
  }
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const LabScenario lab_scenario, LabScenario::Write("scenarios/lab-link-failure.yaml"));
  const double seconds = context.reduced ? kReducedSeconds : kSeconds;
  const uint32_t num_seeds = context.reduced ? 1 : kNumSeeds;
  FL_ASSIGN_OR_RETURN(const auto simulated_before, Simulate(lab_scenario.scenario(), false, *context.stop));
  FL_ASSIGN_OR_RETURN(const auto simulated_after, Simulate(lab_scenario.scenario(), true, *context.stop));
  experiment::Outcome outcome;
  std::vector<std::pair<std::string, std::vector<double>>> runs;
  for (const bool steers : {false, true}) {
    const std::string side = steers ? "Fairlead" : "ECMP";
    double before = 0;
    double after = 0;
    double worst = std::numeric_limits<double>::infinity();
    IterationDifferences differences_before;
    IterationDifferences differences_after;
    for (uint32_t seed = 0; seed < num_seeds; ++seed) {
      context.Report(((steers ? num_seeds : 0) + seed) / (2.0 * num_seeds));
      const auto run = RunInLab(lab_scenario, context, seed, steers, seconds);
      if (!run.ok()) return WithoutLab(run.status());
      const std::vector<double> bins = ThroughputOverTime(*run, LabOptionsOf(context).lab.scale);
      const double of_seed = MeanBetween(bins, kCutAt + kSettling, seconds);
      before += MeanBetween(bins, 0, kCutAt) / num_seeds;
      after += of_seed / num_seeds;
      worst = std::min(worst, of_seed);
      if (seed == 0) runs.emplace_back(side, bins);
      AddDifferences(*run, 0, kCutAt, simulated_before, &differences_before);
      AddDifferences(*run, kCutAt + kSettling, seconds, simulated_after, &differences_after);
    }
    outcome.Set(side + ": before", before);
    outcome.Set(side + ": after", after);
    // Jobs that lose a connection end, and with them the run.
    outcome.Set(side + ": share of 7/8 of 3,200 Gb/s", 100 * after / kIdealGbps);
    outcome.Set(side + ": share, worst seed", 100 * worst / kIdealGbps);
    if (!steers) continue;
    outcome.Set("iterations before, lab against simulator", differences_before.Median());
    outcome.Set("iterations after, lab against simulator", differences_after.Median());
  }
  const report::LineFigure figure = DrawRuns(runs);
  outcome.figures.push_back({figure.title, Draw(figure), "One hash seed; iterations count evenly from begin to end."});
  outcome.notes.push_back(
      fmt::format("{} labs that hash differently. {} is cut at {:.0f} s; 'after' begins {:.0f} s later. No connection "
                  "broke: a job that loses one ends the run with an error.",
                  num_seeds, kCable, kCutAt, kSettling));
  return outcome;
}

}  // namespace fairlead::experiments::lab_link_failure
