// A scenario: the file that says which cluster, which jobs, which failures, and what to compare.
//
//     title: Two jobs on one uplink
//     notes: ["Model sizes are assumptions."]
//     fabric: {kind: clos2, …}        # or fabric_file: ../fabrics/crux-testbed.yaml, relative to the scenario
//     placement: locality-first        # or random
//     policies: [ecmp, crux]
//     crux: {path_hysteresis: 0, level_hysteresis: 0, fairness: 0, starvation_guard_s: 0}   # of all variants
//     c4p: {max_imbalance: 1.3}        # of all its variants
//     qps_per_connection: 2            # queue pairs; every flow between hosts is split
//     seeds: 5                         # draws of chance per policy
//     vary: [hash, phase, placement]   # what differs between draws (scenario_draws.h); default: all three
//     simulate_s: 120
//     detail: agents                   # the live controller and agents decide, message by message (live_traffic.h)
//     goodput: 0.97                    # payload share of network links
//     latency: {hop_us: 0.725}         # messages take time beside their bytes; default: none
//     congestion: dcqcn                # full links lose what its saw-tooth costs; CNPs are counted; default: none
//     jobs:
//       - {name: train-a, gpus: 64, model: gpt-13b, parallelism: {tensor: 8}, arrival_s: 0, iterations: 100}
//       - {name: b, gpus: 16, compute_s: 0.5, size_mb: 800, collective: ring-all-reduce, start_fraction: 0.5, count: 3}
//       - {name: c, gpus: 32, workload: {simai: ../workloads/moe-32.txt}}   # or chakra: PREFIX, FOLDER or TRACE.et
//       - {name: d, gpus: 16, hosts: [h0, h8], compute_s: 0.01, size_mb: 800}   # on these hosts
//     allocation: aiturbo              # decides about sizes and hosts instead of placement; see scenario_allocation.h
//     storage: {hosts: [h14, h15]}     # where checkpoints go; see scenario_background.h
//     migration: {policy: monkey-tree} # workers of running jobs change hosts; see scenario_migration.h
//     trace: {…}                       # instead of jobs; see trace_jobs.h
//     link_events:
//       - {at_s: 30, link: "leaf3->spine1", health: 0}
//     host_faults:                     # with allocation: see scenario_health.h
//       - {at_s: 600, host: h3, kind: gpu_hang}
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "collective/model_profiles.h"
#include "collective/phase_latency.h"
#include "controller/cluster_controller.h"
#include "model/job.h"
#include "scheduling/policy_settings.h"
#include "sim/background_source.h"
#include "sim/cluster_simulation.h"
#include "sim/scenario_draws.h"
#include "sim/scenario_job.h"
#include "topology/fabric.h"
#include "topology/fabric_builder.h"
#include "traffic/policy_registry.h"

namespace fairlead::sim {

struct Scenario {
  std::string title;
  std::vector<std::string> notes;
  topology::Fabric fabric;
  std::string placement = "locality-first";
  uint64_t placement_seed = 1;
  std::vector<std::string> allocations;  // each with each of `policies`; empty: sizes are fixed
  std::vector<scheduling::PolicySetting> allocation_settings = {};
  bool learns_speeds = true;
  collective::ModelProfiles profiles;
  std::optional<collective::MessageLatency> latency = {};  // nothing: messages arrive when their bytes have left
  uint32_t qps_per_connection = 1;
  bool forwards_by_rail = false;           // collective/rail_forwarding.h
  std::map<GpuId, double> slow_gpus = {};  // those that compute so many times as long, > 1
  BackgroundSpec background = {};          // checkpoints are those of `jobs`
  std::vector<ScenarioJob> jobs;           // jobs[i].job.id == JobId(i)
  std::vector<LinkEvent> link_events;
  std::vector<std::string> policies = {"ecmp", "crux"};
  traffic::PolicyOptions policy_options;
  uint32_t num_seeds = 5;   // draws
  uint32_t first_draw = 0;  // scenario_draws.h
  uint64_t first_seed = 1;  // hash seed of draw 0
  VariedSeeds varied;       // what differs between draws
  SimulationOptions simulation;
  std::string migration;                  // the policy that moves workers of running jobs; empty: none
  double worker_bytes_per_parameter = 0;  // that workers take along when they migrate; 0: nothing
  bool simulates_agents = false;          // `detail: agents`: the policies are those of traffic/live_policy.h
};

struct ScenarioOverrides {
  // A fabric (YAML) or a Lingjun topo.csv (by its name's ending) instead of the scenario's fabric.
  std::optional<std::string> topology_file;
  // "KEY=VALUE" in place of what the file says, as on a command line (YamlDocument::Set): "fabric.leaves=4".
  std::vector<std::string> values = {};
  // Larger fabrics are refused before memory is taken.
  uint64_t max_links = topology::FabricBuilder::kMaxLinks;
};

// Errors: kInvalidArgument when speeds are never reported although a policy needs them.
Status CheckSpeedReports(const Scenario& scenario);

// Errors: kInvalidArgument when a policy chooses among placements where none are offered, or where jobs are not known
// when they are placed.
Status CheckPlacementChoice(const Scenario& scenario);

// Errors: kInvalidArgument when congestion control is modelled together with a policy that gives senders rules: what
// full links lose is known for queue pairs that share alike.
Status CheckCongestion(const Scenario& scenario);

// Errors: kInvalidArgument when agents are to be simulated with a policy or with options that no live cluster has.
Status CheckAgents(const Scenario& scenario);

// Errors: kInvalidArgument, kNotFound: one message with file, line and key. Everything that can be checked before a
// simulation is checked here: names of policies, models and links, jobs larger than the cluster, parallelism that does
// not fit.
Result<Scenario> LoadScenario(const std::string& path, const ScenarioOverrides& overrides);

// The same from text; `path` appears in messages and is where relative file names start.
Result<Scenario> ParseScenario(std::string_view text, const std::string& path, const ScenarioOverrides& overrides);

// The iteration of each job of the scenario, for the controller. `scenario` must outlive it.
controller::IterationProvider MakeIterationProvider(const Scenario& scenario);

}  // namespace fairlead::sim
