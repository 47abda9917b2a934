#include "experiments/crux-testbed/testbed_run.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "scheduling/placement_policy.h"
#include "sim/cluster_simulation.h"
#include "sim/run_watch.h"
#include "topology/router.h"
#include "traffic/link_traffic.h"
#include "traffic/policy_registry.h"

namespace fairlead::experiments::crux_testbed {
namespace {

// What jobs alone are measured on, as in every simulation.
constexpr std::string_view kSoloPolicy = "crux";

GpuId GpuOf(const topology::Fabric& fabric, uint32_t host, uint32_t gpu) {
  return GpuId(fabric.first_gpu(HostId(host)).value() + gpu);
}

// Puts job i of the case where the case says.
class PlacementByHand final : public scheduling::PlacementPolicy {
 public:
  explicit PlacementByHand(const TestbedCase& testbed_case) : case_(&testbed_case) {}

  std::string_view name() const override { return "by-hand"; }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override {
    const TestbedJob& mine = case_->jobs[job.id.index()];
    model::Placement placement;
    for (const uint32_t host : mine.hosts) {
      for (const uint32_t gpu : mine.gpus) placement.gpus.push_back(GpuOf(pool.fabric(), host, gpu));
    }
    return placement;
  }

 private:
  const TestbedCase* case_;
};

// One ring per GPU of a host through all hosts of the job, each over several connections; one byte on every edge.
std::vector<model::FlowDemand> MakeRings(const TestbedJob& job, uint32_t connections,
                                         const model::Placement& placement) {
  std::vector<model::FlowDemand> flows;
  const size_t per_host = job.gpus.size();
  const size_t num_hosts = job.hosts.size();
  for (size_t rail = 0; num_hosts > 1 && rail < per_host; ++rail) {
    for (uint32_t c = 0; c < connections; ++c) {
      const auto ring = static_cast<uint32_t>(rail * connections + c);
      for (size_t h = 0; h < num_hosts; ++h) {
        flows.push_back({placement.gpus[h * per_host + rail], placement.gpus[(h + 1) % num_hosts * per_host + rail],
                         Bytes(1), ring});
      }
    }
  }
  return flows;
}

// Seconds that the job alone needs for one byte on every edge, on the paths that it gets alone.
double SecondsPerByte(const topology::Fabric& fabric, const model::Iteration& iteration) {
  const topology::Router router(fabric);
  traffic::JobView view;
  view.id = JobId(0);
  view.iteration = &iteration;
  traffic::TrafficSnapshot snapshot;
  snapshot.router = &router;
  snapshot.jobs = std::span(&view, 1);
  const auto policy = traffic::CreatePolicy(kSoloPolicy, {});
  FL_CHECK(policy.ok());
  const traffic::TrafficPlan plan = (*policy)->Plan(snapshot);
  const traffic::LinkTable links = traffic::MakeLinkTable(snapshot);
  return traffic::LinkTrafficMeter(links).Measure(iteration, plan.jobs[0].paths).communication_time.value();
}

model::Iteration MakeIteration(const topology::Fabric& fabric, const TestbedModel& testbed_model, const TestbedJob& job,
                               uint32_t connections, const model::Placement& placement) {
  model::Iteration iteration;
  iteration.compute_time = testbed_model.compute_time;
  iteration.work = testbed_model.gpu_rate * testbed_model.compute_time * static_cast<double>(placement.gpus.size());
  iteration.flows = MakeRings(job, connections, placement);
  if (iteration.flows.empty()) return iteration;
  iteration.num_groups = static_cast<uint32_t>(job.gpus.size()) * connections;
  iteration.phases = {{.name = "all-reduce",
                       .start_fraction = testbed_model.start_fraction,
                       .first_flow = 0,
                       .num_flows = static_cast<uint32_t>(iteration.flows.size())}};
  const Bytes bytes(testbed_model.communication_time.value() / SecondsPerByte(fabric, iteration));
  for (model::FlowDemand& flow : iteration.flows) flow.bytes = bytes;
  return iteration;
}

sim::SimulationOptions MakeOptions(uint64_t seed) {
  sim::SimulationOptions options;
  options.end = SimTime::FromSeconds(Seconds(kHorizonS));
  options.goodput = 1;  // communication times are those of the payload
  options.phase_seed = seed;
  options.controller.hash_seed = seed;
  options.controller.random_seed = seed;
  return options;
}

}  // namespace

Status Testbed::Check(const TestbedCase& testbed_case) const {
  std::set<GpuId> taken;
  for (const TestbedJob& job : testbed_case.jobs) {
    for (const uint32_t host : job.hosts) {
      for (const uint32_t gpu : job.gpus) {
        const bool exists = host < fabric_->num_hosts() && gpu < fabric_->num_gpus_of(HostId(host));
        if (exists && taken.insert(GpuOf(*fabric_, host, gpu)).second) continue;
        return InvalidArgument(fmt::format("case '{}': {}: GPU {} of host {} {}", testbed_case.name, job.model, gpu,
                                           host, exists ? "is taken twice" : "does not exist"));
      }
    }
  }
  return OkStatus();
}

CaseRun Testbed::Run(const TestbedCase& testbed_case, std::string_view policy_name, uint64_t seed) const {
  const PlacementByHand placement(testbed_case);
  const auto policy = traffic::CreatePolicy(policy_name, {});
  const auto solo_policy = traffic::CreatePolicy(kSoloPolicy, {});
  FL_CHECK(policy.ok() && solo_policy.ok());
  std::vector<model::Job> jobs;
  for (size_t j = 0; j < testbed_case.jobs.size(); ++j) {
    model::Job& job = jobs.emplace_back();
    job.id = JobId(j);
    job.name = testbed_case.jobs[j].model;
    job.num_gpus = testbed_case.jobs[j].num_gpus();
    job.gpus_per_host = static_cast<uint32_t>(testbed_case.jobs[j].gpus.size());
  }
  const auto iterations = [&](const model::Job& job, const model::Placement& where) -> Result<model::Iteration> {
    const TestbedJob& mine = testbed_case.jobs[job.id.index()];
    return MakeIteration(*fabric_, setup_->ModelOf(testbed_case, mine), mine, setup_->connections_per_gpu, where);
  };
  sim::ClusterSimulation simulation(*fabric_, placement, **policy, {solo_policy->get()}, iterations, std::move(jobs),
                                    {}, MakeOptions(seed));
  const std::atomic<bool> never = false;
  sim::RunWatch watch(never, nullptr);
  const sim::RunResult result = simulation.Run(watch);
  CaseRun run;
  run.busy = result.busy;
  run.ideal_busy = result.ideal_busy;
  for (const sim::JobResult& job : result.jobs) {
    run.iteration_s.push_back(job.iteration_s);
    run.solo_iteration_s.push_back(job.solo_iteration_s);
  }
  return run;
}

}  // namespace fairlead::experiments::crux_testbed
