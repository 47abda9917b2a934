#include "experiments/c4p_testbed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fairlead::experiments {

namespace {

constexpr double kBytesPerNic = 1e9;  // in each direction and iteration

}  // namespace

Result<sim::Scenario> MakeC4pScenario(const C4pTestbed& testbed) {
  // NVLink is made so fast that only the network counts: bus bandwidth per NIC is what the paper plots.
  std::string text = fmt::format(
      "title: Concurrent all-reduce jobs on the C4 testbed\n"
      "fabric:\n"
      "  kind: rail-dual-plane\n"
      "  segments: 2\n"
      "  hosts_per_segment: 8\n"
      "  rails_per_leaf: 4\n"
      "  spines: 8\n"
      "  shared_planes: true\n"
      "  uplink_gbps: {}\n"
      "  host: {{nvlink_gigabytes_per_s: 4000, pcie_gigabytes_per_s: 1000}}\n"
      "goodput: {}\n"
      "qps_per_connection: {}\n"
      "policies: [{}]\n"
      "seeds: {}\n"
      "vary: [hash]\n"
      "simulate_s: {}\n"
      "random_phase: false\n"
      "jobs:\n",
      testbed.uplink_gbps, kCeilingGbps / 400, testbed.queue_pairs, fmt::join(testbed.policies, ", "),
      testbed.num_seeds, testbed.simulated_s);
  for (uint32_t j = 0; j < testbed.num_jobs; ++j) {
    text += fmt::format(
        "  - {{name: job{0}, hosts: [h{0}, h{1}], gpus: 16, compute_s: 0, size_mb: 8000, "
        "collective: hierarchical-all-reduce}}\n",
        j, j + 8);
  }
  return sim::ParseScenario(text, "the C4 testbed", {});
}

void LoseCable(LinkId link, SimTime at, sim::Scenario* scenario) {
  for (const LinkId direction : {link, scenario->fabric.reverse(link)}) {
    scenario->link_events.push_back({at, direction, 0});
  }
}

void LoseUplinks(SimTime at, sim::Scenario* scenario) {
  for (const std::string_view leaf : kFailedLeaves) {
    LoseCable(scenario->fabric.FindLink(fmt::format("{}->spine0", leaf)), at, scenario);
  }
}

double BusBandwidth(const sim::JobResult& job) {
  return job.iteration_s > 0 ? kBytesPerNic * 8e-9 / job.iteration_s : 0;
}

Bandwidths MeasureBandwidths(const sim::SimulationReport& report, std::string_view policy) {
  Bandwidths result;
  double num_runs = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy || run.jobs.empty()) continue;
    std::vector<double> bandwidths;
    for (const sim::JobResult& job : run.jobs) bandwidths.push_back(BusBandwidth(job));
    result.worst += *std::min_element(bandwidths.begin(), bandwidths.end());
    result.best += *std::max_element(bandwidths.begin(), bandwidths.end());
    for (const double bandwidth : bandwidths) result.mean += bandwidth / static_cast<double>(bandwidths.size());
    ++num_runs;
  }
  for (double* value : {&result.worst, &result.best, &result.mean}) *value /= std::max(1.0, num_runs);
  return result;
}

}  // namespace fairlead::experiments
