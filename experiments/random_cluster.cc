#include "experiments/random_cluster.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/random.h"

namespace fairlead::experiments {

namespace {

constexpr uint32_t kNumGpus = 128;

// Those that run on every size below.
constexpr std::array<std::string_view, 9> kModels = {
    "gpt-3b", "gpt-7b", "gpt-13b", "llama-7b", "llama-13b", "resnet-50", "bert-large", "nmt", "ctr-recommender"};
constexpr std::array<uint32_t, 4> kSizes = {8, 16, 32, 64};

std::string FabricText(const ClusterCell& cell) {
  std::string text;
  if (cell.fabric == "clos2") text = "kind: clos2, leaves: 8, hosts_per_leaf: 2, spines: 8";
  if (cell.fabric == "double-sided") text = "kind: double-sided, leaves: 8, hosts_per_leaf: 4, spines: 8";
  if (cell.fabric == "rail") text = "kind: rail-dual-plane, segments: 4, hosts_per_segment: 4, spines: 4";
  return fmt::format(
      "{{{}, oversubscription: {}, host: {{gpus: 8, gpu_model: A100, gpu_peak_tflops: 312, nvlink_gigabytes_per_s: "
      "300, "
      "sockets: 2, pcie_switches: 4, pcie_gigabytes_per_s: 32, nics: 4, ports_per_nic: 2, port_gbps: 100}}}}",
      text, cell.oversubscription);
}

}  // namespace

std::string ClusterCell::Label() const {
  return fmt::format("{} {:.0f}:1, load {}, {} QP{}", fabric, oversubscription, load, queue_pairs,
                     queue_pairs == 1 ? "" : "s");
}

Result<sim::Scenario> DrawCluster(const ClusterCell& cell, uint64_t seed, double simulated_s) {
  Random random(seed);
  std::string text = fmt::format(
      "title: {}\nfabric: {}\nplacement: random\nplacement_seed: {}\nphase_seed: {}\nseeds: 1\nseed: {}\nsimulate_s: "
      "{}\n"
      "qps_per_connection: {}\njobs:\n",
      cell.Label(), FabricText(cell), random.Below(1'000'000), random.Below(1'000'000), random.Below(1'000'000),
      simulated_s, cell.queue_pairs);
  uint32_t held = 0;
  for (uint32_t j = 0; held < cell.load * kNumGpus; ++j) {
    uint32_t gpus = kSizes[random.Below(kSizes.size())];
    while (held + gpus > kNumGpus) gpus /= 2;
    held += gpus;
    text += fmt::format("  - {{name: j{}, gpus: {}, model: {}}}\n", j, gpus, kModels[random.Below(kModels.size())]);
  }
  return sim::ParseScenario(text, "policy-default", {});
}

}  // namespace fairlead::experiments
