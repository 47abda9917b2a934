#include "sim/health/watched_run.h"

#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "diagnosis/c4d/c4d_master.h"
#include "execution/job_execution.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/telemetry.h"

namespace fairlead::sim {

namespace {

using diagnosis::c4d::C4dAction;
using diagnosis::c4d::C4dMaster;
using execution::JobShape;

constexpr SimDuration kTick(1'000'000'000);
constexpr SimDuration kWarmUp(120'000'000'000);
constexpr SimDuration kLinger(120'000'000'000);
// Parts of the compute time of an iteration.
constexpr double kLoadingShare = 0.05;
constexpr double kForwardShare = 0.3;
constexpr double kOptimizerShare = 0.05;
constexpr double kShortestPart = 1e-3;

// The greatest number of GPUs that each part of a host has, so that all ranks of a part are on one host.
uint32_t GpusPerPart(const std::vector<HostId>& hosts) {
  uint32_t common = 0;
  for (size_t first = 0; first < hosts.size();) {
    size_t end = first;
    while (end < hosts.size() && hosts[end] == hosts[first]) ++end;
    common = std::gcd(common, static_cast<uint32_t>(end - first));
    first = end;
  }
  return common;
}

JobShape ShapeOf(const WatchedJob& job) {
  const auto num_ranks = static_cast<double>(job.hosts.size());
  const double compute_s = std::max(job.compute_time.value(), kShortestPart);
  const double exchange_s = std::max((job.iteration_time - job.compute_time).value(), kShortestPart);
  const auto part = [&](double share) { return SimDuration::FromSeconds(Seconds(compute_s * share)); };
  JobShape shape;
  shape.data_parallel = static_cast<uint32_t>(job.hosts.size());
  shape.gpus_per_host = GpusPerPart(job.hosts);
  shape.channels = 1;
  shape.micro_batches = 1;
  shape.gradient_buckets = 1;
  shape.loading_time = part(kLoadingShare);
  shape.forward_time = part(kForwardShare);
  shape.backward_time = part(1 - kLoadingShare - kForwardShare - kOptimizerShare);
  shape.optimizer_time = part(kOptimizerShare);
  // A ring sends 2 (n - 1) / n times the gradients over each port.
  shape.gradient_bytes =
      static_cast<uint64_t>(exchange_s * shape.link_speed.value() * num_ranks / (2 * std::max(1.0, num_ranks - 1)));
  return shape;
}

std::vector<execution::Fault> FaultsSince(SimTime origin, const std::vector<WatchedFault>& faults) {
  std::vector<execution::Fault> moved;
  for (const WatchedFault& fault : faults) {
    execution::Fault& copy = moved.emplace_back();
    copy.kind = fault.kind;
    copy.rank = model::RankId(fault.rank);
    copy.begin = SimTime(std::max<int64_t>(0, (fault.begin - origin).ns()));
    copy.magnitude = fault.magnitude;
  }
  return moved;
}

// As the cluster knows it. Args: gpus: of each part of a host.
model::Finding Place(model::Finding finding, const WatchedJob& job, uint32_t gpus, SimDuration origin) {
  finding.job = job.job;
  for (model::Culprit& culprit : finding.culprits) {
    if (culprit.host.valid()) culprit.host = job.hosts.at(culprit.host.index() * gpus);
  }
  finding.first_seen = finding.first_seen + origin;
  if (finding.confirmed != SimTime::Never()) finding.confirmed = finding.confirmed + origin;
  if (finding.cleared != SimTime::Never()) finding.cleared = finding.cleared + origin;
  return finding;
}

}  // namespace

std::vector<TimedFinding> WatchRun(const WatchedJob& job, const std::vector<WatchedFault>& faults, SimTime now,
                                   SimTime until) {
  const JobShape shape = ShapeOf(job);
  if (!shape.Validate().ok()) return {};
  const SimTime origin = std::max(job.begin, now - kWarmUp);
  const SimDuration shift = origin - SimTime();
  execution::JobExecution execution(shape, FaultsSince(origin, faults), {}, job.seed);
  C4dMaster master({});
  std::vector<TimedFinding> findings;
  std::vector<model::TelemetryRecord> records;
  for (SimTime tick = SimTime() + kTick; tick + shift <= until; tick = tick + kTick) {
    records.clear();
    execution.Run(tick, [&](SimTime, const model::TelemetryRecord& record) { records.push_back(record); });
    for (const C4dAction& action : master.Handle(tick, records)) {
      if (tick + shift <= now) continue;
      if (findings.empty() && action.finding.state == model::FindingState::kConfirmed) {
        until = std::min(until, tick + shift + kLinger);
      }
      findings.push_back({tick + shift, Place(action.finding, job, shape.gpus_per_host, shift)});
    }
  }
  return findings;
}

}  // namespace fairlead::sim
