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
#include "experiments/lab_experiment.h"
#include "lab/fault_tour.h"
#include "lab/fault_verdict.h"

namespace fairlead::experiments::lab_diagnosis {

namespace {

using lab::LabFault;
using lab::LabFaultKind;

constexpr const char* kScenario = "scenarios/lab-diagnosis.yaml";
constexpr double kIterationSeconds = 0.5;
constexpr uint32_t kTours = 3;

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

// Wrong findings, for readers who want to know why.
void AddWrong(const lab::FaultTour& tour, uint32_t number, experiment::Outcome* outcome) {
  for (const lab::TourStop& stop : tour.stops) {
    if (stop.is_right) continue;
    if (stop.findings.empty()) {
      outcome->notes.push_back(
          fmt::format("tour {}: {} on {}: missed", number + 1, lab::Name(stop.fault.kind), stop.host));
    }
    for (const wire::LiveFinding& finding : stop.findings) {
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

Status RunTours(const experiment::RunContext& context, const LabScenario& lab_scenario, experiment::Outcome* outcome) {
  std::map<std::string, KindResult> kinds;
  Confusion confusion;
  size_t num_unexpected = 0;
  const uint32_t tours = context.reduced ? 1 : kTours;
  for (uint32_t t = 0; t < tours; ++t) {
    lab::FaultTourOptions options;
    FL_ASSIGN_OR_RETURN(options.lab, SteeredLabOptionsOf(context, true));
    const auto num_workers = static_cast<uint32_t>(lab_scenario.scenario().jobs.front().job.hosts.size());
    const std::vector<LabFaultKind> some = {LabFaultKind::kKilledRank, LabFaultKind::kFrozenRank};
    options.faults =
        lab::PlanTour(context.reduced ? some : std::vector<LabFaultKind>(), num_workers, kIterationSeconds);
    // Other workers in each tour.
    for (LabFault& fault : options.faults) {
      fault.worker = (fault.worker + t) % num_workers;
      fault.peer = (fault.peer + t) % num_workers;
    }
    const auto progress = [&](const std::string&, double fraction) { context.Report((t + fraction) / tours); };
    FL_ASSIGN_OR_RETURN(const lab::FaultTour tour, lab::RunFaultTour(lab_scenario.file(), lab_scenario.scenario(),
                                                                     options, progress, *context.stop));
    AddTour(tour, &kinds, &confusion);
    AddWrong(tour, t, outcome);
    num_unexpected += tour.unexpected.size();
  }
  ReportTours(kinds, confusion, num_unexpected, outcome);
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const LabScenario lab_scenario, LabScenario::Write(kScenario));
  experiment::Outcome outcome;
  const Status status = RunTours(context, lab_scenario, &outcome);
  if (!status.ok()) return WithoutLab(status);
  return outcome;
}

}  // namespace fairlead::experiments::lab_diagnosis
