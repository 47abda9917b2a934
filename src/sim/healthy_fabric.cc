#include "sim/healthy_fabric.h"

#include <utility>

#include "traffic/gpu_intensity.h"

namespace fairlead::sim {

IdVector<LinkId, double> PayloadCapacities(const topology::Fabric& fabric, const topology::LinkHealth& health,
                                           double goodput) {
  IdVector<LinkId, double> capacities(fabric.num_links());
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    const LinkId link(i);
    const double share = topology::IsNetwork(fabric.tier(link)) ? goodput : 1.0;
    capacities[link] = fabric.capacity(link).value() * health[link] * share;
  }
  return capacities;
}

HealthyFabric::HealthyFabric(const topology::Fabric& fabric, std::vector<const traffic::TrafficPolicy*> policies,
                             double goodput, const SoloYardstick::Options& options)
    : fabric_(fabric),
      router_(fabric),
      capacities_(PayloadCapacities(fabric, topology::LinkHealth(fabric.num_links(), 1.0), goodput)),
      yardstick_(router_, std::move(policies), capacities_, options),
      links_(traffic::MakeLinkTable({.router = &router_, .jobs = {}})),
      meter_(links_) {}

Result<std::vector<prediction::SpeedPoint>> HealthyFabric::ProfileAlone(const controller::IterationProvider& iterations,
                                                                        const model::Job& job) {
  std::vector<prediction::SpeedPoint> profile;
  model::Placement placement;  // grows from size to size
  uint32_t num_hosts = 0;
  for (const uint32_t gpus : controller::UsableSizes(job, fabric_.num_gpus())) {
    while (placement.gpus.size() < gpus) {
      const HostId host(num_hosts++);
      for (uint32_t g = 0; g < fabric_.num_gpus_of(host); ++g) {
        placement.gpus.push_back(fabric_.gpu(host, g));
      }
    }
    model::Job sized = job;
    sized.num_gpus = gpus;
    const model::Placement part{{placement.gpus.begin(), placement.gpus.begin() + gpus}};
    FL_ASSIGN_OR_RETURN(model::Iteration iteration, iterations(sized, part));
    const auto alone = [&](const model::Iteration& simulated) {
      return SimDuration(yardstick_.Find(job.id, simulated, gpus).iteration_ns).seconds();
    };
    prediction::SpeedPoint point;
    point.num_gpus = gpus;
    point.num_hosts = static_cast<uint32_t>(fabric_.host_of(part.gpus.back()).index()) + 1;
    point.iteration = alone(iteration);
    point.compute = iteration.compute_time + iteration.bubble_time;
    iteration.compute_time = iteration.bubble_time = Seconds(0);
    if (point.num_hosts > 1 && !iteration.flows.empty()) point.network = alone(iteration);
    profile.push_back(point);
  }
  return profile;
}

double HealthyFabric::IntensityOf(JobId job, const model::Iteration& iteration, const std::vector<model::Path>& paths) {
  const auto traffic = meter_.Measure(iteration, paths);
  const auto profile = traffic::ComputeProfile(job, iteration, traffic);
  return profile.communicates() ? profile.intensity.value() : 0;
}

}  // namespace fairlead::sim
