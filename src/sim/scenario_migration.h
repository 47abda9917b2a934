// How a scenario says that workers of running jobs may change hosts, and what that costs (worker_migration.h).
//
//     migration: {policy: monkey-tree}                         # as measured: 16 B a parameter, 5.83 s
//     migration: {policy: monkey-tree-exact, max_rings: 4, cost: published-simulation}
//
// Cost     published-system      each worker takes bytes_per_parameter * parameters / GPUs of the job along, in one
//                                flow; then the job needs restart_s: 9.02 s end to end less 3.19 s of transfer
//                                (section 5)
//          published-simulation  nothing, as in the simulations of the paper
//          Flows leave by the NICs of the hosts that are left, whoever has these now.
// Sizes    Parameters are those of the model's profile. Of a job that is given by plain numbers its buffer counts as
//          its gradients, of two bytes each.
#pragma once

#include "base/status.h"
#include "base/yaml_reader.h"
#include "controller/worker_migration.h"
#include "sim/scenario.h"

namespace fairlead::sim {

// Reads migration, after allocation, trace and the simulation's options, before jobs. Errors are kept in the document.
void ReadMigration(YamlMap& root, Scenario* scenario);

// Errors: kInvalidArgument where workers can't migrate: racks or spines are missing, hosts differ, or a job shares
// hosts although it has several, names its own, or has parameters that nobody knows.
Status CheckMigration(const Scenario& scenario);

// What a worker of each job takes along; empty: nothing. `scenario` must outlive it.
std::function<Bytes(const model::Job&)> MakeWorkerStates(const Scenario& scenario);

}  // namespace fairlead::sim
