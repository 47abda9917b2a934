#include "cli/slurm_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/named_choice.h"
#include "scheduling/policy_settings.h"
#include "slurm/engine.h"

namespace fairlead::cli {

void AddSlurmOptions(CLI::App* command, SlurmCommandOptions* options) {
  command
      ->add_option("--engine", options->engine,
                   "Scheduler that says whose a job is, and carries out actions: slurm; default: none")
      ->check(OneOf({"slurm"}));
  command->add_option("--slurm-period", options->period_s, "Seconds between readings of Slurm")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--slurm-spares", options->spares,
                   "Reservation that keeps spare hosts free; its name begins with fairlead")
      ->type_name("NAME");
  command->add_option("--slurm-test", options->test_program, "Program that tests an isolated host, run there by srun")
      ->type_name("PROGRAM");
  command
      ->add_option(
          "--alive-file", options->alive_file,
          "With --steer act, write the time to FILE after each reading of Slurm; held elastic jobs are then started")
      ->type_name("FILE");
  command
      ->add_option("--slurm-elastic", options->elastic,
                   "Choose the nodes of elastic jobs in these partitions, with --steer act: PARTITION,...")
      ->delimiter(',')
      ->type_name("PARTITIONS");
  command->add_option("--allocation", options->allocation, "Policy that chooses them, see `fairlead sched options`")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--allocation-option", options->settings,
                   "An option of that policy, such as round_s=60; may be given several times")
      ->allow_extra_args(false)
      ->type_name("NAME=NUMBER");
  command
      ->add_option("--slurm-restart", options->restart_s,
                   "Seconds that a change of size costs an elastic job, as long as none was measured")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option(
          "--slurm-log", options->log,
          "slurmctld's log: an elastic job whose script slurmctld could not launch, as it says there, is requeued")
      ->type_name("FILE");
}

namespace {

Result<slurm::ElasticOptions> ToElasticOptions(const SlurmCommandOptions& options) {
  slurm::ElasticOptions elastic;
  elastic.partitions = options.elastic;
  elastic.policy = options.allocation;
  elastic.restart_cost_s = options.restart_s;
  FL_ASSIGN_OR_RETURN(
      const std::vector<scheduling::PolicySetting> settings,
      scheduling::ParsePolicySettings(options.settings, std::vector{options.allocation}, "--allocation-option"));
  elastic.settings = scheduling::SettingsOf(settings, options.allocation);
  const Status status = elastic.Validate();
  if (!status.ok()) return Status(status.code(), "--allocation: " + status.message());
  return elastic;
}

}  // namespace

Result<service::StartSchedulerEngine> ToSchedulerEngine(const SlurmCommandOptions& options) {
  if (options.engine.empty()) {
    if (options.spares.empty() && options.test_program.empty() && options.alive_file.empty() &&
        options.elastic.empty() && options.log.empty()) {
      return service::StartSchedulerEngine();
    }
    return InvalidArgument(
        "--slurm-spares, --slurm-test, --slurm-elastic, --slurm-log and --alive-file need --engine slurm");
  }
  slurm::EngineOptions engine;
  engine.period = std::chrono::milliseconds(static_cast<int64_t>(options.period_s * 1e3));
  engine.spares = options.spares;
  engine.test_program = options.test_program;
  engine.alive_file = options.alive_file;
  engine.elastic.slurm_log = options.log;
  FL_ASSIGN_OR_RETURN(engine.elastic.jobs, ToElasticOptions(options));
  FL_RETURN_IF_ERROR(engine.Validate());
  return service::StartSchedulerEngine([engine](service::SchedulerSurroundings surroundings) {
    return slurm::Engine::Start(engine, std::move(surroundings));
  });
}

}  // namespace fairlead::cli
