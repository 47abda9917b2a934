#include "cli/explain_elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/pollux_profile.h"

namespace fairlead::cli {
namespace {

// Jobs borrow their profiles.
struct LoadedWorkload {
  sim::ProfileSet profiles;
  std::vector<sim::ElasticJobSpec> jobs;
};

Status LoadWorkload(const ElasticExplainOptions& options, LoadedWorkload* loaded) {
  if (options.workload == ElasticExplainOptions::kGenerated) {
    FL_ASSIGN_OR_RETURN(loaded->profiles, sim::GenerateProfiles(options.seed));
    sim::GeneratedWorkloadOptions generated;
    generated.seed = options.seed;
    FL_ASSIGN_OR_RETURN(loaded->jobs, sim::GenerateWorkload(loaded->profiles, generated));
    return OkStatus();
  }
  if (options.profiles.empty()) {
    return InvalidArgument("--workload FILE needs --profiles FOLDER, with the speeds of its applications");
  }
  FL_ASSIGN_OR_RETURN(loaded->profiles, sim::LoadPolluxProfiles(options.profiles));
  FL_ASSIGN_OR_RETURN(loaded->jobs, sim::LoadPolluxWorkload(options.workload, loaded->profiles));
  return OkStatus();
}

Result<uint32_t> FindJob(const std::vector<sim::ElasticJobSpec>& jobs, const std::string& wanted) {
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].name == wanted) return j;
  }
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (std::to_string(j) == wanted) return j;
  }
  return NotFound(fmt::format("there is no job '{}' in the workload; it has {} jobs{}", wanted, jobs.size(),
                              jobs.empty() ? "" : ", named like '" + jobs.front().name + "'"));
}

}  // namespace

Result<report::AllocationExplanation> ExplainElasticJob(const ElasticExplainOptions& options) {
  FL_ASSIGN_OR_RETURN(const auto policy, scheduling::CreateAllocationPolicy(options.allocation, options.seed));
  LoadedWorkload workload;
  FL_RETURN_IF_ERROR(LoadWorkload(options, &workload));
  FL_ASSIGN_OR_RETURN(const uint32_t job, FindJob(workload.jobs, options.job));
  sim::ElasticOptions simulation;
  simulation.cluster.groups = {{options.num_nodes, options.gpus_per_node}};
  std::vector<scheduling::DecisionRecord> records;
  simulation.observer = scheduling::RecordDecisionsAbout(JobId(job), &records);
  FL_RETURN_IF_ERROR(sim::RunElasticSimulation(workload.jobs, *policy, simulation, &StopRequested()).status());
  FL_ASSIGN_OR_RETURN(report::AllocationExplanation explanation, report::ExplainAllocation(records, options.at_s));
  explanation.job = job;
  explanation.name = workload.jobs[job].name;
  explanation.policy = options.allocation;
  for (const sim::ElasticJobSpec& spec : workload.jobs) explanation.job_names.push_back(spec.name);
  return explanation;
}

}  // namespace fairlead::cli
