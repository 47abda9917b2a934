// Small domains for tests: jobs of one phase each that meet on a few links, with numbers that can be followed by hand.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/ids.h"
#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/network_layout.h"

namespace fairlead::sim {

constexpr int64_t kSecondNs = 1'000'000'000;

// A job of one phase that sends `bytes` over link 0.
struct SendingJob {
  model::Iteration iteration;
  JobState state;

  SendingJob(uint32_t id, double start_fraction, double compute_s, double bytes, uint64_t num_iterations = 0,
             bool blocks_compute = false) {
    iteration.compute_time = Seconds(compute_s);
    iteration.phases.push_back({"send", start_fraction, blocks_compute, 0, 1});
    iteration.flows.push_back({GpuId(0), GpuId(1), Bytes(bytes), 0});
    state = CreateJobState(JobId(id), 1, num_iterations, iteration, Detail::kCoupled, SimTime(), 1);
    model::Path path;
    path.emplace_back(0u);
    state.paths = {path};
  }
  SendingJob(const SendingJob&) = delete;
};

// Jobs on one contended link, without a domain around them.
struct OneLink {
  IdVector<LinkId, double> capacities;
  LinkSharing sharing{.domains = {}, .contended_links = {LinkId(0)}};
  std::deque<SendingJob> owned;
  std::vector<JobState*> jobs;
  std::vector<std::vector<TransferRoute>> routes;
  DomainTime time;

  explicit OneLink(double bytes_per_s) : capacities(1, bytes_per_s) {}
  OneLink(const OneLink&) = delete;

  JobState& Add(double start_fraction, double compute_s, double bytes, uint64_t num_iterations = 0,
                bool blocks_compute = false) {
    const auto id = static_cast<uint32_t>(jobs.size());
    jobs.push_back(&owned.emplace_back(id, start_fraction, compute_s, bytes, num_iterations, blocks_compute).state);
    return *jobs.back();
  }

  // When all jobs are there.
  std::vector<const std::vector<TransferRoute>*> Routes() {
    routes.clear();
    for (const JobState* job : jobs) routes.push_back(ComputeRoutes(*job, capacities));
    std::vector<const std::vector<TransferRoute>*> pointers;
    for (const std::vector<TransferRoute>& route : routes) pointers.push_back(&route);
    return pointers;
  }
  NetworkLayout Layout(const IdVector<LinkId, double>* healthy_capacities = nullptr) {
    return ComputeNetworkLayout(jobs, Routes(), sharing, capacities, healthy_capacities, false);
  }
};

}  // namespace fairlead::sim
