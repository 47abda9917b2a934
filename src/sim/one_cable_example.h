// For tests of what jobs do to each other on one link: closed forms.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "sim/scenario_runner.h"

namespace fairlead::sim {

// Jobs that send from a host under leaf 0 to one under leaf 1, over one cable as fast as a port; in step unless told
// otherwise.
class OneCable {
 public:
  double simulate_s = 20;
  size_t iterations = 0;  // of each job; 0: no end
  bool random_phase = false;
  bool fast_forward = true;
  std::string policies = "ecmp, cassini";
  std::string options;  // lines of the scenario

  void AddJob(double compute_ms, double sending_ms, double arrival_ms = 0) {
    const size_t j = num_jobs_++;
    // A ring of two sends its bytes once in each direction; 200 Gb/s.
    jobs_ += fmt::format("  - {{hosts: [h{}, h{}], gpus: 2, compute_s: {}, size_mb: {}, arrival_s: {}}}\n", j,
                         kHosts + j, compute_ms * 1e-3, sending_ms * 25, arrival_ms * 1e-3);
  }

  std::map<std::string, RunResult> Run() const {
    const std::string text = fmt::format(
        "title: one cable\nseeds: 1\nsimulate_s: {}\nrandom_phase: {}\ngoodput: 1\npolicies: [{}]\n{}"
        "fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: {}, spines: 1, oversubscription: {}, host: {{gpus: 2, nics: "
        "1, port_gbps: 200, sockets: 1, pcie_switches: 1}}}}\njobs:\n{}",
        simulate_s, random_phase, policies, options, kHosts, kHosts, jobs_);
    Scenario scenario = ParseScenario(text, "test.yaml", {}).value();
    scenario.simulation.fast_forward = fast_forward;
    for (ScenarioJob& entry : scenario.jobs) entry.job.num_iterations = iterations;
    const std::atomic<bool> never = false;
    std::map<std::string, RunResult> by_policy;
    SimulationReport report = RunScenario(scenario, {.num_threads = 1}, never, nullptr).value();
    for (RunResult& run : report.runs) {
      by_policy.emplace(run.policy, std::move(run));
    }
    return by_policy;
  }

 private:
  static constexpr size_t kHosts = 4;

  std::string jobs_;
  size_t num_jobs_ = 0;
};

}  // namespace fairlead::sim
