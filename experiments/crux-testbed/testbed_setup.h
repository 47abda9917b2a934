// What runs on the testbed: models, and cases of jobs placed by hand, read from setup.yaml:
//
//     connections_per_gpu: 2
//     groups:
//       network:                # models of one group of cases
//         GPT: {compute_s: 1.53, communication_s: 0.5, start_fraction: 0.5, tflops: 140}
//     cases:
//       - name: GPT-32 + 2 BERT-8
//         group: network
//         jobs:
//           - {model: GPT, hosts: [0, 2, 4, 6], gpus: [0, 1, 2, 3, 4, 5, 6, 7]}     # these GPUs of each host
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::experiments::crux_testbed {

// One block of compute, one of communication (Crux section 4.2).
struct TestbedModel {
  Seconds compute_time;        // C > 0
  Seconds communication_time;  // t >= 0: of the block when the job is alone on its best paths
  double start_fraction = 1;   // s
  FlopPerSecond gpu_rate;      // work done per second of compute; decides intensities only
};

struct TestbedJob {
  std::string model;            // "GPT": a name of the case's group
  std::vector<uint32_t> hosts;  // in the order of the rings
  std::vector<uint32_t> gpus;   // on each of its hosts
  uint32_t num_gpus() const { return static_cast<uint32_t>(hosts.size() * gpus.size()); }
};

struct TestbedCase {
  std::string name;
  std::string group;
  std::vector<TestbedJob> jobs;
};

struct TestbedSetup {
  uint32_t connections_per_gpu = 1;  // of each GPU to the next on its ring
  std::map<std::string, std::map<std::string, TestbedModel>> groups;
  std::vector<TestbedCase> cases;

  const TestbedModel& ModelOf(const TestbedCase& testbed_case, const TestbedJob& job) const {
    return groups.at(testbed_case.group).at(job.model);
  }
};

// Errors: one message with line for keys and values that can't be right, and for groups and models that don't exist.
Result<TestbedSetup> ParseTestbedSetup(std::string_view yaml, const std::string& name);

}  // namespace fairlead::experiments::crux_testbed
