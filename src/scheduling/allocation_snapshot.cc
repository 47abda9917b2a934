// What a policy may be asked: the checks of a snapshot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {
namespace {

std::string Where(const AllocationJob& job) { return fmt::format("allocation: job {}", job.id.value()); }

Status CheckNumber(const AllocationJob& job, std::string_view what, double value) {
  if (std::isfinite(value) && value >= 0) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} is {}; expected a finite number, 0 or more", Where(job), what, value));
}

Status CheckSizes(const AllocationJob& job) {
  if (job.sizes.empty()) return InvalidArgument(Where(job) + " has no size at which it may run; expected at least one");
  if (job.requested >= job.sizes.size()) {
    return InvalidArgument(fmt::format("{} asks for size {} of {}; expected an index below that", Where(job),
                                       job.requested, job.sizes.size()));
  }
  for (size_t k = 0; k < job.sizes.size(); ++k) {
    const JobSize& size = job.sizes[k];
    FL_RETURN_IF_ERROR(CheckNumber(job, "an iteration time", size.iteration_s));
    if (size.resources().empty()) return InvalidArgument(Where(job) + " has a size without GPUs and cores");
    if (k == 0) continue;
    const JobSize& before = job.sizes[k - 1];
    if (before.num_gpus > size.num_gpus || before.num_cores > size.num_cores ||
        before.resources() == size.resources()) {
      return InvalidArgument(fmt::format("{}: sizes {} GPUs {} cores and {} GPUs {} cores; expected ascending sizes",
                                         Where(job), before.num_gpus, before.num_cores, size.num_gpus, size.num_cores));
    }
  }
  if (!job.goodput.empty() && job.goodput.size() != job.sizes.size()) {
    return InvalidArgument(
        fmt::format("{}: goodput of {} sizes, but {} sizes", Where(job), job.goodput.size(), job.sizes.size()));
  }
  return OkStatus();
}

Status CheckNumbers(const AllocationJob& job) {
  FL_RETURN_IF_ERROR(CheckNumber(job, "attained service", job.attained_service));
  FL_RETURN_IF_ERROR(CheckNumber(job, "executed time", job.executed_s));
  FL_RETURN_IF_ERROR(CheckNumber(job, "restart cost", job.restart_cost_s));
  FL_RETURN_IF_ERROR(CheckNumber(job, "number of remaining iterations", job.remaining_iterations));
  FL_RETURN_IF_ERROR(CheckNumber(job, "weight", job.weight));
  for (const double goodput : job.goodput) FL_RETURN_IF_ERROR(CheckNumber(job, "goodput", goodput));
  for (const auto& goodputs : job.type_goodput) {
    for (const double goodput : goodputs) FL_RETURN_IF_ERROR(CheckNumber(job, "goodput on a GPU type", goodput));
    if (goodputs.size() == job.sizes.size()) continue;
    return InvalidArgument(fmt::format("{}: goodput of {} sizes on a GPU type, but {} sizes", Where(job),
                                       goodputs.size(), job.sizes.size()));
  }
  for (const double speed : job.type_speeds) FL_RETURN_IF_ERROR(CheckNumber(job, "speed on a GPU type", speed));
  return OkStatus();
}

Status CheckCurrent(const AllocationSnapshot& snapshot, const AllocationJob& job) {
  for (const NodeShare& share : job.current) {
    if (!share.node.valid() || share.node.index() >= snapshot.nodes.size()) {
      return InvalidArgument(fmt::format("{} runs on node {}, but there are {} nodes", Where(job), share.node.value(),
                                         snapshot.nodes.size()));
    }
  }
  return OkStatus();
}

Status CheckIds(const AllocationSnapshot& snapshot) {
  std::vector<JobId> ids;
  ids.reserve(snapshot.jobs.size());
  for (const AllocationJob& job : snapshot.jobs) {
    if (!job.id.valid()) return InvalidArgument("allocation: a job has no id");
    ids.push_back(job.id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return OkStatus();
  return InvalidArgument(fmt::format("allocation: two jobs have the id {}; ids must differ", twice->value()));
}

}  // namespace

Status ValidateSnapshot(const AllocationSnapshot& snapshot) {
  FL_RETURN_IF_ERROR(CheckIds(snapshot));
  for (const AllocationJob& job : snapshot.jobs) {
    FL_RETURN_IF_ERROR(CheckSizes(job));
    FL_RETURN_IF_ERROR(CheckNumbers(job));
    FL_RETURN_IF_ERROR(CheckCurrent(snapshot, job));
  }
  return OkStatus();
}

}  // namespace fairlead::scheduling
