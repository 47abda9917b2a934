#include "experiments/lab-downtime/lab_downtime.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/lab-downtime/downtime_run.h"
#include "experiments/lab_experiment.h"
#include "report/html_page.h"
#include "report/line_figure.h"

namespace fairlead::experiments::lab_downtime {

namespace {

using lab::LabFaultKind;

constexpr const char* kScenario = "scenarios/lab-diagnosis.yaml";

// Iterations that were done and kept, over the time of the run. Args: runs: by label.
report::PageFigure DrawProgress(const std::vector<std::pair<std::string, DowntimeRun>>& runs) {
  report::LineFigure figure;
  figure.title = "Iterations of a job through some faults";
  figure.description = "Done and kept, over the time of the run; each curve is one run.";
  figure.x_label = "s";
  figure.y_label = "iterations";
  for (const auto& [label, run] : runs) {
    report::LineSeries series{
        .label = label, .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
    for (const ProgressPoint& point : run.progress) {
      series.points.push_back({point.at_s, static_cast<double>(point.iterations)});
    }
    figure.series.push_back(std::move(series));
  }
  report::FitAxes(&figure);
  return {figure.title, Draw(figure), "A flat curve is a stalled job; one that falls back has lost iterations."};
}

DowntimeOptions PlanDowntime(bool reduced, bool has_c4d, size_t num_hosts) {
  DowntimeOptions options;
  options.num_hosts = num_hosts;
  options.has_c4d = has_c4d;
  options.seconds = reduced ? 150 : 1800;
  // As long as PyTorch's watchdog for NCCL waits; in a reduced run a tenth of that.
  options.watchdog_s = reduced ? 60 : 600;
  const double step_s = options.seconds / 3.6;
  options.faults = {{0.2 * step_s, {.kind = LabFaultKind::kKilledRank, .worker = 2}},
                    {1.2 * step_s, {.kind = LabFaultKind::kCutLink, .worker = 5}}};
  if (!reduced) options.faults.push_back({2.4 * step_s, {.kind = LabFaultKind::kKilledHost, .worker = 3}});
  return options;
}

Status RunDowntime(const experiment::RunContext& context, const LabScenario& lab_scenario,
                   experiment::Outcome* outcome) {
  std::vector<std::pair<std::string, DowntimeRun>> runs;
  for (const bool has_c4d : {false, true}) {
    context.Report(has_c4d ? 0.5 : 0);
    FL_ASSIGN_OR_RETURN(const lab::SteeredLabOptions options, SteeredLabOptionsOf(context, has_c4d));
    FL_ASSIGN_OR_RETURN(const auto lab,
                        lab::SteeredLab::Start(lab_scenario.file(), lab_scenario.scenario(), options, *context.stop));
    FL_ASSIGN_OR_RETURN(
        DowntimeRun run,
        RunWithFaults(lab.get(), PlanDowntime(context.reduced, has_c4d, lab_scenario.scenario().fabric.num_hosts())));
    const std::string name = has_c4d ? "with C4D" : "without C4D";
    outcome->Set(name + ": downtime", 100 * run.DowntimeShare());
    outcome->Set(name + ": restarts", run.restarts);
    for (const std::string& note : run.notes) outcome->notes.push_back(fmt::format("{}: {}", name, note));
    runs.emplace_back(name, std::move(run));
  }
  outcome->figures.push_back(DrawProgress(runs));
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const LabScenario lab_scenario, LabScenario::Write(kScenario));
  experiment::Outcome outcome;
  const Status status = RunDowntime(context, lab_scenario, &outcome);
  if (!status.ok()) return WithoutLab(status);
  return outcome;
}

}  // namespace fairlead::experiments::lab_downtime
