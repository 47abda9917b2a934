#include "controller/measured_jobs.h"

#include <utility>

#include "model/measured_profile.h"

namespace fairlead::controller {
namespace {

// What is sent by which flows.
struct MeasuredFlows {
  model::Iteration actual;         // endpoints only
  std::vector<Bytes> flow_bytes;   // [flow]
  std::vector<model::Path> paths;  // [flow]
};

GpuId GpuBeside(const topology::Fabric& fabric, NicId nic) {
  const HostId host = fabric.host_of(nic);
  const GpuId first = fabric.first_gpu(host);
  for (uint32_t g = 0; g < fabric.num_gpus_of(host); ++g) {
    const GpuId gpu(first.value() + g);
    if (fabric.nic_of(gpu) == nic) return gpu;
  }
  return fabric.num_gpus_of(host) > 0 ? first : GpuId();
}

void AddMeasuredFlow(const topology::Fabric& fabric, const traffic::HeldQueuePair& held, const JobMeasurement& sum,
                     MeasuredFlows* flows) {
  const GpuId source = GpuBeside(fabric, held.request->source);
  const GpuId destination = GpuBeside(fabric, held.request->destination);
  const auto bytes = sum.bytes.find(held.request->connection);
  if (held.links.empty() || bytes == sum.bytes.end() || !source.valid() || !destination.valid()) return;
  const uint32_t num_queue_pairs = held.request->num_queue_pairs;
  flows->flow_bytes.push_back(bytes->second * sum.iteration_time / num_queue_pairs);
  flows->paths.emplace_back(held.links.begin(), held.links.end());
  flows->actual.flows.push_back({.source = source,
                                 .destination = destination,
                                 .bytes = Bytes(1),
                                 .group = flows->actual.num_groups++,
                                 .queue_pair = static_cast<uint16_t>(held.queue_pair),
                                 .num_queue_pairs = static_cast<uint16_t>(num_queue_pairs)});
}

}  // namespace

std::vector<MeasuredJob> CollectMeasuredJobs(const topology::Fabric& fabric, const traffic::PathService& paths,
                                             const std::map<JobId, JobMeasurement>& sums) {
  std::map<JobId, MeasuredFlows> flows;
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    const auto sum = sums.find(held.lease.job);
    if (sum != sums.end()) AddMeasuredFlow(fabric, held, sum->second, &flows[held.lease.job]);
  });
  std::vector<MeasuredJob> jobs;
  for (auto& [id, of_job] : flows) {
    if (of_job.actual.flows.empty()) continue;
    const JobMeasurement& sum = sums.at(id);
    const model::MeasuredProfile profile = {.iteration_time = sum.iteration_time,
                                            .compute_time = sum.iteration_time * sum.compute_share,
                                            .start_fraction = sum.start_fraction,
                                            .work = sum.work * sum.iteration_time,
                                            .flow_bytes = std::move(of_job.flow_bytes)};
    jobs.push_back({.id = id,
                    .num_gpus = sum.num_gpus,
                    .is_period_known = sum.is_period_known,
                    .iteration = model::MakeMeasuredIteration(of_job.actual, profile),
                    .paths = std::move(of_job.paths)});
  }
  return jobs;
}

}  // namespace fairlead::controller
