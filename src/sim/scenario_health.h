// How a scenario says which GPUs break, who notices, and what operators do with hosts.
//
//     allocation: aiturbo
//     host_events: [{at_s: 0, host: h24, state: spare}]
//     host_faults:
//       - {at_s: 600, host: h3, kind: gpu_hang}
//       - {at_s: 900, host: h5, gpu: 2, kind: slow_gpu, magnitude: 2}
//     health: {diagnosis: c4d}
//     slow_gpus: [{host: h3, times: 1.2}]     # all the time, and without allocation
#pragma once

#include "base/yaml_reader.h"
#include "sim/scenario.h"

namespace fairlead::sim {

// Reads host_faults, host_events, health and slow_gpus, after allocation and detail. Errors are kept in the document.
void ReadHealth(YamlMap& root, Scenario* scenario);

}  // namespace fairlead::sim
