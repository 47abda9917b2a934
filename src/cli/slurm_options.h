// The controller's options for Slurm as its scheduler.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "service/controller/scheduler_engine.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::cli {

struct SlurmCommandOptions {
  std::string engine;
  double period_s = 10;
  std::string spares;
  std::string test_program;
  std::string alive_file;
  std::vector<std::string> elastic;  // partitions
  std::string allocation = "aiturbo";
  std::vector<std::string> settings;  // "round_s=60"
  double restart_s = 60;
  std::string log;  // slurmctld's
};

// The options must outlive the command.
void AddSlurmOptions(CLI::App* command, SlurmCommandOptions* options);

// An empty function where no engine is named. Errors: kInvalidArgument: an option of an engine without one.
Result<service::StartSchedulerEngine> ToSchedulerEngine(const SlurmCommandOptions& options);

}  // namespace fairlead::cli
