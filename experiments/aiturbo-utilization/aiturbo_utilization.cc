#include "experiments/aiturbo-utilization/aiturbo_utilization.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/line_figure.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_metrics.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/ps_workload.h"

namespace fairlead::experiments::aiturbo_utilization {
namespace {

constexpr uint32_t kNumWorkloads = 4;
constexpr uint32_t kNumJobs = 320;  // enough that, as they were asked for, some always wait
constexpr double kArrivalsS = 8 * 3600;
// Not those for several types of GPU, which know nothing of cores.
constexpr std::string_view kPolicies[] = {"aiturbo",  "aiturbo-literal", "fcfs",    "fcfs-skip", "srtf",  "srsf",
                                          "tiresias", "gittins",         "optimus", "drf",       "gavel", "pollux"};
constexpr std::string_view kBaselines[] = {"fcfs", "srtf", "tiresias", "optimus"};
constexpr std::string_view kDrawn[] = {"aiturbo", "aiturbo-literal", "fcfs", "tiresias", "optimus"};
constexpr double kSomePredictable = 0.4;  // as in the prototype's list of jobs

using Workloads = std::vector<std::vector<sim::ElasticJobSpec>>;

// Means over workloads.
struct Averages {
  double jct_s = 0;
  double p99_s = 0;
  double makespan_s = 0;
  double restarts = 0;
  double gpus_held = 0;
  double cores_held = 0;
  double gpus_busy = 0;
  double cores_busy = 0;
  double balanced = 0;
  double busy_balanced = 0;
  sim::UtilizationGaps gaps;  // of all workloads
};

// 8 nodes of 4 GPUs and 40 cores: as many cores as the exchange rate of 10 to a GPU says.
sim::ElasticOptions Cluster() {
  sim::ElasticOptions options;
  options.cluster = {{{8, 4}}, 40, 0};
  options.units = {10, 1};
  options.only_events = true;
  return options;
}

Result<Averages> Simulate(const Workloads& workloads, std::string_view policy, const experiment::RunContext& context) {
  const sim::ElasticOptions options = Cluster();
  FL_ASSIGN_OR_RETURN(const auto created, scheduling::CreateAllocationPolicy(policy, context.seed));
  Averages averages;
  for (const auto& jobs : workloads) {
    FL_ASSIGN_OR_RETURN(const sim::ElasticResult result,
                        sim::RunElasticSimulation(jobs, *created, options, context.stop));
    const sim::ElasticMetrics metrics = sim::Summarize(result, options.cluster, kArrivalsS);
    const auto count = static_cast<double>(workloads.size());
    averages.jct_s += metrics.mean_jct_s / count;
    averages.p99_s += metrics.p99_jct_s / count;
    averages.makespan_s += metrics.makespan_s / count;
    averages.restarts += metrics.restarts_per_job / count;
    averages.gpus_held += 100 * metrics.gpu_utilization / count;
    averages.cores_held += 100 * metrics.core_utilization / count;
    averages.gpus_busy += 100 * metrics.gpu_busy / count;
    averages.cores_busy += 100 * metrics.core_busy / count;
    averages.balanced += 100 * metrics.balanced_share / count;
    averages.busy_balanced += 100 * metrics.busy_balanced_share / count;
    sim::UtilizationGaps gaps = sim::CollectGaps(result, options.cluster, kArrivalsS);
    averages.gaps.held.insert(averages.gaps.held.end(), gaps.held.begin(), gaps.held.end());
    averages.gaps.busy.insert(averages.gaps.busy.end(), gaps.busy.begin(), gaps.busy.end());
  }
  return averages;
}

void SetRows(const std::string& label, std::string_view policy, const Averages& found, experiment::Outcome* outcome) {
  const auto set = [&](std::string_view what, double value) {
    outcome->Set(fmt::format("{}, {}: {}", label, policy, what), value);
  };
  set("mean JCT", found.jct_s);
  set("p99 JCT", found.p99_s);
  set("makespan", found.makespan_s);
  set("GPUs held", found.gpus_held);
  set("GPUs busy", found.gpus_busy);
  set("cores held", found.cores_held);
  set("cores busy", found.cores_busy);
  set("time with a gap below 40 %, held", found.balanced);
  set("time with a gap below 40 %, busy", found.busy_balanced);
  set("restarts per job", found.restarts);
}

report::LineSeries MakeDistribution(std::string_view label, size_t color, std::vector<double> gaps) {
  constexpr int kNumPoints = 100;
  std::ranges::sort(gaps);
  report::LineSeries series;
  series.label = label;
  series.color = color;
  for (int i = 0; i <= kNumPoints; ++i) {
    const double gap = static_cast<double>(i) / kNumPoints;
    const auto below = std::ranges::upper_bound(gaps, gap) - gaps.begin();
    series.points.push_back({100 * gap, 100 * static_cast<double>(below) / static_cast<double>(gaps.size())});
  }
  return series;
}

void AddFigure(const std::string& title, const std::map<std::string_view, Averages>& averages,
               std::vector<double> sim::UtilizationGaps::*kind, experiment::Outcome* outcome) {
  report::LineFigure figure;
  figure.title = title;
  figure.description = "Share of the time with a difference of CPU and GPU utilization up to x, one curve per policy.";
  figure.x_label = "difference of CPU and GPU utilization, %";
  figure.y_label = "% of the time";
  figure.x_domain = {0, 100};
  figure.y_domain = {0, 100};
  figure.x_ticks = report::PlanTicks(figure.x_domain, 6);
  figure.y_ticks = report::PlanTicks(figure.y_domain, 6);
  for (const std::string_view policy : kDrawn) {
    const std::vector<double>& gaps = averages.at(policy).gaps.*kind;
    if (!gaps.empty()) figure.series.push_back(MakeDistribution(policy, figure.series.size(), gaps));
  }
  outcome->figures.push_back({title, Draw(figure), ""});
}

// How far aiturbo is above the slides' baselines.
void Compare(const std::string& label, const std::map<std::string_view, Averages>& averages,
             experiment::Outcome* outcome) {
  const Averages& ours = averages.at("aiturbo");
  for (const std::string_view rival : kBaselines) {
    const Averages& theirs = averages.at(rival);
    const auto set = [&](std::string_view what, double value) {
      outcome->Set(fmt::format("{}: aiturbo against {}: {}", label, rival, what), value);
    };
    set("JCT shorter", theirs.jct_s / ours.jct_s);
    set("GPUs held", 100 * (ours.gpus_held / theirs.gpus_held - 1));
    set("GPUs busy", 100 * (ours.gpus_busy / theirs.gpus_busy - 1));
    set("cores held", 100 * (ours.cores_held / theirs.cores_held - 1));
    set("cores busy", 100 * (ours.cores_busy / theirs.cores_busy - 1));
  }
}

Status AddPolicies(const std::string& label, const Workloads& workloads, const experiment::RunContext& context,
                   experiment::Outcome* outcome) {
  std::map<std::string_view, Averages> averages;
  for (const std::string_view policy : kPolicies) {
    FL_ASSIGN_OR_RETURN(averages[policy], Simulate(workloads, policy, context));
    SetRows(label, policy, averages[policy], outcome);
  }
  Compare(label, averages, outcome);
  AddFigure("CPU and GPU held: " + label, averages, &sim::UtilizationGaps::held, outcome);
  AddFigure("CPU and GPU busy: " + label, averages, &sim::UtilizationGaps::busy, outcome);
  return OkStatus();
}

// What is known of the jobs, and what they are like.
struct Setting {
  bool all_known = true;
  bool has_input_pipeline = false;
};

Result<Workloads> Generate(const sim::PsApplicationSet& applications, const Setting& setting,
                           const experiment::RunContext& context) {
  Workloads workloads;
  for (uint32_t w = 0; w < (context.reduced ? 1 : kNumWorkloads); ++w) {
    sim::PsWorkloadOptions options;
    options.num_jobs = kNumJobs;
    options.arrivals_s = kArrivalsS;
    options.seed = context.seed + w;
    options.predictable_at_once = setting.all_known;
    options.predictable_share = setting.all_known ? 1 : kSomePredictable;
    options.has_input_pipeline = setting.has_input_pipeline;
    FL_ASSIGN_OR_RETURN(auto jobs, sim::GeneratePsWorkload(applications, options));
    workloads.push_back(std::move(jobs));
  }
  return workloads;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  const sim::PsApplicationSet applications = sim::GeneratePsApplications(context.seed);
  FL_ASSIGN_OR_RETURN(const Workloads known, Generate(applications, {}, context));
  FL_RETURN_IF_ERROR(AddPolicies("all predictable", known, context, &outcome));
  context.Report(0.33);
  FL_ASSIGN_OR_RETURN(const Workloads partly, Generate(applications, {.all_known = false}, context));
  FL_RETURN_IF_ERROR(AddPolicies("partly predictable", partly, context, &outcome));
  context.Report(0.67);
  const sim::PsApplicationSet fed = sim::GeneratePsApplications(context.seed, true);
  FL_ASSIGN_OR_RETURN(const Workloads piped, Generate(fed, {.has_input_pipeline = true}, context));
  FL_RETURN_IF_ERROR(AddPolicies("input pipeline", piped, context, &outcome));
  outcome.is_partial = context.should_stop();
  outcome.notes.push_back(
      fmt::format("{} generated workloads of 320 jobs. \"Partly\": 40 % of the jobs become predictable, after 9 to 89 "
                  "% of their run.",
                  known.size()));
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_utilization
