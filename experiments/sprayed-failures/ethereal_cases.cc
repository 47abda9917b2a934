#include "experiments/sprayed-failures/ethereal_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/trace_scenario.h"
#include "sim/scenario.h"
#include "topology/router.h"
#include "traffic/path_bundle.h"
#include "traffic/policy_registry.h"

namespace fairlead::experiments::sprayed_failures {

namespace {

constexpr uint32_t kHostsPerLeaf = 16;
constexpr double kSizeMb = 64;

// What one phase of a collective sends. Its direct form is an all-to-all, done twice for an all-reduce.
struct Pattern {
  std::string_view name;
  std::string_view collective;
};
constexpr Pattern kPatterns[] = {{"direct", "all-to-all"},
                                 {"ring", "ring-all-reduce"},
                                 {"double tree", "tree-all-reduce"},
                                 {"halving-doubling, a round across leaves", ""}};

struct Cluster {
  uint32_t leaves = 16;
  uint32_t num_hosts() const { return leaves * kHostsPerLeaf; }
};

std::string JobsOf(const Pattern& pattern, const Cluster& cluster) {
  if (!pattern.collective.empty()) {
    return fmt::format("  - {{gpus: {}, compute_s: 0, size_mb: {}, collective: {}, iterations: 1}}\n",
                       cluster.num_hosts(), kSizeMb, pattern.collective);
  }
  // Each host exchanges with the one of equal place under the neighbouring leaf.
  std::string jobs;
  for (uint32_t host = 0; host < cluster.num_hosts(); ++host) {
    if ((host / kHostsPerLeaf) % 2 == 1) continue;
    jobs += fmt::format("  - {{hosts: [h{}, h{}], gpus: 2, compute_s: 0, size_mb: {}, iterations: 1}}\n", host,
                        host + kHostsPerLeaf, kSizeMb);
  }
  return jobs;
}

Result<sim::Scenario> MakeScenario(const Pattern& pattern, const Cluster& cluster, std::string_view events,
                                   uint64_t seed) {
  const std::string text = fmt::format(
      "title: minimal splits\nseeds: 1\nseed: {}\nsimulate_s: 10\nrandom_phase: false\ngoodput: 1\npolicies: [ecmp, "
      "spray, "
      "ethereal]\nspray: {{efficiency: 1}}\nlink_events: [{}]\nlatency: {{ends_us: 0, hop_us: 0.5}}\nfabric: {{kind: "
      "clos2, leaves: {}, hosts_per_leaf: {}, spines: 16, host: {{gpus: 1, nics: 1, port_gbps: 400, pcie_switches: 1, "
      "sockets: 1, pcie_gigabytes_per_s: 128}}}}\njobs:\n{}",
      seed, events, cluster.leaves, kHostsPerLeaf, JobsOf(pattern, cluster));
  return sim::ParseScenario(text, "sprayed-failures", {});
}

// By policy: until the last job ends.
Result<std::map<std::string, double>> Completion(const sim::Scenario& scenario, const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, 0, 0));
  std::map<std::string, double> completion;
  for (const sim::RunResult& run : report.runs) {
    for (const sim::JobResult& job : run.jobs) completion[run.policy] = std::max(completion[run.policy], job.end_s);
  }
  return completion;
}

struct Planned {
  double fullest_bytes = 0;     // on a link between leaves and spines
  size_t most_added_flows = 0;  // that splitting adds to those of one NIC in one phase
};

Result<Planned> PlanOf(const sim::Scenario& scenario, std::string_view policy_name) {
  const topology::Fabric& fabric = scenario.fabric;
  const topology::Router router(fabric);
  FL_ASSIGN_OR_RETURN(const auto policy, traffic::CreatePolicy(policy_name, scenario.policy_options));
  const controller::IterationProvider iterations = sim::MakeIterationProvider(scenario);
  Planned planned;
  IdVector<LinkId, double> bytes(fabric.num_links());
  for (const sim::ScenarioJob& entry : scenario.jobs) {
    model::Placement placement;
    for (const HostId host : entry.job.hosts) placement.gpus.push_back(fabric.first_gpu(host));
    for (uint32_t gpu = 0; placement.gpus.size() < entry.job.num_gpus; ++gpu) placement.gpus.emplace_back(gpu);
    FL_ASSIGN_OR_RETURN(const model::Iteration iteration, iterations(entry.job, placement));
    traffic::JobView view;
    view.id = entry.job.id;
    view.num_gpus = entry.job.num_gpus;
    view.iteration = &iteration;
    const traffic::TrafficPlan plan = policy->Plan({.router = &router, .jobs = std::span(&view, 1)});
    for (const model::CommunicationPhase& phase : iteration.phases) {
      std::map<NicId, size_t> added;
      for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
        const model::Path& bundle = plan.jobs.front().paths[f];
        const auto parts = traffic::PartsOf(bundle);
        const std::set<std::vector<LinkId>> distinct = [&] {
          std::set<std::vector<LinkId>> paths;
          for (const std::span<const LinkId> part : parts) paths.emplace(part.begin(), part.end());
          return paths;
        }();
        added[fabric.nic_of(iteration.flows[f].source)] += distinct.size() - 1;
        const double of_part = iteration.flows[f].bytes.value() / static_cast<double>(parts.size());
        for (const LinkId link : bundle) bytes[link] += of_part;
      }
      for (const auto& [nic, flows] : added) planned.most_added_flows = std::max(planned.most_added_flows, flows);
    }
  }
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    if (fabric.tier(LinkId(l)) != topology::LinkTier::kLeafSpine) continue;
    planned.fullest_bytes = std::max(planned.fullest_bytes, bytes[LinkId(l)]);
  }
  return planned;
}

Status AddPattern(const Pattern& pattern, const Cluster& cluster, const experiment::RunContext& context, double* best,
                  experiment::Outcome* outcome) {
  for (const bool is_broken : {false, true}) {
    if (context.should_stop()) return OkStatus();
    const std::string label = fmt::format("{}{}", pattern.name, is_broken ? ", an uplink lost" : "");
    FL_ASSIGN_OR_RETURN(
        const sim::Scenario scenario,
        MakeScenario(pattern, cluster, is_broken ? "{at_s: 0, link: \"leaf0->spine3\", health: 0}" : "", context.seed));
    FL_ASSIGN_OR_RETURN(const auto completion, Completion(scenario, context));
    if (completion.size() < 3) return OkStatus();  // stopped
    const double split = completion.at("ethereal");
    const double against_spray = 100 * (split / completion.at("spray") - 1);
    *best = std::min(*best, against_spray);
    outcome->Set(label + ": splits against spray", against_spray);
    outcome->Set(label + ": splits against hashes", 100 * (split / completion.at("ecmp") - 1));
    if (is_broken) continue;
    FL_ASSIGN_OR_RETURN(const Planned splits, PlanOf(scenario, "ethereal"));
    FL_ASSIGN_OR_RETURN(const Planned spray, PlanOf(scenario, "spray"));
    outcome->Set(label + ": fullest link, splits over spray", splits.fullest_bytes / spray.fullest_bytes);
    outcome->Set(label + ": flows that splits add to a NIC", static_cast<double>(splits.most_added_flows));
  }
  return OkStatus();
}

}  // namespace

Status AddCollectives(const experiment::RunContext& context, experiment::Outcome* outcome) {
  const Cluster cluster = {.leaves = context.reduced ? 4u : 16u};
  double best = 100;
  for (const Pattern& pattern : kPatterns) {
    FL_RETURN_IF_ERROR(AddPattern(pattern, cluster, context, &best, outcome));
  }
  if (!context.should_stop()) outcome->Set("best of all: splits against spray", best);
  return OkStatus();
}

}  // namespace fairlead::experiments::sprayed_failures
