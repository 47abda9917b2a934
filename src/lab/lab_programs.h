// Where the programs and libraries are that run inside a lab: beside this one, as built or as installed.
#pragma once

#include <string>

#include "base/status.h"

namespace fairlead::lab {

// Paths that exist. Errors: kNotFound: what is missing, where it was looked for, what to do.
// Args: name: such as fairlead-agent.
Result<std::string> FindProgram(const std::string& name);
// The program of a job's workers (trainer_process.h has what it must do). Args: trainer: kFairleadTrainer,
// kNcclTrainer, or the path of another one.
inline constexpr const char* kFairleadTrainer = "fairlead";  // fairlead-trainer
inline constexpr const char* kNcclTrainer = "nccl";          // NCCL's host code on CPUs, where it was built
Result<std::string> FindTrainer(const std::string& trainer);
Result<std::string> FindSteeringLibrary();
Result<std::string> FindProfilerPlugin();
// spank_fairlead.so, which is built where Slurm's header is.
Result<std::string> FindSpankPlugin();

}  // namespace fairlead::lab
