#include "experiments/aiturbo-jct/aiturbo_jct.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/public_data.h"
#include "report/bar_figure.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_metrics.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/pollux_profile.h"

namespace fairlead::experiments::aiturbo_jct {
namespace {

constexpr uint32_t kNumGenerated = 4;
constexpr int kNumPublished = 4;
constexpr double kRestartCosts[] = {0, 30, 60, 120, 240};
constexpr int kPredictablePercents[] = {0, 25, 50, 75, 100};
constexpr int kLearnedPercents[] = {50, 100};
constexpr std::string_view kCompared[] = {"aiturbo", "srtf", "tiresias"};
constexpr sim::PredictionErrors kWrong{0.3, 0.15, 1};
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

using Workloads = std::vector<std::vector<sim::ElasticJobSpec>>;

// One number per run, averaged over workloads.
struct Averages {
  std::vector<double> jcts_s;  // [workload]
  double jct_s = 0;
  double restarts = 0;  // per job
  double gpu_utilization = 0;
};

class Runs {
 public:
  explicit Runs(const experiment::RunContext& context) : context_(context) {}

  Result<Averages> Simulate(const Workloads& workloads, std::string_view policy, const sim::ElasticOptions& options) {
    Averages averages;
    FL_ASSIGN_OR_RETURN(const auto created, scheduling::CreateAllocationPolicy(policy, context_.seed));
    for (const auto& jobs : workloads) {
      FL_ASSIGN_OR_RETURN(const sim::ElasticResult result,
                          sim::RunElasticSimulation(jobs, *created, options, context_.stop));
      const sim::ElasticMetrics metrics = sim::Summarize(result, options.cluster);
      const auto count = static_cast<double>(workloads.size());
      averages.jcts_s.push_back(metrics.mean_jct_s);
      averages.jct_s += metrics.mean_jct_s / count;
      averages.restarts += metrics.restarts_per_job / count;
      averages.gpu_utilization += metrics.gpu_utilization / count;
    }
    return averages;
  }

 private:
  const experiment::RunContext& context_;
};

Workloads WithShare(const Workloads& workloads, int percent, uint64_t seed) {
  Workloads changed = workloads;
  for (auto& jobs : changed) sim::DrawUnpredictable(percent / 100.0, seed, &jobs);
  return changed;
}

void AddFigure(const std::string& title, const std::map<std::string_view, Averages>& averages,
               experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = title;
  figure.description = "Mean over workloads of the mean completion time, one bar per policy.";
  figure.y_label = "hours";
  figure.series = {"mean JCT"};
  double most = 0;
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    const double hours = averages.at(policy).jct_s / 3600;
    most = std::max(most, hours);
    figure.groups.push_back({std::string(policy), {hours}, {}});
  }
  figure.y_domain = {0, most};
  outcome->figures.push_back({title, Draw(figure), ""});
}

// All policies, and how AITurbo compares.
Status AddPolicies(const std::string& label, const Workloads& workloads, Runs* runs, experiment::Outcome* outcome) {
  std::map<std::string_view, Averages> averages;
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    FL_ASSIGN_OR_RETURN(averages[policy], runs->Simulate(workloads, policy, {}));
    const Averages& found = averages[policy];
    outcome->Set(fmt::format("{}, {}: mean JCT", label, policy), found.jct_s);
    outcome->Set(fmt::format("{}, {}: restarts per job", label, policy), found.restarts);
    if (label != "benchmark") continue;
    for (size_t w = 0; w < found.jcts_s.size(); ++w) {
      outcome->Set(fmt::format("{} {}, {}: mean JCT", label, w + 1, policy), found.jcts_s[w]);
    }
  }
  const double ours = averages["aiturbo"].jct_s;
  for (const char* rival : {"tiresias", "optimus", "srtf"}) {
    outcome->Set(fmt::format("{}: aiturbo below {}", label, rival), 100 * (1 - ours / averages[rival].jct_s));
  }
  outcome->Set(fmt::format("{}: fcfs-skip over aiturbo", label), averages["fcfs-skip"].jct_s / ours);
  AddFigure("Mean completion time: " + label, averages, outcome);
  return OkStatus();
}

Status AddShares(const std::string& label, const Workloads& workloads, uint64_t seed, Runs* runs,
                 experiment::Outcome* outcome) {
  sim::ElasticOptions wrong;
  wrong.errors = kWrong;
  for (const int percent : kPredictablePercents) {
    const Workloads changed = WithShare(workloads, percent, seed);
    for (const std::string_view policy : kCompared) {
      FL_ASSIGN_OR_RETURN(const Averages exact, runs->Simulate(changed, policy, {}));
      outcome->Set(fmt::format("{}, {} % predictable, {}: mean JCT", label, percent, policy), exact.jct_s);
    }
    FL_ASSIGN_OR_RETURN(const Averages off, runs->Simulate(changed, "aiturbo", wrong));
    outcome->Set(fmt::format("{}, {} % predictable, aiturbo with wrong predictions: mean JCT", label, percent),
                 off.jct_s);
  }
  return OkStatus();
}

std::string LearnedRow(const std::string& label, int percent) {
  return fmt::format("{}, {} % may be predictable, aiturbo with learned models: mean JCT", label, percent);
}

// What the classifier, the convergence model and the speed model say takes the place of the truth.
Status AddLearned(const std::string& label, const Workloads& workloads, uint64_t seed, Runs* runs,
                  experiment::Outcome* outcome) {
  sim::ElasticOptions options;
  options.learned = sim::LearnedOptions{};
  options.learned->seed = seed;
  for (const int percent : kLearnedPercents) {
    FL_ASSIGN_OR_RETURN(const Averages found, runs->Simulate(WithShare(workloads, percent, seed), "aiturbo", options));
    outcome->Set(LearnedRow(label, percent), found.jct_s);
  }
  return OkStatus();
}

Status AddRestartCosts(const Workloads& workloads, Runs* runs, experiment::Outcome* outcome) {
  for (const double cost : kRestartCosts) {
    sim::ElasticOptions options;
    options.restart_s = cost;
    for (const std::string_view policy : {"aiturbo", "tiresias", "optimus"}) {
      FL_ASSIGN_OR_RETURN(const Averages found, runs->Simulate(workloads, policy, options));
      outcome->Set(fmt::format("generated, restarts of {} s, {}: mean JCT", cost, policy), found.jct_s);
    }
  }
  return OkStatus();
}

// Rows without data: known names, no numbers.
void AddUnknownBenchmark(experiment::Outcome* outcome) {
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    outcome->Set(fmt::format("benchmark, {}: mean JCT", policy), kUnknown);
    outcome->Set(fmt::format("benchmark, {}: restarts per job", policy), kUnknown);
    for (int w = 1; w <= kNumPublished; ++w) {
      outcome->Set(fmt::format("benchmark {}, {}: mean JCT", w, policy), kUnknown);
    }
  }
  for (const char* rival : {"tiresias", "optimus", "srtf"}) {
    outcome->Set(fmt::format("benchmark: aiturbo below {}", rival), kUnknown);
  }
  outcome->Set("benchmark: fcfs-skip over aiturbo", kUnknown);
  for (const int percent : kLearnedPercents) outcome->Set(LearnedRow("benchmark", percent), kUnknown);
  for (const int percent : kPredictablePercents) {
    for (const std::string_view policy : kCompared) {
      outcome->Set(fmt::format("benchmark, {} % predictable, {}: mean JCT", percent, policy), kUnknown);
    }
    outcome->Set(fmt::format("benchmark, {} % predictable, aiturbo with wrong predictions: mean JCT", percent),
                 kUnknown);
  }
}

Status AddBenchmark(const std::string& folder, uint64_t seed, Runs* runs, experiment::Outcome* outcome) {
  FL_ASSIGN_OR_RETURN(const sim::ProfileSet profiles, sim::LoadPolluxProfiles(folder + "/traces"));
  Workloads workloads;
  for (int w = 1; w <= kNumPublished; ++w) {
    FL_ASSIGN_OR_RETURN(auto jobs,
                        sim::LoadPolluxWorkload(fmt::format("{}/workloads/workload-{}.csv", folder, w), profiles));
    workloads.push_back(std::move(jobs));
  }
  FL_RETURN_IF_ERROR(AddPolicies("benchmark", workloads, runs, outcome));
  FL_RETURN_IF_ERROR(AddShares("benchmark", workloads, seed, runs, outcome));
  return AddLearned("benchmark", workloads, seed, runs, outcome);
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  Runs runs(context);
  FL_ASSIGN_OR_RETURN(const sim::ProfileSet profiles, sim::GenerateProfiles(context.seed));
  Workloads generated;
  for (uint32_t w = 0; w < (context.reduced ? 1 : kNumGenerated); ++w) {
    sim::GeneratedWorkloadOptions options;
    options.seed = context.seed + w;
    FL_ASSIGN_OR_RETURN(auto jobs, sim::GenerateWorkload(profiles, options));
    generated.push_back(std::move(jobs));
  }
  FL_RETURN_IF_ERROR(AddPolicies("generated", generated, &runs, &outcome));
  context.Report(0.3);
  FL_RETURN_IF_ERROR(AddShares("generated", generated, context.seed, &runs, &outcome));
  FL_RETURN_IF_ERROR(AddLearned("generated", generated, context.seed, &runs, &outcome));
  FL_RETURN_IF_ERROR(AddRestartCosts(generated, &runs, &outcome));
  context.Report(0.6);
  const std::string folder = PublicDataPath("pollux-osdi21");
  if (std::filesystem::exists(folder + "/traces")) {
    FL_RETURN_IF_ERROR(AddBenchmark(folder, context.seed, &runs, &outcome));
    outcome.notes.push_back("The data of the Pollux benchmark was read from " + folder + ".");
  } else {
    AddUnknownBenchmark(&outcome);
    outcome.notes.push_back("No data of the Pollux benchmark in " + folder +
                            ": its rows are empty. README.md describes where it comes from.");
  }
  outcome.is_partial = context.should_stop();
  outcome.notes.push_back(
      fmt::format("{} generated workloads. True speeds and remaining iterations are given to the "
                  "policies, except in rows of wrong predictions and of learned models.",
                  generated.size()));
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_jct
