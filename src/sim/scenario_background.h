// How a scenario says what the network carries beside training: key/value caches and checkpoints.
//
//     storage: {hosts: [h14, h15]}
//     kv_transfers:
//       - {name: chat, from: [h10, h11], to: [h12, h13], per_s: 20, model: llama-65b}
//     jobs:
//       - {name: train, gpus: 64, model: gpt-13b, checkpoint_s: 30min}
//
// Hosts of storage and serving belong to no job.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/yaml_reader.h"
#include "sim/scenario.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// The hosts that a key names, each once. Errors are kept in the document; nothing is returned then.
std::optional<std::vector<HostId>> ReadHostNames(YamlMap& map, std::string_view key, const topology::Fabric& fabric);

// Reads storage and kv_transfers, after fabric, profiles and levels and before jobs.
void ReadBackground(YamlMap& root, Scenario* scenario);

// Reads what a job writes as checkpoints; nothing: none.
std::optional<CheckpointWrites> ReadCheckpoint(YamlMap& map, const ScenarioJob& job, const Scenario& scenario);

}  // namespace fairlead::sim
