// Turns the jobs of a trace into jobs of a scenario: which model each one trains, how it divides the work, and how long
// it holds its GPUs.
//
// A trace says when a job came, how many GPUs it held for how long, and perhaps a name for what it did. It has nothing
// about compute and traffic, so the scenario maps names to model profiles:
//
//     trace:
//       generate: {profile: lingjun-2023, seed: 1, days: 14}   # or file: jobs.csv, relative to the scenario
//       window: {from_s: 0, to_s: 86400}                       # jobs that arrive in it; the clock is 0 at from_s
//       models: [{label: llama, model: llama-7b}, {label: 65b, model: llama-65b}]
//       spread:                                                # all other names: drawn per job, by its size
//         - {max_gpus: 8, models: [resnet-50, bert-large]}
//         - {models: [gpt-13b, nmt]}
//       seed: 1                                                # of that draw
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/yaml_reader.h"
#include "collective/model_profiles.h"
#include "sim/scenario_job.h"
#include "topology/fabric.h"
#include "trace/trace.h"

namespace fairlead::sim {

// Models of the jobs of up to this many GPUs that have no label of their own.
struct ModelSpread {
  uint32_t max_gpus = 0;
  std::vector<std::string> models;  // one is drawn per job; a model that appears twice is drawn twice as often
};

struct TraceMapping {
  std::map<std::string, std::string> models;  // label -> profile
  std::vector<ModelSpread> spread;            // by max_gpus; the last one takes every size
  uint64_t seed = 1;
};

struct TraceJobs {
  std::vector<ScenarioJob> jobs;   // jobs[i].job.id == JobId(i), by arrival
  std::vector<std::string> notes;  // what was left out
};

// Every job holds its GPUs for the trace's duration, whatever the network does to it: all policies then face the same
// arrivals, ends and placements, and differ in how much gets computed. Left out and counted: jobs without GPUs, jobs of
// no duration, jobs that the empty cluster can't hold, jobs with a model that can't be divided among their GPUs.
// Errors: kInvalidArgument, kNotFound for a profile that does not exist.
Result<TraceJobs> MapTraceJobs(const std::vector<trace::TraceJob>& trace, const TraceMapping& mapping,
                               const collective::ModelProfiles& profiles, const topology::Fabric& fabric);

// Reads the `trace` section of a scenario; `directory` is where relative file names start. Errors stay with the map's
// document.
struct TraceSection {
  std::vector<trace::TraceJob> jobs;
  std::vector<std::string> notes;
  TraceMapping mapping;
  double length_s = 0;  // of the window, or whole days up to the last arrival
};
TraceSection ReadTraceSection(YamlMap& section, const std::string& directory);

}  // namespace fairlead::sim
