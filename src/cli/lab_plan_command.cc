// fairlead lab plan: what each trainer of a job has to do, on hosts that somebody else has chosen, such as Slurm.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "base/nearest_word.h"
#include "cli/command.h"
#include "lab/lab_workload.h"
#include "lab/trainer/trainer_plan.h"
#include "sim/scenario.h"

namespace fairlead::cli {

namespace {

struct LabPlanOptions {
  std::string file;
  std::string job;
  std::vector<std::string> hosts;
  std::string folder;
  double scale = lab::LabOptions().scale;
  std::string checkpoint;
  uint64_t checkpoint_every = 0;
  std::string progress;
};

Result<JobId> FindJob(const sim::Scenario& scenario, const LabPlanOptions& options) {
  std::vector<std::string_view> names;
  for (const sim::ScenarioJob& job : scenario.jobs) {
    if (job.job.name == options.job) return job.job.id;
    names.push_back(job.job.name);
  }
  return InvalidArgument(options.file + ": " + UnknownName("job", options.job, names));
}

Result<std::vector<lab::LabNodeId>> FindHosts(const lab::LabPlan& plan, const std::vector<std::string>& names) {
  std::vector<lab::LabNodeId> hosts;
  for (const std::string& name : names) {
    const lab::LabNodeId node = lab::FindNode(plan, name);
    if (!node.valid() || plan.nodes[node].role != lab::NodeRole::kHost) {
      return InvalidArgument(fmt::format("--hosts: the fabric has no host '{}'; expected a name like '{}'", name,
                                         plan.nodes[lab::LabNodeId(0u)].name));
    }
    hosts.push_back(node);
  }
  if (std::set(hosts.begin(), hosts.end()).size() != hosts.size()) {
    return InvalidArgument("--hosts: a host is named twice");
  }
  return hosts;
}

Status WritePlans(const LabPlanOptions& options) {
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::LoadScenario(FindInputFile(options.file), {}));
  FL_ASSIGN_OR_RETURN(const JobId job, FindJob(scenario, options));
  FL_ASSIGN_OR_RETURN(const lab::LabPlan plan, lab::PlanLab(scenario.fabric, {.scale = options.scale}));
  lab::JobPlace place{.job = job,
                      .hosts = {},
                      .num_gpus = {},
                      .num_queue_pairs = scenario.qps_per_connection,
                      .listen_port = lab::ListenPortOf(job),
                      .num_iterations = scenario.jobs[job.index()].job.num_iterations};
  FL_ASSIGN_OR_RETURN(place.hosts, FindHosts(plan, options.hosts));
  place.num_gpus.assign(place.hosts.size(), scenario.jobs[job.index()].job.gpus_per_host);
  scenario.qps_per_connection = 1;  // queue pairs are made by the planner
  FL_ASSIGN_OR_RETURN(lab::LabJob planned, lab::PlanJobAt(scenario, plan, place));
  lab::DrawCommunicatorIds(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()),
                           &planned);
  for (lab::LabWorker& worker : planned.workers) {
    worker.plan.checkpoint = options.checkpoint;
    worker.plan.checkpoint_every = options.checkpoint_every;
    worker.plan.progress = options.progress;
    FL_RETURN_IF_ERROR(WriteFileAtomically(fmt::format("{}/{}.json", options.folder, worker.plan.worker),
                                           lab::WriteTrainerPlan(worker.plan), Outlives::kProcess));
  }
  fmt::print("{} on {} hosts: {}/0.json … {}.json\n", options.job, planned.workers.size(), options.folder,
             planned.workers.size() - 1);
  return OkStatus();
}

}  // namespace

void AddLabPlanCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabPlanOptions>();
  CLI::App* plan = lab->add_subcommand(
      "plan", "Write what each trainer of a job has to do on chosen hosts, for schedulers that start them.");
  plan->add_option("SCENARIO", options->file, "Scenario that the lab was made of")->required();
  plan->add_option("JOB", options->job, "A job of it")->required();
  plan->add_option("--hosts", options->hosts, "Where it is to run: one trainer on each, in this order")
      ->delimiter(',')
      ->required()
      ->type_name("HOST,...");
  plan->add_option("--into", options->folder, "Write 0.json, 1.json, … for `fairlead-trainer` there")
      ->required()
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  plan->add_option("--scale", options->scale, "Factor on all speeds that the lab has")->capture_default_str();
  plan->add_option("--checkpoint", options->checkpoint, "Checkpoint to go on from, and to write; default: none")
      ->type_name("FILE");
  plan->add_option("--checkpoint-every", options->checkpoint_every,
                   "Iterations between checkpoints; 0: only where SIGUSR1 asks for one")
      ->capture_default_str();
  plan->add_option("--progress", options->progress,
                   "Write the number of iterations done there after each; default: none")
      ->type_name("FILE");
  plan->footer("Example: fairlead lab plan scenarios/lab-slurm.yaml gpt --hosts h0,h5 --into /tmp/run");
  plan->callback([options, invocation] {
    const Status status = WritePlans(*options);
    if (!status.ok()) invocation->exit_code = ReportError(status);
  });
}

}  // namespace fairlead::cli
