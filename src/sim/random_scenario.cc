#include "sim/random_scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "collective/collective_kind.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/placement_policy.h"
#include "traffic/policy_registry.h"

namespace fairlead::sim {

namespace {

constexpr std::string_view kPath = "/nonexistent/random.yaml";

class Writer {
 public:
  Writer(const Draw& draw, const RandomScenarioOptions& options) : draw_(draw), options_(options) {}

  std::string Write();

 private:
  // Of a cluster only what jobs have to fit into.
  struct Size {
    uint64_t hosts = 0;
    uint64_t gpus_per_host = 0;
    double port_gbps = 0;
  };

  bool OneIn(uint64_t n) { return draw_(n) == 0; }
  uint64_t Between(uint64_t low, uint64_t high) { return low + draw_(high - low + 1); }
  template <class Items>
  auto OneOf(const Items& items) {
    return items[draw_(std::size(items))];
  }
  uint64_t OneOf(std::initializer_list<uint64_t> items) { return items.begin()[draw_(items.size())]; }
  // Log-uniform in [low, high], half of the time rounded to one digit.
  double Length(double low, double high) {
    const double value = low * std::pow(high / low, static_cast<double>(draw_(1'000'001)) * 1e-6);
    if (!OneIn(2)) return value;
    const double digit = std::pow(10, std::floor(std::log10(value)));
    return std::clamp(std::round(value / digit) * digit, low, high);
  }
  // In [0, 1], often one of its ends.
  double Fraction() {
    const uint64_t kind = draw_(4);
    return kind < 2 ? static_cast<double>(kind) : static_cast<double>(draw_(1001)) * 1e-3;
  }

  double Instant() { return static_cast<double>(draw_(1001)) * 1e-3 * simulated_s_; }

  std::string Fabric();
  std::string Host(bool needs_two_ports);
  std::string Uplinks();
  std::string Background();
  std::string Spray();
  std::string Options();
  std::string Job();
  std::string Work(uint64_t gpus, bool divides_batch);
  std::string ModelWork(uint64_t gpus, bool divides_batch);
  std::string Events(const topology::Fabric& fabric);

  const Draw& draw_;
  const RandomScenarioOptions& options_;
  Size size_;
  double simulated_s_ = 0;
  std::string policy_;
  std::string placement_;  // empty: an allocation policy decides
  bool allocates_ = false;
  bool has_storage_ = false;
  bool is_crowded_ = false;  // jobs that run at the same time share links that are too narrow for them
};

// Arguments of one call are evaluated in an order chosen by the compiler: every draw has its own line.
std::string Writer::Host(bool needs_two_ports) {
  size_.gpus_per_host = OneOf({1, 2, 4, 8});
  const uint64_t nics = Between(1, std::min<uint64_t>(4, size_.gpus_per_host));
  const uint64_t ports = needs_two_ports ? 2 : Between(1, 2);
  size_.port_gbps = static_cast<double>(OneOf({10, 25, 100, 200}));
  const uint64_t pcie_switches = Between(1, 2);
  const uint64_t sockets = Between(1, 2);
  const int nvlink = OneIn(4) ? 0 : 300;
  return fmt::format(
      "{{gpus: {}, nics: {}, ports_per_nic: {}, port_gbps: {}, pcie_switches: {}, sockets: {}, "
      "nvlink_gigabytes_per_s: {}}}",
      size_.gpus_per_host, size_.gpus_per_host % nics == 0 ? nics : 1, ports, size_.port_gbps, pcie_switches, sockets,
      nvlink);
}

std::string Writer::Uplinks() {
  std::string text;
  if (is_crowded_ || OneIn(2)) text += fmt::format(", oversubscription: {:.4g}", Length(is_crowded_ ? 2 : 0.5, 8));
  if (OneIn(3)) text += ", parallel_uplinks: 2";
  return text;
}

std::string Writer::Fabric() {
  const uint64_t kind = draw_(5);
  const uint64_t spines = Between(1, 3);
  const uint64_t hosts = is_crowded_ ? Between(2, 4) : Between(1, 3);   // per leaf or segment
  const uint64_t leaves = is_crowded_ ? Between(2, 4) : Between(1, 4);  // or segments
  const uint64_t cores = spines * Between(1, 2);
  const bool shares_planes = OneIn(2);
  const std::string uplinks = Uplinks();
  const std::string rest = uplinks + ", host: " + Host(kind == 1 || kind == 2) + "}";
  switch (kind) {
    case 0:
      size_.hosts = 2 * leaves * hosts;
      return fmt::format("{{kind: clos3, pods: 2, leaves: {}, hosts_per_leaf: {}, spines: {}, cores: {}{}", leaves,
                         hosts, spines, cores, rest);
    case 1:
      size_.hosts = 2 * hosts;
      return fmt::format("{{kind: double-sided, leaves: 2, hosts_per_leaf: {}, spines: {}{}", hosts, spines, rest);
    case 2:
      size_.hosts = leaves * hosts;
      return fmt::format(
          "{{kind: rail-dual-plane, segments: {}, hosts_per_segment: {}, spines: {}, shared_planes: {}{}", leaves,
          hosts, spines, shares_planes, rest);
    default:
      size_.hosts = leaves * hosts;
      return fmt::format("{{kind: clos2, leaves: {}, hosts_per_leaf: {}, spines: {}{}", leaves, hosts, spines, rest);
  }
}

// On the last two hosts, which jobs do not get.
std::string Writer::Background() {
  size_.hosts -= 2;
  const uint64_t first = size_.hosts;
  const double per_s = Length(2 / simulated_s_, 200 / simulated_s_);
  const double bytes = size_.port_gbps * 125e6 * simulated_s_ * Length(1e-8, 1e-5);
  const double sigma = OneIn(3) ? 0 : Length(0.1, 2);
  const bool is_first = OneIn(3);
  return fmt::format(
      "kv_transfers: [{{from: [h{}], to: [h{}], per_s: {:.4g}, bytes_per_token: {:.4g}, sigma: {:.3g}{}}}]\n"
      "storage: {{hosts: [h{}]}}\n",
      first, first + 1, per_s, std::max(1.0, bytes), sigma, is_first ? ", level: 0" : "", first + 1);
}

std::string Writer::Spray() {
  static constexpr std::array<std::string_view, 5> kPresets = {"none", "uec", "mrc", "spectrumx", "blind"};
  std::string text = fmt::format("preset: {}", OneOf(kPresets));
  if (OneIn(4)) text += ", split: oblivious";
  if (OneIn(2)) text += fmt::format(", efficiency: {:.3g}", Length(0.3, 1));
  // From what nobody sees to what is never noticed.
  if (!OneIn(3)) text += fmt::format(", detect_us: {:.4g}", Length(1e-3, simulated_s_ * 2e6));
  if (OneIn(3)) text += fmt::format(", remap_s: {:.4g}", Length(1e-6, simulated_s_));
  if (OneIn(3)) text += fmt::format(", reorder_us: {:.4g}", Length(1, simulated_s_ * 1e4));
  if (OneIn(4)) text += fmt::format(", paths: {}", Between(2, 8));
  return fmt::format("spray: {{{}}}\n", text);
}

std::string Writer::Options() {
  std::string text;
  if (options_.detection && policy_.ends_with("spray") && !OneIn(4)) text += Spray();
  if (options_.queue_pairs && OneIn(3)) text += fmt::format("qps_per_connection: {}\n", Between(2, 4));
  // Senders with rules of their own do not share links alike.
  if (options_.congestion && OneIn(4) && !traffic::SendersHaveRules(policy_, {})) text += "congestion: dcqcn\n";
  if (OneIn(4)) text += fmt::format("latency: {{ends_us: {:.4g}, hop_us: 1}}\n", Length(1, simulated_s_ * 1e3));
  if (options_.edge_detail && OneIn(3)) text += "detail: edge\n";
  if (options_.extrapolation && OneIn(2)) text += "extrapolate: true\n";
  const bool profiles = options_.profiling && !allocates_ && OneIn(5);
  if (profiles) text += fmt::format("profile_jobs: true\nprofiling_window_s: {:.4g}\n", Length(0.1, 30));
  const std::vector<std::string_view> offering = scheduling::OfferingPolicyNames();
  const bool offers = std::ranges::find(offering, placement_) != offering.end();
  if (policy_ == "cassini" && offers && !profiles && !OneIn(3)) {
    text += fmt::format("cassini: {{placements: {}}}\n", Between(2, 10));
  }
  if (options_.speed_reports && OneIn(4)) {
    text += fmt::format("speed_report_s: {:.4g}\n", Length(simulated_s_ / 50, simulated_s_));
  }
  if (OneIn(4)) text += fmt::format("levels: {}\n", OneOf({1, 2, 3, 64}));
  if (OneIn(4)) text += fmt::format("goodput: {:.3g}\n", Length(0.05, 1));
  if (OneIn(3)) text += "random_phase: false\n";
  text += fmt::format("phase_seed: {}\n", draw_(1000));
  return text + fmt::format("seed: {}\n", draw_(1000));
}

std::string Writer::ModelWork(uint64_t gpus, bool divides_batch) {
  static constexpr std::array<std::string_view, 6> kModels = {"resnet-50", "bert-large", "nmt",
                                                              "gpt-1.3b",  "llama-7b",   "multi-interests"};
  const std::string_view model = OneOf(kModels);
  const uint64_t micro_batches = divides_batch ? 16 : Between(1, 3);
  const uint64_t tensor = !allocates_ && gpus % 2 == 0 && size_.gpus_per_host % 2 == 0 ? Between(1, 2) : 1;
  const uint64_t pipeline = gpus % (2 * tensor) == 0 && OneIn(3) ? 2 : 1;
  const uint64_t zero_stage = draw_(4);
  return fmt::format("model: {}, parallelism: {{tensor: {}, pipeline: {}, zero_stage: {}, micro_batches: {}}}", model,
                     tensor, pipeline, zero_stage, micro_batches);
}

std::string Writer::Work(uint64_t gpus, bool divides_batch) {
  if (options_.model_profiles && OneIn(4)) return ModelWork(gpus, divides_batch);
  const bool computes = !OneIn(8);
  const double length_s = Length(simulated_s_ / 1500, simulated_s_ / (is_crowded_ ? 50 : 2));
  // Alone, its bytes take a thousandth of its compute, or much longer.
  const double size_mb = length_s * size_.port_gbps * 125 * Length(is_crowded_ ? 0.1 : 1e-3, 3);
  std::string text = fmt::format("compute_s: {:.7g}", computes ? length_s : 0);
  if (!computes || !OneIn(6)) {
    const std::string_view collective = OneOf(collective::CollectiveNames());
    const double start = Fraction();
    const bool blocks = OneIn(3);
    text += fmt::format(", size_mb: {:.7g}, collective: {}, start_fraction: {:.3g}, blocks_compute: {}", size_mb,
                        collective, start, blocks);
  }
  if (!OneIn(5)) text += fmt::format(", work_tflop: {:.4g}", Length(0.01, 1000));
  return text;
}

std::string Writer::Job() {
  const uint64_t per_host = OneIn(3) ? Between(1, size_.gpus_per_host) : size_.gpus_per_host;
  // In a crowd several jobs find place at once, and each sends between hosts.
  const uint64_t gpus =
      per_host * (is_crowded_ ? Between(2, std::max<uint64_t>(2, size_.hosts / 3)) : Between(1, size_.hosts));
  std::string text = fmt::format("gpus: {}", gpus);
  if (!allocates_) text += fmt::format(", gpus_per_host: {}", per_host);
  bool is_resized = false;
  if (allocates_) {
    is_resized = gpus % 2 == 0 && !OneIn(4);
    if (is_resized) text += fmt::format(", sizes: [{}, {}]", gpus / 2, gpus);
    text += fmt::format(", restart_s: {:.4g}", OneIn(3) ? 0 : Length(simulated_s_ / 100, simulated_s_ / 4));
    if (OneIn(3)) text += OneIn(2) ? ", predictable: false" : fmt::format(", predictable_after: {:.3g}", Fraction());
  }
  if (allocates_ || !options_.endless_jobs || !OneIn(3)) text += fmt::format(", iterations: {:.0f}", Length(1, 2000));
  if (has_storage_ && OneIn(3)) {
    const double every_s = std::max(1.0, Length(simulated_s_ / 50, simulated_s_));
    text += fmt::format(", checkpoint_s: {:.4g}, checkpoint_mb: {:.4g}", every_s,
                        size_.port_gbps * 125 * simulated_s_ * Length(1e-3, 0.1));
  }
  if (options_.late_arrivals && OneIn(is_crowded_ ? 5 : 2)) text += fmt::format(", arrival_s: {:.6g}", Instant());
  return text + ", " + Work(gpus, is_resized);
}

std::string Writer::Events(const topology::Fabric& fabric) {
  std::vector<std::string> names;
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    if (topology::IsNetwork(fabric.tier(LinkId(l)))) names.push_back(fabric.LinkName(LinkId(l)));
  }
  std::string text;
  const uint64_t num_links = Between(1, 3);
  for (uint64_t i = 0; i < num_links; ++i) {
    const std::string link = OneOf(names);
    const bool both = !OneIn(4);
    const uint64_t num_changes = Between(1, 6);
    for (uint64_t c = 0; c < num_changes; ++c) {
      static constexpr std::array<double, 6> kHealths = {0, 1, 1e-9, 0.001, 0.3, 0.9};
      const double at_s = Instant();
      const double health = OneOf(kHealths);
      text += fmt::format("  - {{at_s: {:.6g}, link: \"{}\", health: {}, both_directions: {}}}\n", at_s, link, health,
                          both);
    }
  }
  return text;
}

std::string Writer::Write() {
  simulated_s_ = Length(1, options_.max_simulated_s);
  allocates_ = options_.allocation && OneIn(4);
  is_crowded_ = OneIn(2);
  std::string head = fmt::format("title: random\nseeds: 1\nsimulate_s: {:.6g}\nfabric: {}\n", simulated_s_, Fabric());
  std::vector<std::string> policies = options_.policies;
  for (const std::string_view name : traffic::PolicyNames()) {
    if (options_.policies.empty() && name != "fixed") policies.emplace_back(name);
  }
  policy_ = OneOf(policies);
  head += fmt::format("policies: [{}]\n", policy_);
  if (allocates_) {
    const std::vector<std::string_view> names = scheduling::AllocationPolicyNames();
    const std::string_view name = OneOf(names);
    head += fmt::format("allocation: {}\nlearn_speeds: {}\n", name, OneIn(2));
  } else {
    const std::vector<std::string_view> names = scheduling::PlacementPolicyNames();
    // Packed jobs hardly meet.
    placement_ = is_crowded_ && OneIn(2) ? "random" : OneOf(names);
    head += fmt::format("placement: {}\n", placement_);
    has_storage_ = options_.background && size_.hosts >= 4 && OneIn(4);
    if (has_storage_) head += Background();
  }
  head += Options() + "jobs:\n";

  std::string jobs;
  const uint64_t num_jobs = Between(is_crowded_ ? (options_.max_jobs + 1) / 2 : 1, options_.max_jobs);
  for (uint64_t j = 0; j < num_jobs; ++j) {
    const std::string job = fmt::format("  - {{name: j{}, {}}}\n", j, Job());
    // What does not fit this cluster, or can't be split so, is left out.
    if (ParseScenario(head + job, std::string(kPath), {}).ok()) jobs += job;
  }
  if (jobs.empty())
    jobs = fmt::format("  - {{name: j, gpus: 1, iterations: 3, compute_s: {:.4g}}}\n", simulated_s_ / 9);
  std::string text = head + jobs;
  if (!options_.link_events || !OneIn(3)) return text;
  const auto scenario = ParseScenario(text, std::string(kPath), {});
  FL_CHECK_MSG(scenario.ok(), scenario.status().message());
  return text + "link_events:\n" + Events(scenario->fabric);
}

}  // namespace

std::string RandomScenarioText(const Draw& draw, const RandomScenarioOptions& options) {
  return Writer(draw, options).Write();
}

Scenario RandomScenario(const Draw& draw, const RandomScenarioOptions& options) {
  auto scenario = ParseScenario(RandomScenarioText(draw, options), std::string(kPath), {});
  FL_CHECK_MSG(scenario.ok(), scenario.status().message());
  return *std::move(scenario);
}

Scenario RandomScenario(Random& random, const RandomScenarioOptions& options) {
  return RandomScenario([&random](uint64_t n) { return random.Below(n); }, options);
}

}  // namespace fairlead::sim
