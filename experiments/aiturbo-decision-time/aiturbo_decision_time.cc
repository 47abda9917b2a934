#include "experiments/aiturbo-decision-time/aiturbo_decision_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "base/process_usage.h"
#include "report/line_figure.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/busy_cluster.h"

namespace fairlead::experiments::aiturbo_decision_time {
namespace {

constexpr const char* kPolicies[] = {"aiturbo", "aiturbo-literal", "tiresias", "srtf"};
struct ClusterSize {
  uint32_t num_jobs;
  uint32_t num_gpus;
  const char* name;
};
constexpr ClusterSize kSizes[] = {{100, 1000, "100 jobs on 1,000 GPUs"},
                                  {1000, 10'000, "1,000 jobs on 10,000 GPUs"},
                                  {10'000, 100'000, "10,000 jobs on 100,000 GPUs"}};
constexpr int kRounds = 5;

// The least of several: what else the machine does only adds.
double DecisionMs(const scheduling::AllocationPolicy& policy, const scheduling::AllocationSnapshot& snapshot) {
  double least_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    const double begin = CpuSeconds();
    static_cast<void>(policy.Decide(snapshot));
    least_s = std::min(least_s, CpuSeconds() - begin);
  }
  return least_s * 1e3;
}

report::LineFigure MakeFigure() {
  report::LineFigure figure;
  figure.title = "Time of a decision";
  figure.description = "Processor time of one decision of each policy over the number of jobs, both logarithmic";
  figure.x_label = "jobs";
  figure.y_label = "milliseconds";
  figure.x_domain = {2, 4};
  figure.y_domain = {-2, 3};
  figure.x_ticks = {{2, "100"}, {3, "1,000"}, {4, "10,000"}};
  figure.y_ticks = {{-2, "0.01"}, {-1, "0.1"}, {0, "1"}, {1, "10"}, {2, "100"}, {3, "1,000"}};
  return figure;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::LineFigure figure = MakeFigure();
  size_t num_done = 0;
  const size_t num_cases = std::size(kPolicies) * std::size(kSizes);
  for (const char* name : kPolicies) {
    FL_ASSIGN_OR_RETURN(const auto policy, scheduling::CreateAllocationPolicy(name, context.seed));
    report::LineSeries series{
        .label = name, .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
    for (const ClusterSize& size : kSizes) {
      if (context.should_stop()) {
        outcome.is_partial = true;
        return outcome;
      }
      const scheduling::BusyCluster cluster(size.num_jobs, size.num_gpus, *policy, context.seed);
      const double ms = DecisionMs(*policy, cluster.snapshot());
      outcome.Set(fmt::format("{}: {}", name, size.name), ms);
      series.points.push_back({std::log10(size.num_jobs), std::log10(std::max(ms, 1e-3))});
      context.Report(static_cast<double>(++num_done) / static_cast<double>(num_cases));
    }
    figure.series.push_back(std::move(series));
  }
  outcome.figures.push_back({figure.title, Draw(figure), "Processor time, the least of five."});
  outcome.notes.emplace_back(
      "Nodes of 8 GPUs, jobs of up to 64 GPUs, six of ten predictable; the policy has decided once before, and a tenth "
      "of the jobs is new.");
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_decision_time
