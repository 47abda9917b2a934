#include "scheduling/unit_operations.h"

namespace fairlead::scheduling {
namespace {

uint32_t* CountOf(UnitOperation op, PsWorkerConfig* config) {
  switch (IsIncrease(op) ? op : Opposite(op)) {
    case UnitOperation::kAddPs:
      return &config->num_ps;
    case UnitOperation::kAddWorker:
      return &config->num_workers;
    case UnitOperation::kAddPsCore:
      return &config->cores_per_ps;
    case UnitOperation::kAddWorkerCore:
      return &config->cores_per_worker;
    default:
      return &config->num_gpus;
  }
}

}  // namespace

bool IsWithin(const PsWorkerConfig& config, const PsWorkerLimits& limits) {
  const auto within = [](uint32_t value, uint32_t low, uint32_t high) { return low <= value && value <= high; };
  return within(config.num_ps, limits.min.num_ps, limits.max.num_ps) &&
         within(config.num_workers, limits.min.num_workers, limits.max.num_workers) &&
         within(config.cores_per_ps, limits.min.cores_per_ps, limits.max.cores_per_ps) &&
         within(config.cores_per_worker, limits.min.cores_per_worker, limits.max.cores_per_worker) &&
         within(config.num_gpus, limits.min.num_gpus, limits.max.num_gpus) &&
         config.num_gpus <= uint64_t{limits.max_gpus_per_worker} * config.num_workers;
}

std::string_view UnitOperationName(UnitOperation op) {
  static constexpr std::array<std::string_view, kNumUnitOperations> kNames = {
      "+ps", "+worker", "+cpu(ps)", "+cpu(worker)", "+gpu", "-ps", "-worker", "-cpu(ps)", "-cpu(worker)", "-gpu"};
  return kNames[static_cast<size_t>(op)];
}

std::optional<PsWorkerConfig> Apply(UnitOperation op, const PsWorkerConfig& config, const PsWorkerLimits& limits) {
  PsWorkerConfig changed = config;
  uint32_t* count = CountOf(op, &changed);
  if (!IsIncrease(op) && *count == 0) return std::nullopt;
  *count += IsIncrease(op) ? 1 : -1;
  if (limits.worker_brings_gpu && count == &changed.num_workers) {
    if (!IsIncrease(op) && changed.num_gpus == 0) return std::nullopt;
    changed.num_gpus += IsIncrease(op) ? 1 : -1;
  }
  if (!IsWithin(changed, limits)) return std::nullopt;
  return changed;
}

}  // namespace fairlead::scheduling
