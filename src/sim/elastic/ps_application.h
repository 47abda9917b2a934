// Applications that train with parameter servers and workers, on CPUs, on GPUs, or on both at once.
//
// Problem     how long does an iteration take in a given configuration, and which of its resources compute meanwhile?
// Notation    w, p, g, c_w, c_p -> num_workers, num_ps, num_gpus, cores_per_worker, cores_per_ps; M -> global batch;
//             theta_i, e_w, e_p: prediction/speed_model.h
// Method      all workers alike: T as in speed_model.h, from the model of CPU workers (g = 0) or GPU workers (g = w).
//             Some of each (0 < g < w): the batch is split so that all workers end together; a CPU worker that is
//             slower than that with an empty batch gets none. The other terms are those of GPU workers.
//             Busy: a GPU while it computes; of a CPU worker's cores as many as the speed-up over one core, one core
//             beside each GPU worker that computes; of a server's cores likewise, during the update.
//             Input pipeline: the cores of a GPU worker prepare its samples while the GPU trains on those before, each
//             sample r core-seconds: a sample takes max(GPU time, r / c_w). They are busy with that. What a CPU worker
//             prepares is in its time for a sample.
// Differs     the input pipeline is ours: slide 9 says that GPUs idle for want of CPUs, the prototype has no such term.
//             a mixed job is our addition: the prototype has separate models for jobs of either kind.
// Reference   Zhao et al., AITurbo, HPDC 2021, slides 9, 10, 18.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "prediction/speed_model.h"
#include "scheduling/unit_operations.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

struct PsApplication {
  std::string name;
  prediction::SpeedModel cpu_workers;  // with the worker's curve
  prediction::SpeedModel gpu_workers;
  scheduling::PsWorkerLimits limits;
  double restart_s = 30;
  // Core-seconds that prepare a sample for a GPU, >= 0.
  double prepare_core_s = 0;

  // Errors: kInvalidArgument naming the application: limits with a minimum that is no configuration, a time that is not
  // positive at the minimum.
  Status Validate() const;
};

// The same as the speed model has it.
prediction::ServerConfiguration ConfigurationOf(const scheduling::PsWorkerConfig& config, double global_batch);

// Seconds of one iteration, and what it keeps busy.
struct PsIteration {
  double iteration_s = 0;
  BusyResources busy;
};

// Args: workers and servers >= 1, no more GPUs than workers.
PsIteration SimulateIteration(const PsApplication& application, const scheduling::PsWorkerConfig& config,
                              double global_batch);

}  // namespace fairlead::sim
