#include "experiments/c4p-link-failure/c4p_link_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "report/line_figure.h"

namespace fairlead::experiments::c4p_link_failure {

namespace {

constexpr uint32_t kNumSeeds = 20;
constexpr uint32_t kNumReducedSeeds = 3;
constexpr double kFailureS = 10;
constexpr double kSettledS = 20;  // shares have found their places
constexpr double kEndS = 40;
constexpr uint32_t kNumBins = 80;
constexpr double kBinS = kEndS / kNumBins;

// Mean over jobs of what their NICs send, Gb/s per NIC, [bin].
std::vector<double> BandwidthOverTime(const sim::RunResult& run, const topology::Fabric& fabric) {
  std::vector<double> gbps(kNumBins, 0);
  for (const sim::LinkResult& link : run.links) {
    if (fabric.kind(fabric.source(link.id)) != topology::NodeKind::kNic) continue;
    for (size_t b = 0; b < link.utilization_over_time.size(); ++b) {
      gbps[b] += link.utilization_over_time[b] * link.capacity_bytes_per_s * 8e-9;
    }
  }
  for (double& value : gbps) value /= static_cast<double>(fabric.num_nics());
  return gbps;
}

double MeanBetween(const std::vector<double>& bins, double from_s, double to_s) {
  double sum = 0;
  const auto first = static_cast<size_t>(from_s / kBinS);
  const auto last = static_cast<size_t>(to_s / kBinS);
  for (size_t b = first; b < last; ++b) sum += bins[b];
  return sum / static_cast<double>(last - first);
}

// Gb/s of each uplink of the leaves, by name, [bin].
std::map<std::string, std::vector<double>> UplinksOverTime(const sim::RunResult& run) {
  std::map<std::string, std::vector<double>> uplinks;
  for (const sim::LinkResult& link : run.links) {
    for (const std::string_view leaf : kFailedLeaves) {
      if (!link.name.starts_with(fmt::format("{}->spine", leaf))) continue;
      std::vector<double>& bins = uplinks[link.name];
      bins.assign(kNumBins, 0);
      for (size_t b = 0; b < link.utilization_over_time.size(); ++b) {
        bins[b] = link.utilization_over_time[b] * link.capacity_bytes_per_s * 8e-9;
      }
    }
  }
  return uplinks;
}

// Uplinks of one leaf, on average over the leaves, that carry clearly more of the leaf's traffic than before.
double CountTakers(const std::map<std::string, std::vector<double>>& uplinks) {
  std::array<double, kFailedLeaves.size()> before{};
  std::array<double, kFailedLeaves.size()> after{};
  const auto leaf_of = [](const std::string& name) { return name.starts_with(kFailedLeaves[0]) ? 0u : 1u; };
  for (const auto& [name, bins] : uplinks) {
    before[leaf_of(name)] += MeanBetween(bins, 0, kFailureS);
    after[leaf_of(name)] += MeanBetween(bins, kSettledS, kEndS);
  }
  double takers = 0;
  for (const auto& [name, bins] : uplinks) {
    const double share_before = MeanBetween(bins, 0, kFailureS) / before[leaf_of(name)];
    const double share_after = MeanBetween(bins, kSettledS, kEndS) / after[leaf_of(name)];
    // One eighth of the traffic went to seven links: an even share of it is 1/56 of the whole.
    takers += share_after > share_before + 0.5 / 56 ? 1 : 0;
  }
  return takers / static_cast<double>(kFailedLeaves.size());
}

report::LineFigure MakeFigure(std::string title, std::string y_label, double y_max) {
  report::LineFigure figure;
  figure.title = std::move(title);
  figure.description = "Curves over time; one of eight uplinks of two leaves is lost after 10 s.";
  figure.x_label = "s";
  figure.y_label = std::move(y_label);
  figure.x_domain = {0, kEndS};
  figure.y_domain = {0, y_max};
  figure.x_ticks = report::PlanTicks(figure.x_domain, 9);
  figure.y_ticks = report::PlanTicks(figure.y_domain, 5);
  return figure;
}

report::LineSeries MakeSeries(std::string label, size_t color, const std::vector<double>& bins) {
  report::LineSeries series;
  series.label = std::move(label);
  series.color = color;
  for (size_t b = 0; b < bins.size(); ++b) series.points.push_back({(static_cast<double>(b) + 0.5) * kBinS, bins[b]});
  return series;
}

struct Measured {
  double before = 0;
  double after = 0;
  double worst_after = 0;
  double takers = 0;
  double moved = 0;
  // Of `after`, over the hash seeds.
  double after_min = 0;
  double after_max = 0;
};

double WorstBetween(const std::vector<double>& bins, double from_s, double to_s) {
  return *std::min_element(bins.begin() + static_cast<ptrdiff_t>(from_s / kBinS),
                           bins.begin() + static_cast<ptrdiff_t>(to_s / kBinS));
}

Measured Measure(const sim::SimulationReport& report, std::string_view policy, const topology::Fabric& fabric) {
  Measured mean;
  double num_runs = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy) continue;
    ++num_runs;
    const std::vector<double> bins = BandwidthOverTime(run, fabric);
    mean.before += MeanBetween(bins, 0, kFailureS);
    const double after = MeanBetween(bins, kSettledS, kEndS);
    mean.after_min = num_runs == 1 ? after : std::min(mean.after_min, after);
    mean.after_max = std::max(mean.after_max, after);
    mean.after += after;
    mean.worst_after += WorstBetween(bins, kSettledS, kEndS);
    mean.takers += CountTakers(UplinksOverTime(run));
    mean.moved += static_cast<double>(run.path_changes);
  }
  for (double* value : {&mean.before, &mean.after, &mean.worst_after, &mean.takers, &mean.moved}) *value /= num_runs;
  return mean;
}

void AddFigures(const sim::SimulationReport& report, const topology::Fabric& fabric, experiment::Outcome* outcome) {
  report::LineFigure bandwidth = MakeFigure("Bus bandwidth, mean of eight jobs", "Gb/s per NIC", 400);
  size_t color = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.seed != report.runs.front().seed) continue;
    bandwidth.series.push_back(MakeSeries(run.policy, color++, BandwidthOverTime(run, fabric)));
    report::LineFigure ports = MakeFigure(fmt::format("Uplinks of leaf 0 under {}", run.policy), "Gb/s", 800);
    size_t port = 0;
    for (const auto& [name, bins] : UplinksOverTime(run)) {
      if (name.starts_with(kFailedLeaves[0])) ports.series.push_back(MakeSeries(name.substr(7), port++, bins));
    }
    outcome->figures.push_back({ports.title, Draw(ports), "Bandwidth of each port (Fig. 12); first hash seed."});
  }
  outcome->figures.insert(outcome->figures.begin(), {bandwidth.title, Draw(bandwidth), "First hash seed (Fig. 11)."});
}

// Args: testbed: with its policies and queue pairs; the rest is set.
Result<sim::Scenario> MakeFailureScenario(const experiment::RunContext& context, C4pTestbed* testbed) {
  testbed->simulated_s = kEndS;
  testbed->num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  if (context.num_draws > 0) testbed->num_seeds = context.num_draws;
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeC4pScenario(*testbed));
  scenario.first_seed = context.seed;
  scenario.simulation.num_bins = kNumBins;
  scenario.simulation.num_hottest_links = static_cast<uint32_t>(scenario.fabric.num_links());
  LoseUplinks(SimTime::FromSeconds(Seconds(kFailureS)), &scenario);
  return scenario;
}

// Seven of eight uplinks, evenly used.
constexpr double kIdeal = kCeilingGbps * 7 / 8;

void AddLine(uint32_t queue_pairs, const Measured& without, const Measured& with, experiment::ResultTable* table) {
  auto& line = table->lines.emplace_back();
  for (const double value :
       {static_cast<double>(queue_pairs), without.before, without.after, without.after_min, without.after_max,
        without.takers, with.before, with.after, with.after_min, with.after_max, with.after / kIdeal, with.takers}) {
    line.emplace_back(value);
  }
}

// The same with fewer queue pairs for each connection than the eight of the rows above.
Status AddQueuePairRows(const experiment::RunContext& context, experiment::ResultTable* table,
                        experiment::Outcome* outcome) {
  double progress = 0.6;
  for (const uint32_t queue_pairs : {1u, 2u, 4u}) {
    C4pTestbed testbed;
    testbed.policies = {"c4p-static", "c4p"};
    testbed.queue_pairs = queue_pairs;
    FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, MakeFailureScenario(context, &testbed));
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                        SimulateScenario(scenario, context, progress, progress + 0.13));
    progress += 0.13;
    if (context.should_stop()) {
      outcome->is_partial = true;
      return OkStatus();
    }
    AddLine(queue_pairs, Measure(report, "c4p-static", scenario.fabric), Measure(report, "c4p", scenario.fabric),
            table);
    const std::string_view plural = queue_pairs == 1 ? "" : "s";
    for (const std::string& policy : testbed.policies) {
      const Measured measured = Measure(report, policy, scenario.fabric);
      outcome->Set(fmt::format("{}, {} QP{}: before", policy, queue_pairs, plural), measured.before);
      outcome->Set(fmt::format("{}, {} QP{}: after", policy, queue_pairs, plural), measured.after);
    }
  }
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  C4pTestbed testbed;
  testbed.policies = {"ecmp", "c4p-static", "c4p"};
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, MakeFailureScenario(context, &testbed));
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, 0.6));
  experiment::Outcome outcome;
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  for (const std::string& policy : testbed.policies) {
    const Measured measured = Measure(report, policy, scenario.fabric);
    outcome.Set(policy + ": before", measured.before);
    outcome.Set(policy + ": after", measured.after);
    outcome.Set(policy + ": uplinks that took over", measured.takers);
    outcome.Set(policy + ": queue pairs moved", measured.moved);
    if (policy == "c4p") outcome.Set("c4p: share of the ideal", measured.after / kIdeal);
  }
  outcome.Set("ideal after", kIdeal);
  AddFigures(report, scenario.fabric, &outcome);
  experiment::ResultTable table;
  table.title = "By queue pairs of a connection: Gb/s for each NIC, without C4P (c4p-static) and with it";
  table.columns = {"queue pairs",  "without: before", "after", "least", "most",         "uplinks that took over",
                   "with: before", "after",           "least", "most",  "of the ideal", "uplinks that took over"};
  FL_RETURN_IF_ERROR(AddQueuePairRows(context, &table, &outcome));
  if (outcome.is_partial) return outcome;
  AddLine(testbed.queue_pairs, Measure(report, "c4p-static", scenario.fabric), Measure(report, "c4p", scenario.fabric),
          &table);
  outcome.tables.push_back(std::move(table));
  outcome.notes.push_back(fmt::format("Means over {} hash seeds and, in time, over {} to {} s; the failure is at {} s.",
                                      testbed.num_seeds, kSettledS, kEndS, kFailureS));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_link_failure
