// What a scenario says about allocation: which policies decide about sizes, and how each job may be resized.
//
//     allocation: aiturbo                # or a list: each of them with each traffic policy
//     learn_speeds: true                 # false: policies believe profiles, whatever iterations take
//     jobs:
//       - {…, gpus: 8, iterations: 20000, sizes: [2, 4, 8, 16]}       # gpus is what the owner asks for
//       - {…, gpus: 8, min_gpus: 2, max_gpus: 16, epochs: 30, iterations_per_epoch: 500}
//       - {…, gpus: 4, iterations: 9000, restart_s: 60, predictable_after: 0.3}   # or predictable: false
//
// The work of an iteration is that of `gpus`; on k GPUs each computes gpus / k times as long. A model profile is split
// by its data parallelism, micro-batches making up for replicas that are not there: sizes must divide its batch.
#pragma once

#include "base/status.h"
#include "base/yaml_reader.h"
#include "sim/scenario.h"
#include "sim/scenario_job.h"

namespace fairlead::sim {

// Reads the keys allocation and learn_speeds. Errors are kept in the document.
void ReadAllocation(YamlMap& root, Scenario* scenario);

// Reads how an entry of `jobs` may be resized; its work has been read. Without an allocation policy the keys are
// refused. Errors are kept in the document.
void ReadElasticity(YamlMap& map, const Scenario& scenario, ScenarioJob* entry);

// Policies split jobs over hosts as GPUs are free; tensor groups must not be torn. Errors: kInvalidArgument, naming a
// job with tensor groups that could lie unevenly on hosts next to other jobs.
Status CheckTensorGroups(const Scenario& scenario);

// The parallelism on `num_gpus` of a job that asks for `requested` with `base`: the same batch.
// Errors: kInvalidArgument when the batch can't be split so.
Result<model::Parallelism> ResizeParallelism(const model::Parallelism& base, uint32_t num_gpus);

}  // namespace fairlead::sim
