#include "experiments/lab-diagnosis/lab_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "experiments/lab-diagnosis/diagnosis_figures.h"
#include "experiments/lab-diagnosis/downtime_run.h"
#include "experiments/lab_experiment.h"
#include "lab/fault_tour.h"
#include "lab/fault_verdict.h"
#include "lab/free_page.h"

namespace fairlead::experiments::lab_diagnosis {

namespace {

using lab::LabFault;
using lab::LabFaultKind;

constexpr const char* kScenario = "scenarios/lab-diagnosis.yaml";
constexpr double kIterationSeconds = 0.5;
constexpr uint32_t kTours = 3;
// The halves of an experiment, for its progress.
constexpr double kTourShare = 0.5;

Result<lab::SteeredLabOptions> LabOf(const experiment::RunContext& context, bool acts) {
  lab::SteeredLabOptions options;
  options.session = LabOptionsOf(context);
  options.acts = acts;
  FL_ASSIGN_OR_RETURN(options.session.page, lab::FindFreePage());
  return options;
}

void AddTour(const lab::FaultTour& tour, std::map<std::string, KindResult>* kinds, Confusion* confusion) {
  for (const lab::TourStop& stop : tour.stops) {
    const std::string name(lab::Name(stop.fault.kind));
    KindResult& kind = (*kinds)[name];
    ++kind.runs;
    kind.right += stop.is_right;
    if (stop.found_s) kind.found_s.push_back(*stop.found_s);
    if (stop.was_restarted && stop.back_s) kind.back_s.push_back(*stop.back_s);
    ++(*confusion)[name][stop.findings.empty() ? "none" : stop.findings.front().syndrome];
  }
}

// What was said where it was not right, for those who want to know why.
void AddWrong(const lab::FaultTour& tour, uint32_t number, experiment::Outcome* outcome) {
  for (const lab::TourStop& stop : tour.stops) {
    if (stop.is_right) continue;
    if (stop.findings.empty()) {
      outcome->notes.push_back(
          fmt::format("tour {}: {} on {}: missed", number + 1, lab::Name(stop.fault.kind), stop.host));
    }
    for (const lab::PublishedFinding& finding : stop.findings) {
      outcome->notes.push_back(fmt::format("tour {}: {} on {}: {} found: {}", number + 1, lab::Name(stop.fault.kind),
                                           stop.host, finding.syndrome, finding.text));
    }
  }
}

// All rows have a value, NaN where there is none: a fault that was not toured, or not found.
void ReportTours(const std::map<std::string, KindResult>& kinds, const Confusion& confusion, size_t num_unexpected,
                 experiment::Outcome* outcome) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> restarts;
  for (size_t k = 0; k < lab::kNumLabFaultKinds; ++k) {
    const auto fault = static_cast<LabFaultKind>(k);
    const std::string name(lab::Name(fault));
    const auto found = kinds.find(name);
    const KindResult kind = found == kinds.end() ? KindResult() : found->second;
    outcome->Set(name + ": right", kind.runs == 0 ? kNone : static_cast<double>(kind.right) / kind.runs);
    restarts.insert(restarts.end(), kind.back_s.begin(), kind.back_s.end());
    if (!lab::NeedsFinding(fault)) continue;
    outcome->Set(name + ": seconds to the finding",
                 kind.found_s.empty() ? kNone : *std::max_element(kind.found_s.begin(), kind.found_s.end()));
  }
  const double sum = std::accumulate(restarts.begin(), restarts.end(), 0.0);
  outcome->Set("restart: seconds from the finding",
               restarts.empty() ? kNone : sum / static_cast<double>(restarts.size()));
  outcome->Set("findings where nothing was planted", static_cast<double>(num_unexpected));
  for (const auto& [planted, found] : confusion) {
    std::string line = planted + ":";
    for (const auto& [syndrome, count] : found) line += fmt::format(" {} {}", syndrome, count);
    outcome->notes.push_back(line);
  }
  outcome->figures.push_back(DrawConfusion(confusion));
  outcome->figures.push_back(DrawTimes(kinds));
}

Status RunTours(const experiment::RunContext& context, const LabScenario& played, experiment::Outcome* outcome) {
  std::map<std::string, KindResult> kinds;
  Confusion confusion;
  size_t num_unexpected = 0;
  const uint32_t tours = context.reduced ? 1 : kTours;
  for (uint32_t t = 0; t < tours; ++t) {
    lab::FaultTourOptions options;
    FL_ASSIGN_OR_RETURN(options.lab, LabOf(context, true));
    const auto num_workers = static_cast<uint32_t>(played.scenario().jobs.front().job.hosts.size());
    const std::vector<LabFaultKind> some = {LabFaultKind::kKilledRank, LabFaultKind::kFrozenRank};
    options.faults =
        lab::PlanTour(context.reduced ? some : std::vector<LabFaultKind>(), num_workers, kIterationSeconds);
    // Other workers in each tour.
    for (LabFault& fault : options.faults) {
      fault.worker = (fault.worker + t) % num_workers;
      fault.peer = (fault.peer + t) % num_workers;
    }
    const auto progress = [&](const std::string&, double fraction) {
      context.Report(kTourShare * (t + fraction) / tours);
    };
    FL_ASSIGN_OR_RETURN(const lab::FaultTour tour,
                        lab::RunFaultTour(played.file(), played.scenario(), options, progress, *context.stop));
    AddTour(tour, &kinds, &confusion);
    AddWrong(tour, t, outcome);
    num_unexpected += tour.unexpected.size();
  }
  ReportTours(kinds, confusion, num_unexpected, outcome);
  return OkStatus();
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

Status RunDowntime(const experiment::RunContext& context, const LabScenario& played, experiment::Outcome* outcome) {
  std::vector<std::pair<std::string, DowntimeRun>> runs;
  for (const bool has_c4d : {false, true}) {
    context.Report(kTourShare + (has_c4d ? (1 - kTourShare) / 2 : 0));
    FL_ASSIGN_OR_RETURN(const lab::SteeredLabOptions options, LabOf(context, has_c4d));
    FL_ASSIGN_OR_RETURN(const auto lab,
                        lab::SteeredLab::Start(played.file(), played.scenario(), options, *context.stop));
    FL_ASSIGN_OR_RETURN(DowntimeRun run, RunWithFaults(lab.get(), PlanDowntime(context.reduced, has_c4d,
                                                                               played.scenario().fabric.num_hosts())));
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
  FL_ASSIGN_OR_RETURN(const LabScenario played, LabScenario::Write(kScenario));
  experiment::Outcome outcome;
  for (const auto& part : {RunTours, RunDowntime}) {
    const Status status = part(context, played, &outcome);
    if (!status.ok()) return WithoutLab(status);
  }
  return outcome;
}

}  // namespace fairlead::experiments::lab_diagnosis
