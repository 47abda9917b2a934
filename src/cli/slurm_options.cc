#include "cli/slurm_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/named_choice.h"
#include "slurm/engine.h"

namespace fairlead::cli {

void AddSlurmOptions(CLI::App* command, SlurmCommandOptions* options) {
  command
      ->add_option("--engine", options->engine,
                   "Scheduler that says whose jobs are and carries out actions: slurm; default: none")
      ->check(OneOf({"slurm"}));
  command->add_option("--slurm-period", options->period_s, "Seconds between readings of Slurm")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--slurm-spares", options->spares, "Reservation that keeps spare hosts free: fairlead...")
      ->type_name("NAME");
  command->add_option("--slurm-test", options->test_program, "Program that tests an isolated host, run there by srun")
      ->type_name("PROGRAM");
  command
      ->add_option(
          "--alive-file", options->alive_file,
          "Write the time to FILE after each reading with --steer act; elastic jobs that are held are released")
      ->type_name("FILE");
}

Result<service::StartSchedulerEngine> ToSchedulerEngine(const SlurmCommandOptions& options) {
  if (options.engine.empty()) {
    if (options.spares.empty() && options.test_program.empty() && options.alive_file.empty()) {
      return service::StartSchedulerEngine();
    }
    return InvalidArgument("--slurm-spares, --slurm-test and --alive-file need --engine slurm");
  }
  slurm::EngineOptions engine;
  engine.period = std::chrono::milliseconds(static_cast<int64_t>(options.period_s * 1e3));
  engine.spares = options.spares;
  engine.test_program = options.test_program;
  engine.alive_file = options.alive_file;
  FL_RETURN_IF_ERROR(engine.Validate());
  return service::StartSchedulerEngine([engine](service::SchedulerSurroundings surroundings) {
    return slurm::Engine::Start(engine, std::move(surroundings));
  });
}

}  // namespace fairlead::cli
