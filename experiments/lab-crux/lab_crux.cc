#include "experiments/lab-crux/lab_crux.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "experiments/lab-crux/crux_case.h"
#include "experiments/lab_experiment.h"
#include "lab/lab_comparison.h"
#include "lab/lab_run.h"
#include "lab/lab_workload.h"
#include "report/bar_figure.h"
#include "traffic/live_policy.h"

namespace fairlead::experiments::lab_crux {

namespace {

using Iterations = std::map<std::string, double>;  // by model

struct Case {
  std::string_view name;
  std::string_view scenario;
  std::vector<std::string> models;
};

// The first one is that of --reduced.
const Case kCases[] = {
    {"GPT-32 + 2 BERT-8", "scenarios/lab-crux-2-bert.yaml", {"GPT", "BERT"}},
    {"GPT-32 + 3 BERT-8", "scenarios/lab-crux-3-bert.yaml", {"GPT", "BERT"}},
    {"GPT-32 + 4 BERT-8", "scenarios/lab-crux-4-bert.yaml", {"GPT", "BERT"}},
    {"five jobs", "scenarios/lab-crux-five-jobs.yaml", {"GPT", "BERT", "ResNet"}},
};
constexpr uint32_t kNumSeeds = 3;
constexpr double kSeconds = 30;
constexpr double kReducedSeconds = 15;
// Until all jobs are measured over a whole window of the agents' and have their levels.
constexpr double kWarmUp = 18;
constexpr double kAloneWarmUp = 3;
constexpr double kAloneSeconds = 12;
constexpr std::string_view kIntense = "GPT";

// One policy in one case: means over hash seeds.
struct PolicyResult {
  double busy = 0;
  double busy_low = 1;  // of the seeds
  double busy_high = 0;
  Iterations iteration_s;
  double simulated_busy = 0;
  Iterations simulated_s;
};

struct CaseResult {
  std::map<std::string, PolicyResult> policies;  // by what they decide: "none", "paths", …
  Iterations alone_s;
  Iterations simulated_alone_s;
  double alone_busy = 0;
};

// Runs cases; a job's performance alone is measured once for all cases that contain it.
class CaseRunner {
 public:
  explicit CaseRunner(const experiment::RunContext& context) : context_(context) {
    num_seeds_ = context.reduced ? 1 : kNumSeeds;
    num_parts_ =
        static_cast<double>((context.reduced ? 1 : std::size(kCases)) * num_seeds_ * traffic::LivePolicies().size());
  }

  Result<CaseResult> Run(const Case& lab_scenario);
  uint32_t num_seeds() const { return num_seeds_; }

 private:
  Status RunPolicy(const LabScenario& scenario, const traffic::LivePolicy& policy, uint32_t seed, CaseResult* result);
  Status SimulateAlone(lab::LabSession* session, const std::vector<lab::LabJob>& jobs, CaseResult* result);
  Status Simulate(const LabScenario& scenario, CaseResult* result);

  const experiment::RunContext& context_;
  uint32_t num_seeds_ = 1;
  double num_parts_ = 1;
  double part_ = 0;
  std::vector<CaseJob> jobs_;                                 // of the case under way
  std::map<std::pair<std::string, uint32_t>, double> alone_;  // [model, GPUs] iteration
};

Status CaseRunner::RunPolicy(const LabScenario& scenario, const traffic::LivePolicy& policy, uint32_t seed,
                             CaseResult* result) {
  context_.Report(part_++ / num_parts_);
  lab::LabSessionOptions options = LabOptionsOf(context_);
  options.lab.hash_seed += seed;
  options.controller_arguments = {"--policy", std::string(policy.name)};
  FL_ASSIGN_OR_RETURN(lab::LabSession session,
                      lab::LabSession::Start(scenario.file(), scenario.scenario(), options, *context_.stop));
  // The policy is all that differs: queue pairs carry equal shares under each.
  FL_ASSIGN_OR_RETURN(const auto jobs,
                      lab::PlanJobs(scenario.scenario(), session.state().plan, 0, lab::QueuePairBytes::kFixed));
  jobs_ = DescribeJobs(jobs);
  FL_ASSIGN_OR_RETURN(const lab::LabRunResult run,
                      session.Run(jobs, true, kWarmUp, context_.reduced ? kReducedSeconds : kSeconds));
  PolicyResult& mine = result->policies[std::string(policy.decides)];
  const std::vector<double> iteration_s = MeanIterations(run);
  const double busy = Utilization(jobs_, iteration_s);
  mine.busy += busy / num_seeds_;
  mine.busy_low = std::min(mine.busy_low, busy);
  mine.busy_high = std::max(mine.busy_high, busy);
  for (const auto& [model, seconds] : IterationsByModel(jobs_, iteration_s)) {
    mine.iteration_s[model] += seconds / num_seeds_;
  }
  if (!policy.chooses_paths || !policy.sets_levels || seed > 0) return OkStatus();
  return SimulateAlone(&session, jobs, result);
}

Status CaseRunner::SimulateAlone(lab::LabSession* session, const std::vector<lab::LabJob>& jobs, CaseResult* result) {
  std::vector<double> iteration_s;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const std::pair<std::string, uint32_t> key = {jobs_[j].model, jobs_[j].num_gpus};
    if (!alone_.contains(key)) {
      FL_ASSIGN_OR_RETURN(const lab::LabRunResult run, session->Run({jobs[j]}, true, kAloneWarmUp, kAloneSeconds));
      alone_[key] = MeanIterations(run).front();
    }
    iteration_s.push_back(alone_[key]);
  }
  result->alone_s = IterationsByModel(jobs_, iteration_s);
  result->alone_busy = Utilization(jobs_, iteration_s);
  return OkStatus();
}

Status CaseRunner::Simulate(const LabScenario& scenario, CaseResult* result) {
  for (const traffic::LivePolicy& policy : traffic::LivePolicies()) {
    FL_ASSIGN_OR_RETURN(const auto runs,
                        lab::SimulateUnder(scenario.scenario(), std::string(policy.name), *context_.stop));
    PolicyResult& mine = result->policies[std::string(policy.decides)];
    const auto weight = 1 / static_cast<double>(runs.iteration_s.size());
    for (const std::vector<double>& iteration_s : runs.iteration_s) {
      mine.simulated_busy += weight * Utilization(jobs_, iteration_s);
      for (const auto& [model, seconds] : IterationsByModel(jobs_, iteration_s)) {
        mine.simulated_s[model] += weight * seconds;
      }
    }
  }
  std::vector<double> alone_s;
  for (const sim::ScenarioJob& job : scenario.scenario().jobs) {
    sim::Scenario alone = scenario.scenario();
    alone.num_seeds = 1;
    alone.jobs = {job};
    alone.jobs.front().job.id = JobId(0);
    FL_ASSIGN_OR_RETURN(const auto runs, lab::SimulateUnder(std::move(alone), "crux+c4p", *context_.stop));
    alone_s.push_back(runs.iteration_s.front().front());
  }
  result->simulated_alone_s = IterationsByModel(jobs_, alone_s);
  return OkStatus();
}

Result<CaseResult> CaseRunner::Run(const Case& lab_scenario) {
  FL_ASSIGN_OR_RETURN(const LabScenario scenario, LabScenario::Write(lab_scenario.scenario));
  CaseResult result;
  for (uint32_t seed = 0; seed < num_seeds_; ++seed) {
    for (const traffic::LivePolicy& policy : traffic::LivePolicies()) {
      FL_RETURN_IF_ERROR(RunPolicy(scenario, policy, seed, &result));
    }
  }
  FL_RETURN_IF_ERROR(Simulate(scenario, &result));
  return result;
}

double PercentChange(double before, double after) { return 100 * (after / before - 1); }

void AddRows(std::string_view name, const CaseResult& result, experiment::Outcome* outcome) {
  const auto row = [&](std::string_view what) { return fmt::format("{}: {}", name, what); };
  for (const auto& [decides, policy] : result.policies) {
    outcome->Set(row(decides), policy.busy);
    outcome->Set(row(decides + ", simulated"), policy.simulated_busy);
  }
  outcome->Set(row("alone"), result.alone_busy);
  const PolicyResult& none = result.policies.at("none");
  const PolicyResult& both = result.policies.at("both");
  outcome->Set(row("gain"), 100 * (both.busy - none.busy));
  outcome->Set(row("gain, simulated"), 100 * (both.simulated_busy - none.simulated_busy));
  for (const auto& [model, before] : none.iteration_s) {
    outcome->Set(row("JCT of " + model), PercentChange(before, both.iteration_s.at(model)));
  }
  const std::string intense(kIntense);
  outcome->Set(row(intense + " against alone"),
               PercentChange(result.alone_s.at(intense), both.iteration_s.at(intense)));
}

// Of a case that was not run.
CaseResult NoResult(const Case& left_out) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  CaseResult result;
  Iterations none;
  for (const std::string& model : left_out.models) none[model] = kNone;
  for (const traffic::LivePolicy& policy : traffic::LivePolicies()) {
    result.policies[std::string(policy.decides)] = {kNone, kNone, kNone, none, kNone, none};
  }
  result.alone_s = result.simulated_alone_s = none;
  result.alone_busy = kNone;
  return result;
}

// Iterations of all models under each policy, as text.
void AddNotes(std::string_view name, const CaseResult& result, experiment::Outcome* outcome) {
  std::string alone = fmt::format("{}, iterations alone, lab (simulated):", name);
  for (const auto& [model, seconds] : result.alone_s) {
    alone += fmt::format(" {} {:.3f} s ({:.3f})", model, seconds, result.simulated_alone_s.at(model));
  }
  outcome->notes.push_back(std::move(alone));
  for (const traffic::LivePolicy& live : traffic::LivePolicies()) {
    const PolicyResult& policy = result.policies.at(std::string(live.decides));
    std::string line = fmt::format("{}, {}:", name, live.decides);
    for (const auto& [model, seconds] : policy.iteration_s) {
      line += fmt::format(" {} {:.3f} s ({:.3f})", model, seconds, policy.simulated_s.at(model));
    }
    outcome->notes.push_back(
        fmt::format("{}; GPU utilization of the hash seeds {:.3f} to {:.3f}", line, policy.busy_low, policy.busy_high));
  }
}

// Where nothing is left to chance: jobs alone, and on paths that are chosen.
void CollectDifferences(const CaseResult& result, IterationDifferences* differences) {
  const auto compare = [&](const Iterations& lab, const Iterations& simulated) {
    for (const auto& [model, seconds] : lab) differences->Add(seconds, simulated.at(model));
  };
  compare(result.alone_s, result.simulated_alone_s);
  for (const char* decides : {"paths", "both"}) {
    compare(result.policies.at(decides).iteration_s, result.policies.at(decides).simulated_s);
  }
}

report::PageFigure DrawCase(std::string_view name, const CaseResult& result) {
  report::BarFigure figure;
  figure.title = fmt::format("{}: GPU utilization in the lab and in the simulator", name);
  figure.description = "Two bars for each of: nothing decided, paths, priorities, both.";
  figure.y_label = "GPU utilization";
  figure.y_domain = {0, 1};
  figure.series = {"lab", "simulator"};
  for (const traffic::LivePolicy& live : traffic::LivePolicies()) {
    const PolicyResult& policy = result.policies.at(std::string(live.decides));
    figure.groups.push_back({std::string(live.decides), {policy.busy, policy.simulated_busy}, {}});
  }
  return {figure.title, Draw(figure), "Like Figures 19 and 20 of the paper; means over hash seeds."};
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  CaseRunner runner(context);
  experiment::Outcome outcome;
  IterationDifferences differences;
  for (const Case& lab_scenario : kCases) {
    if (context.reduced && &lab_scenario != kCases) {
      AddRows(lab_scenario.name, NoResult(lab_scenario), &outcome);
      continue;
    }
    const auto result = runner.Run(lab_scenario);
    if (!result.ok()) return WithoutLab(result.status());
    AddRows(lab_scenario.name, *result, &outcome);
    AddNotes(lab_scenario.name, *result, &outcome);
    CollectDifferences(*result, &differences);
    outcome.figures.push_back(DrawCase(lab_scenario.name, *result));
  }
  outcome.Set("iterations, lab against simulator", differences.Median());
  outcome.notes.push_back(
      fmt::format("Means over {} labs whose switches hash differently, {:.0f} s each; the simulator's over 20 hash "
                  "seeds. none: ecmp; paths: c4p; priorities: crux-levels; both: crux+c4p.",
                  runner.num_seeds(), context.reduced ? kReducedSeconds : kSeconds));
  return outcome;
}

}  // namespace fairlead::experiments::lab_crux
