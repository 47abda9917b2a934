// How far a job had come when it last wrote that down: {"iteration": n}, n iterations are done.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// 0: no file. Errors: kInvalidArgument: it is none, naming `path`.
Result<uint64_t> ReadCheckpoint(const std::string& path);

// Readers see the old one or the new one. Errors: those of WriteFileAtomically.
Status WriteCheckpoint(const std::string& path, uint64_t iterations);

// What a worker writes down after an iteration: worker 0 its progress and, where one is due or wanted, a checkpoint;
// the others nothing. Args: done: iterations so far; wanted: as TrainOptions::checkpoint_wanted. Errors: those of
// WriteFileAtomically.
Status KeepCheckpoint(const TrainerPlan& plan, uint64_t done, std::atomic<bool>* wanted);

}  // namespace fairlead::lab
