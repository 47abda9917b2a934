#include "experiments/lab-bonded-ports/lab_bonded_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "experiments/lab_experiment.h"
#include "lab/lab_comparison.h"
#include "lab/port_balance.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::lab_bonded_ports {

namespace {

// Shares of queue pairs need a while to find their places.
constexpr ComparisonSize kSize = {.num_seeds = 5, .seconds = 15, .reduced_seconds = 6, .warm_up_s = 5};
// Of a NIC with both ports full.
constexpr double kNicGbps = 400;

struct Measured {
  double nic_gbps = 0;    // mean over seeds
  lab::PortBalance sent;  // means over seeds; worst: of all
  lab::PortBalance received;
};

void Add(const lab::PortBalance& seed, double weight, lab::PortBalance* sum) {
  sum->mean += seed.mean * weight;
  sum->worst = std::max(sum->worst, seed.worst);
}

Measured Measure(const lab::LabComparison& comparison, const lab::LabPlan& plan,
                 lab::LabRunResult lab::HashedAndSteered::*run) {
  Measured measured;
  const double weight = 1.0 / static_cast<double>(comparison.runs.size());
  for (const lab::HashedAndSteered& seed : comparison.runs) {
    const double gbps = lab::ThroughputOf(seed.*run).total_bytes_per_s * 8e-9 / comparison.scale;
    measured.nic_gbps += gbps / static_cast<double>(plan.nics.size()) * weight;
    Add(lab::PortsSending(plan, seed.*run), weight, &measured.sent);
    Add(lab::PortsReceiving(plan, seed.*run), weight, &measured.received);
  }
  return measured;
}

void SetRows(const std::string& side, const Measured& measured, experiment::Outcome* outcome) {
  outcome->Set(side + ": a NIC", measured.nic_gbps);
  outcome->Set(side + ": of both ports", 100 * measured.nic_gbps / kNicGbps);
  outcome->Set(side + ": busier port of a NIC, sent", 100 * measured.sent.mean);
  outcome->Set(side + ": busier port of a NIC, received", 100 * measured.received.mean);
  outcome->Set(side + ": busier port, worst NIC", 100 * std::max(measured.sent.worst, measured.received.worst));
}

report::BarFigure DrawSeeds(const lab::LabComparison& comparison, size_t num_nics) {
  report::BarFigure figure;
  figure.title = "Bus bandwidth of one job over bonded NICs in the lab";
  figure.description = "Two bars for each lab, whose switches hash differently: ECMP, and Fairlead.";
  figure.y_label = "Gb/s of a NIC";
  figure.y_domain = {0, kNicGbps};
  figure.series = {"ECMP", "Fairlead"};
  const double unit = 8e-9 / comparison.scale / static_cast<double>(num_nics);
  for (const lab::HashedAndSteered& seed : comparison.runs) {
    figure.groups.push_back({fmt::format("seed {}", seed.hash_seed),
                             {lab::ThroughputOf(seed.hashed).total_bytes_per_s * unit,
                              lab::ThroughputOf(seed.steered).total_bytes_per_s * unit},
                             {}});
  }
  return figure;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const LabScenario lab_scenario, LabScenario::Write("scenarios/lab-bonded-ports.yaml"));
  FL_ASSIGN_OR_RETURN(const lab::LabPlan plan, lab::PlanLab(lab_scenario.scenario().fabric, LabOptionsOf(context).lab));
  const auto comparison = Compare(lab_scenario, kSize, context);
  if (!comparison.ok()) return WithoutLab(comparison.status());
  const Measured hashed = Measure(*comparison, plan, &lab::HashedAndSteered::hashed);
  const Measured steered = Measure(*comparison, plan, &lab::HashedAndSteered::steered);
  experiment::Outcome outcome;
  SetRows("ECMP", hashed, &outcome);
  SetRows("Fairlead", steered, &outcome);
  outcome.Set("Fairlead / ECMP", steered.nic_gbps / hashed.nic_gbps);
  outcome.Set("Fairlead / ECMP, simulated", lab::GainOf(*comparison).simulated_gain);
  outcome.Set("iterations, lab against simulator", MedianDifference(*comparison));
  const report::BarFigure figure = DrawSeeds(*comparison, plan.nics.size());
  outcome.figures.push_back({figure.title, Draw(figure), "One job of two hosts with four NICs of two ports each."});
  outcome.notes.push_back(DescribeRuns(*comparison) + " The busier port of a NIC has 50 % when both have the same.");
  return outcome;
}

}  // namespace fairlead::experiments::lab_bonded_ports
